/* Operations measured at once, against each of them measured as a stage by itself.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "test_data.h"

/* How often every kind of what is compared was met: an operation that has several runs of steps,
 * one with a peak of what is not explained. */
static struct {
    size_t num_operations;
    size_t several_runs;
    size_t unexplained;
    size_t parameters;
} met;

static void count_steps(const pl_chain *chain, size_t operation) {
    size_t num_runs = 0;
    bool was_own = false;
    for (size_t step = 0; step < chain->num_steps; step++) {
        const bool is_own = pl_chain_operation_at(chain, step) == operation;
        num_runs += is_own && !was_own;
        was_own = is_own;
    }
    met.several_runs += num_runs > 1;
}

static void check_with(const golden_case *c, const pl_layers *layers) {
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_chain *single_chain = make_chain_of_operations(c, layers);
    pl_stage_meter *meter;
    pl_stage_meter *single;
    popliner_stage_detail *sums;
    popliner_stage_memory memory = {0};
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    assert_int_equal(pl_stage_meter_create(single_chain, 0, &single, NULL), POPLINER_OK);
    assert_int_equal(pl_operation_sums_measure(meter, NULL, &sums, NULL), POPLINER_OK);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        size_t first = 0; /* the first of its context */
        while (pl_operation_at(c->operations, first)->debug_context !=
               pl_operation_at(c->operations, i)->debug_context)
            first++;
        measure_operations(single, &first, 1, &memory);
        const popliner_interval stage = {first, first, 1};
        popliner_stage_detail expected;
        assert_int_equal(pl_stage_measure(single, NULL, &stage, 1, &memory, &expected, NULL),
                         POPLINER_OK);
        assert_memory_equal(sums[i].part_bytes, expected.part_bytes, sizeof expected.part_bytes);
        assert_int_equal(sums[i].total_bytes, expected.total_bytes);
        count_steps(chain, first);
        const uint64_t fixed_bytes = test_tiles_sum(
            memory.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE], memory.num_tiles);
        met.unexplained += expected.part_bytes[POPLINER_PART_UNEXPLAINED] > fixed_bytes;
        met.parameters += expected.part_bytes[POPLINER_PART_PARAMETERS] > 0;
        met.num_operations++;
    }
    pl_stage_memory_clear(&memory);
    free(sums);
    pl_stage_meter_free(single);
    pl_chain_free(single_chain);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
}

static void check_case(const golden_case *c) {
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    check_with(c, layers);
    pl_layers_free(layers);
}

static void check_spoiled(const golden_case *original) {
    golden_case c;
    uint64_t random = 23;
    golden_load(&c, original->name);
    spoil_code(&c, &random);
    /* many variables are touched by nobody */
    for (size_t i = 1; i < c.profile->num_list_variables; i++)
        if (pl_random_below(&random, 2) == 0)
            c.profile->list_variable[i] = c.profile->list_variable[i - 1];
    pl_layers *layers = assign_at_random(&c, 5, &random);
    check_with(&c, layers);
    pl_layers_free(layers);
    golden_free(&c);
}

static void are_those_of_stages(void **state) {
    (void)state;
    met.num_operations = 0;
    golden_for_each(check_case);
    assert_true(met.several_runs > 0);
    assert_true(met.parameters > 0 && met.parameters < met.num_operations);
}

static void are_those_of_stages_where_little_is_explained(void **state) {
    (void)state;
    met.unexplained = 0;
    golden_for_each(check_spoiled);
    assert_true(met.unexplained > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_those_of_stages),
        cmocka_unit_test(are_those_of_stages_where_little_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
