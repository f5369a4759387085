/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/device_states.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/search.h"

#include <math.h>
#include <string.h>

static pl_state_rest *rest_of(const pl_device_states *s, size_t unit, size_t state) {
    return &s->rests[state * (s->problem.num_units + 1) + unit];
}

popliner_status pl_device_states_begin(pl_device_states *states, popliner_error *error) {
    pl_device_states *s = states;
    const size_t n = s->problem.num_units;
    s->rests = pl_arrays_new(&s->arrays, (n + 1) * s->num_states, sizeof *s->rests);
    s->stages = pl_arrays_new(&s->arrays, n, sizeof *s->stages);
    return s->arrays.failed ? pl_fail_memory(error, "the states of the devices") : POPLINER_OK;
}

void pl_device_states_free(pl_device_states *states) {
    pl_arrays_free(&states->arrays);
    pl_problem_free(&states->problem);
}

void pl_device_states_add(pl_device_states *states, size_t first_unit, size_t end_unit,
                          size_t later, size_t state) {
    const pl_device_states *s = states;
    const size_t n = s->problem.num_units;
    const uint64_t cut = end_unit < n ? popliner_costs_cut(s->problem.costs, end_unit) : 0;
    const uint64_t rest = rest_of(s, end_unit, later)->cut_bytes;
    const uint64_t sum = pl_add_cut_bytes(rest, cut);
    pl_state_rest *best = rest_of(s, first_unit, state);
    /* no further cut is before any later one */
    if (rest < UINT64_MAX && (sum < best->cut_bytes || (sum == best->cut_bytes && end_unit == n)))
        *best = (pl_state_rest){sum, (uint32_t)end_unit, (uint32_t)later};
}

/* Reads the split of a state; returns its values in *values. */
static popliner_status read_split(pl_device_states *s, size_t state, pl_split *split,
                                  pl_objective_values *values, popliner_error *error) {
    s->num_stages = 0;
    *values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    values->cut_bytes = rest_of(s, 0, state)->cut_bytes;
    const size_t num_ipus = s->num_ipus[state];
    for (size_t first = 0; first < s->problem.num_units;) {
        const pl_state_rest *own = rest_of(s, first, state);
        popliner_plan_stage *stage = &s->stages[s->num_stages++];
        if (!pl_split_append(split, first))
            return pl_fail_memory(error, "the stages");
        *stage = (popliner_plan_stage){.first_unit = first, .last_unit = own->end - 1};
        pl_objective_values_add(values, s->complete(s->user, state, own->later, stage));
        state = own->later;
        first = own->end;
    }
    values->num_ipus = num_ipus;
    return POPLINER_OK;
}

/* Finds the split with the fewest cut bytes, for that goal, else one on the fewest devices, and its
 * stages. A pl_oracle. */
static popliner_status find(pl_search *search, const pl_limits *limits, pl_goal goal,
                            pl_split *split, popliner_error *error) {
    pl_device_states *s = search->oracle_user;
    const size_t n = s->problem.num_units;
    const pl_filter filter = {.limits = *limits, .max_spread = UINT64_MAX};
    size_t best = 0;
    if (s->prepare != NULL)
        PL_TRY(s->prepare(s->user, limits, error));
    for (size_t i = 0; i < (n + 1) * s->num_states; ++i)
        s->rests[i].cut_bytes = UINT64_MAX;
    rest_of(s, n, 0)->cut_bytes = 0;
    for (size_t unit = n; unit-- > 0;) {
        search->is_stopped = search->is_stopped || pl_stop_is_wanted(search->stop);
        if (search->is_stopped)
            return POPLINER_OK;
        s->add_stages(s->user, limits, unit);
    }
    for (size_t state = 1; state < s->num_states; ++state) {
        const uint64_t cut_bytes = rest_of(s, 0, state)->cut_bytes;
        const uint64_t least = rest_of(s, 0, best)->cut_bytes;
        const size_t fewest = s->num_ipus[best];
        const bool is_fewer = best == 0 || s->num_ipus[state] < fewest;
        if (cut_bytes < UINT64_MAX && cut_bytes <= limits->max_cut_bytes &&
            s->num_ipus[state] <= limits->max_ipus && s->num_ipus[state] <= s->max_ipus &&
            (goal == PL_GOAL_FEWEST_CUT_BYTES && cut_bytes != least ? cut_bytes < least : is_fewer))
            best = state;
    }
    if (best == 0)
        return POPLINER_OK;
    PL_TRY(read_split(s, best, split, &search->found, error));
    return pl_filter_admits(&filter, &search->found)
               ? POPLINER_OK
               : pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "a split over the states of devices is above its limits; please report "
                         "this");
}

/* Copies the stages of the last split, and its totals. */
static popliner_status take_split(const pl_device_states *s, const pl_objective_values *values,
                                  popliner_plan *plan, popliner_error *error) {
    plan->stages = pl_new_array(s->num_stages, sizeof *plan->stages);
    if (plan->stages == NULL)
        return pl_fail_memory(error, "the stages of the plan");
    memcpy(plan->stages, s->stages, s->num_stages * sizeof *plan->stages);
    plan->num_stages = s->num_stages;
    plan->num_units = s->problem.num_units;
    plan->infeasibility.obstacle = POPLINER_OBSTACLE_NONE;
    pl_plan_total(plan, values, false);
    return POPLINER_OK;
}

popliner_status pl_device_states_optimise(pl_device_states *states, const pl_stop *stop,
                                          const popliner_objective *objectives,
                                          size_t num_objectives, popliner_plan *plan,
                                          popliner_error *error) {
    const pl_filter limits = pl_filter_of_limits();
    pl_search search = {.problem = &states->problem,
                        .stop = stop,
                        .filter = limits,
                        .oracle = find,
                        .oracle_user = states};
    pl_split split = {0};
    popliner_status status = pl_search_find(&search, &limits, PL_GOAL_ANY, &search.split, error);
    if (status == POPLINER_OK && search.split.num_stages > 0)
        status = pl_search_optimise(&search, objectives, num_objectives, plan, error);
    plan->is_stopped = search.is_stopped;
    plan->status = search.split.num_stages == 0 ? POPLINER_PLAN_INFEASIBLE
                   : search.is_stopped          ? POPLINER_PLAN_FEASIBLE
                                                : POPLINER_PLAN_OPTIMAL;
    plan->proof = search.is_stopped ? POPLINER_PROOF_NONE : POPLINER_PROOF_DYNAMIC_PROGRAM;
    if (status == POPLINER_OK && search.split.num_stages > 0) {
        const pl_stop never = {INFINITY, NULL, NULL, NULL}; /* a split is known */
        search.stop = &never;
        search.is_stopped = false;
        status = find(&search, &search.filter.limits, PL_GOAL_ANY, &split, error);
        if (status == POPLINER_OK)
            status = take_split(states, &search.found, plan, error);
    }
    pl_split_clear(&split);
    pl_search_free(&search);
    return status;
}
