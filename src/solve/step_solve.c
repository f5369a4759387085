/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_solve.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/step_search.h"

/* Units of pl_step_search: some seconds; and a part of one, for ties. */
#define MOST_WORK (UINT64_C(3) << 28)
#define WORK_FOR_TIES (UINT64_C(1) << 24)

/* Work of pl_solve_within, which finds a split to begin with in a part of a second. */
#define WORK_OF_START (UINT64_C(1) << 23)

/* The objectives that compare equally short steps. */
static const popliner_objective after_step[] = {POPLINER_OBJECTIVE_MEMORY,
                                                POPLINER_OBJECTIVE_TRAFFIC};

bool pl_step_leads(const popliner_solver_options *options) {
    return options->num_objectives > 0 && options->objectives != NULL &&
           options->objectives[0] == POPLINER_OBJECTIVE_STEP &&
           options->method != POPLINER_METHOD_GREEDY;
}

static bool knows_step(const popliner_solver_options *o) {
    return o->pipeline != NULL && o->pipeline->copies.num_micro_batches > 0;
}

/* Returns a question without further objectives about a number of stages; those without a device
 * map are placed in `ipus`[num_stages]. */
static popliner_solver_options place(const popliner_solver_options *options, size_t *ipus,
                                     size_t num_stages) {
    popliner_solver_options o = *options;
    o.objectives = after_step;
    o.num_objectives = sizeof after_step / sizeof *after_step;
    if (o.num_mapped_stages > 0)
        return o;
    for (size_t k = 0; k < num_stages; ++k)
        ipus[k] = k;
    o.device_map = ipus;
    o.num_mapped_stages = num_stages;
    return o;
}

static popliner_status check(const popliner_costs *costs, const popliner_solver_options *o,
                             popliner_error *error) {
    const char *name = PL_OPTION(o, objectives);
    popliner_status status = pl_options_check(o, popliner_costs_num_units(costs), costs, error);
    if (status != POPLINER_OK)
        return status;
    if (!knows_step(o))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: step needs the number of micro-batches of a step", name);
    if (o->num_objectives > 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: %s after step, of which ties go to less memory, then traffic; leave it "
                       "out",
                       name, pl_objective_name(o->objectives[1]));
    if (costs->graph != NULL || o->slack_percent > 0.0 || o->method != POPLINER_METHOD_AUTO)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: step is not for %s; leave it out", name,
                       costs->graph != NULL     ? "graphs"
                       : o->slack_percent > 0.0 ? "slack"
                                                : "a method");
    if (costs->choices != NULL && pl_options_share_an_ipu(o))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: step is not for several stages on an IPU that choose how they "
                       "recompute; put one there",
                       name);
    return POPLINER_OK;
}

/* Finds the fastest split, to begin with. */
static popliner_status find_fastest(const popliner_costs *costs,
                                    const popliner_solver_options *options, popliner_plan *plan,
                                    popliner_error *error) {
    static const popliner_objective fastest[] = {POPLINER_OBJECTIVE_CYCLES};
    popliner_solver_options o = *options;
    o.objectives = fastest;
    o.num_objectives = 1;
    o.without_second_proof = o.without_reasons = true;
    PL_TRY(pl_solve_within(costs, &o, WORK_OF_START, plan, error));
    if (plan->status != POPLINER_PLAN_INFEASIBLE)
        return POPLINER_OK;
    pl_plan_clear(plan); /* with more work; or for the reason why nothing fits */
    o.without_reasons = options->without_reasons;
    return pl_solve(costs, &o, plan, error);
}

/* Tries a number of stages, those of the options, from a split of them. */
static popliner_status try_number(const popliner_costs *costs,
                                  const popliner_solver_options *options,
                                  const popliner_plan *start, pl_stop *stop, uint64_t *work,
                                  pl_step_answer *best, popliner_error *error) {
    const pl_step_question question = {
        .costs = costs,
        .options = options,
        .pipeline = options->pipeline,
        /* the slowest device runs the passes of all micro-batches */
        .least_cycles = pl_multiply_or_never(options->pipeline->copies.num_micro_batches,
                                             start->values[0].bound),
        .max_cycles = best->cycles,
        .start = start,
        .stop = stop};
    pl_step_answer own;
    const popliner_status status = pl_step_search(&question, work, &own, error);
    best->bound_cycles = pl_smaller(best->bound_cycles, own.bound_cycles);
    if (own.plan == NULL || own.cycles >= best->cycles) {
        popliner_plan_free(own.plan);
        return status;
    }
    popliner_plan_free(best->plan);
    best->plan = own.plan;
    best->cycles = own.cycles;
    return status;
}

/* Tries all numbers of stages that the options admit, the most first, from the fastest splits. */
static popliner_status try_numbers(const popliner_costs *costs,
                                   const popliner_solver_options *options,
                                   const popliner_plan *fastest, pl_stop *stop,
                                   pl_step_answer *best, popliner_error *error) {
    const bool is_mapped = options->num_mapped_stages > 0;
    const size_t most = is_mapped ? options->num_mapped_stages
                                  : pl_fewer(options->num_ipus, popliner_costs_num_units(costs));
    uint64_t work = MOST_WORK;
    popliner_status status = POPLINER_OK;
    size_t *ipus = pl_new_array(most, sizeof *ipus);
    if (ipus == NULL)
        return pl_fail_memory(error, "the stages");
    *best = (pl_step_answer){.cycles = UINT64_MAX, .bound_cycles = UINT64_MAX};
    for (size_t n = most; status == POPLINER_OK && n > 0; n = is_mapped ? 0 : n - 1) {
        popliner_solver_options o = place(options, ipus, n);
        popliner_plan own = {0};
        uint64_t share = is_mapped ? work : work / 2;
        work -= share;
        o.without_reasons = true;
        if (fastest->num_stages != n)
            status = find_fastest(costs, &o, &own, error);
        const popliner_plan *start = fastest->num_stages == n ? fastest : &own;
        if (status == POPLINER_OK && start->status != POPLINER_PLAN_INFEASIBLE)
            status = try_number(costs, &o, start, stop, &share, best, error);
        pl_plan_clear(&own);
        work += share;
    }
    free(ipus);
    return status;
}

