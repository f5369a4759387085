/* The brute force itself, on a chain that is small enough to be calculated by hand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "solve/plan.h"
#include "test.h"

/* Four units of 5, 3, 4 and 2 bytes; units 1 and 2 use the same 10 bytes more. They are busy for 6,
 * 2, 3 and 5 cycles; the cuts before 1, 2 and 3 carry 7, 1 and 4 bytes. So, with | for a cut:
 *
 *   0 1 2 3       24                16            traffic  0
 *   0|1 2 3        5 19              6 10                  7
 *   0 1|2 3       18 16              8  8                  1
 *   0 1 2|3       22  2             11  5                  4
 *   0|1|2 3        5 13 16           6  2  8               8
 *   0|1 2|3        5 17  2           6  5  5              11
 *   0 1|2|3       18 14  2           8  3  5               5
 *   0|1|2|3        5 13 14  2        6  2  3  5           12  */
static popliner_costs *example_costs_of(size_t max_stages) {
    static const uint64_t own_bytes[] = {5, 3, 4, 2};
    static const uint64_t own_cycles[] = {6, 2, 3, 5};
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(4, max_stages, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 4; ++i) {
        uint64_t bytes = 0;
        uint64_t cycles = 0;
        for (size_t j = i; j < 4; ++j) {
            bytes += own_bytes[j];
            cycles += own_cycles[j];
            bool has_both = i <= 2 && j >= 1;
            popliner_costs_set_peak(costs, i, j, 1, bytes + (has_both ? 10 : 0), NULL);
            popliner_costs_set_cycles(costs, i, j, cycles, NULL);
        }
    }
    popliner_costs_set_cut(costs, 1, 7, NULL);
    popliner_costs_set_cut(costs, 2, 1, NULL);
    popliner_costs_set_cut(costs, 3, 4, NULL);
    return costs;
}

static popliner_costs *example_costs(void) {
    return example_costs_of(1);
}

/* The cuts of the answer as the decimal digits of a number: 13 for 0|1 2|3, 0 without any. */
static unsigned cuts_of(const brute_answer *answer) {
    unsigned cuts = 0;
    for (size_t k = 1; k < answer->split.num_stages; ++k)
        cuts = 10 * cuts + (unsigned)answer->split.stages[k].first_unit;
    return cuts;
}

/* Whether there is one contradiction of each of these sizes, and no other. */
static bool are_contradictions(const brute_answer *answer, const size_t *sizes, size_t count) {
    bool are_all = answer->num_contradictions == count;
    for (size_t k = 0; k < count; ++k) {
        bool is_any = false;
        for (size_t i = 0; i < answer->num_contradictions; ++i) {
            size_t size = 0;
            for (uint64_t rest = answer->contradictions[i]; rest != 0; rest &= rest - 1)
                ++size;
            is_any |= size == sizes[k];
        }
        are_all = are_all && is_any;
    }
    return are_all;
}

/* Solves and frees. */
static brute_answer answer_of(popliner_costs *costs, popliner_solver_options options) {
    brute_answer answer = brute_force(costs, &options);
    popliner_costs_free(costs);
    return answer;
}

static void optimises_memory_then_traffic(void **state) {
    (void)state;
    static const struct {
        size_t max_stages;
        unsigned cuts;
        uint64_t bytes;
        uint64_t traffic;
    } rows[] = {{1, 0, 24, 0}, {2, 2, 18, 1}, {3, 12, 16, 8}, {4, 123, 14, 12}, {9, 123, 14, 12}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.num_ipus = rows[i].max_stages;
        brute_answer answer = answer_of(example_costs(), options);
        assert_int_equal(answer.status, POPLINER_PLAN_OPTIMAL);
        assert_int_equal(cuts_of(&answer), rows[i].cuts);
        assert_int_equal(answer.num_objectives, 2);
        assert_int_equal(answer.bounds[0], rows[i].bytes);
        assert_int_equal(answer.bounds[1], rows[i].traffic);
        assert_int_equal(answer.split.values[POPLINER_OBJECTIVE_MEMORY], rows[i].bytes);
    }
}

