/* Plans: what a split becomes, and that a wrong plan is found out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include "solve/plan.h"
#include "solve/problem.h"
#include "solve/stage_rule.h"

/* Four units; the peak of i ... j is 10 * (j - i + 1) + i, and 0 ... 3 must not be a stage; cutting
 * before unit u carries 100 * u bytes. */
static popliner_costs *example_costs(void) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = i; j < 4; ++j)
            popliner_costs_set_peak(costs, i, j, 1, 10 * (j - i + 1) + i, NULL);
    popliner_costs_set_peak(costs, 0, 3, 1, POPLINER_PEAK_FORBIDDEN, NULL);
    for (size_t unit = 1; unit < 4; ++unit)
        popliner_costs_set_cut(costs, unit, 100 * unit, NULL);
    return costs;
}

/* What the plan is for: at most three stages, and the limits that a filter starts from. Free the
 * problem with pl_problem_free. */
static pl_problem example_problem(const popliner_costs *costs, popliner_solver_options *options,
                                  pl_filter *filter) {
    pl_problem problem = {0};
    *options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    options->num_ipus = 3;
    assert_int_equal(pl_problem_create(&problem, costs, options, NULL), POPLINER_OK);
    *filter = pl_filter_of_limits();
    return problem;
}

/* The plan 0 | 1 2 | 3: peaks 10, 21, 13; cuts 100 and 300; proven for memory and traffic. */
static void example_plan(const pl_problem *problem, popliner_plan *plan) {
    pl_split split = {0};
    assert_true(pl_split_append(&split, 0));
    assert_true(pl_split_append(&split, 1));
    assert_true(pl_split_append(&split, 3));
    assert_int_equal(pl_plan_fill(problem, &split, false, plan, NULL), POPLINER_OK);
    pl_split_clear(&split);
    plan->values[plan->num_values++] =
        (popliner_plan_value){POPLINER_OBJECTIVE_MEMORY, 21, 21, POPLINER_PROOF_DYNAMIC_PROGRAM};
    plan->values[plan->num_values++] =
        (popliner_plan_value){POPLINER_OBJECTIVE_TRAFFIC, 400, 400, POPLINER_PROOF_DYNAMIC_PROGRAM};
}

static void fills_a_plan(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    popliner_plan plan = {0};
    popliner_solver_options options;
    pl_filter filter;
    pl_problem problem = example_problem(costs, &options, &filter);
    example_plan(&problem, &plan);
    assert_int_equal(plan.num_stages, 3);
    const popliner_plan_stage expected[] = {
        {0, 0, 0, 10, 0, 100, 0, 0}, {1, 2, 1, 21, 0, 300, 0, 0}, {3, 3, 2, 13, 0, 0, 0, 0}};
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(plan.stages[i].first_unit, expected[i].first_unit);
        assert_int_equal(plan.stages[i].last_unit, expected[i].last_unit);
        assert_int_equal(plan.stages[i].ipu, expected[i].ipu);
        assert_int_equal(plan.stages[i].peak_bytes, expected[i].peak_bytes);
        assert_int_equal(plan.stages[i].cycles, expected[i].cycles);
        assert_int_equal(plan.stages[i].cut_bytes, expected[i].cut_bytes);
    }
    assert_int_equal(plan.spread, 11);
    assert_int_equal(plan.num_ipus, 3);
    assert_int_equal(plan.peak_bytes, 21);
    assert_int_equal(plan.cut_bytes, 400);
    assert_int_equal(pl_plan_check(&problem, &filter, &plan, NULL), POPLINER_OK);
    pl_plan_clear(&plan);
    assert_null(plan.stages);
    assert_int_equal(plan.num_stages, 0);
    pl_plan_clear(&plan);
    pl_plan_clear(NULL);
    pl_problem_free(&problem);
    popliner_costs_free(costs);
}

/* What is not proven may have a smaller bound, and so may what was given away for the next. */
static void bounds_may_be_below_values(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    for (int round = 0; round < 2; ++round) {
        popliner_plan plan = {0};
        popliner_solver_options options;
        pl_filter filter;
        pl_problem problem = example_problem(costs, &options, &filter);
        example_plan(&problem, &plan);
        plan.values[0].bound = 20;
        if (round == 0)
            plan.values[0].proof = POPLINER_PROOF_NONE;
        else
            options.slack_percent = 10;
        assert_int_equal(pl_plan_check(&problem, &filter, &plan, NULL), POPLINER_OK);
        pl_plan_clear(&plan);
        pl_problem_free(&problem);
    }
    popliner_costs_free(costs);
}

