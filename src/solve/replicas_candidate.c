/* The best pipelines of one number of IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/replicas_search.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "solve/options.h"
#include "solve/plan.h"

/* ---- the formulas ---- */

static uint64_t pipeline_cycles(const pl_replicas_search *s, const pl_replicas_walk *w,
                                uint64_t micro_batches, uint64_t cycles) {
    uint64_t chunks = s->options.chunks;
    const uint64_t above[] = {chunks * micro_batches + w->num_ipus - 1, cycles};
    return pl_ratio_up(above, 2, &chunks, 1);
}

static uint64_t reduce_cycles(const pl_replicas_search *s, size_t num_replicas,
                              uint64_t parameter_bytes) {
    const popliner_replicas_options *o = &s->options;
    return pl_reduce_cycles(
        s->costs, (popliner_ipu_link){.bytes = o->bandwidth_bytes, .cycles = o->bandwidth_cycles},
        num_replicas, parameter_bytes);
}

static popliner_replicas_candidate point_candidate(const pl_replicas_search *s,
                                                   const pl_replicas_walk *w, size_t num_replicas,
                                                   uint64_t micro_batches, uint64_t cycles,
                                                   uint64_t parameter_bytes) {
    popliner_replicas_candidate c = {
        .num_ipus = w->num_ipus,
        .num_replicas = num_replicas,
        .micro_batches = micro_batches,
        .cycles = cycles,
        .parameter_bytes = parameter_bytes,
        .pipeline_cycles = pipeline_cycles(s, w, micro_batches, cycles),
        .reduce_cycles = reduce_cycles(s, num_replicas, parameter_bytes),
        .is_proven = !w->is_stopped,
    };
    c.step_cycles = pl_add_or_never(c.pipeline_cycles, c.reduce_cycles);
    return c;
}

int pl_replicas_compare(const popliner_replicas_candidate *a,
                        const popliner_replicas_candidate *b) {
    const uint64_t of_a[] = {a->num_replicas, a->micro_batches, b->step_cycles};
    const uint64_t of_b[] = {b->num_replicas, b->micro_batches, a->step_cycles};
    if (a->num_replicas == 0 || b->num_replicas == 0)
        return (a->num_replicas > 0) - (b->num_replicas > 0);
    pl_product left = pl_product_of(of_a, 3);
    pl_product right = pl_product_of(of_b, 3);
    return pl_product_compare(&left, &right);
}

