/* The list of all splits where stages share IPUs, against a walk over all sets of cuts.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "random_instance.h"
#include "test_data.h"

#include "costs/costs.h"
#include "solve/plan.h"
#include "solve/shared/shared.h"
#include "solve/stage_rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 64, MOST_STAGES = 16 };

/* A chain whose stages on one IPU need what they need by themselves, less one byte for each stage
 * beside the first. */
typedef struct chain {
    popliner_costs *costs;
    popliner_solver_options options;
    uint64_t random;
    uint64_t before[MOST_UNITS + 1];
    size_t num_asked;
} chain;

static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    chain *c = user;
    (void)error;
    *peak_bytes = 0;
    for (size_t k = 0; k < num_stages; ++k)
        *peak_bytes += c->before[stages[k].last_unit + 1] - c->before[stages[k].first_unit];
    *peak_bytes -= num_stages - 1;
    ++c->num_asked;
    return POPLINER_OK;
}

static uint64_t below(chain *c, uint64_t limit) {
    c->random = test_random(c->random);
    return (c->random >> 24) % limit;
}

/* Must stay where it is; the costs are the caller's. */
static void make_chain(chain *c, uint64_t seed, size_t num_units, const size_t *map,
                       size_t num_stages) {
    *c = (chain){.random = seed, .options = POPLINER_SOLVER_OPTIONS_INIT};
    assert_true(num_units <= MOST_UNITS && num_stages <= MOST_STAGES);
    c->options.device_map = map;
    c->options.num_mapped_stages = num_stages;
    c->options.mem_per_tile = UINT64_MAX;
    assert_int_equal(popliner_costs_create(num_units, 1, &c->costs, NULL), POPLINER_OK);
    for (size_t unit = 0; unit < num_units; ++unit)
        c->before[unit + 1] = c->before[unit] + 100 + below(c, 900);
    for (size_t i = 0; i < num_units; ++i)
        for (size_t j = i; j < num_units; ++j) {
            popliner_costs_set_peak(c->costs, i, j, 1, c->before[j + 1] - c->before[i], NULL);
            popliner_costs_set_cycles(c->costs, i, j, (j - i + 1) * 10 + i % 3, NULL);
        }
    for (size_t unit = 1; unit < num_units; ++unit)
        popliner_costs_set_cut(c->costs, unit, 1 + below(c, 50), NULL);
    popliner_costs_set_shared_peak(c->costs, shared_peak, c, true);
}

/* ---- counting ---- */

static size_t count_of(const chain *c) {
    pl_problem problem = {0};
    size_t count = 0;
    assert_int_equal(pl_problem_create(&problem, c->costs, &c->options, NULL, NULL), POPLINER_OK);
    pl_filter filter = pl_filter_of_limits(&problem);
    assert_int_equal(pl_enumeration_count(&problem, &filter.limits, &count, NULL), POPLINER_OK);
    pl_problem_free(&problem);
    return count;
}

/* Four cuts of 23 places; three if one place is given, and of 22 if another is ruled out. */
static void counts_splits(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 2, 3, 0};
    static const size_t long_map[] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3};
    popliner_cut_rule rules[MOST_UNITS] = {POPLINER_CUT_FREE};
    chain c;
    make_chain(&c, 1, 24, map, 5);
    assert_int_equal(count_of(&c), 8855);
    c.options.cut_rules = rules;
    rules[7] = POPLINER_CUT_FORBIDDEN;
    assert_int_equal(count_of(&c), 7315);
    rules[12] = POPLINER_CUT_REQUIRED;
    assert_int_equal(count_of(&c), 1330);
    c.options.max_units = 4; /* of 5 stages */
    assert_int_equal(count_of(&c), 0);
    popliner_costs_free(c.costs);
    make_chain(&c, 2, 40, long_map, 12);
    assert_int_equal(count_of(&c), PL_MAX_ENUMERATED_SPLITS + 1);
    popliner_costs_free(c.costs);
}

/* ---- finding ---- */

/* A list, and what is looked for in it. */
typedef struct subject {
    pl_problem problem;
    pl_stop stop;
    pl_enumeration enumeration;
    pl_filter filter;
} subject;

static void make_subject(subject *s, const popliner_costs *costs,
                         const popliner_solver_options *options) {
    bool is_stopped = false;
    *s = (subject){.stop = {.deadline_seconds = INFINITY}};
    assert_int_equal(pl_problem_create(&s->problem, costs, options, NULL, NULL), POPLINER_OK);
    s->filter = pl_filter_of_limits(&s->problem);
    assert_int_equal(pl_enumeration_list(&s->enumeration, &s->problem, &s->filter.limits, &s->stop,
                                         &is_stopped, NULL),
                     POPLINER_OK);
    assert_false(is_stopped);
}

