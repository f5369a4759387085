/* Constraints, and what would be enough where no split fits, in words.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "solve/constraint.h"
#include "solve/objective.h"

bool pl_remedy_has_number(const popliner_remedy *remedy) {
    return remedy->kind == POPLINER_REMEDY_CONSTRAINT &&
           pl_constraint_of(remedy->constraint.kind)->least > 0;
}

void pl_certificate_word_constraint(const pl_certificate *certificate,
                                    const popliner_constraint *constraint, pl_text *text) {
    const char *const *units = certificate->input.unit_names;
    const popliner_constraint *it = constraint;
    const char *name = certificate->input.option_names.constraints[it->kind];
    pl_text_format(text, "%s%s", name, name[strlen(name) - 1] == ':' ? "" : " ");
    for (const char *word = pl_constraint_of(it->kind)->words; *word != '\0'; word++) {
        if (*word != '%')
            pl_text_format(text, "%c", *word);
        else if (*++word == 'U' || *word == 'V')
            pl_text_add(text, units[*word == 'U' ? it->unit : it->second_unit]);
        else
            pl_text_format(text, "%zu", *word == 'N' ? it->number : it->ipu);
    }
}

/* Adds the memory to pass so that limit_bytes remain, and what is reserved of it. */
static void add_memory(const pl_certificate *c, size_t ipu, uint64_t limit_bytes, pl_text *text) {
    uint64_t memory_bytes = limit_bytes;
    bool is_known = popliner_reserve_memory(c->input.options, ipu, limit_bytes, &memory_bytes);
    pl_text_format(text, "%" PRIu64, memory_bytes);
    if (!is_known)
        pl_text_format(text, " (plus what %s keeps free)", c->input.option_names.reserve);
    else if (memory_bytes > limit_bytes)
        pl_text_format(text, " (of which %s keeps %" PRIu64 " free)", c->input.option_names.reserve,
                       memory_bytes - limit_bytes);
}

/* One of the changes that are enough: "without place 3=0". */
static void add_remedy(const pl_certificate *c, const popliner_remedy *remedy, pl_text *text) {
    const popliner_option_names names = c->input.option_names;
    const popliner_constraint *constraint = &remedy->constraint;
    popliner_constraint own = *constraint;
    switch (remedy->kind) {
    case POPLINER_REMEDY_IPU_LIMIT:
        pl_text_format(text, "with %s %zu=", names.mem_per_tile, remedy->ipu);
        add_memory(c, remedy->ipu, remedy->bytes, text);
        break;
    case POPLINER_REMEDY_EVERY_LIMIT:
        pl_text_format(text, "with %" PRIu64 " bytes more on every %s", remedy->bytes,
                       pl_certificate_devices(c, 1));
        if (c->input.options->reserve_percent_hundredths > 0)
            pl_text_format(text, " in addition to what %s keeps free", names.reserve);
        break;
    case POPLINER_REMEDY_CONSTRAINT:
        own.number = remedy->number;
        pl_text_add(text, pl_remedy_has_number(remedy) ? "with " : "without ");
        pl_certificate_word_constraint(c, pl_remedy_has_number(remedy) ? &own : constraint, text);
        break;
    case POPLINER_REMEDY_WITHOUT_MAP:
        pl_text_format(text, "with %s %zu and without %s", names.num_ipus, remedy->number,
                       names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP]);
        break;
    case POPLINER_NUM_REMEDY_KINDS:
        break;
    }
}

/* By how much a remedy raises the limit of its IPU. */
static uint64_t raise_of(const pl_certificate *c, const popliner_remedy *remedy) {
    uint64_t limit_bytes = pl_certificate_limit(c, remedy->ipu);
    return remedy->bytes > limit_bytes ? remedy->bytes - limit_bytes : 0;
}

/* False for limits of single IPUs except for the one that is raised least. */
static bool is_told(const pl_certificate *c, size_t remedy) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    const popliner_remedy *own = &why->remedies[remedy];
    for (size_t i = 0; own->kind == POPLINER_REMEDY_IPU_LIMIT && i < why->num_remedies; i++) {
        const popliner_remedy *other = &why->remedies[i];
        if (other->kind == POPLINER_REMEDY_IPU_LIMIT &&
            (raise_of(c, other) < raise_of(c, own) ||
             (i < remedy && raise_of(c, other) == raise_of(c, own))))
            return false;
    }
    return true;
}

/* Ends a line; a full stop after a range would read as a part of it. */
static void end_sentence(pl_text *text) {
    const bool is_range = text->length > 0 && text->data[text->length - 1] == '.';
    pl_text_add(text, is_range ? "\n" : ".\n");
}

