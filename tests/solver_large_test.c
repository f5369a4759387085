/* The solvers on chains of up to a thousand units and 64 stages, against the plainest dynamic
 * program that there is: no search over values, no pruning, one table of all stages and units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test_data.h"

#include "popliner/costs.h"
#include "popliner/solver.h"
#include "solve/objective.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STAGES = 64, NUM_THINGS = 64 };

#define NONE UINT64_MAX

static uint64_t random_below(uint64_t *seed, uint64_t limit) {
    *seed = test_random(*seed);
    return (*seed >> 24) % limit;
}

/* ---- instances ---- */

typedef struct sizes {
    size_t num_units;
    size_t max_stages;
    bool is_pipeline;
    bool has_ipu_limits;
    uint64_t range; /* of what a unit needs: the smaller, the more ties */
} sizes;

/* What units use once, what adds up, and what of each stage to come is kept. */
static void fill_peaks(popliner_costs *costs, const sizes *s, size_t most_stages, uint64_t *seed) {
    size_t n = s->num_units;
    uint64_t thing_bytes[NUM_THINGS];
    uint64_t *things = calloc(n, sizeof *things);
    uint64_t *own_bytes = calloc(n, sizeof *own_bytes);
    uint64_t *stash_bytes = calloc(n, sizeof *stash_bytes);
    for (size_t t = 0; t < NUM_THINGS; ++t)
        thing_bytes[t] = random_below(seed, 4 * s->range);
    for (size_t unit = 0; unit < n; ++unit) {
        own_bytes[unit] = random_below(seed, s->range);
        stash_bytes[unit] = random_below(seed, s->range / 4 + 1);
        for (int k = 0; k < 4; ++k)
            things[unit] |= (uint64_t)1 << random_below(seed, NUM_THINGS);
    }
    for (size_t i = 0; i < n; ++i) {
        uint64_t used = 0;
        uint64_t bytes = 0;
        uint64_t stashed_bytes = 0;
        for (size_t j = i; j < n; ++j) {
            bytes += own_bytes[j];
            stashed_bytes += stash_bytes[j];
            for (size_t t = 0; t < NUM_THINGS; ++t)
                if (((things[j] & ~used) >> t & 1) != 0)
                    bytes += thing_bytes[t];
            used |= things[j];
            for (size_t t = 1; t <= most_stages; ++t)
                popliner_costs_set_peak(costs, i, j, t, bytes + (t - 1) * stashed_bytes, NULL);
        }
    }
    free(things);
    free(own_bytes);
    free(stash_bytes);
}

static popliner_costs *random_costs(const sizes *s, uint64_t *seed) {
    size_t most_stages = s->is_pipeline ? s->max_stages : 1;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(s->num_units, most_stages, &costs, NULL), POPLINER_OK);
    fill_peaks(costs, s, most_stages, seed);
    for (size_t unit = 1; unit < s->num_units; ++unit)
        popliner_costs_set_cut(costs, unit, random_below(seed, s->range), NULL);
    uint64_t *own = calloc(s->num_units, sizeof *own);
    for (size_t unit = 0; unit < s->num_units; ++unit)
        own[unit] = random_below(seed, s->range);
    for (size_t i = 0; i < s->num_units; ++i) {
        uint64_t cycles = 0;
        for (size_t j = i; j < s->num_units; ++j) {
            cycles += own[j];
            popliner_costs_set_cycles(costs, i, j, cycles, NULL);
        }
    }
    free(own);
    return costs;
}

/* ---- the plain dynamic program ---- */

/* The best splits, for one objective after another: each leaves a ceiling for the next ones. */
typedef struct plain {
    const popliner_costs *costs;
    const popliner_solver_options *options;
    size_t num_units;
    size_t most_stages;
    uint64_t most_bytes;
    uint64_t most_cycles;
    uint64_t *table;        /* see fill_table */
    size_t stages_of_table; /* 0 if it is empty */
    popliner_objective objective_of_table;
} plain;

static uint64_t limit_of(const plain *p, size_t ipu) {
    for (size_t i = 0; i < p->options->num_ipu_limits; ++i)
        if (p->options->ipu_limits[i].ipu == ipu)
            return p->options->ipu_limits[i].value;
    return p->options->mem_per_tile;
}

/* What the stage first ... end - 1 is worth for the objective, as the one so far from the end of
 * `num_stages`; NONE if it must not be. */
