/* Messages about an answer: log, JSON and pages are made of the one list.
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

static const char *name_of_unit(const pl_certificate *c, popliner_objective objective) {
    const pl_objective_unit unit = unit_of(&c->plan, objective);
    bool is_time = unit == PL_UNIT_CYCLES || (unit == PL_UNIT_CUTS && c->input.cuts_per_unit > 1);
    return unit == PL_UNIT_COUNT    ? pl_certificate_devices(c, 2)
           : unit == PL_UNIT_TOKENS ? "tokens"
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
    const char *unit = name_of_unit(c, value->objective);
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
    pl_text_format(text, " %s", name_of_unit(c, c->plan.values[0].objective));
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
        add_headline,    pl_certificate_add_remedies,
        add_not_counted, add_order,
        add_headroom,    add_most,
        add_step,        add_unknown,
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
    pl_messages_add(&certificate->messages, level, text, false);
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
        break;
    case POPLINER_CERTIFICATE_LINE:
        pl_certificate_add_line(&text, &certificate->plan, certificate->input.unit_names);
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
    pl_text_make_printable(&text);
    return pl_text_finish(&text, POPLINER_OK, result, error);
}
