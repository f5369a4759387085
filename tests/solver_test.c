/* The optimal solvers against brute force, against each other, and against properties of an
 * optimum that are computed in another way; and what happens when GLPK is in trouble.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "test_data.h"

#include "costs/costs.h"
#include "popliner/solver.h"
#include "solve/glpk_session.h"
#include "solve/integer_program.h"
#include "solve/plan.h"
#include "solve/search.h"
#include "solve/shared/shared.h"

#ifdef TEST_WITH_GLPK
#include <glpk.h>
#endif
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- tables ---- */

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = test_random(*seed);
    return (*seed >> 20) % limit;
}

typedef enum table_kind {
    ARBITRARY,   /* any peak for any interval */
    SHARING,     /* a peak is the sum of what the units use, each thing once: monotone */
    TIES,        /* hardly any different numbers */
    FREE_CUTS,   /* no cut costs anything */
    FORBIDDING,  /* a third of the intervals must not be */
    HUGE_TIES,   /* 2^40 and a few bytes more */
    NEAR_TIES,   /* peaks one byte apart, far from others; cuts of 0 or 2^40 and a few bytes more */
    OVERFLOWING, /* cuts whose sums do not fit into 64 bits */
    NUM_KINDS
} table_kind;

static uint64_t random_peak(table_kind kind, uint64_t *seed) {
    switch (kind) {
    case TIES:
        return random_below(seed, 4);
    case FORBIDDING:
        return random_below(seed, 3) == 0 ? POPLINER_PEAK_FORBIDDEN : random_below(seed, 1000);
    case HUGE_TIES:
        return ((uint64_t)1 << 40) + random_below(seed, 4);
    case NEAR_TIES:
        return random_below(seed, 4) == 0 ? random_below(seed, 5) : 638975 + random_below(seed, 2);
    default:
        return random_below(seed, 1000000);
    }
}

static uint64_t random_cut(table_kind kind, uint64_t *seed) {
    switch (kind) {
    case TIES:
        return random_below(seed, 3);
    case FREE_CUTS:
        return 0;
    case HUGE_TIES:
        return ((uint64_t)1 << 40) + random_below(seed, 3);
    case NEAR_TIES:
        return (random_below(seed, 2) << 40) + random_below(seed, 4);
    case OVERFLOWING:
        return UINT64_MAX / 3 + random_below(seed, 3) * (UINT64_MAX / 6);
    default:
        return random_below(seed, 100000);
    }
}

static popliner_costs *random_costs(table_kind kind, size_t num_units, uint64_t *seed) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(num_units, 1, &costs, NULL), POPLINER_OK);
    for (size_t unit = 1; unit < num_units; ++unit)
        popliner_costs_set_cut(costs, unit, random_cut(kind, seed), NULL);
    if (kind != SHARING) {
        for (size_t i = 0; i < num_units; ++i)
            for (size_t j = i; j < num_units; ++j)
                popliner_costs_set_peak(costs, i, j, 1, random_peak(kind, seed), NULL);
        return costs;
    }
    uint64_t thing_bytes[48];
    for (size_t t = 0; t < 48; ++t)
        thing_bytes[t] = 100 + random_below(seed, 20000);
    uint64_t *uses = calloc(num_units, sizeof *uses);
    uint64_t *own_bytes = calloc(num_units, sizeof *own_bytes);
    for (size_t i = 0; i < num_units; ++i) {
        for (int k = 0; k < 5; ++k)
            uses[i] |= (uint64_t)1 << random_below(seed, 48);
        own_bytes[i] = random_below(seed, 9000);
    }
    for (size_t i = 0; i < num_units; ++i) {
        uint64_t used = 0;
        uint64_t bytes = 0;
        for (size_t j = i; j < num_units; ++j) {
            bytes += own_bytes[j];
            for (size_t t = 0; t < 48; ++t)
                if (((uses[j] & ~used) >> t & 1) != 0)
                    bytes += thing_bytes[t];
            used |= uses[j];
            popliner_costs_set_peak(costs, i, j, 1, bytes, NULL);
        }
    }
    free(uses);
    free(own_bytes);
    return costs;
}

/* ---- solving ---- */

/* What a listener heard. */
typedef struct heard {
    size_t num_programs; /* that GLPK was given */
    size_t num_debug;    /* messages for those who look for mistakes, these among them */
    size_t num_warnings;
    char warning[300];
} heard;

