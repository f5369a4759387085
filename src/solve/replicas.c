/* The numbers of stages and of data-parallel replicas with the best throughput; why none fits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/replicas.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/step_search.h"

/* Keeps all counts of the formulas far below 2^64. */
#define MAX_COUNT (UINT64_C(1) << 31)

/* How much work the simulations of all pipelines may take, in units of pl_step_search: some
 * seconds. */
#define MAX_WORK (UINT64_C(1) << 28)

/* So many longer pipelines, or more of them, are tried if none fits. */
enum { MOST_LONGER = 64 };

/* Pipelines of one number of IPUs. */
typedef struct pipelines {
    size_t num_ipus;
    uint64_t least_bytes;   /* a lower bound of the parameters on the fullest IPU */
    bool is_stopped;        /* the fastest split may not be optimal */
    uint64_t micro_batches; /* of which the costs are; 0: not known */
    size_t num_replicas;
    popliner_plan *fastest; /* by the first objectives; NULL: there is none */
    size_t num_objectives;  /* of these; 0: not known */
} pipelines;

typedef struct replicas_search {
    const popliner_costs *costs; /* for the current pipeline */
    popliner_replicas_options options;
    popliner_solver_options solver;
    popliner_ipu_value *ipu_limits; /* those of the solver, where they shrink; or NULL */
    /* the cycles, then the caller's objectives */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    size_t num_objectives;
    size_t num_units;
    /* Returns the parameters of an IPU; NULL if there are none. */
    popliner_weight_function parameters;
    void *parameters_user;
    uint64_t *parameters_before; /* [num_units + 1] sums over earlier units, if parameters add up */
    pl_arrays arrays;
    size_t *device_map;          /* [num_units] */
    popliner_interval *together; /* [num_units] */
    pl_stop stop;
    bool is_stopped;
    popliner_pipeline pipeline; /* if steps are simulated: with the current micro-batches */
    uint64_t work;              /* that simulations may still do */
    pipelines now;
} replicas_search;

/* ---- beginning ---- */

static popliner_status check_options(const popliner_costs *costs, const replicas_search *s,
                                     popliner_error *error) {
    const popliner_replicas_options *o = &s->options;
    const char *total = PL_OPTION(&s->solver, total_ipus);
    if (o->total_ipus == 0 || o->total_ipus > POPLINER_MAX_IPU + 1)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %zu; expected 1 to %d", total,
                       o->total_ipus, POPLINER_MAX_IPU + 1);
    if (o->min_ipus > pl_fewer(o->total_ipus, s->solver.num_ipus))
        return pl_fail(error, POPLINER_ERROR_USAGE, "min_ipus: %zu; %s is only %zu", o->min_ipus,
                       s->solver.num_ipus < o->total_ipus ? PL_OPTION(&s->solver, num_ipus) : total,
                       pl_fewer(o->total_ipus, s->solver.num_ipus));
    if (o->chunks == 0 || o->chunks > MAX_COUNT)
        return pl_fail(error, POPLINER_ERROR_USAGE, "chunks: %zu; expected 1 to %" PRIu64,
                       o->chunks, MAX_COUNT);
    if (o->is_v && o->chunks != 2)
        return pl_fail(error, POPLINER_ERROR_USAGE, "chunks: %zu; expected 2 for a V", o->chunks);
    if ((o->micro_batches > 0) == (o->batch > 0) || o->micro_batches > MAX_COUNT ||
        o->batch > MAX_COUNT)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "micro_batches, batch: %" PRIu64 " and %" PRIu64
                       "; set one of them, to at most %" PRIu64,
                       o->micro_batches, o->batch, MAX_COUNT);
    if (o->bandwidth_bytes > 0 && o->bandwidth_cycles == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "bandwidth_cycles: 0, with %" PRIu64 " bytes; expected at least 1",
                       o->bandwidth_bytes);
    if (!popliner_costs_has_cycles(costs))
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: the costs have no cycles", total);
    if (s->solver.num_mapped_stages > 0 || s->solver.method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: not with a device map or the greedy method; leave them out", total);
    if (costs->choices != NULL && o->chunks > 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: %zu stages on an IPU choose how they recompute, whose step is "
                       "unknown; put one there",
                       total, o->chunks);
    if (s->solver.slack_percent > 0.0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: %g; expected 0 for replicas, whose Pareto front says more",
                       PL_OPTION(&s->solver, slack_percent), s->solver.slack_percent);
    popliner_status status = pl_options_check(&s->solver, s->num_units, NULL, error);
    if (status == POPLINER_OK && costs->choices != NULL)
        status = pl_variants_check_options(&s->solver, error);
    for (size_t i = 0; status == POPLINER_OK && i < s->solver.num_objectives; ++i)
        if (pl_objective_of(s->solver.objectives[i])->is_more_better)
            status = pl_fail(error, POPLINER_ERROR_USAGE,
                             "%s: not for the objective %s; give memory, which is the same for "
                             "IPUs of one size",
                             total, pl_objective_name(s->solver.objectives[i]));
    return status;
}

