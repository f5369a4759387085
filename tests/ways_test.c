/* Stages that choose between tables of costs, against every split with every choice.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "costs/variants.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"
#include "solve/step.h"
#include "test_data.h"

enum { MOST_UNITS = 5, MOST_WAYS = 3, MOST_OBJECTIVES = 5 };

static const char *const names[MOST_WAYS] = {"none", "standard", "full"};

typedef struct question {
    size_t num_units;
    size_t num_ways;
    size_t num_places;
    popliner_costs *costs[MOST_WAYS];
    popliner_solver_options options;
    popliner_objective objectives[MOST_OBJECTIVES];
    popliner_ipu_value limit;
    popliner_ipu_value speeds[2];
    popliner_ipu_link link;
    popliner_cut_rule cut_rules[MOST_UNITS];
    uint64_t below; /* the second objective of a point of a front */
    popliner_listener listener;
    size_t num_programs; /* that were solved */
} question;

/* A split with its choices, and what it is worth. */
typedef struct answer {
    bool exists;
    size_t num_stages;
    size_t first[MOST_UNITS];
    size_t ways[MOST_UNITS];
    uint64_t of[POPLINER_NUM_OBJECTIVES];
} answer;

static void draw_costs(question *q, uint64_t *random) {
    size_t n = q->num_units;
    bool has_cycles = test_below(random, 6) > 0;
    for (size_t way = 0; way < q->num_ways; way++) {
        assert_int_equal(popliner_costs_create(n, q->num_places, &q->costs[way], NULL),
                         POPLINER_OK);
        for (size_t first = 0; first < n; first++)
            for (size_t last = first; last < n; last++) {
                bool is_forbidden = test_below(random, 12) == 0;
                for (size_t place = 1; place <= q->num_places; place++)
                    assert_int_equal(
                        popliner_costs_set_peak(q->costs[way], first, last, place,
                                                is_forbidden
                                                    ? POPLINER_PEAK_FORBIDDEN
                                                    : (1 + last - first) * test_below(random, 12) +
                                                          place * test_below(random, 4),
                                                NULL),
                        POPLINER_OK);
                if (has_cycles)
                    assert_int_equal(
                        popliner_costs_set_cycles(q->costs[way], first, last,
                                                  (1 + last - first) * test_below(random, 9), NULL),
                        POPLINER_OK);
            }
    }
    for (size_t unit = 1; unit < n; unit++) {
        uint64_t bytes = test_below(random, 4);
        for (size_t way = 0; way < q->num_ways; way++)
            assert_int_equal(popliner_costs_set_cut(q->costs[way], unit, bytes, NULL), POPLINER_OK);
    }
}

static bool has_objective(const question *q, popliner_objective objective) {
    for (size_t i = 0; i < q->options.num_objectives; i++)
        if (q->objectives[i] == objective)
            return true;
    return false;
}

/* Slack, and IPUs that differ in their speeds and links. */
static void draw_ipus(question *q, uint64_t *random) {
    if (test_below(random, 3) == 0)
        q->options.slack_percent = 10.0 * (double)(1 + test_below(random, 5));
    if (test_below(random, 3) == 0) {
        for (size_t i = 0; i < 2; i++)
            q->speeds[i] = (popliner_ipu_value){2 * i + test_below(random, 2),
                                                250000 * (1 + test_below(random, 8))};
        q->options.ipu_speeds = q->speeds;
        q->options.num_ipu_speeds = 1 + test_below(random, 2);
    }
    if (test_below(random, 3) == 0)
        q->options.link_bandwidth = (popliner_ipu_link){.bytes = 1 + test_below(random, 3),
                                                        .cycles = 1 + test_below(random, 4)};
    if (test_below(random, 3) == 0) {
        size_t ipu = test_below(random, 3);
        q->link = (popliner_ipu_link){ipu, ipu + 1, 1, 1 + test_below(random, 9)};
        q->options.ipu_links = &q->link;
        q->options.num_ipu_links = 1;
    }
}

static void swap(popliner_objective *a, popliner_objective *b) {
    const popliner_objective kept = *a;
    *a = *b;
    *b = kept;
}

static void count_program(void *user, popliner_level level, const char *text) {
    question *q = user;
    (void)level;
    q->num_programs += strncmp(text, "integer program:", 16) == 0;
}

