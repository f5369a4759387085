/* Messages about an answer, also on what would be enough: log, JSON and pages are made of the one
 * list.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/sheet.h"
#include "base/structs.h"
#include "base/text.h"
#include "solve/constraint.h"
#include "solve/objective.h"

/* True if the objective BALANCE comes after CYCLES. */
static bool spread_is_of_cycles(const popliner_plan *plan) {
    bool after_cycles = false;
    for (size_t i = 0; i < plan->num_values; i++) {
        after_cycles = after_cycles || plan->values[i].objective == POPLINER_OBJECTIVE_CYCLES;
        if (plan->values[i].objective == POPLINER_OBJECTIVE_BALANCE)
            return after_cycles;
    }
    return false;
}

/* The unit of an objective's value. */
static pl_objective_unit unit_of(const popliner_plan *plan, popliner_objective objective) {
    return pl_objective_is_of_cycles(objective, spread_is_of_cycles(plan))
               ? PL_UNIT_CYCLES
               : pl_objective_of(objective)->unit;
}

uint64_t pl_certificate_divisor(const pl_certificate *certificate, popliner_objective objective) {
    const pl_objective_unit unit = unit_of(&certificate->plan, objective);
    return unit == PL_UNIT_CYCLES ? certificate->input.cycles_per_time_unit
           : unit == PL_UNIT_CUTS ? certificate->input.cuts_per_unit
                                  : 1;
}

/* Adds a number, with as many digits after the point as it has, at most six. */
static void add_number(pl_text *text, uint64_t value, uint64_t divisor) {
    static const double parts = 1000000;
    const double share = (double)(value % divisor) / (double)divisor;
    const uint64_t rest = (uint64_t)(parts * share + 0.5);
    pl_text_add(text, PL_GROUPED(value / divisor + rest / (uint64_t)parts));
    char digits[24];
    snprintf(digits, sizeof digits, ".%06" PRIu64, rest % (uint64_t)parts);
    size_t length = strlen(digits);
    while (digits[length - 1] == '0')
        length--;
    pl_text_append(text, digits, length > 1 ? length : 0);
}

const char *pl_certificate_devices(const pl_certificate *c, size_t count) {
    const bool is_ipu = c->input.chain != NULL || c->is_of_ipus;
    return count == 1 ? is_ipu ? "IPU" : "device" : is_ipu ? "IPUs" : "devices";
}

const char *pl_certificate_per_tile(const pl_certificate *c, const char *words) {
    return c->input.chain != NULL ? words : "";
}

/* The unit of so much of an objective. */
static const char *name_of_unit(const pl_certificate *c, popliner_objective objective,
                                uint64_t value) {
    const pl_objective_unit unit = unit_of(&c->plan, objective);
    bool is_time = unit == PL_UNIT_CYCLES || (unit == PL_UNIT_CUTS && c->input.cuts_per_unit > 1);
    return unit == PL_UNIT_COUNT    ? pl_certificate_devices(c, (size_t)value)
           : unit == PL_UNIT_TOKENS ? value == 1 ? "token" : "tokens"
           : is_time                ? c->input.time_unit
                                    : "bytes";
}

const char *pl_certificate_splits(const pl_certificate *c) {
    return c->plan.is_graph_proven       ? "contiguous partition of the graph"
           : c->input.unit_order == NULL ? "split"
                                         : "split of this order";
}

/* Adds the value of an objective in its words: "peak 33590 bytes per tile". */
static void add_value(const pl_certificate *c, const popliner_plan_value *value, pl_text *text) {
    const char *unit = name_of_unit(c, value->objective, value->value);
    /* more tokens than fill all windows take no more bytes */
    if (value->objective == POPLINER_OBJECTIVE_TOKENS && c->info.headroom_tokens == UINT64_MAX) {
        pl_text_add(text, "room for any number of tokens");
        return;
    }
    for (const char *word = pl_objective_of(value->objective)->words; *word != '\0'; word++) {
        if (*word == '/') {
            pl_text_add(text, pl_certificate_per_tile(c, " per tile"));
        } else if (*word != '%') {
            pl_text_append(text, word, 1);
        } else {
            add_number(text, value->value, pl_certificate_divisor(c, value->objective));
            pl_text_format(text, "%s%s", *unit != '\0' ? " " : "", unit);
        }
    }
}

/* Adds the headline of a screen, and the numbers of the objectives or the constraints that the
 * table after it has there. */