/* A popliner_weight_function: the sum of the units' parameters. */
static uint64_t add_parameters(void *user, const popliner_interval *stages, size_t num_stages) {
    const uint64_t *before = user;
    uint64_t sum = 0;
    for (size_t i = 0; i < num_stages; ++i)
        sum += before[stages[i].last_unit + 1] - before[stages[i].first_unit];
    return sum;
}

/* Sums the units' parameters, unless the caller has a function. */
static popliner_status take_parameters(replicas_search *s, popliner_error *error) {
    const uint64_t *bytes = s->options.parameter_bytes;
    s->parameters = s->options.parameters;
    s->parameters_user = s->options.parameters_user;
    if (s->parameters != NULL || bytes == NULL)
        return POPLINER_OK;
    s->parameters_before =
        pl_arrays_new(&s->arrays, s->num_units + 1, sizeof *s->parameters_before);
    if (s->parameters_before == NULL)
        return pl_fail_memory(error, "the numbers of replicas");
    for (size_t u = 0; u < s->num_units; ++u) {
        if (bytes[u] > UINT64_MAX - 1 - s->parameters_before[u])
            return pl_fail(error, POPLINER_ERROR_USAGE, "parameter_bytes: the sum is too large");
        s->parameters_before[u + 1] = s->parameters_before[u] + bytes[u];
    }
    s->parameters = add_parameters;
    s->parameters_user = s->parameters_before;
    return POPLINER_OK;
}

static popliner_status begin_search(replicas_search *s, popliner_error *error) {
    s->objectives[s->num_objectives++] = POPLINER_OBJECTIVE_CYCLES;
    size_t count;
    const popliner_objective *objectives = pl_objectives_of(&s->solver, &count);
    for (size_t i = 0; i < count; ++i)
        if (objectives[i] != POPLINER_OBJECTIVE_CYCLES &&
            s->num_objectives < POPLINER_NUM_OBJECTIVES)
            s->objectives[s->num_objectives++] = objectives[i];
    s->stop = pl_stop_of(&s->solver);
    if (s->options.pipeline != NULL)
        s->pipeline = *s->options.pipeline;
    s->device_map = pl_arrays_new(&s->arrays, s->num_units, sizeof *s->device_map);
    s->together = pl_arrays_new(&s->arrays, s->num_units, sizeof *s->together);
    if (s->arrays.failed)
        return pl_fail_memory(error, "the numbers of replicas");
    return take_parameters(s, error);
}

/* ---- the formulas ---- */

static uint64_t pipeline_cycles(const replicas_search *s, uint64_t micro_batches, uint64_t cycles) {
    uint64_t chunks = s->options.chunks;
    const uint64_t above[] = {chunks * micro_batches + s->now.num_ipus - 1, cycles};
    return pl_ratio_up(above, 2, &chunks, 1);
}

static uint64_t reduce_cycles(const replicas_search *s, size_t num_replicas,
                              uint64_t parameter_bytes) {
    const popliner_replicas_options *o = &s->options;
    return pl_reduce_cycles(
        s->costs, (popliner_ipu_link){.bytes = o->bandwidth_bytes, .cycles = o->bandwidth_cycles},
        num_replicas, parameter_bytes);
}

static popliner_replicas_candidate point_candidate(const replicas_search *s, size_t num_replicas,
                                                   uint64_t micro_batches, uint64_t cycles,
                                                   uint64_t parameter_bytes) {
    popliner_replicas_candidate c = {
        .num_ipus = s->now.num_ipus,
        .num_replicas = num_replicas,
        .micro_batches = micro_batches,
        .cycles = cycles,
        .parameter_bytes = parameter_bytes,
        .pipeline_cycles = pipeline_cycles(s, micro_batches, cycles),
        .reduce_cycles = reduce_cycles(s, num_replicas, parameter_bytes),
        .is_proven = !s->now.is_stopped,
    };
    c.step_cycles = pl_add_or_never(c.pipeline_cycles, c.reduce_cycles);
    return c;
}

/* Returns 1, 0 or -1: whether a has more throughput than b. Any is more than none. */
static int compare(const popliner_replicas_candidate *a, const popliner_replicas_candidate *b) {
    const uint64_t of_a[] = {a->num_replicas, a->micro_batches, b->step_cycles};
    const uint64_t of_b[] = {b->num_replicas, b->micro_batches, a->step_cycles};
    if (a->num_replicas == 0 || b->num_replicas == 0)
        return (a->num_replicas > 0) - (b->num_replicas > 0);
    pl_product left = pl_product_of(of_a, 3);
    pl_product right = pl_product_of(of_b, 3);
    return pl_product_compare(&left, &right);
}

/* Returns how much more throughput than `now` a pipeline might have of which `before` knows as
 * much. */
static double gap_of(const popliner_replicas_candidate *before,
                     const popliner_replicas_candidate *now) {
    if (now->step_cycles == 0 || before->step_cycles == 0)
        return 0.0;
    const double gap =
        (1.0 + before->gap) * (double)before->num_replicas * (double)before->micro_batches *
            (double)now->step_cycles /
            ((double)now->num_replicas * (double)now->micro_batches * (double)before->step_cycles) -
        1.0;
    return gap > 0.0 ? gap : 0.0;
}

/* ---- solving for one pipeline ---- */

