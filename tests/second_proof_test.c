/* GLPK chooses the split, whatever the dynamic program chose among equally good ones; another value
 * is an error; and the dynamic program chooses where that is wanted or programs are too large.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include "brute_force.h"
#include "cases.h"
#include "random_instance.h"
#include "solve/glpk_session.h"
#include "solve/integer_program.h"
#include "solve/search.h"

#include <stdbool.h>
#include <string.h>

/* GLPK, whose calls are counted, and which can be made to prefer late cuts to early ones: in the
 * programs for one cut after another. */
static size_t num_solved;
static bool prefers_late_cuts;
static bool is_of_next_cut;

popliner_status __real_pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits,
                                     double *values, pl_mip_outcome *outcome,
                                     popliner_error *error);
popliner_status __wrap_pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits,
                                     double *values, pl_mip_outcome *outcome,
                                     popliner_error *error);

popliner_status __wrap_pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits,
                                     double *values, pl_mip_outcome *outcome,
                                     popliner_error *error) {
    ++num_solved;
    if (prefers_late_cuts && is_of_next_cut)
        for (size_t i = 0; i < program->num_columns; ++i)
            program->columns[i].cost = -program->columns[i].cost;
    return __real_pl_glpk_solve(program, limits, values, outcome, error);
}

popliner_status __real_pl_straight_find(const pl_problem *problem, const pl_limits *limits,
                                        pl_goal goal, const pl_stop *stop, pl_split *split,
                                        bool *is_stopped, popliner_error *error);
popliner_status __wrap_pl_straight_find(const pl_problem *problem, const pl_limits *limits,
                                        pl_goal goal, const pl_stop *stop, pl_split *split,
                                        bool *is_stopped, popliner_error *error);

popliner_status __wrap_pl_straight_find(const pl_problem *problem, const pl_limits *limits,
                                        pl_goal goal, const pl_stop *stop, pl_split *split,
                                        bool *is_stopped, popliner_error *error) {
    is_of_next_cut = goal == PL_GOAL_EARLIEST_CUTS;
    popliner_status status =
        __real_pl_straight_find(problem, limits, goal, stop, split, is_stopped, error);
    is_of_next_cut = false;
    return status;
}

static const instance_wish wish = {0,
                                   MEMORY_LIMIT | DEVICE_MAP | CONSTRAINTS | IPU_LIMITS | SLACK |
                                       PIPELINE | TIGHT | UNORDERED | SPEEDS | SHRINKING_CYCLES |
                                       LINKS,
                                   0, 5};

/* Of random instances, whether something fits or not. */
static void both_programs_prove_small_instances(void **state) {
    (void)state;
    size_t num_asked = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        instance in;
        popliner_plan plan = {0};
        if (!test_takes_case(seed, 20))
            continue;
        num_solved = 0;
        draw_instance(&wish, seed, &in);
        brute_answer expected = brute_force(in.costs, &in.options);
        in.options.method = POPLINER_METHOD_AUTO;
        assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
        assert_plan_is(&plan, &expected);
        /* without any stage that the limits allow there is no program */
        if (plan.status == POPLINER_PLAN_OPTIMAL || plan.proof != POPLINER_PROOF_DYNAMIC_PROGRAM)
            assert_int_equal(plan.proof, pl_glpk_exists() ? POPLINER_PROOF_BOTH_PROGRAMS
                                                          : POPLINER_PROOF_DYNAMIC_PROGRAM);
        num_asked += plan.proof == POPLINER_PROOF_BOTH_PROGRAMS;
        assert_true(plan.proof != POPLINER_PROOF_BOTH_PROGRAMS || num_solved > 0);
        for (size_t i = 0; i < plan.num_values && plan.status == POPLINER_PLAN_OPTIMAL; ++i)
            assert_int_equal(plan.values[i].proof, plan.proof);
        pl_plan_clear(&plan);
        in.options.without_second_proof = true;
        assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
        assert_plan_is(&plan, &expected);
        assert_int_equal(plan.proof, POPLINER_PROOF_DYNAMIC_PROGRAM);
        pl_plan_clear(&plan);
        free_instance(&in);
    }
    assert_true(num_asked > 10 || !pl_glpk_exists());
}

/* Makes the answer of the dynamic program wrong, in one of two ways. False if it cannot be. */
static bool spoil(pl_solving *solving, popliner_plan *plan, bool is_empty) {
    if (is_empty) {
        plan->num_values = 0;
        pl_split_clear(&solving->search.split);
        return true;
    }
    if (plan->num_values == 0 || plan->values[0].bound == 0)
        return false;
    --plan->values[0].bound;
    return true;
}

static void a_difference_is_an_internal_error(void **state) {
    (void)state;
    size_t num_errors[2] = {0};
    if (!pl_glpk_exists())
        test_skip("there is no GLPK");
    for (uint64_t seed = 0; seed < 40; ++seed) {
        instance in;
        popliner_plan plan = {0};
        pl_solving solving = {0};
        popliner_error error = {.message = ""};
        draw_instance(&(instance_wish){0, MEMORY_LIMIT, 0, 5}, seed, &in);
        in.options.method = POPLINER_METHOD_AUTO;
        assert_int_equal(pl_solving_begin(&solving, in.costs, &in.options, NULL), POPLINER_OK);
        assert_int_equal(pl_solving_find(&solving, &plan, NULL), POPLINER_OK);
        if (solving.search.split.num_stages > 0 && spoil(&solving, &plan, seed % 2 == 1)) {
            bool is_chosen;
            assert_int_equal(pl_choose_by_programs(&solving, &plan, &is_chosen, &error),
                             POPLINER_ERROR_INTERNAL);
            assert_non_null(strstr(error.message, "disagree with the dynamic program"));
            ++num_errors[seed % 2];
        }
        pl_solving_end(&solving);
        pl_plan_clear(&plan);
        free_instance(&in);
    }
    assert_true(num_errors[0] > 5 && num_errors[1] > 5);
}

