/* Stages and replicas together, against every split with every number of replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brute_force.h"
#include "popliner/replicas.h"
#include "random_instance.h"
#include "test_data.h"

/* ---- every split ---------------------------------------------------------------------------- */

typedef struct question {
    const instance *in;
    const popliner_replicas_options *options;
    const popliner_costs *const *costs; /* by stages and micro-batches, or NULL: those of `in` */
} question;

enum { MOST_MICRO_BATCHES = 24 };

static uint64_t limit_of(const popliner_solver_options *o, size_t ipu) {
    uint64_t limit = o->max_stage_bytes;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].ipu == ipu)
            limit = o->ipu_limits[i].bytes;
    return limit;
}

/* Whether the units first ... last may be the stage of an IPU. */
static bool may_be(const popliner_solver_options *o, const popliner_costs *costs, size_t ipu,
                   size_t first, size_t last, size_t to_end) {
    uint64_t peak = popliner_costs_peak(costs, first, last, to_end);
    size_t size = 0;
    for (size_t u = first; u <= last; u++) {
        size += o->counted_units == NULL || o->counted_units[u] != 0;
        if (o->cut_rules != NULL && u > 0 &&
            o->cut_rules[u] == (u == first ? POPLINER_CUT_FORBIDDEN : POPLINER_CUT_REQUIRED))
            return false;
    }
    for (size_t i = 0; i < o->num_placements; i++)
        if (first <= o->placements[i].unit && o->placements[i].unit <= last &&
            o->placements[i].ipu != ipu)
            return false;
    for (size_t i = 0; i < o->num_pairs; i++)
        if ((first <= o->pairs[i].first_unit && o->pairs[i].first_unit <= last) !=
            (first <= o->pairs[i].second_unit && o->pairs[i].second_unit <= last))
            return false;
    return peak != POPLINER_PEAK_FORBIDDEN && peak <= limit_of(o, ipu) && size >= o->min_units &&
           (o->max_units == 0 || size <= o->max_units);
}

/* Cycles and parameters of a split, as bits of the units that stages begin with. False if it is
 * not allowed, or has another number of stages. */
static bool evaluate(const question *q, const popliner_costs *costs, unsigned begins,
                     size_t num_stages, uint64_t *cycles, uint64_t *parameters) {
    size_t n = q->in->num_units;
    size_t stage = 0;
    *cycles = *parameters = 0;
    for (size_t first = 0, next; first < n; first = next, stage++) {
        uint64_t own = 0;
        for (next = first; next == first || (next < n && (begins >> next & 1) == 0); next++)
            own += q->options->parameter_bytes == NULL ? 0 : q->options->parameter_bytes[next];
        if (stage == num_stages ||
            !may_be(&q->in->options, costs, stage, first, next - 1, num_stages - stage))
            return false;
        /* IPU k of each pipeline has stage k */
        const popliner_solver_options *o = &q->in->options;
        uint64_t stage_cycles =
            brute_speed_cycles(o, stage, popliner_costs_cycles(costs, first, next - 1));
        stage_cycles +=
            first == 0 ? 0
                       : brute_link_cycles(o, stage - 1, stage, popliner_costs_cut(costs, first));
        stage_cycles +=
            next == n ? 0 : brute_link_cycles(o, stage, stage + 1, popliner_costs_cut(costs, next));
        *cycles = stage_cycles > *cycles ? stage_cycles : *cycles;
        *parameters = own > *parameters ? own : *parameters;
    }
    return stage == num_stages;
}

typedef struct value {
    uint64_t batches; /* of a step */
    uint64_t step;
    size_t ipus;
} value;

static bool is_better(value a, value b) {
    uint64_t left = a.batches * b.step;
    uint64_t right = b.batches * a.step;
    return b.batches == 0 ? a.batches > 0
                          : left > right || (a.batches > 0 && left == right && a.ipus < b.ipus);
}

static uint64_t ratio_up(uint64_t above, uint64_t below) {
    return above / below + (above % below > 0);
}

static const popliner_costs *costs_of(const question *q, size_t num_stages, uint64_t batches) {
    return q->costs == NULL ? q->in->costs : q->costs[num_stages * MOST_MICRO_BATCHES + batches];
}