static popliner_interval interval_of(const popliner_plan *plan, size_t stage) {
    return (popliner_interval){plan->stages[stage].first_unit, plan->stages[stage].last_unit,
                               plan->num_stages - stage};
}

/* Returns which stage of a pipeline is a chunk of an IPU. */
static size_t stage_of(const replicas_search *s, size_t num_ipus, size_t ipu, size_t chunk) {
    return s->options.is_v && chunk == 1 ? 2 * num_ipus - 1 - ipu : chunk * num_ipus + ipu;
}

static uint64_t most_parameters(const replicas_search *s, const popliner_plan *plan) {
    uint64_t most = 0;
    for (size_t ipu = 0; s->parameters != NULL && ipu < s->now.num_ipus; ++ipu) {
        for (size_t chunk = 0; chunk < s->options.chunks; ++chunk)
            s->together[chunk] = interval_of(plan, stage_of(s, s->now.num_ipus, ipu, chunk));
        most = pl_larger(most, s->parameters(s->parameters_user, s->together, s->options.chunks));
    }
    return most;
}

static popliner_status set_parameters(const replicas_search *s, popliner_replicas_candidate *c,
                                      popliner_error *error) {
    size_t num_stages = c->plan->num_stages;
    if (s->parameters == NULL)
        return POPLINER_OK;
    uint64_t *bytes = pl_new_array(num_stages, sizeof *bytes);
    c->stage_parameter_bytes = bytes;
    if (bytes == NULL)
        return pl_fail_memory(error, "the numbers of replicas");
    for (size_t i = 0; i < num_stages; ++i) {
        const popliner_interval stage = interval_of(c->plan, i);
        bytes[i] = s->parameters(s->parameters_user, &stage, 1);
    }
    return POPLINER_OK;
}

/* Returns the options for a pipeline of s->now.num_ipus IPUs, without objectives. */
static popliner_solver_options options_of(replicas_search *s) {
    popliner_solver_options o = s->solver;
    size_t num_stages = s->now.num_ipus * s->options.chunks;
    o.without_reasons = true;
    o.without_second_proof = true;
    o.slack_percent = 0.0;
    o.device_map = s->device_map;
    o.num_mapped_stages = num_stages;
    for (size_t ipu = 0; ipu < s->now.num_ipus; ++ipu)
        for (size_t chunk = 0; chunk < s->options.chunks; ++chunk)
            s->device_map[stage_of(s, s->now.num_ipus, ipu, chunk)] = ipu;
    return o;
}

/* Solves within the remaining time. *plan is NULL if no time was left. */
static popliner_status solve(replicas_search *s, popliner_solver_options *o, popliner_plan **plan,
                             popliner_error *error) {
    *plan = NULL;
    pl_stop_limit(&s->stop, o);
    s->is_stopped = s->is_stopped || pl_stop_is_wanted(&s->stop);
    return s->is_stopped ? POPLINER_OK : popliner_solve(s->costs, o, plan, error);
}

/* Begins with pipelines of a number of IPUs, or of other costs. */
static void begin_pipelines(replicas_search *s, size_t num_ipus) {
    popliner_plan_free(s->now.fastest);
    s->now = (pipelines){.num_ipus = num_ipus};
    if (s->parameters == NULL)
        return;
    for (size_t u = 0; u < s->num_units; ++u) {
        const popliner_interval unit = {u, u, 1};
        s->now.least_bytes =
            pl_larger(s->now.least_bytes, s->parameters(s->parameters_user, &unit, 1));
    }
    const popliner_interval all = {0, s->num_units - 1, 1};
    const uint64_t sum = s->parameters(s->parameters_user, &all, 1);
    s->now.least_bytes = pl_larger(s->now.least_bytes, sum / num_ipus + (sum % num_ipus > 0));
}

/* Finds the fastest split, if there is one: the best by the first objectives, which are the cycles
 * and those after them. */
static popliner_status find_fastest(replicas_search *s, size_t num_objectives,
                                    popliner_error *error) {
    popliner_plan *plan = NULL;
    popliner_solver_options o = options_of(s);
    o.objectives = s->objectives;
    o.num_objectives = num_objectives;
    if (s->now.num_objectives >= num_objectives)
        return POPLINER_OK;
    popliner_status status = solve(s, &o, &plan, error);
    if (status != POPLINER_OK)
        return status;
    s->now.num_objectives = num_objectives;
    s->now.is_stopped = plan == NULL || plan->is_stopped;
    s->is_stopped = s->is_stopped || s->now.is_stopped;
    popliner_plan_free(s->now.fastest);
    s->now.fastest = plan;
    if (plan != NULL && plan->status == POPLINER_PLAN_INFEASIBLE) {
        popliner_plan_free(plan);
        s->now.fastest = NULL;
    }
    return POPLINER_OK;
}

/* Returns the micro-batches of each of num_replicas pipelines; 0 if they do not divide the
 * batch. */
static uint64_t share_of(const replicas_search *s, size_t num_replicas) {
    const popliner_replicas_options *o = &s->options;
    if (o->micro_batches > 0)
        return o->micro_batches;
    return o->batch % num_replicas == 0 ? o->batch / num_replicas : 0;
}