static void add_headline(const pl_certificate *c, pl_text *text) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    /* for PopLiner's own solver its own messages are enough */
    if (c->plan.num_values == 0 && why->obstacle == POPLINER_OBSTACLE_NONE && !c->is_evaluation)
        return;
    pl_text_add(text, c->headline);
    if (*c->proof != '\0')
        pl_text_format(text, " %s", c->proof + (*c->proof == ' '));
    pl_text_add(text, "\n");
    if (why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS && !c->is_evaluation)
        for (size_t i = 0; i < pl_certificate_num_constraints(c); i++) {
            pl_text_add(text, i == 0 ? "Constraints: " : ", ");
            pl_certificate_add_constraint(c, i, text);
        }
    for (size_t i = 0; c->plan.num_stages > 0 && i < c->plan.num_values; i++) {
        pl_text_add(text, i == 0 ? "Objectives: " : ", then ");
        add_value(c, &c->plan.values[i], text);
    }
    if (text->length > 0 && text->data[text->length - 1] != '\n')
        pl_text_add(text, ".\n");
}

/* ---- constraints, and what would be enough where no split fits ---- */

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
        pl_text_format(text, "The JSON has %zu more change%s that would be enough.\n",
                       why->num_remedies - num_told, why->num_remedies - num_told == 1 ? "" : "s");
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

static void add_remedies(const pl_certificate *c, pl_text *text) {
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

/* ---- notes ---- */

/* Adds how many tokens more there is room for. */
static void add_headroom(const pl_certificate *c, pl_text *text) {
    bool does_fit = true;
    for (size_t i = 0; i < c->plan.num_stages; i++)
        does_fit = does_fit && pl_certificate_fit_of(c, i) != PL_FITS_NOT;
    if (c->info.headroom_tokens == UINT64_MAX || !does_fit)
        return;
    pl_text_format(text,
                   "Every device has room for the caches of %s more tokens; device %zu has the "
                   "least room.\n",
                   PL_GROUPED(c->info.headroom_tokens), c->info.headroom_ipu);
}

/* Adds whether what fits does so by what it may need at most, and the tokens then. */
static void add_most(const pl_certificate *c, pl_text *text) {
    if (c->counted_need != POPLINER_NEED_EXPECTED)
        pl_text_format(text, "Sizes are the %s that stages may need.\n",
                       c->counted_need == POPLINER_NEED_MOST ? "most" : "least");
    if (c->lacks_choice)
        pl_text_add(text, "No stage can recompute: no unit of the costs has inputs or variants.\n");
    if (c->lacks_most)
        pl_text_add(text, "What stages may need at most is not counted where they choose their "
                          "recomputation: it may not fit then.\n");
    bool does_fit = c->most_bytes != NULL;
    bool has_limit = false;
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        does_fit = does_fit && pl_certificate_fit_of(c, i) == PL_FITS;
        has_limit = has_limit || pl_certificate_limit(c, c->plan.stages[i].ipu) < PL_NO_LIMIT;
    }
    if (!does_fit || !has_limit)
        return;
    pl_text_add(text, "With the most that it may need, ");
    if (!pl_certificate_fits_at_most(c))
        pl_text_add(text, "it does not fit.\n");
    else if (c->most_tokens == UINT64_MAX)
        pl_text_add(text, "it fits.\n");
    else
        pl_text_format(text, "it has room for the caches of %s more tokens.\n",
                       PL_GROUPED(c->most_tokens));
}

/* Adds for which micro-batches the copies are counted. */
static void add_micro_batches(const pl_certificate *c, pl_text *text) {
    const popliner_copies *copies = &c->input.pipeline.copies;
    if (copies->num_micro_batches == 0 && copies->num_ipus > 1 && pl_copies_take_turns(copies) &&
        !copies->is_v)
        pl_text_format(text,
                       "%s for a multiple of %zu micro-batches: other numbers can need more.\n",
                       c->is_evaluation                           ? "The copies are"
                       : c->plan.status == POPLINER_PLAN_FEASIBLE ? "This answer is"
                                                                  : "The proof is",
                       copies->num_ipus);
}

/* Adds how long a step takes. */
static void add_step(const pl_certificate *c, pl_text *text) {
    const popliner_pipeline_step *step = &c->info.step;
    if (c->plan.num_stages == 0)
        return;
    if (step->num_micro_batches == 0) {
        add_micro_batches(c, text);
        return;
    }
    if (step->order == NULL) {
        pl_text_format(text, "The time of a step is unknown: %s.\n", step->obstacle);
        return;
    }
    pl_text_format(text, "A step of %zu %s (%s) takes ", step->num_micro_batches,
                   step->num_micro_batches == 1 ? "micro-batch" : "micro-batches", step->order);
    add_number(text, step->cycles, c->input.cycles_per_time_unit);
    pl_text_format(text, " %s%s; devices wait %.1f %% of it.\n", c->input.time_unit,
                   step->is_third_assumed ? ", if a third of it is forward" : "",
                   100 * step->idle_share);
    if (c->even_step_cycles == 0)
        return;
    pl_text_add(text, "Stages of as many layers each would take ");
    add_number(text, c->even_step_cycles, c->input.cycles_per_time_unit);
    pl_text_format(text, " %s; the objective step finds the shortest.\n", c->input.time_unit);
}