static uint64_t stage_value(const plain *p, popliner_objective objective, uint64_t limit_bytes,
                            size_t stages_to_end, size_t first, size_t end) {
    uint64_t bytes = popliner_costs_peak(p->costs, first, end - 1, stages_to_end);
    uint64_t cycles = popliner_costs_cycles(p->costs, first, end - 1);
    if (bytes > limit_bytes || bytes > p->most_bytes || cycles > p->most_cycles)
        return NONE;
    switch (objective) {
    case POPLINER_OBJECTIVE_MEMORY:
        return bytes;
    case POPLINER_OBJECTIVE_CYCLES:
        return cycles;
    case POPLINER_OBJECTIVE_TRAFFIC:
        return end < p->num_units ? popliner_costs_cut(p->costs, end) : 0;
    default: /* IPUS */
        return 1;
    }
}

/* A stage and the best of those behind it. */
static uint64_t combine(popliner_objective objective, uint64_t value, uint64_t rest) {
    if (value == NONE || rest == NONE)
        return NONE;
    if (objective == POPLINER_OBJECTIVE_TRAFFIC || objective == POPLINER_OBJECTIVE_IPUS)
        return value + rest;
    return value > rest ? value : rest;
}

/* The best value of the units `first` ... as exactly `stages` stages. */
static uint64_t *best_of(plain *p, size_t stages, size_t first) {
    return &p->table[stages * (p->num_units + 1) + first];
}

/* Fills the table for splits into `num_stages` stages. Unless IPUs have limits of their own, its
 * rows for fewer stages are right for these, too. */
static void fill_table(plain *p, popliner_objective objective, size_t num_stages) {
    size_t n = p->num_units;
    for (size_t first = 0; first <= n; ++first)
        *best_of(p, 0, first) = first == n ? 0 : NONE;
    for (size_t t = 1; t <= num_stages; ++t) {
        uint64_t limit_bytes = limit_of(p, num_stages - t);
        for (size_t first = 0; first <= n; ++first) {
            uint64_t best = NONE;
            for (size_t end = first + 1; end <= n; ++end) {
                uint64_t rest = *best_of(p, t - 1, end);
                if (rest == NONE)
                    continue;
                uint64_t value = stage_value(p, objective, limit_bytes, t, first, end);
                uint64_t all = combine(objective, value, rest);
                best = all < best ? all : best;
            }
            *best_of(p, t, first) = best;
        }
    }
    p->stages_of_table = num_stages;
    p->objective_of_table = objective;
}

/* The best value with exactly so many stages; NONE if there is no such split. */
static uint64_t best_with(plain *p, popliner_objective objective, size_t num_stages) {
    bool is_filled = p->stages_of_table != 0 && p->objective_of_table == objective;
    if (p->options->num_ipu_limits > 0) {
        if (!is_filled || p->stages_of_table != num_stages)
            fill_table(p, objective, num_stages);
    } else if (!is_filled) {
        fill_table(p, objective, p->most_stages);
    }
    return *best_of(p, num_stages, 0);
}

/* The smallest value; the table is for the ceilings of before. */
static uint64_t best_of_all(plain *p, popliner_objective objective) {
    uint64_t best = NONE;
    p->stages_of_table = 0;
    for (size_t num_stages = 1; num_stages <= p->most_stages; ++num_stages) {
        uint64_t value = best_with(p, objective, num_stages);
        best = value < best ? value : best;
    }
    return best;
}

/* The earliest ends of exactly so many stages that reach the value: each stage as short as what is
 * behind it can be good enough. */
static bool walk(plain *p, popliner_objective objective, uint64_t value, size_t num_stages,
                 size_t *ends) {
    uint64_t best = best_with(p, objective, num_stages);
    if (best == NONE || best > value)
        return false;
    uint64_t before = 0;
    size_t first = 0;
    for (size_t t = num_stages; t > 0; --t) {
        uint64_t limit_bytes = limit_of(p, num_stages - t);
        size_t end = first + 1;
        uint64_t own;
        for (;; ++end) {
            assert_true(end <= p->num_units);
            own = stage_value(p, objective, limit_bytes, t, first, end);
            uint64_t all = combine(objective, own, *best_of(p, t - 1, end));
            if (all != NONE && combine(objective, before, all) <= value)
                break;
        }
        before = combine(objective, before, own);
        ends[num_stages - t] = first = end;
    }
    return true;
}

/* Whether the cuts of a come before those of b. The last end is no cut. */
static bool is_earlier(const size_t *a, size_t num_a, const size_t *b, size_t num_b) {
    for (size_t i = 0; i + 1 < num_a && i + 1 < num_b; ++i)
        if (a[i] != b[i])
            return a[i] < b[i];
    return num_a < num_b;
}

/* ---- comparing ---- */

