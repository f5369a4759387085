/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/infeasibility.h"
#include "solve/choosing.h"
#include "solve/places.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The smallest need and largest limit of each unit alone, over all places that the constraints
 * allow. */
typedef struct unit_sizes {
    uint64_t *min_bytes;   /* [units] */
    uint64_t *limit_bytes; /* [units] */
} unit_sizes;

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

/* Adds the places of the units in pipelines of num_stages stages, or, if their number does not
 * matter, of at most num_stages. */
static popliner_status add_places(const pl_problem *p, size_t num_stages, unit_sizes *sizes,
                                  popliner_error *error) {
    pl_filter free_filter = pl_filter_without_memory(p);
    pl_filter filter = pl_filter_of_limits(p);
    pl_problem of_length = *p;
    pl_ways_through ways = {.problem = &of_length, .limits = &free_filter.limits};
    uint8_t *ok = pl_new_array(p->num_units, sizeof *ok);
    of_length.max_stages = num_stages;
    if (p->depends_on_end || p->is_mapped)
        of_length.min_stages = num_stages;
    popliner_status status =
        ok == NULL ? pl_fail_memory(error, "the places of the units")
                   : pl_places_lay(&ways.places, &of_length, &filter.limits, num_stages, error);
    if (status == POPLINER_OK)
        status = pl_ways_find(&ways, error);
    for (size_t i = 0; status == POPLINER_OK && i < ways.places.count; ++i) {
        const pl_place *at = &ways.places.items[i];
        const size_t place = pl_problem_place(p, at->stage + at->to_end, at->stage);
        uint64_t limit = pl_limits_peak(p, &filter.limits, pl_problem_ipu(p, at->stage));
        cover(&ways.ends[i], p->num_units, ok);
        for (size_t unit = 0; unit < p->num_units; ++unit) {
            if (ok[unit] == 0)
                continue;
            uint64_t bytes = pl_problem_peak(p, unit, unit, place);
            if (bytes < sizes->min_bytes[unit])
                sizes->min_bytes[unit] = bytes;
            if (limit > sizes->limit_bytes[unit])
                sizes->limit_bytes[unit] = limit;
        }
    }
    free(ok);
    pl_ways_free(&ways);
    return status;
}

/* True if a unit may still be too large: not if a place that fits it was found, nor if it must not
 * be a stage alone. */
static bool is_open(const pl_problem *p, size_t unit, const unit_sizes *sizes) {
    size_t to_end = 1;
    if (sizes->min_bytes[unit] <= sizes->limit_bytes[unit])
        return false;
    while (to_end < p->num_places &&
           pl_problem_peak(p, unit, unit, to_end) == POPLINER_PEAK_FORBIDDEN)
        ++to_end;
    return pl_problem_peak(p, unit, unit, to_end) != POPLINER_PEAK_FORBIDDEN;
}

/* Adds places until no unit can be too large, or all places were added. */
static popliner_status find_places(const pl_problem *p, const pl_stop *stop, unit_sizes *sizes,
                                   bool *is_stopped, popliner_error *error) {
    size_t num_stages = p->depends_on_end ? p->min_stages : p->max_stages;
    popliner_status status = POPLINER_OK;
    size_t unit = 0; /* the first unit that may be too large */
    while (status == POPLINER_OK && num_stages <= p->max_stages && !*is_stopped) {
        while (unit < p->num_units && !is_open(p, unit, sizes))
            ++unit;
        if (unit == p->num_units)
            break;
        status = add_places(p, num_stages++, sizes, error);
        *is_stopped = *is_stopped || pl_stop_is_wanted(stop);
    }
    return status;
}

