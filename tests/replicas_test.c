/* Stages and replicas together, against every split with every number of replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brute_force.h"
#include "costs/costs.h"
#include "popliner/replicas.h"
#include "random_instance.h"
#include "test_data.h"

/* ---- every split ---------------------------------------------------------------------------- */

enum { MOST_MICRO_BATCHES = 24, NUM_WEIGHTS = 8 };

/* Parameters that several units may use: each counts once on an IPU. */
typedef struct weights {
    uint64_t bytes[NUM_WEIGHTS];
    unsigned users[NUM_WEIGHTS]; /* bits of units */
} weights;

typedef struct question {
    const instance *in;
    const popliner_replicas_options *options;
    const popliner_costs *const *costs; /* by stages and micro-batches, or NULL: those of `in` */
} question;

static uint64_t limit_of(const popliner_solver_options *o, size_t ipu) {
    uint64_t limit = o->mem_per_tile;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].ipu == ipu)
            limit = o->ipu_limits[i].value;
    return limit;
}

/* Whether the units first ... last may be a stage of an IPU. */
static bool may_be(const popliner_solver_options *o, size_t ipu, size_t first, size_t last) {
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
    return size >= o->min_units && (o->max_units == 0 || size <= o->max_units);
}

/* The parameters of units, given as bits. */
static uint64_t parameters_of(const popliner_replicas_options *o, unsigned units) {
    const weights *shared = o->parameters_user;
    uint64_t sum = 0;
    for (size_t i = 0; o->parameters != NULL && i < NUM_WEIGHTS; i++)
        sum += (shared->users[i] & units) != 0 ? shared->bytes[i] : 0;
    for (size_t u = 0; o->parameters == NULL && o->parameter_bytes != NULL && units >> u != 0; u++)
        sum += (units >> u & 1) != 0 ? o->parameter_bytes[u] : 0;
    return sum;
}

/* What the stages of a split are, and what runs on one IPU. */
typedef struct split {
    size_t num_stages;
    popliner_interval stages[MOST_RANDOM_UNITS];
} split;

static bool find_stages(size_t num_units, unsigned begins, size_t num_stages, split *own) {
    own->num_stages = 0;
    for (size_t first = 0, next; first < num_units; first = next) {
        for (next = first; next == first || (next < num_units && (begins >> next & 1) == 0);)
            next++;
        if (own->num_stages == num_stages)
            return false;
        own->stages[own->num_stages] =
            (popliner_interval){first, next - 1, num_stages - own->num_stages};
        own->num_stages++;
    }
    return own->num_stages == num_stages;
}

/* What a split has: each of the IPU that has most. */
typedef struct worth {
    uint64_t cycles;
    uint64_t parameters;
    uint64_t peak_bytes;
    uint64_t traffic;
    bool is_within; /* the limits of memory */
} worth;

/* The IPU of a stage. */
static size_t ipu_of(const question *q, size_t num_ipus, size_t stage) {
    return q->options->is_v && stage >= num_ipus ? 2 * num_ipus - 1 - stage : stage % num_ipus;
}

/* Finds it for a split, as bits of the units that stages begin with. False if it is not allowed
 * with any memory, or has another number of stages. */