static void hear(void *user, popliner_level level, const char *text) {
    heard *what = user;
    assert_null(strchr(text, '\n'));
    if (level == POPLINER_LEVEL_DEBUG)
        ++what->num_debug;
    if (strncmp(text, "integer program:", strlen("integer program:")) == 0)
        ++what->num_programs;
    if (level == POPLINER_LEVEL_WARNING) {
        ++what->num_warnings;
        snprintf(what->warning, sizeof what->warning, "%s", text);
    }
}

/* Solves without a time limit. GLPK is asked if that is what is wanted, or if it proves, too. */
static popliner_status solve(const popliner_costs *costs, popliner_method method, size_t max_stages,
                             uint64_t max_stage_bytes, popliner_plan *plan) {
    heard what = {0};
    const popliner_listener listener = {.user = &what, .message = hear};
    const popliner_solver_options options = {.method = method,
                                             .num_ipus = max_stages,
                                             .mem_per_tile = max_stage_bytes,
                                             .listener = &listener};
    popliner_error error = {0};
    *plan = (popliner_plan){0};
    popliner_status status = pl_solve(costs, &options, plan, &error);
    assert_int_equal(what.num_warnings, 0);
    if (method == POPLINER_METHOD_DYNAMIC_PROGRAMMING)
        assert_int_equal(what.num_programs, 0);
    else if (plan->status == POPLINER_PLAN_OPTIMAL && plan->proof != POPLINER_PROOF_DYNAMIC_PROGRAM)
        assert_true(what.num_programs > 0);
    if (status != POPLINER_OK)
        print_error("%s\n", error.message);
    return status;
}

static void assert_same_plans(const popliner_plan *a, const popliner_plan *b) {
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->num_stages, b->num_stages);
    assert_true(a->peak_bytes == b->peak_bytes && a->cut_bytes == b->cut_bytes);
    for (size_t i = 0; i < a->num_stages; ++i) {
        assert_int_equal(a->stages[i].first_unit, b->stages[i].first_unit);
        assert_int_equal(a->stages[i].last_unit, b->stages[i].last_unit);
    }
}

static const popliner_method methods[] = {POPLINER_METHOD_AUTO, POPLINER_METHOD_DYNAMIC_PROGRAMMING,
                                          POPLINER_METHOD_ILP};

static const pl_stop never = {.deadline_seconds = INFINITY};

/* The problem of a chain over IPUs 0 ... num_stages - 1, each with one stage: one that GLPK can be
 * given whole. Free with pl_problem_free. */
static pl_problem mapped_problem(const popliner_costs *costs, popliner_solver_options *options,
                                 size_t num_stages) {
    static const size_t map[MOST_BRUTE_UNITS] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                 8, 9, 10, 11, 12, 13, 14, 15};
    pl_problem problem = {0};
    *options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    options->device_map = map;
    options->num_mapped_stages = num_stages;
    assert_int_equal(pl_problem_create(&problem, costs, options, NULL), POPLINER_OK);
    return problem;
}

/* The best split for the goal by integer programs alone. */
static void find_by_programs(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                             pl_split *split) {
    bool is_stopped = true;
    assert_int_equal(
        pl_straight_find(problem, &filter->limits, goal, &never, split, &is_stopped, NULL),
        POPLINER_OK);
    assert_false(is_stopped);
}

