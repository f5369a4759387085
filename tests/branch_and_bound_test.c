/* Branch and bound over stages that share IPUs, against every split that there is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "solve/branch_and_bound.h"
#include "solve/no_goods.h"
#include "solve/plan_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 60, MOST_STAGES = 6, NUM_TYPES = 6, NUM_INSTANCES = 1500 };

typedef struct instance {
    uint64_t random;
    size_t num_units;
    uint64_t own_bytes[MOST_UNITS];
    unsigned types[MOST_UNITS];
    uint64_t code_bytes[NUM_TYPES];
    uint64_t cycles[MOST_UNITS];
    size_t device_map[MOST_STAGES];
    popliner_cut_rule cut_rules[MOST_UNITS];
    popliner_pair pair;
    popliner_costs *costs;
    popliner_solver_options options;
    pl_problem problem;
    pl_filter filter;
    size_t num_calls;
} instance;

static uint64_t random_below(instance *in, uint64_t limit) {
    in->random = test_random(in->random);
    return (in->random >> 24) % limit;
}

static uint64_t peak_of(const instance *in, const popliner_interval *stages, size_t num_stages) {
    uint64_t bytes = 0;
    unsigned types = 0;
    for (size_t i = 0; i < num_stages; ++i)
        for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; ++unit) {
            bytes += in->own_bytes[unit];
            types |= in->types[unit];
        }
    for (size_t t = 0; t < NUM_TYPES; ++t)
        bytes += (types >> t & 1) * in->code_bytes[t];
    return bytes;
}

static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    instance *in = user;
    (void)error;
    ++in->num_calls;
    *peak_bytes = peak_of(in, stages, num_stages);
    return POPLINER_OK;
}

static const struct {
    size_t num_stages;
    size_t ipus[MOST_STAGES];
} maps[] = {{6, {0, 1, 2, 0, 1, 2}}, {3, {0, 1, 0}},          {3, {0, 0, 1}},
            {5, {0, 1, 2, 3, 0}},    {5, {0, 1, 0, 1, 0}},    {4, {1, 0, 0, 1}},
            {6, {0, 1, 2, 2, 1, 0}}, {6, {0, 1, 2, 1, 2, 3}}, {2, {4, 4}}};

static void make_costs(instance *in) {
    for (size_t t = 0; t < NUM_TYPES; ++t)
        in->code_bytes[t] = random_below(in, 30);
    for (size_t unit = 0; unit < in->num_units; ++unit) {
        in->own_bytes[unit] = random_below(in, 20);
        in->types[unit] = (unsigned)random_below(in, 1u << NUM_TYPES);
        in->types[unit] &= (unsigned)random_below(in, 1u << NUM_TYPES);
        in->cycles[unit] = random_below(in, 10);
    }
    assert_int_equal(popliner_costs_create(in->num_units, 1, &in->costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < in->num_units; ++first) {
        uint64_t cycles = 0;
        if (first > 0)
            popliner_costs_set_cut(in->costs, first, random_below(in, 9), NULL);
        for (size_t last = first; last < in->num_units; ++last) {
            popliner_interval it = {first, last, 1};
            cycles += in->cycles[last];
            popliner_costs_set_peak(in->costs, first, last, 1, peak_of(in, &it, 1), NULL);
            popliner_costs_set_cycles(in->costs, first, last, cycles, NULL);
        }
    }
    popliner_costs_set_shared_peak(in->costs, shared_peak, in, true);
}

/* Must stay where it is. */
static void draw(instance *in, uint64_t seed) {
    *in = (instance){.random = seed};
    size_t map = seed % (sizeof maps / sizeof *maps);
    memcpy(in->device_map, maps[map].ipus, sizeof in->device_map);
    in->num_units = maps[map].num_stages + random_below(in, 7);
    make_costs(in);
    popliner_interval whole = {0, in->num_units - 1, 1};
    uint64_t all_bytes = peak_of(in, &whole, 1);
    in->options = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    in->options.device_map = in->device_map;
    in->options.num_mapped_stages = maps[map].num_stages;
    in->options.max_stage_bytes = all_bytes / 3 + random_below(in, all_bytes / 2 + 1);
    in->options.cut_rules = in->cut_rules;
    for (size_t unit = 1; random_below(in, 2) == 0 && unit < in->num_units; ++unit)
        if (random_below(in, 5) == 0)
            in->cut_rules[unit] =
                random_below(in, 3) == 0 ? POPLINER_CUT_REQUIRED : POPLINER_CUT_FORBIDDEN;
    in->pair = (popliner_pair){random_below(in, in->num_units), random_below(in, in->num_units)};
    in->options.pairs = &in->pair;
    in->options.num_pairs = random_below(in, 3) == 0;
    assert_int_equal(pl_problem_create(&in->problem, in->costs, &in->options, NULL, NULL),
                     POPLINER_OK);
    in->filter = pl_filter_of_limits(&in->problem);
    if (random_below(in, 3) == 0)
        in->filter.max_cycles = in->num_units * (2 + random_below(in, 4));
    if (random_below(in, 3) == 0)
        in->filter.max_cut_bytes = random_below(in, 6 * maps[map].num_stages);
}

