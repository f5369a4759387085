/* The solvers against brute force on thousands of random instances: every list of objectives, every
 * constraint alone and together with others, pipelines and shared IPUs, with limits of which about
 * a third cannot be met. Values are few, so that most instances have ties.
 *
 * A failure prints its instance and the two numbers that make it: "popliner_tests solver_random
 * KIND SEED" solves that one again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "random_instance.h"
#include "test_data.h"

#include "popliner/solver.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One test. */
typedef struct kind {
    const char *name;
    instance_wish wish;
    size_t num_instances;
    /* At least so many of 100 instances can be, and cannot be, split within the limits. */
    size_t least_feasible;
    size_t least_infeasible;
} kind;

static void print_cuts(const char *what, const popliner_plan_stage *stages, size_t num_stages) {
    print_error("%s cuts before", what);
    for (size_t k = 1; k < num_stages; ++k)
        print_error(" %zu", stages[k].first_unit);
    print_error("\n");
}

/* Whether a method proves by what it is named after. */
static bool is_proof_of(popliner_proof proof, popliner_method method) {
    switch (method) {
    case POPLINER_METHOD_ILP:
        return proof == POPLINER_PROOF_INTEGER_PROGRAM;
    case POPLINER_METHOD_DYNAMIC_PROGRAMMING:
        return proof == POPLINER_PROOF_DYNAMIC_PROGRAM;
    case POPLINER_METHOD_AUTO:
    case POPLINER_METHOD_GREEDY:
        break;
    }
    return proof != POPLINER_PROOF_NONE;
}

static void check_proofs(const popliner_plan *plan, popliner_method method, char *difference) {
    bool is_right = is_proof_of(plan->proof, method);
    for (size_t i = 0; i < plan->num_values && plan->status == POPLINER_PLAN_OPTIMAL; ++i)
        is_right = is_right && is_proof_of(plan->values[i].proof, method);
    if (!is_right)
        snprintf(difference, 200, "proof: %s", pl_proof_name(plan->proof));
}

static void check_method(const kind *k, uint64_t seed, const instance *in, popliner_method method,
                         const brute_answer *expected) {
    popliner_solver_options options = in->options;
    options.method = method;
    popliner_plan plan = {0};
    popliner_error error = {.message = ""};
    popliner_status status = pl_solve(in->costs, &options, &plan, &error);
    popliner_status right = POPLINER_OK;
    if (method != POPLINER_METHOD_AUTO && has_shared_ipus(&options))
        right = POPLINER_ERROR_USAGE;
    char difference[200] = "";
    if (status != right)
        snprintf(difference, sizeof difference, "status %d instead of %d: %.150s", (int)status,
                 (int)right, error.message);
    else if (status == POPLINER_OK && plan_is(&plan, expected, difference)) {
        difference[0] = '\0';
        check_proofs(&plan, method, difference);
    }
    if (difference[0] != '\0') {
        print_error("solver_random_test %s %" PRIu64 "\n", k->name, seed);
        print_instance(in);
        print_cuts("expected", expected->split.stages, expected->split.num_stages);
        print_cuts("found", plan.stages, plan.num_stages);
        fail_msg("%s: %s",
                 method == POPLINER_METHOD_ILP    ? "ILP"
                 : method == POPLINER_METHOD_AUTO ? "auto"
                                                  : "dynamic program",
                 difference);
    }
    pl_plan_clear(&plan);
}

/* Whether it is feasible. */
static bool check_instance(const kind *k, uint64_t seed) {
    instance in;
    draw_instance(&k->wish, seed, &in);
    brute_answer expected = brute_force(in.costs, &in.options);
    check_method(k, seed, &in, POPLINER_METHOD_DYNAMIC_PROGRAMMING, &expected);
    check_method(k, seed, &in, POPLINER_METHOD_AUTO, &expected);
    if (popliner_solver_has_glpk() && test_takes_case(seed, 36))
        check_method(k, seed, &in, POPLINER_METHOD_ILP, &expected);
    free_instance(&in);
    return expected.status == POPLINER_PLAN_OPTIMAL;
}

static void check_kind(void **state) {
    const kind *k = *state;
    size_t num_taken = 0;
    (void)test_has_glpk(); /* to say so */
    size_t num_feasible = 0;
    for (uint64_t seed = 0; seed < k->num_instances; ++seed) {
        if (!test_takes_case(seed, 6))
            continue;
        num_taken++;
        num_feasible += check_instance(k, seed);
    }
    /* the instances are what they are meant to be */
    assert_met(100 * num_feasible >= k->least_feasible * num_taken);
    assert_met(100 * (num_taken - num_feasible) >= k->least_infeasible * num_taken);
}

