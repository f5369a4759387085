/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/infeasibility.h"
#include "solve/choosing.h"
#include "solve/places.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Marks the units that stages with these ends have. */
static void cover(const pl_stage_ends *ends, size_t num_units, uint8_t *units) {
    size_t num_done = 0;
    memset(units, 0, num_units);
    for (size_t first = 0; first < num_units; ++first) {
        size_t end = ends->to[first];
        while (end > first && !pl_stage_ends_have(ends, first, end))
            --end;
        for (num_done = pl_more(num_done, first); num_done < end; ++num_done)
            units[num_done] = 1;
    }
}

/* Finds the smallest need and largest limit of each unit alone, over all places that the
 * constraints allow, in pipelines of any allowed length. */
static popliner_status find_sizes(const pl_problem *p, uint64_t *min_bytes, uint64_t *limit_bytes,
                                  uint8_t *ok, popliner_error *error) {
    const pl_filter free_filter = pl_filter_without_memory();
    const pl_filter filter = pl_filter_of_limits();
    pl_ways_through ways = {.problem = p, .limits = &free_filter.limits};
    popliner_status status = pl_places_lay(&ways.places, p, &filter.limits, p->max_stages, error);
    if (status == POPLINER_OK)
        status = pl_ways_find(&ways, error);
    memset(min_bytes, 0xff, p->num_units * sizeof *min_bytes);
    for (size_t i = 0; status == POPLINER_OK && i < ways.places.count; ++i) {
        const pl_place *at = &ways.places.items[i];
        const size_t place = pl_problem_place(p, at->stage + at->to_end, at->stage);
        const uint64_t limit = pl_limits_peak(p, &filter.limits, pl_problem_ipu(p, at->stage));
        cover(&ways.ends[i], p->num_units, ok);
        for (size_t unit = 0; unit < p->num_units; ++unit) {
            if (ok[unit] == 0)
                continue;
            min_bytes[unit] = pl_smaller(min_bytes[unit], pl_problem_peak(p, unit, unit, place));
            limit_bytes[unit] = pl_larger(limit_bytes[unit], limit);
        }
    }
    pl_ways_free(&ways);
    return status;
}

/* Finds an IPU that could hold the unit that is too large in its allowed places. */
static void find_fitting_ipu(const pl_problem *p, popliner_infeasibility *why) {
    pl_filter filter = pl_filter_of_limits();
    size_t count = p->is_mapped ? p->options->num_mapped_stages : p->max_stages;
    for (size_t stage = 0; stage < count; ++stage)
        if (pl_limits_peak(p, &filter.limits, pl_problem_ipu(p, stage)) >= why->unit_bytes) {
            why->obstacle = POPLINER_OBSTACLE_PLACE;
            why->fitting_ipu = pl_problem_ipu(p, stage);
            return;
        }
}

/* Finds a unit that is too large in every place that it may have. */
static popliner_status find_large_unit(const pl_problem *p, popliner_plan *plan,
                                       popliner_error *error) {
    popliner_infeasibility *why = &plan->infeasibility;
    pl_arrays arrays = {0};
    uint64_t *min_bytes = pl_arrays_new(&arrays, p->num_units, sizeof *min_bytes);
    uint64_t *limit_bytes = pl_arrays_new(&arrays, p->num_units, sizeof *limit_bytes);
    uint8_t *ok = pl_arrays_new(&arrays, p->num_units, sizeof *ok);
    popliner_status status = arrays.failed ? pl_fail_memory(error, "the sizes of the units")
                                           : find_sizes(p, min_bytes, limit_bytes, ok, error);
    why->obstacle = POPLINER_OBSTACLE_CAPACITY;
    for (size_t unit = 0; status == POPLINER_OK && unit < p->num_units; ++unit) {
        /* a unit that must not be a stage alone has no size */
        if (min_bytes[unit] == POPLINER_PEAK_FORBIDDEN || min_bytes[unit] <= limit_bytes[unit])
            continue;
        why->obstacle = POPLINER_OBSTACLE_UNIT;
        why->unit = unit;
        why->unit_bytes = min_bytes[unit];
        why->limit_bytes = limit_bytes[unit];
        find_fitting_ipu(p, why);
        break;
    }
    pl_arrays_free(&arrays);
    return status;
}

/* Sets the bounds of the smallest mem_per_tile from the best effort. If no IPU has its own
 * limit, the largest peak suffices and its bound is needed. */
