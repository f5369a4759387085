/* The solver as a WebAssembly module: a table of costs, and answers to requests as JSON in the
 * words of the library. solver.js calls these functions, which the module exports.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hints.h"
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
#include "wasm/json_tokens.h"
#include "wasm/told_profile.h"

#ifdef __wasm__
#define PL_EXPORTED(name) __attribute__((export_name(#name)))
#else
#define PL_EXPORTED(name)
#endif

/* A table and a request. Its functions take JSON, allocated by malloc, which they free. What they
 * return lives until the next call; NULL on failure, of which popliner_module_error tells. */
typedef struct popliner_module popliner_module;

/* NULL if memory is short. */
PL_EXPORTED(popliner_module_new)
popliner_module *popliner_module_new(void);

PL_EXPORTED(popliner_module_free)
void popliner_module_free(popliner_module *module);

/* Makes the table, once, of an object: docs/javascript.md. Pages give some of its members in other
 * forms:
 *
 *   "lines"    instead of "peaks": the number of regions, that of places, the copies of each place,
 *              and for each region and stage the bytes and those of a copy
 *   "most"     "peaks" or "lines" of what sizes may be at most
 *   "stages"   instead, of a profile: pl_told_profile_read
 *
 * Errors: USAGE, MEMORY. */
PL_EXPORTED(popliner_module_fill)
const char *popliner_module_fill(popliner_module *module, char *json);

/* Answers a list of the name of an answer, and a request of options of the solver (by the names of
 * members) and "cuts", the first units of all stages but the first of a split that is given. As
 * JSON: "plan", the certificate of the best plan; "evaluate", that of the split of the cuts;
 * "broken", what constraints of the request that split breaks, as texts; "hints", that of the best
 * plan with what would help; "alone", what each unit needs as the last stage; "front", the best
 * compromises of the first two objectives; "passes" of a step of the best plan, or
 * of the split of the cuts, a list of [stage, kind (0: forward, 1: backward, 2: of weights), cycle
 * of the start, of the end], empty if the step is unknown. */
PL_EXPORTED(popliner_module_answer)
const char *popliner_module_answer(popliner_module *module, char *json);

/* Writes the plan of the last answer, which has one, for a framework, by the name of its format. */
PL_EXPORTED(popliner_module_emit)
const char *popliner_module_emit(popliner_module *module, char *json);

/* Returns the name of a format, or NULL from their number on. */
PL_EXPORTED(popliner_module_format)
const char *popliner_module_format(popliner_emit_format format);

/* Returns the sentence on the last failure. */
PL_EXPORTED(popliner_module_error)
const char *popliner_module_error(const popliner_module *module);

struct popliner_module {
    /* the table */
    char *table; /* JSON that others refer to */
    pl_arrays arrays;
    size_t num_units;
    size_t num_places; /* from the end, in which stages have other peaks */
    popliner_costs *costs;
    popliner_costs *most; /* as sizes may be at most; NULL: unknown */
    popliner_pipeline pipeline;
    popliner_request asked;  /* of the pipeline, with the options of the request */
    pl_told_profile *told;   /* NULL: the costs are of no profile */
    const uint64_t *cycles;  /* of all stages; NULL: unknown */
    uint8_t *counted;        /* [num_units]; NULL: all units are */
    const char *not_counted; /* as in popliner_costs; NULL: unknown */
    popliner_certificate_input input;
    uint32_t *listed; /* numbers of copies */
    size_t num_listed;
    popliner_option_names names;
    const char **unit_names; /* [num_units] */
    /* the request */
    char *request;
    pl_arrays lists;
    popliner_solver_options options; /* its lists are owned */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    size_t *cuts; /* of the split that is given; NULL: none is */
    size_t num_cuts;
    /* the answer */
    char *answer;
    popliner_certificate *certificate;
    popliner_error error;
};

/* ---- members that are set by their names ---- */

enum { SINGLE, LIST, LIST_OF_UNITS, TEXT, REAL };

typedef struct member {
    size_t offset; /* in an item */
    size_t size;
} member;

typedef struct setting {
    const char *name;
    int kind;
    size_t place; /* in the module: of a single item, or of the pointer to the items */
    size_t count; /* in the module: of the number of items of a LIST */
    size_t item_size;
    size_t num_members; /* an item is a list of numbers if there are several */
    member members[5];
    const char *(*name_at)(size_t number); /* of items that are names; NULL: they are numbers */
} setting;