/* Gets the costs for so many replicas and micro-batches of each, and restarts the walk. */
static popliner_status find_costs(replicas_search *s, size_t num_replicas, uint64_t micro_batches,
                                  popliner_error *error) {
    const size_t num_stages = s->now.num_ipus * s->options.chunks;
    popliner_error told = {.message = ""};
    popliner_status status = POPLINER_OK;
    const bool is_new = s->now.micro_batches != micro_batches ||
                        (s->options.costs_follow_replicas && s->now.num_replicas != num_replicas);
    if (s->options.costs != NULL && is_new) {
        begin_pipelines(s, s->now.num_ipus);
        status = s->options.costs(s->options.costs_user, num_stages, num_replicas, micro_batches,
                                  &s->costs, &told);
        status = pl_fail_callback(error, "costs", status, &told);
    }
    s->now.micro_batches = micro_batches;
    s->now.num_replicas = num_replicas;
    if (status == POPLINER_OK && popliner_costs_num_units(s->costs) != s->num_units)
        status =
            pl_fail(error, POPLINER_ERROR_USAGE, "costs: %zu units, but other pipelines have %zu",
                    popliner_costs_num_units(s->costs), s->num_units);
    return status;
}

/* ---- simulated steps ---- */

/* Returns the all-reduce of an IPU with these stages. */
static uint64_t reduce_stages(void *user, const popliner_interval *stages, size_t num_stages) {
    const replicas_search *s = user;
    return reduce_cycles(s, s->now.num_replicas,
                         s->parameters(s->parameters_user, stages, num_stages));
}

/* Finds the best split of the pipelines by simulations, if it has at least the throughput of
 * `best`. Its step is at least M times the slowest stage: most numbers of replicas need no more.
 * Raises *open to a bound of what was not ruled out. */
static popliner_status simulate(replicas_search *s, popliner_replicas_candidate *own,
                                const popliner_replicas_candidate *best,
                                popliner_replicas_candidate *open, popliner_error *error) {
    const size_t r = own->num_replicas;
    const uint64_t m = own->micro_batches;
    own->num_replicas = 0;
    popliner_status status = find_fastest(s, 1, error);
    if (status != POPLINER_OK || s->now.fastest == NULL)
        return status;
    const uint64_t passes[] = {m, s->now.fastest->cycles};
    const uint64_t least_after = reduce_cycles(s, r, s->now.least_bytes);
    popliner_replicas_candidate bound = {
        .num_replicas = r,
        .micro_batches = m,
        .step_cycles =
            s->now.is_stopped ? 1 : pl_add_or_never(pl_ratio_up(passes, 2, NULL, 0), least_after)};
    if (compare(&bound, best) < 0)
        return POPLINER_OK;
    popliner_solver_options o = options_of(s);
    o.objectives = pl_objectives_of(&s->solver, &o.num_objectives);
    const uint64_t above[] = {r, m, best->step_cycles};
    const uint64_t below[] = {best->num_replicas, best->micro_batches};
    const bool reduces = s->parameters != NULL && s->options.bandwidth_bytes > 0;
    const pl_step_question question = {
        .costs = s->costs,
        .options = &o,
        .pipeline = &s->pipeline,
        .after = reduces ? reduce_stages : NULL,
        .user = s,
        .least_after = least_after,
        .max_cycles = best->num_replicas > 0 ? pl_ratio_up(above, 3, below, 2) : UINT64_MAX,
        .start = s->now.fastest,
        .stop = &s->stop};
    pl_step_answer found;
    status = pl_step_search(&question, &s->work, &found, error);
    s->is_stopped = s->is_stopped || pl_stop_is_wanted(&s->stop);
    bound.step_cycles = pl_larger(found.bound_cycles, bound.step_cycles);
    if (status == POPLINER_OK && !found.is_proven && compare(&bound, open) > 0)
        *open = bound;
    if (status != POPLINER_OK || found.plan == NULL)
        return status;
    *own = point_candidate(s, r, m, found.plan->cycles, most_parameters(s, found.plan));
    own->step = found.step;
    own->pipeline_cycles = found.step.cycles;
    own->step_cycles = found.cycles;
    own->is_proven = found.is_proven;
    own->plan = found.plan;
    return POPLINER_OK;
}

/* Takes the fastest split for a number of replicas by the formula. Others may have fewer
 * parameters: *open is raised to what the fewest would give. */
static popliner_status take_fastest(replicas_search *s, popliner_replicas_candidate *own,
                                    popliner_replicas_candidate *open, popliner_error *error) {
    const size_t r = own->num_replicas;
    const uint64_t m = own->micro_batches;
    own->num_replicas = 0;
    popliner_status status = find_fastest(s, s->num_objectives, error);
    if (status != POPLINER_OK || s->now.fastest == NULL)
        return status;
    const uint64_t cycles = s->now.fastest->cycles;
    *own = point_candidate(s, r, m, cycles, most_parameters(s, s->now.fastest));
    const popliner_replicas_candidate bound = point_candidate(s, r, m, cycles, s->now.least_bytes);
    if (bound.step_cycles < own->step_cycles && compare(&bound, open) > 0)
        *open = bound;
    return POPLINER_OK;
}

