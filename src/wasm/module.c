/* The solver as a WebAssembly module: a table of costs, a request that is set by names, and answers
 * as JSON in the words of the library. solver.js calls these functions, which the module exports.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/text.h"
#include "costs/costs.h"
#include "emit/emit_data.h"
#include "pipeline/pipeline.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/emit.h"
#include "popliner/report.h"
#include "solve/plan.h"
#include "solve/step.h"

#ifdef __wasm__
#define PL_EXPORTED(name) __attribute__((export_name(#name)))
#else
#define PL_EXPORTED(name)
#endif

/* A table and a request. Functions that return a status leave a sentence for
 * popliner_module_error. */
typedef struct popliner_module popliner_module;

/* Makes a table, with an empty request; NULL if memory is short, or for 0 units or stages: see
 * popliner_costs_create. */
PL_EXPORTED(popliner_module_new)
popliner_module *popliner_module_new(size_t num_units, size_t max_stages);

PL_EXPORTED(popliner_module_free)
void popliner_module_free(popliner_module *module);

/* Names a unit. Errors: USAGE, MEMORY. */
PL_EXPORTED(popliner_module_name_unit)
popliner_status popliner_module_name_unit(popliner_module *module, size_t unit, const char *name);

/* Sets the number of every stage (unit 0 to unit 0, 1, ..., then those that begin with unit 1), or
 * the bytes over every cut, by the unit after it. Errors: USAGE. */
PL_EXPORTED(popliner_module_fill)
popliner_status popliner_module_fill(popliner_module *module, popliner_costs_of kind,
                                     size_t stages_to_end, const uint64_t *values);

/* Divides the cycles of the table into passes: as in `pl_unit_passes`, of which `cycles` has
 * `count` numbers. Errors: USAGE, MEMORY. */
PL_EXPORTED(popliner_module_divide)
popliner_status popliner_module_divide(popliner_module *module, size_t num_samples, bool has_cuts,
                                       bool are_thirds, const uint64_t *cycles, size_t count);

/* Says that peaks are by the number of all stages, not of those to the end. Errors: MEMORY. */
PL_EXPORTED(popliner_module_follow_split)
popliner_status popliner_module_follow_split(popliner_module *module);

/* Forgets the request, but not the table. */
PL_EXPORTED(popliner_module_reset)
void popliner_module_reset(popliner_module *module);

/* Sets a number, or a list of numbers, of the options of the solver: their names are those of the
 * members; or "num_micro_batches" of a step, whose time an answer then has. Errors: USAGE,
 * MEMORY. */
PL_EXPORTED(popliner_module_set)
popliner_status popliner_module_set(popliner_module *module, const char *name,
                                    const uint64_t *values, size_t count);

/* Sets an option that may be no whole number. Errors: USAGE. */
PL_EXPORTED(popliner_module_set_real)
popliner_status popliner_module_set_real(popliner_module *module, const char *name, double value);

/* Adds an objective ("objective") or sets a text: "schedule", "recompute" and "copies_rule",
 * which decide how long a step takes; "time_unit" of the cycles; the name of an option in messages
 * ("num_ipus", "mem_per_tile", "modules", "constraint_num_ipus", "constraint_device_map"). Errors:
 * USAGE, MEMORY. */
PL_EXPORTED(popliner_module_set_text)
popliner_status popliner_module_set_text(popliner_module *module, const char *name,
                                         const char *text);

/* Answers the request as JSON, which lives until the next answer: "plan", the certificate of the
 * best plan; "front", the best compromises of the first two objectives; "sweep", the best plan for
 * each number of IPUs up to that of the request, without reasons where nothing fits; "passes" of a
 * step of the best plan, a list of [stage, kind (0: forward, 1: backward, 2: of weights), cycle of
 * the start, of the end], empty if the step is unknown. NULL on failure. */
PL_EXPORTED(popliner_module_answer)
const char *popliner_module_answer(popliner_module *module, const char *what);

