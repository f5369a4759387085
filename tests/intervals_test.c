/* The costs of all intervals at once: the same as measuring stage by stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include "costs/costs.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/stage.h"
#include "profile/profile_data.h"
#include "same_detail.h"
#include "test_data.h"

/* Longer chains are looked at for as many places in a pipeline as there are costs of: more take too
 * long. */
enum { MOST_UNITS_AT_ALL_PLACES = 12 };

static popliner_costs *measure(const golden_case *c, const pl_chain *chain) {
    popliner_costs *costs = NULL;
    popliner_error error = {.message = ""};
    test_told told;
    const popliner_listener listener = test_listen(&told);
    const pl_interval_options options = {.listener = &listener};
    pl_stage_meter *meter = NULL;
    pl_stage_details *details = NULL;
    if (pl_stage_meter_create(chain, 0, &meter, &error) != POPLINER_OK ||
        pl_intervals_measure(meter, &options, &details, &error) != POPLINER_OK ||
        pl_stage_details_costs(details, chain, &options.pipeline, POPLINER_NEED_EXPECTED, &costs,
                               &error) != POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    assert_int_equal(told.progress_done, c->profile->target.num_tiles);
    assert_int_equal(told.progress_total, c->profile->target.num_tiles);
    pl_stage_details_free(details);
    pl_stage_meter_free(meter);
    return costs;
}

/* The peak of every interval is the largest total of that stage. */
static void assert_peaks(const golden_case *c, const pl_chain *chain, const popliner_costs *costs) {
    size_t num_units = pl_chain_num_units(chain);
    bool unit_0_is_empty = true;
    for (size_t i = 0; i < pl_operations_count(c->operations); i++)
        unit_0_is_empty = unit_0_is_empty && pl_chain_unit_of(chain, i) > 0;
    assert_int_equal(pl_chain_has_operations(chain, 0), !unit_0_is_empty);
    assert_int_equal(popliner_costs_num_units(costs), num_units);
    pl_stage_meter *meter;
    popliner_stage_memory memory = {0};
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    for (size_t from = 0; from < num_units; from++) {
        for (size_t to = from; to < num_units; to++) {
            uint64_t peak = popliner_costs_peak(costs, from, to, 1);
            if (to == 0 && unit_0_is_empty) {
                assert_true(peak == POPLINER_PEAK_FORBIDDEN);
                continue;
            }
            assert_int_equal(pl_stage_measure(meter, NULL, &(popliner_interval){from, to, 1}, 1,
                                              &memory, NULL, NULL),
                             POPLINER_OK);
            uint64_t expected =
                test_tiles_max(memory.need_bytes[POPLINER_NEED_EXPECTED], memory.num_tiles);
            if (peak != expected)
                fail_msg("%s: the peak of %zu ... %zu of %zu units is %llu instead of %llu",
                         c->name, from, to, num_units, (unsigned long long)peak,
                         (unsigned long long)expected);
        }
    }
    pl_stage_memory_clear(&memory);
    pl_stage_meter_free(meter);
}

/* The details of every interval are those of measuring it by itself, in all parts, with and without
 * what a pipeline keeps. */
static void assert_details(const golden_case *c, const pl_chain *chain,
                           popliner_recompute recompute) {
    static const popliner_pipeline none = {
        .schedule = POPLINER_SCHEDULE_NONE, .recompute = POPLINER_RECOMPUTE_NONE, .max_stages = 1};
    size_t num_units = pl_chain_num_units(chain);
    const popliner_pipeline pipeline = {
        .schedule = POPLINER_SCHEDULE_POPART, .recompute = recompute, .max_stages = 3};
    popliner_costs *costs;
    pl_stage_details *details;
    pl_stage_meter *meter;
    assert_int_equal(
        measure_all_stages(chain, 3, &pipeline, POPLINER_NEED_EXPECTED, &costs, &details, NULL),
        POPLINER_OK);
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    size_t most_stages = costs->max_stages_to_end;
    /* the details are of pipelines of any length, if anything is kept */
    size_t most_detailed =
        most_stages > 1 && num_units <= MOST_UNITS_AT_ALL_PLACES ? num_units : most_stages;
    for (size_t from = 0; from < num_units; from++) {
        for (size_t to = from; to < num_units; to++) {
            for (size_t to_end = 1; to_end <= most_detailed; to_end += 2) {
                popliner_interval stage = {from, to, to_end};
                popliner_stage_detail expected;
                assert_int_equal(
                    pl_stage_measure(meter, &pipeline, &stage, 1, NULL, &expected, NULL),
                    POPLINER_OK);
                popliner_stage_detail got =
                    pl_stage_details_get(details, c->profile, &pipeline, &stage);
                assert_same_detail(&got, &expected);
                if (to_end <= most_stages &&
                    popliner_costs_peak(costs, from, to, to_end) != POPLINER_PEAK_FORBIDDEN)
                    assert_int_equal(popliner_costs_peak(costs, from, to, to_end),
                                     expected.tile_bytes);
                if (to_end > 1)
                    continue;
                /* nothing is kept for the last stage, nor without a pipeline */
                got = pl_stage_details_get(details, c->profile, NULL, &stage);
                assert_same_detail(&got, &expected);
                stage.stages_to_end = 7;
                got = pl_stage_details_get(details, c->profile, &none, &stage);
                assert_same_detail(&got, &expected);
            }
        }
    }
    pl_stage_meter_free(meter);
    pl_stage_details_free(details);
    popliner_costs_free(costs);
}

/* Checks the chains of both memory models, and frees the layers. */
static void check_layers(const golden_case *c, pl_layers *layers) {
    for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
         model <= POPLINER_MEMORY_MODEL_FULL; model++) {
        pl_chain *chain = make_chain(c, layers, model);
        popliner_costs *costs = measure(c, chain);
        assert_peaks(c, chain, costs);
        assert_details(
            c, chain,
            (popliner_recompute)(pl_chain_num_units(chain) % (POPLINER_RECOMPUTE_FULL + 1)));
        popliner_costs_free(costs);
        pl_chain_free(chain);
    }
    pl_layers_free(layers);
}