/* More programs than a question can need: each halves a range of values, excludes a split, or finds
 * a cut. */
static bool has_many_programs(void *user) {
    enum { MOST_PROGRAMS = 400 };
    const question *q = user;
    return q->num_programs > MOST_PROGRAMS;
}

static void draw_question(question *q, uint64_t *random) {
    static const popliner_objective all[] = {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES,
                                             POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_IPUS,
                                             POPLINER_OBJECTIVE_HEADROOM};
    *q = (question){.num_units = 1 + test_below(random, MOST_UNITS),
                    .num_ways = 1 + test_below(random, MOST_WAYS)};
    q->num_places = test_below(random, 3) == 0 ? 1 : q->num_units;
    draw_costs(q, random);
    memcpy(q->objectives, all, sizeof all);
    for (size_t i = MOST_OBJECTIVES - 1; i > 0; i--)
        swap(&q->objectives[i], &q->objectives[test_below(random, i + 1)]);
    q->options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    q->options.method = test_below(random, 2) == 0 && popliner_solver_has_glpk()
                            ? POPLINER_METHOD_ILP
                            : POPLINER_METHOD_AUTO;
    q->options.objectives = q->objectives;
    q->options.num_objectives = 1 + test_below(random, MOST_OBJECTIVES);
    q->options.num_ipus = 1 + test_below(random, MOST_UNITS);
    /* what is free is known for limits alone */
    if (test_below(random, 2) == 0 || has_objective(q, POPLINER_OBJECTIVE_HEADROOM))
        q->options.mem_per_tile = test_below(random, 50);
    if (test_below(random, 4) == 0) {
        q->limit = (popliner_ipu_value){test_below(random, 3), test_below(random, 50)};
        q->options.ipu_limits = &q->limit;
        q->options.num_ipu_limits = 1;
    }
    for (size_t unit = 1; unit < q->num_units; unit++)
        q->cut_rules[unit] =
            test_below(random, 6) == 0 ? POPLINER_CUT_FORBIDDEN : POPLINER_CUT_FREE;
    q->options.cut_rules = q->cut_rules;
    q->listener = (popliner_listener)POPLINER_LISTENER_INIT;
    q->listener.user = q;
    q->listener.message = count_program;
    q->options.listener = &q->listener;
    q->options.should_stop = has_many_programs;
    q->options.should_stop_user = q;
    draw_ipus(q, random);
}

static uint64_t limit_of(const question *q, size_t ipu) {
    bool has_own = q->options.num_ipu_limits > 0 && q->limit.ipu == ipu;
    return has_own ? q->limit.value : q->options.mem_per_tile;
}

static uint64_t up(uint64_t amount, uint64_t of, uint64_t by) {
    return (amount * of + by - 1) / by;
}

/* What the cut before a unit takes between the IPU of a stage and that of the one before. */
static uint64_t link_cycles(const question *q, size_t stage, size_t unit) {
    popliner_ipu_link bandwidth = q->options.link_bandwidth;
    if (unit == 0 || unit == q->num_units)
        return 0;
    if (q->options.num_ipu_links > 0 && q->link.first_ipu + 1 == stage)
        bandwidth = q->link;
    return bandwidth.bytes == 0
               ? 0
               : up(popliner_costs_cut(q->costs[0], unit), bandwidth.cycles, bandwidth.bytes);
}

/* The cycles of a stage on its IPU. */
static uint64_t cycles_of(const question *q, size_t way, size_t stage, size_t first, size_t last) {
    uint64_t millionths = 1000000;
    for (size_t i = 0; i < q->options.num_ipu_speeds; i++)
        if (q->speeds[i].ipu == stage)
            millionths = q->speeds[i].value;
    uint64_t own = popliner_costs_has_cycles(q->costs[way])
                       ? up(popliner_costs_cycles(q->costs[way], first, last), 1000000, millionths)
                       : 0;
    return own + link_cycles(q, stage, first) + link_cycles(q, stage + 1, last + 1);
}

static uint64_t largest_limit(const question *q) {
    bool counts =
        q->options.num_ipu_limits > 0 &&
        q->limit.ipu < (q->options.num_ipus < q->num_units ? q->options.num_ipus : q->num_units);
    return counts && q->limit.value > q->options.mem_per_tile ? q->limit.value
                                                              : q->options.mem_per_tile;
}