/* Returns the first unit of a stage of a plan of the last answer, which is not "sweep"; -1 if there
 * is none. A certificate has one plan. */
PL_EXPORTED(popliner_module_first_unit)
int32_t popliner_module_first_unit(const popliner_module *module, size_t plan, size_t stage);

/* Writes the plan of the last answer, which is "plan", for a framework, by the name of its format.
 * The text lives until the next answer. NULL on failure. */
PL_EXPORTED(popliner_module_emit)
const char *popliner_module_emit(popliner_module *module, const char *format);

/* Returns the name of a format, or NULL from their number on. */
PL_EXPORTED(popliner_module_format)
const char *popliner_module_format(popliner_emit_format format);

/* Returns the sentence on the last failure. */
PL_EXPORTED(popliner_module_error)
const char *popliner_module_error(const popliner_module *module);

struct popliner_module {
    size_t num_units;
    popliner_costs *costs;
    popliner_copies copies;          /* that the costs are for */
    popliner_pipeline pipeline;      /* of the request's step */
    popliner_solver_options options; /* its lists are owned */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_certificate_input input;
    popliner_option_names names;
    char **unit_names; /* [num_units] */
    pl_arrays texts;   /* of the request */
    char *answer;
    popliner_certificate *certificate; /* of the last answer, or NULL */
    popliner_pareto *front;            /* of the last answer, or NULL */
    popliner_error error;
};

/* ---- numbers of a request ---- */

enum { SINGLE, LIST, LIST_OF_UNITS };

typedef struct member {
    size_t offset; /* in an item */
    size_t size;
} member;

typedef struct setting {
    const char *name;
    int kind;
    size_t place; /* in the options: of a single number, or of the pointer to the items */
    size_t count; /* in the options: of the number of items of a LIST */
    size_t item_size;
    size_t num_members;
    member members[4];
} setting;

#define OPTION(field) offsetof(popliner_solver_options, field)
#define MEMBER(type, field)                                                                        \
    { offsetof(type, field), sizeof(((type *)NULL)->field) }
#define ONE(field)                                                                                 \
    {                                                                                              \
#field, SINGLE, OPTION(field), 0, 0, 1, {                                                  \
            { 0, sizeof(((popliner_solver_options *)NULL)->field) }                                \
        }                                                                                          \
    }