static void check_golden_regexes(const golden_case *c) {
    const char *const regexes[] = {NULL, golden_regex, golden_two_groups, golden_every_op,
                                   golden_no_layers};
    for (size_t i = 0; i < 2 * sizeof regexes / sizeof *regexes; i++)
        if (test_takes_case(i, 4))
            check_layers(c, assign_layers(c, regexes[i / 2],
                                          i % 2 == 0 ? POPLINER_LAYER_ORDER_STEPS
                                                     : POPLINER_LAYER_ORDER_NATURAL));
}

static void agrees_with_measuring_every_stage(void **state) {
    (void)state;
    golden_for_each(check_golden_regexes);
}

/* Layers that recur throughout the program, and are first met in another order than they last
 * run. */
static void check_interleaved_layers(const golden_case *c) {
    if (test_takes_all())
        check_layers(c, assign_layers(c, "(.)$", POPLINER_LAYER_ORDER_STEPS));
    check_layers(c, assign_layers(c, "(.)$", POPLINER_LAYER_ORDER_NATURAL));
    uint64_t random = 29;
    for (size_t i = 0; i < 7; i++)
        if (test_takes_case(i + 3, 6))
            check_layers(c, assign_at_random(c, 1 + 4 * i, &random));
}

static void agrees_for_interleaved_layers(void **state) {
    (void)state;
    golden_for_each(check_interleaved_layers);
}

/* The programs explain more bytes than there are, or fewer. */
static void check_spoiled_code(const golden_case *c) {
    golden_case spoiled;
    uint64_t random = 41;
    golden_load(&spoiled, c->name);
    popliner_profile *p = spoiled.profile;
    size_t num_states = p->num_compute_set_states;
    spoil_code(&spoiled, &random);
    for (int told = 0; told < 2; told++) {
        p->num_compute_set_states = told ? num_states : 0;
        if (told != 0 || test_takes_all())
            check_layers(&spoiled, assign_layers(&spoiled, NULL, POPLINER_LAYER_ORDER_STEPS));
        check_layers(&spoiled, assign_at_random(&spoiled, 7, &random));
    }
    golden_free(&spoiled);
}

static void agrees_where_code_is_explained_wrongly(void **state) {
    (void)state;
    golden_for_each(check_spoiled_code);
}

static void agrees_where_every_rule_matters(void **state) {
    (void)state;
    golden_case c = made_case();
    uint64_t random = 37;
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS));
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL));
    for (size_t i = 0; i < 200; i++)
        check_layers(&c, assign_at_random(&c, 1 + i % 5, &random));
}

static void agrees_for_the_real_profile(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    uint64_t random = 31;
    check_layers(&c, assign_layers(&c, "of Set (\\d+)", POPLINER_LAYER_ORDER_STEPS));
    if (test_takes_all())
        check_layers(&c, assign_at_random(&c, 8, &random));
    golden_free(&c);
}

/* With programs that touch nothing: data that only they touched is in every stage that runs
 * while it is live, and is distinguished from always-live data. */
