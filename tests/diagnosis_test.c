/* A diagnosis: its numbers are those that PopLiner 1.0.0 logged, add up to the compiler's account,
 * and are what a search over all tiles, steps, programs and variables finds.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/diagnosis.h"
#include "popliner/profile.h"
#include "popliner/utilities.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "test_data.h"
#include "test_sql.h"

/* One case in one memory model. */
typedef struct subject {
    const golden_case *c;
    pl_layers *layers;
    pl_chain *chain;
    pl_stage_meter *meter;
} subject;

static subject begin(const golden_case *c, popliner_memory_model model) {
    subject s = {.c = c, .layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS)};
    s.chain = make_chain(c, s.layers, model);
    assert_int_equal(pl_stage_meter_create(s.chain, 0, &s.meter, NULL), POPLINER_OK);
    return s;
}

static void end(subject *s) {
    pl_stage_meter_free(s->meter);
    pl_chain_free(s->chain);
    pl_layers_free(s->layers);
}

static pl_diagnosis diagnose(const subject *s, bool layer_operations_only, size_t first_unit,
                             size_t last_unit) {
    pl_diagnosis d = {0};
    popliner_error error = {.message = ""};
    const popliner_interval units = {first_unit, last_unit, 1};
    if (pl_diagnose(s->meter, layer_operations_only, &units, &d, &error) != POPLINER_OK)
        fail_msg("%s: %s", s->c->name, error.message);
    return d;
}

/* ---- What the original logged --------------------------------------------------------------- */

/* "label: -2.05% (146 (libpva) vs 143 (popliner))" */
static void expect_line(const char *log, const char *label, uint64_t truth, uint64_t explained) {
    double percent = 0;
    double their_truth = 0;
    double their_explained = 0;
    char start[100];
    snprintf(start, sizeof start, "INFO\t%s: ", label);
    const char *line = strstr(log, start);
    if (line == NULL || sscanf(line + strlen(start), "%lf%% (%lf (libpva) vs %lf (popliner))",
                               &percent, &their_truth, &their_explained) != 3)
        fail_msg("the log lacks '%s'", label);
    if ((double)truth != their_truth || (double)explained != their_explained)
        fail_msg("%s: %llu and %llu instead of %.0f and %.0f", label, (unsigned long long)truth,
                 (unsigned long long)explained, their_truth, their_explained);
    double own = 100 * ((double)explained - (double)truth) / (double)truth;
    assert_true(fabs(own - percent) < 0.00501);
}

static const pl_diagnosis_programs *programs_of(const pl_diagnosis *d, const char *type) {
    for (size_t i = 0; i < d->num_program_types; i++) {
        if (strcmp(d->programs[i].type, type) == 0)
            return &d->programs[i];
    }
    fail_msg("no programs of type %s", type);
    return NULL;
}

static const pl_diagnosis_category *category_of(const pl_diagnosis *d, const char *name) {
    for (size_t i = 0; i < d->num_categories; i++) {
        if (strcmp(d->categories[i].name, name) == 0)
            return &d->categories[i];
    }
    return NULL;
}

/* As many programs are missing. */
static void expect_missing(const char *log, const char *type,
                           const pl_diagnosis_programs *programs) {
    char start[100];
    size_t their_count = 0;
    snprintf(start, sizeof start, "DEBUG\tmissing %ss (showing 10 out of ", type);
    const char *place = strstr(log, start);
    if (place != NULL)
        their_count = strtoul(place + strlen(start), NULL, 10);
    assert_int_equal(programs->num_all - programs->num_seen, their_count);
}