/* GLPK alone, without the dynamic program: the same splits. */
static void programs_are_exact_by_themselves(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    uint64_t seed = 2;
    size_t num_taken = 0;
    size_t num_found = 0;
    for (size_t instance = 0; instance < 60 * NUM_KINDS; ++instance) {
        table_kind kind = (table_kind)(instance % NUM_KINDS);
        size_t n = 2 + random_below(&seed, 10);
        size_t num_stages = 1 + random_below(&seed, n);
        popliner_costs *costs = random_costs(kind, n, &seed);
        popliner_solver_options options;
        if (!test_takes_case(instance, 5)) {
            popliner_costs_free(costs);
            continue;
        }
        num_taken++;
        pl_problem problem = mapped_problem(costs, &options, num_stages);
        brute_answer expected = brute_force(costs, &options);
        bool is_possible = expected.status == POPLINER_PLAN_OPTIMAL;
        pl_filter filter = pl_filter_of_limits();
        filter.limits.max_peak_bytes = expected.split.values[POPLINER_OBJECTIVE_MEMORY];
        for (int goal = PL_GOAL_ANY; goal <= PL_GOAL_EARLIEST_CUTS; ++goal) {
            pl_split split = {0};
            if (goal == PL_GOAL_FEWEST_STAGES)
                continue;
            if (goal == PL_GOAL_EARLIEST_CUTS)
                filter.limits.max_cut_bytes = expected.split.values[POPLINER_OBJECTIVE_TRAFFIC];
            find_by_programs(&problem, &filter, (pl_goal)goal, &split);
            assert_int_equal(split.num_stages, is_possible ? num_stages : 0);
            num_found += is_possible;
            pl_objective_values values = {0};
            if (is_possible)
                assert_int_equal(pl_split_evaluate(&problem, &split, &values, NULL, NULL),
                                 POPLINER_OK);
            if (is_possible && goal == PL_GOAL_FEWEST_CUT_BYTES)
                assert_true(values.cut_bytes == expected.split.values[POPLINER_OBJECTIVE_TRAFFIC]);
            for (size_t i = 0; is_possible && goal == PL_GOAL_EARLIEST_CUTS && i < num_stages; ++i)
                assert_int_equal(split.first_units[i], expected.split.stages[i].first_unit);
            pl_split_clear(&split);
            /* a byte less, and there is none */
            if (is_possible && goal == PL_GOAL_ANY && filter.limits.max_peak_bytes > 0) {
                pl_filter less = filter;
                --less.limits.max_peak_bytes;
                find_by_programs(&problem, &less, PL_GOAL_ANY, &split);
                assert_int_equal(split.num_stages, 0);
            }
        }
        pl_problem_free(&problem);
        popliner_costs_free(costs);
    }
    assert_in_range(60 * NUM_KINDS * num_found / num_taken, 700, 3 * 60 * NUM_KINDS);
}

/* The best value by programs that begin with a claim: a split within the filter, with as early cuts
 * as there can be, that is said to be the best. Whether it was. */
static bool keeps_claim(const pl_problem *problem, const pl_filter *filter,
                        popliner_objective objective, uint64_t best) {
    popliner_plan plan = {0};
    pl_search search = {.problem = problem,
                        .stop = &never,
                        .filter = *filter,
                        .uses_programs = true,
                        .is_claim = true};
    find_by_programs(problem, filter, PL_GOAL_EARLIEST_CUTS, &search.split);
    assert_true(search.split.num_stages > 0);
    assert_int_equal(pl_split_evaluate(problem, &search.split, &search.values, NULL, NULL),
                     POPLINER_OK);
    const uint64_t claimed = pl_search_value(&search, objective);
    assert_int_equal(pl_search_optimise(&search, &objective, 1, &plan, NULL), POPLINER_OK);
    assert_true(search.is_proven);
    assert_true(plan.values[0].bound == best && plan.values[0].value == best);
    pl_search_free(&search);
    return claimed == best;
}

/* Whether programs find that no split has less of the objective than `best`. */
static bool nothing_is_below(const pl_problem *problem, const pl_filter *filter,
                             popliner_objective objective, uint64_t best) {
    const pl_filter less = pl_filter_limited(filter, objective, best - 1);
    pl_split split = {0};
    find_by_programs(problem, &less, PL_GOAL_ANY, &split);
    const bool is_nothing = split.num_stages == 0;
    pl_split_clear(&split);
    return is_nothing;
}

/* Programs agree with what is so, and with nothing else: they know of a better split where a worse
 * one is said to be the best, of one where there is said to be none, and of none where a claim is
 * too good. They never ask the dynamic program. */