#define ITEMS(kind, field, count, type, num_members, ...)                                          \
    {                                                                                              \
#field, kind, OPTION(field), count, sizeof(type), num_members, {                           \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define PAIRS(field, type, first, second)                                                          \
    ITEMS(LIST, field, OPTION(num_##field), type, 2, MEMBER(type, first), MEMBER(type, second))
#define WHOLE(type)                                                                                \
    { 0, sizeof(type) }

static const setting settings[] = {
    ONE(method),
    ONE(num_ipus),
    ONE(mem_per_tile),
    ONE(min_units),
    ONE(max_units),
    PAIRS(ipu_limits, popliner_ipu_value, ipu, value),
    PAIRS(ipu_speeds, popliner_ipu_value, ipu, value),
    PAIRS(pairs, popliner_constraint, unit, second_unit),
    PAIRS(placements, popliner_constraint, unit, ipu),
    ITEMS(LIST, device_map, OPTION(num_mapped_stages), size_t, 1, WHOLE(size_t)),
    ITEMS(SINGLE, link_bandwidth, 0, popliner_ipu_link, 2, MEMBER(popliner_ipu_link, bytes),
          MEMBER(popliner_ipu_link, cycles)),
    ITEMS(LIST, ipu_links, OPTION(num_ipu_links), popliner_ipu_link, 4,
          MEMBER(popliner_ipu_link, first_ipu), MEMBER(popliner_ipu_link, second_ipu),
          MEMBER(popliner_ipu_link, bytes), MEMBER(popliner_ipu_link, cycles)),
    ITEMS(LIST_OF_UNITS, cut_rules, 0, popliner_cut_rule, 1, WHOLE(popliner_cut_rule)),
    ITEMS(LIST_OF_UNITS, counted_units, 0, uint8_t, 1, WHOLE(uint8_t)),
};

/* Writes a number of so many bytes; false if it is too large for them. */
static bool store(void *place, size_t size, uint64_t value) {
    const uint32_t four = (uint32_t)value;
    const uint8_t one = (uint8_t)value;
    const void *bytes = size == sizeof value  ? (const void *)&value
                        : size == sizeof four ? (const void *)&four
                                              : (const void *)&one;
    memcpy(place, bytes, size);
    return size == sizeof value || value >> 8 * size == 0;
}

static popliner_status set(popliner_module *m, const setting *row, const uint64_t *values,
                           size_t count) {
    char *const options = (char *)&m->options;
    const size_t num_items = count / row->num_members;
    char *items = options + row->place;
    const size_t expected = row->kind == SINGLE          ? row->num_members
                            : row->kind == LIST_OF_UNITS ? m->num_units
                                                         : num_items * row->num_members;
    if (count != expected)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "%s needs %zu numbers, but %zu are given",
                       row->name, expected, count);
    if (row->kind != SINGLE) {
        items = pl_arrays_new(&m->texts, num_items, row->item_size);
        memcpy(options + row->place, &items, sizeof items);
    }
    if (row->kind == LIST)
        memcpy(options + row->count, &num_items, sizeof num_items);
    if (items == NULL)
        return pl_fail_memory(&m->error, "the request");
    for (size_t i = 0; i < count; i++) {
        const member *own = &row->members[i % row->num_members];
        if (!store(items + i / row->num_members * row->item_size + own->offset, own->size,
                   values[i]))
            return pl_fail(&m->error, POPLINER_ERROR_USAGE, "a number of %s is too large",
                           row->name);
    }
    return POPLINER_OK;
}

popliner_status popliner_module_set(popliner_module *m, const char *name, const uint64_t *values,
                                    size_t count) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(settings[i].name, name) == 0)
            return set(m, &settings[i], values, count);
    if (strcmp(name, "num_micro_batches") != 0 || count != 1 || values[0] > SIZE_MAX)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no option %s", name);
    m->input.copies.num_micro_batches = (size_t)values[0];
    return POPLINER_OK;
}

popliner_status popliner_module_set_real(popliner_module *m, const char *name, double value) {
    if (strcmp(name, "slack_percent") == 0)
        m->options.slack_percent = value;
    else if (strcmp(name, "time_limit_seconds") == 0)
        m->options.time_limit_seconds = value;
    else
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no option %s", name);
    return POPLINER_OK;
}

/* ---- texts of a request ---- */

/* Takes the name of something; false if `name` is none of these. *number is SIZE_MAX for a wrong
 * text. */
static bool take_name(popliner_module *m, const char *name, const char *text, size_t *number) {
    if (strcmp(name, "objective") == 0) {
        const bool has_room = m->options.num_objectives < POPLINER_NUM_OBJECTIVES;
        *number = has_room ? pl_find_name(pl_objective_name, text) : SIZE_MAX;
        m->options.objectives = m->objectives;
        if (*number != SIZE_MAX)
            m->objectives[m->options.num_objectives++] = (popliner_objective)*number;
    } else if (strcmp(name, "schedule") == 0) {
        *number = pl_find_name(pl_schedule_name, text);
        m->input.schedule = (popliner_schedule)*number;
    } else if (strcmp(name, "recompute") == 0) {
        *number = pl_find_name(pl_recompute_name, text);
        m->input.recompute = (popliner_recompute)*number;
    } else if (strcmp(name, "copies_rule") == 0) {
        *number = pl_find_name(pl_copies_rule_name, text);
        m->input.copies.rule = (popliner_copies_rule)*number;
    } else {
        return false;
    }
    return true;
}