static void discard(instance *in) {
    pl_problem_free(&in->problem);
    popliner_costs_free(in->costs);
}

/* ---- every split ---- */

typedef struct every {
    const instance *in;
    uint64_t limit_bytes;
    size_t first_units[MOST_STAGES];
    size_t num_splits;
    uint64_t fewest_bytes;
    size_t earliest[MOST_STAGES];
} every;

static size_t stage_of(const every *e, size_t unit) {
    size_t stage = 0;
    while (stage + 1 < e->in->options.num_mapped_stages && e->first_units[stage + 1] <= unit)
        ++stage;
    return stage;
}

/* Whether the split in first_units is within everything; *cut_bytes is what it costs. */
static bool is_fine(const every *e, uint64_t *cut_bytes) {
    const instance *in = e->in;
    size_t num_stages = in->options.num_mapped_stages;
    *cut_bytes = 0;
    for (size_t unit = 1; unit < in->num_units; ++unit) {
        bool is_cut = e->first_units[stage_of(e, unit)] == unit;
        if ((is_cut && in->cut_rules[unit] == POPLINER_CUT_FORBIDDEN) ||
            (!is_cut && in->cut_rules[unit] == POPLINER_CUT_REQUIRED))
            return false;
        *cut_bytes += is_cut ? popliner_costs_cut(in->costs, unit) : 0;
    }
    for (size_t stage = 0; stage < num_stages; ++stage) {
        popliner_interval together[MOST_STAGES];
        uint64_t cycles = 0;
        size_t count = 0;
        for (size_t other = 0; other < num_stages; ++other) {
            size_t end = other + 1 < num_stages ? e->first_units[other + 1] : in->num_units;
            if (in->device_map[other] != in->device_map[stage])
                continue;
            together[count++] = (popliner_interval){e->first_units[other], end - 1, 1};
            for (size_t unit = e->first_units[other]; unit < end; ++unit)
                cycles += in->cycles[unit];
        }
        if (peak_of(in, together, count) > e->limit_bytes || cycles > in->filter.max_cycles)
            return false;
    }
    return *cut_bytes <= in->filter.max_cut_bytes &&
           (in->options.num_pairs == 0 || in->device_map[stage_of(e, in->pair.first_unit)] ==
                                              in->device_map[stage_of(e, in->pair.second_unit)]);
}

static void enumerate(every *e, size_t stage, size_t first_unit) {
    e->first_units[stage] = first_unit;
    if (stage + 1 < e->in->options.num_mapped_stages) {
        for (size_t next = first_unit + 1; next < e->in->num_units; ++next)
            enumerate(e, stage + 1, next);
        return;
    }
    uint64_t cut_bytes;
    if (!is_fine(e, &cut_bytes))
        return;
    if (e->num_splits++ == 0)
        memcpy(e->earliest, e->first_units, sizeof e->earliest);
    e->fewest_bytes = cut_bytes < e->fewest_bytes ? cut_bytes : e->fewest_bytes;
}

static every try_all(const instance *in, uint64_t limit_bytes) {
    every e = {.in = in, .limit_bytes = limit_bytes, .fewest_bytes = UINT64_MAX};
    enumerate(&e, 0, 0);
    return e;
}

/* ---- comparing ---- */

static const pl_stop never = {INFINITY, NULL, NULL};

/* Whether there is a split. */
static bool check(instance *in) {
    every e = try_all(in, in->options.max_stage_bytes);
    pl_shared shared = {.is_hard = true};
    static const pl_goal goals[] = {PL_GOAL_ANY, PL_GOAL_FEWEST_CUT_BYTES, PL_GOAL_EARLIEST_CUTS};
    for (size_t g = 0; g < sizeof goals / sizeof *goals; ++g) {
        pl_split split = {0};
        pl_search_result result = {0};
        const pl_shared_search search = {.problem = &in->problem,
                                         .filter = &in->filter,
                                         .goal = goals[g],
                                         .stop = &never,
                                         .shared = &shared};
        assert_int_equal(pl_no_goods_search(&search, &split, &result, NULL), POPLINER_OK);
        assert_false(result.is_stopped);
        assert_int_equal(split.num_stages, e.num_splits > 0 ? in->options.num_mapped_stages : 0);
        if (e.num_splits > 0) {
            uint64_t cut_bytes;
            memcpy(e.first_units, split.first_units, split.num_stages * sizeof *e.first_units);
            assert_true(is_fine(&e, &cut_bytes));
            if (goals[g] == PL_GOAL_FEWEST_CUT_BYTES) {
                assert_int_equal(cut_bytes, e.fewest_bytes);
                assert_int_equal(result.bound_bytes, e.fewest_bytes);
            }
            if (goals[g] == PL_GOAL_EARLIEST_CUTS)
                assert_memory_equal(split.first_units, e.earliest,
                                    split.num_stages * sizeof *e.earliest);
        }
        pl_split_clear(&split);
    }
    pl_shared_free(&shared);
    return e.num_splits > 0;
}

