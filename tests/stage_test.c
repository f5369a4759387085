/* The memory of stages: PopLiner's own numbers in the golden cases, and its rules by hand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/stage.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "test_data.h"

static pl_stage_meter *make_meter(const pl_chain *chain) {
    pl_stage_meter *meter;
    popliner_error error = {.message = ""};
    if (pl_stage_meter_create(chain, 0, &meter, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return meter;
}

/* Makes a chain in PopLiner's model that begins with a stage of these operations: those in no layer
 * are unit 0, the others unit 1. */
static pl_chain *begin_with(const golden_case *c, const pl_layers *layers, const size_t *operations,
                            size_t count) {
    static const popliner_unit_kind kinds[] = {POPLINER_UNIT_UNLAYERED, POPLINER_UNIT_LAYER,
                                               POPLINER_UNIT_LAYER};
    const size_t num_operations = pl_operations_count(c->operations);
    uint32_t *unit_of = test_new_array(num_operations, sizeof *unit_of);
    for (size_t i = 0; i < num_operations; i++)
        unit_of[i] = 2;
    for (size_t i = 0; i < count; i++)
        unit_of[operations[i]] = pl_layer_at(layers, operations[i])->unit != 0 ? 1 : 0;
    pl_chain *chain =
        make_chain_of_units(c, layers, POPLINER_MEMORY_MODEL_POPLINER, kinds, 3, unit_of);
    free(unit_of);
    return chain;
}

static void measure(pl_stage_meter *meter, size_t first_unit, size_t last_unit,
                    popliner_stage_memory *memory) {
    const popliner_interval stage = {first_unit, last_unit, 1};
    assert_int_equal(pl_stage_measure(meter, NULL, &stage, 1, memory, NULL, NULL), POPLINER_OK);
}

/* ---- The golden cases ----------------------------------------------------------------------- */

static void assert_arrays(const char *name, const popliner_stage_memory *memory,
                          const json_t *arrays) {
    const struct {
        const char *key;
        const uint64_t *bytes;
    } parts[] = {
        {"total_mem", memory->need_bytes[POPLINER_NEED_EXPECTED]},
        {"variables", memory->part_bytes[POPLINER_PART_VARIABLES]},
        {"vertex_code", memory->part_bytes[POPLINER_PART_VERTEX_CODE]},
        {"vertex_state", memory->part_bytes[POPLINER_PART_VERTEX_STATE]},
        {"exchange_code", memory->part_bytes[POPLINER_PART_EXCHANGE_CODE]},
        {"control_code", memory->part_bytes[POPLINER_PART_CONTROL_CODE]},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const json_t *expected = json_object_get(arrays, parts[i].key);
        assert_int_equal(json_array_size(expected), memory->num_tiles);
        for (size_t tile = 0; tile < memory->num_tiles; tile++) {
            /* the original holds some of them as floats */
            double bytes = json_number_value(json_array_get(expected, tile));
            if ((double)parts[i].bytes[tile] != bytes)
                fail_msg("%s: %s of tile %zu is %llu instead of %.1f", name, parts[i].key, tile,
                         (unsigned long long)parts[i].bytes[tile], bytes);
        }
    }
}

static void check_golden_arrays(const golden_case *c) {
    json_t *arrays = golden_json(c, "arrays.json");
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    pl_stage_meter *meter = make_meter(chain);
    popliner_stage_memory memory = {0};
    assert_int_equal(pl_stage_measure(meter, NULL,
                                      &(popliner_interval){0, pl_layers_num_units(layers) - 1, 1},
                                      1, &memory, NULL, NULL),
                     POPLINER_OK);
    assert_arrays(c->name, &memory, json_object_get(arrays, "whole_model"));
    const json_t *solves = json_object_get(arrays, "solves");
    size_t num_splits = 0;
    for (size_t i = 0; i < json_array_size(solves); i++) {
        const json_t *splits = json_object_get(json_array_get(solves, i), "splits");
        for (size_t k = 0; k < json_array_size(splits); k++) {
            const json_t *split = json_array_get(splits, k);
            size_t from =
                unit_of_name(layers, json_string_value(json_object_get(split, "layer_from")));
            size_t to = unit_of_name(layers, json_string_value(json_object_get(split, "layer_to")));
            char name[200];
            snprintf(name, sizeof name, "%s, solve %zu, split %zu", c->name, i, k);
            assert_int_equal(pl_stage_measure(meter, NULL, &(popliner_interval){from, to, 1}, 1,
                                              &memory, NULL, NULL),
                             POPLINER_OK);
            assert_arrays(name, &memory, json_object_get(split, "arrays"));
            num_splits++;
        }
    }
    assert_true(num_splits > 4);
    pl_stage_memory_clear(&memory);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
    json_decref(arrays);
}

static void measures_popliners_bytes_on_every_tile(void **state) {
    (void)state;
    golden_for_each(check_golden_arrays);
}

