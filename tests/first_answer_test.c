/* The first answer where stages share IPUs: within the filter, and never worse than what it begins
 * with.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "costs/costs.h"
#include "solve/plan.h"
#include "solve/shared/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_INSTANCES = 4000 };

static const pl_stop never = {.deadline_seconds = INFINITY};

static pl_shared_search ask(const shared_instance *in, pl_shared *shared) {
    return (pl_shared_search){
        .problem = &in->problem, .stop = &never, .most_work = UINT64_MAX, .shared = shared};
}

/* On small chains: what is found is there, mostly the best, and nothing is found where there is
 * nothing. */
static void answers_are_within_the_filter(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_feasible = 0;
    size_t num_found = 0;
    size_t num_best = 0;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        if (!test_takes_case(seed, 4))
            continue;
        draw_shared_instance(&in, seed);
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        pl_shared shared = {0};
        pl_split split = {0};
        const pl_shared_search search = ask(&in, &shared);
        const pl_first_answer_wish wish = {.objective = POPLINER_OBJECTIVE_MEMORY, .num_kicks = 10};
        assert_int_equal(pl_first_answer(&search, &in.filter, &wish, &split, NULL), POPLINER_OK);
        num_feasible += e.num_splits > 0;
        if (split.num_stages > 0) {
            uint64_t cut_bytes;
            assert_int_equal(split.num_stages, in.options.num_mapped_stages);
            memcpy(e.first_units, split.first_units, split.num_stages * sizeof *e.first_units);
            assert_true(is_split_fine(&e, &cut_bytes));
            ++num_found;
            num_best += e.peak_bytes == e.smallest_bytes;
        }
        pl_split_clear(&split);
        pl_shared_free(&shared);
        discard_shared_instance(&in);
    }
    print_message("%zu feasible, %zu found, %zu best\n", num_feasible, num_found, num_best);
    assert_true(num_found > num_feasible * 9 / 10);
    assert_true(num_best > num_found * 9 / 10);
}

/* ---- against even cuts ---- */

enum { NUM_CHAINS = 1000, MOST_CHUNKS = 16 };

/* The largest IPU of the split with cuts after equally many units. */
static uint64_t value_of_even_cuts(const pl_problem *problem, popliner_objective objective) {
    size_t num_stages = problem->options->num_mapped_stages;
    pl_split split = {0};
    pl_objective_values values;
    for (size_t stage = 0; stage < num_stages; ++stage)
        assert_true(pl_split_append(&split, stage * problem->num_units / num_stages));
    assert_int_equal(pl_split_evaluate(problem, &split, &values, NULL, NULL), POPLINER_OK);
    pl_split_clear(&split);
    return objective == POPLINER_OBJECTIVE_CYCLES ? values.cycles : values.peak_bytes;
}

/* A tenth of a second is enough to be as good as cuts after equally many units. */
static void is_never_worse_than_even_cuts(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_better = 0;
    size_t num_taken = 0;
    for (uint64_t seed = 0; seed < NUM_CHAINS; ++seed) {
        size_t device_map[MOST_CHUNKS];
        popliner_objective objective =
            seed % 2 == 0 ? POPLINER_OBJECTIVE_MEMORY : POPLINER_OBJECTIVE_CYCLES;
        size_t num_ipus = 2 + seed % 7;
        bool is_mirrored = seed / 7 % 2 == 1;
        if (!test_takes_case(seed, 91))
            continue;
        draw_shared_instance(&in, 4 * seed); /* without parts */
        discard_shared_instance(&in);
        in.knows_parts = seed % 3 == 0;
        in.num_units = 2 * num_ipus + seed % (MOST_UNITS + 1 - 2 * num_ipus);
        make_shared_costs(&in);
        for (size_t i = 0; i < 2 * num_ipus; ++i)
            device_map[i] = i < num_ipus ? i : is_mirrored ? 2 * num_ipus - 1 - i : i - num_ipus;
        in.options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
        in.options.device_map = device_map;
        in.options.num_mapped_stages = 2 * num_ipus;
        in.options.objectives = &objective;
        in.options.num_objectives = 1;
        in.options.time_limit_seconds = 0.1;
        assert_int_equal(pl_problem_create(&in.problem, in.costs, &in.options, NULL), POPLINER_OK);
        uint64_t even = value_of_even_cuts(&in.problem, objective);
        popliner_plan plan = {0};
        assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan.num_stages, 2 * num_ipus);
        uint64_t own = objective == POPLINER_OBJECTIVE_CYCLES ? plan.cycles : plan.peak_bytes;
        assert_true(own <= even);
        assert_true(plan.values[0].bound <= own);
        ++num_taken;
        num_better += own < even;
        pl_plan_clear(&plan);
        discard_shared_instance(&in);
    }
    print_message("%zu of %zu better\n", num_better, num_taken);
    assert_met(num_better > num_taken / 2);
}

/* A split to begin with is never made worse, even without any time. */
static void keeps_what_it_begins_with(void **state) {
    (void)state;
    static shared_instance in;
    size_t num_kept = 0;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; seed += 7) {
        draw_shared_instance(&in, seed);
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        pl_shared shared = {0};
        pl_split split = {0};
        pl_objective_values before;
        pl_objective_values after;
        const pl_shared_search search = ask(&in, &shared);
        const pl_first_answer_wish wish = {.objective = POPLINER_OBJECTIVE_CYCLES};
        for (size_t i = 0; e.num_splits > 0 && i < in.options.num_mapped_stages; ++i)
            assert_true(pl_split_append(&split, e.earliest[i]));
        if (e.num_splits > 0) {
            assert_int_equal(pl_split_evaluate(&in.problem, &split, &before, NULL, NULL),
                             POPLINER_OK);
            assert_int_equal(pl_first_answer(&search, &in.filter, &wish, &split, NULL),
                             POPLINER_OK);
            assert_int_equal(split.num_stages, in.options.num_mapped_stages);
            assert_int_equal(pl_split_evaluate(&in.problem, &split, &after, NULL, NULL),
                             POPLINER_OK);
            assert_true(after.cycles <= before.cycles);
            ++num_kept;
        }
        pl_split_clear(&split);
        pl_shared_free(&shared);
        discard_shared_instance(&in);
    }
    assert_true(num_kept > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_within_the_filter),
        cmocka_unit_test(is_never_worse_than_even_cuts),
        cmocka_unit_test(keeps_what_it_begins_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
