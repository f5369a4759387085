/* Stages and replicas together, by hand. relations_test.py has random files, for every split with
 * every number of replicas, and several_options_test.py profiles, too.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/replicas.h"
#include "test_data.h"

static popliner_costs *equal_units(size_t num_units, uint64_t cycles) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(num_units, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++)
            assert_int_equal(
                popliner_costs_set_cycles(costs, first, last, cycles * (last - first + 1), NULL),
                POPLINER_OK);
    return costs;
}

/* Four units of 100 cycles on four IPUs, eight micro-batches: replicas of one stage need 400 * 2 a
 * step each without a bubble, two of two stages (4 + 1) * 200, one of four (8 + 3) * 100. */
static void a_bubble_costs_more_than_an_all_reduce(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(4, 100);
    const uint64_t parameters[] = {60, 60, 60, 60};
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.total_ipus = 4;
    o.micro_batches = 0;
    o.batch = 8;
    o.parameter_bytes = parameters;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(answer->best, 0);
    const popliner_replicas_candidate *c = &answer->candidates[0];
    assert_int_equal(c->num_replicas, 4);
    assert_int_equal(c->micro_batches, 2);
    assert_int_equal(c->step_cycles, 800);
    popliner_replicas_free(answer);
    /* 2 * 3 / 4 of 240 bytes, each in a cycle and a quarter: 450; 2 * 1 / 2 of 120: 150 */
    o.bandwidth_bytes = 4;
    o.bandwidth_cycles = 5;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    c = &answer->candidates[0];
    assert_int_equal(c->reduce_cycles, 450);
    c = &answer->candidates[1];
    assert_int_equal(c->num_replicas, 2);
    assert_int_equal(c->pipeline_cycles, 1000);
    assert_int_equal(c->reduce_cycles, 150);
    assert_int_equal(answer->candidates[2].num_replicas, 1);
    assert_int_equal(answer->candidates[3].step_cycles, 1100);
    assert_int_equal(answer->best, 3);
    popliner_replicas_free(answer);
    /* two chunks on each of two IPUs: (4 + 1 / 2) * 200 */
    o.chunks = 2;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(answer->num_candidates, 2);
    c = &answer->candidates[1];
    assert_int_equal(c->pipeline_cycles, 900);
    assert_int_equal(c->parameter_bytes, 120);
    assert_int_equal(c->plan->num_stages, 4);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

/* Units of 100 cycles each, but of 50 in pipelines of fewer than eight micro-batches. */
static popliner_status costs_of_eight(void *user, size_t num_stages, size_t num_replicas,
                                      uint64_t num_micro_batches, const popliner_costs **costs,
                                      popliner_error *error) {
    popliner_costs *const *own = user;
    (void)error;
    assert_in_range(num_stages, 1, 2);
    assert_int_equal(num_replicas * num_micro_batches, 8);
    *costs = own[num_micro_batches < 8];
    return POPLINER_OK;
}

/* All units use the same 7 bytes. */
static uint64_t share_seven(void *user, const popliner_interval *stages, size_t num_stages) {
    (void)user;
    assert_true(num_stages == 1 && stages[0].first_unit <= stages[0].last_unit);
    return 7;
}

/* Two replicas of one stage: four micro-batches of 2 * 50 cycles; two stages: nine times 100. */
static void costs_may_depend_on_micro_batches(void **state) {
    (void)state;
    popliner_costs *costs[] = {equal_units(2, 100), equal_units(2, 50)};
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.total_ipus = 2;
    o.micro_batches = 0;
    o.batch = 8;
    o.costs = costs_of_eight;
    o.costs_user = costs;
    o.parameters = share_seven;
    assert_int_equal(popliner_replicas_solve(costs[0], &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(answer->best, 0);
    for (size_t i = 0; i < 2; i++) {
        const popliner_replicas_candidate *c = &answer->candidates[i];
        assert_int_equal(c->num_replicas, 2 - i);
        assert_int_equal(c->step_cycles, i == 0 ? 400 : 900);
        assert_int_equal(c->parameter_bytes, 7);
        assert_int_equal(c->stage_parameter_bytes[i], 7);
    }
    popliner_replicas_free(answer);
    popliner_costs_free(costs[0]);
    popliner_costs_free(costs[1]);
}

/* A popliner_weight_function: a list of weights adds up. */
static uint64_t add_weights(void *user, const popliner_interval *stages, size_t num_stages) {
    const uint64_t *own = user;
    uint64_t sum = 0;
    for (size_t i = 0; i < num_stages; i++)
        for (size_t u = stages[i].first_unit; u <= stages[i].last_unit; u++)
            sum = own[u] > UINT64_MAX - sum ? UINT64_MAX : sum + own[u];
    return sum;
}

/* What the search is made of: no IPU has more than so much of something. */
static void weights_limit_an_ipu(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(4, 10);
    uint64_t heavy[] = {1, 5, 1, UINT64_MAX - 3};
    static const struct {
        uint64_t most;
        size_t num_stages; /* 0: there is no split */
    } cases[] = {{4, 0}, {UINT64_MAX - 4, 0}, {UINT64_MAX - 3, 2}, {UINT64_MAX, 1}, {0, 0}, {5, 0}};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_IPUS};
    o.objectives = objectives;
    o.num_objectives = 1;
    o.without_reasons = true;
    o.ipu_weight = add_weights;
    o.ipu_weight_user = heavy;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        popliner_plan *plan;
        o.max_ipu_weight = cases[i].most;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->num_stages, cases[i].num_stages);
        popliner_plan_free(plan);
    }
    uint64_t light[] = {1, 5, 1, 2};
    o.ipu_weight_user = light;
    for (uint64_t most = 0; most < 11; most++) {
        static const size_t num_stages[] = {0, 0, 0, 0, 0, 3, 2, 2, 2, 1, 1};
        popliner_plan *plan;
        o.max_ipu_weight = most;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->num_stages, num_stages[most]);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

/* On the IPUs 0,1,0 units of 1, 5, 1 and 2 are 4 and 5, or 3 and 6, or 8 and 1, ever cheaper. */
static void weights_of_an_ipu_add_up(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 0};
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_TRAFFIC};
    static const uint64_t cheapest[] = {0, 0, 0, 0, 0, 8, 6, 6, 4, 4};
    popliner_costs *costs = equal_units(4, 10);
    uint64_t own[] = {1, 5, 1, 2};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    for (size_t unit = 1; unit < 4; unit++)
        assert_int_equal(popliner_costs_set_cut(costs, unit, 7 - 2 * unit, NULL), POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.without_reasons = true;
    o.ipu_weight = add_weights;
    o.ipu_weight_user = own;
    o.device_map = map;
    o.num_mapped_stages = 3;
    for (size_t i = 0; i < 10; i++) {
        popliner_plan *plan;
        o.max_ipu_weight = i;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->status,
                         cheapest[i] == 0 ? POPLINER_PLAN_INFEASIBLE : POPLINER_PLAN_OPTIMAL);
        assert_int_equal(plan->cut_bytes, cheapest[i]);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

enum { LONG_UNITS = 24, LONG_IPUS = 4, LONG_STAGES = 12 };

/* A chain on LONG_IPUS IPUs in turn, and the search of the fewest cycles by every split. */
typedef struct long_chain {
    uint64_t cycles[LONG_UNITS];
    uint64_t weights[LONG_UNITS];
    uint64_t max_weight;
    uint64_t own_cycles[LONG_IPUS];
    uint64_t own_weight[LONG_IPUS];
    uint64_t fewest;
} long_chain;

static void try_stages(long_chain *c, size_t stage, size_t first) {
    uint64_t *cycles = &c->own_cycles[stage % LONG_IPUS];
    uint64_t *weight = &c->own_weight[stage % LONG_IPUS];
    const uint64_t before[] = {*cycles, *weight};
    if (stage == LONG_STAGES && first == LONG_UNITS) {
        c->fewest = 0;
        for (size_t i = 0; i < LONG_IPUS; i++)
            c->fewest = c->own_cycles[i] > c->fewest ? c->own_cycles[i] : c->fewest;
    }
    for (size_t last = first; stage < LONG_STAGES && last < LONG_UNITS; last++) {
        *cycles += c->cycles[last];
        *weight += c->weights[last];
        if (*cycles >= c->fewest || *weight > c->max_weight)
            break;
        try_stages(c, stage + 1, last + 1);
    }
    *cycles = before[0];
    *weight = before[1];
}

/* There are more splits than the solver looks at one by one. */
static void weights_hold_where_splits_are_many(void **state) {
    (void)state;
    size_t map[LONG_STAGES];
    size_t num_limited = 0;
    for (size_t i = 0; i < LONG_STAGES; i++)
        map[i] = i % LONG_IPUS;
    for (uint64_t seed = 1; seed <= test_chosen(4, 13, 40); seed++) {
        static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES};
        long_chain c = {.max_weight = UINT64_MAX, .fewest = UINT64_MAX};
        uint64_t random = 31 * seed;
        uint64_t sum = 0;
        popliner_costs *costs;
        popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
        assert_int_equal(popliner_costs_create(LONG_UNITS, 1, &costs, NULL), POPLINER_OK);
        for (size_t u = 0; u < LONG_UNITS; u++) {
            c.cycles[u] = 1 + test_below(&random, 9);
            c.weights[u] = 1 + test_below(&random, 9);
            sum += c.weights[u];
        }
        for (size_t first = 0; first < LONG_UNITS; first++)
            for (size_t last = first; last < LONG_UNITS; last++) {
                uint64_t cycles = 0;
                for (size_t u = first; u <= last; u++)
                    cycles += c.cycles[u];
                popliner_costs_set_cycles(costs, first, last, cycles, NULL);
            }
        try_stages(&c, 0, 0);
        uint64_t fewest_of_any = c.fewest;
        c.fewest = UINT64_MAX;
        c.max_weight = sum / LONG_IPUS + 1 + test_below(&random, 3);
        try_stages(&c, 0, 0);
        num_limited += c.fewest > fewest_of_any;
        o.objectives = objectives;
        o.num_objectives = 1;
        o.without_reasons = true;
        o.device_map = map;
        o.num_mapped_stages = LONG_STAGES;
        o.ipu_weight = add_weights;
        o.ipu_weight_user = c.weights;
        o.max_ipu_weight = c.max_weight;
        popliner_plan *plan;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->status,
                         c.fewest == UINT64_MAX ? POPLINER_PLAN_INFEASIBLE : POPLINER_PLAN_OPTIMAL);
        if (c.fewest < UINT64_MAX)
            assert_int_equal(plan->cycles, c.fewest);
        popliner_plan_free(plan);
        popliner_costs_free(costs);
    }
    assert_true(num_limited > 0);
}