static bool weigh_split(const question *q, const popliner_costs *costs, unsigned begins,
                        size_t num_ipus, worth *found) {
    const popliner_solver_options *o = &q->in->options;
    size_t num_stages = num_ipus * q->options->chunks;
    unsigned units_of[MOST_RANDOM_UNITS] = {0};
    split own;
    *found = (worth){.is_within = true};
    if (num_stages > q->in->num_units || !find_stages(q->in->num_units, begins, num_stages, &own))
        return false;
    for (size_t ipu = 0; ipu < num_ipus; ipu++) {
        popliner_interval together[MOST_RANDOM_UNITS];
        size_t count = 0;
        uint64_t ipu_cycles = 0;
        uint64_t peak = 0;
        for (size_t i = 0; i < num_stages; i++) {
            const popliner_interval *it = &own.stages[i];
            if (ipu_of(q, num_ipus, i) != ipu)
                continue;
            if (!may_be(o, ipu, it->first_unit, it->last_unit) ||
                popliner_costs_peak(costs, it->first_unit, it->last_unit, it->stages_to_end) ==
                    POPLINER_PEAK_FORBIDDEN)
                return false;
            together[count++] = *it;
            ipu_cycles += brute_speed_cycles(
                o, ipu, popliner_costs_cycles(costs, it->first_unit, it->last_unit));
            if (i > 0)
                ipu_cycles += brute_link_cycles(o, ipu_of(q, num_ipus, i - 1), ipu,
                                                popliner_costs_cut(costs, it->first_unit));
            if (i + 1 < num_stages)
                ipu_cycles += brute_link_cycles(o, ipu, ipu_of(q, num_ipus, i + 1),
                                                popliner_costs_cut(costs, it->last_unit + 1));
            units_of[ipu] |= (2u << it->last_unit) - (1u << it->first_unit);
        }
        assert_int_equal(pl_costs_shared_peak(costs, together, count, &peak, NULL), POPLINER_OK);
        uint64_t bytes = parameters_of(q->options, units_of[ipu]);
        found->is_within = found->is_within && peak <= limit_of(o, ipu);
        found->cycles = ipu_cycles > found->cycles ? ipu_cycles : found->cycles;
        found->parameters = bytes > found->parameters ? bytes : found->parameters;
        found->peak_bytes = peak > found->peak_bytes ? peak : found->peak_bytes;
    }
    for (size_t i = 1; i < num_stages; i++) {
        uint64_t bytes = popliner_costs_cut(costs, own.stages[i].first_unit);
        bool is_too_much = bytes > UINT64_MAX - 1 - found->traffic;
        found->traffic = is_too_much ? UINT64_MAX - 1 : found->traffic + bytes;
    }
    for (size_t i = 0; i < o->num_pairs; i++)
        for (size_t ipu = 0; ipu < num_ipus; ipu++)
            if ((units_of[ipu] >> o->pairs[i].unit & 1) !=
                (units_of[ipu] >> o->pairs[i].second_unit & 1))
                return false;
    return true;
}