static void finds_wrong_claims(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    static const popliner_objective objectives[] = {
        POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_IPUS};
    uint64_t seed = 13;
    size_t num_refuted = 0;
    size_t num_too_good = 0;
    const size_t num_instances = test_takes_all() ? 200 : 40;
    for (size_t instance = 0; instance < num_instances; ++instance) {
        size_t n = 2 + random_below(&seed, 9);
        popliner_costs *costs = random_costs(instance % 2 == 0 ? SHARING : TIES, n, &seed);
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.num_ipus = 1 + random_below(&seed, n);
        options.objectives = objectives;
        options.num_objectives = 3;
        pl_problem problem = {0};
        assert_int_equal(pl_problem_create(&problem, costs, &options, NULL), POPLINER_OK);
        brute_answer expected = brute_force(costs, &options);
        pl_filter filter = pl_filter_of_limits();
        for (size_t i = 0; i < 3; ++i) {
            uint64_t best = expected.split.values[objectives[i]];
            num_refuted += !keeps_claim(&problem, &filter, objectives[i], best);
            if (best > 0) {
                assert_true(nothing_is_below(&problem, &filter, objectives[i], best));
                ++num_too_good;
            }
            assert_false(nothing_is_below(&problem, &filter, objectives[i], best + 1));
            filter = pl_filter_limited(&filter, objectives[i], best);
        }
        pl_problem_free(&problem);
        popliner_costs_free(costs);
    }
    assert_in_range(num_refuted, num_instances / 2, 5 * num_instances / 2);
    assert_in_range(num_too_good, 2 * num_instances, 3 * num_instances);
}

/* Cuts that differ by one byte at 2^50 look the same to GLPK: the splits that it cannot tell apart
 * are looked at one by one. */
static void tells_single_bytes_apart(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    const uint64_t large = (uint64_t)1 << 50;
    for (size_t best = 1; best < 6; ++best) {
        popliner_costs *costs;
        assert_int_equal(popliner_costs_create(6, 1, &costs, NULL), POPLINER_OK);
        for (size_t i = 0; i < 6; ++i)
            for (size_t j = i; j < 6; ++j)
                popliner_costs_set_peak(costs, i, j, 1, i == 0 && j == 5 ? 9 : 1, NULL);
        for (size_t cut = 1; cut < 6; ++cut)
            popliner_costs_set_cut(costs, cut, large + (cut != best), NULL);
        popliner_solver_options options;
        pl_problem problem = mapped_problem(costs, &options, 2);
        pl_filter filter = pl_filter_of_limits();
        pl_split split = {0};
        find_by_programs(&problem, &filter, PL_GOAL_FEWEST_CUT_BYTES, &split);
        assert_true(nothing_is_below(&problem, &filter, POPLINER_OBJECTIVE_TRAFFIC, large));
        assert_int_equal(split.num_stages, 2);
        assert_int_equal(split.first_units[1], best);
        pl_split_clear(&split);
        pl_problem_free(&problem);
        popliner_costs_free(costs);
    }
}

/* Worked out by hand: two units to a stage at most, so 2 cuts at least; of all lists of cuts that
 * are as cheap, the one that begins another comes first, then the one with the earliest cuts. */
static void breaks_ties_by_the_earliest_cuts(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(5, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 5; ++i)
        for (size_t j = i; j < 5; ++j)
            popliner_costs_set_peak(costs, i, j, 1, j - i < 2 ? 7 : 8, NULL);
    for (size_t m = 0; m < (test_has_glpk() ? 3 : 2); ++m) {
        popliner_plan plan;
        assert_int_equal(solve(costs, methods[m], 5, 100, &plan), POPLINER_OK);
        /* all cuts are free: 1 2 3 4 comes before 1 3 and 2 4 */
        assert_int_equal(plan.num_stages, 4);
        assert_int_equal(plan.stages[1].first_unit, 1);
        assert_int_equal(plan.stages[2].first_unit, 2);
        assert_int_equal(plan.stages[3].first_unit, 3); /* 1 2 3 before 1 2 3 4 */
        pl_plan_clear(&plan);

        assert_int_equal(solve(costs, methods[m], 3, 100, &plan), POPLINER_OK);
        /* with three stages: 1 3 before 2 3 and 2 4 */
        assert_int_equal(plan.num_stages, 3);
        assert_int_equal(plan.stages[1].first_unit, 1);
        assert_int_equal(plan.stages[2].first_unit, 3);
        pl_plan_clear(&plan);
    }
    popliner_costs_free(costs);
}

/* ---- options and GLPK ---- */