/* The best of all splits into so many stages, with any number of replicas. */
static value best_of(const question *q, size_t num_stages) {
    const popliner_replicas_options *o = q->options;
    value best = {0};
    for (size_t r = 1; r * num_stages <= o->total_ipus; r++) {
        uint64_t batches = o->micro_batches > 0 ? o->micro_batches : o->batch / r;
        if (o->micro_batches == 0 && o->batch % r > 0)
            continue;
        const popliner_costs *costs = costs_of(q, num_stages, batches);
        for (unsigned begins = 0; begins < 1u << q->in->num_units; begins += 2) {
            uint64_t cycles;
            uint64_t parameters;
            if (!evaluate(q, costs, begins, num_stages, &cycles, &parameters))
                continue;
            uint64_t reduce = o->bandwidth_bytes == 0
                                  ? 0
                                  : ratio_up(2 * (r - 1) * parameters * o->bandwidth_cycles,
                                             r * o->bandwidth_bytes);
            value own = {r * batches, (batches + num_stages - 1) * cycles + reduce, r * num_stages};
            if (is_better(own, best))
                best = own;
        }
    }
    return best;
}

/* ---- against them --------------------------------------------------------------------------- */

static void check_answer(const question *q, const popliner_replicas *answer) {
    const popliner_replicas_summary *summary = popliner_replicas_get_summary(answer);
    const popliner_replicas_options *o = q->options;
    value best = {0};
    size_t best_stages = 0;
    size_t most = o->total_ipus < q->in->num_units ? o->total_ipus : q->in->num_units;
    most = q->in->options.max_stages < most ? q->in->options.max_stages : most;
    assert_int_equal(summary->num_candidates, most);
    assert_false(summary->is_stopped);
    assert_true(summary->is_proven);
    for (size_t s = 1; s <= most; s++) {
        const popliner_replicas_candidate *c = popliner_replicas_candidate_at(answer, s - 1);
        value expected = best_of(q, s);
        assert_int_equal(c->num_ipus, s);
        assert_true(c->is_proven);
        assert_int_equal(c->num_replicas > 0, expected.batches > 0);
        if (is_better(expected, best)) {
            best = expected;
            best_stages = s;
        }
        if (c->num_replicas == 0) {
            assert_int_equal(popliner_plan_get_summary(c->plan)->status, POPLINER_PLAN_INFEASIBLE);
            continue;
        }
        assert_int_equal(c->num_replicas * c->micro_batches, expected.batches);
        assert_int_equal(c->step_cycles, expected.step);
        assert_int_equal(c->num_replicas * s, expected.ipus);
        /* and the plan is what the numbers say */
        unsigned begins = 0;
        const popliner_plan_stage *stage;
        for (size_t i = 0; (stage = popliner_plan_stage_at(c->plan, i)) != NULL; i++)
            begins |= 1u << stage->first_unit;
        uint64_t cycles;
        uint64_t parameters;
        const popliner_costs *costs = costs_of(q, s, c->micro_batches);
        assert_true(evaluate(q, costs, begins & ~1u, s, &cycles, &parameters));
        assert_int_equal(c->cycles, cycles);
        assert_int_equal(c->parameter_bytes, parameters);
        assert_int_equal(c->pipeline_cycles + c->reduce_cycles, c->step_cycles);
    }
    assert_null(popliner_replicas_candidate_at(answer, most));
    assert_int_equal(summary->best, best.batches == 0 ? SIZE_MAX : best_stages - 1);
}

/* Costs of all pipelines, each with what its number of stages and of micro-batches changes. */
typedef struct many_costs {
    const popliner_costs *costs[(MOST_RANDOM_UNITS + 1) * MOST_MICRO_BATCHES];
} many_costs;

static popliner_status find_costs(void *user, size_t num_stages, uint64_t num_micro_batches,
                                  const popliner_costs **costs, popliner_error *error) {
    (void)error;
    const many_costs *many = user;
    *costs = many->costs[num_stages * MOST_MICRO_BATCHES + num_micro_batches];
    return POPLINER_OK;
}