/* Finds the best split for a number of replicas, by simulated steps or else by the formula. */
static popliner_status try_number(replicas_search *s, popliner_replicas_candidate *own,
                                  const popliner_replicas_candidate *best,
                                  popliner_replicas_candidate *open, popliner_error *error) {
    const char *obstacle = NULL; /* the reason why no steps are simulated although that is wanted */
    popliner_status status = find_costs(s, own->num_replicas, own->micro_batches, error);
    if (status == POPLINER_OK && s->options.pipeline != NULL) {
        s->pipeline.copies.num_micro_batches = (size_t)own->micro_batches;
        const pl_order order =
            pl_order_of(&s->pipeline, s->now.num_ipus, s->options.chunks, s->options.is_v);
        obstacle = pl_step_obstacle(&order);
        if (obstacle == NULL)
            return simulate(s, own, best, open, error);
    }
    if (status == POPLINER_OK)
        status = take_fastest(s, own, open, error);
    own->step.obstacle = obstacle;
    own->step.num_micro_batches = obstacle != NULL ? s->pipeline.copies.num_micro_batches : 0;
    return status;
}

/* Finds out how much better than the best candidate the best one that is left open might be. */
static void find_gap(popliner_replicas_candidate *best, const popliner_replicas_candidate *open) {
    const int order = compare(open, best);
    best->is_proven = best->is_proven && order < 0;
    if (order > 0 && best->step_cycles < UINT64_MAX)
        best->gap = gap_of(open, best);
}

/* Gives a candidate the fastest split, which it has by the formula. */
static popliner_status give_fastest(replicas_search *s, popliner_replicas_candidate *c,
                                    popliner_error *error) {
    popliner_status status = find_costs(s, c->num_replicas, c->micro_batches, error);
    if (status == POPLINER_OK)
        status = find_fastest(s, s->num_objectives, error);
    c->plan = s->now.fastest;
    s->now.fastest = NULL;
    if (c->plan == NULL) /* no time was left */
        *c = (popliner_replicas_candidate){.num_ipus = c->num_ipus};
    return status == POPLINER_OK && c->plan != NULL ? set_parameters(s, c, error) : status;
}

/* Gives the best candidate its plan, if it does not have it, and all that belongs to it. */
static popliner_status finish(replicas_search *s, popliner_replicas_candidate *best,
                              const popliner_replicas_candidate *open, popliner_error *error) {
    if (best->num_replicas > 0) {
        find_gap(best, open);
        return best->plan != NULL ? set_parameters(s, best, error) : give_fastest(s, best, error);
    }
    if (s->is_stopped)
        return POPLINER_OK;
    popliner_plan *none = NULL; /* no such pipeline exists */
    const popliner_status status = pl_plan_create_empty(false, &none, error);
    best->plan = none;
    best->is_proven = status == POPLINER_OK;
    return status;
}

/* Finds the best number of replicas. Many come first, because they have the highest throughput most
 * often. */
static popliner_status try_numbers(replicas_search *s, popliner_replicas_candidate *best,
                                   popliner_replicas_candidate *open, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t r = s->options.total_ipus / s->now.num_ipus;
         status == POPLINER_OK && r > 0 && !s->is_stopped; --r) {
        popliner_replicas_candidate own = {.num_replicas = r, .micro_batches = share_of(s, r)};
        if (own.micro_batches == 0)
            continue;
        status = try_number(s, &own, best, open, error);
        if (status == POPLINER_OK && own.num_replicas > 0 && compare(&own, best) >= 0) {
            popliner_plan_free((popliner_plan *)best->plan);
            *best = own;
        } else {
            popliner_plan_free((popliner_plan *)own.plan);
        }
    }
    return status;
}

/* Finds the best pipelines of num_ipus IPUs with one of num_shares shares of the work that is
 * left. The caller frees what the candidate has. */
static popliner_status find_with(replicas_search *s, uint64_t *left, size_t num_shares,
                                 size_t num_ipus, popliner_replicas_candidate *best,
                                 popliner_error *error) {
    popliner_replicas_candidate open = {.num_replicas = 0};
    popliner_status status = POPLINER_OK;
    const uint64_t share = s->work = *left / num_shares;
    *best = (popliner_replicas_candidate){.num_ipus = num_ipus};
    begin_pipelines(s, num_ipus);
    if (num_ipus <= s->num_units / s->options.chunks)
        status = try_numbers(s, best, &open, error);
    if (status == POPLINER_OK)
        status = finish(s, best, &open, error);
    *left -= share - s->work;
    return status;
}

/* ---- all pipelines ---- */

static void summarise(popliner_replicas *answer, const replicas_search *s) {
    answer->best = answer->closest = SIZE_MAX;
    answer->is_stopped = s->is_stopped;
    answer->is_proven = true;
    for (size_t i = 0; i < answer->num_candidates; ++i) {
        const popliner_replicas_candidate *own = &answer->candidates[i];
        const popliner_replicas_candidate *best =
            answer->best == SIZE_MAX ? NULL : &answer->candidates[answer->best];
        answer->is_proven = answer->is_proven && own->is_proven;
        if (own->num_replicas == 0 || own->plan == NULL)
            continue;
        int order = best == NULL ? 1 : compare(own, best);
        if (order > 0 ||
            (order == 0 && own->num_ipus * own->num_replicas < best->num_ipus * best->num_replicas))
            answer->best = i;
    }
}

