/* Integer programs for stages that share IPUs, against every split that there is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/plan.h"
#include "solve/shared/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_INSTANCES = 1500 };

static const pl_stop never = {.deadline_seconds = INFINITY};

/* Whether there is a split. */
static bool check(shared_instance *in) {
    every_split e = try_every_split(in, in->options.mem_per_tile);
    pl_shared shared = {0};
    static const pl_goal goals[] = {PL_GOAL_ANY, PL_GOAL_FEWEST_CUT_BYTES, PL_GOAL_EARLIEST_CUTS};
    for (size_t g = 0; g < sizeof goals / sizeof *goals; ++g) {
        pl_split split = {0};
        pl_search_result result = {0};
        const pl_shared_search search = {
            .problem = &in->problem, .goal = goals[g], .stop = &never, .shared = &shared};
        assert_int_equal(pl_no_goods_search(&search, &in->filter, &split, &result, NULL, NULL),
                         POPLINER_OK);
        assert_false(result.is_stopped);
        assert_best_split(&e, goals[g], &split, &result);
        pl_split_clear(&split);
    }
    pl_shared_free(&shared);
    return e.num_splits > 0;
}

static void finds_what_every_split_says(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_taken = 0;
    size_t num_feasible = 0;
    if (!test_has_glpk())
        skip();
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        if (!test_takes_case(seed, 6))
            continue;
        draw_shared_instance(&in, seed);
        ++num_taken;
        num_feasible += check(&in);
        discard_shared_instance(&in);
    }
    print_message("%zu of %zu feasible\n", num_feasible, num_taken);
    assert_in_range(num_feasible, num_taken / 4, num_taken * 3 / 4);
}

/* Where nothing fits, no split has a peak between the limit and the next one that is told. */
static void next_peak_is_no_more_than_the_best(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_taken = 0;
    size_t num_told = 0;
    if (!test_has_glpk())
        skip();
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        if (!test_takes_case(seed, 6))
            continue;
        draw_shared_instance(&in, seed);
        pl_shared shared = {0};
        pl_split split = {0};
        pl_search_result result = {0};
        ++num_taken;
        in.filter.limits.plain_limit_bytes = POPLINER_PEAK_FORBIDDEN - 1;
        in.filter.limits.max_peak_bytes = in.options.mem_per_tile;
        const pl_shared_search search = {
            .problem = &in.problem, .goal = PL_GOAL_ANY, .stop = &never, .shared = &shared};
        assert_int_equal(pl_no_goods_search(&search, &in.filter, &split, &result, NULL, NULL),
                         POPLINER_OK);
        if (split.num_stages == 0) {
            assert_true(result.next_peak_bytes > in.options.mem_per_tile);
            assert_int_equal(try_every_split(&in, result.next_peak_bytes - 1).num_splits, 0);
            num_told += result.next_peak_bytes > in.options.mem_per_tile + 1;
        }
        pl_split_clear(&split);
        pl_shared_free(&shared);
        discard_shared_instance(&in);
    }
    assert_true(num_told > num_taken / 10);
}

/* With 200 units and no limit, six stages have far more than a million entries. */
static void earliest_cuts_of_large_programs_are_left_open(void **state) {
    (void)state;
    enum { NUM_UNITS = 200, NUM_STAGES = 6 };
    static const size_t device_map[NUM_STAGES] = {0, 1, 2, 0, 1, 2};
    popliner_costs *costs = NULL;
    pl_problem problem = {0};
    assert_int_equal(popliner_costs_create(NUM_UNITS, 1, &costs, NULL), POPLINER_OK);
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    options.device_map = device_map;
    options.num_mapped_stages = NUM_STAGES;
    assert_int_equal(pl_problem_create(&problem, costs, &options, NULL, NULL), POPLINER_OK);
    const pl_filter filter = pl_filter_of_limits(&problem);
    for (int can_give_up = 0; can_give_up < 2; ++can_give_up) {
        pl_shared shared = {0};
        pl_split split = {0};
        pl_search_result result = {0};
        bool gave_up = false;
        const pl_shared_search search = {
            .problem = &problem, .goal = PL_GOAL_EARLIEST_CUTS, .stop = &never, .shared = &shared};
        assert_int_equal(pl_no_goods_search(&search, &filter, &split, &result,
                                            can_give_up ? &gave_up : NULL, NULL),
                         POPLINER_OK);
        assert_int_equal(split.num_stages, 0);
        assert_int_equal(gave_up, can_give_up);
        assert_int_equal(result.is_stopped, !can_give_up);
        pl_shared_free(&shared);
    }
    pl_problem_free(&problem);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_every_split_says),
        cmocka_unit_test(next_peak_is_no_more_than_the_best),
        cmocka_unit_test(earliest_cuts_of_large_programs_are_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