static void draw_question(uint64_t *random, const instance *in, popliner_replicas_options *o,
                          uint64_t *parameters) {
    *o = (popliner_replicas_options)POPLINER_REPLICAS_OPTIONS_INIT;
    o->solver = &in->options;
    o->total_ipus = 1 + test_below(random, 12);
    o->micro_batches = 0;
    if (test_below(random, 2) == 0)
        o->micro_batches = 1 + test_below(random, 9);
    else
        o->batch = 1 + test_below(random, MOST_MICRO_BATCHES - 1);
    size_t scale = test_below(random, 5);
    for (size_t u = 0; u < in->num_units; u++)
        parameters[u] = test_below(random, 40) << (4 * scale);
    o->parameter_bytes = test_below(random, 5) == 0 ? NULL : parameters;
    o->bandwidth_bytes = test_below(random, 6);
    o->bandwidth_cycles = 1 + test_below(random, 9);
}

/* How often something happened. */
typedef struct tally {
    size_t num_asked;
    size_t num_traded; /* the split is not that of fewest cycles alone */
} tally;

static void check_instance(const instance_wish *wish, uint64_t seed, tally *t) {
    instance in;
    uint64_t parameters[MOST_RANDOM_UNITS];
    uint64_t random = 977 * seed;
    popliner_replicas_options o;
    popliner_replicas *answer = NULL;
    popliner_error error = {.message = ""};
    draw_instance(wish, seed, &in);
    draw_question(&random, &in, &o, parameters);
    question q = {.in = &in, .options = &o};
    if (!popliner_costs_has_cycles(in.costs)) {
        free_instance(&in);
        return;
    }
    t->num_asked++;
    if (popliner_replicas_solve(in.costs, &o, &answer, &error) != POPLINER_OK) {
        print_instance(&in);
        fail_msg("%s", error.message);
    }
    check_answer(&q, answer);
    for (size_t s = 1; s <= popliner_replicas_get_summary(answer)->num_candidates; s++) {
        const popliner_replicas_candidate *c = popliner_replicas_candidate_at(answer, s - 1);
        uint64_t least = UINT64_MAX;
        for (unsigned begins = 0; begins < 1u << in.num_units; begins += 2) {
            uint64_t cycles;
            uint64_t bytes;
            if (evaluate(&q, in.costs, begins, s, &cycles, &bytes) && cycles < least)
                least = cycles;
        }
        t->num_traded += c->num_replicas > 0 && c->cycles > least;
    }
    popliner_replicas_free(answer);
    free_instance(&in);
}

static void every_split_with_every_number_of_replicas(void **state) {
    (void)state;
    enum {
        SOMETIMES = MEMORY_LIMIT | IPU_LIMITS | CUT_RULES | NUM_UNITS | COUNTED_UNITS | PAIRS |
                    PLACEMENTS | PIPELINE
    };
    static const instance_wish wishes[] = {
        {.sometimes = SOMETIMES, .most_objectives = 2},
        {.always = SPEEDS, .sometimes = SOMETIMES, .most_objectives = 2},
        {.always = LINKS, .sometimes = SOMETIMES, .most_objectives = 2},
        {.always = SPEEDS | LINKS, .sometimes = SOMETIMES, .most_objectives = 2},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        size_t num_instances = (test_takes_all() ? 12000 : 1500) / (i == 0 ? 1 : 3);
        tally t = {0, 0};
        for (uint64_t seed = 1; seed <= num_instances; seed++)
            check_instance(&wishes[i], seed, &t);
        assert_true(t.num_asked > num_instances / 2);
        assert_true(t.num_traded > (i == 0 ? num_instances / 150 : 0));
    }
}