static void refuses_senseless_options(void **state) {
    (void)state;
    uint64_t seed = 6;
    popliner_costs *costs = random_costs(ARBITRARY, 3, &seed);
    const popliner_solver_options good = {.num_ipus = 2, .mem_per_tile = UINT64_MAX};
    static const popliner_objective twice[] = {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_IPUS};
    static const popliner_objective cycles[] = {POPLINER_OBJECTIVE_CYCLES};
    static const popliner_objective unknown[] = {(popliner_objective)9};
    static const size_t shared_map[] = {0, 1, 0};
    static const popliner_constraint pair = {.unit = 0, .second_unit = 3};
    static const popliner_constraint placement = {.unit = 3, .ipu = 0};
    static const char *const fields[] = {"time_limit_seconds: ",
                                         "time_limit_seconds: ",
                                         "method: ",
                                         "objectives: ",
                                         "cycles",
                                         "objectives: ",
                                         "slack_percent: ",
                                         "slack_percent: ",
                                         "method: ",
                                         "pairs: ",
                                         "placements: "};
    popliner_solver_options bad[11];
    for (size_t i = 0; i < 11; ++i)
        bad[i] = good;
    bad[0].time_limit_seconds = -1.0;
    bad[1].time_limit_seconds = NAN;
    bad[2].method = (popliner_method)7;
    bad[3].objectives = twice;
    bad[3].num_objectives = 2;
    bad[4].objectives = cycles; /* the costs have none */
    bad[4].num_objectives = 1;
    bad[5].objectives = unknown;
    bad[5].num_objectives = 1;
    bad[6].slack_percent = -1.0;
    bad[7].slack_percent = NAN;
    bad[8].device_map = shared_map;
    bad[8].num_mapped_stages = 3;
    bad[8].method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
    bad[9].pairs = &pair;
    bad[9].num_pairs = 1;
    bad[10].placements = &placement;
    bad[10].num_placements = 1;
    for (size_t i = 0; i < 11; ++i) {
        popliner_plan plan = {0};
        popliner_error error = {0};
        assert_int_equal(pl_solve(costs, &bad[i], &plan, &error), POPLINER_ERROR_USAGE);
        assert_int_equal(error.status, POPLINER_ERROR_USAGE);
        assert_non_null(strstr(error.message, fields[i]));
        assert_null(plan.stages);
        assert_int_equal(pl_solve(costs, &bad[i], &plan, NULL), POPLINER_ERROR_USAGE);
    }
    popliner_costs_free(costs);
}

/* No time at all: nothing is known, and that is said. Much time: nothing is different. */
static void answers_when_time_runs_out(void **state) {
    (void)state;
    uint64_t seed = 7;
    popliner_costs *costs = random_costs(SHARING, 60, &seed);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 8;
    options.time_limit_seconds = 1e-9;
    popliner_plan hurried = {0};
    popliner_plan expected;
    assert_int_equal(pl_solve(costs, &options, &hurried, NULL), POPLINER_OK);
    assert_int_equal(hurried.status, POPLINER_PLAN_INFEASIBLE);
    assert_int_equal(hurried.infeasibility.obstacle, POPLINER_OBSTACLE_UNKNOWN);
    assert_true(hurried.is_stopped);
    assert_int_equal(hurried.num_stages, 0);
    pl_plan_clear(&hurried);

    assert_int_equal(solve(costs, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 8, UINT64_MAX, &expected),
                     POPLINER_OK);
    options.time_limit_seconds = 3600.0;
    assert_int_equal(pl_solve(costs, &options, &hurried, NULL), POPLINER_OK);
    assert_false(hurried.is_stopped);
    assert_same_plans(&hurried, &expected);
    pl_plan_clear(&hurried);
    pl_plan_clear(&expected);
    popliner_costs_free(costs);
}

/* Wherever the solver is stopped, what it has is a split within the limits with bounds that hold,
 * and is only called optimal when it is; without and with GLPK, and with integer programs alone. */