static void fills_all_of_a_plan(void **state) {
    (void)state;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 3;
    brute_answer answer = answer_of(example_costs(), options);
    const popliner_plan_stage stages[] = {
        {0, 0, 0, 5, 6, 7, 0, 0}, {1, 1, 1, 13, 2, 1, 0, 0}, {2, 3, 2, 16, 8, 0, 0, 0}};
    popliner_plan plan = {.status = POPLINER_PLAN_OPTIMAL,
                          .stages = (popliner_plan_stage *)stages,
                          .num_stages = 3,
                          .peak_bytes = 16,
                          .cycles = 8,
                          .cut_bytes = 8,
                          .spread = 11,
                          .num_ipus = 3,
                          .values = {{POPLINER_OBJECTIVE_MEMORY, 16, 16, POPLINER_PROOF_NONE},
                                     {POPLINER_OBJECTIVE_TRAFFIC, 8, 8, POPLINER_PROOF_NONE}},
                          .num_values = 2};
    assert_plan_is(&plan, &answer);
    char difference[200];
    plan.spread = 6;
    assert_false(plan_is(&plan, &answer, difference));
    assert_string_equal(difference, "spread is 6, not 11");
    plan.spread = 11;
    plan.values[1].bound = 0;
    assert_false(plan_is(&plan, &answer, difference));
    assert_string_equal(difference, "values[1].bound is 0, not 8");
}

static void optimises_the_others(void **state) {
    (void)state;
    static const struct {
        popliner_objective list[4];
        size_t count;
        size_t max_stages;
        uint64_t limit_bytes;
        unsigned cuts;
        uint64_t last_value;
    } rows[] = {
        {{POPLINER_OBJECTIVE_CYCLES}, 1, 2, 100, 2, 8},
        /* 0|1 2|3 has 6, and so has 0|1|2|3, whose cuts come earlier */
        {{POPLINER_OBJECTIVE_CYCLES}, 1, 3, 100, 13, 6},
        {{POPLINER_OBJECTIVE_CYCLES}, 1, 4, 100, 123, 6},
        {{POPLINER_OBJECTIVE_TRAFFIC}, 1, 4, 100, 0, 0},
        {{POPLINER_OBJECTIVE_TRAFFIC}, 1, 4, 18, 2, 1},
        {{POPLINER_OBJECTIVE_TRAFFIC}, 1, 4, 17, 12, 8},
        {{POPLINER_OBJECTIVE_IPUS}, 1, 4, 18, 2, 2},
        {{POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_CYCLES}, 2, 4, 17, 13, 6},
        /* the peaks 5 19, 18 16 and 22 2 */
        {{POPLINER_OBJECTIVE_BALANCE}, 1, 2, 23, 2, 2},
        /* 6 5 5 with 1 between them, against 6 2 3 5 */
        {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_BALANCE}, 2, 4, 100, 13, 1},
        /* the peaks first: 5 13 14 2 against 5 17 2 */
        {{POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_BALANCE, POPLINER_OBJECTIVE_CYCLES},
         3,
         4,
         17,
         12,
         8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.objectives = rows[i].list;
        options.num_objectives = rows[i].count;
        options.num_ipus = rows[i].max_stages;
        options.mem_per_tile = rows[i].limit_bytes;
        brute_answer answer = answer_of(example_costs(), options);
        assert_int_equal(answer.status, POPLINER_PLAN_OPTIMAL);
        assert_int_equal(cuts_of(&answer), rows[i].cuts);
        assert_int_equal(answer.bounds[rows[i].count - 1], rows[i].last_value);
    }
}

/* 10 % of 16 are 1.6: 17 bytes, for which 0|1 2|3 carries more. 12.5 % are 2: 0 1|2 3 carries 1. */
static void leaves_slack(void **state) {
    (void)state;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 3;
    options.slack_percent = 10;
    brute_answer answer = answer_of(example_costs(), options);
    assert_int_equal(cuts_of(&answer), 12);
    options.slack_percent = 12.5;
    answer = answer_of(example_costs(), options);
    assert_int_equal(cuts_of(&answer), 2);
    assert_int_equal(answer.bounds[0], 16);
    assert_int_equal(answer.split.values[POPLINER_OBJECTIVE_MEMORY], 18);
    assert_int_equal(answer.bounds[1], 1);
}