/* Copies that depend on stages and micro-batches come from the callback. */
static void costs_may_depend_on_micro_batches(void **state) {
    (void)state;
    static const instance_wish wish = {.always = MEMORY_LIMIT, .most_objectives = 1};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        instance in;
        many_costs many = {{NULL}};
        uint64_t parameters[MOST_RANDOM_UNITS];
        uint64_t random = 31 * seed;
        draw_instance(&wish, seed, &in);
        if (!popliner_costs_has_cycles(in.costs)) {
            free_instance(&in);
            continue;
        }
        popliner_replicas_options o;
        popliner_replicas *answer = NULL;
        draw_question(&random, &in, &o, parameters);
        size_t n = in.num_units;
        for (size_t i = 0; i < (n + 1) * MOST_MICRO_BATCHES; i++) {
            popliner_costs *own;
            assert_int_equal(popliner_costs_create(n, 1, &own, NULL), POPLINER_OK);
            for (size_t first = 0; first < n; first++)
                for (size_t last = first; last < n; last++) {
                    uint64_t peak = popliner_costs_peak(in.costs, first, last, 1);
                    peak += peak == POPLINER_PEAK_FORBIDDEN ? 0 : test_below(&random, 4);
                    popliner_costs_set_peak(own, first, last, 1, peak, NULL);
                    popliner_costs_set_cycles(own, first, last, test_below(&random, 30), NULL);
                }
            many.costs[i] = own;
        }
        o.costs = find_costs;
        o.costs_user = &many;
        question q = {&in, &o, many.costs};
        assert_int_equal(popliner_replicas_solve(in.costs, &o, &answer, NULL), POPLINER_OK);
        check_answer(&q, answer);
        popliner_replicas_free(answer);
        for (size_t i = 0; i < (n + 1) * MOST_MICRO_BATCHES; i++)
            popliner_costs_free((popliner_costs *)many.costs[i]);
        free_instance(&in);
    }
}

/* ---- by hand -------------------------------------------------------------------------------- */

static popliner_costs *equal_units(size_t num_units, uint64_t cycles) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(num_units, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++)
            assert_int_equal(
                popliner_costs_set_cycles(costs, first, last, cycles * (last - first + 1), NULL),
                POPLINER_OK);
    return costs;
}

/* Four units of 100 cycles on four IPUs, eight micro-batches: replicas of one stage need 400 * 2 a
 * step each without a bubble, two of two stages (4 + 1) * 200, one of four (8 + 3) * 100. */