/* Cycles and parameters of a split. False if it is not allowed. */
static bool evaluate(const question *q, const popliner_costs *costs, unsigned begins,
                     size_t num_ipus, uint64_t *cycles, uint64_t *parameters) {
    worth found;
    bool is_one = weigh_split(q, costs, begins, num_ipus, &found);
    *cycles = found.cycles;
    *parameters = found.parameters;
    return is_one && found.is_within;
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

static const popliner_costs *costs_of(const question *q, size_t num_ipus, uint64_t batches) {
    size_t num_stages = num_ipus * q->options->chunks;
    return q->costs == NULL || num_stages > q->in->num_units
               ? q->in->costs
               : q->costs[num_stages * MOST_MICRO_BATCHES + batches];
}

/* What a step takes: the pipeline, and the all-reduce. */
static uint64_t step_of(const popliner_replicas_options *o, size_t num_ipus, size_t r,
                        uint64_t batches, uint64_t cycles, uint64_t parameters) {
    uint64_t reduce =
        o->bandwidth_bytes == 0
            ? 0
            : ratio_up(2 * (r - 1) * parameters * o->bandwidth_cycles, r * o->bandwidth_bytes);
    return ratio_up((o->chunks * batches + num_ipus - 1) * cycles, o->chunks) + reduce;
}

/* The best of all splits on so many IPUs, with any number of replicas. */
static value best_of(const question *q, size_t num_ipus) {
    const popliner_replicas_options *o = q->options;
    value best = {0};
    for (size_t r = 1; r * num_ipus <= o->total_ipus; r++) {
        uint64_t batches = o->micro_batches > 0 ? o->micro_batches : o->batch / r;
        if (o->micro_batches == 0 && o->batch % r > 0)
            continue;
        const popliner_costs *costs = costs_of(q, num_ipus, batches);
        for (unsigned begins = 0; begins < 1u << q->in->num_units; begins += 2) {
            uint64_t cycles;
            uint64_t parameters;
            if (!evaluate(q, costs, begins, num_ipus, &cycles, &parameters))
                continue;
            uint64_t step = step_of(o, num_ipus, r, batches, cycles, parameters);
            value own = {r * batches, step, r * num_ipus};
            if (is_better(own, best))
                best = own;
        }
    }
    return best;
}

/* The lowest peak of pipelines on so many IPUs with the fewest micro-batches, whatever
 * the limits; UINT64_MAX if none is allowed. */
static uint64_t least_peak(const question *q, size_t num_ipus) {
    const popliner_replicas_options *o = q->options;
    uint64_t batches = o->micro_batches;
    uint64_t least = UINT64_MAX;
    for (size_t r = 1; o->micro_batches == 0 && r * num_ipus <= o->total_ipus; r++)
        batches = o->batch % r == 0 ? o->batch / r : batches;
    for (unsigned begins = 0; begins < 1u << q->in->num_units; begins += 2) {
        worth found;
        if (weigh_split(q, costs_of(q, num_ipus, batches), begins, num_ipus, &found) &&
            found.peak_bytes < least)
            least = found.peak_bytes;
    }
    return least;
}

/* ---- against them --------------------------------------------------------------------------- */

static size_t num_reasons;
static size_t num_behind; /* splits that are as fast, but not as good behind that */
static size_t num_open;   /* candidates that may be beaten by fewer parameters */

/* An objective of a split; of those that are not looked at here 0. */
static uint64_t value_of(const worth *own, popliner_objective objective) {
    return objective == POPLINER_OBJECTIVE_MEMORY    ? own->peak_bytes
           : objective == POPLINER_OBJECTIVE_TRAFFIC ? own->traffic
                                                     : 0;
}

/* No split with the cycles of a candidate is better in the objectives behind them, as far as these
 * are looked at. */
static void check_objectives_behind(const question *q, const popliner_replicas_candidate *c,
                                    const worth *found) {
    const popliner_solver_options *o = &q->in->options;
    const popliner_objective *objectives = o->objectives;
    size_t count = o->num_objectives;
    const popliner_costs *costs = costs_of(q, c->num_ipus, c->micro_batches);
    for (unsigned begins = 0; begins < 1u << q->in->num_units; begins += 2) {
        worth own;
        if (!weigh_split(q, costs, begins, c->num_ipus, &own) || !own.is_within ||
            own.cycles != c->cycles)
            continue;
        for (size_t i = 0; i < count && objectives[i] != POPLINER_OBJECTIVE_BALANCE; i++) {
            uint64_t told = value_of(found, objectives[i]);
            uint64_t other = value_of(&own, objectives[i]);
            assert_true(other >= told);
            num_behind += other > told;
            if (other > told)
                break;
        }
    }
}

/* The fewest IPUs of a pipeline. */
static size_t fewest_of(const popliner_replicas_options *o) {
    return o->min_ipus > 0 ? o->min_ipus : 1;
}

/* Where nothing fits: the candidate that is least above the limit, and why. */
static void check_reason(const question *q, size_t most, const popliner_replicas *summary) {
    uint64_t least = UINT64_MAX;
    size_t closest = SIZE_MAX;
    for (size_t s = fewest_of(q->options); s <= most; s++) {
        uint64_t own = least_peak(q, s);
        closest = own < least ? s - fewest_of(q->options) : closest;
        least = own < least ? own : least;
    }
    assert_int_equal(summary->closest == SIZE_MAX, closest == SIZE_MAX);
    if (q->in->options.num_ipu_limits == 0)
        assert_int_equal(summary->closest, closest);
    num_reasons++;
    if (q->costs != NULL && summary->reason == NULL)
        return; /* costs of other lengths may allow more */
    assert_non_null(summary->reason);
    const popliner_plan *reason = summary->reason;
    assert_int_equal(reason->status, POPLINER_PLAN_INFEASIBLE);
    assert_int_equal(reason->num_stages > 0, closest < SIZE_MAX);
    if (q->in->options.num_ipu_limits == 0 && q->costs == NULL && closest < SIZE_MAX)
        assert_int_equal(reason->peak_bytes, least);
}

static void check_answer(const question *q, const popliner_replicas *answer) {
    const popliner_replicas *summary = answer;
    const popliner_replicas_options *o = q->options;
    value best = {0};
    size_t best_stages = 0;
    const size_t fewest = fewest_of(o);
    size_t most = q->in->num_units / o->chunks;
    most = o->total_ipus < most ? o->total_ipus : most;
    most = q->in->options.num_ipus < most ? q->in->options.num_ipus : most;
    const size_t count = most < fewest ? 0 : most - fewest + 1;
    assert_int_equal(summary->num_candidates, count);
    assert_false(summary->is_stopped);
    assert_true(summary->is_proven || o->bandwidth_bytes > 0);
    for (size_t s = fewest; s <= most; s++) {
        const popliner_replicas_candidate *c = &answer->candidates[s - fewest];
        value expected = best_of(q, s);
        assert_int_equal(c->num_ipus, s);
        assert_true(c->is_proven || o->bandwidth_bytes > 0);
        assert_int_equal(c->num_replicas > 0, expected.batches > 0);
        if (is_better(expected, best)) {
            best = expected;
            best_stages = s;
        }
        if (c->num_replicas == 0) {
            assert_int_equal(c->plan->status, POPLINER_PLAN_INFEASIBLE);
            continue;
        }
        const uint64_t batches = c->num_replicas * c->micro_batches;
        if (c->is_proven)
            assert_int_equal(batches * expected.step, expected.batches * c->step_cycles);
        else
            assert_true((double)expected.batches * (double)c->step_cycles <=
                        (1.000001 + c->gap) * (double)batches * (double)expected.step);
        num_open += !c->is_proven;
        /* and the plan is what the numbers say */
        unsigned begins = 0;
        const popliner_plan *plan = c->plan;
        for (size_t i = 0; i < plan->num_stages; i++)
            begins |= 1u << plan->stages[i].first_unit;
        uint64_t cycles;
        uint64_t parameters;
        const popliner_costs *costs = costs_of(q, s, c->micro_batches);
        assert_true(evaluate(q, costs, begins & ~1u, s, &cycles, &parameters));
        assert_int_equal(c->cycles, cycles);
        assert_int_equal(c->parameter_bytes, parameters);
        worth found;
        assert_true(weigh_split(q, costs, begins & ~1u, s, &found));
        check_objectives_behind(q, c, &found);
        assert_int_equal(c->pipeline_cycles + c->reduce_cycles, c->step_cycles);
        bool has_parameters = o->parameters != NULL || o->parameter_bytes != NULL;
        assert_int_equal(c->stage_parameter_bytes != NULL, has_parameters);
        for (size_t i = 0; has_parameters && i < plan->num_stages; i++) {
            unsigned units = (2u << plan->stages[i].last_unit) - (1u << plan->stages[i].first_unit);
            assert_int_equal(c->stage_parameter_bytes[i], parameters_of(o, units));
        }
    }
    if (best.batches == 0 || summary->is_proven)
        assert_int_equal(summary->best, best.batches == 0 ? SIZE_MAX : best_stages - fewest);
    if (best.batches > 0) {
        assert_int_equal(summary->closest, SIZE_MAX);
        assert_null(summary->reason);
    } else if (count > 0) {
        check_reason(q, most, summary);
    }
}

/* Costs of all pipelines, each with what its number of stages and of micro-batches changes. */
typedef struct many_costs {
    const popliner_costs *costs[(MOST_RANDOM_UNITS + 1) * MOST_MICRO_BATCHES];
} many_costs;

static popliner_status find_costs(void *user, size_t num_stages, size_t num_replicas,
                                  uint64_t num_micro_batches, const popliner_costs **costs,
                                  popliner_error *error) {
    (void)error;
    const many_costs *many = user;
    assert_true(num_replicas > 0);
    *costs = many->costs[num_stages * MOST_MICRO_BATCHES + num_micro_batches];
    return POPLINER_OK;
}

/* What a question points to. */
typedef struct drawn_parameters {
    uint64_t bytes[MOST_RANDOM_UNITS];
    weights shared;
} drawn_parameters;

/* A popliner_weight_function. */
static uint64_t weigh(void *user, const popliner_interval *stages, size_t num_stages) {
    const popliner_replicas_options o = {.parameters = weigh, .parameters_user = user};
    unsigned units = 0;
    assert_true(num_stages > 0);
    for (size_t i = 0; i < num_stages; i++) {
        assert_true(i == 0 || stages[i - 1].last_unit < stages[i].first_unit);
        units |= (2u << stages[i].last_unit) - (1u << stages[i].first_unit);
    }
    return parameters_of(&o, units);
}

static void draw_question(uint64_t *random, const instance *in, popliner_replicas_options *o,
                          drawn_parameters *parameters) {
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
        parameters->bytes[u] = test_below(random, 40) << (4 * scale);
    for (size_t i = 0; i < NUM_WEIGHTS; i++) {
        parameters->shared.bytes[i] = test_below(random, 40) << (4 * scale);
        parameters->shared.users[i] =
            1u << test_below(random, in->num_units) | 1u << test_below(random, in->num_units);
    }
    o->parameter_bytes = test_below(random, 5) == 0 ? NULL : parameters->bytes;
    if (test_below(random, 3) == 0) {
        o->parameters = weigh;
        o->parameters_user = &parameters->shared;
    }
    o->bandwidth_bytes = test_below(random, 6);
    o->bandwidth_cycles = 1 + test_below(random, 9);
}

/* Asks about instances of the wish, on IPUs with up to so many chunks. */
static void try_instances(const instance_wish *wish, size_t num_instances, size_t most_chunks) {
    size_t num_asked = 0;
    size_t num_fitting = 0;
    num_reasons = num_behind = num_open = 0;
    for (uint64_t seed = 1; seed <= num_instances; seed++) {
        instance in;
        drawn_parameters parameters;
        uint64_t random = 977 * seed;
        draw_instance(wish, seed, &in);
        popliner_replicas_options o;
        popliner_replicas *answer = NULL;
        popliner_error error = {.message = ""};
        draw_question(&random, &in, &o, &parameters);
        o.chunks = most_chunks > 1 ? 2 + test_below(&random, most_chunks - 1) : 1;
        o.is_v = o.chunks == 2 && seed % 2 == 0;
        question q = {.in = &in, .options = &o};
        /* no longer pipelines than are known */
        size_t most_stages = in.costs->max_stages_to_end;
        while (o.chunks > 1 && most_stages > 1 && o.total_ipus * o.chunks > most_stages)
            o.total_ipus--;
        const size_t longest =
            in.options.num_ipus < o.total_ipus ? in.options.num_ipus : o.total_ipus;
        if (longest > 0 && seed % 4 == 0)
            o.min_ipus = 1 + seed / 4 % longest;
        if (o.total_ipus > 0 && popliner_costs_has_cycles(in.costs)) {
            num_asked++;
            if (popliner_replicas_solve(in.costs, &o, &answer, &error) != POPLINER_OK) {
                print_instance(&in);
                fail_msg("%s", error.message);
            }
            check_answer(&q, answer);
            num_fitting += answer->best < SIZE_MAX;
            popliner_replicas_free(answer);
        }
        free_instance(&in);
    }
    assert_true(num_reasons > num_instances / 50);
    assert_true(num_behind > num_instances / 50);
    assert_true(num_asked > num_instances / 2);
    assert_true(num_fitting > num_asked / 4);
    assert_true(num_open > 0 && num_open < num_asked / 4);
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
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        try_instances(&wishes[i], test_chosen(600, 4000, 12000) / (i == 0 ? 1 : 3), 1);
}

static void every_split_in_chunks(void **state) {
    (void)state;
    static const instance_wish wish = {.sometimes = MEMORY_LIMIT | CUT_RULES | COUNTED_UNITS |
                                                    PAIRS | PLACEMENTS | PIPELINE,
                                       .most_objectives = 2};
    try_instances(&wish, test_chosen(900, 4000, 12000), 3);
}

/* Copies that depend on stages and micro-batches come from the callback. */
static void costs_may_depend_on_micro_batches(void **state) {
    (void)state;
    static const instance_wish wish = {.always = MEMORY_LIMIT, .most_objectives = 1};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        instance in;
        many_costs many = {{NULL}};
        drawn_parameters parameters;
        uint64_t random = 31 * seed;
        draw_instance(&wish, seed, &in);
        if (!popliner_costs_has_cycles(in.costs)) {
            free_instance(&in);
            continue;
        }
        popliner_replicas_options o;
        popliner_replicas *answer = NULL;
        draw_question(&random, &in, &o, &parameters);
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
    assert_int_equal(answer->best, 0);
    const popliner_replicas_candidate *c = &answer->candidates[0];
    assert_int_equal(c->num_replicas, 4);
    assert_int_equal(c->micro_batches, 2);
    assert_int_equal(c->step_cycles, 800);
    popliner_replicas_free(answer);
    /* 2 * 3 / 4 of 240 bytes, each in a cycle and a quarter: 450; 2 * 1 / 2 of 120: 150 */
    o.bandwidth_bytes = 4;
    o.bandwidth_cycles = 5;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    c = &answer->candidates[0];
    assert_int_equal(c->reduce_cycles, 450);
    c = &answer->candidates[1];
    assert_int_equal(c->num_replicas, 2);
    assert_int_equal(c->pipeline_cycles, 1000);
    assert_int_equal(c->reduce_cycles, 150);
    assert_int_equal(answer->candidates[2].num_replicas, 1);
    assert_int_equal(answer->candidates[3].step_cycles, 1100);
    assert_int_equal(answer->best, 3);
    popliner_replicas_free(answer);
    /* two chunks on each of two IPUs: (4 + 1 / 2) * 200 */
    o.chunks = 2;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_int_equal(answer->num_candidates, 2);
    c = &answer->candidates[1];
    assert_int_equal(c->pipeline_cycles, 900);
    assert_int_equal(c->parameter_bytes, 120);
    assert_int_equal(c->plan->num_stages, 4);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

/* A popliner_weight_function: a list of weights adds up. */
static uint64_t add_weights(void *user, const popliner_interval *stages, size_t num_stages) {
    const uint64_t *own = user;
    uint64_t sum = 0;
    for (size_t i = 0; i < num_stages; i++)
        for (size_t u = stages[i].first_unit; u <= stages[i].last_unit; u++)
            sum = own[u] > UINT64_MAX - sum ? UINT64_MAX : sum + own[u];
    return sum;
}

/* What the search is made of: no IPU has more than so much of something. */
static void weights_limit_an_ipu(void **state) {
    (void)state;
    popliner_costs *costs = equal_units(4, 10);
    uint64_t heavy[] = {1, 5, 1, UINT64_MAX - 3};
    static const struct {
        uint64_t most;
        size_t num_stages; /* 0: there is no split */
    } cases[] = {{4, 0}, {UINT64_MAX - 4, 0}, {UINT64_MAX - 3, 2}, {UINT64_MAX, 1}, {0, 0}, {5, 0}};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_IPUS};
    o.objectives = objectives;
    o.num_objectives = 1;
    o.without_reasons = true;
    o.ipu_weight = add_weights;
    o.ipu_weight_user = heavy;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        popliner_plan *plan;
        o.max_ipu_weight = cases[i].most;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->num_stages, cases[i].num_stages);
        popliner_plan_free(plan);
    }
    uint64_t light[] = {1, 5, 1, 2};
    o.ipu_weight_user = light;
    for (uint64_t most = 0; most < 11; most++) {
        static const size_t num_stages[] = {0, 0, 0, 0, 0, 3, 2, 2, 2, 1, 1};
        popliner_plan *plan;
        o.max_ipu_weight = most;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->num_stages, num_stages[most]);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

