/* Finds a conflicting set: leaves out one constraint after another, as long as the others still
 * allow no split.
 *
 * That requires that leaving out a constraint never makes a split impossible. So leaving out a
 * device map leaves open how many stages there are and where each runs; it does not put stage k on
 * IPU k. Whether another map has pairs and placements is not examined, so the map may be named
 * needlessly with these. All others of the set are needed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/infeasibility.h"

#include "base/failure.h"
#include "base/growth.h"

#include <stdlib.h>
#include <string.h>

/* Checks whether a problem has any split, whatever memory it needs. *possible is also true if the
 * search was stopped. */
static popliner_status has_split(const pl_problem *problem, const pl_stop *stop, bool *possible,
                                 bool *is_stopped, popliner_error *error) {
    pl_search search = {.problem = problem, .stop = stop};
    pl_split split = {0};
    pl_filter filter = pl_filter_without_memory(problem);
    popliner_status status = pl_search_find(&search, &filter, PL_GOAL_ANY, &split, error);
    *possible = split.num_stages > 0 || search.is_stopped;
    *is_stopped = *is_stopped || search.is_stopped;
    pl_split_clear(&split);
    pl_search_free(&search);
    return status;
}

/* The constraints, and which of them are active. */
typedef struct selection {
    const pl_problem *like; /* a problem of these costs, or NULL */
    const popliner_costs *costs;
    const popliner_solver_options *options;
    const pl_stop *stop;
    popliner_constraint *constraints; /* owned, like `active` */
    uint8_t *active;                  /* [count] */
    size_t count;
    bool is_stopped;
} selection;

/* Checks whether the active constraints allow any split, whatever memory it needs. Without the
 * device map, stages may be anywhere: pairs and placements are then also left out. */
static popliner_status is_possible(selection *s, bool *possible, popliner_error *error) {
    const bool is_anywhere = s->options->num_mapped_stages > 0 && s->active[0] == 0;
    pl_problem other = {0};
    uint8_t *active = pl_new_array(s->count, sizeof *active);
    if (active == NULL)
        return pl_fail_memory(error, "the constraints");
    for (size_t i = 0; i < s->count; ++i)
        active[i] =
            s->active[i] && !(is_anywhere && pl_constraint_of(s->constraints[i].kind)->is_of_ipu);
    popliner_status status =
        pl_problem_create_like(&other, s->like, s->costs, s->options, active, error);
    if (status == POPLINER_OK)
        status = has_split(&other, s->stop, possible, &s->is_stopped, error);
    free(active);
    pl_problem_free(&other);
    return status;
}

/* Checks whether the active constraints would allow a split if the costs forbade nothing. */
static popliner_status find_needs_costs(selection *s, bool *needs_costs, popliner_error *error) {
    popliner_solver_options options = *s->options;
    popliner_costs *costs = NULL;
    selection other = *s;
    options.ipu_weight = NULL; /* too heavy stages are also forbidden */
    popliner_status status =
        popliner_costs_create(popliner_costs_num_units(s->costs), 1, &costs, error);
    other.like = NULL;
    other.costs = costs;
    other.options = &options;
    if (status == POPLINER_OK)
        status = is_possible(&other, needs_costs, error);
    s->is_stopped = other.is_stopped;
    popliner_costs_free(costs);
    return status;
}

popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error) {
    selection s = {
        .like = problem, .costs = problem->costs, .options = problem->options, .stop = stop};
    pl_constraints list = {0};
    size_t num_needed = 0;
    popliner_status status =
        pl_constraints_list(problem->options, problem->num_units, &list, error);
    s.constraints = list.items;
    s.count = list.count;
    s.active = pl_new_array(s.count, sizeof *s.active);
    if (status == POPLINER_OK && s.active == NULL)
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;
    memset(s.active, 1, s.count);
    /* the number of IPUs is left out first: a cut or a place explains more */
    for (size_t i = 0; status == POPLINER_OK && i < s.count; ++i) {
        bool possible = false;
        s.active[i] = 0;
        status = is_possible(&s, &possible, error);
        s.active[i] = possible;
    }
    if (status == POPLINER_OK)
        status = find_needs_costs(&s, &plan->infeasibility.needs_costs, error);
    if (status != POPLINER_OK)
        goto done;
    plan->is_stopped = plan->is_stopped || s.is_stopped;
    /* the set may not be minimal, so none is reported */
    if (plan->is_stopped) {
        plan->infeasibility.obstacle = POPLINER_OBSTACLE_UNKNOWN;
        goto done;
    }
    for (size_t i = 0; i < s.count; ++i)
        if (s.active[i] != 0)
            s.constraints[num_needed++] = s.constraints[i];
    plan->infeasibility.obstacle = POPLINER_OBSTACLE_CONSTRAINTS;
    plan->infeasibility.constraints = s.constraints;
    plan->infeasibility.num_constraints = num_needed;
    s.constraints = NULL;
done:
    free(s.constraints);
    free(s.active);
    return status;
}