static size_t count_unknown(const pl_certificate *c) {
    size_t count = 0;
    for (size_t i = 0; i < c->plan.num_stages; i++)
        count += c->verdicts[i] == POPLINER_FITS_UNKNOWN;
    return count;
}

/* Adds which stages have no estimate. */
static void add_unknown(const pl_certificate *c, pl_text *text) {
    const size_t count = c->is_measured ? count_unknown(c) : 0;
    if (count > 0)
        pl_text_format(text,
                       "%zu of %zu stages %s not known to fit: %s layers are on several IPUs in "
                       "the profile.\n",
                       count, c->plan.num_stages, count == 1 ? "is" : "are",
                       count == 1 ? "its" : "their");
}

static void add_order(const pl_certificate *c, pl_text *text) {
    if (c->input.unit_order == NULL || c->plan.is_graph_proven)
        return;
    pl_text_format(text, "The units make a chain %s; another order may be better.\n",
                   c->input.unit_order);
    if (!c->plan.is_graph_bound_known || c->plan.num_values == 0)
        return;
    pl_text_add(text, "The graph was not searched to the end: no contiguous partition of it has "
                      "less than ");
    const uint64_t divisor = pl_certificate_divisor(c, c->plan.values[0].objective);
    add_number(text, c->plan.graph_bound, divisor);
    pl_text_format(text, " %s", name_of_unit(c, c->plan.values[0].objective, c->plan.graph_bound));
    if (c->plan.status != POPLINER_PLAN_INFEASIBLE && c->plan.graph_bound > 0)
        pl_text_format(text, " (gap %.2f %%)",
                       100 * ((double)c->plan.values[0].value / (double)c->plan.graph_bound - 1));
    pl_text_add(text, ".\n");
}

static void add_not_counted(const pl_certificate *c, pl_text *text) {
    if (c->input.not_counted != NULL)
        pl_text_format(text, "Not counted: %s\n", c->input.not_counted);
}

/* Errors: MEMORY where not all messages are there. */
static popliner_status check_messages(const pl_certificate *c, popliner_error *error) {
    return c->messages.arrays.failed ? pl_fail_memory(error, "a message") : POPLINER_OK;
}

static void messages_add_all(pl_messages *messages, const pl_messages *others) {
    for (size_t i = 0; i < others->count; i++)
        pl_messages_add(messages, others->items[i].level, others->items[i].text,
                        others->items[i].is_told);
    messages->arrays.failed = messages->arrays.failed || others->arrays.failed;
}

popliner_status pl_certificate_make_messages(pl_certificate *c, popliner_error *error) {
    static void (*const parts[])(const pl_certificate *, pl_text *) = {
        add_headline, add_remedies, add_not_counted, add_order,
        add_headroom, add_most,     add_step,        add_unknown,
    };
    enum { FIRST_NOTE = 2 };
    const popliner_level usual =
        c->plan.status == POPLINER_PLAN_INFEASIBLE ? POPLINER_LEVEL_WARNING : POPLINER_LEVEL_INFO;
    for (size_t i = 0; i < 2; i++)
        if (c->input.warnings[i] != NULL)
            messages_add_all(&c->messages, c->input.warnings[i]);
    c->input.warnings[0] = c->input.warnings[1] = NULL; /* the caller's */
    pl_certificate_find_headline(c);
    if (c->arrays.failed)
        return pl_fail_memory(error, "a message");
    c->first_own_message = c->messages.count;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        pl_text text = {0};
        pl_text_add(&text, "");
        parts[i](c, &text);
        c->first_note = i == FIRST_NOTE ? c->messages.count : c->first_note;
        const bool is_warning =
            (parts[i] == add_most && (c->lacks_most || !pl_certificate_fits_at_most(c))) ||
            parts[i] == add_unknown || parts[i] == add_not_counted ||
            (parts[i] == add_headline && c->plan.is_stopped &&
             c->plan.status != POPLINER_PLAN_OPTIMAL);
        if (!text.failed)
            pl_messages_add_lines(&c->messages, is_warning ? POPLINER_LEVEL_WARNING : usual,
                                  text.data);
        c->messages.arrays.failed = c->messages.arrays.failed || text.failed;
        free(text.data);
    }
    c->num_own_messages = c->messages.count - c->first_own_message;
    return check_messages(c, error);
}

popliner_status popliner_certificate_add_message(popliner_certificate *callers,
                                                 popliner_level level, const char *text,
                                                 popliner_error *error) {
    pl_certificate *certificate = (pl_certificate *)callers;
    if ((unsigned)level > POPLINER_LEVEL_ERROR || text == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no message of level %d, or no text",
                       (int)level);
    pl_messages_add_lines(&certificate->messages, level, text);
    return check_messages(certificate, error);
}