/* The best by the plain program, one objective after another, the values into `bests`; 0 stages if
 * none fits. */
static size_t solve_plainly(const popliner_costs *costs, const popliner_solver_options *options,
                            uint64_t *bests, size_t *ends) {
    size_t n = popliner_costs_num_units(costs);
    plain p = {costs,
               options,
               n,
               options->num_ipus < n ? options->num_ipus : n,
               NONE - 1,
               NONE - 1,
               NULL,
               0,
               POPLINER_OBJECTIVE_MEMORY};
    p.table = calloc((p.most_stages + 1) * (n + 1), sizeof *p.table);
    size_t num_stages = 0;
    for (size_t i = 0; i < options->num_objectives; ++i) {
        popliner_objective objective = options->objectives[i];
        bests[i] = best_of_all(&p, objective);
        if (bests[i] == NONE)
            break;
        if (i + 1 < options->num_objectives) {
            assert_int_not_equal(objective, POPLINER_OBJECTIVE_TRAFFIC); /* leaves no ceiling */
            uint64_t most = bests[i] + (uint64_t)floorl((long double)bests[i] *
                                                        (long double)options->slack_percent / 100);
            if (objective == POPLINER_OBJECTIVE_MEMORY)
                p.most_bytes = most;
            else if (objective == POPLINER_OBJECTIVE_CYCLES)
                p.most_cycles = most;
            else if (most < p.most_stages)
                p.most_stages = (size_t)most;
            continue;
        }
        for (size_t s = 1; s <= p.most_stages; ++s) {
            size_t other[MOST_STAGES];
            if (walk(&p, objective, bests[i], s, other) &&
                (num_stages == 0 || is_earlier(other, s, ends, num_stages))) {
                memcpy(ends, other, s * sizeof *ends);
                num_stages = s;
            }
        }
    }
    free(p.table);
    return num_stages;
}

/* What the stages of the plan are worth, by its own account and by the table of costs. */
static uint64_t value_of(const popliner_costs *costs, const popliner_plan *plan,
                         popliner_objective objective) {
    uint64_t most_bytes = 0;
    uint64_t most_cycles = 0;
    uint64_t traffic_bytes = 0;
    for (size_t k = 0; k < plan->num_stages; ++k) {
        const popliner_plan_stage *stage = &plan->stages[k];
        uint64_t bytes =
            popliner_costs_peak(costs, stage->first_unit, stage->last_unit, plan->num_stages - k);
        uint64_t cycles = popliner_costs_cycles(costs, stage->first_unit, stage->last_unit);
        bool is_last = k + 1 == plan->num_stages;
        uint64_t cut_bytes = is_last ? 0 : popliner_costs_cut(costs, stage->last_unit + 1);
        assert_int_equal(stage->ipu, k);
        assert_true(stage->peak_bytes == bytes);
        assert_true(stage->cycles == cycles);
        assert_true(stage->cut_bytes == cut_bytes);
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        most_cycles = cycles > most_cycles ? cycles : most_cycles;
        traffic_bytes += cut_bytes;
    }
    assert_true(plan->peak_bytes == most_bytes);
    assert_true(plan->cycles == most_cycles);
    assert_true(plan->cut_bytes == traffic_bytes);
    assert_int_equal(plan->num_ipus, plan->num_stages);
    switch (objective) {
    case POPLINER_OBJECTIVE_MEMORY:
        return most_bytes;
    case POPLINER_OBJECTIVE_CYCLES:
        return most_cycles;
    case POPLINER_OBJECTIVE_TRAFFIC:
        return traffic_bytes;
    default:
        return plan->num_stages;
    }
}

