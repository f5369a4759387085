/* The solvers on the costs of the golden cases: integer programs, dynamic program and brute force
 * over all splits agree, in both memory models, for every number of IPUs and limits that bind or
 * not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "golden_case.h"
#include "plain_options.h"
#include "test_data.h"

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/operations.h"
#include "popliner/solver.h"
#include "profile/profile_data.h"
#include "solve/plan.h"

static size_t num_solved; /* over all cases: the test must not pass by skipping */

/* All methods against brute force, for one number of IPUs and one limit. */
static void check_answer(const golden_case *c, const popliner_costs *costs, size_t num_ipus,
                         uint64_t limit_bytes) {
    static const popliner_method methods[] = {
        POPLINER_METHOD_AUTO, POPLINER_METHOD_DYNAMIC_PROGRAMMING, POPLINER_METHOD_ILP};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = num_ipus;
    options.mem_per_tile = limit_bytes;
    brute_answer expected = brute_force(costs, &options);
    for (size_t i = 0; i < (test_has_glpk() ? 3 : 2); i++) {
        options.method = methods[i];
        popliner_plan plan = {0};
        popliner_error error = {.message = ""};
        if (pl_solve(costs, &options, &plan, &error) != POPLINER_OK)
            fail_msg("%s: %s", c->name, error.message);
        assert_plan_is(&plan, &expected);
        pl_plan_clear(&plan);
        num_solved++;
    }
}

/* The smallest largest peak. */
static uint64_t best_peak(const popliner_costs *costs, size_t num_ipus) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = num_ipus;
    return brute_force(costs, &options).split.values[POPLINER_OBJECTIVE_MEMORY];
}

static void check_chain(const golden_case *c, const pl_layers *layers,
                        popliner_memory_model model) {
    pl_chain *chain = make_chain(c, layers, model);
    popliner_costs *costs = NULL;
    popliner_error error = {.message = ""};
    if (measure_all_stages(chain, 0, NULL, POPLINER_NEED_EXPECTED, &costs, NULL, &error) !=
        POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    size_t num_units = popliner_costs_num_units(costs);
    if (num_units <= MOST_BRUTE_UNITS) {
        for (size_t num_ipus = 1; num_ipus <= num_units + 1; num_ipus++) {
            uint64_t best_bytes = best_peak(costs, num_ipus);
            check_answer(c, costs, num_ipus, c->profile->target.bytes_per_tile);
            check_answer(c, costs, num_ipus, best_bytes);
            check_answer(c, costs, num_ipus, best_bytes - 1);
        }
    }
    popliner_costs_free(costs);
    pl_chain_free(chain);
}

static void check_case(const golden_case *c) {
    const char *const regexes[] = {NULL, golden_two_groups, golden_regex, golden_no_layers};
    for (size_t i = 0; i < sizeof regexes / sizeof *regexes; i++) {
        pl_layers *layers = assign_layers(c, regexes[i], POPLINER_LAYER_ORDER_STEPS);
        check_chain(c, layers, POPLINER_MEMORY_MODEL_POPLINER);
        check_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
        pl_layers_free(layers);
    }
}

static void solvers_agree_with_brute_force(void **state) {
    (void)state;
    golden_for_each(check_case);
    assert_true(num_solved > (test_takes_all() ? 1500 : 500));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solvers_agree_with_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