/* One split with one choice of each stage: digits of `choices`. Its headroom is the bytes that the
 * largest limit has more. */
static answer value_of(const question *q, unsigned begins, size_t choices) {
    answer a = {.exists = true, .of = {[POPLINER_OBJECTIVE_HEADROOM] = 0}};
    for (size_t unit = 0; unit < q->num_units; unit++)
        if (unit == 0 || (begins >> unit & 1) != 0) {
            a.exists = a.exists && (unit == 0 || q->cut_rules[unit] != POPLINER_CUT_FORBIDDEN);
            a.of[POPLINER_OBJECTIVE_TRAFFIC] +=
                unit == 0 ? 0 : popliner_costs_cut(q->costs[0], unit);
            a.first[a.num_stages++] = unit;
        }
    a.of[POPLINER_OBJECTIVE_IPUS] = a.num_stages;
    a.exists = a.exists && a.num_stages <= q->options.num_ipus;
    for (size_t i = 0; a.exists && i < a.num_stages; i++, choices /= q->num_ways) {
        size_t last = (i + 1 < a.num_stages ? a.first[i + 1] : q->num_units) - 1;
        size_t way = choices % q->num_ways;
        uint64_t peak = popliner_costs_peak(q->costs[way], a.first[i], last, a.num_stages - i);
        uint64_t cycles = cycles_of(q, way, i, a.first[i], last);
        a.exists = peak != POPLINER_PEAK_FORBIDDEN && peak <= limit_of(q, i);
        if (!a.exists)
            break;
        a.ways[i] = way;
        uint64_t taken = largest_limit(q) - (limit_of(q, i) - peak);
        if (peak > a.of[POPLINER_OBJECTIVE_MEMORY])
            a.of[POPLINER_OBJECTIVE_MEMORY] = peak;
        if (cycles > a.of[POPLINER_OBJECTIVE_CYCLES])
            a.of[POPLINER_OBJECTIVE_CYCLES] = cycles;
        if (taken > a.of[POPLINER_OBJECTIVE_HEADROOM])
            a.of[POPLINER_OBJECTIVE_HEADROOM] = taken;
    }
    return a;
}

/* True if the cuts of a come before those of b. */
static bool is_earlier(const answer *a, const answer *b) {
    for (size_t i = 1; i < a->num_stages && i < b->num_stages; i++)
        if (a->first[i] != b->first[i])
            return a->first[i] < b->first[i];
    return a->num_stages < b->num_stages;
}

/* What the best answer has: its split, the least values of the objectives one after another, and
 * the largest ones with slack. */
typedef struct truth {
    answer best;
    uint64_t least[MOST_OBJECTIVES];
    uint64_t most[MOST_OBJECTIVES];
} truth;

/* The bytes that a stage on an IPU chooses within: those of the limit and of the objectives. */
static uint64_t most_bytes(const question *q, const truth *t, size_t ipu) {
    uint64_t limit = limit_of(q, ipu);
    for (size_t k = 0; k < q->options.num_objectives; k++) {
        uint64_t most = q->objectives[k] == POPLINER_OBJECTIVE_MEMORY ? t->most[k]
                        : q->objectives[k] == POPLINER_OBJECTIVE_HEADROOM
                            ? t->most[k] + limit_of(q, ipu) - largest_limit(q)
                            : limit;
        limit = most < limit ? most : limit;
    }
    return limit;
}

/* The ways of all stages together; each bit of `begins` is a stage after the first. */
static size_t count_choices(const question *q, unsigned begins) {
    size_t count = q->num_ways;
    for (; begins > 0; begins &= begins - 1)
        count *= q->num_ways;
    return count;
}