static void solve(const popliner_costs *costs, const popliner_solver_options *options,
                  popliner_plan *plan) {
    popliner_error error = {.message = ""};
    *plan = (popliner_plan){0};
    if (pl_solve(costs, options, plan, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
}

/* Whether there is a split. */
static bool check(const popliner_costs *costs, const popliner_solver_options *options) {
    uint64_t bests[POPLINER_NUM_OBJECTIVES];
    size_t ends[MOST_STAGES];
    size_t num_stages = solve_plainly(costs, options, bests, ends);
    popliner_plan plan;
    solve(costs, options, &plan);
    if (num_stages == 0) {
        assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
        pl_plan_clear(&plan);
        return false;
    }
    assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan.num_values, options->num_objectives);
    for (size_t i = 0; i < plan.num_values; ++i) {
        assert_int_equal(plan.values[i].objective, options->objectives[i]);
        if (plan.values[i].bound != bests[i])
            fail_msg("%s: the bound is %" PRIu64 ", not %" PRIu64,
                     pl_objective_name(options->objectives[i]), plan.values[i].bound, bests[i]);
        assert_true(plan.values[i].value == value_of(costs, &plan, options->objectives[i]));
    }
    assert_int_equal(plan.num_stages, num_stages);
    for (size_t k = 0; k < num_stages; ++k) {
        assert_int_equal(plan.stages[k].first_unit, k == 0 ? 0 : ends[k - 1]);
        assert_int_equal(plan.stages[k].last_unit + 1, ends[k]);
    }
    pl_plan_clear(&plan);
    return true;
}

/* Memory alone, to know what limits make sense. */
static uint64_t smallest_peak(const popliner_costs *costs, size_t max_stages) {
    static const popliner_objective memory = POPLINER_OBJECTIVE_MEMORY;
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.objectives = &memory;
    options.num_objectives = 1;
    options.num_ipus = max_stages;
    uint64_t best;
    size_t ends[MOST_STAGES];
    assert_int_not_equal(solve_plainly(costs, &options, &best, ends), 0);
    return best;
}

/* ---- the tests ---- */

static const struct {
    popliner_objective list[3];
    size_t count;
} lists[] = {
    {{POPLINER_OBJECTIVE_MEMORY}, 1},
    {{POPLINER_OBJECTIVE_CYCLES}, 1},
    {{POPLINER_OBJECTIVE_TRAFFIC}, 1},
    {{POPLINER_OBJECTIVE_IPUS}, 1},
    {{POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC}, 2},
    {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC}, 2},
    {{POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_CYCLES}, 2},
    {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC}, 3},
};

enum { NUM_LISTS = sizeof lists / sizeof *lists };

/* Solves a chain of such sizes for every list of objectives. */
static void check_lists(sizes s, popliner_method method, uint64_t seed) {
    size_t num_solved = 0;
    for (size_t i = 0; i < NUM_LISTS; ++i) {
        popliner_costs *costs = random_costs(&s, &seed);
        uint64_t best_bytes = smallest_peak(costs, s.max_stages);
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.method = method;
        options.objectives = lists[i].list;
        options.num_objectives = lists[i].count;
        options.num_ipus = s.max_stages;
        options.mem_per_tile = best_bytes + random_below(&seed, best_bytes / 10 + 2);
        options.slack_percent = i % 2 == 0 ? 0 : 5;
        popliner_ipu_value limits[4];
        if (s.has_ipu_limits) {
            options.ipu_limits = limits;
            options.num_ipu_limits = s.max_stages < 4 ? s.max_stages : 4;
            for (size_t k = 0; k < options.num_ipu_limits; ++k) {
                limits[k].ipu = k * s.max_stages / options.num_ipu_limits;
                limits[k].value = best_bytes * (k == 1 ? 7 : 9 + k) / 10;
            }
        }
        num_solved += check(costs, &options);
        popliner_costs_free(costs);
    }
    if (s.has_ipu_limits)
        assert_true(num_solved >= 1);
    else
        assert_int_equal(num_solved, NUM_LISTS);
}

static void chains_of_some_units(void **state) {
    (void)state;
    for (size_t n = 20; n <= 300; n += 140) {
        check_lists((sizes){n, 16, false, false, 5}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, n);
        check_lists((sizes){n, 7, false, false, 100000}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, n);
    }
}

/* The same by GLPK alone, where it is quick enough. */
static void chains_for_glpk(void **state) {
    (void)state;
    if (!test_has_glpk())
        test_skip("there is no GLPK");
    check_lists((sizes){20, 6, false, false, 20}, POPLINER_METHOD_ILP, 11);
    check_lists((sizes){16, 5, true, false, 20}, POPLINER_METHOD_ILP, 12);
    check_lists((sizes){16, 5, false, true, 20}, POPLINER_METHOD_ILP, 13);
}

static void pipelines(void **state) {
    (void)state;
    check_lists((sizes){60, 12, true, false, 6}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 21);
    check_lists((sizes){200, 16, true, false, 100000}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 22);
}

static void limits_of_ipus(void **state) {
    (void)state;
    check_lists((sizes){40, 9, false, true, 6}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 31);
    check_lists((sizes){100, 12, false, true, 100000}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 32);
    check_lists((sizes){80, 8, true, true, 1000}, POPLINER_METHOD_DYNAMIC_PROGRAMMING, 33);
}