static void check_single_stage(const golden_case *c, const char *file, bool layers_only) {
    char *log = golden_text(c, file);
    subject s = begin(c, POPLINER_MEMORY_MODEL_POPLINER);
    pl_diagnosis d = diagnose(&s, layers_only, 0, SIZE_MAX);
    static const struct {
        const char *label;
        const char *category;
    } codes[] = {{"vertex code diff", "vertexCode"},
                 {"vertex state diff", "vertexInstanceState"},
                 {"control code diff", "controlCode"},
                 {"exchange code diff", "internalExchangeCode"}};
    const pl_diagnosis_programs *executes = programs_of(&d, "OnTileExecute");
    const pl_diagnosis_programs *exchanges = programs_of(&d, "DoExchange");
    assert_int_equal(d.told.model, POPLINER_MEMORY_MODEL_POPLINER);
    assert_int_equal(d.told.layer_operations_only, layers_only);
    expect_line(log, "onTileExecutes diff", executes->num_all, executes->num_seen);
    expect_line(log, "doExchange diff", exchanges->num_all, exchanges->num_seen);
    expect_missing(log, "onTileExecute", executes);
    expect_missing(log, "doExchange", exchanges);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const pl_diagnosis_category *row = category_of(&d, codes[i].category);
        assert_non_null(row);
        expect_line(log, codes[i].label, row->truth_bytes, row->explained_bytes);
    }
    unsigned long first;
    unsigned long last;
    const char *line = strstr(log, "Popliner steps from ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "Popliner steps from %lu to %lu", &first, &last), 2);
    assert_int_equal(d.told.first_step, first);
    assert_int_equal(d.told.last_step + 1, last); /* theirs is half-open */
    expect_line(log, "Steps diff", c->profile->num_steps, d.told.last_step + 1 - d.told.first_step);
    line = strstr(log, "Memory bottleneck in tile ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "Memory bottleneck in tile %lu and step %lu", &first, &last), 2);
    assert_int_equal(d.told.tile, first);
    assert_int_equal(d.told.step, last);
    expect_line(log, "Memory at bottleneck tile diff", d.told.truth_bytes, d.told.explained_bytes);
    pl_diagnosis_clear(&d);
    end(&s);
    free(log);
}

static void is_what_the_original_logged(void **state) {
    (void)state;
    static const char *const cases[] = {"popart-inf", "popart-train-outline"};
    char names[TEST_MOST_CASES][TEST_CASE_NAME];
    if (test_golden_cases(names) == 0)
        test_skip("its data is in ../shared alone");
    for (size_t i = 0; i < 2; i++) {
        golden_case c;
        golden_load(&c, cases[i]);
        check_single_stage(&c, "single-stage.txt", false);
        check_single_stage(&c, "single-stage-layers-only.txt", true);
        golden_free(&c);
    }
}

/* ---- What is explained, by brute force ------------------------------------------------------ */

enum { VERTEX, INSTANCES, FIELDS, DESCRIPTORS, EXCHANGE, CONTROL, NUM_CODES };

static const char *const code_names[NUM_CODES] = {"vertexCode",           "vertexInstanceState",
                                                  "vertexFieldData",      "copyDescriptor",
                                                  "internalExchangeCode", "controlCode"};

typedef struct expected {
    bool *program_seen;
    bool *variable_seen;
    uint64_t *code[NUM_CODES];  /* explained, by tile */
    uint64_t *truth[NUM_CODES]; /* always live, by tile */
} expected;

static const char *category_name(const popliner_profile *p, size_t variable) {
    return pl_profile_string(p, p->category_name[p->variable_category[variable]]);
}

static const char *variable_name(const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    return unlowered == PL_NONE ? "" : pl_profile_string(p, p->unlowered_name[unlowered]);
}

static int code_of(const subject *s, const char *category) {
    for (int code = 0; code < NUM_CODES; code++) {
        if (strcmp(category, code_names[code]) == 0)
            return code == DESCRIPTORS && (s->chain->model != POPLINER_MEMORY_MODEL_FULL ||
                                           s->c->profile->num_compute_set_states == 0)
                       ? NUM_CODES
                       : code;
    }
    return NUM_CODES;
}

/* The code that a variable belongs to, NUM_CODES for data. */
static int code_of_variable(const subject *s, size_t variable) {
    const popliner_profile *p = s->c->profile;
    return p->class_always_live[p->variable_class[variable]]
               ? code_of(s, category_name(p, variable))
               : NUM_CODES;
}

/* Adds `factor` times a series, decoded anew. */
static void add(const popliner_profile *p, pl_series series, uint64_t factor, uint64_t *by_tile) {
    uint64_t *values = test_new_array(p->target.num_tiles, sizeof *values);
    if (series.size_bytes > 0)
        assert_true(pl_rle_read(p->series_bytes + series.offset, series.size_bytes, values,
                                p->target.num_tiles));
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        by_tile[tile] += factor * values[tile];
    free(values);
}

/* The vertex types of a model: in PopLiner's those of one name and size are one, and all of a name
 * have the code of the last. */
static void add_vertex_code(const popliner_profile *p, bool is_full, const bool *type_seen,
                            uint64_t *bytes) {
    size_t num_tiles = p->target.num_tiles;
    for (uint32_t type = 0; type < p->num_vertex_types; type++) {
        const char *name = pl_profile_string(p, p->vertex_type_name[type]);
        uint32_t code_type = type;
        bool is_first = true;
        bool *seen = test_new_array(num_tiles, sizeof *seen);
        for (uint32_t other = 0; other < p->num_vertex_types; other++) {
            bool is_same = other == type;
            if (!is_full && strcmp(pl_profile_string(p, p->vertex_type_name[other]), name) == 0) {
                is_same = p->vertex_type_size_bytes[other] == p->vertex_type_size_bytes[type];
                is_first = is_first && !(is_same && other < type);
                code_type = other > code_type ? other : code_type;
            }
            for (size_t tile = 0; is_same && tile < num_tiles; tile++)
                seen[tile] = seen[tile] || type_seen[other * num_tiles + tile];
        }
        uint64_t *code = test_new_array(num_tiles, sizeof *code);
        add(p, p->vertex_type_code[code_type], 1, code);
        for (size_t tile = 0; is_first && tile < num_tiles; tile++)
            bytes[tile] += seen[tile] ? code[tile] : 0;
        free(code);
        free(seen);
    }
}

static expected expect(const subject *s, bool layers_only) {
    const popliner_profile *p = s->c->profile;
    size_t num_tiles = p->target.num_tiles;
    bool is_full = s->chain->model == POPLINER_MEMORY_MODEL_FULL;
    bool tells_state = is_full && p->num_compute_set_states > 0;
    expected e = {.program_seen = test_new_array(p->num_programs, sizeof(bool)),
                  .variable_seen = test_new_array(p->num_variables, sizeof(bool))};
    bool *type_seen = test_new_array(p->num_vertex_types * num_tiles, sizeof *type_seen);
    uint64_t *set_state = test_new_array(num_tiles, sizeof *set_state);
    for (int code = 0; code < NUM_CODES; code++) {
        e.code[code] = test_new_array(num_tiles, sizeof(uint64_t));
        e.truth[code] = test_new_array(num_tiles, sizeof(uint64_t));
    }
    for (size_t i = 0; i < pl_operations_count(s->c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(s->c->operations, i);
        bool in_layer = pl_layer_at(s->layers, i)->unit > 0;
        for (size_t k = 0; (in_layer || !layers_only) && k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            e.program_seen[program] = true;
            for (uint32_t l = p->program_lists_start[program];
                 (in_layer || is_full) && l < p->program_lists_start[program + 1]; l++) {
                uint32_t list = p->program_list[l];
                for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                    e.variable_seen[p->list_variable[v]] = true;
            }
        }
    }
    bool *set_seen = test_new_array(p->num_compute_sets, sizeof *set_seen);
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (!e.program_seen[program])
            continue;
        add(p, p->program_exchange_code[program], 1, e.code[EXCHANGE]);
        if (pl_profile_num_children(p, program) == 0)
            add(p, p->program_control_code[program], 1, e.code[CONTROL]);
        if (set == PL_NONE || (is_full && set_seen[set]))
            continue;
        set_seen[set] = true;
        if (tells_state) {
            add(p, p->compute_set_state[set], 1, set_state);
            add(p, p->compute_set_descriptors[set], 1, e.code[DESCRIPTORS]);
        }
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            uint32_t type = p->compute_set_vertex_type[i];
            uint64_t *instances = test_new_array(num_tiles, sizeof *instances);
            add(p, p->compute_set_vertex_instances[i], 1, instances);
            for (size_t tile = 0; tile < num_tiles; tile++) {
                if (instances[tile] > 0)
                    type_seen[type * num_tiles + tile] = true;
                e.code[INSTANCES][tile] += instances[tile] * p->vertex_type_size_bytes[type];
            }
            free(instances);
        }
    }
    for (size_t tile = 0; tells_state && tile < num_tiles; tile++) {
        if (e.code[INSTANCES][tile] > set_state[tile])
            e.code[INSTANCES][tile] = set_state[tile];
        e.code[FIELDS][tile] = set_state[tile] - e.code[INSTANCES][tile];
    }
    add_vertex_code(p, is_full, type_seen, e.code[VERTEX]);
    for (size_t v = 0; v < p->num_variables; v++) {
        if (code_of_variable(s, v) < NUM_CODES)
            e.truth[code_of_variable(s, v)][pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
    }
    free(set_seen);
    free(set_state);
    free(type_seen);
    return e;
}

static void free_expected(expected *e) {
    for (int code = 0; code < NUM_CODES; code++) {
        free(e->code[code]);
        free(e->truth[code]);
    }
    free(e->program_seen);
    free(e->variable_seen);
}

/* ---- Programs and categories ---------------------------------------------------------------- */

static void check_programs(const subject *s, const pl_diagnosis *d, const expected *e) {
    const popliner_profile *p = s->c->profile;
    size_t num_all = 0;
    for (size_t i = 0; i < d->num_program_types; i++) {
        const pl_diagnosis_programs *group = &d->programs[i];
        size_t num_missing = 0;
        size_t num_of_type = 0;
        for (uint32_t program = 0; program < p->num_programs; program++) {
            if (strcmp(pl_profile_string(p, p->program_type_name[program]), group->type) != 0)
                continue;
            num_of_type++;
            if (!e->program_seen[program]) {
                num_missing++;
            }
        }
        assert_int_equal(group->num_all, num_of_type);
        assert_int_equal(group->num_seen, num_of_type - num_missing);
        num_all += group->num_all;
    }
    assert_int_equal(num_all, p->num_programs);
}

/* The bytes of a category over all tiles. */
static uint64_t read_category(sqlite3 *db, const char *name, size_t num_tiles, bool *is_known) {
    uint64_t *by_tile = test_new_array(num_tiles, sizeof *by_tile);
    *is_known = test_category_bytes(db, name, num_tiles, by_tile);
    uint64_t sum = test_sum(by_tile, num_tiles);
    free(by_tile);
    return sum;
}

static void check_categories(const subject *s, const pl_diagnosis *d, const expected *e,
                             sqlite3 *db) {
    const popliner_profile *p = s->c->profile;
    size_t num_tiles = p->target.num_tiles;
    uint64_t sum = 0;
    uint64_t size_of_all = 0;
    for (size_t i = 0; i < d->num_categories; i++) {
        const pl_diagnosis_category *row = &d->categories[i];
        bool is_known = false;
        assert_int_equal(row->truth_bytes, read_category(db, row->name, num_tiles, &is_known));
        assert_true(is_known || row->truth_bytes == 0);
        sum += row->truth_bytes;
        /* explained: code that programs tell, and data that they touch */
        uint64_t *explained = test_new_array(num_tiles, sizeof *explained);
        uint64_t *truth = test_new_array(num_tiles, sizeof *truth);
        int code = code_of(s, row->name);
        if (code < NUM_CODES)
            memcpy(explained, e->code[code], num_tiles * sizeof *explained);
        for (size_t v = 0; v < p->num_variables; v++) {
            if (strcmp(category_name(p, v), row->name) != 0)
                continue;
            truth[pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
            if (e->variable_seen[v] && code_of_variable(s, v) == NUM_CODES)
                explained[pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
        }
        uint64_t explained_sum = 0;
        size_t num_exceeded = 0;
        for (size_t tile = 0; tile < num_tiles; tile++) {
            explained_sum += explained[tile];
            num_exceeded += explained[tile] > truth[tile];
        }
        if (row->explained_bytes != explained_sum)
            fail_msg("%s: %s: %llu explained instead of %llu", s->c->name, row->name,
                     (unsigned long long)row->explained_bytes, (unsigned long long)explained_sum);
        assert_int_equal(row->tiles_exceeded, num_exceeded);
        free(explained);
        free(truth);
    }
    for (size_t v = 0; v < p->num_variables; v++)
        size_of_all += p->variable_size_bytes[v];
    assert_int_equal(sum, size_of_all);
    /* none that has bytes is left out */
    sqlite3_stmt *statement = test_query(db, "SELECT category_id FROM memory_by_category");
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        bool is_known;
        if (read_category(db, name, num_tiles, &is_known) > 0)
            assert_non_null(category_of(d, name));
    }
    sqlite3_finalize(statement);
}

/* ---- The bottleneck ------------------------------------------------------------------------- */

/* The unit of each step: that of the operation that it runs for, or of the last one before it, or,
 * before all, of the first. */
static size_t *expect_unit_of_step(const subject *s) {
    const pl_operations *o = s->c->operations;
    size_t *units = test_new_array(o->num_steps, sizeof *units);
    uint32_t current = PL_NONE;
    for (size_t step = o->num_steps; step-- > 0;)
        current = o->step_operation[step] == PL_NONE ? current : o->step_operation[step];
    for (size_t step = 0; step < o->num_steps; step++) {
        current = o->step_operation[step] == PL_NONE ? current : o->step_operation[step];
        units[step] = current == PL_NONE ? 0 : pl_chain_unit_of(s->chain, current);
    }
    return units;
}

/* The first tile and, on it, the first step where most bytes are live, among the steps of units. */
static void check_bottleneck(const subject *s, const pl_diagnosis *d, size_t first_unit,
                             size_t last_unit) {
    const popliner_profile *p = s->c->profile;
    size_t *units = expect_unit_of_step(s);
    int64_t *changes = test_new_array(p->num_steps + 1, sizeof *changes);
    uint64_t most = 0;
    size_t most_tile = 0;
    size_t most_step = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        uint64_t always_live = 0;
        memset(changes, 0, (p->num_steps + 1) * sizeof *changes);
        for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1];
             v++) {
            uint32_t class_index = p->variable_class[v];
            assert_int_equal(pl_profile_tile_of(p, v), tile);
            if (p->class_always_live[class_index]) {
                always_live += p->variable_size_bytes[v];
                continue;
            }
            for (uint32_t r = p->class_ranges_start[class_index];
                 r < p->class_ranges_start[class_index + 1]; r++) {
                changes[p->range_first_step[r]] += p->variable_size_bytes[v];
                changes[p->range_end_step[r]] -= p->variable_size_bytes[v];
            }
        }
        int64_t live = 0;
        for (size_t step = 0; step < p->num_steps; step++) {
            live += changes[step];
            if (units[step] >= first_unit && units[step] <= last_unit &&
                always_live + (uint64_t)live > most) {
                most = always_live + (uint64_t)live;
                most_tile = tile;
                most_step = step;
            }
        }
    }
    assert_int_equal(d->told.truth_bytes, most);
    assert_int_equal(d->told.tile, most_tile);
    assert_int_equal(d->told.step, most_step);
    assert_string_equal(d->told.program_name,
                        pl_profile_program_name(p, p->step_program[d->told.step]));
    free(units);
    free(changes);
}