static void free_subject(subject *s) {
    pl_enumeration_free(&s->enumeration);
    pl_problem_free(&s->problem);
}

static uint64_t value_of(const pl_filter *filter, const pl_objective_values *v,
                         popliner_objective objective) {
    const uint64_t values[] = {v->peak_bytes,
                               v->cycles,
                               v->cut_bytes,
                               v->num_ipus,
                               pl_objective_values_spread(v, filter->spread_is_of_cycles),
                               v->shortfall_bytes,
                               0};
    return values[objective];
}

/* Whether a split is one that the problem allows, but for pairs, and the filter. */
static bool is_allowed(const subject *s, const pl_split *split, pl_objective_values *values) {
    uint64_t peaks_bytes[MOST_STAGES];
    uint8_t ok[MOST_UNITS];
    assert_int_equal(pl_split_evaluate(&s->problem, split, values, peaks_bytes, NULL), POPLINER_OK);
    for (size_t stage = 0; stage < split->num_stages; ++stage) {
        popliner_interval it = pl_split_interval(&s->problem, split, stage);
        pl_problem_mark(&s->problem, &s->filter.limits, stage, it.stages_to_end, it.first_unit, ok);
        if (ok[it.last_unit - it.first_unit] == 0 ||
            peaks_bytes[stage] >
                pl_limits_peak(&s->problem, &s->filter.limits, pl_problem_ipu(&s->problem, stage)))
            return false;
    }
    return pl_filter_admits(&s->filter, values);
}

/* The best of all splits, in the order of their cuts, one after another. */
typedef struct best {
    popliner_objective objective;
    bool exists;
    uint64_t value;
    size_t units[MOST_STAGES];
} best;

static void try_all(const subject *s, pl_split *split, best *b) {
    size_t num_stages = s->problem.options->num_mapped_stages;
    pl_objective_values values;
    if (split->num_stages == num_stages) {
        if (!is_allowed(s, split, &values))
            return;
        uint64_t value = value_of(&s->filter, &values, b->objective);
        if (b->exists && value >= b->value)
            return;
        b->exists = true;
        b->value = value;
        memcpy(b->units, split->first_units, num_stages * sizeof *b->units);
        return;
    }
    size_t from = split->num_stages == 0 ? 0 : split->first_units[split->num_stages - 1] + 1;
    size_t to = split->num_stages == 0 ? 1 : s->problem.num_units;
    for (size_t unit = from; unit < to; ++unit) {
        assert_true(pl_split_append(split, unit));
        try_all(s, split, b);
        --split->num_stages;
    }
}

static void assert_best(subject *s, popliner_objective objective) {
    best expected = {.objective = objective};
    pl_split split = {0};
    pl_split found = {0};
    bool is_stopped = false;
    try_all(s, &split, &expected);
    pl_split_clear(&split);
    assert_true(pl_enumeration_serves(&s->enumeration, &s->filter.limits));
    assert_int_equal(
        pl_enumeration_find(&s->enumeration, &s->filter, objective, &found, &is_stopped, NULL),
        POPLINER_OK);
    assert_false(is_stopped);
    assert_int_equal(found.num_stages, expected.exists ? s->problem.options->num_mapped_stages : 0);
    for (size_t stage = 0; stage < found.num_stages; ++stage)
        assert_int_equal(found.first_units[stage], expected.units[stage]);
    pl_split_clear(&found);
}

/* Narrows the filter in one way or another, to what some split has. */
static void narrow(subject *s, uint64_t random) {
    pl_filter *f = &s->filter;
    pl_split split = {0};
    pl_objective_values v;
    best any = {.objective = POPLINER_NUM_OBJECTIVES};
    try_all(s, &split, &any);
    pl_split_clear(&split);
    for (size_t i = 0; any.exists && i < s->problem.options->num_mapped_stages; ++i)
        assert_true(pl_split_append(&split, any.units[i]));
    if (!any.exists)
        return;
    assert_int_equal(pl_split_evaluate(&s->problem, &split, &v, NULL, NULL), POPLINER_OK);
    pl_split_clear(&split);
    f->spread_is_of_cycles = random % 2 == 0;
    switch (random / 2 % 6) {
    case 0:
        f->limits.max_peak_bytes = v.peak_bytes;
        break;
    case 1:
        f->limits.max_cycles = v.cycles;
        break;
    case 2:
        f->limits.max_cut_bytes = v.cut_bytes;
        break;
    case 3:
        f->max_spread = pl_objective_values_spread(&v, f->spread_is_of_cycles);
        break;
    case 4:
        f->limits.min_peak_bytes = v.min_peak_bytes;
        f->limits.max_peak_bytes = v.peak_bytes;
        break;
    default:
        f->limits.min_cycles = v.min_cycles;
        break;
    }
}

