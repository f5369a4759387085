/* The full memory model: it adds up to the compiler's account, never shrinks as a stage grows, and
 * is what its rules say, step by step and variable by variable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/stage.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "test_data.h"
#include "test_sql.h"

static pl_stage_meter *make_meter(const pl_chain *chain) {
    pl_stage_meter *meter;
    popliner_error error = {.message = ""};
    if (pl_stage_meter_create(chain, 0, &meter, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return meter;
}

/* ---- The rules, by brute force -------------------------------------------------------------- */

enum { VERTEX_CODE, VERTEX_STATE, EXCHANGE_CODE, CONTROL_CODE, NUM_GROUPS };

/* The group of an always-live variable, NUM_GROUPS for data. What the compiler tells of a compute
 * set's state holds the fields of its vertices. */
static int group_of(const popliner_profile *p, size_t variable) {
    const char *category = pl_profile_string(p, p->category_name[p->variable_category[variable]]);
    if (strcmp(category, "vertexCode") == 0)
        return VERTEX_CODE;
    if (strcmp(category, "vertexInstanceState") == 0 ||
        ((strcmp(category, "vertexFieldData") == 0 || strcmp(category, "copyDescriptor") == 0) &&
         p->num_compute_set_states > 0))
        return VERTEX_STATE;
    if (strcmp(category, "internalExchangeCode") == 0)
        return EXCHANGE_CODE;
    return strcmp(category, "controlCode") == 0 ? CONTROL_CODE : NUM_GROUPS;
}

/* One number per tile, decoded anew. */
static uint64_t *decode(const popliner_profile *p, pl_series series) {
    uint64_t *by_tile = test_new_array(p->target.num_tiles, sizeof *by_tile);
    if (series.size_bytes > 0)
        assert_true(pl_rle_read(p->series_bytes + series.offset, series.size_bytes, by_tile,
                                p->target.num_tiles));
    return by_tile;
}

static void add(uint64_t *sums, uint64_t *by_tile, size_t num_tiles) {
    for (size_t tile = 0; tile < num_tiles; tile++)
        sums[tile] += by_tile[tile];
    free(by_tile);
}

/* Finds the variables that programs of any operation touch, except for copies from or to the
 * host. */
static bool *find_computed_on(const golden_case *c) {
    const popliner_profile *p = c->profile;
    bool *computed_on = test_new_array(p->num_variables, sizeof *computed_on);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(c->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            uint32_t end = p->program_lists_start[program + 1];
            for (uint32_t l = p->program_lists_start[program]; l < end; l++) {
                uint32_t list = p->program_list[l];
                for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                    computed_on[p->list_variable[v]] |=
                        p->program_type[program] != POPLINER_PROGRAM_STREAM_COPY_MID;
            }
        }
    }
    return computed_on;
}

/* The bytes that some operations alone explain: groups[NUM_GROUPS][num_tiles], zero before, and
 * touched[num_variables]: a copy from or to the host touches only what is not computed on. */