static void tells_what_no_operation_touches(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-train");
    popliner_profile *p = c.profile;
    size_t kept = p->num_programs / 3;
    for (size_t program = kept; program < p->num_programs; program++)
        p->program_lists_start[program + 1] = p->program_lists_start[kept];
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    pl_stage_details *details;
    assert_int_equal(
        measure_all_stages(chain, 0, NULL, POPLINER_NEED_EXPECTED, NULL, &details, NULL),
        POPLINER_OK);
    size_t num_units = pl_chain_num_units(chain);
    size_t num_found = 0;
    for (size_t from = 0; from < num_units; from++)
        for (size_t to = from; to < num_units; to++) {
            popliner_interval stage = {from, to, 1};
            popliner_stage_detail d = pl_stage_details_get(details, p, NULL, &stage);
            assert_true(d.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] > 0);
            assert_true(d.part_bytes[POPLINER_PART_UNEXPLAINED] >=
                        d.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE]);
            num_found += d.part_bytes[POPLINER_PART_UNEXPLAINED] >
                         d.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE];
        }
    assert_true(num_found > num_units);
    pl_stage_details_free(details);
    pl_chain_free(chain);
    check_layers(&c, layers);
    golden_free(&c);
}

static void forbids_a_first_stage_of_nothing(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-wide");
    /* every operation is in layer 1: unit 0 is left without any */
    const char every[] = "^()";
    pl_operations_free(c.operations);
    assert_int_equal(pl_operations_find(c.profile, NULL, &c.operations, NULL), POPLINER_OK);
    pl_layers *layers = assign_layers(&c, every, POPLINER_LAYER_ORDER_STEPS);
    assert_int_equal(pl_layers_num_units(layers), 2);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    popliner_costs *costs = measure(&c, chain);
    assert_true(popliner_costs_peak(costs, 0, 0, 1) == POPLINER_PEAK_FORBIDDEN);
    assert_true(popliner_costs_peak(costs, 0, 1, 1) > 0);
    assert_int_equal(popliner_costs_peak(costs, 0, 1, 1), popliner_costs_peak(costs, 1, 1, 1));
    popliner_costs_free(costs);
    pl_chain_free(chain);
    check_layers(&c, layers);
    golden_free(&c);
}

static void measures_a_model_without_operations(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-wide");
    popliner_profile *p = c.profile;
    /* programs without debug ids belong to nothing */
    for (size_t i = 0; i < p->num_programs; i++)
        p->program_debug_context[i] = 0;
    pl_operations_free(c.operations);
    assert_int_equal(pl_operations_find(p, NULL, &c.operations, NULL), POPLINER_OK);
    assert_int_equal(pl_operations_count(c.operations), 0);
    check_layers(&c, assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS));
    golden_free(&c);
}

/* Every number of the two tables. */
static void assert_same_costs(const popliner_costs *a, const popliner_costs *b) {
    size_t num_units = popliner_costs_num_units(a);
    size_t most_stages = a->max_stages_to_end;
    assert_int_equal(popliner_costs_num_units(b), num_units);
    assert_int_equal(b->max_stages_to_end, most_stages);
    for (size_t first = 0; first < num_units; first++) {
        if (first > 0)
            assert_true(popliner_costs_cut(a, first) == popliner_costs_cut(b, first));
        for (size_t last = first; last < num_units; last++) {
            assert_true(popliner_costs_cycles(a, first, last) ==
                        popliner_costs_cycles(b, first, last));
            for (size_t stages = 1; stages <= most_stages; stages++)
                assert_true(popliner_costs_peak(a, first, last, stages) ==
                            popliner_costs_peak(b, first, last, stages));
        }
    }
}

/* However many threads there are, the table is the same. */
static void check_threads(const golden_case *c) {
    pl_layers *layers = assign_layers(c, golden_regex, POPLINER_LAYER_ORDER_STEPS);
    for (int model = 0; model <= POPLINER_MEMORY_MODEL_FULL; model++) {
        pl_chain *chain = make_chain(c, layers, (popliner_memory_model)model);
        popliner_costs *expected = NULL;
        for (size_t num_threads = 1; num_threads <= 4; num_threads *= 2) {
            const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                                .recompute = POPLINER_RECOMPUTE_NONE,
                                                .max_stages = 3};
            popliner_costs *costs = NULL;
            assert_int_equal(measure_all_stages(chain, num_threads, &pipeline,
                                                POPLINER_NEED_EXPECTED, &costs, NULL, NULL),
                             POPLINER_OK);
            if (expected != NULL)
                assert_same_costs(costs, expected);
            if (expected == NULL)
                expected = costs;
            else
                popliner_costs_free(costs);
        }
        popliner_costs_free(expected);
        pl_chain_free(chain);
    }
    pl_layers_free(layers);
}

static void is_the_same_with_any_number_of_threads(void **state) {
    (void)state;
    golden_for_each(check_threads);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_measuring_every_stage),
        cmocka_unit_test(agrees_for_interleaved_layers),
        cmocka_unit_test(agrees_where_code_is_explained_wrongly),
        cmocka_unit_test(agrees_where_every_rule_matters),
        cmocka_unit_test(agrees_for_the_real_profile),
        cmocka_unit_test(tells_what_no_operation_touches),
        cmocka_unit_test(forbids_a_first_stage_of_nothing),
        cmocka_unit_test(measures_a_model_without_operations),
        cmocka_unit_test(is_the_same_with_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