/* On the IPUs 0,1,0 units of 1, 5, 1 and 2 are 4 and 5, or 3 and 6, or 8 and 1, ever cheaper. */
static void weights_of_an_ipu_add_up(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 0};
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_TRAFFIC};
    static const uint64_t cheapest[] = {0, 0, 0, 0, 0, 8, 6, 6, 4, 4};
    popliner_costs *costs = equal_units(4, 10);
    uint64_t own[] = {1, 5, 1, 2};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    for (size_t unit = 1; unit < 4; unit++)
        assert_int_equal(popliner_costs_set_cut(costs, unit, 7 - 2 * unit, NULL), POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.without_reasons = true;
    o.ipu_weight = add_weights;
    o.ipu_weight_user = own;
    o.device_map = map;
    o.num_mapped_stages = 3;
    for (size_t i = 0; i < 10; i++) {
        popliner_plan *plan;
        o.max_ipu_weight = i;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->status,
                         cheapest[i] == 0 ? POPLINER_PLAN_INFEASIBLE : POPLINER_PLAN_OPTIMAL);
        assert_int_equal(plan->cut_bytes, cheapest[i]);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

enum { LONG_UNITS = 24, LONG_IPUS = 4, LONG_STAGES = 12 };

/* A chain on LONG_IPUS IPUs in turn, and the search of the fewest cycles by every split. */
typedef struct long_chain {
    uint64_t cycles[LONG_UNITS];
    uint64_t weights[LONG_UNITS];
    uint64_t max_weight;
    uint64_t own_cycles[LONG_IPUS];
    uint64_t own_weight[LONG_IPUS];
    uint64_t fewest;
} long_chain;

static void try_stages(long_chain *c, size_t stage, size_t first) {
    uint64_t *cycles = &c->own_cycles[stage % LONG_IPUS];
    uint64_t *weight = &c->own_weight[stage % LONG_IPUS];
    const uint64_t before[] = {*cycles, *weight};
    if (stage == LONG_STAGES && first == LONG_UNITS) {
        c->fewest = 0;
        for (size_t i = 0; i < LONG_IPUS; i++)
            c->fewest = c->own_cycles[i] > c->fewest ? c->own_cycles[i] : c->fewest;
    }
    for (size_t last = first; stage < LONG_STAGES && last < LONG_UNITS; last++) {
        *cycles += c->cycles[last];
        *weight += c->weights[last];
        if (*cycles >= c->fewest || *weight > c->max_weight)
            break;
        try_stages(c, stage + 1, last + 1);
    }
    *cycles = before[0];
    *weight = before[1];
}

/* There are more splits than the solver looks at one by one. */
static void weights_hold_where_splits_are_many(void **state) {
    (void)state;
    size_t map[LONG_STAGES];
    size_t num_limited = 0;
    for (size_t i = 0; i < LONG_STAGES; i++)
        map[i] = i % LONG_IPUS;
    for (uint64_t seed = 1; seed <= test_chosen(4, 13, 40); seed++) {
        static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES};
        long_chain c = {.max_weight = UINT64_MAX, .fewest = UINT64_MAX};
        uint64_t random = 31 * seed;
        uint64_t sum = 0;
        popliner_costs *costs;
        popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
        assert_int_equal(popliner_costs_create(LONG_UNITS, 1, &costs, NULL), POPLINER_OK);
        for (size_t u = 0; u < LONG_UNITS; u++) {
            c.cycles[u] = 1 + test_below(&random, 9);
            c.weights[u] = 1 + test_below(&random, 9);
            sum += c.weights[u];
        }
        for (size_t first = 0; first < LONG_UNITS; first++)
            for (size_t last = first; last < LONG_UNITS; last++) {
                uint64_t cycles = 0;
                for (size_t u = first; u <= last; u++)
                    cycles += c.cycles[u];
                popliner_costs_set_cycles(costs, first, last, cycles, NULL);
            }
        try_stages(&c, 0, 0);
        uint64_t fewest_of_any = c.fewest;
        c.fewest = UINT64_MAX;
        c.max_weight = sum / LONG_IPUS + 1 + test_below(&random, 3);
        try_stages(&c, 0, 0);
        num_limited += c.fewest > fewest_of_any;
        o.objectives = objectives;
        o.num_objectives = 1;
        o.without_reasons = true;
        o.device_map = map;
        o.num_mapped_stages = LONG_STAGES;
        o.ipu_weight = add_weights;
        o.ipu_weight_user = c.weights;
        o.max_ipu_weight = c.max_weight;
        popliner_plan *plan;
        assert_int_equal(popliner_solve(costs, &o, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->status,
                         c.fewest == UINT64_MAX ? POPLINER_PLAN_INFEASIBLE : POPLINER_PLAN_OPTIMAL);
        if (c.fewest < UINT64_MAX)
            assert_int_equal(plan->cycles, c.fewest);
        popliner_plan_free(plan);
        popliner_costs_free(costs);
    }
    assert_true(num_limited > 0);
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
    assert_int_equal(answer->candidates[0].step_cycles, UINT64_MAX);
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
    popliner_solver_options solver = PLAIN_SOLVER_OPTIONS;
    const size_t map[] = {0, 1};
    popliner_replicas *answer = NULL;
    assert_int_equal(popliner_costs_create(3, 1, &timeless, NULL), POPLINER_OK);
    for (size_t i = 0; i < 9; i++) {
        popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
        o.solver = &solver;
        o.struct_size = i == 0 ? 0 : sizeof o;
        o.total_ipus = i == 1 ? 0 : i == 8 ? POPLINER_MAX_IPU + 2 : 4;
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
    popliner_solver_options solver = PLAIN_SOLVER_OPTIONS;
    size_t calls = 0;
    solver.should_stop = stop_at_once;
    solver.should_stop_user = &calls;
    popliner_replicas_options o = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *answer = NULL;
    o.solver = &solver;
    o.total_ipus = 12;
    assert_int_equal(popliner_replicas_solve(costs, &o, &answer, NULL), POPLINER_OK);
    assert_true(answer->is_stopped);
    assert_false(answer->is_proven);
    assert_int_equal(answer->num_candidates, 12);
    assert_null(answer->candidates[11].plan);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_with_every_number_of_replicas),
        cmocka_unit_test(every_split_in_chunks),
        cmocka_unit_test(costs_may_depend_on_micro_batches),
        cmocka_unit_test(a_bubble_costs_more_than_an_all_reduce),
        cmocka_unit_test(weights_limit_an_ipu),
        cmocka_unit_test(weights_of_an_ipu_add_up),
        cmocka_unit_test(weights_hold_where_splits_are_many),
        cmocka_unit_test(large_numbers_stay_in_order),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(the_search_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