static void needs_nothing_for_no_operation(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-wide");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    pl_stage_meter *meter = make_meter(chain);
    popliner_stage_memory memory = {0};
    /* after a stage that needs much, into the same arrays */
    assert_int_equal(
        pl_stage_measure(meter, NULL, &(popliner_interval){0, 2, 1}, 1, &memory, NULL, NULL),
        POPLINER_OK);
    assert_true(test_tiles_max(memory.need_bytes[POPLINER_NEED_EXPECTED], memory.num_tiles) > 0);
    assert_int_equal(pl_stage_measure(meter, NULL, NULL, 0, &memory, NULL, NULL), POPLINER_OK);
    assert_int_equal(memory.num_tiles, 48);
    assert_int_equal(test_tiles_sum(memory.need_bytes[POPLINER_NEED_EXPECTED], memory.num_tiles),
                     0);
    pl_stage_memory_clear(&memory);
    assert_null(memory.need_bytes[POPLINER_NEED_EXPECTED]);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* ---- By hand -------------------------------------------------------------------------------- */

static void keeps_every_rule(void **state) {
    (void)state;
    golden_case c = made_case();
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    /* Operations 1 and 3 are in layers. Operation 1 touches variables of 1000, 10 and 500 bytes
     * that live at step 0, steps 1 and 2, and step 4; operation 3 one of 7 bytes at steps 0 and 3;
     * operation 0 one of 90 bytes that is always live. Compute sets: 3 of A and 1 of D in
     * operation 1, 2 of B and 1 of C in operation 3; A and B are "v" of 4 and 8 bytes, C and D
     * both "w" of 4; the last "v" has 30 bytes of code, the last "w" 6. */
    static const struct {
        size_t count;
        size_t operations[5];
        uint64_t variables, vertex_code, vertex_state, exchange_code, control_code;
    } stages[] = {
        {1, {0}, 0, 0, 0, 0, 0},         /* what is in no layer has no variables */
        {1, {1}, 10, 30 + 6, 16, 0, 0},  /* the code of the last of each name */
        {2, {0, 1}, 10, 36, 16, 0, 0},   /* begins with the first in a layer */
        {2, {1, 2}, 10, 36, 16, 0, 0},   /* programs with children do not count */
        {2, {1, 4}, 500, 36, 16, 11, 9}, /* ends with the last of all */
        {1, {3}, 7, 30 + 6, 20, 0, 0},   /**/
        {2, {1, 3}, 10, 66, 36, 0, 0},   /* "v" twice, for its two sizes; "w" once */
        {2, {0, 4}, 0, 0, 0, 11, 9},     /**/
        {5, {0, 1, 2, 3, 4}, 500, 66, 36, 11, 9},
    };
    popliner_stage_memory memory = {0};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        pl_chain *chain = begin_with(&c, layers, stages[i].operations, stages[i].count);
        pl_stage_meter *meter = make_meter(chain);
        measure(meter, 0, 1, &memory);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VARIABLES][0], stages[i].variables);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VERTEX_CODE][0], stages[i].vertex_code);
        assert_int_equal(memory.part_bytes[POPLINER_PART_VERTEX_STATE][0], stages[i].vertex_state);
        assert_int_equal(memory.part_bytes[POPLINER_PART_EXCHANGE_CODE][0],
                         stages[i].exchange_code);
        assert_int_equal(memory.part_bytes[POPLINER_PART_CONTROL_CODE][0], stages[i].control_code);
        assert_int_equal(memory.part_bytes[POPLINER_PART_UNEXPLAINED][0], 0);
        assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][0],
                         stages[i].variables + stages[i].vertex_code + stages[i].vertex_state +
                             stages[i].exchange_code + stages[i].control_code);
        pl_stage_meter_free(meter);
        pl_chain_free(chain);
    }
    pl_stage_memory_clear(&memory);
    pl_layers_free(layers);
}

/* ---- Quirks --------------------------------------------------------------------------------- */

static void counts_the_code_of_twin_types_twice(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "tensorflow-inf");
    const popliner_profile *p = c.profile;
    /* two types of one name and different sizes, both with instances on some tile */
    size_t num_twins = 0;
    for (uint32_t a = 0; a < p->num_vertex_types; a++) {
        for (uint32_t b = a + 1; b < p->num_vertex_types; b++)
            num_twins += strcmp(pl_profile_string(p, p->vertex_type_name[a]),
                                pl_profile_string(p, p->vertex_type_name[b])) == 0;
    }
    assert_true(num_twins > 0);
    check_golden_arrays(&c);
    golden_free(&c);
}

/* A stage of one operation, and one with an operation outside layers after it: the same
 * variables, but other steps. Returns how often that makes a difference. */
