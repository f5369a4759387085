/* Which constraints are said to contradict each other: against all smallest contradictions that
 * there are.
 *
 * A failure prints its instance and the two numbers that make it: "popliner_tests contradiction
 * KIND SEED" looks at that one again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "random_instance.h"
#include "test_data.h"

#include "popliner/solver.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static popliner_plan solve(const popliner_costs *costs, const popliner_solver_options *options) {
    popliner_plan plan = {0};
    popliner_error error;
    if (pl_solve(costs, options, &plan, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return plan;
}

static void assert_contradiction(const popliner_costs *costs,
                                 const popliner_solver_options *options,
                                 const popliner_constraint *expected, size_t count) {
    popliner_plan plan = solve(costs, options);
    const popliner_infeasibility *why = &plan.infeasibility;
    assert_int_equal(why->obstacle, POPLINER_OBSTACLE_CONSTRAINTS);
    assert_int_equal(why->num_constraints, count);
    for (size_t i = 0; i < count; ++i) {
        const popliner_constraint *it = &why->constraints[i];
        assert_int_equal(it->kind, expected[i].kind);
        assert_int_equal(it->number, expected[i].number);
        assert_int_equal(it->unit, expected[i].unit);
        assert_int_equal(it->second_unit, expected[i].second_unit);
        assert_int_equal(it->ipu, expected[i].ipu);
    }
    pl_plan_clear(&plan);
}

/* Units of one byte each, and as many for each stage to come of the first one. */
static popliner_costs *make_costs(size_t num_units, size_t max_stages) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(num_units, max_stages, &costs, NULL), POPLINER_OK);
    for (size_t t = 1; t <= max_stages; ++t)
        for (size_t i = 0; i < num_units; ++i)
            for (size_t j = i; j < num_units; ++j)
                popliner_costs_set_peak(costs, i, j, t, j - i + 1 + (i == 0 ? t - 1 : 0), NULL);
    return costs;
}

/* Two stages of one unit each are two units, but there are three; the costs know no pipeline of
 * more than the two stages of the map. */
static void names_a_map_that_is_too_short(void **state) {
    (void)state;
    static const size_t map[] = {0, 1};
    static const popliner_constraint both[] = {
        {.kind = POPLINER_CONSTRAINT_DEVICE_MAP, .number = 2},
        {.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = 1}};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.device_map = map;
    options.num_mapped_stages = 2;
    options.max_units = 1;
    for (size_t max_stages = 1; max_stages <= 2; ++max_stages) {
        popliner_costs *costs = make_costs(3, max_stages);
        assert_contradiction(costs, &options, both, 2);
        popliner_costs_free(costs);
    }
}

/* The same of a number of stages that the costs know no more than. */
static void names_too_few_stages(void **state) {
    (void)state;
    static const popliner_constraint both[] = {
        {.kind = POPLINER_CONSTRAINT_NUM_IPUS, .number = 2},
        {.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = 1}};
    popliner_costs *costs = make_costs(3, 2);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 2;
    options.max_units = 1;
    assert_contradiction(costs, &options, both, 2);
    popliner_costs_free(costs);
}

/* Before the third stage, where IPU 3 is, there are two others, but only one unit. */
static void names_a_map_that_places_need(void **state) {
    (void)state;
    static const size_t map[] = {1, 0, 3};
    static const popliner_cut_rule rules[] = {POPLINER_CUT_FREE, POPLINER_CUT_FREE,
                                              POPLINER_CUT_FORBIDDEN, POPLINER_CUT_FREE};
    static const popliner_constraint place = {.unit = 2, .ipu = 3};
    static const popliner_constraint all[] = {
        {.kind = POPLINER_CONSTRAINT_DEVICE_MAP, .number = 3},
        {.kind = POPLINER_CONSTRAINT_FORBIDDEN_CUT, .unit = 1},
        {.kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = 2, .ipu = 3}};
    popliner_costs *costs = make_costs(4, 1);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.device_map = map;
    options.num_mapped_stages = 3;
    options.cut_rules = rules;
    options.placements = &place;
    options.num_placements = 1;
    assert_contradiction(costs, &options, all, 3);
    popliner_costs_free(costs);
}

/* ---- at random ---- */

typedef struct kind {
    const char *name;
    instance_wish wish;
    size_t num_contradictions; /* that are looked at */
    size_t least_known;        /* of 100: of those all smallest contradictions are known */
} kind;

