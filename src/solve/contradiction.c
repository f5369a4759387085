/* One constraint after another is left out, as long as what is left is impossible, too.
 *
 * That finds a smallest contradiction only if nothing becomes impossible when a constraint goes. So
 * to leave out a device map is to leave open how many stages there are and where each runs, not to
 * put stage k on IPU k: pairs and placements still hold, wherever the IPUs are. Stages share an IPU
 * then only for the sake of these, since fewer stages on an IPU never need more.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/contradiction.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/unit_groups.h"

#include <stdlib.h>
#include <string.h>

/* Whether there is any split of a problem, whatever memory it needs; also if that is not found
 * out. */
static popliner_status has_split(const pl_problem *problem, const pl_stop *stop, bool *possible,
                                 bool *is_stopped, popliner_error *error) {
    pl_search search = {.problem = problem, .stop = stop};
    pl_split split = {0};
    pl_filter filter = pl_filter_without_memory(problem);
    popliner_status status = pl_search_find(&search, &filter, PL_GOAL_ANY, &split, NULL, error);
    *possible = split.num_stages > 0 || search.is_stopped;
    *is_stopped = *is_stopped || search.is_stopped;
    pl_split_clear(&split);
    pl_search_free(&search);
    return status;
}

/* Constraints, of which some are active. */
typedef struct selection {
    const pl_problem *like; /* of these costs; NULL if there is none */
    const popliner_costs *costs;
    const popliner_solver_options *options;
    const pl_stop *stop;
    popliner_constraint *constraints; /* owned, like the next */
    uint8_t *active;                  /* [count] */
    size_t count;
    bool is_stopped;
} selection;

/* is_possible for a device map that is left out. */
static popliner_status is_possible_anywhere(selection *s, bool *possible, popliner_error *error) {
    pl_unit_groups groups = {0};
    pl_problem free_problem = {0};
    uint8_t *others = pl_new_array(s->count, sizeof *others); /* than pairs and placements */
    popliner_status status = others == NULL
                                 ? pl_fail_memory(error, "the constraints")
                                 : pl_unit_groups_find(&groups, popliner_costs_num_units(s->costs),
                                                       s->constraints, s->active, s->count, error);
    *possible = false;
    if (status != POPLINER_OK || groups.is_impossible)
        goto done;
    for (size_t i = 0; i < s->count; ++i)
        others[i] = !pl_constraint_of(s->constraints[i].kind)->is_of_ipu && s->active[i];
    status = pl_problem_create_like(&free_problem, s->like, s->costs, s->options, others, error);
    if (status != POPLINER_OK)
        goto done;
    pl_unit_groups_separate(&groups, &free_problem);
    status = has_split(&free_problem, s->stop, possible, &s->is_stopped, error);
    if (status == POPLINER_OK && *possible && groups.has_several && !s->is_stopped)
        status =
            pl_unit_groups_try(&groups, &free_problem, s->stop, possible, &s->is_stopped, error);
done:
    free(others);
    pl_problem_free(&free_problem);
    pl_unit_groups_free(&groups);
    return status;
}

/* Whether the active constraints allow any split, whatever memory it needs. */
static popliner_status is_possible(selection *s, bool *possible, popliner_error *error) {
    pl_problem other = {0};
    if (s->options->num_mapped_stages > 0 && s->active[0] == 0)
        return is_possible_anywhere(s, possible, error);
    popliner_status status =
        pl_problem_create_like(&other, s->like, s->costs, s->options, s->active, error);
    if (status == POPLINER_OK)
        status = has_split(&other, s->stop, possible, &s->is_stopped, error);
    pl_problem_free(&other);
    return status;
}

/* Whether the active constraints would allow a split of costs that forbid nothing. */
static popliner_status find_needs_costs(selection *s, bool *needs_costs, popliner_error *error) {
    popliner_solver_options options = *s->options;
    popliner_costs *costs = NULL;
    selection other = *s;
    options.ipu_weight = NULL; /* what is too heavy is forbidden, too */
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
    popliner_status status = pl_constraints_list(problem->costs, problem->options, &list, error);
    s.constraints = list.items;
    s.count = list.count;
    s.active = pl_new_array(s.count, sizeof *s.active);
    if (status == POPLINER_OK && s.active == NULL)
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;
    memset(s.active, 1, s.count);
    /* a cut or a place is more telling than the number of IPUs, which is tried first */
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
    /* what was not looked at may not be needed: nothing is told then */
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