/* When nothing costs anything: no cut at all is before 1, that before 1 2, that before 2. */
static void breaks_ties(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(3, 1, &costs, NULL), POPLINER_OK);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    brute_answer answer = brute_force(costs, &options);
    assert_int_equal(cuts_of(&answer), 0);
    options.max_units = 2;
    answer = brute_force(costs, &options);
    assert_int_equal(cuts_of(&answer), 1);
    const popliner_cut_rule second[] = {POPLINER_CUT_FREE, POPLINER_CUT_FREE,
                                        POPLINER_CUT_REQUIRED};
    options.cut_rules = second;
    answer = answer_of(costs, options);
    assert_int_equal(cuts_of(&answer), 12);
}

static void obeys_constraints(void **state) {
    (void)state;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 3;

    const popliner_cut_rule rules[] = {POPLINER_CUT_FREE, POPLINER_CUT_FORBIDDEN, POPLINER_CUT_FREE,
                                       POPLINER_CUT_REQUIRED};
    popliner_solver_options with = options;
    with.cut_rules = rules; /* 0 1 2|3 or 0 1|2|3 */
    brute_answer answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 23);

    const popliner_constraint pair = {.unit = 2, .second_unit = 1};
    with = options;
    with.pairs = &pair;
    with.num_pairs = 1;
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 13);

    const popliner_constraint placements[] = {{.unit = 2, .ipu = 1}, {.unit = 3, .ipu = 1}};
    with = options;
    with.placements = placements;
    with.num_placements = 1; /* 19, 18, 17 or 18 bytes */
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 13);
    with.num_placements = 2; /* 19 or 18 */
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 2);

    const uint8_t counted[] = {0, 1, 1, 1};
    with = options;
    with.min_units = 2;
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 2);
    with.counted_units = counted;
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 0);
    with.min_units = 0;
    with.max_units = 1; /* at least 0 1|2|3, and 0 is no stage for itself with three stages */
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 23);

    const popliner_ipu_value limits[] = {{1, 12}, {0, 30}};
    with = options;
    with.mem_per_tile = 2;
    with.ipu_limits = limits;
    with.num_ipu_limits = 2; /* only 24, or 22 and 2 */
    answer = answer_of(example_costs(), with);
    assert_int_equal(cuts_of(&answer), 3);
}

/* Each stage further from the end needs 10 bytes more: 24, 15 19, 28 16, 32 2, 25 ... */
static void knows_places_in_a_pipeline(void **state) {
    (void)state;
    popliner_costs *costs = example_costs_of(3);
    for (size_t t = 2; t <= 3; ++t)
        for (size_t i = 0; i < 4; ++i)
            for (size_t j = i; j < 4; ++j)
                popliner_costs_set_peak(costs, i, j, t,
                                        popliner_costs_peak(costs, i, j, 1) + 10 * (t - 1), NULL);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 3;
    brute_answer answer = answer_of(costs, options);
    assert_int_equal(cuts_of(&answer), 1);
    assert_int_equal(answer.split.stages[0].peak_bytes, 15);
    assert_int_equal(answer.bounds[0], 19);
}

static popliner_status largest(void *user, const popliner_interval *stages, size_t num_stages,
                               uint64_t *peak_bytes, popliner_error *error) {
    (void)error;
    *peak_bytes = 0;
    for (size_t k = 0; k < num_stages; ++k) {
        uint64_t bytes = popliner_costs_peak(*(popliner_costs **)user, stages[k].first_unit,
                                             stages[k].last_unit, 1);
        *peak_bytes = bytes > *peak_bytes ? bytes : *peak_bytes;
        assert_int_equal(stages[k].stages_to_end, k == 0 ? 3 : 1);
    }
    return POPLINER_OK;
}

/* The first and the last of three stages share an IPU: 0|1|2 3 has 21 and 13 bytes, 0|1 2|3 has 7
 * and 17, 0 1|2|3 has 20 and 14. If sharing costs nothing, they have 16, 17 and 18. */