static void a_bubble_costs_more_than_an_all_reduce(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(4, 100);
    const uint64_t parameters[] = {60, 60, 60, 60};
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.total_ipus = 4;
    o.micro_batches = 0;
    o.batch = 8;
    o.parameter_bytes = parameters;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(popliner_replicas_get_summary(answer)->best, 0);
    const popliner_replicas_candidate *c = popliner_replicas_candidate_at(answer, 0);
    assert_int_equal(c->num_replicas, 4);
    assert_int_equal(c->micro_batches, 2);
    assert_int_equal(c->step_cycles, 800);
    popliner_replicas_free(answer);
    /* 2 * 3 / 4 of 240 bytes, each in a cycle and a quarter: 450; 2 * 1 / 2 of 120: 150 */
    o.bandwidth_bytes = 4;
    o.bandwidth_cycles = 5;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    c = popliner_replicas_candidate_at(answer, 0);
    assert_int_equal(c->reduce_cycles, 450);
    c = popliner_replicas_candidate_at(answer, 1);
    assert_int_equal(c->num_replicas, 2);
    assert_int_equal(c->pipeline_cycles, 1000);
    assert_int_equal(c->reduce_cycles, 150);
    assert_int_equal(popliner_replicas_candidate_at(answer, 2)->num_replicas, 1);
    assert_int_equal(popliner_replicas_candidate_at(answer, 3)->step_cycles, 1100);
    assert_int_equal(popliner_replicas_get_summary(answer)->best, 3);
    popliner_replicas_free(answer);
    /* two chunks on each of two IPUs: (4 + 1 / 2) * 200 */
    o.chunks = 2;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(popliner_replicas_get_summary(answer)->num_candidates, 2);
    c = popliner_replicas_candidate_at(answer, 1);
    assert_int_equal(c->pipeline_cycles, 900);
    assert_int_equal(c->parameter_bytes, 120);
    assert_int_equal(popliner_plan_get_summary(c->plan)->num_stages, 4);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

/* What the search is made of: no stage has more than so much of something. */
static void weights_limit_a_stage(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(4, 10);
    const uint64_t weights[] = {1, 5, 1, UINT64_MAX - 3};
    static const struct {
        uint64_t most;
        size_t num_stages; /* 0: there is no split */
    } cases[] = {{4, 0}, {UINT64_MAX - 4, 0}, {UINT64_MAX - 3, 2}, {UINT64_MAX, 2}, {0, 0}, {5, 0}};
    popliner_solver_options o = POPLINER_SOLVER_OPTIONS_INIT;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_IPUS};
    o.objectives = objectives;
    o.num_objectives = 1;
    o.without_reasons = true;
    o.unit_weights = weights;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        popliner_plan *plan;
        o.max_stage_weight = cases[i].most;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(popliner_plan_get_summary(plan)->num_stages, cases[i].num_stages);
        popliner_plan_free(plan);
    }
    const uint64_t light[] = {1, 5, 1, 2};
    o.unit_weights = light;
    for (uint64_t most = 0; most < 11; most++) {
        static const size_t num_stages[] = {0, 0, 0, 0, 0, 3, 2, 2, 2, 1, 1};
        popliner_plan *plan;
        o.max_stage_weight = most;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(popliner_plan_get_summary(plan)->num_stages, num_stages[most]);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

/* Numbers near their ends do not wrap round. */
static void large_numbers_stay_in_order(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(2, POPLINER_MAX_CYCLES / 2);
    uint64_t parameters[] = {UINT64_MAX / 2, UINT64_MAX / 2};
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.total_ipus = 8;
    o.micro_batches = UINT64_C(1) << 31;
    o.parameter_bytes = parameters;
    o.bandwidth_bytes = 1;
    o.bandwidth_cycles = UINT64_MAX;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(popliner_replicas_candidate_at(answer, 0)->step_cycles, UINT64_MAX);
    popliner_replicas_free(answer);
    o.micro_batches = (UINT64_C(1) << 31) + 1;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_ERROR_USAGE);
    assert_null(answer);
    o.micro_batches = 1;
    parameters[0] += 2;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_ERROR_USAGE);
    popliner_costs_free(costs);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(3, 5);
    popliner_costs *timeless;
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    const size_t map[] = {0, 1};
    popliner_replicas *answer = NULL;
    assert_int_equal(popliner_costs_create(3, 1, &timeless, NULL), POPLINER_OK);
    for (size_t i = 0; i < 8; i++) {
        popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
        o.solver = &solver;
        o.struct_size = i == 0 ? 0 : sizeof o;
        o.total_ipus = i == 1 ? 0 : 4;
        o.chunks = i == 2 ? 0 : 1;
        o.batch = i == 3 ? 4 : 0;
        o.micro_batches = i == 4 ? 0 : 1;
        o.bandwidth_bytes = i == 5;
        o.bandwidth_cycles = i == 5 ? 0 : 1;
        solver.device_map = i == 6 ? map : NULL;
        solver.num_mapped_stages = i == 6 ? 2 : 0;
        assert_int_equal(popliner_replicas_solve(i == 7 ? timeless : costs, &o, &answer, NULL),
                         POPLINER_ERROR_USAGE);
        assert_null(answer);
    }
    popliner_costs_free(timeless);
    popliner_costs_free(costs);
}

static bool stop_at_once(void *user) {
    size_t *calls = user;
    return ++*calls > 3;
}

static void the_search_can_be_stopped(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(12, 5);
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    size_t calls = 0;
    solver.should_stop = stop_at_once;
    solver.should_stop_user = &calls;
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.solver = &solver;
    o.total_ipus = 12;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_true(popliner_replicas_get_summary(answer)->is_stopped);
    assert_false(popliner_replicas_get_summary(answer)->is_proven);
    assert_int_equal(popliner_replicas_get_summary(answer)->num_candidates, 12);
    assert_null(popliner_replicas_candidate_at(answer, 11)->plan);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_with_every_number_of_replicas),
        cmocka_unit_test(costs_may_depend_on_micro_batches),
        cmocka_unit_test(a_bubble_costs_more_than_an_all_reduce),
        cmocka_unit_test(weights_limit_a_stage),
        cmocka_unit_test(large_numbers_stay_in_order),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(the_search_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