#define AT(field) offsetof(popliner_module, field)
#define MEMBER(type, field)                                                                        \
    { offsetof(type, field), sizeof(((type *)NULL)->field) }
#define WHOLE(type)                                                                                \
    { 0, sizeof(type) }
#define NAME(name, field, name_at)                                                                 \
    { name, SINGLE, AT(field), 0, 0, 1, {WHOLE(((popliner_module *)NULL)->field)}, name_at }
#define ONE(name, field) NAME(name, field, NULL)
#define ITEMS(kind, field, count, type, num_members, ...)                                          \
    { #field, kind, AT(options.field), count, sizeof(type), num_members, {__VA_ARGS__ }, NULL }
#define PAIRS(field, type, first, second)                                                          \
    ITEMS(LIST, field, AT(options.num_##field), type, 2, MEMBER(type, first), MEMBER(type, second))
#define OTHER(own_name, own_kind, field)                                                           \
    { .name = (own_name), .kind = (own_kind), .place = AT(field) }

static const setting of_requests[] = {
    ONE("method", options.method),
    ONE("num_ipus", options.num_ipus),
    ONE("mem_per_tile", options.mem_per_tile),
    ONE("min_units", options.min_units),
    ONE("max_units", options.max_units),
    OTHER("slack_percent", REAL, options.slack_percent),
    OTHER("time_limit_seconds", REAL, options.time_limit_seconds),
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
    {"cuts", LIST, AT(cuts), AT(num_cuts), sizeof(size_t), 1, {WHOLE(size_t)}, NULL},
    {"objectives",
     LIST,
     AT(options.objectives),
     AT(options.num_objectives),
     sizeof(popliner_objective),
     1,
     {WHOLE(popliner_objective)},
     pl_objective_name},
};

/* Tables have these besides costs. Option names are in an object of their own. */
static const setting of_tables[] = {
    ONE("places", num_places),
    ONE("micro_batches", input.copies.num_micro_batches),
    ONE("cycles_per_time_unit", input.cycles_per_time_unit),
    ONE("need", asked.need),
    ONE("effects", pipeline.effects),
    ONE("accumulators", pipeline.accumulators),
    NAME("schedule", input.schedule, pl_schedule_name),
    NAME("recompute", input.recompute, pl_recompute_name),
    NAME("copies_rule", input.copies.rule, pl_copies_rule_name),
    {"counted_units", LIST_OF_UNITS, AT(counted), 0, 1, 1, {WHOLE(uint8_t)}, NULL},
    {"copies_of",
     SINGLE,
     AT(input.copies),
     0,
     sizeof(popliner_copies),
     5,
     {MEMBER(popliner_copies, more), MEMBER(popliner_copies, num_stages),
      MEMBER(popliner_copies, num_ipus), MEMBER(popliner_copies, is_v),
      MEMBER(popliner_copies, goes_on)},
     NULL},
    {"listed", LIST, AT(listed), AT(num_listed), sizeof(uint32_t), 1, {WHOLE(uint32_t)}, NULL},
    OTHER("time_unit", TEXT, input.time_unit),
    OTHER("not_counted", TEXT, not_counted),
    OTHER("num_ipus", TEXT, names.num_ipus),
    OTHER("mem_per_tile", TEXT, names.mem_per_tile),
    OTHER("modules", TEXT, names.modules),
    OTHER("constraint_num_ipus", TEXT, names.constraints[POPLINER_CONSTRAINT_NUM_IPUS]),
    OTHER("constraint_device_map", TEXT, names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP]),
};

static popliner_status refuse(popliner_module *m, const char *name, const char *expected) {
    return pl_fail(&m->error, POPLINER_ERROR_USAGE, "%s: expected %s", name, expected);
}

/* Writes a number of so many bytes; false if it is too large for them. */
static bool store(char *place, size_t size, uint64_t value) {
    const uint32_t four = (uint32_t)value;
    const uint8_t one = (uint8_t)value;
    const void *bytes = size == sizeof value  ? (const void *)&value
                        : size == sizeof four ? (const void *)&four
                                              : (const void *)&one;
    memcpy(place, bytes, size);
    return size == sizeof value || value <= (size == 1 ? 1 : UINT32_MAX); /* bytes are flags */
}

static bool set_item(const setting *row, const pl_json_token *value, char *item) {
    const bool is_list = row->num_members > 1;
    bool is_right = !is_list || (value->kind == '[' && value->size == row->num_members + 1);
    for (size_t i = 0; is_right && i < row->num_members; i++) {
        const pl_json_token *own = &value[is_list ? i + 1 : 0];
        uint64_t number = SIZE_MAX;
        if (row->name_at == NULL)
            is_right = pl_json_token_number(own, &number);
        else if (own->kind == '"')
            number = pl_find_name(row->name_at, own->text);
        is_right = is_right && (row->name_at == NULL || number != SIZE_MAX) &&
                   store(item + row->members[i].offset, row->members[i].size, number);
    }
    return is_right;
}

static size_t count_of(const pl_json_token *list) {
    size_t count = 0;
    for (const pl_json_token *own = NULL; (own = pl_json_token_next(list, own)) != NULL;)
        count++;
    return count;
}

static bool set_list(popliner_module *m, pl_arrays *arrays, const setting *row,
                     const pl_json_token *value) {
    const size_t count = count_of(value);
    char *const place = (char *)m + row->place;
    char *item = pl_arrays_new(arrays, count, row->item_size);
    bool is_right =
        item != NULL && value->kind == '[' && (row->kind == LIST || count == m->num_units);
    memcpy(place, &item, sizeof item);
    if (row->kind == LIST)
        memcpy((char *)m + row->count, &count, sizeof count);
    for (const pl_json_token *own = NULL; (own = pl_json_token_next(value, own)) != NULL;) {
        is_right = is_right && set_item(row, own, item);
        item += is_right ? row->item_size : 0;
    }
    return is_right;
}

/* Sets a member of a table or a request, of which `rows` are. */
static popliner_status set(popliner_module *m, const setting *rows, size_t num_rows,
                           const pl_json_token *value) {
    static const char *const expected[] = {
        [SINGLE] = "whole numbers that fit",
        [LIST] = "a list of items that fit",
        [LIST_OF_UNITS] = "a list of a number for each unit",
        [TEXT] = "a text",
        [REAL] = "a number from 0 on",
    };
    pl_arrays *arrays = rows == of_tables ? &m->arrays : &m->lists;
    size_t i = 0;
    while (i < num_rows && strcmp(rows[i].name, value->name) != 0)
        i++;
    if (i == num_rows)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no member %s", value->name);
    char *const place = (char *)m + rows[i].place;
    bool is_right = true;
    if (rows[i].kind == SINGLE) {
        is_right = set_item(&rows[i], value, place);
    } else if (rows[i].kind == TEXT) {
        is_right = value->kind == '"';
        memcpy(place, &value->text, sizeof value->text);
    } else if (rows[i].kind == REAL) {
        const double real = value->kind == '0' ? strtod(value->text, NULL) : -1;
        is_right = real >= 0 && isfinite(real);
        memcpy(place, &real, sizeof real);
    } else {
        is_right = set_list(m, arrays, &rows[i], value);
    }
    return is_right ? POPLINER_OK : refuse(m, value->name, expected[rows[i].kind]);
}

#define SET(m, rows, value) set(m, rows, sizeof(rows) / sizeof *(rows), value)

/* ---- the request ---- */

static void forget(popliner_module *m) {
    pl_arrays_free(&m->lists);
    free(m->request);
    free(m->answer);
    popliner_certificate_free(m->certificate);
    m->lists = (pl_arrays){0};
    m->options = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    m->options.option_names = &m->names;
    m->options.pipeline = &m->pipeline;
    m->options.counted_units = m->counted;
    m->cuts = NULL;
    m->num_cuts = 0;
    m->request = m->answer = NULL;
    m->certificate = NULL;
}

/* Takes a list of the name of an answer and its request. */
static popliner_status take_request(popliner_module *m, char *json, const char **what) {
    forget(m);
    m->request = json;
    const pl_json_token *tokens = pl_json_tokens_read(&m->lists, json);
    if (tokens == NULL)
        return pl_fail_memory(&m->error, "the request");
    if (tokens[1].kind != '"')
        return refuse(m, "answer", "a text");
    if (tokens[2].kind != '{')
        return refuse(m, "request", "an object");
    for (const pl_json_token *own = NULL; (own = pl_json_token_next(&tokens[2], own)) != NULL;)
        PL_TRY(SET(m, of_requests, own));
    if (m->options.num_objectives > POPLINER_NUM_OBJECTIVES)
        return refuse(m, "objectives", "each once");
    for (size_t i = 0; i < m->options.num_objectives; i++) /* where more have room */
        m->objectives[i] = m->options.objectives[i];
    m->options.objectives = m->objectives;
    *what = tokens[1].text;
    return POPLINER_OK;
}

/* ---- the table ---- */

void popliner_module_free(popliner_module *m) {
    if (m == NULL)
        return;
    forget(m);
    popliner_costs_free(m->costs);
    popliner_costs_free(m->most);
    pl_told_profile_free(m->told);
    pl_arrays_free(&m->arrays);
    free(m->table);
    free(m);
}

popliner_module *popliner_module_new(void) {
    popliner_module *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->names = (popliner_option_names)POPLINER_OPTION_NAMES_INIT;
    m->input = (popliner_certificate_input)POPLINER_CERTIFICATE_INPUT_INIT;
    m->asked = (popliner_request)POPLINER_REQUEST_INIT;
    m->asked.solver = &m->options;
    m->num_places = 1;
    forget(m);
    return m;
}

static bool is_well(const popliner_module *m) {
    return m->error.message[0] == '\0';
}

/* Reads a column of so many numbers, or of any (SIZE_MAX); NULL on failure, or if there is none. */
static const uint64_t *column_of(popliner_module *m, const pl_json_token *value, const char *name,
                                 size_t *count) {
    const size_t wanted = *count;
    if (value == NULL || !is_well(m))
        return NULL;
    const uint64_t *numbers = pl_json_token_numbers(&m->arrays, value, count);
    if (numbers == NULL || (wanted != SIZE_MAX && wanted != *count))
        refuse(m, name, "a list with a whole number for each");
    return is_well(m) ? numbers : NULL;
}

static const uint64_t *column(popliner_module *m, const pl_json_token *table, const char *name,
                              size_t count) {
    return column_of(m, pl_json_token_member(table, name), name, &count);
}

/* Sets all members but the costs. */
static void set_members(popliner_module *m, const pl_json_token *table) {
    static const char costs[] =
        " names peaks lines most cycles cuts kv kv_tokens cache workspace "
        "passes stages facts memory_model categories names_at_peaks "
        /* of pages alone */
        "labels short_labels parts tile_parts follows_account words max_stages keeps ";
    popliner_copies *copies = &m->input.copies;
    for (const pl_json_token *own = NULL; (own = pl_json_token_next(table, own)) != NULL;) {
        char word[40];
        snprintf(word, sizeof word, " %.30s ", own->name);
        if (own->kind == 'n' || strstr(costs, word) != NULL || !is_well(m))
            continue;
        if (strcmp(own->name, "option_names") == 0 && own->kind == '{')
            set_members(m, own);
        else
            SET(m, of_tables, own);
    }
    copies->num_listed = pl_fewer(m->num_listed, POPLINER_MAX_LISTED_COPIES);
    for (size_t i = 0; i < copies->num_listed; i++)
        copies->listed[i] = m->listed[i];
}

static void name_units(popliner_module *m, const pl_json_token *names) {
    m->num_units = names == NULL || names->kind != '[' ? 0 : count_of(names);
    m->unit_names = pl_arrays_new(&m->arrays, m->num_units, sizeof *m->unit_names);
    if (m->unit_names == NULL)
        pl_fail_memory(&m->error, "the names of units");
    for (size_t unit = 0; is_well(m) && unit < m->num_units; unit++) {
        m->unit_names[unit] = names[1 + unit].text;
        if (names[1 + unit].kind != '"')
            m->num_units = 0;
    }
    if (m->num_units == 0)
        refuse(m, "names", "a list of texts");
}

static void set_peaks(popliner_module *m, popliner_costs *costs, size_t place,
                      const uint64_t *values) {
    for (size_t first = 0; first < m->num_units; first++)
        for (size_t last = first; is_well(m) && last < m->num_units; last++)
            popliner_costs_set_peak(costs, first, last, place, *values++, &m->error);
}

static void take_lines(popliner_module *m, popliner_costs *costs, const uint64_t *numbers,
                       size_t count) {
    const size_t num_stages = pl_triangle_size(m->num_units);
    const size_t num_regions = count > 2 ? (size_t)numbers[0] : 0;
    const size_t num_places = count > 2 ? (size_t)numbers[1] : 0;
    if (num_regions == 0 || num_regions > count || num_places == 0 || num_places > count ||
        (count - num_places) / 2 / num_regions < num_stages ||
        count != 2 + num_places + 2 * num_regions * num_stages) {
        refuse(m, "lines", "two numbers for each region and stage");
        return;
    }
    size_t *copies = pl_new_array(num_places, sizeof *copies);
    for (size_t place = 0; copies != NULL && place < num_places; place++)
        copies[place] = (size_t)numbers[2 + place];
    bool memory = copies != NULL && pl_costs_begin_lines(costs, PL_NUMBERS_LISTED, copies,
                                                         num_places, num_regions, NULL);
    numbers += 2 + num_places;
    for (size_t k = 0; memory && k < num_regions; k++)
        for (size_t i = 0; i < num_stages; i++, numbers += 2) {
            costs->peaks.lines[k].bytes.listed[i] = numbers[0];
            costs->peaks.lines[k].copy_bytes.listed[i] = numbers[1];
        }
    free(copies);
    if (!memory)
        pl_fail_memory(&m->error, "the lines of the costs");
}

/* Makes costs of peaks; NULL on failure. */
static popliner_costs *make_peaks(popliner_module *m, const pl_json_token *table) {
    const pl_json_token *peaks = pl_json_token_member(table, "peaks");
    const pl_json_token *lines = pl_json_token_member(table, "lines");
    popliner_costs *costs = NULL;
    size_t count = SIZE_MAX;
    if (peaks != NULL)
        m->num_places = peaks->kind == '[' ? count_of(peaks) : 0;
    if ((peaks == NULL && lines == NULL) || m->num_places == 0)
        refuse(m, "peaks", "a list for each place");
    else
        popliner_costs_create(m->num_units, m->num_places, &costs, &m->error);
    if (peaks == NULL) {
        const uint64_t *numbers = column_of(m, lines, "lines", &count);
        if (is_well(m))
            take_lines(m, costs, numbers, count);
        return costs;
    }
    size_t place = 0;
    for (const pl_json_token *own = NULL; (own = pl_json_token_next(peaks, own)) != NULL;) {
        count = pl_triangle_size(m->num_units);
        const uint64_t *numbers = column_of(m, own, "peaks", &count);
        if (numbers != NULL)
            set_peaks(m, costs, ++place, numbers);
    }
    return costs;
}

/* Divides the cycles into passes: as in `pl_unit_passes`. */
static void divide(popliner_module *m, const pl_json_token *told) {
    const pl_json_token *has_cuts = pl_json_token_member(told, "have_cuts");
    const pl_json_token *are_thirds = pl_json_token_member(told, "are_thirds");
    const pl_json_token *samples = pl_json_token_member(told, "samples");
    uint64_t num_samples = 0;
    if (has_cuts == NULL || are_thirds == NULL || samples == NULL ||
        !pl_json_token_number(samples, &num_samples) || num_samples > 256) {
        refuse(m, "passes", "those of a page");
        return;
    }
    const size_t count = pl_passes_count(m->num_units, (size_t)num_samples);
    const uint64_t *cycles = column(m, told, "cycles", count);
    pl_unit_passes *passes =
        pl_arrays_new(&m->costs->arrays, 1, sizeof *passes + count * sizeof *cycles);
    if (passes == NULL)
        pl_fail_memory(&m->error, "the passes of the units");
    else if (cycles != NULL) {
        passes->num_samples = (size_t)num_samples;
        passes->has_cuts = has_cuts->kind == 't';
        passes->are_thirds = are_thirds->kind == 't';
        memcpy(passes->cycles, cycles, count * sizeof *cycles);
        m->costs->passes = passes;
    }
}

/* Sets the costs of cuts and units. */
static void take_units(popliner_module *m, const pl_json_token *table) {
    const struct {
        const char *name;
        popliner_costs_of kind;
        uint64_t **own; /* instead of a kind: a part of the peaks */
    } rows[] = {
        {"cuts", POPLINER_COSTS_OF_CUTS, NULL},           {"kv", POPLINER_COSTS_OF_KV, NULL},
        {"kv_tokens", POPLINER_COSTS_OF_KV_TOKENS, NULL}, {"cache", 0, &m->costs->cache_bytes},
        {"workspace", 0, &m->costs->workspace},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t *values = column(m, table, rows[i].name, m->num_units);
        if (values != NULL && rows[i].own == NULL)
            popliner_costs_set_all(m->costs, rows[i].kind, 1, values, &m->error);
        else if (values != NULL && (*rows[i].own = malloc(m->num_units * sizeof *values)) != NULL)
            memcpy(*rows[i].own, values, m->num_units * sizeof *values);
    }
}

static void make_costs(popliner_module *m, const pl_json_token *table) {
    const pl_json_token *most = pl_json_token_member(table, "most");
    m->costs = make_peaks(m, table);
    if (most != NULL && is_well(m))
        m->costs->most = m->most = make_peaks(m, most);
    if (is_well(m) && pl_pipeline_follows_split(&m->pipeline)) {
        popliner_costs_set_pipeline(m->costs, &m->pipeline, &m->error);
        if (m->most != NULL)
            popliner_costs_set_pipeline(m->most, &m->pipeline, &m->error);
    }
    if (is_well(m))
        take_units(m, table);
}

/* Makes the costs of the pipeline with so many stages, by the stages of a profile. */
static popliner_status price(popliner_module *m, popliner_need need, size_t num_stages,
                             popliner_costs **costs, popliner_error *error) {
    popliner_pipeline longest = m->pipeline;
    longest.max_stages = num_stages;
    PL_TRY(
        pl_stage_details_costs(&m->told->details, &m->told->chain, &longest, need, costs, error));
    PL_TRY(pl_costs_list_cycles(*costs, m->cycles, error));
    if (!pl_costs_set_counted_units(*costs, m->counted))
        return pl_fail_memory(error, "the marks of the units");
    return popliner_costs_set_pipeline(*costs, &m->pipeline, error);
}

static void take_profile(popliner_module *m, const pl_json_token *table) {
    m->told = pl_told_profile_read(table, m->table, m->unit_names, m->num_units);
    if (m->told == NULL)
        refuse(m, "stages", "those of a page");
    else
        price(m, m->asked.need, m->num_places, &m->costs, &m->error);
}

const char *popliner_module_fill(popliner_module *m, char *json) {
    m->table = json;
    const pl_json_token *table = pl_json_tokens_read(&m->arrays, json);
    if (table == NULL)
        pl_fail_memory(&m->error, "the table");
    else if (table->kind != '{')
        refuse(m, "table", "an object");
    else
        name_units(m, pl_json_token_member(table, "names"));
    if (is_well(m))
        set_members(m, table);
    m->pipeline.schedule = m->asked.schedule = m->input.schedule;
    m->pipeline.recompute = m->asked.recompute = m->input.recompute;
    m->pipeline.max_stages = 1;
    m->pipeline.copies = m->input.copies;
    m->pipeline = pl_pipeline_of_any_split(&m->pipeline);
    m->asked.copies = m->pipeline.copies;
    if (is_well(m))
        m->cycles = column(m, table, "cycles", pl_triangle_size(m->num_units));
    if (is_well(m) && pl_json_token_member(table, "stages") != NULL)
        take_profile(m, table);
    else if (is_well(m))
        make_costs(m, table);
    if (is_well(m) && m->told == NULL)
        pl_costs_list_cycles(m->costs, m->cycles, &m->error);
    const pl_json_token *passes = is_well(m) ? pl_json_token_member(table, "passes") : NULL;
    if (passes != NULL)
        divide(m, passes);
    if (is_well(m))
        m->costs->not_counted = m->not_counted;
    if (is_well(m) && m->input.cycles_per_time_unit > 0) /* bandwidths are in it */
        m->costs->cycles_per_time_unit = m->input.cycles_per_time_unit;
    return is_well(m) ? "" : NULL;
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

/* Makes the certificate of a plan by the stages of a profile, as the analysis does. */
static popliner_status certify_told(popliner_module *m, const popliner_request *asked,
                                    const popliner_costs *costs, bool is_evaluation,
                                    popliner_plan *plan, popliner_certificate **certificate,
                                    popliner_error *error) {
    pl_told_profile *told = m->told;
    popliner_solver_options options;
    popliner_listener listener;
    const bool has_schedule =
        m->pipeline.schedule != POPLINER_SCHEDULE_NONE || pl_pipeline_has_own_copies(&m->pipeline);
    pl_certificate_input input = {
        .options = &options,
        .pipeline = m->pipeline,
        .need = asked->need,
        .num_units = m->num_units,
        .unit_names = (const char *const *)m->unit_names,
        .time_unit = "cycles",
        .cycles_per_time_unit = 1,
        .cuts_per_unit = 1,
        .has_cycles = popliner_costs_has_cycles(costs),
        .costs = is_evaluation ? costs : NULL,
        .chain = &told->chain,
        .lacks_schedule = told->details.key.is_training && !has_schedule,
    };
    input.stages_of_ways[m->pipeline.recompute] = &told->details;
    PL_TRY(pl_option_names_take(&m->names, &input.option_names, error));
    PL_TRY(pl_solver_options_take(asked->solver, costs, &options, &listener, error));
    return pl_certificate_create(&input, is_evaluation, plan, NULL, certificate, error);
}

/* Makes the certificate of a plan, which it takes over. */
static popliner_status certify(popliner_module *m, bool is_evaluation, popliner_plan *plan) {
    popliner_certificate_input input = input_of(m, plan);
    input.is_evaluation = is_evaluation;
    popliner_status status =
        m->told != NULL
            ? certify_told(m, &m->asked, m->costs, is_evaluation, plan, &m->certificate, &m->error)
            : popliner_certificate_create(&input, &m->certificate, &m->error);
    if (m->told != NULL || status != POPLINER_OK)
        popliner_plan_free(plan);
    return status;
}

static popliner_status answer_plan(popliner_module *m) {
    popliner_plan *plan = NULL;
    if (m->options.num_mapped_stages == 0)
        m->options.num_objectives =
            popliner_objectives_complete(m->objectives, m->options.num_objectives, m->costs);
    PL_TRY(popliner_solve(m->costs, &m->options, &plan, &m->error));
    return certify(m, false, plan);
}

/* ---- a split that is given ---- */

/* Makes the plan of the cuts, with the places of its stages alone. */
static popliner_status place_stages(popliner_module *m, const popliner_solver_options *options,
                                    popliner_plan **plan) {
    if (m->cuts == NULL)
        return pl_fail(&m->error, POPLINER_ERROR_USAGE, "there are no cuts");
    *plan = calloc(1, sizeof **plan);
    return *plan == NULL
               ? pl_fail_memory(&m->error, "the stages of the plan")
               : pl_plan_place(*plan, options, m->num_units, m->cuts, m->num_cuts, &m->error);
}

/* Finds the one split that the placed stages leave, by costs. */
static popliner_status solve_split(popliner_module *m, popliner_plan **plan) {
    popliner_cut_rule *rules = pl_arrays_new(&m->lists, m->num_units, sizeof *rules);
    popliner_plan_free(*plan);
    *plan = NULL;
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
    m->options.min_units = m->options.max_units = 0;
    popliner_status status = place_stages(m, &m->options, &plan);
    if (status == POPLINER_OK && m->told == NULL)
        status = solve_split(m, &plan);
    if (status == POPLINER_OK)
        return certify(m, true, plan);
    popliner_plan_free(plan);
    return status;
}

/* Writes the constraints of the request that the split breaks. */
static popliner_status answer_broken(popliner_module *m) {
    pl_constraints list = {0};
    popliner_plan *plan = NULL;
    pl_text text = {0};
    pl_json json = {.text = &text, .style = PL_JSON_COMPACT};
    pl_certificate named = {.input.unit_names = (const char *const *)m->unit_names};
    popliner_solver_options options = m->options;
    if (options.num_mapped_stages != m->num_cuts + 1)
        options.num_mapped_stages = 0;
    popliner_status status = pl_option_names_take(&m->names, &named.input.option_names, &m->error);
    if (status == POPLINER_OK)
        status = place_stages(m, &options, &plan);
    if (status == POPLINER_OK)
        status = pl_constraints_list(&m->options, m->num_units, &list, &m->error);
    pl_put_open(&json, NULL, '[');
    for (size_t i = 0; status == POPLINER_OK && i < list.count; i++) {
        pl_text words = {0};
        if (pl_plan_keeps(plan, m->counted, &list.items[i]))
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
popliner_status popliner_analysis_solve(popliner_analysis *analysis,
                                        const popliner_request *request,
                                        popliner_certificate **certificate, popliner_error *error) {
    popliner_module *m = (popliner_module *)(void *)analysis;
    popliner_costs *costs = NULL;
    popliner_plan *plan = NULL;
    *certificate = NULL;
    if (request->schedule != m->pipeline.schedule || request->recompute != m->pipeline.recompute)
        return pl_fail(error, POPLINER_ERROR_USAGE, "these stages are of another pipeline");
    const bool is_priced =
        request->need == m->asked.need && request->solver->num_ipus <= m->num_places;
    popliner_status status =
        is_priced ? POPLINER_OK : price(m, request->need, request->solver->num_ipus, &costs, error);
    const popliner_costs *own = is_priced ? m->costs : costs;
    if (status == POPLINER_OK)
        status = popliner_solve(own, request->solver, &plan, error);
    if (status == POPLINER_OK)
        status = certify_told(m, request, own, false, plan, certificate, error);
    popliner_plan_free(plan);
    popliner_costs_free(costs);
    return status;
}

/* Finds what would help the best plan. */
static popliner_status answer_hints(popliner_module *m) {
    PL_TRY(answer_plan(m));
    return pl_hints_find((pl_certificate *)m->certificate,
                         m->told != NULL ? (popliner_analysis *)(void *)m : NULL, m->told != NULL,
                         &m->asked, m->costs, NULL, NULL, &m->error);
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
    return pl_text_finish(&text, status, &m->answer, &m->error);
}

/* Writes all best compromises of the first two objectives. */
static popliner_status answer_front(popliner_module *m) {
    const popliner_certificate_input input = input_of(m, NULL);
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    popliner_pareto *front = NULL;
    PL_TRY(popliner_pareto_solve(m->costs, &m->options, &front, &m->error));
    table.pareto = front;
    const popliner_status status =
        popliner_report_splits(&table, &input, POPLINER_FORMAT_JSON, &m->answer, &m->error);
    popliner_pareto_free(front);
    return status;
}

const char *popliner_module_answer(popliner_module *m, char *json) {
    static const struct {
        const char *what;
        popliner_status (*make)(popliner_module *m); /* a text, or a certificate */
    } answers[] = {
        {"plan", answer_plan},   {"evaluate", answer_evaluation}, {"broken", answer_broken},
        {"alone", answer_alone}, {"front", answer_front},         {"passes", answer_passes},
        {"hints", answer_hints},
    };
    const char *what = NULL;
    size_t i = 0;
    if (take_request(m, json, &what) != POPLINER_OK)
        return NULL;
    while (i < sizeof answers / sizeof *answers && strcmp(answers[i].what, what) != 0)
        i++;
    popliner_status status =
        i < sizeof answers / sizeof *answers
            ? answers[i].make(m)
            : pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no answer %s", what);
    if (status == POPLINER_OK && m->answer == NULL)
        status = popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_JSON, &m->answer,
                                           &m->error);
    return status == POPLINER_OK ? m->answer : NULL;
}

const char *popliner_module_emit(popliner_module *m, char *json) {
    popliner_emit_options options = POPLINER_EMIT_OPTIONS_INIT;
    const pl_json_token *format = pl_json_tokens_read(&m->lists, json);
    size_t number = SIZE_MAX;
    options.certificate = m->certificate;
    options.option_names = &m->names;
    free(m->answer); /* all else of it stays */
    free(m->request);
    m->answer = NULL;
    m->request = json;
    if (format == NULL)
        pl_fail_memory(&m->error, "the format");
    else if (format->kind == '"')
        number = pl_find_name(pl_emit_format_name, format->text);
    if (format != NULL && number == SIZE_MAX)
        refuse(m, "format", "one of solver.formats");
    else if (format != NULL && m->certificate == NULL)
        pl_fail(&m->error, POPLINER_ERROR_USAGE, "there is no plan to write");
    else if (format != NULL)
        popliner_emit(&options, (popliner_emit_format)number, &m->answer, &m->error);
    return m->answer;
}

const char *popliner_module_format(popliner_emit_format format) {
    return pl_emit_format_name(format);
}

const char *popliner_module_error(const popliner_module *m) {
    return m->error.message;
}