static void stops_in_the_middle(void **state) {
    (void)state;
    static const size_t shared_map[] = {0, 1, 2, 0};
    static const popliner_objective all[] = {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_BALANCE,
                                             POPLINER_OBJECTIVE_TRAFFIC};
    uint64_t seed = 11;
    popliner_costs *costs = random_costs(SHARING, 14, &seed);
    for (int round = 0; round < (test_has_glpk() ? 3 : 2); ++round) {
        bool is_shared = round == 1;
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.method = round < 2 ? POPLINER_METHOD_AUTO : POPLINER_METHOD_ILP;
        options.num_ipus = 4;
        options.objectives = all;
        options.num_objectives = 3;
        if (is_shared) {
            options.device_map = shared_map;
            options.num_mapped_stages = 4;
        }
        brute_answer expected = brute_force(costs, &options);
        size_t num_stopped = 0;
        size_t num_with_split = 0;
        bool is_done = false;
        for (size_t granted = 0; !is_done; granted += 1 + granted / 3) {
            popliner_plan plan = {0};
            size_t left = granted;
            options.should_stop = test_stop_after;
            options.should_stop_user = &left;
            assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
            is_done = !plan.is_stopped;
            num_stopped += plan.is_stopped;
            num_with_split += plan.is_stopped && plan.num_stages > 0;
            if (is_done) {
                assert_plan_is(&plan, &expected);
            } else if (plan.num_stages > 0) {
                assert_true(plan.values[0].bound <= expected.bounds[0]);
                assert_true(plan.values[0].value >= expected.bounds[0]);
                assert_int_equal(plan.num_values, 3);
                /* optimal if only the earliest cuts were not found any more */
                assert_int_not_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
                for (size_t i = 0; i < 3 && plan.status == POPLINER_PLAN_OPTIMAL; ++i) {
                    assert_true(plan.values[i].value == expected.bounds[i]);
                    assert_true(plan.values[i].bound == expected.bounds[i]);
                }
            }
            pl_plan_clear(&plan);
        }
        assert_in_range(num_stopped, 5, 200);
        assert_in_range(num_with_split, 3, num_stopped - 1);
    }
    popliner_costs_free(costs);
}

/* Only the size of each program is told; GLPK's own messages reach nobody. */
static void keeps_glpk_off_the_terminal(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    uint64_t seed = 8;
    popliner_costs *costs = random_costs(SHARING, 30, &seed);
    heard what = {0};
    const popliner_listener listener = {.user = &what, .message = hear};
    const popliner_solver_options options = {.method = POPLINER_METHOD_ILP,
                                             .num_ipus = 5,
                                             .mem_per_tile = UINT64_MAX,
                                             .listener = &listener};
    FILE *terminal = tmpfile();
    assert_non_null(terminal);
    fflush(stdout);
    fflush(stderr);
    int output = dup(STDOUT_FILENO);
    int errors = dup(STDERR_FILENO);
    dup2(fileno(terminal), STDOUT_FILENO);
    dup2(fileno(terminal), STDERR_FILENO);
    popliner_plan plan = {0};
    popliner_status status = pl_solve(costs, &options, &plan, NULL);
    fflush(stdout);
    fflush(stderr);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    close(output);
    close(errors);
    assert_int_equal(status, POPLINER_OK);
    assert_in_range(what.num_programs, 3, 50);
    assert_int_equal(what.num_debug, what.num_programs);
    fseek(terminal, 0, SEEK_END);
    assert_int_equal(ftell(terminal), 0);
    fclose(terminal);
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
}

static bool has_many_programs(void *user) {
    const heard *what = user;
    return what->num_programs > 20;
}

/* The bound of cycles is theirs, not one of bytes, where the balance of memory came before; no
 * program looks for less than 0. */