popliner_status popliner_certificate_tell(const popliner_certificate *certificate, bool all,
                                          const popliner_listener *listener,
                                          popliner_error *error) {
    const pl_messages *m = &pl_certificate_of(certificate)->messages;
    popliner_listener own = POPLINER_LISTENER_INIT;
    popliner_status status = pl_struct_take(&own, sizeof own, listener, "popliner_listener", error);
    for (size_t i = 0; status == POPLINER_OK && own.message != NULL && i < m->count; i++)
        if (all || !m->items[i].is_told)
            own.message(own.user, m->items[i].level, m->items[i].text);
    return status;
}

static void add_text(const pl_certificate *c, pl_text *text) {
    pl_text_add(text, "");
    for (size_t i = 0; i < c->num_own_messages; i++)
        pl_text_format(text, "%s\n", c->messages.items[c->first_own_message + i].text);
}

/* The nodes of a graph that a stage has: a set, of which the first and the last tell little. */
static pl_text nodes_of(const pl_certificate *c, const popliner_plan_stage *stage) {
    pl_text text = {0};
    for (size_t i = c->nodes_from[stage->first_unit]; i < c->nodes_from[stage->last_unit + 1]; i++)
        pl_text_format(&text, "%s%s", text.length > 0 ? " " : "", c->node_names[i]);
    return text;
}

static void add_stage(const pl_certificate *c, size_t i, pl_sheet *sheet) {
    pl_stage_facts_columns(c, i, sheet);
    if (c->node_names != NULL)
        PL_COLUMN(sheet, made, "nodes", nodes_of(c, &c->plan.stages[i]));
}

static popliner_status write_table(const pl_certificate *c, popliner_format format, char **result,
                                   popliner_error *error) {
    pl_sheet sheet;
    pl_sheet_begin(&sheet, format, "plan");
    add_stage(c, 0, &sheet);
    pl_sheet_end_names(&sheet);
    for (size_t i = 0; i < c->plan.num_stages; i++)
        add_stage(c, i, &sheet);
    return pl_sheet_finish(&sheet, POPLINER_OK, result, error);
}

void pl_certificate_add_line(pl_text *text, const popliner_plan *plan,
                             const char *const *unit_names) {
    pl_text_add(text, "[ ");
    for (size_t i = 0; i < plan->num_stages; i++) {
        pl_text_add(text, i > 0 ? "| " : "");
        for (size_t unit = plan->stages[i].first_unit; unit <= plan->stages[i].last_unit; unit++)
            pl_text_format(text, "%s ", unit_names[unit]);
    }
    pl_text_add(text, "]");
}

pl_text pl_certificate_choices(const popliner_plan *plan) {
    pl_text text = {0};
    for (size_t i = 0; plan->choices != NULL && i < plan->num_stages; i++)
        pl_text_format(&text, "%s%s", i > 0 ? " | " : "", plan->choices[i]);
    return text;
}

void pl_add_need_words(pl_text *text, popliner_need need, const char *end) {
    if (need != POPLINER_NEED_EXPECTED)
        pl_text_format(text, "at %s%s", need == POPLINER_NEED_MOST ? "most" : "least", end);
}

popliner_status popliner_certificate_text(const popliner_certificate *callers,
                                          popliner_certificate_form form, char **result,
                                          popliner_error *error) {
    const pl_certificate *certificate = (const pl_certificate *)callers;
    pl_text text = {0};
    *result = NULL;
    switch (form) {
    case POPLINER_CERTIFICATE_TEXT:
        add_text(certificate, &text);
        pl_text_make_printable(&text, "\n\t");
        break;
    case POPLINER_CERTIFICATE_LINE:
        pl_certificate_add_line(&text, &certificate->plan, certificate->input.unit_names);
        pl_text_make_printable(&text, "\n\t");
        break;
    case POPLINER_CERTIFICATE_JSON:
        pl_certificate_json(certificate, NULL, &(pl_json){.text = &text});
        break;
    case POPLINER_CERTIFICATE_STAGES_JSON:
        pl_certificate_add_stages_json(certificate, &text);
        break;
    case POPLINER_CERTIFICATE_TSV:
    case POPLINER_CERTIFICATE_CSV:
    case POPLINER_CERTIFICATE_ROWS_JSON:
        return write_table(certificate,
                           form == POPLINER_CERTIFICATE_CSV         ? POPLINER_FORMAT_CSV
                           : form == POPLINER_CERTIFICATE_ROWS_JSON ? POPLINER_FORMAT_JSON
                                                                    : POPLINER_FORMAT_TSV,
                           result, error);
    default:
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no form %d of a certificate",
                       (int)form);
    }
    return pl_text_finish(&text, POPLINER_OK, result, error);
}