static kind kinds[] = {
    {"each_objective_alone", {MEMORY_LIMIT, CUT_RULES | DEVICE_MAP, 1, 1}, 400, 40, 30},
    {"pairs_of_objectives", {MEMORY_LIMIT, CUT_RULES | DEVICE_MAP, 2, 2}, 400, 40, 30},
    {"all_objectives_in_any_order", {0, MEMORY_LIMIT | DEVICE_MAP | CUT_RULES, 5, 5}, 360, 60, 10},
    {"every_list_of_objectives", {0, MEMORY_LIMIT | DEVICE_MAP | CUT_RULES, 0, 5}, 326, 60, 10},
    {"slack", {SLACK, MEMORY_LIMIT | DEVICE_MAP | CUT_RULES, 0, 5}, 400, 60, 10},
    {"rules_for_cuts", {CUT_RULES, MEMORY_LIMIT, 0, 2}, 300, 60, 10},
    {"units_of_a_stage", {NUM_UNITS, MEMORY_LIMIT | COUNTED_UNITS, 0, 2}, 300, 60, 10},
    {"pairs_of_units", {PAIRS, MEMORY_LIMIT | DEVICE_MAP, 0, 2}, 300, 60, 10},
    {"placements", {PLACEMENTS, MEMORY_LIMIT | DEVICE_MAP, 0, 2}, 300, 50, 20},
    {"limits_of_ipus", {IPU_LIMITS, MEMORY_LIMIT | DEVICE_MAP, 0, 2}, 300, 50, 20},
    {"constraints_together", {0, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS, 0, 2}, 400, 50, 20},
    {"contradicting_constraints",
     {CONTRADICTING, CONSTRAINTS | MEMORY_LIMIT | PIPELINE, 0, 1},
     300,
     20,
     30},
    {"pipeline", {PIPELINE, MEMORY_LIMIT | IPU_LIMITS | DEVICE_MAP | CUT_RULES, 0, 3}, 400, 50, 20},
    {"mapped_stages", {DEVICE_MAP, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS, 0, 5}, 300, 50, 20},
    {"shared_ipus", {SHARED_IPUS, MEMORY_LIMIT | IPU_LIMITS, 0, 2}, 300, 50, 20},
    {"shared_ipus_with_constraints",
     {SHARED_IPUS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK, 0, 5},
     400,
     40,
     20},
    {"everything_together",
     {0, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | DEVICE_MAP, 0, 5},
     600,
     50,
     20},
    {"needs_that_shrink",
     {UNORDERED, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | DEVICE_MAP, 0, 5},
     600,
     50,
     20},
    {"cycles_that_shrink",
     {SHRINKING_CYCLES,
      CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | SPEEDS | DEVICE_MAP, 2, 5},
     600,
     50,
     20},
    {"limits_of_ipus_in_a_pipeline",
     {IPU_LIMITS | PIPELINE, PLACEMENTS | CUT_RULES | UNORDERED | SLACK, 1, 3},
     400,
     50,
     20},
    {"speeds_of_shared_ipus",
     {SPEEDS | SHARED_IPUS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | SLACK, 3, 5},
     600,
     50,
     10},
    {"speeds_of_ipus", {SPEEDS, MEMORY_LIMIT | IPU_LIMITS | DEVICE_MAP, 2, 3}, 600, 50, 10},
    {"speeds_and_everything",
     {SPEEDS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | DEVICE_MAP, 5, 5},
     600,
     50,
     20},
    {"speeds_where_needs_shrink",
     {SPEEDS | UNORDERED, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP, 3, 5},
     400,
     50,
     20},
    {"links_between_ipus", {LINKS, MEMORY_LIMIT | IPU_LIMITS | DEVICE_MAP, 2, 3}, 600, 50, 10},
    {"links_and_everything",
     {LINKS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | DEVICE_MAP, 5, 5},
     600,
     50,
     20},
    {"links_speeds_and_everything",
     {LINKS | SPEEDS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | DEVICE_MAP, 3,
      5},
     600,
     50,
     20},
    {"links_where_needs_shrink",
     {LINKS | UNORDERED, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP, 3, 5},
     400,
     50,
     20},
    {"links_of_shared_ipus",
     {LINKS | SHARED_IPUS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | SLACK | SPEEDS, 2,
      5},
     600,
     50,
     10},
    {"headroom", {HEADROOM | MEMORY_LIMIT, IPU_LIMITS | DEVICE_MAP | CUT_RULES, 0, 2}, 800, 40, 20},
    {"headroom_and_everything",
     {HEADROOM | MEMORY_LIMIT | IPU_LIMITS,
      CONSTRAINTS | PIPELINE | SLACK | SPEEDS | DEVICE_MAP | UNORDERED, 0, 5},
     800,
     40,
     20},
    {"headroom_of_shared_ipus",
     {HEADROOM | MEMORY_LIMIT | SHARED_IPUS,
      CUT_RULES | NUM_UNITS | PAIRS | PLACEMENTS | IPU_LIMITS | SLACK | PIPELINE, 0, 3},
     600,
     40,
     20},
    {"limits_that_are_too_low",
     {MEMORY_LIMIT | TIGHT, CUT_RULES | PAIRS | PLACEMENTS | IPU_LIMITS | PIPELINE | DEVICE_MAP, 0,
      2},
     400,
     0,
     90},
    {"shared_ipus_that_are_too_small",
     {SHARED_IPUS | MEMORY_LIMIT | TIGHT, CONSTRAINTS | IPU_LIMITS, 0, 1},
     200,
     0,
     90},
    /* a unit may be too large for the IPUs that its pairs leave to it */
    {"pairs_on_shared_ipus_that_are_too_small",
     {SHARED_IPUS | PAIRS | IPU_LIMITS | MEMORY_LIMIT, TIGHT | PLACEMENTS | PIPELINE, 0, 1},
     2000,
     20,
     30},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* Prints the instance, right or wrong. */
static int replay(const kind *k, uint64_t seed) {
    instance in;
    draw_instance(&k->wish, seed, &in);
    print_instance(&in);
    free_instance(&in);
    check_instance(k, seed);
    return EXIT_SUCCESS;
}

int main(void) {
    uint64_t seed;
    struct CMUnitTest tests[NUM_KINDS];
    for (size_t i = 0; i < NUM_KINDS; ++i) {
        tests[i] = (struct CMUnitTest){kinds[i].name, check_kind, NULL, NULL, &kinds[i]};
        if (test_replays(kinds[i].name, &seed))
            return replay(&kinds[i], seed);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
