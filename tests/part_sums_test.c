/* Parts of a model measured at once, against each of them measured as a stage by itself.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/part_sums.h"
#include "memory/passes.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "test_data.h"

/* How often every kind of what is compared was met: a part that has several runs
 * of steps, one without a step, one with a peak of what is not explained. */
static struct {
    size_t num_parts;
    size_t several_runs;
    size_t no_steps;
    size_t unexplained;
    size_t parameters;
} met;

static void count_steps(const pl_chain *chain, const uint32_t *part_of, uint32_t part) {
    size_t num_runs = 0;
    bool was_own = false;
    for (size_t step = 0; step < chain->num_steps; step++) {
        bool is_own = part_of[chain->operation_of_step[step]] == part;
        num_runs += is_own && !was_own;
        was_own = is_own;
    }
    met.several_runs += num_runs > 1;
    met.no_steps += num_runs == 0;
}

/* The sums of a measured stage of operations, each of which is a unit. */
static pl_part_sums sums_of(pl_stage_meter *single, const size_t *operations, size_t count,
                            const popliner_stage_memory *memory) {
    popliner_interval *stages = test_new_array(count, sizeof *stages);
    for (size_t i = 0; i < count; i++)
        stages[i] = (popliner_interval){operations[i], operations[i], 1};
    pl_part_sums sums = pl_part_sums_of(single, NULL, memory);
    sums.part_bytes[POPLINER_PART_PARAMETERS] = pl_stage_parameter_bytes(single, stages, count);
    free(stages);
    return sums;
}

/* A chain of single operations, and its meter. */
static pl_chain *single_chain;
static pl_stage_meter *single;

static void begin_single(const golden_case *c, const pl_layers *layers) {
    single_chain = make_chain_of_operations(c, layers);
    assert_int_equal(pl_stage_meter_create(single_chain, 0, &single, NULL), POPLINER_OK);
}

static void end_single(void) {
    pl_stage_meter_free(single);
    pl_chain_free(single_chain);
}

/* Measures each part as a stage and compares. */
static void check_parts(const golden_case *c, pl_stage_meter *meter, const pl_chain *chain,
                        const uint32_t *part_of, size_t num_parts, const pl_unit_usage *usage) {
    const size_t num_operations = pl_operations_count(c->operations);
    const pl_shares parts = {num_parts, part_of, usage, true};
    const pl_shares without_tiles = {num_parts, part_of, usage, false};
    pl_part_sums *all = test_new_array(num_parts, sizeof *all);
    pl_part_sums *others = test_new_array(num_parts, sizeof *others);
    size_t *own = test_new_array(num_operations, sizeof *own);
    popliner_stage_memory memory = {0};
    assert_true(pl_part_sums_are_possible(meter));
    assert_int_equal(pl_part_sums_measure(meter, &parts, all, NULL), POPLINER_OK);
    assert_int_equal(pl_part_sums_measure(meter, &without_tiles, others, NULL), POPLINER_OK);
    for (uint32_t part = 0; part < num_parts; part++) {
        size_t count = 0;
        for (size_t i = 0; i < num_operations; i++)
            if (part_of[i] == part)
                own[count++] = i;
        measure_operations(single, own, count, &memory);
        const pl_part_sums expected = sums_of(single, own, count, &memory);
        if (memcmp(&all[part], &expected, sizeof expected) != 0 ||
            memcmp(others[part].part_bytes, expected.part_bytes, sizeof expected.part_bytes) != 0 ||
            others[part].total_bytes != expected.total_bytes)
            fail_msg("%s: part %u of %zu: %llu bytes of variables, %llu in all, instead of %llu "
                     "and %llu; tile %zu instead of %zu",
                     c->name, part, num_parts,
                     (unsigned long long)all[part].part_bytes[POPLINER_PART_VARIABLES],
                     (unsigned long long)all[part].total_bytes,
                     (unsigned long long)expected.part_bytes[POPLINER_PART_VARIABLES],
                     (unsigned long long)expected.total_bytes, all[part].largest_tile,
                     expected.largest_tile);
        count_steps(chain, part_of, part);
        uint64_t fixed_bytes = pl_tiles_sum(
            memory.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE], memory.num_tiles);
        met.unexplained += expected.part_bytes[POPLINER_PART_UNEXPLAINED] > fixed_bytes;
        met.parameters += expected.part_bytes[POPLINER_PART_PARAMETERS] > 0;
        met.num_parts++;
    }
    pl_stage_memory_clear(&memory);
    free(own);
    free(others);
    free(all);
}