/* Finds the best pipelines of each number of IPUs, and the best of them. */
static popliner_status find_candidates(replicas_search *s, popliner_replicas *answer,
                                       popliner_error *error) {
    uint64_t left = MAX_WORK;
    popliner_status status = POPLINER_OK;
    size_t count = s->num_units / s->options.chunks;
    count = s->options.total_ipus < count ? s->options.total_ipus : count;
    count = s->solver.num_ipus < count ? s->solver.num_ipus : count;
    const size_t before = pl_more(1, s->options.min_ipus) - 1;
    count -= pl_fewer(count, before);
    answer->candidates = pl_new_array(count, sizeof *answer->candidates);
    if (answer->candidates == NULL)
        return pl_fail_memory(error, "the numbers of replicas");
    for (size_t i = 0; status == POPLINER_OK && i < count; ++i) {
        popliner_replicas_candidate *own = &answer->candidates[answer->num_candidates++];
        status = find_with(s, &left, count - i, before + i + 1, own, error);
    }
    if (status == POPLINER_OK)
        summarise(answer, s);
    return status;
}

/* ---- why nothing fits ---- */

/* Returns the largest excess of an IPU over its limit. */
static uint64_t excess_of(const replicas_search *s, const popliner_plan *plan) {
    uint64_t most = 0;
    for (size_t i = 0; i < plan->num_stages; ++i) {
        uint64_t limit = pl_limit_of(&s->solver, plan->stages[i].ipu, s->solver.mem_per_tile);
        uint64_t bytes = plan->stages[i].peak_bytes;
        most = bytes > limit && bytes - limit > most ? bytes - limit : most;
    }
    return most;
}

/* Returns as many pipelines of num_ipus IPUs as there can be: of as few micro-batches each, with
 * which it stores least. */
static size_t most_replicas(const replicas_search *s, size_t num_ipus) {
    size_t num_replicas = s->options.total_ipus / num_ipus;
    while (share_of(s, num_replicas) == 0)
        --num_replicas;
    return num_replicas;
}

/* Solves num_replicas pipelines of s->now.num_ipus IPUs by their own costs. */
static popliner_status solve_pipelines(replicas_search *s, size_t num_replicas,
                                       popliner_solver_options *o, popliner_plan **plan,
                                       popliner_error *error) {
    *plan = NULL;
    popliner_status status = find_costs(s, num_replicas, share_of(s, num_replicas), error);
    return status == POPLINER_OK ? solve(s, o, plan, error) : status;
}

/* Finds the excess of a candidate's pipelines over the limits, and the plan that has it; UINT64_MAX
 * if there are none. */
static popliner_status find_excess(replicas_search *s, popliner_replicas_candidate *c,
                                   uint64_t *excess_bytes, popliner_error *error) {
    const size_t num_ipus = c->num_ipus;
    static const popliner_objective memory[] = {POPLINER_OBJECTIVE_MEMORY};
    popliner_plan *plan = NULL;
    *excess_bytes = UINT64_MAX;
    if (num_ipus > s->num_units / s->options.chunks)
        return POPLINER_OK;
    begin_pipelines(s, num_ipus);
    popliner_solver_options o = options_of(s);
    o.objectives = memory;
    o.num_objectives = 1;
    o.mem_per_tile = POPLINER_TARGET_BYTES;
    o.num_ipu_limits = 0;
    const popliner_status status = solve_pipelines(s, most_replicas(s, num_ipus), &o, &plan, error);
    if (plan == NULL || plan->num_stages == 0) {
        popliner_plan_free(plan);
        return status;
    }
    *excess_bytes = excess_of(s, plan);
    plan->status = POPLINER_PLAN_INFEASIBLE;
    c->best_effort = plan;
    return status;
}

/* Finds the fewest IPUs in all on which some pipelines fit, or how long those are if only they may
 * not be as long. What they store may depend on their length, number and micro-batches. */
static popliner_status find_enough(replicas_search *s, popliner_infeasibility *why,
                                   popliner_error *error) {
    const popliner_replicas_options *o = &s->options;
    const size_t longest = pl_fewer(s->num_units / o->chunks, POPLINER_MAX_IPU + 1);
    const size_t shortest = pl_more(1, o->min_ipus);
    const size_t tried = pl_fewer(s->solver.num_ipus, o->total_ipus);
    const uint64_t one =
        o->costs_follow_replicas ? UINT64_MAX : 1; /* more of them change nothing */
    const uint64_t most_replicas = o->batch > 0 ? o->batch : one;
    size_t left = MOST_LONGER;
    popliner_status status = POPLINER_OK;
    why->enough_stages = 0;
    why->is_longer_unknown = true;
    for (size_t total = tried + 1; left > 0; ++total) {
        if (total > POPLINER_MAX_IPU + 1 || (total - 1) / longest >= most_replicas) {
            why->is_longer_unknown = false;
            return status;
        }
        for (size_t i = pl_fewer(total, longest); i >= shortest && left > 0; --i) {
            popliner_plan *plan;
            if (total % i > 0 || total / i > most_replicas || share_of(s, total / i) == 0 ||
                (total <= o->total_ipus && i <= tried))
                continue;
            begin_pipelines(s, i);
            popliner_solver_options own = options_of(s);
            own.num_objectives = 0;
            status = solve_pipelines(s, total / i, &own, &plan, error);
            const bool fits = plan != NULL && plan->status != POPLINER_PLAN_INFEASIBLE;
            popliner_plan_free(plan);
            left = status != POPLINER_OK || s->is_stopped || fits ? 0 : left - 1;
            if (fits) {
                why->enough_stages = total <= o->total_ipus ? i : total;
                why->is_longer_unknown = false;
            }
        }
    }
    return status;
}