double pl_replicas_gap(const popliner_replicas_candidate *before,
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
static size_t stage_of(const pl_replicas_search *s, size_t num_ipus, size_t ipu, size_t chunk) {
    return s->options.is_v && chunk == 1 ? 2 * num_ipus - 1 - ipu : chunk * num_ipus + ipu;
}

static uint64_t most_parameters(const pl_replicas_search *s, const pl_replicas_walk *w,
                                const popliner_plan *plan) {
    uint64_t most = 0;
    for (size_t ipu = 0; s->parameters != NULL && ipu < w->num_ipus; ++ipu) {
        for (size_t chunk = 0; chunk < s->options.chunks; ++chunk)
            s->together[chunk] = interval_of(plan, stage_of(s, w->num_ipus, ipu, chunk));
        most = pl_larger(most, s->parameters(s->parameters_user, s->together, s->options.chunks));
    }
    return most;
}

static popliner_status set_parameters(const pl_replicas_search *s, popliner_replicas_candidate *c,
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

popliner_solver_options pl_replicas_options_of(pl_replicas_search *s, const pl_replicas_walk *w) {
    popliner_solver_options o = s->solver;
    size_t num_stages = w->num_ipus * s->options.chunks;
    o.without_reasons = true;
    o.without_second_proof = true;
    o.slack_percent = 0.0;
    o.device_map = s->device_map;
    o.num_mapped_stages = num_stages;
    for (size_t ipu = 0; ipu < w->num_ipus; ++ipu)
        for (size_t chunk = 0; chunk < s->options.chunks; ++chunk)
            s->device_map[stage_of(s, w->num_ipus, ipu, chunk)] = ipu;
    return o;
}

popliner_status pl_replicas_solve(pl_replicas_search *s, popliner_solver_options *o,
                                  popliner_plan **plan, popliner_error *error) {
    *plan = NULL;
    pl_stop_limit(&s->stop, o);
    s->is_stopped = s->is_stopped || pl_stop_is_wanted(&s->stop);
    return s->is_stopped ? POPLINER_OK : popliner_solve(s->costs, o, plan, error);
}

static void begin_walk(const pl_replicas_search *s, pl_replicas_walk *w) {
    popliner_plan_free(w->fastest);
    w->fastest = NULL;
    w->num_objectives = 0;
    w->is_stopped = false;
    w->least_bytes = 0;
    if (s->parameters == NULL)
        return;
    for (size_t u = 0; u < s->num_units; ++u) {
        const popliner_interval unit = {u, u, 1};
        uint64_t bytes = s->parameters(s->parameters_user, &unit, 1);
        w->least_bytes = bytes > w->least_bytes ? bytes : w->least_bytes;
    }
    const popliner_interval all = {0, s->num_units - 1, 1};
    uint64_t sum = s->parameters(s->parameters_user, &all, 1);
    uint64_t share = sum / w->num_ipus + (sum % w->num_ipus > 0);
    w->least_bytes = share > w->least_bytes ? share : w->least_bytes;
}

/* Finds the fastest split, if there is one: the best by the first objectives, which are the cycles
 * and those after them. */
static popliner_status find_fastest(pl_replicas_search *s, pl_replicas_walk *w,
                                    size_t num_objectives, popliner_error *error) {
    popliner_plan *plan = NULL;
    popliner_solver_options o = pl_replicas_options_of(s, w);
    o.objectives = s->objectives;
    o.num_objectives = num_objectives;
    if (w->num_objectives >= num_objectives)
        return POPLINER_OK;
    popliner_status status = pl_replicas_solve(s, &o, &plan, error);
    if (status != POPLINER_OK)
        return status;
    w->num_objectives = num_objectives;
    w->is_stopped = plan == NULL || plan->is_stopped;
    s->is_stopped = s->is_stopped || w->is_stopped;
    popliner_plan_free(w->fastest);
    w->fastest = plan;
    if (plan != NULL && plan->status == POPLINER_PLAN_INFEASIBLE) {
        popliner_plan_free(plan);
        w->fastest = NULL;
    }
    return POPLINER_OK;
}

popliner_status pl_replicas_find_costs(pl_replicas_search *s, pl_replicas_walk *w,
                                       size_t num_replicas, uint64_t micro_batches,
                                       const char **obstacle, popliner_error *error) {
    const size_t num_stages = w->num_ipus * s->options.chunks;
    popliner_error told = {.message = ""};
    popliner_status status = POPLINER_OK;
    *obstacle = NULL;
    const bool is_new = w->micro_batches != micro_batches ||
                        (s->options.costs_follow_replicas && w->num_replicas != num_replicas);
    w->micro_batches = micro_batches;
    w->num_replicas = num_replicas;
    if (s->options.costs != NULL && is_new) {
        begin_walk(s, w);
        status = s->options.costs(s->options.costs_user, num_stages, num_replicas, micro_batches,
                                  &s->costs, &told);
        status = pl_fail_callback(error, "costs", status, &told);
    }
    if (status == POPLINER_OK && popliner_costs_num_units(s->costs) != s->num_units)
        status =
            pl_fail(error, POPLINER_ERROR_USAGE, "costs: %zu units, but other pipelines have %zu",
                    popliner_costs_num_units(s->costs), s->num_units);
    if (status == POPLINER_OK && s->options.pipeline != NULL) {
        s->pipeline.copies.num_micro_batches = (size_t)micro_batches;
        const pl_order order =
            pl_order_of(&s->pipeline, w->num_ipus, s->options.chunks, s->options.is_v);
        *obstacle = pl_step_obstacle(&order);
    }
    return status;
}

uint64_t pl_replicas_share(const pl_replicas_search *s, size_t num_replicas) {
    const popliner_replicas_options *o = &s->options;
    if (o->micro_batches > 0)
        return o->micro_batches;
    return o->batch % num_replicas == 0 ? o->batch / num_replicas : 0;
}

/* ---- simulated steps ---- */

/* The all-reduce of a number of replicas. */
typedef struct reduction {
    const pl_replicas_search *s;
    size_t num_replicas;
} reduction;

/* Returns the all-reduce of an IPU with these stages. */
static uint64_t reduce_stages(void *user, const popliner_interval *stages, size_t num_stages) {
    const reduction *r = user;
    return reduce_cycles(r->s, r->num_replicas,
                         r->s->parameters(r->s->parameters_user, stages, num_stages));
}

/* Returns a question about steps of any length, without starts. */
static pl_step_question question_of(const reduction *reduced, const pl_replicas_walk *w,
                                    const popliner_solver_options *o) {
    const pl_replicas_search *s = reduced->s;
    const bool reduces = s->parameters != NULL && s->options.bandwidth_bytes > 0;
    return (pl_step_question){
        .costs = s->costs,
        .options = o,
        .pipeline = &s->pipeline,
        .after = reduces ? reduce_stages : NULL,
        .user = (void *)reduced,
        .least_after = reduce_cycles(s, reduced->num_replicas, w->least_bytes),
        .max_cycles = UINT64_MAX,
        .stop = &s->stop,
    };
}

/* Returns the candidate of an answer, whose plan it takes. */
static popliner_replicas_candidate
take_candidate(const reduction *reduced, const pl_replicas_walk *w, const pl_step_answer *found) {
    const pl_replicas_search *s = reduced->s;
    popliner_replicas_candidate c =
        point_candidate(s, w, reduced->num_replicas, s->pipeline.copies.num_micro_batches,
                        found->plan->cycles, most_parameters(s, w, found->plan));
    c.step = found->step;
    c.pipeline_cycles = found->step.cycles;
    c.step_cycles = found->cycles;
    c.is_proven = found->is_proven;
    c.plan = found->plan;
    return c;
}

/* Returns a candidate without a split that has as much throughput as `cycles` give. */
static popliner_replicas_candidate bound_of(size_t num_replicas, uint64_t micro_batches,
                                            uint64_t cycles) {
    return (popliner_replicas_candidate){
        .num_replicas = num_replicas, .micro_batches = micro_batches, .step_cycles = cycles};
}

/* Finds the best split for a number of replicas by simulations, if it has at least the throughput
 * of `best`. Its step is at least M times the slowest stage: most numbers of replicas need no more.
 * Raises *open to a bound of what was not ruled out. */
static popliner_status simulate(pl_replicas_search *s, pl_replicas_walk *w,
                                popliner_replicas_candidate *own,
                                const popliner_replicas_candidate *best,
                                popliner_replicas_candidate *open, popliner_error *error) {
    const size_t r = own->num_replicas;
    const uint64_t m = own->micro_batches;
    own->num_replicas = 0;
    popliner_status status = find_fastest(s, w, 1, error);
    if (status != POPLINER_OK || w->fastest == NULL)
        return status;
    const uint64_t passes[] = {m, w->fastest->cycles};
    popliner_replicas_candidate bound = bound_of(
        r, m,
        pl_add_or_never(pl_ratio_up(passes, 2, NULL, 0), reduce_cycles(s, r, w->least_bytes)));
    if (w->is_stopped)
        bound.step_cycles = 1;
    if (pl_replicas_compare(&bound, best) < 0)
        return POPLINER_OK;
    const reduction reduced = {s, r};
    popliner_solver_options o = pl_replicas_options_of(s, w);
    o.objectives = pl_objectives_of(&s->solver, &o.num_objectives);
    const uint64_t above[] = {r, m, best->step_cycles};
    const uint64_t below[] = {best->num_replicas, best->micro_batches};
    pl_step_question question = question_of(&reduced, w, &o);
    question.start = w->fastest;
    if (best->num_replicas > 0)
        question.max_cycles = pl_ratio_up(above, 3, below, 2);
    pl_step_answer found;
    status = pl_step_search(&question, &s->work, &found, error);
    s->is_stopped = s->is_stopped || pl_stop_is_wanted(&s->stop);
    bound.step_cycles = pl_larger(found.bound_cycles, bound.step_cycles);
    if (status == POPLINER_OK && !found.is_proven && pl_replicas_compare(&bound, open) > 0)
        *open = bound;
    if (status == POPLINER_OK && found.plan != NULL)
        *own = take_candidate(&reduced, w, &found);
    return status;
}

/* Takes the fastest split for a number of replicas by the formula. Others may have fewer
 * parameters: *open is raised to what the fewest would give. */
static popliner_status take_fastest(pl_replicas_search *s, pl_replicas_walk *w,
                                    popliner_replicas_candidate *own,
                                    popliner_replicas_candidate *open, popliner_error *error) {
    const size_t r = own->num_replicas;
    const uint64_t m = own->micro_batches;
    own->num_replicas = 0;
    popliner_status status = find_fastest(s, w, s->num_objectives, error);
    if (status != POPLINER_OK || w->fastest == NULL)
        return status;
    const uint64_t cycles = w->fastest->cycles;
    *own = point_candidate(s, w, r, m, cycles, most_parameters(s, w, w->fastest));
    const popliner_replicas_candidate bound = point_candidate(s, w, r, m, cycles, w->least_bytes);
    if (bound.step_cycles < own->step_cycles && pl_replicas_compare(&bound, open) > 0)
        *open = bound;
    return POPLINER_OK;
}

/* Finds the best split for a number of replicas, by simulated steps or else by the formula. */
static popliner_status try_number(pl_replicas_search *s, pl_replicas_walk *w,
                                  popliner_replicas_candidate *own,
                                  const popliner_replicas_candidate *best,
                                  popliner_replicas_candidate *open, popliner_error *error) {
    const char *obstacle;
    popliner_status status =
        pl_replicas_find_costs(s, w, own->num_replicas, own->micro_batches, &obstacle, error);
    if (status == POPLINER_OK && s->options.pipeline != NULL && obstacle == NULL)
        return simulate(s, w, own, best, open, error);
    if (status == POPLINER_OK)
        status = take_fastest(s, w, own, open, error);
    own->step.obstacle = obstacle;
    own->step.num_micro_batches = obstacle != NULL ? s->pipeline.copies.num_micro_batches : 0;
    return status;
}

/* Finds out how much better than the best candidate the best one that is left open might be. */
static void find_gap(popliner_replicas_candidate *best, const popliner_replicas_candidate *open) {
    const int order = pl_replicas_compare(open, best);
    best->is_proven = best->is_proven && order < 0;
    if (order > 0 && best->step_cycles < UINT64_MAX)
        best->gap = pl_replicas_gap(open, best);
}

/* Gives a candidate the fastest split, which it has by the formula. */
static popliner_status give_fastest(pl_replicas_search *s, pl_replicas_walk *w,
                                    popliner_replicas_candidate *c, popliner_error *error) {
    const char *obstacle;
    popliner_status status =
        pl_replicas_find_costs(s, w, c->num_replicas, c->micro_batches, &obstacle, error);
    if (status == POPLINER_OK)
        status = find_fastest(s, w, s->num_objectives, error);
    c->plan = w->fastest;
    w->fastest = NULL;
    if (c->plan == NULL) /* no time was left */
        *c = (popliner_replicas_candidate){.num_ipus = c->num_ipus};
    return status == POPLINER_OK && c->plan != NULL ? set_parameters(s, c, error) : status;
}

/* Gives the best candidate its plan, if it does not have it, and all that belongs to it. */
static popliner_status finish(pl_replicas_search *s, pl_replicas_walk *w,
                              popliner_replicas_candidate *best,
                              const popliner_replicas_candidate *open, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (best->num_replicas > 0 && best->plan != NULL) {
        find_gap(best, open);
        status = set_parameters(s, best, error);
    } else if (best->num_replicas > 0) {
        find_gap(best, open);
        status = give_fastest(s, w, best, error);
    } else if (!s->is_stopped) {
        popliner_plan *none = NULL; /* no such pipeline exists */
        status = pl_plan_create_empty(false, &none, error);
        best->plan = none;
        best->is_proven = status == POPLINER_OK;
    }
    return status;
}

/* Finds the best number of replicas. Many come first, because they have the highest throughput most
 * often. */
static popliner_status try_numbers(pl_replicas_search *s, pl_replicas_walk *w,
                                   popliner_replicas_candidate *best,
                                   popliner_replicas_candidate *open, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    begin_walk(s, w);
    for (size_t r = s->options.total_ipus / w->num_ipus;
         status == POPLINER_OK && r > 0 && !s->is_stopped; --r) {
        popliner_replicas_candidate own = {.num_replicas = r,
                                           .micro_batches = pl_replicas_share(s, r)};
        if (own.micro_batches == 0)
            continue;
        status = try_number(s, w, &own, best, open, error);
        if (status == POPLINER_OK && own.num_replicas > 0 && pl_replicas_compare(&own, best) >= 0) {
            popliner_plan_free((popliner_plan *)best->plan);
            *best = own;
        } else {
            popliner_plan_free((popliner_plan *)own.plan);
        }
    }
    return status;
}

static void end_walk(pl_replicas_walk *w) {
    popliner_plan_free(w->fastest);
}

popliner_status pl_replicas_find(pl_replicas_search *s, size_t num_ipus,
                                 popliner_replicas_candidate *best, popliner_error *error) {
    pl_replicas_walk w = {.num_ipus = num_ipus};
    popliner_replicas_candidate open = {.num_replicas = 0};
    popliner_status status = POPLINER_OK;
    const bool fits = num_ipus <= s->num_units / s->options.chunks;
    *best = (popliner_replicas_candidate){.num_ipus = num_ipus};
    if (fits)
        status = try_numbers(s, &w, best, &open, error);
    if (status == POPLINER_OK)
        status = finish(s, &w, best, &open, error);
    end_walk(&w);
    return status;
}
