/* The optimal solvers against brute force, against each other, and against properties of an
 * optimum that are computed in another way; and what happens when GLPK is in trouble.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "test.h"

#include "popliner/solver.h"
#include "solve/costs.h"
#include "solve/dynamic_program.h"
#include "solve/interval_program.h"

#include <glpk.h>
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
    assert_int_equal(popliner_costs_create(num_units, &costs, NULL), POPLINER_OK);
    for (size_t unit = 1; unit < num_units; ++unit)
        popliner_costs_set_cut(costs, unit, random_cut(kind, seed));
    if (kind != SHARING) {
        for (size_t i = 0; i < num_units; ++i)
            for (size_t j = i; j < num_units; ++j)
                popliner_costs_set_peak(costs, i, j, random_peak(kind, seed));
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
            popliner_costs_set_peak(costs, i, j, bytes);
        }
    }
    free(uses);
    free(own_bytes);
    return costs;
}

/* ---- solving ---- */

/* What a listener heard. */
typedef struct heard {
    size_t num_debug;
    size_t num_warnings;
    char warning[300];
} heard;

static void hear(void *user, popliner_level level, const char *text) {
    heard *what = user;
    assert_null(strchr(text, '\n'));
    if (level == POPLINER_LEVEL_DEBUG)
        ++what->num_debug;
    if (level == POPLINER_LEVEL_WARNING) {
        ++what->num_warnings;
        snprintf(what->warning, sizeof what->warning, "%s", text);
    }
}