/* Numbers near their ends do not wrap round. */
static void large_numbers_stay_in_order(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(2, POPLINER_MAX_CYCLES / 2);
    uint64_t parameters[] = {UINT64_MAX / 2, UINT64_MAX / 2};
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.total_ipus = 8;
    o.micro_batches = UINT64_C(1) << 31;
    o.parameter_bytes = parameters;
    o.bandwidth_bytes = 1;
    o.bandwidth_cycles = UINT64_MAX;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(answer->candidates[0].step_cycles, UINT64_MAX);
    popliner_replicas_free(answer);
    o.micro_batches = (UINT64_C(1) << 31) + 1;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_ERROR_USAGE);
    assert_null(answer);
    o.micro_batches = 1;
    parameters[0] += 2;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_ERROR_USAGE);
    popliner_costs_free(costs);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(3, 5);
    popliner_costs *timeless;
    popliner_solver_options solver = PLAIN_SOLVER_OPTIONS;
    const size_t map[] = {0, 1};
    popliner_replicas *answer = NULL;
    assert_int_equal(popliner_costs_create(3, 1, &timeless, NULL), POPLINER_OK);
    for (size_t i = 0; i < 9; i++) {
        popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
        o.solver = &solver;
        o.struct_size = i == 0 ? 0 : sizeof o;
        o.total_ipus = i == 1 ? 0 : i == 8 ? POPLINER_MAX_IPU + 2 : 4;
        o.chunks = i == 2 ? 0 : 1;
        o.batch = i == 3 ? 4 : 0;
        o.micro_batches = i == 4 ? 0 : 1;
        o.bandwidth_bytes = i == 5;
        o.bandwidth_cycles = i == 5 ? 0 : 1;
        solver.device_map = i == 6 ? map : NULL;
        solver.num_mapped_stages = i == 6 ? 2 : 0;
        assert_int_equal(popliner_replicas_solve(i == 7 ? timeless : costs, &o, &answer, NULL),
                         POPLINER_ERROR_USAGE);
        assert_null(answer);
    }
    popliner_costs_free(timeless);
    popliner_costs_free(costs);
}

static bool stop_at_once(void *user) {
    size_t *calls = user;
    return ++*calls > 3;
}

static void the_search_can_be_stopped(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(12, 5);
    popliner_solver_options solver = PLAIN_SOLVER_OPTIONS;
    size_t calls = 0;
    solver.should_stop = stop_at_once;
    solver.should_stop_user = &calls;
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.solver = &solver;
    o.total_ipus = 12;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_true(answer->is_stopped);
    assert_false(answer->is_proven);
    assert_int_equal(answer->num_candidates, 12);
    assert_null(answer->candidates[11].plan);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bubble_costs_more_than_an_all_reduce),
        cmocka_unit_test(costs_may_depend_on_micro_batches),
        cmocka_unit_test(weights_limit_an_ipu),
        cmocka_unit_test(weights_of_an_ipu_add_up),
        cmocka_unit_test(weights_hold_where_splits_are_many),
        cmocka_unit_test(large_numbers_stay_in_order),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(the_search_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