static void explain(const golden_case *c, const size_t *operations, size_t count,
                    uint64_t *const groups[NUM_GROUPS], bool *touched) {
    bool *computed_on = find_computed_on(c);
    const popliner_profile *p = c->profile;
    size_t num_tiles = p->target.num_tiles;
    bool *program_seen = test_new_array(p->num_programs, sizeof *program_seen);
    bool *set_seen = test_new_array(p->num_compute_sets, sizeof *set_seen);
    bool *type_seen = test_new_array(p->num_vertex_types * num_tiles, sizeof *type_seen);
    for (size_t i = 0; i < count; i++) {
        const popliner_operation *operation = pl_operation_at(c->operations, operations[i]);
        for (size_t k = 0; k < operation->num_programs; k++)
            program_seen[operation->programs[k]] = true;
    }
    for (size_t program = 0; program < p->num_programs; program++) {
        if (!program_seen[program])
            continue;
        for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
             l++) {
            uint32_t list = p->program_list[l];
            for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++)
                touched[p->list_variable[v]] |=
                    p->program_type[program] != POPLINER_PROGRAM_STREAM_COPY_MID ||
                    !computed_on[p->list_variable[v]];
        }
        if (pl_profile_num_children(p, program) == 0)
            add(groups[CONTROL_CODE], decode(p, p->program_control_code[program]), num_tiles);
        if (p->program_type[program] == POPLINER_PROGRAM_DO_EXCHANGE)
            add(groups[EXCHANGE_CODE], decode(p, p->program_exchange_code[program]), num_tiles);
        if (p->program_compute_set[program] != PL_NONE)
            set_seen[p->program_compute_set[program]] = true;
    }
    for (size_t set = 0; set < p->num_compute_sets; set++) {
        if (!set_seen[set])
            continue;
        if (p->num_compute_set_states > 0) {
            add(groups[VERTEX_STATE], decode(p, p->compute_set_state[set]), num_tiles);
            add(groups[VERTEX_STATE], decode(p, p->compute_set_descriptors[set]), num_tiles);
        }
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            uint32_t type = p->compute_set_vertex_type[i];
            uint64_t *instances = decode(p, p->compute_set_vertex_instances[i]);
            for (size_t tile = 0; tile < num_tiles; tile++) {
                if (instances[tile] > 0)
                    type_seen[type * num_tiles + tile] = true;
                if (p->num_compute_set_states == 0)
                    groups[VERTEX_STATE][tile] += instances[tile] * p->vertex_type_size_bytes[type];
            }
            free(instances);
        }
    }
    for (size_t type = 0; type < p->num_vertex_types; type++) {
        uint64_t *code = decode(p, p->vertex_type_code[type]);
        for (size_t tile = 0; tile < num_tiles; tile++)
            groups[VERTEX_CODE][tile] += type_seen[type * num_tiles + tile] ? code[tile] : 0;
        free(code);
    }
    free(computed_on);
    free(program_seen);
    free(set_seen);
    free(type_seen);
}

/* Expectations for every stage of a case. */
typedef struct expected_model {
    uint64_t *truth[NUM_GROUPS];
    uint64_t *explained[NUM_GROUPS];
    bool *touched; /* by any operation */
    uint64_t *unexplained;
    uint64_t *always_live;
} expected_model;

