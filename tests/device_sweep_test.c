/* The sweep over IPUs that stages share, against every split that there is, and on long chains
 * against itself.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/plan.h"
#include "solve/shared/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_INSTANCES = 400 };

static const pl_stop never = {.deadline_seconds = INFINITY};

static pl_shared_search ask(const shared_instance *in, pl_shared *shared) {
    return (pl_shared_search){
        .problem = &in->problem, .stop = &never, .most_work = UINT64_MAX, .shared = shared};
}

/* Whether a sweep finds a split within the filter, which then is one of them. */
static bool finds(every_split *e, const pl_filter *filter, pl_shared *shared) {
    pl_split split = {0};
    pl_sweep_end how;
    const pl_shared_search search = ask(e->in, shared);
    assert_int_equal(pl_device_sweep(&search, filter, &split, &how, NULL), POPLINER_OK);
    assert_int_equal(how, PL_SWEEP_DONE);
    const bool is_found = split.num_stages > 0;
    if (is_found) {
        uint64_t cut_bytes;
        assert_int_equal(split.num_stages, e->in->options.num_mapped_stages);
        memcpy(e->first_units, split.first_units, split.num_stages * sizeof *e->first_units);
        assert_true(is_split_fine(e, &cut_bytes));
        assert_true(cut_bytes <= filter->limits.max_cut_bytes);
    }
    pl_split_clear(&split);
    return is_found;
}

/* Whether there is a split: within the filter, within the fewest cut bytes, and none within
 * less. */
static bool check(shared_instance *in) {
    every_split e = try_every_split(in, in->options.mem_per_tile);
    pl_shared shared = {0};
    const bool exists = e.num_splits > 0;
    assert_int_equal(finds(&e, &in->filter, &shared), exists);
    if (exists) {
        pl_filter filter =
            pl_filter_limited(&in->filter, POPLINER_OBJECTIVE_TRAFFIC, e.fewest_bytes);
        assert_true(finds(&e, &filter, &shared));
        filter.limits.max_cut_bytes -= e.fewest_bytes > 0;
        assert_int_equal(finds(&e, &filter, &shared), e.fewest_bytes == 0);
    }
    pl_shared_free(&shared);
    return exists;
}

/* In half of them with a limit on the spread, near the smallest that there is, or with smallest
 * values. */
static void finds_what_every_split_says(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_taken = 0;
    size_t num_feasible = 0;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        const uint64_t kind = seed / 9;
        draw_shared_instance(&in, seed);
        in.filter.spread_is_of_cycles = kind / 4 % 2 == 0;
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        if (e.num_splits > 0 && kind % 4 == 1) {
            in.filter.max_spread = e.least_spread + kind / 8 % 3 * 2;
            in.filter.max_spread -= in.filter.max_spread > 0 && kind % 3 == 0;
        } else if (e.num_splits > 0 && kind % 4 == 3) {
            in.filter.limits.min_cycles = e.fewest_cycles / 3;
            in.filter.limits.min_peak_bytes = e.smallest_bytes / 2;
        }
        ++num_taken;
        num_feasible += check(&in);
        discard_shared_instance(&in);
    }
    print_message("%zu of %zu feasible\n", num_feasible, num_taken);
    assert_in_range(num_feasible, num_taken / 5, num_taken * 4 / 5);
}

/* By hand, on the IPUs 0,0,1, with 10 cycles for each two units of a stage. With one unit in stage
 * 0, stage 1 has too many cycles unless it ends after five units, which are too many bytes. With
 * two, it may end after four, although their cut takes longer. */
static void tries_larger_stages_where_cuts_take_time(void **state) {
    (void)state;
    static shared_instance in;
    static const uint64_t cuts[] = {0, 0, 200, 200, 100, 0};
    draw_shared_instance(&in, 2);
    discard_shared_instance(&in);
    in.num_units = sizeof cuts / sizeof *cuts;
    in.pair_cycles = 10;
    make_shared_costs(&in);
    for (size_t first = 0; first < in.num_units; ++first) {
        in.own_bytes[first] = 1;
        in.types[first] = 0;
        in.cycles[first] = 0;
        popliner_costs_set_cut(in.costs, first, cuts[first], NULL);
        for (uint64_t size = 1; first + size <= in.num_units; ++size) {
            const size_t last = first + (size_t)size - 1;
            popliner_costs_set_peak(in.costs, first, last, 1, size, NULL);
            popliner_costs_set_cycles(in.costs, first, last, 10 * size * (size - 1) / 2, NULL);
        }
    }
    in.options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    in.options.device_map = in.device_map;
    in.options.num_mapped_stages = 3;
    in.options.mem_per_tile = 4;
    in.options.link_bandwidth = (popliner_ipu_link){.bytes = 1, .cycles = 1};
    memset(in.cut_rules, 0, sizeof in.cut_rules);
    assert_int_equal(pl_problem_create(&in.problem, in.costs, &in.options, NULL), POPLINER_OK);
    in.filter = pl_filter_of_limits();
    in.filter.limits.max_cycles = 125;
    assert_true(check(&in));
    discard_shared_instance(&in);
}

/* Longer chains on the IPUs 0,1,2,0,1,2 are solved, and a better split than the best is not found.
 * Stopping leaves nothing. */
static void long_chains(void **state) {
    (void)state;
    static shared_instance in;
    draw_long_shared_chain(&in, 48);
    popliner_plan plan = {0};
    in.costs->shared_peak_is_quick = true;
    assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
    print_message("%zu shared peaks measured\n", in.num_calls);
    assert_true(in.num_calls < 60000);

    in.options.mem_per_tile = plan.peak_bytes - 1;
    assert_int_equal(pl_problem_create(&in.problem, in.costs, &in.options, NULL), POPLINER_OK);
    in.filter = pl_filter_of_limits();
    pl_shared shared = {0};
    pl_split split = {0};
    pl_sweep_end how;
    pl_shared_search search = ask(&in, &shared);
    assert_int_equal(pl_device_sweep(&search, &in.filter, &split, &how, NULL), POPLINER_OK);
    assert_int_equal(how, PL_SWEEP_DONE);
    assert_int_equal(split.num_stages, 0);
    /* at once, or while IPUs are tried */
    for (size_t left = 0; left <= 100; left += 100) {
        size_t more = left;
        const pl_stop soon = {
            .deadline_seconds = INFINITY, .should_stop = test_stop_after, .user = &more};
        search.stop = &soon;
        assert_int_equal(pl_device_sweep(&search, &in.filter, &split, &how, NULL), POPLINER_OK);
        assert_int_equal(how, PL_SWEEP_STOPPED);
        assert_int_equal(split.num_stages, 0);
    }
    /* if it may do little it gives up, whether all was measured before or not */
    search.stop = &never;
    for (size_t little = 30; little <= 30000; little += 29970) {
        search.most_work = shared.work + little;
        assert_int_equal(pl_device_sweep(&search, &in.filter, &split, &how, NULL), POPLINER_OK);
        assert_int_equal(how, PL_SWEEP_GAVE_UP);
        assert_int_equal(split.num_stages, 0);
    }
    pl_shared_free(&shared);
    pl_plan_clear(&plan);
    discard_shared_instance(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_every_split_says),
        cmocka_unit_test(tries_larger_stages_where_cuts_take_time),
        cmocka_unit_test(long_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