/* Without limits nothing has a headroom. */
static bool has_limits(const pl_problem *problem) {
    return problem->largest_limit_bytes < POPLINER_PEAK_FORBIDDEN - 1;
}

/* Every objective, within one filter after another that leaves less. */
static void finds_the_best_of_random_chains(void **state) {
    (void)state;
    const instance_wish wish = {
        SHARED_IPUS, CUT_RULES | NUM_UNITS | PLACEMENTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE, 0,
        1};
    for (uint64_t seed = 0; seed < 600; ++seed) {
        instance in;
        subject s;
        uint64_t random = test_random(seed);
        if (!test_takes_case(seed, 3))
            continue;
        draw_instance(&wish, seed, &in);
        make_subject(&s, in.costs, &in.options);
        assert_true(s.enumeration.is_listed);
        for (size_t turn = 0; turn < 3; ++turn) {
            for (int i = 0; i <= POPLINER_NUM_OBJECTIVES; ++i)
                if (i != POPLINER_OBJECTIVE_HEADROOM || has_limits(&s.problem))
                    assert_best(&s, (popliner_objective)i);
            narrow(&s, random % 12);
            random = test_random(random);
        }
        free_subject(&s);
        free_instance(&in);
    }
}

/* 8855 splits, but only 210 pairs of stages on the one IPU that is shared: each is asked for once,
 * by all objectives together, and by most of them for a few. */
static void measures_what_matters_once(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 2, 3, 0};
    enum { NUM_PAIRS = 210 }; /* with at least three units between them */
    chain c;
    subject s;
    make_chain(&c, 3, 24, map, 5);
    make_subject(&s, c.costs, &c.options);
    assert_true(s.enumeration.is_listed);
    assert_int_equal(s.enumeration.count, 8855);
    assert_int_equal(c.num_asked, 0);
    pl_split split = {0};
    bool is_stopped = false;
    const struct {
        popliner_objective objective;
        size_t most_asked;
    } asked[] = {{POPLINER_NUM_OBJECTIVES, 1},
                 {POPLINER_OBJECTIVE_TRAFFIC, 30},
                 {POPLINER_OBJECTIVE_CYCLES, 60},
                 {POPLINER_OBJECTIVE_MEMORY, 120},
                 {POPLINER_OBJECTIVE_BALANCE, NUM_PAIRS},
                 {POPLINER_OBJECTIVE_BALANCE, NUM_PAIRS}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        assert_int_equal(pl_enumeration_find(&s.enumeration, &s.filter, asked[i].objective, &split,
                                             &is_stopped, NULL),
                         POPLINER_OK);
        assert_in_range(c.num_asked, 0, asked[i].most_asked);
        pl_split_clear(&split);
    }
    free_subject(&s);
    popliner_costs_free(c.costs);
}

/* Of 48 units on 0,1,0,1 every list of cuts makes another load, 16,215 in all; they are listed only
 * where nobody has to be asked who may be slow. */
static void does_not_ask_too_often(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 0, 1};
    chain c;
    subject s;
    make_chain(&c, 4, 48, map, 4);
    make_subject(&s, c.costs, &c.options);
    assert_true(s.enumeration.is_tried);
    assert_false(s.enumeration.is_listed);
    assert_false(pl_enumeration_serves(&s.enumeration, &s.filter.limits));
    free_subject(&s);
    c.costs->shared_peak_is_quick = true;
    make_subject(&s, c.costs, &c.options);
    assert_true(s.enumeration.is_listed);
    assert_int_equal(s.enumeration.count, 16215);
    free_subject(&s);
    popliner_costs_set_shared_peak(c.costs, shared_peak, &c, true);
    assert_false(pl_costs_shared_peak_is_quick(c.costs));
    popliner_costs_set_shared_peak(c.costs, NULL, NULL, false);
    make_subject(&s, c.costs, &c.options);
    assert_true(s.enumeration.is_listed);
    assert_int_equal(c.num_asked, 0);
    free_subject(&s);
    popliner_costs_free(c.costs);
}