static expected_model expect_model(const golden_case *c) {
    const popliner_profile *p = c->profile;
    size_t num_tiles = p->target.num_tiles;
    size_t count = pl_operations_count(c->operations);
    expected_model m;
    for (int group = 0; group < NUM_GROUPS; group++) {
        m.truth[group] = test_new_array(num_tiles, sizeof(uint64_t));
        m.explained[group] = test_new_array(num_tiles, sizeof(uint64_t));
    }
    m.touched = test_new_array(p->num_variables, sizeof *m.touched);
    m.unexplained = test_new_array(num_tiles, sizeof *m.unexplained);
    m.always_live = test_new_array(num_tiles, sizeof *m.always_live);
    size_t *all = test_new_array(count, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = i;
    explain(c, all, count, m.explained, m.touched);
    free(all);
    for (size_t v = 0; v < p->num_variables; v++) {
        size_t tile = pl_profile_tile_of(p, v);
        if (!p->class_always_live[p->variable_class[v]])
            continue;
        m.always_live[tile] += p->variable_size_bytes[v];
        if (group_of(p, v) < NUM_GROUPS)
            m.truth[group_of(p, v)][tile] += p->variable_size_bytes[v];
        else if (!m.touched[v])
            m.unexplained[tile] += p->variable_size_bytes[v];
    }
    for (int group = 0; group < NUM_GROUPS; group++) {
        for (size_t tile = 0; tile < num_tiles; tile++) {
            if (m.truth[group][tile] > m.explained[group][tile])
                m.unexplained[tile] += m.truth[group][tile] - m.explained[group][tile];
        }
    }
    return m;
}

static void free_model(expected_model *m) {
    for (int group = 0; group < NUM_GROUPS; group++) {
        free(m->truth[group]);
        free(m->explained[group]);
    }
    free(m->touched);
    free(m->unexplained);
    free(m->always_live);
}

/* The steps of a stage: of its operations, or of none where there are no operations at all. */
static bool *expect_steps(const golden_case *c, const size_t *operations, size_t count) {
    const pl_operations *o = c->operations;
    bool *is_own = test_new_array(o->num_steps, sizeof *is_own);
    uint32_t current = PL_NONE;
    for (size_t step = o->num_steps; step-- > 0;) /* the first that runs, for the steps before it */
        current = o->step_operation[step] == PL_NONE ? current : o->step_operation[step];
    for (size_t step = 0; step < o->num_steps; step++) {
        current = o->step_operation[step] == PL_NONE ? current : o->step_operation[step];
        is_own[step] = current == PL_NONE;
        for (size_t i = 0; i < count; i++)
            is_own[step] = is_own[step] || operations[i] == current;
    }
    return is_own;
}

/* Compares a measured stage with what the rules make of its operations. */
static void assert_stage(const golden_case *c, const expected_model *m, const size_t *operations,
                         size_t count, const popliner_stage_memory *memory) {
    const popliner_profile *p = c->profile;
    size_t num_tiles = p->target.num_tiles;
    static const char *const names[] = {"vertex code", "vertex state", "exchange code",
                                        "control code"};
    uint64_t *const measured[] = {memory->part_bytes[POPLINER_PART_VERTEX_CODE],
                                  memory->part_bytes[POPLINER_PART_VERTEX_STATE],
                                  memory->part_bytes[POPLINER_PART_EXCHANGE_CODE],
                                  memory->part_bytes[POPLINER_PART_CONTROL_CODE]};
    uint64_t *own[NUM_GROUPS];
    bool *touched = test_new_array(p->num_variables, sizeof *touched);
    bool *is_own_step = expect_steps(c, operations, count);
    uint64_t *variables = test_new_array(num_tiles, sizeof *variables);
    uint64_t *total = test_new_array(num_tiles, sizeof *total);
    uint64_t *live = test_new_array(p->num_steps * num_tiles, sizeof *live);
    uint64_t *untouched = test_new_array(p->num_steps * num_tiles, sizeof *untouched);
    uint64_t *unexplained = test_new_array(num_tiles, sizeof *unexplained);
    for (int group = 0; group < NUM_GROUPS; group++)
        own[group] = test_new_array(num_tiles, sizeof(uint64_t));
    explain(c, operations, count, own, touched);
    for (int group = 0; group < NUM_GROUPS; group++) {
        for (size_t tile = 0; tile < num_tiles; tile++) {
            if (own[group][tile] > m->truth[group][tile])
                own[group][tile] = m->truth[group][tile];
            total[tile] += own[group][tile];
        }
        assert_true(same_numbers(names[group], measured[group], own[group], num_tiles));
    }
    for (size_t v = 0; v < p->num_variables; v++) {
        uint32_t class_index = p->variable_class[v];
        size_t tile = pl_profile_tile_of(p, v);
        if (p->class_always_live[class_index]) {
            if (touched[v] && group_of(p, v) == NUM_GROUPS)
                variables[tile] += p->variable_size_bytes[v];
        } else if (touched[v] || !m->touched[v]) {
            for (uint32_t r = p->class_ranges_start[class_index];
                 r < p->class_ranges_start[class_index + 1]; r++) {
                for (size_t step = p->range_first_step[r]; step < p->range_end_step[r]; step++) {
                    live[step * num_tiles + tile] += p->variable_size_bytes[v];
                    if (!m->touched[v])
                        untouched[step * num_tiles + tile] += p->variable_size_bytes[v];
                }
            }
        }
    }
    for (size_t tile = 0; tile < num_tiles; tile++) {
        size_t peak_step = SIZE_MAX;
        for (size_t step = 0; step < p->num_steps; step++) {
            if (is_own_step[step] &&
                (peak_step == SIZE_MAX ||
                 live[step * num_tiles + tile] > live[peak_step * num_tiles + tile]))
                peak_step = step;
        }
        if (peak_step != SIZE_MAX) {
            size_t place = peak_step * num_tiles + tile;
            variables[tile] += live[place] - untouched[place];
            unexplained[tile] = untouched[place];
            assert_int_equal(memory->peak_step[tile], peak_step);
        }
        unexplained[tile] += m->unexplained[tile];
        total[tile] += variables[tile] + unexplained[tile];
    }
    assert_int_equal(memory->num_tiles, num_tiles);
    assert_true(same_numbers("variables", memory->part_bytes[POPLINER_PART_VARIABLES], variables,
                             num_tiles));
    assert_true(same_numbers("unexplained", memory->part_bytes[POPLINER_PART_UNEXPLAINED],
                             unexplained, num_tiles));
    assert_true(same_numbers("unexplained, always live",
                             memory->part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE],
                             m->unexplained, num_tiles));
    assert_true(
        same_numbers("total", memory->need_bytes[POPLINER_NEED_EXPECTED], total, num_tiles));
    for (int group = 0; group < NUM_GROUPS; group++)
        free(own[group]);
    free(touched);
    free(is_own_step);
    free(variables);
    free(total);
    free(live);
    free(untouched);
    free(unexplained);
}

