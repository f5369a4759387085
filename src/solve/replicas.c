/* The numbers of stages and of data-parallel replicas with the best throughput; why none fits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/replicas.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/replicas_search.h"

/* Keeps all counts of the formulas far below 2^64. */
#define MAX_COUNT (UINT64_C(1) << 31)

/* So many longer pipelines, or more of them, are tried if none fits. */
enum { MOST_LONGER = 64 };

/* ---- all pipelines ---- */

static popliner_status check_options(const popliner_costs *costs, const pl_replicas_search *s,
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
static popliner_status take_parameters(pl_replicas_search *s, popliner_error *error) {
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

static popliner_status begin_search(pl_replicas_search *s, popliner_error *error) {
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

static void end_search(pl_replicas_search *s) {
    pl_arrays_free(&s->arrays);
}

static void summarise(popliner_replicas *answer, const pl_replicas_search *s) {
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
        int order = best == NULL ? 1 : pl_replicas_compare(own, best);
        if (order > 0 ||
            (order == 0 && own->num_ipus * own->num_replicas < best->num_ipus * best->num_replicas))
            answer->best = i;
    }
}

/* ---- why nothing fits ---- */

/* Returns the largest excess of an IPU over its limit. */
static uint64_t excess_of(const pl_replicas_search *s, const popliner_plan *plan) {
    uint64_t most = 0;
    for (size_t i = 0; i < plan->num_stages; ++i) {
        uint64_t limit = pl_limit_of(&s->solver, plan->stages[i].ipu, s->solver.mem_per_tile);
        uint64_t bytes = plan->stages[i].peak_bytes;
        most = bytes > limit && bytes - limit > most ? bytes - limit : most;
    }
    return most;
}

/* Finds the costs of as many pipelines of w->num_ipus IPUs as there can be, of as few micro-batches
 * each: with these it stores least. */
static popliner_status find_least_costs(pl_replicas_search *s, pl_replicas_walk *w,
                                        popliner_error *error) {
    const char *obstacle;
    size_t num_replicas = s->options.total_ipus / w->num_ipus;
    while (pl_replicas_share(s, num_replicas) == 0)
        --num_replicas;
    return pl_replicas_find_costs(s, w, num_replicas, pl_replicas_share(s, num_replicas), &obstacle,
                                  error);
}

/* Finds the excess of a candidate's pipelines over the limits, and the plan that has it; UINT64_MAX
 * if there are none. */
static popliner_status find_excess(pl_replicas_search *s, popliner_replicas_candidate *c,
                                   uint64_t *excess_bytes, popliner_error *error) {
    const size_t num_ipus = c->num_ipus;
    static const popliner_objective memory[] = {POPLINER_OBJECTIVE_MEMORY};
    pl_replicas_walk w = {.num_ipus = num_ipus};
    popliner_plan *plan = NULL;
    *excess_bytes = UINT64_MAX;
    if (num_ipus > s->num_units / s->options.chunks)
        return POPLINER_OK;
    popliner_status status = find_least_costs(s, &w, error);
    popliner_solver_options o = pl_replicas_options_of(s, &w);
    o.objectives = memory;
    o.num_objectives = 1;
    o.mem_per_tile = POPLINER_TARGET_BYTES;
    o.num_ipu_limits = 0;
    if (status == POPLINER_OK)
        status = pl_replicas_solve(s, &o, &plan, error);
    if (plan == NULL || plan->num_stages == 0) {
        popliner_plan_free(plan);
        return status;
    }
    *excess_bytes = excess_of(s, plan);
    plan->status = POPLINER_PLAN_INFEASIBLE;
    c->best_effort = plan;
    return status;
}

/* Solves num_replicas pipelines of w->num_ipus IPUs by their own costs. */
static popliner_status try_pipelines(pl_replicas_search *s, pl_replicas_walk *w,
                                     size_t num_replicas, bool *fits, popliner_error *error) {
    const char *obstacle;
    popliner_plan *plan = NULL;
    popliner_status status = pl_replicas_find_costs(
        s, w, num_replicas, pl_replicas_share(s, num_replicas), &obstacle, error);
    popliner_solver_options o = pl_replicas_options_of(s, w);
    o.num_objectives = 0;
    if (status == POPLINER_OK)
        status = pl_replicas_solve(s, &o, &plan, error);
    *fits = plan != NULL && plan->status != POPLINER_PLAN_INFEASIBLE;
    popliner_plan_free(plan);
    return status;
}

/* Finds the fewest IPUs in all on which some pipelines fit, or how long those are if only they may
 * not be as long. What they store may depend on their length, number and micro-batches. */
static popliner_status find_enough(pl_replicas_search *s, popliner_infeasibility *why,
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
            pl_replicas_walk w = {.num_ipus = i};
            bool fits = false;
            if (total % i > 0 || total / i > most_replicas ||
                pl_replicas_share(s, total / i) == 0 || (total <= o->total_ipus && i <= tried))
                continue;
            status = try_pipelines(s, &w, total / i, &fits, error);
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
static popliner_status explain(pl_replicas_search *s, popliner_replicas *answer,
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
    pl_replicas_walk w = {.num_ipus = answer->candidates[place].num_ipus};
    if (status == POPLINER_OK)
        status = find_least_costs(s, &w, error);
    popliner_solver_options o = s->solver;
    o.num_ipus = w.num_ipus;
    if (s->options.chunks > 1 || s->options.min_ipus > 1)
        o = pl_replicas_options_of(s, &w);
    o.without_reasons = false;
    popliner_plan *reason = NULL;
    if (status == POPLINER_OK)
        status = pl_replicas_solve(s, &o, &reason, error);
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

/* ---- work ---- */

/* Finds the best pipelines of num_ipus IPUs with one of num_shares shares of the work that is
 * left. */
static popliner_status find_with(pl_replicas_search *s, uint64_t *left, size_t num_shares,
                                 size_t num_ipus, popliner_replicas_candidate *own,
                                 popliner_error *error) {
    const uint64_t share = s->work = *left / num_shares;
    popliner_status status = pl_replicas_find(s, num_ipus, own, error);
    *left -= share - s->work;
    return status;
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
static popliner_status limit_memory(pl_replicas_search *s, popliner_replicas *answer,
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
static popliner_status find_next(pl_replicas_search *s, popliner_replicas *answer,
                                 popliner_error *error) {
    uint64_t left = PL_REPLICAS_MAX_WORK;
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
                (best != NULL && pl_replicas_compare(own, best) < 0 &&
                 pl_replicas_gap(own, best) <= 0.0))
                continue;
            ++count;
            if (next == NULL || pl_replicas_compare(own, next) > 0)
                next = own;
        }
        if (next == NULL)
            return POPLINER_OK;
        const popliner_replicas_candidate bound = *next;
        status = find_with(s, &left, count, bound.num_ipus, next, error);
        if (next->num_replicas > 0 && pl_replicas_gap(&bound, next) < next->gap)
            next->gap = pl_replicas_gap(&bound, next);
    }
    return status;
}

/* Moves the plan of the best candidate into a point, which no candidate beats by more than its
 * gap. */
static popliner_replicas_candidate take_best(popliner_replicas *answer) {
    popliner_replicas_candidate *best = &answer->candidates[answer->best];
    popliner_replicas_candidate point = *best;
    for (size_t i = 0; i < answer->num_candidates; ++i) {
        const popliner_replicas_candidate *own = &answer->candidates[i];
        const double gap = own->num_replicas == 0 ? 0.0 : pl_replicas_gap(own, best);
        point.gap = gap > point.gap ? gap : point.gap;
    }
    best->plan = NULL;
    best->stage_parameter_bytes = NULL;
    return point;
}

/* Replaces the candidates by the points of the front. Each is the best pipeline within less memory
 * than that before it. If it has no less throughput, it takes that one's place. */
static popliner_status find_front(pl_replicas_search *s, popliner_replicas *answer,
                                  popliner_error *error) {
    popliner_replicas front = {.best = 0, .closest = SIZE_MAX, .is_proven = true};
    size_t capacity = 0;
    popliner_replicas_candidate last = {.num_replicas = 0};
    popliner_status status = POPLINER_OK;
    for (bool goes_on = true; status == POPLINER_OK && goes_on;) {
        popliner_replicas_candidate point = take_best(answer);
        const uint64_t bytes = point.plan->peak_bytes;
        size_t *count = &front.num_candidates;
        if (last.num_replicas > 0 && pl_replicas_gap(&last, &point) < point.gap)
            point.gap = pl_replicas_gap(&last, &point);
        if (point.gap < 1e-9)
            point.gap = 0.0;
        point.is_proven = point.is_proven && point.gap <= 0.0 && !s->is_stopped;
        front.is_proven = front.is_proven && point.is_proven;
        last = point;
        while (*count > 0 && pl_replicas_compare(&front.candidates[*count - 1], &point) <= 0)
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

/* ---- the answer ---- */

/* Finds the best pipelines of each number of IPUs, and the best of them. */
static popliner_status find_candidates(pl_replicas_search *s, popliner_replicas *answer,
                                       popliner_error *error) {
    uint64_t left = PL_REPLICAS_MAX_WORK;
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

popliner_status popliner_replicas_solve(const popliner_costs *costs,
                                        const popliner_replicas_options *options,
                                        popliner_replicas **replicas, popliner_error *error) {
    pl_replicas_search s = {.costs = costs,
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
    end_search(&s);
    if (status != POPLINER_OK) {
        popliner_replicas_free(answer);
        return status;
    }
    answer->is_front = s.options.is_front;
    *replicas = answer;
    return POPLINER_OK;
}

double popliner_replicas_gap(const popliner_replicas *replicas) {
    const popliner_replicas_candidate *best = &replicas->candidates[replicas->best];
    double gap = 0;
    if (replicas->is_proven)
        return 0;
    if (replicas->is_stopped)
        return -1;
    for (size_t i = 0; i < replicas->num_candidates; i++) {
        const double more = pl_replicas_gap(&replicas->candidates[i], best);
        gap = more > gap ? more : gap;
    }
    return gap < 1e-9 ? 0 : gap;
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
