/* The Pareto front of two objectives.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/solver.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/options.h"
#include "solve/search.h"

#include <stdlib.h>

typedef struct pl_pareto {
    popliner_pareto summary; /* first: it is what the caller has */
    popliner_plan **plans;   /* [summary.num_points], owned */
    size_t capacity;
} pl_pareto;

/* Limits the search to smaller values of the second objective than the last point has. These cost
 * more of the first objective. False if no value is smaller. */
static bool ask_for_less(pl_solving *solving, pl_filter *filter, const popliner_plan *last) {
    popliner_objective second = solving->objectives[1];
    uint64_t value = last->values[1].value;
    /* a device map fixes the number of IPUs */
    if (value == 0 || (value == 1 && second == POPLINER_OBJECTIVE_IPUS) ||
        (second == POPLINER_OBJECTIVE_HEADROOM &&
         value <= pl_problem_largest_lack(&solving->problem)) ||
        (pl_objective_of(second)->is_mapped && solving->problem.is_mapped))
        return false;
    *filter = pl_filter_limited(filter, second, value - 1);
    solving->search.known_bounds[solving->objectives[0]] =
        last->status == POPLINER_PLAN_OPTIMAL ? last->values[0].value + 1 : last->values[0].bound;
    return true;
}

static popliner_status find_points(pl_solving *solving, pl_pareto *pareto, popliner_error *error) {
    pl_filter filter = solving->search.filter;
    size_t *count = &pareto->summary.num_points;
    popliner_status status = POPLINER_OK;
    bool may_be_more = true;
    while (status == POPLINER_OK && may_be_more) {
        popliner_plan *plan = calloc(1, sizeof *plan);
        solving->search.filter = filter;
        if (plan == NULL ||
            !pl_grow(&pareto->plans, &pareto->capacity, *count + 1, sizeof(popliner_plan *)))
            status = pl_fail_memory(error, "the Pareto front");
        else
            status = pl_solving_find(solving, plan, error);
        may_be_more = status == POPLINER_OK && plan->num_stages > 0;
        if (may_be_more)
            pareto->plans[(*count)++] = plan;
        else
            popliner_plan_free(plan);
        may_be_more =
            may_be_more && ask_for_less(solving, &filter, plan) && !solving->search.is_stopped;
    }
    pareto->summary.is_stopped = solving->search.is_stopped;
    return status;
}

/* Drops unproven points that a later point beats: later points always have less of the second
 * objective. */
static void drop_dominated(pl_pareto *pareto) {
    size_t num_kept = 0;
    for (size_t i = 0; i < pareto->summary.num_points; ++i) {
        while (num_kept > 0 &&
               pareto->plans[num_kept - 1]->values[0].value >= pareto->plans[i]->values[0].value)
            popliner_plan_free(pareto->plans[--num_kept]);
        pareto->plans[num_kept++] = pareto->plans[i];
    }
    pareto->summary.num_points = num_kept;
}

static void summarise(pl_pareto *pareto, const pl_problem *problem) {
    popliner_pareto *summary = &pareto->summary;
    summary->is_complete = !summary->is_stopped;
    for (size_t i = 0; i < summary->num_points; ++i)
        summary->is_complete =
            summary->is_complete && pareto->plans[i]->status == POPLINER_PLAN_OPTIMAL;
    drop_dominated(pareto);
    for (size_t i = 0; i < summary->num_points; ++i)
        pl_plan_turn_headrooms(problem, pareto->plans[i]);
    summary->plans = (const popliner_plan *const *)pareto->plans;
    for (size_t i = 0; i < summary->num_points; ++i)
        pareto->plans[i]->num_units = problem->num_units;
}

/* Checks the options that popliner_solve accepts and a Pareto front does not. */
static popliner_status check(const popliner_solver_options *options, popliner_error *error) {
    if (options->method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: the greedy algorithm has no objectives; use another one",
                       PL_OPTION(options, method));
    if (options->num_objectives == 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: a Pareto front needs two, but only %s is given",
                       PL_OPTION(options, objectives), pl_objective_name(options->objectives[0]));
    if (options->slack_percent > 0.0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: %g; expected 0, because a Pareto front is exact",
                       PL_OPTION(options, slack_percent), options->slack_percent);
    return POPLINER_OK;
}

popliner_status popliner_pareto_solve(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      popliner_pareto **pareto, popliner_error *error) {
    popliner_solver_options own;
    popliner_listener listener;
    pl_solving solving = {0};
    *pareto = NULL;
    popliner_status status = pl_solver_options_take(options, NULL, &own, &listener, error);
    if (status == POPLINER_OK) {
        own.objectives = pl_objectives_of(&own, &own.num_objectives);
        pl_solver_options_complete(&own, costs);
        status = pl_options_check(&own, popliner_costs_num_units(costs), costs, error);
    }
    if (status == POPLINER_OK)
        status = check(&own, error);
    if (status != POPLINER_OK)
        return status;
    pl_pareto *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the Pareto front");
    status = pl_solving_begin(&solving, costs, &own, error);
    if (status == POPLINER_OK) {
        made->summary.objectives[0] = solving.objectives[0];
        made->summary.objectives[1] = solving.objectives[1];
        status = find_points(&solving, made, error);
    }
    if (status == POPLINER_OK)
        summarise(made, &solving.problem);
    pl_solving_end(&solving);
    if (status != POPLINER_OK) {
        popliner_pareto_free(&made->summary);
        return status;
    }
    *pareto = &made->summary;
    return POPLINER_OK;
}

void popliner_pareto_free(popliner_pareto *callers) {
    pl_pareto *pareto = (pl_pareto *)callers;
    if (pareto == NULL)
        return;
    for (size_t i = 0; i < pareto->summary.num_points; ++i)
        popliner_plan_free(pareto->plans[i]);
    free(pareto->plans);
    free(pareto);
}