static void check_random_stages(const golden_case *c, const pl_layers *layers) {
    pl_chain *chain = make_chain_of_operations(c, layers);
    pl_stage_meter *meter = make_meter(chain);
    static const unsigned chances[] = {500, 30, 950, 100, 0, 1000}; /* of 1000 */
    size_t count = pl_operations_count(c->operations);
    size_t *chosen = test_new_array(count, sizeof *chosen);
    popliner_stage_memory memory = {0};
    expected_model m = expect_model(c);
    uint64_t random = 67;
    for (size_t round = 0; round < sizeof chances / sizeof *chances; round++) {
        size_t num_chosen = 0;
        for (size_t i = 0; i < count; i++) {
            random = test_random(random);
            if ((random >> 33) % 1000 < chances[round])
                chosen[num_chosen++] = i;
        }
        if (count == 0) /* the only unit has all steps */
            assert_int_equal(
                pl_stage_measure_ipu(meter, NULL, &(popliner_interval){0, 0, 1}, 1, &memory, NULL),
                POPLINER_OK);
        else
            measure_operations(meter, chosen, num_chosen, &memory);
        assert_stage(c, &m, chosen, num_chosen, &memory);
    }
    free_model(&m);
    pl_stage_memory_clear(&memory);
    free(chosen);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
}

/* ---- It adds up ----------------------------------------------------------------------------- */

/* The stage of everything is the compiler's account, on every tile. */
static void assert_adds_up(const golden_case *c, const pl_chain *chain, pl_stage_meter *meter) {
    popliner_stage_memory memory = {0};
    assert_int_equal(pl_stage_measure_ipu(meter, NULL,
                                          &(popliner_interval){0, pl_chain_num_units(chain) - 1, 1},
                                          1, &memory, NULL),
                     POPLINER_OK);
    assert_int_equal(memory.num_tiles, c->profile->target.num_tiles);
    for (size_t tile = 0; tile < memory.num_tiles; tile++) {
        popliner_tile_memory account = POPLINER_TILE_MEMORY_INIT;
        popliner_profile_get(c->profile, POPLINER_ITEM_TILE, tile, &account, NULL);
        uint64_t expected = account.always_live_bytes + account.not_always_live_peak_bytes;
        if (memory.need_bytes[POPLINER_NEED_EXPECTED][tile] != expected)
            fail_msg("%s: tile %zu has %llu bytes instead of %llu", c->name, tile,
                     (unsigned long long)memory.need_bytes[POPLINER_NEED_EXPECTED][tile],
                     (unsigned long long)expected);
        assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][tile],
                         memory.part_bytes[POPLINER_PART_VARIABLES][tile] +
                             memory.part_bytes[POPLINER_PART_VERTEX_CODE][tile] +
                             memory.part_bytes[POPLINER_PART_VERTEX_STATE][tile] +
                             memory.part_bytes[POPLINER_PART_EXCHANGE_CODE][tile] +
                             memory.part_bytes[POPLINER_PART_CONTROL_CODE][tile] +
                             memory.part_bytes[POPLINER_PART_UNEXPLAINED][tile]);
    }
    pl_stage_memory_clear(&memory);
}