static void take_enough_bytes(const pl_problem *problem, const popliner_plan *plan,
                              uint64_t best_effort_bound, popliner_infeasibility *why) {
    const uint64_t limit_bytes = problem->options->mem_per_tile;
    why->enough_bytes_bound = limit_bytes < UINT64_MAX ? limit_bytes + 1 : 0;
    if (problem->options->num_ipu_limits > 0)
        return;
    why->enough_bytes = plan->peak_bytes;
    if (best_effort_bound > why->enough_bytes_bound)
        why->enough_bytes_bound = best_effort_bound;
}

/* Finds the split that is least above the limit of an IPU among those that the other constraints
 * allow, or the best known one. If no IPU has its own limit, that is the smallest peak, and *bound
 * a lower bound of it. */
static popliner_status find_best_effort(const pl_problem *problem, const pl_stop *stop,
                                        popliner_plan *plan, uint64_t *bound,
                                        popliner_error *error) {
    /* a shortfall is what an IPU is above its limit plus the largest one, which must be finite */
    const uint64_t any_limit = (uint64_t)1 << 62;
    const popliner_objective excess = problem->options->num_ipu_limits > 0
                                          ? POPLINER_OBJECTIVE_HEADROOM
                                          : POPLINER_OBJECTIVE_MEMORY;
    pl_problem limited = *problem;
    if (limited.largest_limit_bytes >= POPLINER_PEAK_FORBIDDEN - 1)
        limited.largest_limit_bytes = any_limit;
    pl_search search = {.problem = &limited,
                        .stop = stop,
                        .filter = pl_filter_without_memory(),
                        .most_work = PL_WORK_FOR_REASONS};
    /* with shared IPUs, a first good split is found much sooner than by a sweep without limits */
    popliner_status status =
        pl_search_find(&search, &search.filter, PL_GOAL_ANY, &search.split, error);
    if (status == POPLINER_OK && search.split.num_stages > 0) {
        status = pl_search_optimise(&search, &excess, 1, plan, error);
        *bound = plan->values[0].bound;
        const pl_filter any = pl_filter_without_memory();
        pl_chooser_limit(problem, &any.limits, false);
        if (status == POPLINER_OK)
            status = pl_plan_fill(problem, &search.split, pl_spread_is_of_cycles(problem->options),
                                  plan, error);
        /* minimised by the excess alone, but reported with the requested objectives */
        const popliner_objective *asked = pl_objectives_of(problem->options, &plan->num_values);
        search.filter.spread_is_of_cycles = pl_spread_is_of_cycles(problem->options);
        for (size_t i = 0; i < plan->num_values; ++i)
            plan->values[i] = (popliner_plan_value){asked[i], pl_search_value(&search, asked[i]), 0,
                                                    POPLINER_PROOF_NONE};
    }
    plan->is_stopped = plan->is_stopped || (search.is_stopped && pl_stop_is_wanted(stop));
    pl_search_free(&search);
    return status;
}

popliner_status pl_explain_infeasibility(const pl_problem *problem, const pl_stop *stop,
                                         popliner_plan *plan, popliner_error *error) {
    uint64_t bound = 0;
    plan->status = POPLINER_PLAN_INFEASIBLE;
    popliner_status status = find_best_effort(problem, stop, plan, &bound, error);
    if (status == POPLINER_OK && plan->num_stages == 0 && plan->is_stopped)
        plan->infeasibility.obstacle = POPLINER_OBSTACLE_UNKNOWN;
    else if (status == POPLINER_OK && plan->num_stages == 0)
        status = pl_contradiction_find(problem, stop, plan, error);
    bool is_possible = plan->num_stages > 0;
    /* if the costs forbid every split, or the search was stopped, there are no remedies */
    if (status != POPLINER_OK || (!is_possible && plan->infeasibility.num_constraints == 0)) {
        plan->infeasibility.has_all_remedies = !plan->is_stopped;
        return status;
    }
    if (is_possible)
        status = find_large_unit(problem, plan, error);
    if (status == POPLINER_OK && is_possible)
        take_enough_bytes(problem, plan, bound, &plan->infeasibility);
    if (status == POPLINER_OK)
        status = pl_enough_find(problem, stop, plan, error);
    plan->is_stopped = plan->is_stopped || pl_stop_is_wanted(stop);
    if (status == POPLINER_OK && !plan->is_stopped)
        status = pl_remedies_find(problem, stop, plan, error);
    return status;
}