/* The members that texts of a request become. */
static const char **place_of_text(popliner_module *m, const char *name) {
    const struct {
        const char *name;
        const char **place;
    } rows[] = {
        {"time_unit", &m->input.time_unit},
        {"num_ipus", &m->names.num_ipus},
        {"mem_per_tile", &m->names.mem_per_tile},
        {"modules", &m->names.modules},
        {"constraint_num_ipus", &m->names.constraints[POPLINER_CONSTRAINT_NUM_IPUS]},
        {"constraint_device_map", &m->names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP]},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].place;
    return NULL;
}

popliner_status popliner_module_set_text(popliner_module *m, const char *name, const char *text) {
    size_t number;
    if (take_name(m, name, text, &number))
        return number != SIZE_MAX ? POPLINER_OK
                                  : pl_fail(&m->error, POPLINER_ERROR_USAGE,
                                            "there is no %s %s, or too many", name, text);
    const char **place = place_of_text(m, name);
    if (place == NULL)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no text %s", name);
    char *copy = pl_arrays_new(&m->texts, strlen(text) + 1, 1);
    if (copy == NULL)
        return pl_fail_memory(&m->error, "the request");
    *place = strcpy(copy, text);
    return POPLINER_OK;
}

void popliner_module_reset(popliner_module *m) {
    pl_arrays_free(&m->texts);
    m->texts = (pl_arrays){0};
    m->options = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    m->input = (popliner_certificate_input)POPLINER_CERTIFICATE_INPUT_INIT;
    m->input.copies = m->copies;
    m->names = (popliner_option_names)POPLINER_OPTION_NAMES_INIT;
    m->options.option_names = &m->names;
    m->error = (popliner_error){0};
}

static void forget_answer(popliner_module *m) {
    free(m->answer);
    popliner_certificate_free(m->certificate);
    popliner_pareto_free(m->front);
    m->answer = NULL;
    m->certificate = NULL;
    m->front = NULL;
}

/* ---- the table ---- */

void popliner_module_free(popliner_module *m) {
    if (m == NULL)
        return;
    popliner_module_reset(m);
    for (size_t unit = 0; m->unit_names != NULL && unit < m->num_units; unit++)
        free(m->unit_names[unit]);
    free(m->unit_names);
    popliner_costs_free(m->costs);
    forget_answer(m);
    free(m);
}

popliner_module *popliner_module_new(size_t num_units, size_t max_stages) {
    popliner_module *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->num_units = num_units;
    popliner_module_reset(m);
    m->unit_names = pl_new_array(num_units, sizeof *m->unit_names);
    popliner_status status = popliner_costs_create(num_units, max_stages, &m->costs, NULL);
    for (size_t unit = 0; m->unit_names != NULL && unit < num_units; unit++) {
        m->unit_names[unit] = pl_copy_string("", 0);
        if (m->unit_names[unit] == NULL)
            status = POPLINER_ERROR_MEMORY;
    }
    if (status == POPLINER_OK && m->unit_names != NULL)
        return m;
    popliner_module_free(m);
    return NULL;
}

popliner_status popliner_module_name_unit(popliner_module *m, size_t unit, const char *name) {
    if (unit >= m->num_units)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no unit %zu", unit);
    char *copy = pl_copy_string(name, strlen(name));
    if (copy == NULL)
        return pl_fail_memory(&m->error, "the names of units");
    free(m->unit_names[unit]);
    m->unit_names[unit] = copy;
    return POPLINER_OK;
}

popliner_status popliner_module_fill(popliner_module *m, popliner_costs_of kind,
                                     size_t stages_to_end, const uint64_t *values) {
    popliner_status status = POPLINER_OK;
    if (kind != POPLINER_COSTS_OF_PEAKS && kind != POPLINER_COSTS_OF_CYCLES)
        return popliner_costs_set_all(m->costs, kind, 1, values, &m->error);
    for (size_t first = 0; first < m->num_units; first++)
        for (size_t last = first; status == POPLINER_OK && last < m->num_units; last++)
            status = kind == POPLINER_COSTS_OF_CYCLES
                         ? popliner_costs_set_cycles(m->costs, first, last, *values++, &m->error)
                         : popliner_costs_set_peak(m->costs, first, last, stages_to_end, *values++,
                                                   &m->error);
    return status;
}

