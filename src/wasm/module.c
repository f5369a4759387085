/* The solver as a WebAssembly module: a table of costs, a request that is set by names, and answers
 * as JSON in the words of the library. solver.js calls these functions, which the module exports.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/asked.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/text.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "emit/emit_data.h"
#include "pipeline/pipeline.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"
#include "popliner/emit.h"
#include "popliner/report.h"
#include "solve/constraint.h"
#include "solve/plan.h"
#include "solve/step.h"
#include "wasm/told_profile.h"

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
 * the bytes over every cut, by the unit after it, or numbers of units. After the kinds of a table
 * come the parts of peaks that are caches, and workspaces. Errors: USAGE, MEMORY. */
PL_EXPORTED(popliner_module_fill)
popliner_status popliner_module_fill(popliner_module *module, popliner_costs_of kind,
                                     size_t stages_to_end, const uint64_t *values);

/* Sets the peaks of every stage as a page of costs has them. By peaks: how many pieces each stage
 * has, then of all pieces the place that each is from (0: the last stage), the bytes at place 0,
 * and the bytes more for each place. By lines: the number of regions, that of places, the copies of
 * each place, and for each region and stage the bytes and those of a copy. Errors: USAGE,
 * MEMORY. */
PL_EXPORTED(popliner_module_take_peaks)
popliner_status popliner_module_take_peaks(popliner_module *module, const double *numbers,
                                           size_t count);
PL_EXPORTED(popliner_module_take_lines)
popliner_status popliner_module_take_lines(popliner_module *module, const double *numbers,
                                           size_t count);

/* Makes the peaks that were set those of what sizes may be at most; the others come after. Errors:
 * MEMORY. */
PL_EXPORTED(popliner_module_keep_most)
popliner_status popliner_module_keep_most(popliner_module *module);

/* Takes the stages of a profile as a page has them: pl_told_profile_read. Then
 * popliner_module_price makes the costs for the pipeline of the request, its need and as many
 * stages as its num_ipus; these replace all that was set. Errors: USAGE, MEMORY. */
PL_EXPORTED(popliner_module_take_profile)
popliner_status popliner_module_take_profile(popliner_module *module, const double *numbers,
                                             size_t count, const char *names, size_t length);
PL_EXPORTED(popliner_module_price)
popliner_status popliner_module_price(popliner_module *module);

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
 * members; "cuts", the first units of all stages but the first of a split that is given; or of the
 * pipeline: "num_micro_batches" of a step, whose time an answer then has, and of a profile "need",
 * "effects", "accumulators", "copies_of" (`more` and what follows it in popliner_copies, as pages
 * list it) and "listed". Errors: USAGE, MEMORY. */
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
 * best plan; "evaluate", that of the split of the cuts; "broken", what constraints of the request
 * that split breaks, as texts; "hints", that of the best plan with what would help; "alone", what
 * each unit needs as the last stage; "front", the best compromises of the first two objectives;
 * "sweep", the best plan for each number of IPUs up to that of the request, without reasons where
 * nothing fits; "passes" of a step of the best plan, or of the split of the cuts, a list of [stage,
 * kind (0: forward, 1: backward, 2: of weights), cycle of the start, of the end], empty if the step
 * is unknown. NULL on failure. */
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
    popliner_costs *most;       /* see popliner_module_keep_most; NULL: unknown */
    popliner_copies copies;     /* that the costs are for */
    popliner_pipeline pipeline; /* of the request */
    popliner_need need;
    size_t *cuts; /* of the split that is given; NULL: none is */
    size_t num_cuts;
    pl_told_profile *told; /* NULL: the costs are of no profile */
    char *told_names;
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

/* Parts of the peaks, after the kinds of numbers of a table. */
enum { OF_CACHES = POPLINER_COSTS_OF_KV_TOKENS + 1 };

/* ---- numbers of a request ---- */

enum { SINGLE, LIST, LIST_OF_UNITS };

typedef struct member {
    size_t offset; /* in an item */
    size_t size;
} member;

typedef struct setting {
    const char *name;
    int kind;
    size_t place; /* in the module: of a single number, or of the pointer to the items */
    size_t count; /* in the module: of the number of items of a LIST */
    size_t item_size;
    size_t num_members;
    member members[5];
} setting;