static size_t count_forgetful_pairs(const golden_case *c, const pl_layers *layers,
                                    size_t operation) {
    size_t count = 0;
    popliner_stage_memory alone = {0};
    popliner_stage_memory fresh = {0};
    popliner_stage_memory after = {0};
    for (size_t later = operation + 1; later < pl_operations_count(c->operations); later++) {
        const size_t both[] = {operation, later};
        if (pl_layer_at(layers, later)->unit != 0)
            continue;
        pl_chain *chain = begin_with(c, layers, both, 2);
        pl_stage_meter *exact = make_meter(chain);
        pl_stage_meter *meter = make_meter(chain);
        measure(exact, 1, 1, &alone);
        pl_stage_meter_remember_peaks(meter, true);
        measure(meter, 0, 1, &fresh);
        pl_stage_meter_free(meter);
        meter = make_meter(chain);
        pl_stage_meter_remember_peaks(meter, true);
        measure(meter, 1, 1, &after);
        measure(meter, 0, 1, &after);
        /* once it has forgotten them it is as if it had never remembered any */
        popliner_stage_memory forgot = {0};
        pl_stage_meter_remember_peaks(meter, false);
        measure(meter, 0, 1, &forgot);
        assert_true(same_numbers("forgot", forgot.part_bytes[POPLINER_PART_VARIABLES],
                                 fresh.part_bytes[POPLINER_PART_VARIABLES], fresh.num_tiles));
        pl_stage_memory_clear(&forgot);
        pl_stage_meter_free(meter);
        assert_true(same_numbers("after", after.part_bytes[POPLINER_PART_VARIABLES],
                                 alone.part_bytes[POPLINER_PART_VARIABLES], alone.num_tiles));
        assert_true(same_numbers("after", after.peak_step, alone.peak_step, alone.num_tiles));
        /* nothing but the variables is remembered */
        assert_true(same_numbers("control code", after.part_bytes[POPLINER_PART_CONTROL_CODE],
                                 fresh.part_bytes[POPLINER_PART_CONTROL_CODE], alone.num_tiles));
        for (size_t tile = 0; tile < alone.num_tiles; tile++)
            assert_int_equal(after.need_bytes[POPLINER_NEED_EXPECTED][tile],
                             fresh.need_bytes[POPLINER_NEED_EXPECTED][tile] -
                                 fresh.part_bytes[POPLINER_PART_VARIABLES][tile] +
                                 alone.part_bytes[POPLINER_PART_VARIABLES][tile]);
        count += test_tiles_sum(fresh.part_bytes[POPLINER_PART_VARIABLES], fresh.num_tiles) !=
                 test_tiles_sum(alone.part_bytes[POPLINER_PART_VARIABLES], alone.num_tiles);
        /* without the quirk the order does not matter */
        measure(exact, 0, 1, &after);
        assert_true(same_numbers("without quirk", after.part_bytes[POPLINER_PART_VARIABLES],
                                 fresh.part_bytes[POPLINER_PART_VARIABLES], fresh.num_tiles));
        pl_stage_meter_free(exact);
        pl_chain_free(chain);
    }
    pl_stage_memory_clear(&alone);
    pl_stage_memory_clear(&fresh);
    pl_stage_memory_clear(&after);
    return count;
}

static void remembers_peaks_by_variables_alone(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "poptorch-train-outline");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    size_t num_pairs = 0;
    for (size_t i = 0; i < pl_operations_count(c.operations); i++) {
        /* Calls run, with the bodies that others call too, long after what is listed after them */
        if (pl_layer_at(layers, i)->unit > 0 &&
            strncmp(pl_operation_at(c.operations, i)->name, "Call", 4) == 0)
            num_pairs += count_forgetful_pairs(&c, layers, i);
    }
    assert_true(num_pairs > 0);
    pl_layers_free(layers);
    golden_free(&c);
}

static void remembers_several_sets_of_variables(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-inf");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    pl_stage_meter *exact = make_meter(chain);
    pl_stage_meter *remembering = make_meter(chain);
    pl_stage_meter_remember_peaks(remembering, true);
    popliner_stage_memory a = {0};
    popliner_stage_memory b = {0};
    /* the same stage again is the same, whatever came between */
    for (int round = 0; round < 2; round++) {
        for (size_t from = 1; from < pl_layers_num_units(layers); from++) {
            for (size_t to = from; to < pl_layers_num_units(layers); to++) {
                assert_int_equal(pl_stage_measure(exact, NULL, &(popliner_interval){from, to, 1}, 1,
                                                  &a, NULL, NULL),
                                 POPLINER_OK);
                assert_int_equal(pl_stage_measure(remembering, NULL,
                                                  &(popliner_interval){from, to, 1}, 1, &b, NULL,
                                                  NULL),
                                 POPLINER_OK);
                assert_true(same_numbers("total", b.need_bytes[POPLINER_NEED_EXPECTED],
                                         a.need_bytes[POPLINER_NEED_EXPECTED], a.num_tiles));
            }
        }
    }
    pl_stage_memory_clear(&a);
    pl_stage_memory_clear(&b);
    pl_stage_meter_free(exact);
    pl_stage_meter_free(remembering);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_popliners_bytes_on_every_tile),
        cmocka_unit_test(needs_nothing_for_no_operation),
        cmocka_unit_test(keeps_every_rule),
        cmocka_unit_test(counts_the_code_of_twin_types_twice),
        cmocka_unit_test(remembers_peaks_by_variables_alone),
        cmocka_unit_test(remembers_several_sets_of_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
