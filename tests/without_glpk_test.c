/* The solver as it is built with POPLINER_GLPK=OFF, whose glpk_absent.c is linked into this test:
 * what still gets its proof, against every split, and what says that GLPK is missing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "random_instance.h"
#include "shared_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/glpk_session.h"
#include "solve/plan.h"

#include <stdlib.h>
#include <string.h>

static void glpk_is_not_there(void **state) {
    (void)state;
    assert_false(pl_glpk_exists());
    assert_false(popliner_solver_has_glpk());
}

/* All kinds of requests, with and without shared IPUs. */
static void random_instances_are_proven(void **state) {
    (void)state;
    static const instance_wish wishes[] = {
        {0, MEMORY_LIMIT | DEVICE_MAP | CONSTRAINTS | IPU_LIMITS | SLACK | PIPELINE, 0, 5},
        {SHARED_IPUS, MEMORY_LIMIT | IPU_LIMITS | CONSTRAINTS | SLACK, 0, 5},
    };
    for (size_t w = 0; w < sizeof wishes / sizeof *wishes; ++w)
        for (uint64_t seed = 0; seed < 400; ++seed) {
            instance in;
            popliner_plan plan = {0};
            if (!test_takes_case(seed, 7))
                continue;
            draw_instance(&wishes[w], seed, &in);
            brute_answer expected = brute_force(in.costs, &in.options);
            in.options.method = POPLINER_METHOD_AUTO;
            assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
            assert_plan_is(&plan, &expected);
            assert_int_not_equal(plan.proof, POPLINER_PROOF_NONE);
            assert_int_not_equal(plan.proof, POPLINER_PROOF_INTEGER_PROGRAM);
            pl_plan_clear(&plan);
            free_instance(&in);
        }
}

/* A chain on a map with one shared IPU, whose stages need more kinds of loads than are listed. */
static void draw_chain(shared_instance *in, uint64_t seed) {
    static const size_t map[] = {0, 1, 0, 0};
    enum { NUM_STAGES = sizeof map / sizeof *map };
    draw_shared_instance(in, seed);
    discard_shared_instance(in);
    draw_long_shared_chain(in, 34);
    memcpy(in->device_map, map, sizeof map);
    in->options.num_mapped_stages = NUM_STAGES;
    assert_int_equal(pl_problem_create(&in->problem, in->costs, &in->options, NULL), POPLINER_OK);
    in->filter = pl_filter_of_limits();
}

/* What GLPK would be asked with it. */
static void chains_with_one_shared_ipu_are_proven(void **state) {
    (void)state;
    static const popliner_objective lists[][2] = {
        {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC},
        {POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_MEMORY},
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC},
        {POPLINER_OBJECTIVE_BALANCE, POPLINER_OBJECTIVE_TRAFFIC},
    };
    static shared_instance in;
    for (size_t round = 0; round < sizeof lists / sizeof *lists; ++round) {
        draw_chain(&in, round);
        every_split e = try_every_split(&in, in.options.mem_per_tile);
        assert_int_equal(e.num_splits, 33 * 32 * 31 / 6);
        const uint64_t best[] = {
            [POPLINER_OBJECTIVE_MEMORY] = e.smallest_bytes,
            [POPLINER_OBJECTIVE_CYCLES] = e.fewest_cycles,
            [POPLINER_OBJECTIVE_TRAFFIC] = e.fewest_bytes,
            [POPLINER_OBJECTIVE_BALANCE] = e.least_spread,
        };
        popliner_plan plan = {0};
        in.options.method = POPLINER_METHOD_AUTO;
        in.options.objectives = lists[round];
        in.options.num_objectives = 2;
        assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
        assert_int_equal(plan.proof, POPLINER_PROOF_SEARCH);
        assert_int_equal(plan.values[0].value, best[lists[round][0]]);
        pl_plan_clear(&plan);

        /* and that there is no better one */
        in.options.mem_per_tile = e.smallest_bytes - 1;
        assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
        assert_int_not_equal(plan.proof, POPLINER_PROOF_NONE);
        assert_int_equal(plan.infeasibility.enough_bytes, e.smallest_bytes);
        pl_plan_clear(&plan);
        discard_shared_instance(&in);
    }
}

/* 10 bytes for each unit, and 1 once. */
static popliner_status sum_of_lengths(void *user, const popliner_interval *stages,
                                      size_t num_stages, uint64_t *peak_bytes,
                                      popliner_error *error) {
    (void)user;
    (void)error;
    *peak_bytes = 1;
    for (size_t i = 0; i < num_stages; ++i)
        *peak_bytes += 10 * (stages[i].last_unit - stages[i].first_unit + 1);
    return POPLINER_OK;
}

/* Too long for a sweep, and needs of which nothing is promised. */
static void what_is_left_open_says_so(void **state) {
    (void)state;
    enum { LENGTH = 2400 };
    static const size_t map[] = {0, 1, 0};
    popliner_costs *costs;
    popliner_plan plan = {0};
    assert_int_equal(popliner_costs_create(LENGTH, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < LENGTH; ++first)
        for (size_t last = first; last < LENGTH; ++last)
            popliner_costs_set_peak(costs, first, last, 1, 10 * (last - first + 1) + 1, NULL);
    popliner_costs_set_shared_peak(costs, sum_of_lengths, NULL, false);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.device_map = map;
    options.num_mapped_stages = 3;
    options.mem_per_tile = 20000;
    assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan.status, POPLINER_PLAN_FEASIBLE);
    assert_false(plan.is_stopped);
    assert_int_equal(plan.num_stages, 3);
    assert_int_equal(plan.values[0].proof, POPLINER_PROOF_NONE);
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
}

static void integer_programs_are_refused(void **state) {
    (void)state;
    popliner_costs *costs;
    popliner_plan *plan;
    popliner_error error;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    assert_int_equal(popliner_costs_create(2, 1, &costs, NULL), POPLINER_OK);
    options.method = POPLINER_METHOD_ILP;
    assert_int_equal(popliner_solve(costs, &options, &plan, &error), POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "GLPK"));
    test_assert_sentence(error.message);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glpk_is_not_there),
        cmocka_unit_test(random_instances_are_proven),
        cmocka_unit_test(chains_with_one_shared_ipu_are_proven),
        cmocka_unit_test(what_is_left_open_says_so),
        cmocka_unit_test(integer_programs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