/* Gives a split that does not fit the value that was requested; none if its step is unknown. */
static popliner_status tell_step(const popliner_costs *costs,
                                 const popliner_solver_options *options, popliner_plan *plan,
                                 popliner_error *error) {
    popliner_pipeline_step step = {0};
    if (plan->num_values == 0)
        return POPLINER_OK;
    PL_TRY(pl_step_find(plan, options, options->pipeline, costs, &step, error));
    plan->num_values = step.order != NULL;
    plan->values[0] =
        (popliner_plan_value){POPLINER_OBJECTIVE_STEP, step.cycles, 0, POPLINER_PROOF_NONE};
    return POPLINER_OK;
}

popliner_status pl_step_solve(const popliner_costs *costs, const popliner_solver_options *options,
                              popliner_plan *plan, popliner_error *error) {
    pl_stop stop = pl_stop_of(options);
    pl_step_answer best = {0};
    popliner_status status = check(costs, options, error);
    if (status == POPLINER_OK)
        status = find_fastest(costs, options, plan, error);
    if (status == POPLINER_OK && plan->status == POPLINER_PLAN_INFEASIBLE)
        return tell_step(costs, options, plan, error);
    if (status != POPLINER_OK)
        return status;
    status = try_numbers(costs, options, plan, &stop, &best, error);
    if (status != POPLINER_OK || best.plan == NULL) {
        popliner_plan_free(best.plan);
        return status == POPLINER_OK
                   ? pl_fail(error, POPLINER_ERROR_INTERNAL, "no step was found for a split")
                   : status;
    }
    pl_plan_clear(plan);
    *plan = *best.plan;
    free(best.plan);
    const bool is_proven = best.bound_cycles >= best.cycles;
    plan->is_stopped = pl_stop_is_wanted(&stop) && !is_proven;
    plan->status = is_proven ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_FEASIBLE;
    plan->proof = is_proven ? POPLINER_PROOF_SEARCH : POPLINER_PROOF_NONE;
    plan->num_values = 1;
    plan->values[0] =
        (popliner_plan_value){POPLINER_OBJECTIVE_STEP, best.cycles,
                              pl_smaller(best.bound_cycles, best.cycles), plan->proof};
    return POPLINER_OK;
}

/* ---- ties, and even stages ---- */

popliner_status pl_step_break_ties(pl_search *search, popliner_error *error) {
    const pl_problem *p = search->problem;
    uint64_t work = WORK_FOR_TIES;
    popliner_plan start = {0};
    pl_step_answer found = {0};
    popliner_solver_options o = *p->options;
    if (!p->is_shared || !knows_step(&o) || !pl_objectives_include(&o, POPLINER_OBJECTIVE_CYCLES))
        return POPLINER_OK;
    popliner_status status =
        pl_plan_fill(p, &search->split, search->filter.spread_is_of_cycles, &start, error);
    const pl_order order =
        pl_order_of_map(o.pipeline, &start.stages->ipu, sizeof *start.stages, start.num_stages);
    o.objectives = after_step;
    o.num_objectives = sizeof after_step / sizeof *after_step;
    const pl_step_question question = {.costs = p->costs,
                                       .options = &o,
                                       .pipeline = o.pipeline,
                                       .max_cycles = UINT64_MAX,
                                       .start = &start,
                                       .filter = &search->filter,
                                       .stop = search->stop};
    if (status == POPLINER_OK && pl_step_obstacle(&order) == NULL)
        status = pl_step_search(&question, &work, &found, error);
    for (size_t k = 0; status == POPLINER_OK && found.plan != NULL && k < start.num_stages; ++k)
        search->split.first_units[k] = found.plan->stages[k].first_unit;
    if (status == POPLINER_OK && found.plan != NULL)
        status = pl_split_evaluate(p, &search->split, &search->values, NULL, error);
    popliner_plan_free(found.plan);
    pl_plan_clear(&start);
    return status;
}

popliner_status pl_step_of_even_stages(const popliner_plan *plan,
                                       const popliner_solver_options *options,
                                       const popliner_pipeline *pipeline,
                                       const popliner_costs *costs, uint64_t *cycles,
                                       popliner_error *error) {
    uint64_t work = 0; /* only even stages */
    pl_stop stop = pl_stop_of(options);
    pl_step_answer found = {0};
    popliner_pipeline_step step = {0};
    *cycles = 0;
    popliner_status status = pl_step_find(plan, options, pipeline, costs, &step, error);
    if (status != POPLINER_OK || step.order == NULL || plan->num_stages < 2 ||
        costs->choices != NULL)
        return status;
    size_t *ipus = pl_new_array(plan->num_stages, sizeof *ipus);
    if (ipus == NULL)
        return pl_fail_memory(error, "the stages");
    const popliner_solver_options o = place(options, ipus, plan->num_stages);
    const pl_step_question question = {.costs = costs,
                                       .options = &o,
                                       .pipeline = pipeline,
                                       .max_cycles = step.cycles - 1,
                                       .stop = &stop};
    status = pl_step_search(&question, &work, &found, error);
    if (found.plan != NULL)
        *cycles = found.cycles;
    popliner_plan_free(found.plan);
    free(ipus);
    return status;
}