/* ---- What is missing ------------------------------------------------------------------------ */

static uint64_t sum_of(const pl_missing_variables *list) {
    uint64_t sum = 0;
    for (size_t i = 0; i < list->count; i++)
        sum += list->items[i].size_bytes;
    return sum;
}

static bool is_of(const popliner_profile *p, size_t variable, const pl_missing_variable *item) {
    return strcmp(category_name(p, variable), item->category) == 0 &&
           strcmp(variable_name(p, variable), item->name) == 0;
}

/* The size of the same name and category in the list. */
static uint64_t size_in(const pl_missing_variables *list, const char *name, const char *category,
                        size_t *num_items) {
    uint64_t size = 0;
    *num_items = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0 &&
            strcmp(list->items[i].category, category) == 0) {
            size += list->items[i].size_bytes;
            ++*num_items;
        }
    }
    return size;
}

static bool touches_missing(const subject *s, const expected *e, uint32_t program,
                            const pl_missing_variable *item) {
    const popliner_profile *p = s->c->profile;
    for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
         l++) {
        uint32_t list = p->program_list[l];
        for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++) {
            if (!e->variable_seen[p->list_variable[v]] && is_of(p, p->list_variable[v], item))
                return true;
        }
    }
    return false;
}

/* From the debug id and the operations alone. */
static pl_missing_reason expect_reason(const subject *s, const expected *e, uint32_t program) {
    const popliner_profile *p = s->c->profile;
    char path[10];
    for (size_t i = 0; i < pl_operations_count(s->c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(s->c->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++) {
            if (operation->programs[k] == program)
                return PL_MISSING_NO_LAYER;
        }
    }
    assert_false(e->program_seen[program]);
    uint64_t id = p->program_debug_context[program];
    uint32_t set = p->program_compute_set[program];
    if (id == 0 && set != PL_NONE)
        id = p->compute_set_debug_context[set];
    if (id == 0)
        return PL_MISSING_NO_DEBUG_ID;
    return pl_debug_info_path(s->c->info, id, path, sizeof path) ? PL_MISSING_NO_OPERATION
                                                                 : PL_MISSING_UNKNOWN_CONTEXT;
}

static bool is_model_data(const char *category) {
    return strcmp(category, "variable") == 0 || strcmp(category, "multiple") == 0 ||
           strcmp(category, "message") == 0 || strcmp(category, "globalMessage") == 0 ||
           strcmp(category, "outputEdge") == 0 || strcmp(category, "rearrangement") == 0 ||
           strcmp(category, "constant") == 0;
}

/* What docs/diagnosis.md calls the reasons. */
static const char *const reason_words[] = {
    [PL_MISSING_NO_DEBUG_ID] = "no debug id",
    [PL_MISSING_UNKNOWN_CONTEXT] = "debug id not in the debug information",
    [PL_MISSING_NO_OPERATION] = "context chain without operation layer",
    [PL_MISSING_NO_LAYER] = "operation in no layer",
    [PL_MISSING_UNTOUCHED] = "touched by no program",
    [PL_MISSING_COMPILER] = "the compiler's own",
};

/* Adds a reason that is not there yet. */
static void expect_also(pl_missing_reason *reasons, size_t *count, pl_missing_reason reason) {
    for (size_t i = 0; i < *count; i++) {
        if (reasons[i] == reason)
            return;
    }
    reasons[(*count)++] = reason;
}

/* The reasons of all programs that touch an item, or else have such code, in their order; which
 * these are is another test's. `is_unique`: no other item has its name and category. */
static void check_reasons(const subject *s, const expected *e, const pl_missing_variable *item,
                          bool is_unique) {
    pl_missing_reason reasons[PL_MISSING_COMPILER + 1];
    size_t count = 0;
    for (uint32_t program = 0; is_unique && program < s->c->profile->num_programs; program++) {
        if (touches_missing(s, e, program, item))
            expect_also(reasons, &count, expect_reason(s, e, program));
    }
    const bool is_code = code_of(s, item->category) < NUM_CODES;
    const bool is_owned = is_code && count == 0;
    for (size_t i = 0; is_owned && i < item->num_programs && i < 3; i++)
        expect_also(reasons, &count, expect_reason(s, e, item->programs[i]));
    for (size_t i = 0; is_owned && item->num_programs > 3 && i < item->num_reasons; i++)
        if (item->reasons[i] < PL_MISSING_UNTOUCHED)
            expect_also(reasons, &count, item->reasons[i]);
    if (item->num_programs == 0)
        assert_int_equal(item->compiler_bytes,
                         is_code || !is_model_data(item->category) ? item->size_bytes : 0);
    if (item->compiler_bytes > 0)
        expect_also(reasons, &count, PL_MISSING_COMPILER);
    if (count == 0)
        expect_also(reasons, &count, PL_MISSING_UNTOUCHED);
    assert_true(item->num_reasons > 0);
    for (size_t i = 0; i < item->num_reasons; i++)
        assert_string_equal(pl_missing_reason_text(item->reasons[i]),
                            reason_words[item->reasons[i]]);
    if (!is_unique)
        return;
    if (item->num_reasons != count || memcmp(item->reasons, reasons, count * sizeof *reasons) != 0)
        fail_msg("%s: '%s' (%s) is missing for %zu reasons, first: %s, not for %zu, first: %s",
                 s->c->name, item->name, item->category, item->num_reasons,
                 reason_words[item->reasons[0]], count, reason_words[reasons[0]]);
}

/* A list against the variables of `tile` (SIZE_MAX: of all) that are live at `step` (SIZE_MAX: at
 * any). */
static void check_missing(const subject *s, const expected *e, const pl_missing_variables *list,
                          size_t tile, size_t step) {
    const popliner_profile *p = s->c->profile;
    uint64_t sum = 0;
    uint64_t *size_of_item = test_new_array(list->count, sizeof *size_of_item);
    for (size_t v = 0; v < p->num_variables; v++) {
        if ((tile != SIZE_MAX && pl_profile_tile_of(p, v) != tile) ||
            (step != SIZE_MAX && !popliner_liveness_is_live(p, v, step)) || e->variable_seen[v] ||
            code_of_variable(s, v) < NUM_CODES)
            continue;
        sum += p->variable_size_bytes[v];
        bool is_found = p->variable_size_bytes[v] == 0;
        for (size_t i = 0; i < list->count; i++) {
            if (is_of(p, v, &list->items[i])) { /* to the first of that name and category */
                size_of_item[i] += p->variable_size_bytes[v];
                is_found = true;
                break;
            }
        }
        assert_true(is_found);
    }
    for (int code = 0; code < NUM_CODES; code++) {
        uint64_t missing = 0;
        for (size_t t = 0; t < p->target.num_tiles; t++) {
            if ((tile == SIZE_MAX || tile == t) && e->truth[code][t] > e->code[code][t])
                missing += e->truth[code][t] - e->code[code][t];
        }
        sum += missing;
        for (size_t i = 0; i < list->count && missing > 0; i++) {
            if (*list->items[i].name == '\0' &&
                strcmp(list->items[i].category, code_names[code]) == 0) {
                size_of_item[i] += missing;
                missing = 0;
            }
        }
        assert_int_equal(missing, 0);
    }
    assert_int_equal(sum_of(list), sum);
    for (size_t i = 0; i < list->count; i++) {
        const pl_missing_variable *item = &list->items[i];
        size_t num_items;
        uint64_t size = size_in(list, item->name, item->category, &num_items);
        if (size_of_item[i] > 0)
            assert_int_equal(size, size_of_item[i]);
        assert_true(item->size_bytes > 0);
        assert_true(i == 0 || item->size_bytes <= list->items[i - 1].size_bytes);
        size_t num_programs = 0;
        for (uint32_t program = 0; program < p->num_programs && num_items == 1; program++) {
            if (!touches_missing(s, e, program, item))
                continue;
            if (num_programs < 3 && num_programs < item->num_programs)
                assert_int_equal(item->programs[num_programs], program);
            num_programs++;
        }
        /* of code that none touches, they are those that have it */
        if (num_items == 1 && num_programs == 0 && code_of(s, item->category) < NUM_CODES)
            num_programs = item->num_programs;
        else
            for (size_t k = 0; k < item->num_programs && k < 3; k++)
                assert_true(touches_missing(s, e, item->programs[k], item));
        if (num_items == 1 && item->num_programs != num_programs)
            fail_msg("%s: '%s' (%s) is said to be touched by %zu programs, not %zu", s->c->name,
                     item->name, item->category, item->num_programs, num_programs);
        check_reasons(s, e, item, num_items == 1);
    }
    free(size_of_item);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void check_diagnosis(const subject *s, bool layers_only, sqlite3 *db) {
    const popliner_profile *p = s->c->profile;
    expected e = expect(s, layers_only);
    pl_diagnosis d = diagnose(s, layers_only, 0, SIZE_MAX);
    assert_int_equal(d.told.tiles_off, 0);
    check_programs(s, &d, &e);
    check_categories(s, &d, &e, db);
    check_bottleneck(s, &d, 0, SIZE_MAX);
    check_missing(s, &e, &d.missing_here, d.told.tile, d.told.step);
    check_missing(s, &e, &d.missing_everywhere, SIZE_MAX, SIZE_MAX);
    popliner_tile_memory account = POPLINER_TILE_MEMORY_INIT;
    assert_int_equal(popliner_profile_get(p, POPLINER_ITEM_TILE, d.told.tile, &account, NULL),
                     POPLINER_OK);
    assert_int_equal(d.told.truth_bytes,
                     account.always_live_bytes + account.not_always_live_peak_bytes);
    if (d.told.model == POPLINER_MEMORY_MODEL_FULL)
        assert_int_equal(d.told.explained_bytes + sum_of(&d.missing_here), d.told.truth_bytes);
    size_t num_noted = 0;
    for (size_t i = 0; i < d.num_coverage; i++) {
        size_t count = 0;
        for (size_t k = 0; k < pl_operations_count(s->c->operations); k++)
            count += strcmp(pl_layer_at(s->layers, k)->note, d.coverage[i].note) == 0;
        assert_int_equal(d.coverage[i].num_operations, count);
        num_noted += count;
    }
    assert_int_equal(num_noted, d.told.num_operations);
    assert_int_equal(d.told.num_operations, pl_operations_count(s->c->operations));
    pl_diagnosis_clear(&d);
    free_expected(&e);
}

static void check_units(const subject *s) {
    size_t num_units = pl_chain_num_units(s->chain);
    for (size_t first = 0; first < num_units; first++) {
        for (size_t last = first; last < num_units;
             last += 1 + num_units / (test_takes_all() ? 4 : 2)) {
            if (!pl_chain_has_operations(s->chain, first))
                continue;
            pl_diagnosis d = diagnose(s, false, first, last);
            check_bottleneck(s, &d, first, last);
            pl_diagnosis_clear(&d);
        }
    }
}

static void check_case(const golden_case *c, char *path) {
    sqlite3 *db = NULL;
    char uri[1000];
    assert_non_null(path);
    snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
    free(path);
    assert_int_equal(sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    for (int model = 0; model < 2; model++) {
        subject s =
            begin(c, model == 0 ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL);
        for (int layers_only = 0; layers_only < 2; layers_only++)
            if (layers_only != model || test_takes_all())
                check_diagnosis(&s, layers_only != 0, db);
        check_units(&s);
        end(&s);
    }
    sqlite3_close(db);
}

static void check_golden_case(const golden_case *c) {
    check_case(c, test_golden_file(c->name, "profile.pop"));
}

static void golden_cases_agree_with_brute_force(void **state) {
    (void)state;
    golden_for_each(check_golden_case);
}

static void the_real_profile_agrees_with_brute_force(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    check_case(&c, test_firehose_file("profile.pop"));
    golden_free(&c);
}

static void refuses_units_that_are_not_there(void **state) {
    (void)state;
    char names[TEST_MOST_CASES][TEST_CASE_NAME];
    if (test_golden_cases(names) == 0)
        test_skip("its data is in ../shared alone");
    golden_case c;
    golden_load(&c, names[0]);
    subject s = begin(&c, POPLINER_MEMORY_MODEL_FULL);
    size_t num_units = pl_chain_num_units(s.chain);
    const size_t wrong[][2] = {{num_units, SIZE_MAX}, {1, 0}, {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pl_diagnosis d = {0};
        popliner_error error = {.message = ""};
        const popliner_interval units = {wrong[i][0], wrong[i][1], 1};
        assert_int_equal(pl_diagnose(s.meter, i == 2, &units, &d, &error), POPLINER_ERROR_USAGE);
        assert_true(*error.message != '\0');
        assert_null(d.programs);
    }
    end(&s);
    golden_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_what_the_original_logged),
        cmocka_unit_test(golden_cases_agree_with_brute_force),
        cmocka_unit_test(the_real_profile_agrees_with_brute_force),
        cmocka_unit_test(refuses_units_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