uint64_t pl_certificate_add_needs(const pl_certificate *c, pl_text *text) {
    enum { MOST = 8 };
    const popliner_plan *plan = &c->plan;
    size_t count = 0;
    uint64_t most_bytes = 0;
    for (size_t i = 0; i < plan->num_stages && plan->infeasibility.enough_bytes == 0; i++) {
        const popliner_plan_stage *own = &plan->stages[i];
        uint64_t bytes = 0;
        bool is_short = own->peak_bytes > pl_certificate_limit(c, own->ipu);
        for (size_t k = 0; k < i; k++) /* its peak is that of all stages of the IPU */
            is_short = is_short && plan->stages[k].ipu != own->ipu;
        if (!is_short)
            continue;
        if (!popliner_reserve_memory(c->input.options, own->ipu, own->peak_bytes, &bytes))
            return 0;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        pl_text_format(text, "%s%zu=%" PRIu64, count++ > 0 ? "," : "", own->ipu, bytes);
    }
    return count > 1 && count <= MOST ? most_bytes : 0;
}

/* The other changes, the first few of them. */
static void add_other_remedies(const pl_certificate *c, pl_text *text) {
    enum { MAX_TOLD = 6 };
    const popliner_infeasibility *why = &c->plan.infeasibility;
    size_t num_told = 0;
    pl_text needs = {0};
    if (pl_certificate_add_needs(c, &needs) > 0)
        pl_text_format(text, "It would fit with %s %s.\n", c->input.option_names.mem_per_tile,
                       pl_text_string(&needs));
    text->failed = text->failed || needs.failed;
    free(needs.data);
    for (size_t i = 0; i < why->num_remedies && num_told < MAX_TOLD; i++) {
        if (!is_told(c, i))
            continue;
        pl_text_add(text, "It would fit ");
        add_remedy(c, &why->remedies[i], text);
        end_sentence(text);
        num_told++;
    }
    if (num_told < why->num_remedies)
        pl_text_format(text, "The JSON has %zu more changes that would be enough.\n",
                       why->num_remedies - num_told);
    for (size_t i = 0; i < why->num_left_out; i++) {
        pl_text_add(text, i == 0 ? "It would fit without " : ", ");
        pl_certificate_word_constraint(c, &why->left_out[i], text);
    }
    if (why->num_left_out > 0)
        pl_text_add(text, " together; one of them alone is not enough.\n");
    if (!why->has_all_remedies && !c->plan.is_stopped)
        pl_text_add(text, "There may be other changes: not all were tried.\n");
}

/* True if more IPUs would need limits of their own. */
static bool lacks_limits(const pl_certificate *c) {
    return c->input.options->mem_per_tile >= POPLINER_PEAK_FORBIDDEN - 1 &&
           pl_objectives_include(c->input.options, POPLINER_OBJECTIVE_HEADROOM);
}

size_t pl_certificate_num_constraints(const pl_certificate *certificate) {
    const popliner_infeasibility *why = &certificate->plan.infeasibility;
    return why->num_constraints + why->needs_costs;
}

void pl_certificate_add_constraint(const pl_certificate *certificate, size_t i, pl_text *text) {
    const popliner_infeasibility *why = &certificate->plan.infeasibility;
    if (i < why->num_constraints)
        pl_certificate_word_constraint(certificate, &why->constraints[i], text);
    else
        pl_text_add(text, why->num_constraints == 0
                              ? "the costs themselves, which forbid every split"
                              : "the costs, which forbid every split that is left");
}

void pl_certificate_add_remedies(const pl_certificate *c, pl_text *text) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    const popliner_option_names names = c->input.option_names;
    if (why->obstacle == POPLINER_OBSTACLE_NONE || why->obstacle == POPLINER_OBSTACLE_UNKNOWN)
        return;
    if (why->enough_bytes > 0) {
        pl_text_format(text, "It would fit with %s ", names.mem_per_tile);
        add_memory(c, SIZE_MAX, why->enough_bytes, text);
        if (why->enough_bytes_bound > 0 && why->enough_bytes_bound < why->enough_bytes) {
            pl_text_add(text, " (at least ");
            add_memory(c, SIZE_MAX, why->enough_bytes_bound, text);
            pl_text_format(text, " is needed%s)",
                           c->input.unit_order == NULL ? "" : " for this order");
        }
    }
    if (why->enough_stages > 0)
        pl_text_format(text, "%s%s %zu",
                       why->enough_bytes > 0 ? ", or with " : "It would fit with ", names.num_ipus,
                       why->enough_stages);
    if (why->enough_bytes > 0 || why->enough_stages > 0)
        pl_text_add(text, ".\n");
    if (why->obstacle != POPLINER_OBSTACLE_CONSTRAINTS && why->enough_stages == 0 &&
        !c->is_evaluation && c->input.options->num_mapped_stages == 0 && !c->plan.is_stopped &&
        !lacks_limits(c) && !why->is_longer_unknown)
        pl_text_format(text, "More %s would not help%s.\n", pl_certificate_devices(c, 2),
                       c->input.unit_order == NULL ? "" : " for this order");
    add_other_remedies(c, text);
}
