/* The second proof: GLPK chooses what the dynamic program chose, a difference is an error, and
 * there is no second proof where none is wanted or programs are too large.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "brute_force.h"
#include "cases.h"
#include "random_instance.h"
#include "solve/glpk_session.h"
#include "solve/search.h"

#include <stdbool.h>
#include <string.h>

static const instance_wish wish = {0,
                                   MEMORY_LIMIT | DEVICE_MAP | CONSTRAINTS | IPU_LIMITS | SLACK |
                                       PIPELINE | TIGHT | UNORDERED | SPEEDS | SHRINKING_CYCLES |
                                       LINKS,
                                   0, 5};

/* Of random instances, whether something fits or not. */
static void both_programs_prove_small_instances(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        instance in;
        popliner_plan plan = {0};
        if (!test_takes_case(seed, 20))
            continue;
        draw_instance(&wish, seed, &in);
        brute_answer expected = brute_force(in.costs, &in.options);
        in.options.method = POPLINER_METHOD_AUTO;
        assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
        assert_plan_is(&plan, &expected);
        assert_int_equal(plan.proof, pl_glpk_exists() ? POPLINER_PROOF_BOTH_PROGRAMS
                                                      : POPLINER_PROOF_DYNAMIC_PROGRAM);
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
}

/* Makes the answer of the dynamic program wrong, in one of three ways. False if it cannot be. */
static bool spoil(pl_solving *solving, popliner_plan *plan, uint64_t way) {
    pl_split *split = &solving->search.split;
    switch (way) {
    case 0: /* too good */
        if (plan->num_values == 0 || plan->values[0].value == 0)
            return false;
        --plan->values[0].value;
        return true;
    case 1: /* a cut elsewhere, with the same values */
        if (split->num_stages < 2 || split->first_units[1] < 2)
            return false;
        --split->first_units[1];
        return true;
    default: /* nothing fits */
        plan->num_values = 0;
        pl_split_clear(split);
        return true;
    }
}

static void a_difference_is_an_internal_error(void **state) {
    (void)state;
    size_t num_errors[3] = {0};
    if (!pl_glpk_exists())
        skip();
    for (uint64_t seed = 0; seed < 60; ++seed) {
        instance in;
        popliner_plan plan = {0};
        pl_solving solving = {0};
        popliner_error error = {.message = ""};
        uint64_t way = seed % 3;
        draw_instance(&(instance_wish){0, MEMORY_LIMIT, 0, 5}, seed, &in);
        in.options.method = POPLINER_METHOD_AUTO;
        assert_int_equal(pl_solving_begin(&solving, in.costs, &in.options, NULL), POPLINER_OK);
        assert_int_equal(pl_solving_find(&solving, &plan, NULL), POPLINER_OK);
        bool is_valid = solving.search.split.num_stages > 0 && spoil(&solving, &plan, way);
        if (is_valid) {
            popliner_status status = pl_prove_again(&solving, &plan, &error);
            /* a split that another cut makes better than the limits allow is no answer at all */
            assert_int_equal(status, POPLINER_ERROR_INTERNAL);
            if (way != 1)
                assert_non_null(strstr(error.message, "disagree with the dynamic program"));
            ++num_errors[way];
        }
        pl_solving_end(&solving);
        pl_plan_clear(&plan);
        free_instance(&in);
    }
    for (size_t way = 0; way < 3; ++way)
        assert_true(num_errors[way] > 5);
}

/* Counts what a chain of equal units, most of whose splits are as good, has for a proof. */
static popliner_proof proof_of_chain(size_t num_units, size_t max_stages) {
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_TRAFFIC,
                                                    POPLINER_OBJECTIVE_MEMORY};
    popliner_costs *costs = NULL;
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_plan plan = {0};
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
    assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
    popliner_proof proof = plan.proof;
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
    return proof;
}

static void large_programs_are_left_out(void **state) {
    (void)state;
    if (!pl_glpk_exists())
        skip();
    assert_int_equal(proof_of_chain(24, 4), POPLINER_PROOF_BOTH_PROGRAMS);
    assert_int_equal(proof_of_chain(400, 8), POPLINER_PROOF_DYNAMIC_PROGRAM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_programs_prove_small_instances),
        cmocka_unit_test(a_difference_is_an_internal_error),
        cmocka_unit_test(large_programs_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