static void print(const kind *k, uint64_t seed, const instance *in, const popliner_plan *plan) {
    print_error("contradiction_test %s %" PRIu64 "\n", k->name, seed);
    print_instance(in);
    for (size_t i = 0; i < plan->infeasibility.num_constraints; ++i) {
        const popliner_constraint *it = &plan->infeasibility.constraints[i];
        print_error("kind %d number %zu unit %zu second_unit %zu ipu %zu\n", (int)it->kind,
                    it->number, it->unit, it->second_unit, it->ipu);
    }
}

/* Whether the instance is a contradiction; *is_known: so are all smallest ones. */
static bool check_instance(const kind *k, uint64_t seed, bool *is_known) {
    instance in;
    draw_instance(&k->wish, seed, &in);
    brute_answer expected = brute_force(in.costs, &in.options);
    bool contradicts = expected.infeasibility.obstacle == POPLINER_OBSTACLE_CONSTRAINTS;
    *is_known = expected.num_contradictions > 0 || !expected.has_split_without_constraints;
    if (contradicts) {
        char difference[200] = "";
        popliner_plan plan = solve(in.costs, &in.options);
        if (!plan_is(&plan, &expected, difference)) {
            print(k, seed, &in, &plan);
            fail_msg("%s", difference);
        }
        pl_plan_clear(&plan);
    }
    free_instance(&in);
    return contradicts;
}

static void check_kind(void **state) {
    const kind *k = *state;
    size_t num_found = 0;
    size_t num_known = 0;
    size_t wanted = k->num_contradictions / test_chosen(30, 4, 1);
    for (uint64_t seed = 0; num_found < wanted; ++seed) {
        bool is_known;
        if (!check_instance(k, seed, &is_known))
            continue;
        num_found++;
        num_known += is_known;
    }
    assert_true(100 * num_known >= k->least_known * num_found);
}

static kind kinds[] = {
    {"stages", {CONTRADICTING, CONSTRAINTS | PIPELINE, 0, 1}, 500, 60},
    {"maps", {CONTRADICTING | DEVICE_MAP, CONSTRAINTS | PIPELINE, 0, 1}, 700, 50},
    {"placements_on_maps",
     {CONTRADICTING | DEVICE_MAP | PLACEMENTS, PAIRS | CUT_RULES, 0, 1},
     300,
     50},
    {"shared_maps", {CONTRADICTING | SHARED_IPUS, CONSTRAINTS | PIPELINE, 0, 1}, 700, 50},
    {"pairs_on_shared_maps",
     {CONTRADICTING | SHARED_IPUS | PAIRS | PLACEMENTS, CUT_RULES | NUM_UNITS, 0, 1},
     300,
     50},
    {"capacity", {CONTRADICTING | CAPACITY, CONSTRAINTS | PIPELINE, 0, 1}, 500, 60},
    {"capacity_on_maps",
     {CONTRADICTING | CAPACITY | DEVICE_MAP, CONSTRAINTS | PIPELINE, 0, 1},
     700,
     50},
    {"capacity_on_shared_maps",
     {CONTRADICTING | CAPACITY | SHARED_IPUS, CONSTRAINTS | PIPELINE, 0, 1},
     700,
     50},
    {"pairs_and_capacity",
     {CONTRADICTING | CAPACITY | SHARED_IPUS | PAIRS, CUT_RULES | PLACEMENTS | PIPELINE, 0, 1},
     700,
     50},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* Prints the instance, right or wrong. */
static int replay(const kind *k, uint64_t seed) {
    instance in;
    bool is_known;
    draw_instance(&k->wish, seed, &in);
    popliner_plan plan = solve(in.costs, &in.options);
    print(k, seed, &in, &plan);
    pl_plan_clear(&plan);
    free_instance(&in);
    check_instance(k, seed, &is_known);
    return EXIT_SUCCESS;
}

int main(void) {
    uint64_t seed;
    struct CMUnitTest tests[NUM_KINDS + 3] = {
        cmocka_unit_test(names_a_map_that_is_too_short),
        cmocka_unit_test(names_too_few_stages),
        cmocka_unit_test(names_a_map_that_places_need),
    };
    for (size_t i = 0; i < NUM_KINDS; ++i) {
        tests[3 + i] = (struct CMUnitTest){kinds[i].name, check_kind, NULL, NULL, &kinds[i]};
        if (test_replays(kinds[i].name, &seed))
            return replay(&kinds[i], seed);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