static void ends_at_nothing_after_a_balance(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    static const popliner_objective objectives[] = {
        POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_BALANCE, POPLINER_OBJECTIVE_CYCLES};
    heard what = {0};
    const popliner_listener listener = {.user = &what, .message = hear};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.method = POPLINER_METHOD_ILP;
    options.objectives = objectives;
    options.num_objectives = 3;
    options.num_ipus = 1;
    options.listener = &listener;
    options.should_stop = has_many_programs;
    options.should_stop_user = &what;
    popliner_costs *costs = NULL;
    popliner_plan plan = {0};
    assert_int_equal(popliner_costs_create(1, 1, &costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_set_peak(costs, 0, 0, 1, 27, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_set_cycles(costs, 0, 0, 0, NULL), POPLINER_OK);
    assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan.values[2].value, 0);
    assert_int_equal(plan.values[2].bound, 0);
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
}

/* Solves a small chain by GLPK and checks it; what must still work after GLPK failed. */
static void solve_again(void) {
    uint64_t seed = 9;
    popliner_costs *costs = random_costs(SHARING, 8, &seed);
    static const size_t map[] = {0, 1, 0}; /* nothing but GLPK will do */
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.device_map = map;
    options.num_mapped_stages = 3;
    brute_answer expected = brute_force(costs, &options);
    popliner_plan plan = {0};
    assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
    assert_plan_is(&plan, &expected);
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
}

/* A program that takes GLPK more than a mebibyte. */
static void survives_a_lack_of_memory(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    const pl_glpk_limits limits = {.memory_mib = 1, .stop = &never};
    pl_mip program = {0};
    for (size_t i = 0; i < 20000; ++i) {
        pl_mip_add_row(&program, 1.0, INFINITY);
        pl_mip_add_column(&program, true, 1.0);
        pl_mip_add_entry(&program, i, i, 1.0);
        assert_false(program.arrays.failed);
    }
    double *values = calloc(20000, sizeof *values);
    for (int i = 0; i < 3; ++i) {
        popliner_error error = {0};
        pl_mip_outcome outcome;
        assert_int_equal(pl_glpk_solve(&program, &limits, values, &outcome, &error),
                         POPLINER_ERROR_INTERNAL);
        assert_non_null(strstr(error.message, "GLPK"));
        assert_non_null(strstr(error.message, "memory"));
        solve_again();
    }
    free(values);
    pl_arrays_free(&program.arrays);
}

/* The allocations of this program that are left before one fails, in the solver as in the test. */
static size_t allocations_left = SIZE_MAX;

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool may_allocate(void) {
    return allocations_left == SIZE_MAX || (allocations_left > 0 && allocations_left-- > 0);
}

/* The linker puts these in the place of calloc and realloc. */
void *__wrap_calloc(size_t count, size_t size) {
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size) {
    return may_allocate() ? __real_realloc(memory, size) : NULL;
}

static void check_refused_allocations(popliner_method method, size_t num_units, size_t most) {
    uint64_t seed = 12;
    popliner_costs *costs = random_costs(SHARING, num_units, &seed);
    popliner_plan expected;
    assert_int_equal(solve(costs, method, 4, UINT64_MAX, &expected), POPLINER_OK);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.num_ipus = 4;
    options.method = method;
    size_t granted = 0;
    popliner_status status = POPLINER_ERROR_MEMORY;
    for (; status != POPLINER_OK; ++granted) {
        popliner_plan plan = {0};
        popliner_error error = {0};
        allocations_left = granted;
        status = pl_solve(costs, &options, &plan, &error);
        allocations_left = SIZE_MAX;
        if (status == POPLINER_OK) {
            assert_same_plans(&plan, &expected);
        } else {
            assert_int_equal(status, POPLINER_ERROR_MEMORY);
            assert_non_null(strstr(error.message, "not enough memory"));
            assert_null(plan.stages);
        }
        pl_plan_clear(&plan);
    }
    assert_in_range(granted, 20, most);
    pl_plan_clear(&expected);
    popliner_costs_free(costs);
}

/* Whichever allocation is refused, the solver says so and leaves nothing behind. */
static void reports_every_refused_allocation(void **state) {
    (void)state;
    check_refused_allocations(POPLINER_METHOD_AUTO, 20, 1500);
    check_refused_allocations(POPLINER_METHOD_DYNAMIC_PROGRAMMING, 20, 500);
    if (test_has_glpk())
        check_refused_allocations(POPLINER_METHOD_ILP, 7, 1000);
}

/* The same place twice is a mistake for which GLPK aborts. */
static void survives_a_fatal_error(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    const pl_glpk_limits limits = {.memory_mib = 100, .stop = &never};
    pl_mip program = {0};
    pl_mip_add_row(&program, 1.0, INFINITY);
    pl_mip_add_column(&program, true, 1.0);
    pl_mip_add_entry(&program, 0, 0, 1.0);
    pl_mip_add_entry(&program, 0, 0, 1.0);
    assert_false(program.arrays.failed);
    double value;
    pl_mip_outcome outcome;
    popliner_error error = {0};
    assert_int_equal(pl_glpk_solve(&program, &limits, &value, &outcome, &error),
                     POPLINER_ERROR_INTERNAL);
    assert_non_null(strstr(error.message, "duplicate"));
    solve_again();
    pl_arrays_free(&program.arrays);
}

/* min x + 2 y + t under x + y >= 1.5, t >= 3 x - 1: x = y = 1 and t = 2; and impossible ones. */
static void solves_small_programs(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    const pl_glpk_limits limits = {.memory_mib = 100, .stop = &never};
    pl_mip program = {0};
    pl_mip_add_row(&program, 1.5, INFINITY);
    pl_mip_add_row(&program, -1.0, INFINITY);
    pl_mip_add_column(&program, true, 1.0);
    pl_mip_add_column(&program, true, 2.0);
    pl_mip_add_column(&program, false, 1.0);
    pl_mip_add_entry(&program, 0, 0, 1.0);
    pl_mip_add_entry(&program, 0, 1, 1.0);
    pl_mip_add_entry(&program, 1, 0, -3.0);
    pl_mip_add_entry(&program, 1, 2, 1.0);
    assert_false(program.arrays.failed);
    double values[3];
    pl_mip_outcome outcome;
    assert_int_equal(pl_glpk_solve(&program, &limits, values, &outcome, NULL), POPLINER_OK);
    assert_int_equal(outcome, PL_MIP_OPTIMAL);
    assert_true(fabs(values[0] - 1.0) < 1e-6 && fabs(values[1] - 1.0) < 1e-6);
    assert_true(fabs(values[2] - 2.0) < 1e-6);

    program.rows[0].lower = 2.5; /* not even relaxed */
    assert_int_equal(pl_glpk_solve(&program, &limits, values, &outcome, NULL), POPLINER_OK);
    assert_int_equal(outcome, PL_MIP_IMPOSSIBLE);

    program.rows[0] = (pl_mip_row){1.5, 1.5}; /* relaxed, but not in integers */
    assert_int_equal(pl_glpk_solve(&program, &limits, values, &outcome, NULL), POPLINER_OK);
    assert_int_equal(outcome, PL_MIP_IMPOSSIBLE);
    pl_arrays_free(&program.arrays);
}

#ifdef TEST_WITH_GLPK
/* Objects of GLPK that the caller has in the same thread are none of the solver's business. */
static void leaves_the_callers_objects_alone(void **state) {
    (void)state;
    glp_prob *problem = glp_create_prob();
    glp_add_rows(problem, 3);
    solve_again();
    assert_int_equal(glp_get_num_rows(problem), 3);

    /* nor is the memory that they take */
    const pl_glpk_limits limits = {.memory_mib = 1, .stop = &never};
    pl_mip program = {0};
    pl_mip_add_row(&program, 1.0, INFINITY);
    pl_mip_add_column(&program, true, 1.0);
    pl_mip_add_entry(&program, 0, 0, 1.0);
    assert_false(program.arrays.failed);
    double value;
    pl_mip_outcome outcome;
    assert_int_equal(pl_glpk_solve(&program, &limits, &value, &outcome, NULL), POPLINER_OK);
    pl_arrays_free(&program.arrays);
    glp_add_rows(problem, 50000);
    assert_int_equal(glp_get_num_rows(problem), 50003);
    glp_delete_prob(problem);
    glp_free_env();
}
#endif

static void *solve_in_thread(void *argument) {
    (void)argument;
    solve_again();
    return NULL;
}

static void works_in_a_thread(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, solve_in_thread, NULL), 0);
    pthread_join(thread, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_exact_by_themselves),
        cmocka_unit_test(finds_wrong_claims),
        cmocka_unit_test(tells_single_bytes_apart),
        cmocka_unit_test(breaks_ties_by_the_earliest_cuts),
        cmocka_unit_test(refuses_senseless_options),
        cmocka_unit_test(answers_when_time_runs_out),
        cmocka_unit_test(stops_in_the_middle),
        cmocka_unit_test(keeps_glpk_off_the_terminal),
        cmocka_unit_test(ends_at_nothing_after_a_balance),
        cmocka_unit_test(survives_a_lack_of_memory),
        cmocka_unit_test(reports_every_refused_allocation),
        cmocka_unit_test(survives_a_fatal_error),
        cmocka_unit_test(solves_small_programs),
#ifdef TEST_WITH_GLPK
        cmocka_unit_test(leaves_the_callers_objects_alone),
#endif
        cmocka_unit_test(works_in_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