/* Finds an IPU that could hold the unit that is too large in its allowed places. */
static void find_fitting_ipu(const pl_problem *p, popliner_infeasibility *why) {
    pl_filter filter = pl_filter_of_limits(p);
    size_t count = p->is_mapped ? p->options->num_mapped_stages : p->max_stages;
    for (size_t stage = 0; stage < count; ++stage)
        if (pl_limits_peak(p, &filter.limits, pl_problem_ipu(p, stage)) >= why->unit_bytes) {
            why->obstacle = POPLINER_OBSTACLE_PLACE;
            why->fitting_ipu = pl_problem_ipu(p, stage);
            return;
        }
}

/* Finds a unit that is too large in every place that it may have. */
static popliner_status find_large_unit(const pl_problem *p, const pl_stop *stop,
                                       popliner_plan *plan, popliner_error *error) {
    popliner_infeasibility *why = &plan->infeasibility;
    pl_arrays arrays = {0};
    unit_sizes sizes = {pl_arrays_new(&arrays, p->num_units, sizeof(uint64_t)),
                        pl_arrays_new(&arrays, p->num_units, sizeof(uint64_t))};
    popliner_status status = POPLINER_OK;
    bool is_same_everywhere = !p->depends_on_ipu && !p->depends_on_end;
    uint64_t least_bytes = UINT64_MAX;
    pl_filter filter = pl_filter_of_limits(p);
    if (arrays.failed) {
        status = pl_fail_memory(error, "the sizes of the units");
        goto done;
    }
    for (size_t stage = 0; stage < (p->is_mapped ? p->options->num_mapped_stages : p->max_stages);
         ++stage)
        least_bytes =
            pl_smaller(least_bytes, pl_limits_peak(p, &filter.limits, pl_problem_ipu(p, stage)));
    for (size_t unit = 0; unit < p->num_units; ++unit) {
        const uint64_t bytes = p->depends_on_end ? UINT64_MAX : pl_problem_peak(p, unit, unit, 1);
        /* what the smallest IPU can hold fits wherever it is */
        const bool is_known = is_same_everywhere || bytes <= least_bytes;
        sizes.min_bytes[unit] = is_known ? bytes : UINT64_MAX;
        sizes.limit_bytes[unit] = is_known ? least_bytes : 0;
    }
    if (!is_same_everywhere)
        status = find_places(p, stop, &sizes, &plan->is_stopped, error);
    why->obstacle = POPLINER_OBSTACLE_UNKNOWN; /* until all places were tried */
    if (status != POPLINER_OK || plan->is_stopped)
        goto done;
    why->obstacle = POPLINER_OBSTACLE_CAPACITY;
    for (size_t unit = 0; unit < p->num_units; ++unit) {
        /* a unit that must not be a stage alone has no size */
        if (sizes.min_bytes[unit] == POPLINER_PEAK_FORBIDDEN ||
            sizes.min_bytes[unit] <= sizes.limit_bytes[unit])
            continue;
        why->obstacle = POPLINER_OBSTACLE_UNIT;
        why->unit = unit;
        why->unit_bytes = sizes.min_bytes[unit];
        why->limit_bytes = sizes.limit_bytes[unit];
        find_fitting_ipu(p, why);
        break;
    }
done:
    pl_arrays_free(&arrays);
    return status;
}

