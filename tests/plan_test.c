/* Plans: what a split becomes, and that a wrong plan is found out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "solve/plan.h"

/* Four units; the peak of i ... j is 10 * (j - i + 1) + i, and 0 ... 3 must not be a stage; cutting
 * before unit u carries 100 * u bytes. */
static popliner_costs *example_costs(void) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(4, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = i; j < 4; ++j)
            popliner_costs_set_peak(costs, i, j, 10 * (j - i + 1) + i);
    popliner_costs_set_peak(costs, 0, 3, POPLINER_PEAK_FORBIDDEN);
    for (size_t unit = 1; unit < 4; ++unit)
        popliner_costs_set_cut(costs, unit, 100 * unit);
    return costs;
}

/* The plan 0 | 1 2 | 3: peaks 10, 21, 13; cuts 100 and 300. */
static void example_plan(const popliner_costs *costs, popliner_plan *plan) {
    pl_split split = {0};
    assert_true(pl_split_append(&split, 0));
    assert_true(pl_split_append(&split, 1));
    assert_true(pl_split_append(&split, 3));
    assert_int_equal(pl_plan_fill(costs, &split, plan, NULL), POPLINER_OK);
    pl_split_clear(&split);
}

static void fills_a_plan(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    popliner_plan plan = {0};
    example_plan(costs, &plan);
    assert_int_equal(plan.num_stages, 3);
    const popliner_plan_stage expected[] = {{0, 0, 10}, {1, 2, 21}, {3, 3, 13}};
    for (size_t i = 0; i < 3; ++i) {
        assert_int_equal(plan.stages[i].first_unit, expected[i].first_unit);
        assert_int_equal(plan.stages[i].last_unit, expected[i].last_unit);
        assert_int_equal(plan.stages[i].peak_bytes, expected[i].peak_bytes);
    }
    assert_int_equal(plan.peak_bytes, 21);
    assert_int_equal(plan.cut_bytes, 400);
    assert_int_equal(pl_plan_check(costs, &plan, 3, 21, 400, NULL), POPLINER_OK);
    popliner_plan_clear(&plan);
    assert_null(plan.stages);
    assert_int_equal(plan.num_stages, 0);
    popliner_plan_clear(&plan);
    popliner_plan_clear(NULL);
    popliner_costs_free(costs);
}

/* Each of the mistakes alone makes the check fail. */
static void finds_every_mistake(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    for (int mistake = 0; mistake < 11; ++mistake) {
        popliner_plan plan = {0};
        popliner_error error = {0};
        size_t max_stages = 3;
        uint64_t peak_bytes = 21;
        uint64_t cut_bytes = 400;
        example_plan(costs, &plan);
        switch (mistake) {
        case 0:
            max_stages = 2;
            break;
        case 1: /* a gap */
            plan.stages[1] = (popliner_plan_stage){2, 2, 12};
            break;
        case 2: /* an overlap */
            plan.stages[1] = (popliner_plan_stage){0, 2, 30};
            break;
        case 3: /* the end is missing */
            plan.num_stages = 2;
            plan.cut_bytes = cut_bytes = 100;
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
            plan.peak_bytes = peak_bytes = 22;
            break;
        case 8:
            cut_bytes = 399;
            break;
        case 9:
            plan.cut_bytes = 401;
            break;
        case 10: /* a stage that must not be */
            plan.num_stages = 1;
            plan.stages[0] = (popliner_plan_stage){0, 3, POPLINER_PEAK_FORBIDDEN};
            plan.peak_bytes = peak_bytes = POPLINER_PEAK_FORBIDDEN;
            plan.cut_bytes = cut_bytes = 0;
            break;
        }
        assert_int_equal(pl_plan_check(costs, &plan, max_stages, peak_bytes, cut_bytes, &error),
                         POPLINER_ERROR_INTERNAL);
        assert_true(error.message[0] != '\0');
        popliner_plan_clear(&plan);
    }
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_a_plan),
        cmocka_unit_test(finds_every_mistake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