#define AT(field) offsetof(popliner_module, field)
#define MEMBER(type, field)                                                                        \
    { offsetof(type, field), sizeof(((type *)NULL)->field) }
#define ONE(name, field)                                                                           \
    {                                                                                              \
        name, SINGLE, AT(field), 0, 0, 1, {                                                        \
            { 0, sizeof(((popliner_module *)NULL)->field) }                                        \
        }                                                                                          \
    }
#define ITEMS(kind, field, count, type, num_members, ...)                                          \
    {                                                                                              \
#field, kind, AT(options.field), count, sizeof(type), num_members, {                       \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define PAIRS(field, type, first, second)                                                          \
    ITEMS(LIST, field, AT(options.num_##field), type, 2, MEMBER(type, first), MEMBER(type, second))
#define WHOLE(type)                                                                                \
    { 0, sizeof(type) }

static const setting settings[] = {
    ONE("method", options.method),
    ONE("num_ipus", options.num_ipus),
    ONE("mem_per_tile", options.mem_per_tile),
    ONE("min_units", options.min_units),
    ONE("max_units", options.max_units),
    PAIRS(ipu_limits, popliner_ipu_value, ipu, value),
    PAIRS(ipu_speeds, popliner_ipu_value, ipu, value),
    PAIRS(pairs, popliner_constraint, unit, second_unit),
    PAIRS(placements, popliner_constraint, unit, ipu),
    ITEMS(LIST, device_map, AT(options.num_mapped_stages), size_t, 1, WHOLE(size_t)),
    ITEMS(SINGLE, link_bandwidth, 0, popliner_ipu_link, 2, MEMBER(popliner_ipu_link, bytes),
          MEMBER(popliner_ipu_link, cycles)),
    ITEMS(LIST, ipu_links, AT(options.num_ipu_links), popliner_ipu_link, 4,
          MEMBER(popliner_ipu_link, first_ipu), MEMBER(popliner_ipu_link, second_ipu),
          MEMBER(popliner_ipu_link, bytes), MEMBER(popliner_ipu_link, cycles)),
    ITEMS(LIST_OF_UNITS, cut_rules, 0, popliner_cut_rule, 1, WHOLE(popliner_cut_rule)),
    ITEMS(LIST_OF_UNITS, counted_units, 0, uint8_t, 1, WHOLE(uint8_t)),
    {"cuts", LIST, AT(cuts), AT(num_cuts), sizeof(size_t), 1, {WHOLE(size_t)}},
    ONE("num_micro_batches", input.copies.num_micro_batches),
    ONE("cycles_per_time_unit", input.cycles_per_time_unit),
    ONE("need", need),
    ONE("effects", pipeline.effects),
    ONE("accumulators", pipeline.accumulators),
    {"copies_of",
     SINGLE,
     AT(input.copies),
     0,
     sizeof(popliner_copies),
     5,
     {MEMBER(popliner_copies, more), MEMBER(popliner_copies, num_stages),
      MEMBER(popliner_copies, num_ipus), MEMBER(popliner_copies, is_v),
      MEMBER(popliner_copies, goes_on)}},
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
    char *const module = (char *)m;
    const size_t num_items = count / row->num_members;
    char *items = module + row->place;
    const size_t expected = row->kind == SINGLE          ? row->num_members
                            : row->kind == LIST_OF_UNITS ? m->num_units
                                                         : num_items * row->num_members;
    if (count != expected)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "%s needs %zu numbers, but %zu are given",
                       row->name, expected, count);
    if (row->kind != SINGLE) {
        items = pl_arrays_new(&m->texts, num_items, row->item_size);
        memcpy(module + row->place, &items, sizeof items);
    }
    if (row->kind == LIST)
        memcpy(module + row->count, &num_items, sizeof num_items);
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
    if (strcmp(name, "listed") != 0 || count > POPLINER_MAX_LISTED_COPIES)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no option %s", name);
    for (size_t i = 0; i < count; i++)
        m->input.copies.listed[i] = (uint32_t)values[i];
    m->input.copies.num_listed = count;
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
    m->pipeline = (popliner_pipeline){0};
    m->need = POPLINER_NEED_EXPECTED;
    m->cuts = NULL;
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
    popliner_costs_free(m->most);
    pl_told_profile_free(m->told);
    free(m->told_names);
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
    uint64_t **parts[] = {&m->costs->cache_bytes, &m->costs->workspace};
    if (kind >= OF_CACHES) {
        uint64_t **part = parts[kind - OF_CACHES];
        free(*part);
        *part = pl_new_array(m->num_units, sizeof **part);
        if (*part == NULL)
            return pl_fail_memory(&m->error, "parts of the peaks");
        memcpy(*part, values, m->num_units * sizeof **part);
        return POPLINER_OK;
    }
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

popliner_status popliner_module_take_peaks(popliner_module *m, const double *numbers,
                                           size_t count) {
    const size_t n = m->num_units;
    const size_t num_stages = n * (n + 1) / 2;
    const size_t num_lines = count > num_stages ? (count - num_stages) / 3 : 0;
    const double *from = numbers + num_stages;
    size_t line = 0;
    for (size_t first = 0; first < n; first++)
        for (size_t last = first; last < n; last++) {
            const size_t end = line + (size_t)*numbers++;
            if (end > num_lines || end == line)
                return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there are not %zu lines", end);
            for (size_t place = 0; place < m->costs->max_stages_to_end; place++) {
                while (line + 1 < end && from[line + 1] <= (double)place)
                    line++;
                pl_costs_set_peak(m->costs, first, last, place + 1,
                                  (uint64_t)from[num_lines + line] +
                                      place * (uint64_t)from[2 * num_lines + line]);
            }
            line = end;
        }
    return POPLINER_OK;
}

popliner_status popliner_module_take_lines(popliner_module *m, const double *numbers,
                                           size_t count) {
    const size_t n = m->num_units;
    const size_t num_stages = n * (n + 1) / 2;
    const size_t num_regions = count > 2 ? (size_t)numbers[0] : 0;
    const size_t num_places = count > 2 ? (size_t)numbers[1] : 0;
    if (num_regions == 0 || num_places == 0 ||
        count != 2 + num_places + 2 * num_regions * num_stages)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "these are no lines of %zu units", n);
    popliner_costs *costs = m->costs;
    size_t *copies = calloc(num_places, sizeof *copies);
    pl_peak_line *lines = calloc(num_regions, sizeof *lines);
    for (size_t place = 0; copies != NULL && place < num_places; place++)
        copies[place] = (size_t)numbers[2 + place];
    bool memory =
        copies != NULL && lines != NULL &&
        pl_costs_begin_lines(costs, PL_PEAKS_OF_LINES, copies, num_places, num_regions, NULL);
    numbers += 2 + num_places;
    for (size_t first = 0, stage = 0; memory && first < n; first++)
        for (size_t last = first; last < n; last++, stage++) {
            for (size_t k = 0; k < num_regions; k++)
                lines[k] = (pl_peak_line){(uint64_t)numbers[2 * (k * num_stages + stage)],
                                          (uint64_t)numbers[2 * (k * num_stages + stage) + 1]};
            pl_costs_set_lines(costs, first, last, lines);
        }
    free(copies);
    free(lines);
    return memory ? POPLINER_OK : pl_fail_memory(&m->error, "the lines of the costs");
}

popliner_status popliner_module_keep_most(popliner_module *m) {
    popliner_costs *costs = NULL;
    popliner_status status =
        popliner_costs_create(m->num_units, m->costs->max_stages_to_end, &costs, &m->error);
    if (status != POPLINER_OK)
        return status;
    popliner_costs_free(m->most);
    m->most = m->costs;
    m->costs = costs;
    costs->most = m->most;
    return POPLINER_OK;
}

popliner_status popliner_module_take_profile(popliner_module *m, const double *numbers,
                                             size_t count, const char *names, size_t length) {
    pl_told_profile_free(m->told);
    free(m->told_names);
    m->told = NULL;
    m->told_names = pl_copy_string(names, length);
    if (m->told_names != NULL)
        m->told = pl_told_profile_read(numbers, count, (pl_told_names){m->told_names, length},
                                       (const char **)m->unit_names, m->num_units);
    return m->told != NULL ? POPLINER_OK
                           : pl_fail(&m->error, POPLINER_ERROR_USAGE,
                                     "these are not the stages of a profile, or memory is short");
}

/* Completes the pipeline of the request. */
static void take_pipeline(popliner_module *m) {
    m->pipeline.schedule = m->input.schedule;
    m->pipeline.recompute = m->input.recompute;
    m->pipeline.max_stages = 1;
    m->pipeline.copies = m->input.copies;
    m->pipeline = pl_pipeline_of_any_split(&m->pipeline);
}

/* Makes the costs of the request's pipeline with so many stages, by the stages of a profile. */
static popliner_status price(popliner_module *m, popliner_need need, size_t num_stages,
                             popliner_costs **costs, popliner_error *error) {
    popliner_pipeline longest = m->pipeline;
    longest.max_stages = num_stages;
    popliner_status status =
        pl_stage_details_costs(&m->told->details, &m->told->chain, &longest, need, costs, error);
    if (status == POPLINER_OK && m->told->cycles != NULL &&
        (status = pl_costs_add_cycles(*costs, error)) == POPLINER_OK)
        memcpy((*costs)->cycles, m->told->cycles,
               pl_triangle_size(m->num_units) * sizeof *m->told->cycles);
    if (status == POPLINER_OK && !pl_costs_set_counted_units(*costs, m->options.counted_units))
        status = pl_fail_memory(error, "the marks of the units");
    if (status == POPLINER_OK)
        status = popliner_costs_set_pipeline(*costs, &m->pipeline, error);
    return status;
}

popliner_status popliner_module_price(popliner_module *m) {
    popliner_costs *costs = NULL;
    if (m->told == NULL)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there are no stages of a profile");
    take_pipeline(m);
    popliner_status status = price(m, m->need, m->options.num_ipus, &costs, &m->error);
    if (status != POPLINER_OK) {
        popliner_costs_free(costs);
        return status;
    }
    popliner_costs_free(m->costs);
    m->costs = costs;
    return POPLINER_OK;
}

popliner_status popliner_module_divide(popliner_module *m, size_t num_samples, bool has_cuts,
                                       bool are_thirds, const uint64_t *cycles, size_t count) {
    if (count != pl_passes_count(m->num_units, num_samples))
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there are not %zu passes", count);
    pl_unit_passes *passes =
        pl_arrays_new(&m->costs->arrays, 1, sizeof *passes + count * sizeof *cycles);
    if (passes == NULL)
        return pl_fail_memory(&m->error, "the passes of the units");
    passes->num_samples = num_samples;
    passes->has_cuts = has_cuts;
    passes->are_thirds = are_thirds;
    memcpy(passes->cycles, cycles, count * sizeof *cycles);
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

/* A question that the stages of a profile answer. */
typedef struct told_question {
    const popliner_solver_options *options;
    const popliner_costs *costs;
    popliner_need need;
    bool is_evaluation;
} told_question;

/* Makes the certificate of a plan by the stages of a profile, as the analysis does. */
static popliner_status certify_told(popliner_module *m, const told_question *q, popliner_plan *plan,
                                    popliner_certificate **certificate, popliner_error *error) {
    pl_told_profile *told = m->told;
    popliner_solver_options options;
    popliner_listener listener;
    const bool has_schedule =
        m->pipeline.schedule != POPLINER_SCHEDULE_NONE || pl_pipeline_has_own_copies(&m->pipeline);
    pl_certificate_input input = {
        .options = &options,
        .pipeline = m->pipeline,
        .need = q->need,
        .num_units = m->num_units,
        .unit_names = (const char *const *)m->unit_names,
        .time_unit = "cycles",
        .cycles_per_time_unit = 1,
        .cuts_per_unit = 1,
        .has_cycles = popliner_costs_has_cycles(q->costs),
        .costs = q->is_evaluation ? q->costs : NULL,
        .profile = &told->profile,
        .operations = &told->operations,
        .chain = &told->chain,
        .lacks_schedule = told->details.key.is_training && !has_schedule,
    };
    input.stages_of_ways[m->pipeline.recompute] = &told->details;
    popliner_status status = pl_option_names_take(&m->names, &input.option_names, error);
    if (status == POPLINER_OK)
        status = pl_solver_options_take(q->options, q->costs, &options, &listener, error);
    return status == POPLINER_OK
               ? pl_certificate_create(&input, q->is_evaluation, plan, NULL, certificate, error)
               : status;
}

/* Writes the certificate of a plan, which it takes over. */
static popliner_status certify(popliner_module *m, bool is_evaluation, popliner_plan *plan) {
    popliner_certificate_input input = input_of(m, plan);
    input.is_evaluation = is_evaluation;
    const told_question q = {&m->options, m->costs, m->need, is_evaluation};
    popliner_status status = m->told != NULL
                                 ? certify_told(m, &q, plan, &m->certificate, &m->error)
                                 : popliner_certificate_create(&input, &m->certificate, &m->error);
    if (m->told != NULL || status != POPLINER_OK)
        popliner_plan_free(plan);
    return status == POPLINER_OK
               ? popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_JSON, &m->answer,
                                           &m->error)
               : status;
}

static popliner_status answer_plan(popliner_module *m) {
    popliner_plan *plan = NULL;
    if (m->options.num_mapped_stages == 0)
        m->options.num_objectives =
            popliner_objectives_complete(m->objectives, m->options.num_objectives, m->costs);
    popliner_status status = popliner_solve(m->costs, &m->options, &plan, &m->error);
    return status == POPLINER_OK ? certify(m, false, plan) : status;
}

/* ---- a split that is given ---- */

static popliner_status check_cuts(popliner_module *m) {
    for (size_t i = 0; i < m->num_cuts; i++)
        if (m->cuts[i] >= m->num_units || m->cuts[i] <= (i == 0 ? 0 : m->cuts[i - 1]))
            return pl_fail(&m->error, POPLINER_ERROR_USAGE,
                           "cuts: %zu; expected ascending units from 1 to %zu", m->cuts[i],
                           m->num_units - 1);
    return m->cuts == NULL ? pl_fail(&m->error, POPLINER_ERROR_USAGE, "there are no cuts")
                           : POPLINER_OK;
}

/* Makes the plan of the cuts, with the places of its stages alone: those of a map that fits. */
static popliner_status place_stages(popliner_module *m, popliner_plan **result) {
    popliner_plan *plan = calloc(1, sizeof *plan);
    popliner_plan_stage *stages = calloc(m->num_cuts + 1, sizeof *stages);
    if (plan == NULL || stages == NULL) {
        free(plan);
        free(stages);
        return pl_fail_memory(&m->error, "the stages of the plan");
    }
    plan->stages = stages;
    plan->num_stages = plan->num_ipus = m->num_cuts + 1;
    for (size_t i = 0; i <= m->num_cuts; i++)
        stages[i] = (popliner_plan_stage){
            .first_unit = i == 0 ? 0 : m->cuts[i - 1],
            .last_unit = (i < m->num_cuts ? m->cuts[i] : m->num_units) - 1,
            .ipu = m->options.num_mapped_stages == plan->num_stages ? m->options.device_map[i] : i,
        };
    *result = plan;
    return POPLINER_OK;
}

/* Finds the one split that the cuts leave, by costs. */
static popliner_status solve_split(popliner_module *m, popliner_plan **plan) {
    popliner_cut_rule *rules = pl_arrays_new(&m->texts, m->num_units, sizeof *rules);
    if (rules == NULL)
        return pl_fail_memory(&m->error, "the request");
    for (size_t unit = 1; unit < m->num_units; unit++)
        rules[unit] = POPLINER_CUT_FORBIDDEN;
    for (size_t i = 0; i < m->num_cuts; i++)
        rules[m->cuts[i]] = POPLINER_CUT_REQUIRED;
    m->options.cut_rules = rules;
    m->options.num_ipus = m->num_cuts + 1;
    return popliner_solve(m->costs, &m->options, plan, &m->error);
}

static popliner_status answer_evaluation(popliner_module *m) {
    popliner_plan *plan = NULL;
    popliner_status status = check_cuts(m);
    m->options.min_units = m->options.max_units = 0;
    if (status == POPLINER_OK && m->options.num_mapped_stages > 0 &&
        m->options.num_mapped_stages != m->num_cuts + 1)
        status = pl_fail(&m->error, POPLINER_ERROR_USAGE,
                         "the split has %zu stages, but the device map has %zu", m->num_cuts + 1,
                         m->options.num_mapped_stages);
    if (status == POPLINER_OK)
        status = m->told != NULL ? place_stages(m, &plan) : solve_split(m, &plan);
    return status == POPLINER_OK ? certify(m, true, plan) : status;
}

/* Whether the stages of a split keep a constraint. */
static bool keeps(const popliner_plan *plan, const popliner_solver_options *o,
                  const popliner_constraint *c) {
    bool is_cut = false;
    size_t least = SIZE_MAX;
    size_t most = 0;
    size_t ipus[2] = {SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        size_t size = 0;
        for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
            size += o->counted_units == NULL || o->counted_units[unit] != 0;
            if (unit == c->unit)
                ipus[0] = stage->ipu;
            if (unit == c->second_unit)
                ipus[1] = stage->ipu;
        }
        is_cut = is_cut || stage->first_unit == c->unit + 1;
        least = pl_fewer(least, size);
        most = pl_more(most, size);
    }
    return c->kind == POPLINER_CONSTRAINT_NUM_IPUS        ? plan->num_stages <= c->number
           : c->kind == POPLINER_CONSTRAINT_DEVICE_MAP    ? plan->num_stages == c->number
           : c->kind == POPLINER_CONSTRAINT_MIN_UNITS     ? least >= c->number
           : c->kind == POPLINER_CONSTRAINT_MAX_UNITS     ? most <= c->number
           : c->kind == POPLINER_CONSTRAINT_REQUIRED_CUT  ? is_cut
           : c->kind == POPLINER_CONSTRAINT_FORBIDDEN_CUT ? !is_cut
           : c->kind == POPLINER_CONSTRAINT_PAIR          ? ipus[0] == ipus[1]
                                                          : ipus[0] == c->ipu;
}

/* Writes the constraints of the request that the split breaks. */
static popliner_status answer_broken(popliner_module *m) {
    pl_constraints list = {0};
    popliner_plan *plan = NULL;
    pl_text text = {0};
    pl_json json = {.text = &text, .style = PL_JSON_COMPACT};
    pl_certificate named = {.input.unit_names = (const char *const *)m->unit_names};
    popliner_status status = check_cuts(m);
    if (status == POPLINER_OK)
        status = pl_option_names_take(&m->names, &named.input.option_names, &m->error);
    if (status == POPLINER_OK)
        status = place_stages(m, &plan);
    if (status == POPLINER_OK)
        status = pl_constraints_list(&m->options, m->num_units, &list, &m->error);
    pl_put_open(&json, NULL, '[');
    for (size_t i = 0; status == POPLINER_OK && i < list.count; i++) {
        pl_text words = {0};
        if (keeps(plan, &m->options, &list.items[i]))
            continue;
        pl_certificate_word_constraint(&named, &list.items[i], &words);
        pl_put_text(&json, NULL, words.data);
        free(words.data);
    }
    pl_put_close(&json);
    free(list.items);
    popliner_plan_free(plan);
    return pl_text_finish(&text, status, &m->answer, &m->error);
}

/* ---- what would help ---- */

/* The module stands for the analysis, of the stages of the request's pipeline. */

popliner_status pl_analysis_enter(popliner_analysis *analysis, popliner_error *error) {
    (void)analysis;
    (void)error;
    return POPLINER_OK;
}

popliner_status pl_analysis_leave(popliner_analysis *analysis, popliner_status status) {
    (void)analysis;
    return status;
}

popliner_status pl_analysis_require_variables(const popliner_analysis *analysis,
                                              popliner_error *error) {
    (void)analysis;
    (void)error;
    return POPLINER_OK;
}

pl_silenced pl_analysis_silence(popliner_analysis *analysis) {
    (void)analysis;
    return (pl_silenced){0};
}

void pl_analysis_speak(popliner_analysis *analysis, const pl_silenced *silenced) {
    (void)analysis;
    (void)silenced;
}

popliner_status pl_analysis_check_certificate(const popliner_analysis *analysis,
                                              const pl_certificate *certificate, const char *user,
                                              popliner_error *error) {
    (void)analysis;
    (void)certificate;
    (void)user;
    (void)error;
    return POPLINER_OK;
}

popliner_status popliner_analysis_evaluate_plan(popliner_analysis *analysis,
                                                const popliner_request *request,
                                                const popliner_plan *plan,
                                                popliner_certificate **certificate,
                                                popliner_error *error) {
    popliner_module *m = (popliner_module *)(void *)analysis;
    const told_question q = {request->solver, m->costs, request->need, true};
    popliner_plan own = {.num_stages = plan->num_stages, .num_ipus = plan->num_ipus};
    own.stages = calloc(plan->num_stages, sizeof *own.stages);
    if (own.stages == NULL)
        return pl_fail_memory(error, "the stages of the plan");
    for (size_t i = 0; i < plan->num_stages; i++)
        own.stages[i] = (popliner_plan_stage){.first_unit = plan->stages[i].first_unit,
                                              .last_unit = plan->stages[i].last_unit,
                                              .ipu = plan->stages[i].ipu};
    popliner_status status = certify_told(m, &q, &own, certificate, error);
    pl_plan_clear(&own);
    return status;
}

popliner_status popliner_analysis_solve(popliner_analysis *analysis,
                                        const popliner_request *request,
                                        popliner_certificate **certificate, popliner_error *error) {
    popliner_module *m = (popliner_module *)(void *)analysis;
    popliner_costs *costs = NULL;
    popliner_plan *plan = NULL;
    *certificate = NULL;
    if (request->schedule != m->pipeline.schedule || request->recompute != m->pipeline.recompute)
        return pl_fail(error, POPLINER_ERROR_USAGE, "these stages are of another pipeline");
    popliner_status status = price(m, request->need, request->solver->num_ipus, &costs, error);
    if (status == POPLINER_OK)
        status = popliner_solve(costs, request->solver, &plan, error);
    const told_question q = {request->solver, costs, request->need, false};
    if (status == POPLINER_OK)
        status = certify_told(m, &q, plan, certificate, error);
    popliner_plan_free(plan);
    popliner_costs_free(costs);
    return status;
}

/* Writes the best plan with what would help. */
static popliner_status answer_hints(popliner_module *m) {
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_status status = answer_plan(m);
    request.schedule = m->pipeline.schedule;
    request.recompute = m->pipeline.recompute;
    request.copies = m->pipeline.copies;
    request.need = m->need;
    request.solver = &m->options;
    if (status == POPLINER_OK)
        status = popliner_certificate_find_hints(
            m->certificate, m->told != NULL ? (popliner_analysis *)(void *)m : NULL, &request,
            m->costs, NULL, NULL, &m->error);
    free(m->answer);
    m->answer = NULL;
    return status == POPLINER_OK
               ? popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_JSON, &m->answer,
                                           &m->error)
               : status;
}

