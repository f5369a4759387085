/* The greedy solver: stages, attempts, messages and questions worked out by hand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "popliner/solver.h"
#include "solve/plan.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CALLS = 400, MOST_MESSAGES = 30 };

/* A chain whose peaks are sums of unit sizes, and a record of what was asked and told. */
typedef struct chain {
    const uint64_t *unit_bytes;
    size_t fail_at_call; /* 0: never */
    size_t num_calls;
    size_t calls[MOST_CALLS][2];
    size_t num_messages;
    char messages[MOST_MESSAGES][100];
} chain;

static popliner_status sum_peak(void *user, size_t first_unit, size_t last_unit,
                                uint64_t *peak_bytes, popliner_error *error) {
    chain *asked = user;
    assert_true(asked->num_calls < MOST_CALLS);
    asked->calls[asked->num_calls][0] = first_unit;
    asked->calls[asked->num_calls][1] = last_unit;
    if (++asked->num_calls == asked->fail_at_call) {
        error->status = POPLINER_ERROR_INPUT;
        strcpy(error->message, "no such unit");
        return POPLINER_ERROR_INPUT;
    }
    *peak_bytes = 0;
    for (size_t i = first_unit; i <= last_unit; ++i) {
        if (asked->unit_bytes[i] == POPLINER_PEAK_FORBIDDEN) {
            *peak_bytes = POPLINER_PEAK_FORBIDDEN;
            break;
        }
        *peak_bytes += asked->unit_bytes[i];
    }
    return POPLINER_OK;
}

static void record(void *user, popliner_level level, const char *text) {
    chain *told = user;
    assert_int_equal(level, POPLINER_LEVEL_INFO);
    assert_true(told->num_messages < MOST_MESSAGES);
    snprintf(told->messages[told->num_messages++], sizeof told->messages[0], "%s", text);
}

static void solve(chain *asked, size_t num_units, size_t max_stages, uint64_t max_stage_bytes,
                  popliner_plan *plan) {
    const popliner_listener listener = {.user = asked, .message = record};
    const popliner_solver_options options = {
        .num_ipus = max_stages, .mem_per_tile = max_stage_bytes, .listener = &listener};
    popliner_error error;
    assert_int_equal(pl_solve_greedily(num_units, sum_peak, asked, &options, plan, &error),
                     POPLINER_OK);
    assert_int_equal(plan->num_values, 0); /* no bounds are known */
    assert_int_equal(plan->cut_bytes, 0);
}

static void assert_stages(const popliner_plan *plan, size_t num_stages,
                          const popliner_plan_stage *expected) {
    assert_int_equal(plan->num_stages, num_stages);
    uint64_t peak_bytes = 0;
    for (size_t i = 0; i < num_stages; ++i) {
        assert_int_equal(plan->stages[i].first_unit, expected[i].first_unit);
        assert_int_equal(plan->stages[i].last_unit, expected[i].last_unit);
        assert_int_equal(plan->stages[i].peak_bytes, expected[i].peak_bytes);
        if (expected[i].peak_bytes > peak_bytes)
            peak_bytes = expected[i].peak_bytes;
    }
    assert_int_equal(plan->peak_bytes, peak_bytes);
}

static void assert_calls(const chain *asked, size_t num_calls, const size_t expected[][2]) {
    assert_int_equal(asked->num_calls, num_calls);
    assert_memory_equal(asked->calls, expected, num_calls * sizeof expected[0]);
}

static void fills_stages_in_order(void **state) {
    (void)state;
    const uint64_t bytes[] = {10240, 10240, 10240, 10240, 10240};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 5, 4, 61440, &plan);
    assert_int_equal(plan.status, POPLINER_PLAN_FEASIBLE);
    /* three units just fit; the last two are fewer than three and so begin with one */
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 2, .ipu = 0, .peak_bytes = 30720},
        {.first_unit = 3, .last_unit = 4, .ipu = 1, .peak_bytes = 20480}};
    assert_stages(&plan, 2, stages);
    const size_t calls[][2] = {{0, 2}, {0, 3}, {3, 3}, {3, 4}};
    assert_calls(&asked, 4, calls);
    assert_int_equal(asked.num_messages, 1);
    assert_string_equal(asked.messages[0],
                        "Targeting tile capacity: 30 KB (50%) - minimum layers: 3...");
    pl_plan_clear(&plan);
}

/* As many units left as the minimum says: they are taken at once. */
static void takes_the_minimum_at_once(void **state) {
    (void)state;
    const uint64_t bytes[] = {5, 5, 5, 5, 5, 5};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 6, 2, 30, &plan);
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 2, .ipu = 0, .peak_bytes = 15},
        {.first_unit = 3, .last_unit = 5, .ipu = 1, .peak_bytes = 15}};
    assert_stages(&plan, 2, stages);
    const size_t calls[][2] = {{0, 2}, {0, 3}, {3, 5}};
    assert_calls(&asked, 3, calls);
    pl_plan_clear(&plan);
}

/* A success at 100 % with three units at least is preferred to one at 50 % with one. */
static void prefers_more_units_to_a_smaller_target(void **state) {
    (void)state;
    const uint64_t bytes[] = {10, 10, 10};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 3, 3, 31, &plan);
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 2, .ipu = 0, .peak_bytes = 30}};
    assert_stages(&plan, 1, stages);
    assert_int_equal(asked.num_messages, 6);
    assert_string_equal(asked.messages[5],
                        "Targeting tile capacity: 0 KB (100%) - minimum layers: 3...");
    pl_plan_clear(&plan);
}