static void finds_what_every_split_says(void **state) {
    (void)state;
    static instance in;
    size_t num_feasible = 0;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        draw(&in, seed);
        assert_true(pl_branch_and_bound_can(&in.problem, &in.filter));
        num_feasible += check(&in);
        discard(&in);
    }
    print_message("%zu of %d feasible\n", num_feasible, NUM_INSTANCES);
    assert_in_range(num_feasible, NUM_INSTANCES / 4, NUM_INSTANCES * 3 / 4);
}

/* Where nothing fits, no split has a peak between the limit and the next one that is told. */
static void next_peak_is_no_more_than_the_best(void **state) {
    (void)state;
    static instance in;
    size_t num_told = 0;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        draw(&in, seed);
        pl_shared shared = {.is_hard = true};
        pl_split split = {0};
        pl_search_result result = {0};
        in.filter.plain_limit_bytes = POPLINER_PEAK_FORBIDDEN - 1;
        in.filter.max_peak_bytes = in.options.max_stage_bytes;
        const pl_shared_search search = {.problem = &in.problem,
                                         .filter = &in.filter,
                                         .goal = PL_GOAL_ANY,
                                         .stop = &never,
                                         .shared = &shared};
        assert_int_equal(pl_no_goods_search(&search, &split, &result, NULL), POPLINER_OK);
        if (split.num_stages == 0) {
            assert_true(result.next_peak_bytes > in.options.max_stage_bytes);
            assert_int_equal(try_all(&in, result.next_peak_bytes - 1).num_splits, 0);
            num_told += result.next_peak_bytes > in.options.max_stage_bytes + 1;
        }
        pl_split_clear(&split);
        pl_shared_free(&shared);
        discard(&in);
    }
    assert_true(num_told > NUM_INSTANCES / 10);
}

/* The first stages given: the same as among all splits that begin so. */
static void keeps_to_fixed_stages(void **state) {
    (void)state;
    static instance in;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; seed += 3) {
        draw(&in, seed);
        every e = try_all(&in, in.options.max_stage_bytes);
        pl_shared shared = {0};
        pl_split split = {0};
        pl_split fixed = {0};
        pl_search_result result = {0};
        assert_true(pl_split_append(&fixed, 0) && pl_split_append(&fixed, e.earliest[1]));
        if (e.num_splits > 0) {
            pl_shared_search search = {.problem = &in.problem,
                                       .filter = &in.filter,
                                       .goal = PL_GOAL_EARLIEST_CUTS,
                                       .fixed = &fixed,
                                       .stop = &never,
                                       .shared = &shared};
            assert_int_equal(pl_branch_and_bound(&search, &split, &result, NULL), POPLINER_OK);
            assert_int_equal(split.num_stages, in.options.num_mapped_stages);
            assert_memory_equal(split.first_units, e.earliest,
                                split.num_stages * sizeof *e.earliest);
            /* nothing comes before the earliest cut */
            pl_split_clear(&split);
            --fixed.first_units[1];
            if (fixed.first_units[1] > 0) {
                search.goal = PL_GOAL_ANY;
                assert_int_equal(pl_branch_and_bound(&search, &split, &result, NULL), POPLINER_OK);
                assert_int_equal(split.num_stages, 0);
            }
        }
        pl_split_clear(&split);
        pl_split_clear(&fixed);
        pl_shared_free(&shared);
        discard(&in);
    }
}

static bool yes(void *user) {
    (void)user;
    return true;
}

/* A chain for which GLPK alone has no answer within minutes; and stopping. */
static void long_chains(void **state) {
    (void)state;
    static instance in;
    draw(&in, 0);
    discard(&in);
    in.num_units = 40;
    make_costs(&in);
    memset(in.cut_rules, 0, sizeof in.cut_rules);
    in.options.num_pairs = 0;
    in.options.max_stage_bytes = 100000;
    popliner_plan plan = {0};
    assert_int_equal(pl_solve(in.costs, &in.options, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
    print_message("%zu shared peaks measured\n", in.num_calls);
    assert_true(in.num_calls < 20000);

    in.options.max_stage_bytes = plan.peak_bytes - 1;
    assert_int_equal(pl_problem_create(&in.problem, in.costs, &in.options, NULL, NULL),
                     POPLINER_OK);
    in.filter = pl_filter_of_limits(&in.problem);
    pl_shared shared = {0};
    pl_split split = {0};
    pl_search_result result = {0};
    pl_stop at_once = {INFINITY, yes, NULL};
    const pl_shared_search search = {.problem = &in.problem,
                                     .filter = &in.filter,
                                     .goal = PL_GOAL_ANY,
                                     .stop = &at_once,
                                     .shared = &shared};
    assert_int_equal(pl_branch_and_bound(&search, &split, &result, NULL), POPLINER_OK);
    assert_true(result.is_stopped);
    assert_int_equal(split.num_stages, 0);
    pl_shared_free(&shared);
    pl_plan_clear(&plan);
    discard(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_every_split_says),
        cmocka_unit_test(next_peak_is_no_more_than_the_best),
        cmocka_unit_test(keeps_to_fixed_stages),
        cmocka_unit_test(long_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