popliner_status popliner_module_divide(popliner_module *m, size_t num_samples, bool has_cuts,
                                       bool are_thirds, const uint64_t *cycles, size_t count) {
    if (count != pl_passes_count(m->num_units, num_samples))
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there are not %zu passes", count);
    pl_unit_passes *passes = malloc(sizeof *passes + count * sizeof *cycles);
    if (passes == NULL)
        return pl_fail_memory(&m->error, "the passes of the units");
    passes->num_samples = num_samples;
    passes->has_cuts = has_cuts;
    passes->are_thirds = are_thirds;
    memcpy(passes->cycles, cycles, count * sizeof *cycles);
    free(m->costs->passes);
    m->costs->passes = passes;
    return POPLINER_OK;
}

/* Says what pipeline the costs are for, if they follow the split; of others nobody asks. */
static popliner_status set_pipeline(popliner_module *m, size_t num_micro_batches) {
    popliner_pipeline pipeline = {.max_stages = 1, .copies = m->copies};
    pipeline.copies.num_micro_batches = num_micro_batches;
    return m->copies.rule != POPLINER_COPIES_ZERO_BUBBLE
               ? POPLINER_OK
               : popliner_costs_set_pipeline(m->costs, &pipeline, &m->error);
}

popliner_status popliner_module_follow_split(popliner_module *m) {
    m->copies.rule = POPLINER_COPIES_ZERO_BUBBLE;
    return set_pipeline(m, 0);
}

/* ---- answers ---- */

static popliner_certificate_input input_of(popliner_module *m, popliner_plan *plan) {
    popliner_certificate_input input = m->input;
    input.plan = plan;
    input.costs = m->costs;
    input.options = &m->options;
    input.option_names = &m->names;
    input.unit_names = (const char *const *)m->unit_names;
    return input;
}

/* Writes the certificate of the best plan. */
static popliner_status answer_plan(popliner_module *m) {
    popliner_plan *plan = NULL;
    if (m->options.num_mapped_stages == 0)
        m->options.num_objectives =
            popliner_objectives_complete(m->objectives, m->options.num_objectives, m->costs);
    popliner_status status = popliner_solve(m->costs, &m->options, &plan, &m->error);
    if (status != POPLINER_OK)
        return status;
    const popliner_certificate_input input = input_of(m, plan);
    status = popliner_certificate_create(&input, &m->certificate, &m->error);
    if (status != POPLINER_OK) {
        popliner_plan_free(plan);
        return status;
    }
    return popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_JSON, &m->answer,
                                     &m->error);
}

/* Writes the passes of a step of the best plan. */
static popliner_status answer_passes(popliner_module *m) {
    pl_arrays arrays = {0};
    pl_step_graph graph;
    popliner_pipeline_step step;
    pl_text text = {0};
    popliner_status status = answer_plan(m);
    if (status == POPLINER_OK)
        status = pl_step_simulate(m->certificate->plan, &m->options, &m->pipeline, m->costs, &step,
                                  &graph, &arrays, &m->error);
    pl_text_add(&text, "[");
    for (size_t i = 0; status == POPLINER_OK && i < graph.num_passes; i++) {
        const pl_step_node *node = &graph.nodes[i];
        const uint64_t end = graph.ends[i + 1];
        pl_text_format(&text, "%s[%u,%u,%" PRIu64 ",%" PRIu64 "]", i == 0 ? "" : ",",
                       (unsigned)(node->part / PL_NUM_PASS_KINDS),
                       (unsigned)(node->part % PL_NUM_PASS_KINDS),
                       pl_larger(graph.ends[node->before], graph.ends[node->needs]), end);
    }
    pl_text_add(&text, "]");
    pl_arrays_free(&arrays);
    free(m->answer);
    m->answer = NULL;
    return pl_text_finish(&text, status, &m->answer, &m->error);
}