static truth best_of_all(const question *q) {
    enum { MOST_ANSWERS = 1 << 11 };
    static answer all[MOST_ANSWERS];
    size_t count = 0;
    truth t = {.best = {.exists = false}};
    for (unsigned begins = 0; begins < 1u << q->num_units; begins += 2) {
        for (size_t choices = 0; choices < count_choices(q, begins); choices++) {
            answer own = value_of(q, begins, choices);
            if (own.exists && (q->below == 0 || own.of[q->objectives[1]] < q->below))
                all[count++] = own;
        }
    }
    for (size_t i = 0; count > 0 && i < q->options.num_objectives; i++) {
        popliner_objective objective = q->objectives[i];
        size_t kept = 0;
        t.least[i] = UINT64_MAX;
        for (size_t k = 0; k < count; k++)
            if (all[k].of[objective] < t.least[i])
                t.least[i] = all[k].of[objective];
        uint64_t of =
            objective == POPLINER_OBJECTIVE_HEADROOM ? largest_limit(q) - t.least[i] : t.least[i];
        bool has_slack = i + 1 < q->options.num_objectives;
        t.most[i] = t.least[i] + (has_slack ? of * (uint64_t)q->options.slack_percent / 100 : 0);
        for (size_t k = 0; k < count; k++)
            if (all[k].of[objective] <= t.most[i])
                all[kept++] = all[k];
        count = kept;
    }
    for (size_t k = 0; k < count; k++)
        if (k == 0 || is_earlier(&all[k], &t.best))
            t.best = all[k];
    return t;
}

/* The stages have the peaks and cycles of the ways that are told, which are the fastest within what
 * is left to them. */
static void check_choices(const question *q, const popliner_plan *plan, const char *const *texts,
                          const truth *t) {
    bool is_infeasible = plan->status == POPLINER_PLAN_INFEASIBLE;
    for (size_t i = 0; i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        uint64_t limit = is_infeasible ? 0 : most_bytes(q, t, i);
        size_t to_end = plan->num_stages - i;
        size_t chosen = q->num_ways;
        for (size_t way = 0; way < q->num_ways; way++)
            if (strcmp(names[way], texts[i]) == 0)
                chosen = way;
        assert_true(chosen < q->num_ways);
        assert_int_equal(stage->peak_bytes, popliner_costs_peak(q->costs[chosen], stage->first_unit,
                                                                stage->last_unit, to_end));
        assert_int_equal(stage->cycles,
                         cycles_of(q, chosen, i, stage->first_unit, stage->last_unit));
        for (size_t way = 0; way < q->num_ways; way++) {
            uint64_t peak =
                popliner_costs_peak(q->costs[way], stage->first_unit, stage->last_unit, to_end);
            uint64_t cycles = cycles_of(q, way, i, stage->first_unit, stage->last_unit);
            if (is_infeasible) {
                assert_true(peak >= stage->peak_bytes);
            } else if (peak != POPLINER_PEAK_FORBIDDEN && peak <= limit) {
                assert_true(
                    cycles > stage->cycles ||
                    (cycles == stage->cycles && peak > stage->peak_bytes) ||
                    (cycles == stage->cycles && peak == stage->peak_bytes && way >= chosen));
            }
        }
    }
}

static size_t num_feasible;
static size_t num_by_programs;
static size_t num_without_recomputing; /* all stages have the first way */

/* False if there are no cycles, but they count. */
static bool can_be_solved(const question *q) {
    bool needs_cycles = has_objective(q, POPLINER_OBJECTIVE_CYCLES) ||
                        q->options.num_ipu_speeds > 0 || q->options.num_ipu_links > 0 ||
                        q->options.link_bandwidth.bytes > 0;
    return !needs_cycles || popliner_costs_has_cycles(q->costs[0]);
}