/* Each of the mistakes alone makes the check fail. */
static void finds_every_mistake(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    static const popliner_cut_rule cuts[] = {POPLINER_CUT_FREE, POPLINER_CUT_FREE,
                                             POPLINER_CUT_REQUIRED, POPLINER_CUT_FREE};
    static const popliner_constraint pair = {.unit = 0, .second_unit = 1};
    static const popliner_constraint placement = {.unit = 1, .ipu = 0};
    for (int mistake = 0; mistake < 30; ++mistake) {
        popliner_plan plan = {0};
        popliner_error error = {0};
        popliner_solver_options options;
        pl_filter filter;
        pl_problem problem = example_problem(costs, &options, &filter);
        example_plan(&problem, &plan);
        switch (mistake) {
        case 0:
            problem.max_stages = 2;
            break;
        case 1: /* a gap */
            plan.stages[1].first_unit = 2;
            plan.stages[1].peak_bytes = 12;
            break;
        case 2: /* an overlap */
            plan.stages[1].first_unit = 0;
            plan.stages[1].peak_bytes = 30;
            break;
        case 3: /* the end is missing */
            plan.num_stages = 2;
            plan.cut_bytes = 100;
            break;
        case 4: /* beyond the chain */
            plan.stages[2].last_unit = 4;
            break;
        case 5: /* backwards */
            plan.stages[1].last_unit = 0;
            break;
        case 6:
            plan.stages[1].peak_bytes = 20;
            break;
        case 7:
            plan.peak_bytes = 22;
            break;
        case 8:
            filter.limits.max_cut_bytes = 399;
            break;
        case 9:
            plan.cut_bytes = 401;
            break;
        case 10: /* a stage that must not be */
            plan.num_stages = 1;
            plan.stages[0].last_unit = 3;
            plan.stages[0].peak_bytes = plan.peak_bytes = POPLINER_PEAK_FORBIDDEN;
            plan.cut_bytes = 0;
            break;
        case 11:
            plan.stages[1].ipu = 2;
            break;
        case 12:
            options.mem_per_tile = 20;
            break;
        case 13:
            filter.limits.max_peak_bytes = 20;
            break;
        case 14:
            filter.max_spread = 10;
            break;
        case 15:
            filter.limits.max_ipus = 2;
            break;
        case 16:
            plan.num_ipus = 2;
            break;
        case 17:
            options.cut_rules = cuts;
            break;
        case 18:
            options.min_units = 2;
            break;
        case 19:
            options.pairs = &pair;
            options.num_pairs = 1;
            break;
        case 20:
            options.placements = &placement;
            options.num_placements = 1;
            break;
        case 21:
            plan.spread = 10;
            break;
        case 22:
            plan.stages[1].cycles = 1;
            break;
        case 23: /* what is cut where is wrong, but not the sum */
            plan.stages[0].cut_bytes = 300;
            plan.stages[1].cut_bytes = 100;
            break;
        case 24: /* less than the stages need */
            plan.values[0].value = plan.values[0].bound = 20;
            break;
        case 25: /* fewer bytes than are cut */
            plan.values[1].value = plan.values[1].bound = 399;
            break;
        case 26: /* no split has so little, but this one has */
            plan.values[0].bound = 22;
            break;
        case 27: /* proven, though not the best */
            plan.values[0].bound = 20;
            break;
        case 28:
            plan.values[1].bound = 100;
            break;
        case 29: /* nothing is given away of the last one */
            options.slack_percent = 50;
            plan.values[1].bound = 300;
            break;
        }
        assert_int_equal(pl_plan_check(&problem, &filter, &plan, &error), POPLINER_ERROR_INTERNAL);
        assert_true(error.message[0] != '\0');
        pl_plan_clear(&plan);
        pl_problem_free(&problem);
    }
    popliner_costs_free(costs);
}

/* Limits and speeds of IPUs that no stage can be on make no place special. */
static void later_ipus_need_no_places(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    options.num_ipus = 3;
    options.num_ipu_limits = options.num_ipu_speeds = 1;
    for (size_t ipu = 0; ipu < 6; ++ipu) {
        pl_problem problem = {0};
        popliner_ipu_value limit = {ipu, 5};
        popliner_ipu_value speed = {ipu, POPLINER_SPEED_ONE / 2};
        options.ipu_limits = &limit;
        options.ipu_speeds = &speed;
        assert_int_equal(pl_problem_create(&problem, costs, &options, NULL), POPLINER_OK);
        pl_limits limits = pl_filter_of_limits().limits;
        assert_int_equal(pl_problem_num_special(&problem, &limits), ipu < 3 ? ipu + 1 : 0);
        limits.max_cycles = 9;
        assert_int_equal(pl_problem_num_special(&problem, &limits), ipu < 3 ? ipu + 1 : 0);
        pl_problem_free(&problem);
    }
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_ipus_need_no_places),
        cmocka_unit_test(fills_a_plan),
        cmocka_unit_test(bounds_may_be_below_values),
        cmocka_unit_test(finds_every_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