/* A wider filter needs splits that were not listed. */
static void serves_no_wider_filter(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 0};
    static const popliner_ipu_value limit = {1, 3000};
    chain c;
    subject s;
    make_chain(&c, 5, 12, map, 3);
    c.options.mem_per_tile = 5000;
    c.options.ipu_limits = &limit;
    c.options.num_ipu_limits = 1;
    make_subject(&s, c.costs, &c.options);
    assert_true(pl_enumeration_serves(&s.enumeration, &s.filter.limits));
    pl_filter filter = s.filter;
    filter.limits.plain_limit_bytes = 4000;
    assert_true(pl_enumeration_serves(&s.enumeration, &filter.limits));
    filter.limits.plain_limit_bytes = 5001;
    assert_false(pl_enumeration_serves(&s.enumeration, &filter.limits));
    filter = s.filter;
    filter.limits.ignores_ipu_limits = true;
    assert_false(pl_enumeration_serves(&s.enumeration, &filter.limits));
    free_subject(&s);
    popliner_costs_free(c.costs);
}

/* ---- in the solver ---- */

/* What took the search 45 to 58 s, or never ended. */
static void solves_what_took_long(void **state) {
    (void)state;
    static const size_t three[] = {0, 1, 2, 1, 0, 2};
    static const size_t many[] = {1, 1, 2, 1, 1, 1, 0};
    static const size_t one[] = {0, 1, 2, 3, 0};
    static const popliner_objective balance_traffic[] = {POPLINER_OBJECTIVE_BALANCE,
                                                         POPLINER_OBJECTIVE_TRAFFIC};
    static const popliner_objective cycles_balance[] = {
        POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_BALANCE, POPLINER_OBJECTIVE_MEMORY};
    const struct {
        size_t num_units;
        const size_t *map;
        size_t num_stages;
        const popliner_objective *objectives;
        size_t num_objectives;
        double slack_percent;
    } cases[] = {{12, three, 6, balance_traffic, 2, 5},
                 {13, many, 7, cycles_balance, 3, 10},
                 {13, many, 7, balance_traffic, 1, 0},
                 {16, one, 5, balance_traffic, 1, 0},
                 {16, one, 5, balance_traffic, 2, 20}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        chain c;
        popliner_plan plan = {0};
        make_chain(&c, 10 + i, cases[i].num_units, cases[i].map, cases[i].num_stages);
        c.options.objectives = cases[i].objectives;
        c.options.num_objectives = cases[i].num_objectives;
        c.options.slack_percent = cases[i].slack_percent;
        c.options.mem_per_tile = c.before[cases[i].num_units] * 3 / 4;
        brute_answer expected = brute_force(c.costs, &c.options);
        assert_int_equal(pl_solve(c.costs, &c.options, &plan, NULL), POPLINER_OK);
        assert_plan_is(&plan, &expected);
        assert_int_equal(plan.proof, POPLINER_PROOF_ENUMERATION);
        pl_plan_clear(&plan);
        popliner_costs_free(c.costs);
    }
}

/* Whenever it is stopped, what it has is a split, or nothing; in the end it is the best. */
static void stops_when_asked(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 2, 0, 1};
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_BALANCE,
                                                    POPLINER_OBJECTIVE_MEMORY};
    chain c;
    bool was_stopped = false;
    bool had_split = false;
    make_chain(&c, 20, 16, map, 5);
    c.options.objectives = objectives;
    c.options.num_objectives = 2;
    brute_answer expected = brute_force(c.costs, &c.options);
    for (size_t looks = 0; looks < 2000; looks = looks * 3 / 2 + 1) {
        popliner_plan plan = {0};
        size_t left = looks;
        c.options.should_stop = test_stop_after;
        c.options.should_stop_user = &left;
        assert_int_equal(pl_solve(c.costs, &c.options, &plan, NULL), POPLINER_OK);
        was_stopped = was_stopped || plan.is_stopped;
        had_split = had_split || (plan.is_stopped && plan.num_stages > 0);
        if (plan.is_stopped)
            assert_int_equal(plan.status, plan.num_stages > 0 ? POPLINER_PLAN_FEASIBLE
                                                              : POPLINER_PLAN_INFEASIBLE);
        else
            assert_plan_is(&plan, &expected);
        pl_plan_clear(&plan);
    }
    assert_true(was_stopped && had_split);
    popliner_costs_free(c.costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_splits),
        cmocka_unit_test(finds_the_best_of_random_chains),
        cmocka_unit_test(measures_what_matters_once),
        cmocka_unit_test(does_not_ask_too_often),
        cmocka_unit_test(serves_no_wider_filter),
        cmocka_unit_test(solves_what_took_long),
        cmocka_unit_test(stops_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