static void check_answer(const question *q) {
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    const truth t = best_of_all(q);
    const answer best = t.best;
    popliner_status status = popliner_variants_solve_costs(
        (const popliner_costs *const *)q->costs, names, q->num_ways, &q->options, &plan, &error);
    if (!can_be_solved(q)) {
        assert_int_equal(status, POPLINER_ERROR_USAGE);
        assert_null(plan);
        return;
    }
    if (status != POPLINER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(plan->status, best.exists ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_INFEASIBLE);
    for (size_t i = 0; best.exists && i < q->options.num_objectives; i++) {
        const popliner_plan_value *value = &plan->values[i];
        bool is_free = value->objective == POPLINER_OBJECTIVE_HEADROOM;
        uint64_t told = is_free ? largest_limit(q) - value->value : value->value;
        assert_int_equal(is_free ? largest_limit(q) - value->bound : value->bound, t.least[i]);
        assert_in_range(told, t.least[i], t.most[i]);
        if (value->objective == POPLINER_OBJECTIVE_MEMORY)
            assert_int_equal(told, plan->peak_bytes);
        if (value->objective == POPLINER_OBJECTIVE_CYCLES)
            assert_int_equal(told, plan->cycles);
    }
    if (best.exists)
        assert_int_equal(plan->num_stages, best.num_stages);
    for (size_t i = 0; best.exists && i < best.num_stages; i++)
        assert_int_equal(plan->stages[i].first_unit, best.first[i]);
    check_choices(q, plan, (const char *const *)plan->choices, &t);
    num_feasible += best.exists;
    num_by_programs += q->num_programs > 0;
    bool is_plain = true;
    for (size_t i = 0; i < plan->num_stages; i++)
        is_plain = is_plain && strcmp(plan->choices[i], names[0]) == 0;
    num_without_recomputing += best.exists && is_plain;
    popliner_plan_free(plan);
}

static size_t num_points;

/* The points of a front are the best answers, each with less of the second objective. */
static void check_front(question *q) {
    popliner_pareto *front = NULL;
    popliner_error error = {.message = ""};
    q->options.slack_percent = 0;
    popliner_status status = popliner_pareto_solve(q->costs[0], &q->options, &front, &error);
    if (status != POPLINER_OK)
        fail_msg("%s", error.message);
    assert_true(front->is_complete);
    for (size_t i = 0; i <= front->num_points; i++) {
        const truth t = best_of_all(q);
        assert_int_equal(t.best.exists, i < front->num_points);
        if (!t.best.exists)
            break;
        const popliner_plan *plan = front->plans[i];
        for (size_t k = 0; k < q->options.num_objectives; k++) {
            bool is_free = q->objectives[k] == POPLINER_OBJECTIVE_HEADROOM;
            assert_int_equal(is_free ? largest_limit(q) - plan->values[k].value
                                     : plan->values[k].value,
                             t.least[k]);
        }
        assert_int_equal(plan->num_stages, t.best.num_stages);
        for (size_t k = 0; k < plan->num_stages; k++)
            assert_int_equal(plan->stages[k].first_unit, t.best.first[k]);
        check_choices(q, plan, (const char *const *)plan->choices, &t);
        q->below = t.least[1];
        num_points++;
        if (q->below == 0) /* that is no limit */
            break;
    }
    popliner_pareto_free(front);
}

/* ---- replicas ---- */

/* The fullest of the stages, by the parameters of their units. */
static uint64_t parameters_of(const question *q, const answer *a, const uint64_t *bytes) {
    uint64_t most = 0;
    for (size_t i = 0; i < a->num_stages; i++) {
        uint64_t sum = 0;
        for (size_t u = a->first[i]; u < (i + 1 < a->num_stages ? a->first[i + 1] : q->num_units);
             u++)
            sum += bytes[u];
        most = sum > most ? sum : most;
    }
    return most;
}

/* A simulated step. */
static uint64_t simulate(const question *q, const popliner_pipeline *asked, const answer *a,
                         uint64_t batches) {
    popliner_plan_stage stages[MOST_UNITS];
    popliner_plan plan = {.stages = stages,
                          .num_stages = a->num_stages,
                          .num_ipus = a->num_stages,
                          .cycles = a->of[POPLINER_OBJECTIVE_CYCLES]};
    popliner_pipeline pipeline = *asked;
    popliner_pipeline_step step;
    pipeline.copies.num_micro_batches = (size_t)batches;
    for (size_t i = 0; i < a->num_stages; i++) {
        const size_t end = i + 1 < a->num_stages ? a->first[i + 1] : q->num_units;
        stages[i] = (popliner_plan_stage){
            .first_unit = a->first[i],
            .last_unit = end - 1,
            .ipu = i,
            .cycles = cycles_of(q, a->ways[i], i, a->first[i], end - 1),
            .link_cycles = link_cycles(q, i + 1, end),
        };
    }
    assert_int_equal(pl_step_find(&plan, &q->options, &pipeline, q->costs[0], &step, NULL),
                     POPLINER_OK);
    return step.cycles;
}

/* The formula of popliner/replicas.h, for one chunk, or a simulated step. */
static uint64_t step_of(const question *q, const popliner_replicas_options *o, const answer *a,
                        size_t replicas, uint64_t batches) {
    uint64_t bytes = parameters_of(q, a, o->parameter_bytes);
    uint64_t reduce = o->bandwidth_bytes == 0 ? 0
                                              : up(2 * (replicas - 1) * bytes, o->bandwidth_cycles,
                                                   replicas * o->bandwidth_bytes);
    return reduce + (o->pipeline != NULL
                         ? simulate(q, o->pipeline, a, batches)
                         : (batches + a->num_stages - 1) * a->of[POPLINER_OBJECTIVE_CYCLES]);
}

/* Compares throughputs, then the objectives: the formula has the cycles. */
static bool is_better_candidate(const question *q, bool is_simulated, const uint64_t *a,
                                const answer *of_a, const uint64_t *b, const answer *of_b) {
    if (b[0] == 0 || a[0] * b[1] != b[0] * a[1])
        return b[0] == 0 || a[0] * b[1] > b[0] * a[1];
    if (a[2] != b[2])
        return a[2] < b[2];
    for (size_t i = 0; i < q->options.num_objectives; i++) {
        popliner_objective own = q->objectives[i];
        if ((is_simulated || own != POPLINER_OBJECTIVE_CYCLES) && of_a->of[own] != of_b->of[own])
            return of_a->of[own] < of_b->of[own];
    }
    return false;
}

/* Every split of so many stages, with each choice and each number of replicas. Sets value to the
 * micro-batches, the cycles of their step, and the replicas. */
static answer best_candidate(const question *q, const popliner_replicas_options *o,
                             size_t num_stages, uint64_t value[3]) {
    answer best = {.exists = false};
    value[0] = value[1] = value[2] = 0;
    for (unsigned begins = 0; begins < 1u << q->num_units; begins += 2) {
        for (size_t choices = 0; choices < count_choices(q, begins); choices++) {
            answer own = value_of(q, begins, choices);
            for (size_t r = 1;
                 own.exists && own.num_stages == num_stages && r * num_stages <= o->total_ipus;
                 r++) {
                uint64_t batches = o->batch > 0 ? o->batch / r : o->micro_batches;
                uint64_t of[] = {r * batches, step_of(q, o, &own, r, batches), r};
                if ((o->batch == 0 || o->batch % r == 0) &&
                    is_better_candidate(q, o->pipeline != NULL, of, &own, value, &best)) {
                    best = own;
                    memcpy(value, of, sizeof of);
                }
            }
        }
    }
    return best;
}

static size_t num_candidates;

/* The plan of a candidate has the numbers of what its stages chose. */
static void check_candidate(const question *q, const popliner_replicas_candidate *c) {
    unsigned begins = 0;
    size_t choices = 0;
    for (size_t i = c->plan->num_stages; i-- > 0;) {
        size_t way = 0;
        while (strcmp(names[way], c->plan->choices[i]) != 0)
            way++;
        choices = choices * q->num_ways + way;
        begins |= 1u << c->plan->stages[i].first_unit;
    }
    const answer own = value_of(q, begins & ~1u, choices);
    assert_true(own.exists);
    assert_int_equal(c->cycles, own.of[POPLINER_OBJECTIVE_CYCLES]);
    assert_int_equal(c->plan->peak_bytes, own.of[POPLINER_OBJECTIVE_MEMORY]);
    assert_int_equal(c->plan->cut_bytes, own.of[POPLINER_OBJECTIVE_TRAFFIC]);
}

/* The best throughput of each number of stages; q->costs[0] chooses. */
static void check_replicas(question *q, uint64_t *random) {
    uint64_t bytes[MOST_UNITS];
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *found = NULL;
    popliner_error error = {.message = ""};
    for (size_t i = 0; i < MOST_UNITS; i++)
        bytes[i] = test_below(random, 9);
    q->options.slack_percent = 0;
    q->below = 0;
    o.solver = &q->options;
    o.total_ipus = 1 + test_below(random, 9);
    o.micro_batches = test_below(random, 2) * (1 + test_below(random, 6));
    o.batch = o.micro_batches == 0 ? 12 : 0;
    o.parameter_bytes = bytes;
    o.bandwidth_bytes = test_below(random, 3);
    o.bandwidth_cycles = 1 + test_below(random, 5);
    const popliner_pipeline pipeline = {
        .schedule = test_below(random, 3) == 0 ? POPLINER_SCHEDULE_POPART : POPLINER_SCHEDULE_NONE,
        .copies = {.rule = test_below(random, 3) == 0   ? POPLINER_COPIES_GPIPE
                           : test_below(random, 3) == 0 ? POPLINER_COPIES_ZERO_BUBBLE
                                                        : POPLINER_COPIES_OF_SCHEDULE}};
    o.pipeline = test_below(random, 3) > 0 ? &pipeline : NULL;
    if (popliner_replicas_solve(q->costs[0], &o, &found, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    assert_true(found->is_proven || o.pipeline != NULL || o.bandwidth_bytes > 0);
    for (size_t i = 0; i < found->num_candidates; i++) {
        const popliner_replicas_candidate *c = &found->candidates[i];
        uint64_t value[3];
        const answer best = best_candidate(q, &o, i + 1, value);
        assert_int_equal(c->num_replicas > 0, best.exists);
        if (!best.exists)
            continue;
        const uint64_t batches = c->num_replicas * c->micro_batches;
        if (c->is_proven)
            assert_true(batches * value[1] == value[0] * c->step_cycles);
        else
            assert_true((double)(value[0] * c->step_cycles) <=
                        (1.000001 + c->gap) * (double)(batches * value[1]));
        const bool is_fastest =
            o.pipeline == NULL && c->is_proven && c->cycles == best.of[POPLINER_OBJECTIVE_CYCLES];
        for (size_t k = 0, n = 1; is_fastest && k < q->options.num_objectives; k++)
            if (q->objectives[k] != POPLINER_OBJECTIVE_CYCLES)
                assert_int_equal(c->plan->values[n++].value, best.of[q->objectives[k]]);
        assert_true(c->step.obstacle == NULL || c->cycles == 0);
        check_candidate(q, c);
        num_candidates++;
    }
    popliner_replicas_free(found);
}

static void every_choice_was_tried(void **state) {
    size_t num_cases = test_chosen(2500, 7000, 20000);
    uint64_t random = 77;
    (void)state;
    for (size_t i = 0; i < num_cases; i++) {
        question q;
        draw_question(&q, &random);
        check_answer(&q);
        assert_int_equal(pl_ways_join(q.costs, names, q.num_ways, NULL), POPLINER_OK);
        if (q.options.num_objectives > 1 && can_be_solved(&q))
            check_front(&q);
        if (popliner_costs_has_cycles(q.costs[0]) &&
            !has_objective(&q, POPLINER_OBJECTIVE_HEADROOM))
            check_replicas(&q, &random);
        popliner_costs_free(q.costs[0]);
    }
    assert_true(num_points > num_cases / 2);
    assert_true(num_candidates > num_cases / 2);
    assert_true(num_feasible > num_cases / 3);
    assert_true(num_by_programs > num_cases / 4 || !popliner_solver_has_glpk());
    assert_true(num_without_recomputing < num_feasible * 4 / 5);
}

static void refuses_what_does_not_belong_together(void **state) {
    popliner_costs *costs[2] = {NULL, NULL};
    const popliner_costs *seen[2];
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    (void)state;
    assert_int_equal(popliner_costs_create(2, 1, &costs[0], NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_create(3, 1, &costs[1], NULL), POPLINER_OK);
    seen[0] = costs[0];
    seen[1] = costs[1];
    assert_int_equal(popliner_variants_solve_costs(seen, names, 0, NULL, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_variants_solve_costs(seen, names, 2, NULL, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "none and standard"));
    seen[1] = costs[0];
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    static const popliner_objective balance[] = {POPLINER_OBJECTIVE_MEMORY,
                                                 POPLINER_OBJECTIVE_BALANCE};
    options.objectives = balance;
    options.num_objectives = 2;
    assert_int_equal(popliner_variants_solve_costs(seen, names, 2, &options, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "balance"));
    assert_null(plan);
    popliner_costs_free(costs[0]);
    popliner_costs_free(costs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_was_tried),
        cmocka_unit_test(refuses_what_does_not_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
