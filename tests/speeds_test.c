/* Speeds of IPUs: cycles and limits of cycles, exact to the last one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test_data.h"

#include "popliner/costs.h"
#include "popliner/solver.h"
#include "solve/ipus.h"
#include "three_units.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void rounds_cycles_up(void **state) {
    (void)state;
    assert_int_equal(pl_speed_cycles(POPLINER_SPEED_ONE, 17), 17);
    assert_int_equal(pl_speed_cycles(2000000, 17), 9);
    assert_int_equal(pl_speed_cycles(2000000, 18), 9);
    assert_int_equal(pl_speed_cycles(500000, 17), 34);
    assert_int_equal(pl_speed_cycles(300000, 1), 4); /* 3.33 */
    assert_int_equal(pl_speed_cycles(300000, 3), 10);
    assert_int_equal(pl_speed_cycles(POPLINER_MOST_SPEED, 1), 1);
    assert_int_equal(pl_speed_cycles(POPLINER_MOST_SPEED, 0), 0);
    assert_int_equal(pl_speed_cycles(POPLINER_LEAST_SPEED, POPLINER_MAX_CYCLES),
                     POPLINER_MAX_CYCLES * 1000);
    assert_int_equal(pl_speed_cycles(POPLINER_MOST_SPEED, POPLINER_MAX_CYCLES),
                     POPLINER_MAX_CYCLES / 1000 + 1);
    /* a third more than there are digits for */
    assert_int_equal(pl_speed_cycles(750000, POPLINER_MAX_CYCLES), POPLINER_MAX_CYCLES / 3 * 4);
}

/* A limit holds of the cycles exactly if what is made of it holds of the costs' cycles. */
static void turns_limits_exactly(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t i = 0; i < 100000; ++i) {
        random = test_random(random);
        uint64_t speed = POPLINER_LEAST_SPEED + random % (i % 2 == 0 ? 3000000 : 999999001);
        random = test_random(random);
        uint64_t cycles = (random % POPLINER_MAX_CYCLES) >> (random >> 58) % 52;
        uint64_t taken = pl_speed_cycles(speed, cycles);
        uint64_t more = pl_speed_cycles(speed, cycles + 1);
        /* what is allowed within a limit, and what reaches it, next to where that changes */
        for (uint64_t limit = taken > 1 ? taken - 2 : 0; limit <= taken + 2; ++limit) {
            assert_true((cycles <= pl_speed_most(speed, limit)) == (taken <= limit));
            assert_true((cycles >= pl_speed_fewest(speed, limit)) == (taken >= limit));
            assert_true((cycles + 1 <= pl_speed_most(speed, limit)) == (more <= limit));
        }
    }
    static const uint64_t speeds[] = {POPLINER_LEAST_SPEED, 999999, POPLINER_SPEED_ONE, 1000001,
                                      POPLINER_MOST_SPEED};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; ++i) {
        assert_int_equal(pl_speed_most(speeds[i], UINT64_MAX), UINT64_MAX);
        assert_int_equal(pl_speed_most(speeds[i], 0), 0);
        assert_int_equal(pl_speed_fewest(speeds[i], 0), 0);
        assert_int_equal(pl_speed_fewest(speeds[i], 1), 1);
        assert_true(pl_speed_fewest(speeds[i], UINT64_MAX) > POPLINER_MAX_CYCLES);
        assert_true(pl_speed_most(speeds[i], UINT64_MAX - 1) > POPLINER_MAX_CYCLES);
    }
}

static void refuses_what_makes_no_sense(void **state) {
    (void)state;
    popliner_ipu_value speeds[] = {{0, 2000000}, {1, 500000}};
    popliner_costs *costs = three_units(false);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.ipu_speeds = speeds;
    options.num_ipu_speeds = 2;
    assert_refuses(costs, &options, "ipu_speeds: the costs have no cycles; leave it out");
    popliner_costs_free(costs);
    costs = three_units(true);
    speeds[1].ipu = 0;
    assert_refuses(costs, &options, "ipu_speeds: IPU 0 appears twice");
    speeds[1] = (popliner_ipu_value){1, 0};
    assert_refuses(costs, &options, "ipu_speeds: IPU 1: 0 millionths; expected 1000 to 1000000000");
    speeds[1].value = (uint64_t)POPLINER_MOST_SPEED + 1;
    assert_refuses(costs, &options,
                   "ipu_speeds: IPU 1: 1000000001 millionths; expected 1000 to 1000000000");
    speeds[1].value = 500000;
    popliner_costs_free(costs);
}

/* By hand: of 3 | 4 | 5 cycles, with speeds 1 and 2, 3 + 4 | 5 takes 7 and 3, 3 | 4 + 5 takes 3 and
 * 5; on IPUs of speeds 2 and 1 it is 4 and 5, or 2 and 9. */
static void fills_the_faster_ipu(void **state) {
    (void)state;
    static const popliner_objective cycles = POPLINER_OBJECTIVE_CYCLES;
    static const popliner_method methods[] = {
        POPLINER_METHOD_AUTO, POPLINER_METHOD_DYNAMIC_PROGRAMMING, POPLINER_METHOD_ILP};
    popliner_costs *costs = three_units(true);
    popliner_ipu_value speed = {1, 2000000};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.objectives = &cycles;
    options.num_objectives = 1;
    options.num_ipus = 2;
    options.ipu_speeds = &speed;
    options.num_ipu_speeds = 1;
    for (size_t i = 0; i < (test_has_glpk() ? 6 : 4); ++i) {
        popliner_plan *plan = NULL;
        options.method = methods[i / 2];
        speed.ipu = i % 2;
        assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
        assert_int_equal(plan->num_stages, 2);
        assert_int_equal(plan->cycles, 5);
        assert_int_equal(plan->stages[0].last_unit, speed.ipu == 1 ? 0 : 1);
        assert_int_equal(plan->stages[0].cycles, speed.ipu == 1 ? 3 : 4);
        assert_int_equal(plan->stages[1].cycles, 5);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

/* By hand: 3 | 4 | 5 cycles on the IPUs 0,1,0 of speeds 2 and 1: 3 / 2 and 5 / 2 are 2 and 3, each
 * rounded up, together 5. */
static void shared_ipus_have_speeds(void **state) {
    (void)state;
    static const popliner_objective cycles = POPLINER_OBJECTIVE_CYCLES;
    static const size_t shared[] = {0, 1, 0};
    const popliner_ipu_value speed = {0, 2000000};
    popliner_costs *costs = three_units(true);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.objectives = &cycles;
    options.num_objectives = 1;
    options.device_map = shared;
    options.num_mapped_stages = 3;
    options.ipu_speeds = &speed;
    options.num_ipu_speeds = 1;
    popliner_plan *plan = NULL;
    assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan->cycles, 5);
    assert_int_equal(plan->stages[0].cycles, 2);
    assert_int_equal(plan->stages[2].cycles, 3);
    popliner_plan_free(plan);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_cycles_up),
        cmocka_unit_test(turns_limits_exactly),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(fills_the_faster_ipu),
        cmocka_unit_test(shared_ipus_have_speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