/* Solves without a time limit; only answers to which GLPK found its own way pass. */
static popliner_status solve(const popliner_costs *costs, popliner_method method, size_t max_stages,
                             uint64_t max_stage_bytes, popliner_plan *plan) {
    heard what = {0};
    const popliner_listener listener = {&what, hear, NULL};
    const popliner_solver_options options = {.method = method,
                                             .max_stages = max_stages,
                                             .max_stage_bytes = max_stage_bytes,
                                             .listener = &listener};
    popliner_error error = {0};
    *plan = (popliner_plan){0};
    popliner_status status = popliner_solve(costs, &options, plan, &error);
    assert_int_equal(what.num_warnings, 0); /* the integer program did its part */
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

static const popliner_method methods[] = {POPLINER_METHOD_ILP, POPLINER_METHOD_DYNAMIC_PROGRAMMING};

static void equals_brute_force(void **state) {
    (void)state;
    uint64_t seed = 1;
    size_t num_infeasible = 0;
    size_t num_without_split = 0;
    size_t num_limited = 0;
    for (size_t instance = 0; instance < 1000 * NUM_KINDS; ++instance) {
        table_kind kind = (table_kind)(instance % NUM_KINDS);
        size_t n = 1 + random_below(&seed, MOST_BRUTE_UNITS);
        size_t max_stages = 1 + random_below(&seed, n + 2);
        popliner_costs *costs = random_costs(kind, n, &seed);
        uint64_t max_stage_bytes = UINT64_MAX - random_below(&seed, 2);
        if (random_below(&seed, 2) == 0) {
            size_t i = random_below(&seed, n);
            max_stage_bytes = popliner_costs_peak(costs, i, i + random_below(&seed, n - i));
        }
        candidate within = brute_force(costs, max_stages, max_stage_bytes);
        candidate expected =
            within.exists ? within : brute_force(costs, max_stages, POPLINER_PEAK_FORBIDDEN);
        num_infeasible += !within.exists && expected.exists;
        num_without_split += !expected.exists;
        num_limited += within.exists && within.num_cuts + 1 == max_stages && max_stages < n;
        for (size_t m = 0; m < 2; ++m) {
            popliner_plan plan;
            assert_int_equal(solve(costs, methods[m], max_stages, max_stage_bytes, &plan),
                             POPLINER_OK);
            assert_int_equal(plan.status,
                             within.exists ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_INFEASIBLE);
            assert_plan_is(costs, &plan, &expected);
            assert_int_equal(plan.bounds_known, within.exists);
            if (within.exists) {
                assert_true(plan.peak_bound == expected.peak_bytes);
                assert_true(plan.cut_bound == expected.cut_bytes);
            }
            popliner_plan_clear(&plan);
        }
        popliner_costs_free(costs);
    }
    /* the instances do reach what they are meant to */
    assert_in_range(num_infeasible, 700, 7000);
    assert_in_range(num_without_split, 70, 1000);
    assert_in_range(num_limited, 700, 7000);
}

/* The integer program alone: no bound to lean on, and limits that leave it everything. */
static void programs_are_exact_by_themselves(void **state) {
    (void)state;
    uint64_t seed = 2;
    const pl_glpk_limits limits = {.memory_mib = 1024, .deadline_seconds = INFINITY};
    size_t num_unproven = 0;
    size_t num_tried = 0;
    for (size_t instance = 0; instance < 60 * NUM_KINDS; ++instance) {
        table_kind kind = (table_kind)(instance % NUM_KINDS);
        size_t n = 2 + random_below(&seed, MOST_BRUTE_UNITS - 2);
        size_t max_stages = 1 + random_below(&seed, n);
        popliner_costs *costs = random_costs(kind, n, &seed);
        candidate expected = brute_force(costs, max_stages, POPLINER_PEAK_FORBIDDEN);

        pl_program_answer peak = {0};
        assert_int_equal(pl_program_smallest_peak(costs, max_stages, POPLINER_PEAK_FORBIDDEN - 1, 0,
                                                  &limits, &peak, NULL),
                         POPLINER_OK);
        assert_true(peak.proven);
        assert_false(peak.out_of_time);
        assert_int_equal(peak.split.num_stages > 0, expected.exists);
        if (expected.exists)
            assert_true(peak.value_bytes == expected.peak_bytes);
        pl_split_clear(&peak.split);

        if (expected.exists && kind != OVERFLOWING) {
            pl_program_answer cuts = {0};
            assert_int_equal(pl_program_fewest_cut_bytes(costs, max_stages, expected.peak_bytes,
                                                         PL_MOST_CUT_BYTES - 1, 0, &limits, &cuts,
                                                         NULL),
                             POPLINER_OK);
            ++num_tried;
            if (cuts.proven)
                assert_true(cuts.value_bytes == expected.cut_bytes);
            else
                ++num_unproven;
            assert_true(cuts.value_bytes >= expected.cut_bytes);
            assert_true(pl_split_cut_bytes(costs, &cuts.split) == cuts.value_bytes);
            assert_true(pl_split_peak(costs, &cuts.split) <= expected.peak_bytes);
            pl_split_clear(&cuts.split);
        }
        popliner_costs_free(costs);
    }
    /* many equal splits, excluded one by one: the exception */
    assert_in_range(num_tried, 300, 60 * NUM_KINDS);
    assert_true(num_unproven * 10 < num_tried);
}

/* Peaks that differ by one byte at 2^50 look the same to GLPK: the second of the two programs that
 * it is given must find the smaller one. */
static void tells_single_bytes_apart(void **state) {
    (void)state;
    const uint64_t large = (uint64_t)1 << 50;
    const pl_glpk_limits limits = {.memory_mib = 1024, .deadline_seconds = INFINITY};
    for (size_t best = 1; best < 6; ++best) {
        popliner_costs *costs;
        assert_int_equal(popliner_costs_create(6, &costs, NULL), POPLINER_OK);
        /* two stages, cut anywhere: one of them needs 2^50 and a few bytes, the other hardly any */
        for (size_t i = 0; i < 6; ++i)
            for (size_t j = i; j < 6; ++j)
                popliner_costs_set_peak(costs, i, j, 2 * large);
        for (size_t cut = 1; cut < 6; ++cut) {
            popliner_costs_set_peak(costs, 0, cut - 1, cut % 2 == 0 ? 3 : large + (cut != best));
            popliner_costs_set_peak(costs, cut, 5, cut % 2 == 0 ? large + (cut != best) : 3);
        }
        pl_program_answer answer = {0};
        assert_int_equal(pl_program_smallest_peak(costs, 2, POPLINER_PEAK_FORBIDDEN - 1, 0, &limits,
                                                  &answer, NULL),
                         POPLINER_OK);
        assert_true(answer.proven);
        assert_true(answer.value_bytes == large);
        assert_int_equal(answer.split.num_stages, 2);
        assert_int_equal(answer.split.first_units[1], best);
        pl_split_clear(&answer.split);

        /* and so for cuts: all but one are a byte dearer; leaving out a cut costs nothing to see */
        for (size_t cut = 1; cut < 6; ++cut) {
            popliner_costs_set_cut(costs, cut, large + (cut != best));
            popliner_costs_set_peak(costs, 0, cut - 1, 1);
            popliner_costs_set_peak(costs, cut, 5, 1);
        }
        assert_int_equal(pl_program_fewest_cut_bytes(costs, 2, 1, PL_MOST_CUT_BYTES - 1, large,
                                                     &limits, &answer, NULL),
                         POPLINER_OK);
        assert_true(answer.proven);
        assert_true(answer.value_bytes == large);
        pl_split_clear(&answer.split);
        popliner_costs_free(costs);
    }
}

/* ---- larger tables ---- */

/* Whether at most max_stages stages of at most peak_limit_bytes cover the chain: the units that can
 * be reached with one stage more each time. */
static bool can_cover(const popliner_costs *costs, size_t max_stages, uint64_t peak_limit_bytes) {
    size_t n = popliner_costs_num_units(costs);
    size_t *stages_to = calloc(n + 1, sizeof *stages_to); /* 0: not reached */
    size_t *queue = calloc(n + 1, sizeof *queue);
    size_t num_queued = 1;
    for (size_t q = 0; q < num_queued; ++q) {
        size_t i = queue[q];
        for (size_t end = i + 1; end <= n && i < n; ++end) {
            uint64_t peak_bytes = popliner_costs_peak(costs, i, end - 1);
            if (peak_bytes == POPLINER_PEAK_FORBIDDEN || peak_bytes > peak_limit_bytes ||
                stages_to[end] != 0)
                continue;
            stages_to[end] = stages_to[i] + 1;
            queue[num_queued++] = end;
        }
    }
    bool covered = stages_to[n] != 0 && stages_to[n] <= max_stages;
    free(stages_to);
    free(queue);
    return covered;
}

static void assert_peak_is_smallest(const popliner_costs *costs, size_t max_stages,
                                    const popliner_plan *plan) {
    assert_true(can_cover(costs, max_stages, plan->peak_bytes));
    if (plan->peak_bytes > 0)
        assert_false(can_cover(costs, max_stages, plan->peak_bytes - 1));
}

static void methods_agree_on_larger_tables(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (size_t instance = 0; instance < 10 * NUM_KINDS; ++instance) {
        table_kind kind = (table_kind)(instance % NUM_KINDS);
        size_t n = 30 + random_below(&seed, 71);
        size_t max_stages = 1 + random_below(&seed, instance % 3 == 0 ? n + 5 : 16);
        popliner_costs *costs = random_costs(kind, n, &seed);
        popliner_plan ilp;
        popliner_plan dynamic;
        assert_int_equal(solve(costs, POPLINER_METHOD_ILP, max_stages, UINT64_MAX, &ilp),
                         POPLINER_OK);
        assert_int_equal(
            solve(costs, POPLINER_METHOD_DYNAMIC_PROGRAMMING, max_stages, UINT64_MAX, &dynamic),
            POPLINER_OK);
        assert_same_plans(&ilp, &dynamic);
        if (ilp.num_stages > 0)
            assert_peak_is_smallest(costs, max_stages, &ilp);
        popliner_plan_clear(&ilp);
        popliner_plan_clear(&dynamic);
        popliner_costs_free(costs);
    }
}

/* GLPK's own optimum for the peak, without any bound, on tables too large for brute force. */
static void programs_find_the_peak_of_larger_tables(void **state) {
    (void)state;
    uint64_t seed = 4;
    const pl_glpk_limits limits = {.memory_mib = 1024, .deadline_seconds = INFINITY};
    for (size_t instance = 0; instance < 12; ++instance) {
        size_t n = 20 + random_below(&seed, 10);
        size_t max_stages = 2 + random_below(&seed, 6);
        popliner_costs *costs = random_costs(SHARING, n, &seed);
        uint64_t peak_bytes;
        assert_int_equal(pl_smallest_peak(costs, max_stages, &peak_bytes, NULL), POPLINER_OK);
        pl_program_answer answer = {0};
        assert_int_equal(pl_program_smallest_peak(costs, max_stages, peak_bytes + peak_bytes / 5, 0,
                                                  &limits, &answer, NULL),
                         POPLINER_OK);
        assert_true(answer.proven);
        assert_true(answer.value_bytes == peak_bytes);
        pl_split_clear(&answer.split);
        popliner_costs_free(costs);
    }
}

static void a_thousand_units(void **state) {
    (void)state;
    uint64_t seed = 5;
    const size_t max_stages[] = {1, 16, 64};
    const table_kind kinds[] = {SHARING, ARBITRARY};
    for (size_t k = 0; k < 2; ++k) {
        popliner_costs *costs = random_costs(kinds[k], 1000, &seed);
        for (size_t i = 0; i < 3; ++i) {
            popliner_plan plans[2];
            for (size_t m = 0; m < 2; ++m)
                assert_int_equal(solve(costs, methods[m], max_stages[i], UINT64_MAX, &plans[m]),
                                 POPLINER_OK);
            assert_int_equal(plans[0].status, POPLINER_PLAN_OPTIMAL);
            assert_same_plans(&plans[0], &plans[1]);
            assert_peak_is_smallest(costs, max_stages[i], &plans[0]);
            popliner_plan_clear(&plans[0]);
            popliner_plan_clear(&plans[1]);
        }
        popliner_costs_free(costs);
    }
}

/* Worked out by hand: two units to a stage at most, so 2 cuts at least; of all lists of cuts that
 * are as cheap, the one that begins another comes first, then the one with the earliest cuts. */
static void breaks_ties_by_the_earliest_cuts(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(5, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 5; ++i)
        for (size_t j = i; j < 5; ++j)
            popliner_costs_set_peak(costs, i, j, j - i < 2 ? 7 : 8);
    for (size_t m = 0; m < 2; ++m) {
        popliner_plan plan;
        assert_int_equal(solve(costs, methods[m], 5, 100, &plan), POPLINER_OK);
        /* all cuts are free: 1 2 3 4 comes before 1 3 and 2 4 */
        assert_int_equal(plan.num_stages, 4);
        assert_int_equal(plan.stages[1].first_unit, 1);
        assert_int_equal(plan.stages[2].first_unit, 2);
        assert_int_equal(plan.stages[3].first_unit, 3); /* 1 2 3 before 1 2 3 4 */
        popliner_plan_clear(&plan);

        assert_int_equal(solve(costs, methods[m], 3, 100, &plan), POPLINER_OK);
        /* with three stages: 1 3 before 2 3 and 2 4 */
        assert_int_equal(plan.num_stages, 3);
        assert_int_equal(plan.stages[1].first_unit, 1);
        assert_int_equal(plan.stages[2].first_unit, 3);
        popliner_plan_clear(&plan);
    }
    popliner_costs_free(costs);
}

/* ---- options and GLPK ---- */

static void refuses_senseless_options(void **state) {
    (void)state;
    uint64_t seed = 6;
    popliner_costs *costs = random_costs(ARBITRARY, 3, &seed);
    const popliner_solver_options good = {.max_stages = 2, .max_stage_bytes = UINT64_MAX};
    popliner_solver_options bad[4] = {good, good, good, good};
    bad[0].max_stages = 0;
    bad[1].time_limit_seconds = -1.0;
    bad[2].time_limit_seconds = NAN;
    bad[3].method = (popliner_method)7;
    for (size_t i = 0; i < 4; ++i) {
        popliner_plan plan = {0};
        popliner_error error = {0};
        assert_int_equal(popliner_solve(costs, &bad[i], &plan, &error), POPLINER_ERROR_USAGE);
        assert_int_equal(error.status, POPLINER_ERROR_USAGE);
        assert_null(plan.stages);
        assert_int_equal(popliner_solve(costs, &bad[i], &plan, NULL), POPLINER_ERROR_USAGE);
    }
    popliner_costs_free(costs);
}

/* GLPK is given no time at all: the bound alone proves the answer, and the listener is told. */
static void answers_when_time_runs_out(void **state) {
    (void)state;
    uint64_t seed = 7;
    popliner_costs *costs = random_costs(SHARING, 60, &seed);
    heard what = {0};
    const popliner_listener listener = {&what, hear, NULL};
    popliner_solver_options options = {.method = POPLINER_METHOD_ILP,
                                       .max_stages = 8,
                                       .max_stage_bytes = UINT64_MAX,
                                       .time_limit_seconds = 1e-9,
                                       .listener = &listener};
    popliner_plan hurried = {0};
    popliner_plan expected;
    assert_int_equal(popliner_solve(costs, &options, &hurried, NULL), POPLINER_OK);
    assert_int_equal(what.num_warnings, 2);
    assert_non_null(strstr(what.warning, "ran out of time"));
    assert_int_equal(solve(costs, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 8, UINT64_MAX, &expected),
                     POPLINER_OK);
    assert_same_plans(&hurried, &expected);
    assert_true(hurried.bounds_known);
    popliner_plan_clear(&hurried);

    what = (heard){0};
    options.time_limit_seconds = 3600.0;
    assert_int_equal(popliner_solve(costs, &options, &hurried, NULL), POPLINER_OK);
    assert_int_equal(what.num_warnings, 0);
    assert_same_plans(&hurried, &expected);
    popliner_plan_clear(&hurried);
    popliner_plan_clear(&expected);
    popliner_costs_free(costs);
}

/* GLPK is stopped at any point of its work on a program that takes it long: what it has is a split
 * within the limits, and is only called proven when it is the best. */
static void stops_in_the_middle(void **state) {
    (void)state;
    uint64_t seed = 11;
    popliner_costs *costs = random_costs(SHARING, 60, &seed);
    uint64_t peak_bytes;
    assert_int_equal(pl_smallest_peak(costs, 9, &peak_bytes, NULL), POPLINER_OK);
    size_t num_stopped = 0;
    for (double seconds = 0.0001; seconds < 0.3; seconds *= 3) {
        double begin = pl_clock_seconds();
        const pl_glpk_limits limits = {.memory_mib = 1024, .deadline_seconds = begin + seconds};
        pl_program_answer answer = {0};
        assert_int_equal(pl_program_smallest_peak(costs, 9, POPLINER_PEAK_FORBIDDEN - 1, 0, &limits,
                                                  &answer, NULL),
                         POPLINER_OK);
        num_stopped += answer.out_of_time;
        assert_int_equal(answer.out_of_time, !answer.proven);
        if (answer.split.num_stages > 0) {
            assert_in_range(answer.split.num_stages, 1, 9);
            assert_true(pl_split_peak(costs, &answer.split) == answer.value_bytes);
            assert_true(answer.value_bytes >= peak_bytes);
        }
        if (answer.proven)
            assert_true(answer.value_bytes == peak_bytes);
        pl_split_clear(&answer.split);
        assert_true(pl_clock_seconds() - begin < seconds + 10.0);
    }
    assert_in_range(num_stopped, 1, 100); /* at the least the first */
    popliner_costs_free(costs);
}

/* Only the size of the two programs is told; GLPK's own messages reach nobody. */
static void keeps_glpk_off_the_terminal(void **state) {
    (void)state;
    uint64_t seed = 8;
    popliner_costs *costs = random_costs(SHARING, 30, &seed);
    heard what = {0};
    const popliner_listener listener = {&what, hear, NULL};
    const popliner_solver_options options = {.method = POPLINER_METHOD_ILP,
                                             .max_stages = 5,
                                             .max_stage_bytes = UINT64_MAX,
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
    popliner_status status = popliner_solve(costs, &options, &plan, NULL);
    fflush(stdout);
    fflush(stderr);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    close(output);
    close(errors);
    assert_int_equal(status, POPLINER_OK);
    assert_int_equal(what.num_debug, 2);
    fseek(terminal, 0, SEEK_END);
    assert_int_equal(ftell(terminal), 0);
    fclose(terminal);
    popliner_plan_clear(&plan);
    popliner_costs_free(costs);
}

/* Solves a small chain by GLPK and checks it; what must still work after GLPK failed. */
static void solve_again(void) {
    uint64_t seed = 9;
    popliner_costs *costs = random_costs(SHARING, 8, &seed);
    candidate expected = brute_force(costs, 3, UINT64_MAX - 1);
    popliner_plan plan;
    assert_int_equal(solve(costs, POPLINER_METHOD_ILP, 3, UINT64_MAX, &plan), POPLINER_OK);
    assert_plan_is(costs, &plan, &expected);
    popliner_plan_clear(&plan);
    popliner_costs_free(costs);
}

static void survives_a_lack_of_memory(void **state) {
    (void)state;
    uint64_t seed = 10;
    const pl_glpk_limits limits = {.memory_mib = 1, .deadline_seconds = INFINITY};
    popliner_costs *costs = random_costs(SHARING, 80, &seed);
    for (int i = 0; i < 3; ++i) {
        popliner_error error = {0};
        pl_program_answer answer = {0};
        assert_int_equal(pl_program_smallest_peak(costs, 8, POPLINER_PEAK_FORBIDDEN - 1, 0, &limits,
                                                  &answer, &error),
                         POPLINER_ERROR_INTERNAL);
        assert_non_null(strstr(error.message, "GLPK"));
        assert_non_null(strstr(error.message, "memory"));
        pl_split_clear(&answer.split);
        solve_again();
    }
    popliner_costs_free(costs);
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

/* Whichever allocation is refused, the solver says so and leaves nothing behind. */
static void reports_every_refused_allocation(void **state) {
    (void)state;
    uint64_t seed = 12;
    popliner_costs *costs = random_costs(SHARING, 20, &seed);
    popliner_plan expected;
    assert_int_equal(solve(costs, POPLINER_METHOD_ILP, 4, UINT64_MAX, &expected), POPLINER_OK);
    const popliner_solver_options options = {.max_stages = 4, .max_stage_bytes = UINT64_MAX};
    size_t granted = 0;
    popliner_status status = POPLINER_ERROR_MEMORY;
    for (; status != POPLINER_OK; ++granted) {
        popliner_plan plan = {0};
        popliner_error error = {0};
        allocations_left = granted;
        status = popliner_solve(costs, &options, &plan, &error);
        allocations_left = SIZE_MAX;
        if (status == POPLINER_OK) {
            assert_same_plans(&plan, &expected);
        } else {
            assert_int_equal(status, POPLINER_ERROR_MEMORY);
            assert_non_null(strstr(error.message, "not enough memory"));
            assert_null(plan.stages);
        }
        popliner_plan_clear(&plan);
    }
    assert_in_range(granted, 20, 500);
    popliner_plan_clear(&expected);
    popliner_costs_free(costs);
}

/* The same place twice is a mistake for which GLPK aborts. */
static void survives_a_fatal_error(void **state) {
    (void)state;
    const pl_glpk_limits limits = {.memory_mib = 100, .deadline_seconds = INFINITY};
    pl_program program = {0};
    assert_true(pl_program_add_row(&program, 1.0, INFINITY));
    assert_true(pl_program_add_column(&program, true, 1.0));
    assert_true(pl_program_add_entry(&program, 0, 0, 1.0));
    assert_true(pl_program_add_entry(&program, 0, 0, 1.0));
    double value;
    double objective;
    pl_program_outcome outcome;
    popliner_error error = {0};
    assert_int_equal(pl_glpk_solve(&program, &limits, &value, &objective, &outcome, &error),
                     POPLINER_ERROR_INTERNAL);
    assert_non_null(strstr(error.message, "duplicate"));
    solve_again();
    pl_program_clear(&program);
}

/* min x + 2 y + t under x + y >= 1.5, t >= 3 x - 1: x = y = 1 and t = 2; and impossible ones. */
static void solves_small_programs(void **state) {
    (void)state;
    const pl_glpk_limits limits = {.memory_mib = 100, .deadline_seconds = INFINITY};
    pl_program program = {0};
    assert_true(pl_program_add_row(&program, 1.5, INFINITY));
    assert_true(pl_program_add_row(&program, -1.0, INFINITY));
    assert_true(pl_program_add_column(&program, true, 1.0));
    assert_true(pl_program_add_column(&program, true, 2.0));
    assert_true(pl_program_add_column(&program, false, 1.0));
    assert_true(pl_program_add_entry(&program, 0, 0, 1.0));
    assert_true(pl_program_add_entry(&program, 0, 1, 1.0));
    assert_true(pl_program_add_entry(&program, 1, 0, -3.0));
    assert_true(pl_program_add_entry(&program, 1, 2, 1.0));
    double values[3];
    double objective;
    pl_program_outcome outcome;
    assert_int_equal(pl_glpk_solve(&program, &limits, values, &objective, &outcome, NULL),
                     POPLINER_OK);
    assert_int_equal(outcome, PL_PROGRAM_OPTIMAL);
    assert_true(fabs(objective - 5.0) < 1e-6);
    assert_true(fabs(values[0] - 1.0) < 1e-6 && fabs(values[1] - 1.0) < 1e-6);
    assert_true(fabs(values[2] - 2.0) < 1e-6);

    program.rows[0].lower = 2.5; /* not even relaxed */
    assert_int_equal(pl_glpk_solve(&program, &limits, values, &objective, &outcome, NULL),
                     POPLINER_OK);
    assert_int_equal(outcome, PL_PROGRAM_IMPOSSIBLE);

    program.rows[0] = (pl_program_row){1.5, 1.5}; /* relaxed, but not in integers */
    assert_int_equal(pl_glpk_solve(&program, &limits, values, &objective, &outcome, NULL),
                     POPLINER_OK);
    assert_int_equal(outcome, PL_PROGRAM_IMPOSSIBLE);
    pl_program_clear(&program);
}

/* Objects of GLPK that the caller has in the same thread are none of the solver's business. */
static void leaves_the_callers_objects_alone(void **state) {
    (void)state;
    glp_prob *problem = glp_create_prob();
    glp_add_rows(problem, 3);
    solve_again();
    assert_int_equal(glp_get_num_rows(problem), 3);

    /* nor is the memory that they take */
    const pl_glpk_limits limits = {.memory_mib = 1, .deadline_seconds = INFINITY};
    pl_program program = {0};
    assert_true(pl_program_add_row(&program, 1.0, INFINITY));
    assert_true(pl_program_add_column(&program, true, 1.0));
    assert_true(pl_program_add_entry(&program, 0, 0, 1.0));
    double value;
    double objective;
    pl_program_outcome outcome;
    assert_int_equal(pl_glpk_solve(&program, &limits, &value, &objective, &outcome, NULL),
                     POPLINER_OK);
    pl_program_clear(&program);
    glp_add_rows(problem, 50000);
    assert_int_equal(glp_get_num_rows(problem), 50003);
    glp_delete_prob(problem);
    glp_free_env();
}

static void *solve_in_thread(void *argument) {
    (void)argument;
    solve_again();
    return NULL;
}

static void works_in_a_thread(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, solve_in_thread, NULL), 0);
    pthread_join(thread, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(programs_are_exact_by_themselves),
        cmocka_unit_test(tells_single_bytes_apart),
        cmocka_unit_test(methods_agree_on_larger_tables),
        cmocka_unit_test(programs_find_the_peak_of_larger_tables),
        cmocka_unit_test(a_thousand_units),
        cmocka_unit_test(breaks_ties_by_the_earliest_cuts),
        cmocka_unit_test(refuses_senseless_options),
        cmocka_unit_test(answers_when_time_runs_out),
        cmocka_unit_test(stops_in_the_middle),
        cmocka_unit_test(keeps_glpk_off_the_terminal),
        cmocka_unit_test(survives_a_lack_of_memory),
        cmocka_unit_test(reports_every_refused_allocation),
        cmocka_unit_test(survives_a_fatal_error),
        cmocka_unit_test(solves_small_programs),
        cmocka_unit_test(leaves_the_callers_objects_alone),
        cmocka_unit_test(works_in_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