/* A longer stage needs at least as much as each of the two that are one unit shorter. */
static void assert_never_shrinks(const golden_case *c, const pl_chain *chain,
                                 pl_stage_meter *meter) {
    size_t num_units = pl_chain_num_units(chain);
    size_t num_tiles = c->profile->target.num_tiles;
    popliner_stage_memory memory = {0};
    uint64_t *totals = test_new_array(num_units * num_units * num_tiles, sizeof *totals);
    for (size_t length = 0; length < num_units; length++) {
        for (size_t from = 0; from + length < num_units; from++) {
            size_t to = from + length;
            uint64_t *total = totals + (from * num_units + to) * num_tiles;
            assert_int_equal(pl_stage_measure_ipu(meter, NULL, &(popliner_interval){from, to, 1}, 1,
                                                  &memory, NULL),
                             POPLINER_OK);
            memcpy(total, memory.need_bytes[POPLINER_NEED_EXPECTED], num_tiles * sizeof *total);
            for (size_t tile = 0; tile < num_tiles && length > 0; tile++) {
                assert_true(total[tile] >= (total - num_tiles)[tile]);
                assert_true(total[tile] >= (total + num_units * num_tiles)[tile]);
            }
        }
    }
    free(totals);
    pl_stage_memory_clear(&memory);
}