/* Finds the fewest IPUs that suffice, up to the number of units. */
static popliner_status find_enough_stages(const pl_problem *problem, const pl_stop *stop,
                                          popliner_plan *plan, popliner_error *error) {
    popliner_solver_options options = *problem->options;
    pl_problem other = {0};
    pl_search search = {.problem = &other, .stop = stop};
    pl_split split = {0};
    if (problem->is_mapped)
        return POPLINER_OK;
    options.num_ipus = problem->num_units;
    const bool is_cut_short = problem->depends_on_end && problem->num_places < options.num_ipus;
    if (is_cut_short)
        options.num_ipus = problem->num_places;
    popliner_status status = pl_problem_create(&other, problem->costs, &options, NULL, error);
    if (status == POPLINER_OK) {
        pl_filter filter = pl_filter_of_limits(&other);
        status = pl_search_find(&search, &filter, PL_GOAL_FEWEST_STAGES, &split, error);
        plan->infeasibility.enough_stages = split.num_stages;
        plan->is_stopped = plan->is_stopped || search.is_stopped;
    }
    if (status == POPLINER_OK && split.num_stages > 0) {
        pl_search_free(&search);
        pl_problem_free(&other);
        search = (pl_search){0};
        other = (pl_problem){0};
        options.num_ipus = split.num_stages;
        status = pl_problem_create(&other, problem->costs, &options, NULL, error);
        if (status == POPLINER_OK && pl_problem_check(&other, &(popliner_error){0}) != POPLINER_OK)
            plan->infeasibility.enough_stages = 0;
    }
    plan->infeasibility.is_longer_unknown = is_cut_short && plan->infeasibility.enough_stages == 0;
    pl_split_clear(&split);
    pl_search_free(&search);
    pl_problem_free(&other);
    return status;
}

/* Finds the smallest mem_per_tile that suffices, as far as time allows. The known bounds are in
 * *why. */
static popliner_status find_enough_bytes(const pl_problem *problem, const pl_stop *stop,
                                         popliner_infeasibility *why, popliner_error *error) {
    pl_search search = {.problem = problem, .stop = stop, .most_work = PL_WORK_FOR_REASONS};
    pl_split split = {0};
    pl_filter filter = pl_filter_of_limits(problem);
    uint64_t bound = why->enough_bytes_bound;
    uint64_t enough = why->enough_bytes; /* 0: unknown */
    uint64_t middle = enough > 0 ? bound + (enough - bound) / 2 : POPLINER_PEAK_FORBIDDEN - 1;
    popliner_status status = POPLINER_OK;
    while (enough == 0 || bound < enough) {
        pl_objective_values values = {0};
        filter.limits.plain_limit_bytes = middle;
        status = pl_search_find(&search, &filter, PL_GOAL_ANY, &split, error);
        if (status == POPLINER_OK && split.num_stages > 0)
            status = pl_split_evaluate(problem, &split, &values, NULL, error);
        if (status != POPLINER_OK || search.is_stopped || (split.num_stages == 0 && enough == 0))
            break;
        if (split.num_stages > 0)
            enough = values.peak_bytes >= bound && values.peak_bytes < middle ? values.peak_bytes
                                                                              : middle;
        else
            bound = middle + 1;
        pl_split_clear(&split);
        middle = bound + (enough - bound) / 2;
    }
    why->enough_bytes = enough;
    why->enough_bytes_bound = enough > 0 ? bound : 0;
    pl_split_clear(&split);
    pl_search_free(&search);
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
                        .filter = pl_filter_without_memory(problem),
                        .most_work = PL_WORK_FOR_REASONS};
    /* with shared IPUs, a first good split is found much sooner than by a sweep without limits */
    popliner_status status =
        pl_search_find(&search, &search.filter, PL_GOAL_ANY, &search.split, error);
    if (status == POPLINER_OK && search.split.num_stages > 0) {
        status = pl_search_optimise(&search, &excess, 1, plan, error);
        *bound = plan->values[0].bound;
        const pl_filter any = pl_filter_without_memory(problem);
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
        status = find_large_unit(problem, stop, plan, error);
    if (status == POPLINER_OK)
        status = find_enough_stages(problem, stop, plan, error);
    if (status == POPLINER_OK && is_possible) {
        take_enough_bytes(problem, plan, bound, &plan->infeasibility);
        /* otherwise both bounds come from the best effort, and more time would not improve them */
        if (problem->options->num_ipu_limits > 0)
            status = find_enough_bytes(problem, stop, &plan->infeasibility, error);
        plan->is_stopped = plan->is_stopped || pl_stop_is_wanted(stop);
    }
    if (status == POPLINER_OK && !plan->is_stopped)
        status = pl_remedies_find(problem, stop, plan, error);
    return status;
}