static void a_thousand_units_and_64_stages(void **state) {
    (void)state;
    const sizes s = {test_takes_all() ? 1000 : 400, MOST_STAGES, false, false, 100000};
    uint64_t seed = 41;
    popliner_costs *costs = random_costs(&s, &seed);
    for (size_t i = 0; i < NUM_LISTS; ++i) {
        /* traffic within memory, and cycles */
        if (i != 1 && i != 4)
            continue;
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
        options.objectives = lists[i].list;
        options.num_objectives = lists[i].count;
        options.num_ipus = s.max_stages;
        assert_true(check(costs, &options));
    }
    popliner_costs_free(costs);
}

/* One byte less than what is needed: what would be enough is as large as the plain program's best,
 * and the fewest stages are those of stages filled to the brim, one after another. */
static void limits_that_are_one_byte_too_low(void **state) {
    (void)state;
    uint64_t seed = 51;
    for (size_t n = 30; n <= 400; n += 90) {
        const sizes s = {n, 6, false, false, 1000};
        popliner_costs *costs = random_costs(&s, &seed);
        uint64_t best_bytes = smallest_peak(costs, s.max_stages);
        uint64_t limit_bytes = best_bytes - 1;
        size_t num_stages = 0;
        for (size_t first = 0; first < n; ++num_stages) {
            size_t end = first;
            while (end < n && popliner_costs_peak(costs, first, end, 1) <= limit_bytes)
                ++end;
            assert_true(end > first);
            first = end;
        }
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
        options.num_ipus = s.max_stages;
        options.mem_per_tile = limit_bytes;
        popliner_plan plan;
        solve(costs, &options, &plan);
        assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
        assert_int_equal(plan.infeasibility.obstacle, POPLINER_OBSTACLE_CAPACITY);
        assert_int_equal(plan.infeasibility.enough_stages, num_stages);
        assert_true(plan.infeasibility.enough_bytes == best_bytes);
        assert_true(value_of(costs, &plan, POPLINER_OBJECTIVE_MEMORY) == best_bytes);
        pl_plan_clear(&plan);
        popliner_costs_free(costs);
    }
}

/* With limits by IPU the reasons of a long chain take at most a hundred answers (about 40 with
 * sanitizers, 30 without), on a machine of any speed; all other remedies are there, and what an IPU
 * needs is what the others leave of the chain. */
static void reasons_of_long_chains_end_soon(void **state) {
    (void)state;
    enum { TRIED = 16 };
    const size_t num_ipus = test_takes_all() ? 600 : 200;
    popliner_ipu_value limits[] = {{0, 0}, {5, 0}};
    uint64_t seed = 61;
    const sizes s = {2 * num_ipus, num_ipus, false, false, 400};
    popliner_costs *costs = random_costs(&s, &seed);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_plan plan;
    options.num_ipus = num_ipus;
    clock_t start = clock();
    solve(costs, &options, &plan);
    const double answer_seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    options.mem_per_tile = plan.peak_bytes - 1;
    limits[0].value = plan.peak_bytes / 10 * 9;
    limits[1].value = plan.peak_bytes / 10 * 8;
    pl_plan_clear(&plan);
    options.ipu_limits = limits;
    options.num_ipu_limits = 2;
    start = clock();
    solve(costs, &options, &plan);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > 1 + 100 * answer_seconds)
        fail_msg("it took %.1f s, the answer %.2f s", seconds, answer_seconds);
    assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
    size_t num_remedies = 0;
    for (size_t i = 0; i < plan.infeasibility.num_remedies; ++i) {
        const popliner_remedy *it = &plan.infeasibility.remedies[i];
        if (it->kind != POPLINER_REMEDY_IPU_LIMIT)
            continue;
        popliner_ipu_value changed[3] = {limits[0], limits[1], {it->ipu, it->bytes - 1}};
        popliner_solver_options other = options;
        popliner_plan none;
        if (it->ipu == 0 || it->ipu == 5)
            changed[it->ipu == 5] = changed[2];
        other.without_reasons = true;
        other.ipu_limits = changed;
        other.num_ipu_limits = it->ipu == 0 || it->ipu == 5 ? 2 : 3;
        solve(costs, &other, &none);
        assert_int_equal(none.status, POPLINER_PLAN_INFEASIBLE);
        pl_plan_clear(&none);
        ++num_remedies;
    }
    assert_int_equal(num_remedies, TRIED);
    assert_int_equal(plan.infeasibility.num_remedies, TRIED + 1);
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_some_units),
        cmocka_unit_test(chains_for_glpk),
        cmocka_unit_test(pipelines),
        cmocka_unit_test(limits_of_ipus),
        cmocka_unit_test(a_thousand_units_and_64_stages),
        cmocka_unit_test(limits_that_are_one_byte_too_low),
        cmocka_unit_test(reasons_of_long_chains_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