static void shares_ipus(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 0};
    popliner_costs *costs = example_costs();
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.device_map = map;
    options.num_mapped_stages = 3;
    options.num_ipus = 1; /* means nothing */
    brute_answer answer = brute_force(costs, &options);
    const popliner_plan_stage stages[] = {
        {0, 0, 0, 7, 6, 7, 0, 0}, {1, 2, 1, 17, 5, 4, 0, 0}, {3, 3, 0, 7, 5, 0, 0, 0}};
    popliner_plan plan = {.status = POPLINER_PLAN_OPTIMAL,
                          .stages = (popliner_plan_stage *)stages,
                          .num_stages = 3,
                          .peak_bytes = 17,
                          .cycles = 11,
                          .cut_bytes = 11,
                          .spread = 10,
                          .num_ipus = 2,
                          .values = {{POPLINER_OBJECTIVE_MEMORY, 17, 17, POPLINER_PROOF_NONE},
                                     {POPLINER_OBJECTIVE_TRAFFIC, 11, 11, POPLINER_PROOF_NONE}},
                          .num_values = 2};
    assert_plan_is(&plan, &answer);
    popliner_costs_set_shared_peak(costs, largest, &costs, true);
    answer = brute_force(costs, &options);
    assert_int_equal(cuts_of(&answer), 12);
    assert_int_equal(answer.bounds[0], 16);

    /* units on the same IPU need not be in one stage; 0 and 2 are only in 0|1|2 3 */
    const popliner_constraint pair = {.unit = 0, .second_unit = 2};
    options.pairs = &pair;
    options.num_pairs = 1;
    options.mem_per_tile = 15;
    answer = answer_of(costs, options);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_CAPACITY);
    assert_int_equal(answer.infeasibility.enough_stages, 0);
    assert_int_equal(answer.infeasibility.enough_bytes, 16);
    assert_int_equal(cuts_of(&answer), 12);
}

static void finds_what_is_in_the_way(void **state) {
    (void)state;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 2;
    options.mem_per_tile = 14;
    brute_answer answer = answer_of(example_costs(), options);
    assert_int_equal(answer.status, POPLINER_PLAN_INFEASIBLE);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_CAPACITY);
    assert_int_equal(answer.infeasibility.enough_stages, 4);
    assert_int_equal(answer.infeasibility.enough_bytes, 18);
    assert_int_equal(cuts_of(&answer), 2);
    assert_int_equal(answer.bounds[0], 0);

    options.mem_per_tile = 13; /* unit 2 needs 14 */
    answer = answer_of(example_costs(), options);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_UNIT);
    assert_int_equal(answer.infeasibility.unit, 2);
    assert_int_equal(answer.infeasibility.unit_bytes, 14);
    assert_int_equal(answer.infeasibility.limit_bytes, 13);
    assert_int_equal(answer.infeasibility.enough_stages, 0);
    assert_int_equal(answer.infeasibility.enough_bytes, 18);

    /* unit 0 is always on IPU 0 */
    popliner_ipu_value limit = {0, 4};
    options.ipu_limits = &limit;
    options.num_ipu_limits = 1;
    options.mem_per_tile = 100;
    answer = answer_of(example_costs(), options);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_PLACE);
    assert_int_equal(answer.infeasibility.fitting_ipu, 1);
    assert_int_equal(answer.infeasibility.unit, 0);
    assert_int_equal(answer.infeasibility.unit_bytes, 5);
    assert_int_equal(answer.infeasibility.limit_bytes, 4);
    assert_int_equal(answer.infeasibility.enough_bytes, 0);

    /* IPU 1 takes but unit 3, or nothing */
    limit = (popliner_ipu_value){1, 12};
    options.num_ipus = 3;
    options.mem_per_tile = 17;
    answer = answer_of(example_costs(), options);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_CAPACITY);
    assert_int_equal(answer.infeasibility.enough_stages, 0);
    assert_int_equal(answer.infeasibility.enough_bytes, 22);
    assert_int_equal(cuts_of(&answer), 12); /* 5 13 16: its own limit is lifted, too */
}