static void tells_every_attempt(void **state) {
    (void)state;
    /* PopLiner's own words for these 175,769 bytes, up to 70 % */
    const char *expected[] = {"Targeting tile capacity: 85 KB (50%) - minimum layers: 3...",
                              "Targeting tile capacity: 102 KB (60%) - minimum layers: 3...",
                              "Targeting tile capacity: 120 KB (70%) - minimum layers: 3..."};
    const uint64_t bytes[] = {6448, 60000, 54890, 58800, 78082};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 5, 3, 175769, &plan);
    assert_int_equal(asked.num_messages, 3);
    for (size_t i = 0; i < 3; ++i)
        assert_string_equal(asked.messages[i], expected[i]);
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 2, .ipu = 0, .peak_bytes = 121338},
        {.first_unit = 3, .last_unit = 3, .ipu = 1, .peak_bytes = 58800},
        {.first_unit = 4, .last_unit = 4, .ipu = 2, .peak_bytes = 78082}};
    assert_stages(&plan, 3, stages);
    /* at 50 % and 60 % nothing fits at once; then stage after stage until one overflows */
    const size_t calls[][2] = {{0, 2}, {0, 2}, {0, 2}, {0, 3}, {3, 3}, {3, 4}, {4, 4}};
    assert_calls(&asked, 7, calls);
    pl_plan_clear(&plan);
}

/* 90 * 0.7 is a little less than 63 in binary: PopLiner refuses these 63 bytes at 70 %. */
static void rounds_targets_as_popliner_does(void **state) {
    (void)state;
    const uint64_t bytes[] = {63};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 1, 1, 90, &plan);
    assert_int_equal(plan.status, POPLINER_PLAN_FEASIBLE);
    assert_int_equal(asked.num_messages, 4);
    pl_plan_clear(&plan);
}

static void leaves_the_last_attempt_after_a_failure(void **state) {
    (void)state;
    const uint64_t bytes[] = {10240, 10240, 51200, 10240};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 4, 4, 40960, &plan);
    assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 1, .ipu = 0, .peak_bytes = 20480}};
    assert_stages(&plan, 1, stages);
    assert_int_equal(asked.num_messages, 18);
    const char *kilobytes[] = {"20 KB (50%)", "24 KB (60%)", "28 KB (70%)",
                               "32 KB (80%)", "36 KB (90%)", "40 KB (100%)"};
    for (size_t i = 0; i < 18; ++i) {
        char expected[100];
        snprintf(expected, sizeof expected, "Targeting tile capacity: %s - minimum layers: %d...",
                 kilobytes[i % 6], 3 - (int)(i / 6));
        assert_string_equal(asked.messages[i], expected);
    }
    pl_plan_clear(&plan);
}

static void makes_no_more_stages_than_allowed(void **state) {
    (void)state;
    const uint64_t bytes[] = {10, 10, 10, 10, 10};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 5, 2, 20, &plan);
    assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 1, .ipu = 0, .peak_bytes = 20},
        {.first_unit = 2, .last_unit = 3, .ipu = 1, .peak_bytes = 20}};
    assert_stages(&plan, 2, stages);
    pl_plan_clear(&plan);
}

static void leaves_no_stage_if_nothing_fits(void **state) {
    (void)state;
    const uint64_t bytes[] = {30, 1};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 2, 2, 20, &plan);
    assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
    assert_stages(&plan, 0, NULL);
    pl_plan_clear(&plan);
}

static void never_uses_what_is_forbidden(void **state) {
    (void)state;
    const uint64_t bytes[] = {1, POPLINER_PEAK_FORBIDDEN};
    chain asked = {.unit_bytes = bytes};
    popliner_plan plan = {0};
    solve(&asked, 2, 2, UINT64_MAX, &plan);
    assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
    const popliner_plan_stage stages[] = {
        {.first_unit = 0, .last_unit = 0, .ipu = 0, .peak_bytes = 1}};
    assert_stages(&plan, 1, stages);
    pl_plan_clear(&plan);
}

static void hands_errors_on(void **state) {
    (void)state;
    const uint64_t bytes[] = {10, 10, 10, 10, 10};
    const popliner_solver_options options = {.num_ipus = 2, .mem_per_tile = 60};
    popliner_plan plan = {0};
    popliner_error error;
    chain asked = {.unit_bytes = bytes, .fail_at_call = 3};
    assert_int_equal(pl_solve_greedily(5, sum_peak, &asked, &options, &plan, &error),
                     POPLINER_ERROR_INPUT);
    assert_string_equal(error.message, "no such unit");
    assert_int_equal(asked.num_calls, 3);
    assert_null(plan.stages);
    assert_int_equal(plan.num_stages, 0);

    assert_int_equal(pl_solve_greedily(0, sum_peak, &asked, &options, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(asked.num_calls, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_stages_in_order),
        cmocka_unit_test(takes_the_minimum_at_once),
        cmocka_unit_test(prefers_more_units_to_a_smaller_target),
        cmocka_unit_test(tells_every_attempt),
        cmocka_unit_test(rounds_targets_as_popliner_does),
        cmocka_unit_test(leaves_the_last_attempt_after_a_failure),
        cmocka_unit_test(makes_no_more_stages_than_allowed),
        cmocka_unit_test(leaves_no_stage_if_nothing_fits),
        cmocka_unit_test(never_uses_what_is_forbidden),
        cmocka_unit_test(hands_errors_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