/* Finds the candidate with the smallest excess, and why it does not fit. */
static popliner_status explain(replicas_search *s, popliner_replicas *answer,
                               popliner_error *error) {
    uint64_t least_bytes = UINT64_MAX;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && !s->is_stopped && i < answer->num_candidates; ++i) {
        uint64_t bytes;
        status = find_excess(s, &answer->candidates[i], &bytes, error);
        if (bytes < least_bytes)
            answer->closest = i;
        least_bytes = bytes < least_bytes ? bytes : least_bytes;
    }
    /* if no length is possible, the longest pipeline explains why: a shorter one is also allowed */
    bool is_known = answer->closest < SIZE_MAX;
    const size_t place = is_known ? answer->closest : answer->num_candidates - 1;
    begin_pipelines(s, answer->candidates[place].num_ipus);
    popliner_solver_options o = s->solver;
    o.num_ipus = s->now.num_ipus;
    if (s->options.chunks > 1 || s->options.min_ipus > 1)
        o = options_of(s);
    o.without_reasons = false;
    popliner_plan *reason = NULL;
    if (status == POPLINER_OK)
        status = solve_pipelines(s, most_replicas(s, s->now.num_ipus), &o, &reason, error);
    /* costs that depend on the number of stages need not agree for shorter pipelines */
    if (reason != NULL && reason->status != POPLINER_PLAN_INFEASIBLE) {
        popliner_plan_free(reason);
        reason = NULL;
    }
    answer->reason = reason;
    return reason == NULL || status != POPLINER_OK || s->options.costs == NULL
               ? status
               : find_enough(s, &reason->infeasibility, error);
}

/* ---- the Pareto front ---- */

static void free_candidate(popliner_replicas_candidate *c) {
    popliner_plan_free((popliner_plan *)c->plan);
    popliner_plan_free((popliner_plan *)c->best_effort);
    free((uint64_t *)c->stage_parameter_bytes);
    c->plan = c->best_effort = NULL;
    c->stage_parameter_bytes = NULL;
}

/* Limits the memory of each IPU, and drops the plans that exceed it: the throughput of each remains
 * as a bound. */
static popliner_status limit_memory(replicas_search *s, popliner_replicas *answer,
                                    uint64_t most_bytes, popliner_error *error) {
    popliner_solver_options *o = &s->solver;
    if (s->ipu_limits == NULL && o->num_ipu_limits > 0) {
        s->ipu_limits =
            pl_arrays_copy(&s->arrays, o->ipu_limits, o->num_ipu_limits, sizeof *s->ipu_limits);
        if (s->ipu_limits == NULL)
            return pl_fail_memory(error, "the Pareto front");
        o->ipu_limits = s->ipu_limits;
    }
    o->mem_per_tile = pl_smaller(o->mem_per_tile, most_bytes);
    for (size_t i = 0; i < o->num_ipu_limits; ++i)
        s->ipu_limits[i].value = pl_smaller(s->ipu_limits[i].value, most_bytes);
    for (size_t i = 0; i < answer->num_candidates; ++i)
        if (answer->candidates[i].num_replicas > 0 && answer->candidates[i].plan != NULL &&
            answer->candidates[i].plan->peak_bytes > most_bytes)
            free_candidate(&answer->candidates[i]);
    return POPLINER_OK;
}

/* Solves again for the bounds that are at least the throughput of the best candidate. */
static popliner_status find_next(replicas_search *s, popliner_replicas *answer,
                                 popliner_error *error) {
    uint64_t left = MAX_WORK;
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && !s->is_stopped) {
        popliner_replicas_candidate *next = NULL;
        size_t count = 0;
        summarise(answer, s);
        for (size_t i = 0; i < answer->num_candidates; ++i) {
            popliner_replicas_candidate *own = &answer->candidates[i];
            const popliner_replicas_candidate *best =
                answer->best == SIZE_MAX ? NULL : &answer->candidates[answer->best];
            if (own->plan != NULL || own->num_replicas == 0 ||
                (best != NULL && compare(own, best) < 0 && gap_of(own, best) <= 0.0))
                continue;
            ++count;
            if (next == NULL || compare(own, next) > 0)
                next = own;
        }
        if (next == NULL)
            return POPLINER_OK;
        const popliner_replicas_candidate bound = *next;
        status = find_with(s, &left, count, bound.num_ipus, next, error);
        if (next->num_replicas > 0 && gap_of(&bound, next) < next->gap)
            next->gap = gap_of(&bound, next);
    }
    return status;
}