static void counts_what_contradicts(void **state) {
    (void)state;
    /* two cuts and two stages: without any of the three it works */
    const popliner_cut_rule rules[] = {POPLINER_CUT_FREE, POPLINER_CUT_REQUIRED,
                                       POPLINER_CUT_REQUIRED, POPLINER_CUT_FREE};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 2;
    options.cut_rules = rules;
    brute_answer answer = answer_of(example_costs(), options);
    assert_int_equal(answer.status, POPLINER_PLAN_INFEASIBLE);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_CONSTRAINTS);
    assert_false(answer.split.exists);
    assert_true(answer.has_split_without_constraints);
    assert_true(are_contradictions(&answer, (const size_t[]){3}, 1));

    popliner_constraint all[] = {{.kind = POPLINER_CONSTRAINT_NUM_IPUS, .number = 2},
                                 {.kind = POPLINER_CONSTRAINT_REQUIRED_CUT, .unit = 0},
                                 {.kind = POPLINER_CONSTRAINT_REQUIRED_CUT, .unit = 1}};
    popliner_plan plan = {.status = POPLINER_PLAN_INFEASIBLE,
                          .infeasibility = {.obstacle = POPLINER_OBSTACLE_CONSTRAINTS,
                                            .constraints = all,
                                            .num_constraints = 3,
                                            .enough_stages = 3}};
    assert_plan_is(&plan, &answer);
    char difference[200];
    plan.infeasibility.enough_stages = 2;
    assert_false(plan_is(&plan, &answer, difference));
    plan.infeasibility.enough_stages = 3;
    plan.infeasibility.num_constraints = 2;
    assert_false(plan_is(&plan, &answer, difference));
    plan.infeasibility.num_constraints = 3;
    all[2].unit = 2;
    assert_false(plan_is(&plan, &answer, difference));
    all[2] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_FORBIDDEN_CUT, .unit = 1};
    assert_false(plan_is(&plan, &answer, difference));

    /* a pair over one of the cuts contradicts that one alone: two or three */
    const popliner_constraint pair = {.unit = 0, .second_unit = 1};
    options.pairs = &pair;
    options.num_pairs = 1;
    answer = answer_of(example_costs(), options);
    assert_true(are_contradictions(&answer, (const size_t[]){2, 3}, 2));

    /* the first unit is on the first IPU, whatever else */
    const popliner_constraint placement = {.unit = 0, .ipu = 1};
    options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    options.placements = &placement;
    options.num_placements = 1;
    answer = answer_of(example_costs(), options);
    assert_true(are_contradictions(&answer, (const size_t[]){1}, 1));
}

/* What must not be a stage stays so without limits, and has no size. */
static void respects_forbidden_stages(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    popliner_costs_set_peak(costs, 0, 0, 1, POPLINER_PEAK_FORBIDDEN, NULL);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.mem_per_tile = UINT64_MAX;
    brute_answer answer = brute_force(costs, &options);
    assert_int_equal(cuts_of(&answer), 2); /* 18 bytes, and 2|3 needs no more but carries more */
    options.mem_per_tile = 17;
    answer = brute_force(costs, &options);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_CAPACITY);
    assert_int_equal(answer.infeasibility.enough_bytes, 18);
    const popliner_cut_rule rules[] = {POPLINER_CUT_FREE, POPLINER_CUT_REQUIRED, POPLINER_CUT_FREE,
                                       POPLINER_CUT_FREE};
    options.cut_rules = rules;
    answer = answer_of(costs, options);
    assert_int_equal(answer.infeasibility.obstacle, POPLINER_OBSTACLE_CONSTRAINTS);
    assert_true(are_contradictions(&answer, (const size_t[]){1}, 1));
}

/* Sums that do not fit are as large as can be told. */
static void does_not_overflow(void **state) {
    (void)state;
    popliner_costs *costs = example_costs();
    for (size_t unit = 1; unit < 4; ++unit)
        popliner_costs_set_cut(costs, unit, UINT64_MAX / 2, NULL);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.slack_percent = 50;
    brute_answer answer = brute_force(costs, &options);
    /* 14 bytes and half of it: 21 are allowed, for which one cut is enough */
    assert_int_equal(cuts_of(&answer), 1);
    assert_true(answer.bounds[1] == UINT64_MAX / 2);
    options.slack_percent = 0;
    answer = answer_of(costs, options);
    assert_true(answer.bounds[1] == UINT64_MAX - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimises_memory_then_traffic),
        cmocka_unit_test(fills_all_of_a_plan),
        cmocka_unit_test(optimises_the_others),
        cmocka_unit_test(leaves_slack),
        cmocka_unit_test(breaks_ties),
        cmocka_unit_test(obeys_constraints),
        cmocka_unit_test(knows_places_in_a_pipeline),
        cmocka_unit_test(shares_ipus),
        cmocka_unit_test(finds_what_is_in_the_way),
        cmocka_unit_test(counts_what_contradicts),
        cmocka_unit_test(respects_forbidden_stages),
        cmocka_unit_test(does_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