static void check_layers(const golden_case *c, pl_layers *layers) {
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_stage_meter *meter = make_meter(chain);
    assert_adds_up(c, chain, meter);
    assert_never_shrinks(c, chain, meter);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void check_everything(const golden_case *c) {
    const char *const regexes[] = {NULL, golden_regex, golden_two_groups, golden_every_op,
                                   golden_no_layers};
    uint64_t random = 71;
    for (size_t i = 0; i < sizeof regexes / sizeof *regexes; i++)
        check_layers(c, assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_STEPS));
    check_layers(c, assign_layers(c, "(.)$", POPLINER_LAYER_ORDER_NATURAL));
    check_layers(c, assign_at_random(c, 6, &random));
    pl_layers *layers = assign_at_random(c, 3, &random);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_stage_meter *meter = make_meter(chain);
    check_random_stages(c, layers);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void adds_up_in_the_golden_cases(void **state) {
    (void)state;
    golden_for_each(check_everything);
}

static void adds_up_in_the_real_profile(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    uint64_t random = 73;
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS));
    check_layers(&c, assign_layers(&c, "of Set (\\d+)", POPLINER_LAYER_ORDER_STEPS));
    check_layers(&c, assign_layers(&c, "(.)$", POPLINER_LAYER_ORDER_NATURAL));
    check_layers(&c, assign_at_random(&c, 4, &random));
    pl_layers *layers = assign_layers(&c, "of Set (\\d+)", POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_stage_meter *meter = make_meter(chain);
    check_random_stages(&c, layers);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* ---- Profiles that were altered ------------------------------------------------------------- */

/* Reads a golden case of which the profile was altered, without debug.cbor if so wanted. */
static golden_case load_altered(const char *directory, const char *name, const char *sql,
                                bool with_debug_info) {
    golden_case c = {.name = name};
    char *from = test_golden_file(name, "profile.pop");
    char *debug = test_golden_file(name, "debug.cbor");
    if (from == NULL || debug == NULL) {
        free(from);
        free(debug);
        test_skip("its data is in ../shared alone");
    }
    char *path = test_altered_copy(from, directory, sql);
    popliner_error error = {.message = ""};
    if (pl_read_profile(path, NULL, &c.profile, &error) != POPLINER_OK ||
        (with_debug_info &&
         pl_debug_info_read(NULL, debug, NULL, &c.info, &error) != POPLINER_OK) ||
        pl_operations_find(c.profile, c.info, &c.operations, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    free(from);
    free(debug);
    free(path);
    return c;
}

/* On how many tiles the programs explain more than there is, or less. */
static void count_tiles(const golden_case *c, int group, size_t *num_more, size_t *num_less) {
    expected_model m = expect_model(c);
    *num_more = 0;
    *num_less = 0;
    for (size_t tile = 0; tile < c->profile->target.num_tiles; tile++) {
        *num_more += m.explained[group][tile] > m.truth[group][tile];
        *num_less += m.explained[group][tile] < m.truth[group][tile];
    }
    free_model(&m);
}

/* As SQL: a number for each tile of a case, far more than there is of any code; as a plain list or
 * as RLE. */
static void write_many(const char *name, bool as_list, char *sql, size_t size) {
    golden_case c;
    pl_blob blob = {0};
    golden_load(&c, name);
    size_t num_tiles = c.profile->target.num_tiles;
    uint64_t *by_tile = test_new_array(num_tiles, sizeof *by_tile);
    for (size_t tile = 0; tile < num_tiles; tile++)
        by_tile[tile] = 100000;
    if (as_list)
        pl_varint_list_write(&blob, by_tile, num_tiles);
    else
        pl_rle_write(&blob, by_tile, num_tiles);
    assert_true(!blob.failed && 2 * blob.size + 4 < size);
    size_t length = (size_t)snprintf(sql, size, "x'");
    for (size_t i = 0; i < blob.size; i++)
        length += (size_t)snprintf(sql + length, size - length, "%02x", blob.data[i]);
    snprintf(sql + length, size - length, "'");
    free(blob.data);
    free(by_tile);
    golden_free(&c);
}

static const char *const altered_cases[] = {"popart-train-outline", "tensorflow-inf"};

static void adds_up_without_debug_ids(void **state) {
    for (size_t i = 0; i < 2; i++) {
        golden_case c = load_altered(*state, altered_cases[i],
                                     "UPDATE programs SET debug_id = NULL WHERE id % 3 = 0", true);
        assert_true(pl_operations_count(c.operations) > 0);
        check_everything(&c);
        golden_free(&c);
        /* nothing belongs to anything: all is unexplained, at all steps */
        c = load_altered(*state, altered_cases[i], "UPDATE programs SET debug_id = NULL", true);
        assert_int_equal(pl_operations_count(c.operations), 0);
        check_everything(&c);
        golden_free(&c);
        /* one operation per debug id */
        c = load_altered(*state, altered_cases[i], "SELECT 1", false);
        assert_true(pl_operations_count(c.operations) > 0);
        check_everything(&c);
        golden_free(&c);
    }
}

static void adds_up_where_code_is_explained_wrongly(void **state) {
    static const struct {
        int group;
        const char *sql;
    } alterations[] = {
        {VERTEX_CODE, "UPDATE memory_by_vertex_type SET code_bytes = %s WHERE vertex_type % 2"},
        {CONTROL_CODE, "UPDATE programs SET control_code_bytes_by_tile = %s WHERE id % 5 = 0"},
        {VERTEX_STATE, "UPDATE memory_by_compute_set SET vertex_data_bytes = %s"},
        {EXCHANGE_CODE, "UPDATE program_type_do_exchange SET code_bytes_by_tile_rle = %s"},
        {VERTEX_STATE, "DROP TABLE memory_by_compute_set"},
        {VERTEX_STATE, "DROP TABLE memory_by_compute_set; UPDATE vertex_types SET size = 100000"},
        {CONTROL_CODE, "UPDATE programs SET control_code_bytes_by_tile = NULL"},
    };
    size_t total_more[NUM_GROUPS] = {0};
    size_t total_less[NUM_GROUPS] = {0};
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof alterations / sizeof *alterations; k++) {
            size_t num_more;
            size_t num_less;
            char sql[1000];
            char many[500];
            if (!test_takes_case(i + k, 2))
                continue;
            write_many(altered_cases[i], alterations[k].group == VERTEX_CODE, many, sizeof many);
            const char *place = strstr(alterations[k].sql, "%s");
            size_t length =
                place == NULL ? strlen(alterations[k].sql) : (size_t)(place - alterations[k].sql);
            snprintf(sql, sizeof sql, "%.*s%s%s", (int)length, alterations[k].sql,
                     place == NULL ? "" : many, place == NULL ? "" : place + 2);
            golden_case c = load_altered(*state, altered_cases[i], sql, true);
            count_tiles(&c, alterations[k].group, &num_more, &num_less);
            total_more[alterations[k].group] += num_more;
            total_less[alterations[k].group] += num_less;
            check_everything(&c);
            golden_free(&c);
        }
    }
    /* or these would be no alterations at all */
    for (int group = 0; group < NUM_GROUPS; group++) {
        assert_met(total_more[group] > 0);
    }
    assert_met(total_less[VERTEX_STATE] > 0);
    assert_met(total_less[CONTROL_CODE] > 0);
}

/* Like the checks above, in memory: by the rules alone, as the profile's own account no longer
 * holds. */
static void check_spoiled_code(const golden_case *original) {
    golden_case c;
    golden_load(&c, original->name);
    popliner_profile *p = c.profile;
    size_t num_states = p->num_compute_set_states;
    uint64_t random = 79;
    spoil_code(&c, &random);
    for (int told = 0; told < 2; told++) {
        p->num_compute_set_states = told ? num_states : 0;
        pl_layers *layers = assign_at_random(&c, 5, &random);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        pl_stage_meter *meter = make_meter(chain);
        check_random_stages(&c, layers);
        assert_never_shrinks(&c, chain, meter);
        pl_stage_meter_free(meter);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
    golden_free(&c);
}

static void keeps_its_rules_where_code_is_explained_wrongly(void **state) {
    (void)state;
    golden_for_each(check_spoiled_code);
}

/* ---- By hand -------------------------------------------------------------------------------- */

static void keeps_every_rule(void **state) {
    (void)state;
    enum { VARIABLES = 11 };
    static char strings[] = "\0v\0w\0variable\0vertexCode\0vertexInstanceState\0controlCode\0"
                            "internalExchangeCode";
    static pl_string categories[] = {5, 14, 25, 45, 57};
    static uint8_t known[] = {PL_CATEGORY_VARIABLE, PL_CATEGORY_VERTEX_CODE,
                              PL_CATEGORY_VERTEX_INSTANCE_STATE, PL_CATEGORY_CONTROL_CODE,
                              PL_CATEGORY_INTERNAL_EXCHANGE_CODE};
    enum { DATA, CODE, STATE, CONTROL, EXCHANGE };
    static uint32_t unlowered[VARIABLES];
    /* classes 0 ... 3: step 0; steps 1 and 2; step 4; steps 0 and 3; class 4 is always live */
    static uint32_t sizes[VARIABLES] = {1000, 10, 500, 7, 90, 120, 20, 15, 4, 33, 200};
    static uint32_t classes[VARIABLES] = {0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 1};
    static uint8_t category[VARIABLES] = {DATA,  DATA,    DATA,     DATA, DATA, CODE,
                                          STATE, CONTROL, EXCHANGE, DATA, DATA};
    static uint8_t placing[VARIABLES]; /* none is executable */
    static uint32_t offsets[VARIABLES];
    static uint64_t tile_variables[] = {0, VARIABLES};
    static uint64_t list_start[] = {0, 1, 4, 6};
    static uint32_t list_variable[] = {4, 0, 1, 2, 3, 5};
    golden_case c = made_case();
    popliner_profile p = *c.profile;
    c.profile = &p;
    p.list_start = list_start;
    p.num_list_variables = sizeof list_variable / sizeof *list_variable;
    p.list_variable = list_variable;
    p.strings = strings;
    p.strings_length = sizeof strings;
    p.num_categories = sizeof categories / sizeof *categories;
    p.category_name = categories;
    p.category = known;
    p.num_variables = VARIABLES;
    p.variable_size_bytes = sizes;
    p.variable_class = classes;
    p.variable_unlowered = unlowered;
    p.variable_category = category;
    p.variable_placing = placing;
    p.variable_offset = offsets;
    p.tile_variables_start = tile_variables;
    /* Operation i runs at step i. Operation 0 touches the 90 bytes that are always live; 1 those of
     * 1000, 10 and 500; 3 those of 7, and the 120 of code, which are code all the same; nothing
     * touches those of 200, and 33 that are always live. Code of the types is 100, 30, 5 and 6: 1
     * runs the first and last, together 106 of the 120 that there are, 3 the others, 35, so nothing
     * of it is left unexplained; state: 16 and 20, of 20; control code: 9 in operation 4, the 50 of
     * operation 2 have children, of 15, so 6 are left unexplained; exchange code: 11 in operation
     * 4, of 4. */
    static const struct {
        size_t count;
        size_t operations[5];
        uint64_t variables, untouched, vertex_code, vertex_state, exchange_code, control_code;
        size_t peak_step;
    } stages[] = {
        {0, {0}, 0, 0, 0, 0, 0, 0, 0},
        {1, {0}, 90, 0, 0, 0, 0, 0, 0}, /* its step has nothing but what is always live */
        {1, {1}, 10, 200, 106, 16, 0, 0, 1},
        {1, {2}, 0, 200, 0, 0, 0, 0, 2}, /* what nothing touches is in every stage while it lives */
        {1, {3}, 7, 0, 35, 20, 0, 0, 3},
        {1, {4}, 0, 0, 0, 0, 4, 9, 4}, /* 500 live at its step, but it does not touch them */
        {2, {0, 1}, 90 + 1000, 0, 106, 16, 0, 0, 0},
        {2, {1, 4}, 500, 0, 106, 16, 4, 9, 4},
        {2, {1, 3}, 10, 200, 120, 20, 0, 0, 1}, /* no more code than there is */
        {5, {0, 1, 2, 3, 4}, 90 + 1000 + 7, 0, 120, 20, 4, 9, 0},
    };
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain_of_operations(&c, layers);
    pl_stage_meter *meter = make_meter(chain);
    popliner_stage_memory memory = {0};
    expected_model m = expect_model(&c);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        measure_operations(meter, stages[i].operations, stages[i].count, &memory);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VARIABLES][0], stages[i].variables);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VERTEX_CODE][0], stages[i].vertex_code);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VERTEX_STATE][0], stages[i].vertex_state);
        assert_int_equal(memory.part_bytes[POPLINER_PART_EXCHANGE_CODE][0],
                         stages[i].exchange_code);
        assert_int_equal(memory.part_bytes[POPLINER_PART_CONTROL_CODE][0], stages[i].control_code);
        assert_int_equal(memory.part_bytes[POPLINER_PART_UNEXPLAINED][0],
                         stages[i].untouched + 33 + 6);
        assert_int_equal(memory.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE][0], 33 + 6);
        assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][0],
                         stages[i].variables + stages[i].untouched + stages[i].vertex_code +
                             stages[i].vertex_state + stages[i].exchange_code +
                             stages[i].control_code + 33 + 6);
        assert_int_equal(memory.peak_step[0], stages[i].peak_step);
        assert_stage(&c, &m, stages[i].operations, stages[i].count, &memory);
    }
    /* the whole: everything that is always live, and the 1007 of step 0 */
    assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][0],
                     90 + 120 + 20 + 15 + 4 + 33 + 1007);
    free_model(&m);
    pl_stage_memory_clear(&memory);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void counts_a_compute_set_once(void **state) {
    (void)state;
    golden_case c = made_case();
    popliner_profile p = *c.profile;
    c.profile = &p;
    uint32_t compute_sets[] = {PL_NONE, 0, PL_NONE, 0, PL_NONE}; /* both run the first */
    uint8_t categories[] = {0, 0, 0, 0, 0};
    static char strings[] = "\0v\0w\0vertexInstanceState\0variable";
    pl_string names[] = {5, 25};
    uint8_t known[] = {PL_CATEGORY_VERTEX_INSTANCE_STATE, PL_CATEGORY_VARIABLE};
    p.program_compute_set = compute_sets;
    p.strings = strings;
    p.strings_length = sizeof strings;
    p.num_categories = 2;
    p.category_name = names;
    p.category = known;
    p.variable_category = categories; /* the 90 bytes that are always live are state */
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain_of_operations(&c, layers);
    pl_stage_meter *meter = make_meter(chain);
    popliner_stage_memory memory = {0};
    static const size_t both[] = {1, 3};
    for (size_t i = 0; i < 2; i++) {
        measure_operations(meter, both + i, 1, &memory);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VERTEX_STATE][0], 3 * 4 + 1 * 4);
    }
    measure_operations(meter, both, 2, &memory);
    assert_int_equal(memory.part_bytes[POPLINER_PART_VERTEX_STATE][0], 16);
    assert_int_equal(memory.part_bytes[POPLINER_PART_UNEXPLAINED][0], 90 - 16);
    pl_stage_memory_clear(&memory);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_up_in_the_golden_cases),
        cmocka_unit_test(adds_up_in_the_real_profile),
        IN_DIRECTORY(adds_up_without_debug_ids),
        IN_DIRECTORY(adds_up_where_code_is_explained_wrongly),
        cmocka_unit_test(keeps_its_rules_where_code_is_explained_wrongly),
        cmocka_unit_test(keeps_every_rule),
        cmocka_unit_test(counts_a_compute_set_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