/* Returns how much more throughput than the best candidate one of them might have. */
static double most_gap(const popliner_replicas *answer) {
    double most = 0.0;
    for (size_t i = 0; i < answer->num_candidates; ++i) {
        const double gap = gap_of(&answer->candidates[i], &answer->candidates[answer->best]);
        most = gap > most ? gap : most;
    }
    return most < 1e-9 ? 0.0 : most;
}

/* Moves the plan of the best candidate into a point, which no candidate beats by more than its
 * gap. */
static popliner_replicas_candidate take_best(popliner_replicas *answer) {
    popliner_replicas_candidate *best = &answer->candidates[answer->best];
    popliner_replicas_candidate point = *best;
    point.gap = most_gap(answer);
    best->plan = NULL;
    best->stage_parameter_bytes = NULL;
    return point;
}

/* Replaces the candidates by the points of the front. Each is the best pipeline within less memory
 * than that before it. If it has no less throughput, it takes that one's place. */
static popliner_status find_front(replicas_search *s, popliner_replicas *answer,
                                  popliner_error *error) {
    popliner_replicas front = {.best = 0, .closest = SIZE_MAX, .is_proven = true};
    size_t capacity = 0;
    popliner_replicas_candidate last = {.num_replicas = 0};
    popliner_status status = POPLINER_OK;
    for (bool goes_on = true; status == POPLINER_OK && goes_on;) {
        popliner_replicas_candidate point = take_best(answer);
        const uint64_t bytes = point.plan->peak_bytes;
        size_t *count = &front.num_candidates;
        if (last.num_replicas > 0 && gap_of(&last, &point) < point.gap)
            point.gap = gap_of(&last, &point);
        if (point.gap < 1e-9)
            point.gap = 0.0;
        point.is_proven = point.is_proven && point.gap <= 0.0 && !s->is_stopped;
        front.is_proven = front.is_proven && point.is_proven;
        last = point;
        while (*count > 0 && compare(&front.candidates[*count - 1], &point) <= 0)
            free_candidate(&front.candidates[--*count]);
        if (!pl_grow(&front.candidates, &capacity, *count + 1, sizeof *front.candidates)) {
            free_candidate(&point);
            status = pl_fail_memory(error, "the Pareto front");
            break;
        }
        front.candidates[(*count)++] = point;
        goes_on = bytes > 0 && !s->is_stopped;
        if (goes_on)
            status = limit_memory(s, answer, bytes - 1, error);
        if (status == POPLINER_OK && goes_on)
            status = find_next(s, answer, error);
        goes_on = goes_on && answer->best < SIZE_MAX && !s->is_stopped;
    }
    for (size_t i = 0; i < answer->num_candidates; ++i)
        free_candidate(&answer->candidates[i]);
    free(answer->candidates);
    front.is_stopped = s->is_stopped;
    front.is_proven = front.is_proven && !s->is_stopped;
    *answer = front;
    return status;
}

/* ---- the public interface ---- */

popliner_status popliner_replicas_solve(const popliner_costs *costs,
                                        const popliner_replicas_options *options,
                                        popliner_replicas **replicas, popliner_error *error) {
    replicas_search s = {.costs = costs,
                         .options = POPLINER_REPLICAS_OPTIONS_INIT,
                         .num_units = popliner_costs_num_units(costs)};
    popliner_listener listener;
    *replicas = NULL;
    popliner_replicas *answer = calloc(1, sizeof *answer);
    popliner_status status = answer == NULL ? pl_fail_memory(error, "the numbers of replicas")
                                            : pl_struct_take(&s.options, sizeof s.options, options,
                                                             "popliner_replicas_options", error);
    if (status == POPLINER_OK)
        status = pl_solver_options_take(s.options.solver, NULL, &s.solver, &listener, error);
    if (s.solver.num_ipus == 0)
        s.solver.num_ipus = s.options.total_ipus;
    s.solver.objectives = pl_objectives_of(&s.solver, &s.solver.num_objectives);
    pl_solver_options_complete(&s.solver, costs);
    if (status == POPLINER_OK)
        status = check_options(costs, &s, error);
    if (status == POPLINER_OK)
        status = begin_search(&s, error);
    if (status == POPLINER_OK)
        status = find_candidates(&s, answer, error);
    const bool fits = status == POPLINER_OK && answer->best < SIZE_MAX;
    if (fits && s.options.is_front)
        status = find_front(&s, answer, error);
    if (status == POPLINER_OK && !fits && !s.is_stopped && answer->num_candidates > 0 &&
        !s.solver.without_reasons)
        status = explain(&s, answer, error);
    popliner_plan_free(s.now.fastest);
    pl_arrays_free(&s.arrays);
    if (status != POPLINER_OK) {
        popliner_replicas_free(answer);
        return status;
    }
    answer->is_front = s.options.is_front;
    *replicas = answer;
    return POPLINER_OK;
}

double popliner_replicas_gap(const popliner_replicas *replicas) {
    if (replicas->is_proven)
        return 0;
    return replicas->is_stopped ? -1 : most_gap(replicas);
}

void popliner_replicas_free(popliner_replicas *replicas) {
    if (replicas == NULL)
        return;
    for (size_t i = 0; i < replicas->num_candidates; ++i)
        free_candidate(&replicas->candidates[i]);
    popliner_plan_free(replicas->reason);
    free(replicas->candidates);
    free(replicas);
}