/* Solves a chain of equal units, most of whose splits are as good. */
static void solve_chain(size_t num_units, size_t max_stages, popliner_plan *plan) {
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_TRAFFIC,
                                                    POPLINER_OBJECTIVE_MEMORY};
    popliner_costs *costs = NULL;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    assert_int_equal(popliner_costs_create(num_units, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < num_units; ++first)
        for (size_t last = first; last < num_units; ++last)
            assert_int_equal(
                popliner_costs_set_peak(costs, first, last, 1, 100 * (last - first + 1), NULL),
                POPLINER_OK);
    for (size_t unit = 1; unit < num_units; ++unit)
        assert_int_equal(popliner_costs_set_cut(costs, unit, 7, NULL), POPLINER_OK);
    options.num_ipus = max_stages;
    options.mem_per_tile = 100 * (num_units / max_stages + 2);
    options.objectives = objectives;
    options.num_objectives = 2;
    assert_int_equal(pl_solve(costs, &options, plan, NULL), POPLINER_OK);
    popliner_costs_free(costs);
}

/* By hand: seven units in two stages are 3 and 4 with the earliest cut, and 4 and 3 with the
 * latest. A GLPK that prefers those has its split in the plan. */
static void what_glpk_chooses_is_the_plan(void **state) {
    (void)state;
    if (!pl_glpk_exists())
        test_skip("the library was built without GLPK");
    for (size_t is_late = 0; is_late < 2; ++is_late) {
        popliner_plan plan = {0};
        prefers_late_cuts = is_late == 1;
        solve_chain(7, 3, &plan);
        prefers_late_cuts = false;
        assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
        assert_int_equal(plan.proof, POPLINER_PROOF_BOTH_PROGRAMS);
        assert_int_equal(plan.peak_bytes, 400);
        assert_int_equal(plan.num_stages, 2);
        assert_int_equal(plan.stages[0].last_unit, 2 + is_late);
        pl_plan_clear(&plan);
    }
}

/* By hand: IPU 2 alone has 49 bytes. Of units 0 | 1 | 2, 3 each IPU has at least 20 free, of 0, 1 |
 * 2, 3 the second one 7. Within the peak of 20 all IPUs have one limit, but not as much free. */
static void what_is_free_depends_on_the_ipu(void **state) {
    (void)state;
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_MEMORY,
                                                    POPLINER_OBJECTIVE_HEADROOM};
    static const popliner_ipu_value limit = {2, 49};
    static const uint64_t peaks[4][4] = {
        {7, 6, 25, 50}, {0, 5, 16, POPLINER_PEAK_FORBIDDEN}, {0, 0, 22, 20}, {0, 0, 0, 40}};
    popliner_costs *costs = NULL;
    popliner_plan plan = {0};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < 4; ++first)
        for (size_t last = first; last < 4; ++last)
            assert_int_equal(
                popliner_costs_set_peak(costs, first, last, 1, peaks[first][last], NULL),
                POPLINER_OK);
    options.num_ipus = 4;
    options.mem_per_tile = 27;
    options.ipu_limits = &limit;
    options.num_ipu_limits = 1;
    options.objectives = objectives;
    options.num_objectives = 2;
    const popliner_method methods[] = {POPLINER_METHOD_AUTO, POPLINER_METHOD_DYNAMIC_PROGRAMMING,
                                       POPLINER_METHOD_ILP};
    for (size_t i = 0; i < (pl_glpk_exists() ? 3 : 2); ++i) {
        options.method = methods[i];
        assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan.num_stages, 3);
        assert_int_equal(plan.values[0].value, 20);
        assert_int_equal(plan.values[1].value, 20);
        pl_plan_clear(&plan);
    }
    popliner_costs_free(costs);
}

static popliner_proof proof_of_chain(size_t num_units, size_t max_stages) {
    popliner_plan plan = {0};
    solve_chain(num_units, max_stages, &plan);
    popliner_proof proof = plan.proof;
    pl_plan_clear(&plan);
    return proof;
}

static void large_programs_are_left_out(void **state) {
    (void)state;
    if (!pl_glpk_exists())
        test_skip("there is no GLPK");
    assert_int_equal(proof_of_chain(24, 4), POPLINER_PROOF_BOTH_PROGRAMS);
    assert_int_equal(proof_of_chain(1500, 8), POPLINER_PROOF_DYNAMIC_PROGRAM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_programs_prove_small_instances),
        cmocka_unit_test(what_glpk_chooses_is_the_plan),
        cmocka_unit_test(what_is_free_depends_on_the_ipu),
        cmocka_unit_test(a_difference_is_an_internal_error),
        cmocka_unit_test(large_programs_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
