/* The full memory model: it adds up to the compiler's account, and never shrinks as a stage grows;
 * and its rules by hand. memory_model_test.py has them again, for any profile.
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

/* ---- It adds up ----------------------------------------------------------------------------- */

/* The stage of everything is the compiler's account, on every tile. */
static void assert_adds_up(const golden_case *c, const pl_chain *chain, pl_stage_meter *meter) {
    popliner_stage_memory memory = {0};
    assert_int_equal(pl_stage_measure(meter, NULL,
                                      &(popliner_interval){0, pl_chain_num_units(chain) - 1, 1}, 1,
                                      &memory, NULL, NULL),
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
            assert_int_equal(pl_stage_measure(meter, NULL, &(popliner_interval){from, to, 1}, 1,
                                              &memory, NULL, NULL),
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
    if (pl_read_files(path, NULL, NULL, &c.profile, NULL, &error) != POPLINER_OK ||
        (with_debug_info &&
         pl_debug_info_read(NULL, debug, NULL, &c.info, &error) != POPLINER_OK) ||
        pl_operations_find(c.profile, c.info, &c.operations, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    free(from);
    free(debug);
    free(path);
    return c;
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
    }
    /* the whole: everything that is always live, and the 1007 of step 0 */
    assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][0],
                     90 + 120 + 20 + 15 + 4 + 33 + 1007);
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
        cmocka_unit_test(keeps_every_rule),
        cmocka_unit_test(counts_a_compute_set_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