/* The units of a chain, by the pass usage; then parts with any operations, the last
 * one with none. */
static void check_chain(const golden_case *c, const pl_layers *layers, uint64_t *random) {
    const size_t num_operations = pl_operations_count(c->operations);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    uint32_t *part_of = test_new_array(num_operations, sizeof *part_of);
    pl_stage_meter *meter;
    const struct pl_pass_usage *own;
    pl_account account = {0};
    begin_single(c, layers);
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    assert_int_equal(pl_stage_meter_pass_usage(meter, &own, NULL), POPLINER_OK);
    assert_true(pl_account_create(&account, chain->model, c->profile, c->operations, NULL));
    check_parts(c, meter, chain, chain->unit_of_operation, chain->num_units, &own->usage);
    for (size_t num_parts = 2; num_parts <= 8; num_parts += 2) {
        pl_unit_usage usage = {0};
        for (size_t i = 0; i < num_operations; i++)
            part_of[i] = (uint32_t)pl_random_below(random, num_parts - 1);
        assert_true(
            pl_unit_usage_find(&usage, c->profile, c->operations, chain->usage,
                               &(pl_unit_map){part_of, num_parts, account.touched != NULL}));
        check_parts(c, meter, chain, part_of, num_parts, &usage);
        pl_unit_usage_free(&usage);
    }
    pl_account_free(&account);
    end_single();
    free(part_of);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
}

static void check_case(const golden_case *c) {
    uint64_t random = 17;
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    check_chain(c, layers, &random);
    pl_layers_free(layers);
    for (size_t round = 0; round < 3; round++) {
        layers = assign_at_random(c, 4, &random);
        check_chain(c, layers, &random);
        pl_layers_free(layers);
    }
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
    check_chain(&c, layers, &random);
    pl_layers_free(layers);
    golden_free(&c);
}

static void are_those_of_stages(void **state) {
    (void)state;
    met.num_parts = 0;
    golden_for_each(check_case);
    assert_true(met.several_runs > 0);
    assert_true(met.no_steps > 0);
    assert_true(met.parameters > 0 && met.parameters < met.num_parts);
}

static void are_those_of_stages_where_little_is_explained(void **state) {
    (void)state;
    met.unexplained = 0;
    golden_for_each(check_spoiled);
    assert_true(met.unexplained > 0);
}

/* Every operation by itself, as reports have them. */
static void check_operations(const golden_case *c) {
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_stage_meter *meter;
    pl_part_sums *sums;
    popliner_stage_memory memory = {0};
    begin_single(c, layers);
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    assert_int_equal(pl_operation_sums_measure(c->operations, meter, NULL, &sums, NULL),
                     POPLINER_OK);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        size_t first = 0; /* the first of its context */
        while (pl_operation_at(c->operations, first)->debug_context !=
               pl_operation_at(c->operations, i)->debug_context)
            first++;
        measure_operations(single, &first, 1, &memory);
        const pl_part_sums expected = sums_of(single, &first, 1, &memory);
        assert_memory_equal(sums[i].part_bytes, expected.part_bytes, sizeof expected.part_bytes);
        assert_int_equal(sums[i].total_bytes, expected.total_bytes);
    }
    pl_stage_memory_clear(&memory);
    free(sums);
    end_single();
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void are_those_of_operations(void **state) {
    (void)state;
    golden_for_each(check_operations);
}

/* PopLiner's model counts steps of others, and a profile without a step of any operation has all
 * steps in its one stage. */
static void are_not_possible_everywhere(void **state) {
    (void)state;
    golden_case c = made_whole_case();
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
         model <= POPLINER_MEMORY_MODEL_FULL; model++) {
        pl_chain *chain = make_chain(&c, layers, model);
        pl_stage_meter *meter;
        assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
        assert_int_equal(pl_part_sums_are_possible(meter), model == POPLINER_MEMORY_MODEL_FULL);
        for (size_t step = 0; step < chain->num_steps; step++)
            chain->operation_of_step[step] = PL_NONE;
        assert_false(pl_part_sums_are_possible(meter));
        pl_stage_meter_free(meter);
        pl_chain_free(chain);
    }
    pl_layers_free(layers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_those_of_stages),
        cmocka_unit_test(are_those_of_stages_where_little_is_explained),
        cmocka_unit_test(are_those_of_operations),
        cmocka_unit_test(are_not_possible_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