/* Writes all best compromises of the first two objectives. */
static popliner_status answer_front(popliner_module *m) {
    const popliner_certificate_input input = input_of(m, NULL);
    popliner_status status = popliner_pareto_solve(m->costs, &m->options, &m->front, &m->error);
    if (status == POPLINER_OK)
        status =
            popliner_report_pareto(m->front, &input, POPLINER_FORMAT_JSON, &m->answer, &m->error);
    return status;
}

/* Writes the best plan for each number of IPUs up to that of the request. */
static popliner_status answer_sweep(popliner_module *m) {
    const size_t most = m->options.num_ipus > 0 ? m->options.num_ipus : POPLINER_USUAL_IPUS;
    if (most > (size_t)POPLINER_MAX_IPU + 1)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "num_ipus: %zu; expected at most %d", most,
                       POPLINER_MAX_IPU + 1);
    const popliner_certificate_input input = input_of(m, NULL);
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    popliner_plan **plans = pl_new_array(most, sizeof *plans);
    uint64_t *values = pl_new_array(most, sizeof *values);
    popliner_status status =
        plans == NULL || values == NULL ? pl_fail_memory(&m->error, "plans") : POPLINER_OK;
    m->options.without_reasons = true;
    for (size_t i = 0; status == POPLINER_OK && i < most; i++) {
        m->options.num_ipus = i + 1;
        values[i] = i + 1;
        status = popliner_solve(m->costs, &m->options, &plans[i], &m->error);
    }
    m->options.num_ipus = most;
    sweep.what = "num_ipus";
    sweep.values = values;
    sweep.plans = (const popliner_plan *const *)plans;
    sweep.num_values = most;
    if (status == POPLINER_OK)
        status = popliner_report_sweep(&sweep, &input, POPLINER_FORMAT_JSON, &m->answer, &m->error);
    for (size_t i = 0; plans != NULL && i < most; i++)
        popliner_plan_free(plans[i]);
    free(plans);
    free(values);
    return status;
}

const char *popliner_module_answer(popliner_module *m, const char *what) {
    /* a request has its own number of micro-batches */
    popliner_status status = set_pipeline(m, m->input.copies.num_micro_batches);
    forget_answer(m);
    if (status != POPLINER_OK)
        return NULL;
    m->pipeline = (popliner_pipeline){.schedule = m->input.schedule, .copies = m->input.copies};
    m->options.pipeline = &m->pipeline;
    if (strcmp(what, "plan") == 0)
        status = answer_plan(m);
    else if (strcmp(what, "front") == 0)
        status = answer_front(m);
    else if (strcmp(what, "sweep") == 0)
        status = answer_sweep(m);
    else if (strcmp(what, "passes") == 0)
        status = answer_passes(m);
    else
        status = pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no answer %s", what);
    return status == POPLINER_OK ? m->answer : NULL;
}

int32_t popliner_module_first_unit(const popliner_module *m, size_t plan, size_t stage) {
    const popliner_plan *own = m->certificate != NULL && plan == 0 ? m->certificate->plan
                               : m->front != NULL && plan < m->front->num_points
                                   ? m->front->plans[plan]
                                   : NULL;
    return own != NULL && stage < own->num_stages ? (int32_t)own->stages[stage].first_unit : -1;
}

const char *popliner_module_emit(popliner_module *m, const char *format) {
    popliner_emit_options options = POPLINER_EMIT_OPTIONS_INIT;
    char *text = NULL;
    options.certificate = m->certificate;
    options.option_names = &m->names;
    popliner_emit_format number = 0;
    while (number < POPLINER_NUM_EMIT_FORMATS && strcmp(pl_emit_format_name(number), format) != 0)
        number++;
    if (m->certificate == NULL)
        pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no plan to write");
    else if (popliner_emit(&options, number, &text, &m->error) == POPLINER_OK) {
        free(m->answer);
        m->answer = text;
    }
    return text;
}

const char *popliner_module_format(popliner_emit_format format) {
    return pl_emit_format_name(format);
}

const char *popliner_module_error(const popliner_module *m) {
    return m->error.message;
}