/* Writes what each unit needs as the last stage, alone; 0 where it may not be. */
static popliner_status answer_alone(popliner_module *m) {
    pl_text text = {0};
    pl_json json = {.text = &text, .style = PL_JSON_COMPACT};
    pl_put_open(&json, NULL, '[');
    for (size_t unit = 0; unit < m->num_units; unit++) {
        const uint64_t bytes = popliner_costs_peak(m->costs, unit, unit, 1);
        pl_put_number(&json, NULL, bytes == POPLINER_PEAK_FORBIDDEN ? 0 : bytes);
    }
    pl_put_close(&json);
    return pl_text_finish(&text, POPLINER_OK, &m->answer, &m->error);
}

/* Writes the passes of a step of the best plan. */
static popliner_status answer_passes(popliner_module *m) {
    pl_arrays arrays = {0};
    pl_step_graph graph;
    popliner_pipeline_step step;
    pl_text text = {0};
    popliner_status status = m->cuts != NULL ? answer_evaluation(m) : answer_plan(m);
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
    static const struct {
        const char *what;
        popliner_status (*write)(popliner_module *m);
    } answers[] = {
        {"plan", answer_plan},     {"evaluate", answer_evaluation}, {"broken", answer_broken},
        {"alone", answer_alone},   {"front", answer_front},         {"sweep", answer_sweep},
        {"passes", answer_passes}, {"hints", answer_hints},
    };
    take_pipeline(m);
    if (m->input.cycles_per_time_unit > 0) /* bandwidths are in it */
        m->costs->cycles_per_time_unit = m->input.cycles_per_time_unit;
    m->options.pipeline = &m->pipeline;
    size_t i = 0;
    while (i < sizeof answers / sizeof *answers && strcmp(answers[i].what, what) != 0)
        i++;
    status = i < sizeof answers / sizeof *answers
                 ? answers[i].write(m)
                 : pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no answer %s", what);
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
