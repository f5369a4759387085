/* Lower bounds of the objectives of all splits whose stages share IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/places.h"
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"

#include <stdlib.h>

/* No split. */
#define NONE UINT64_MAX

size_t pl_num_on_ipu(const pl_problem *problem, size_t stage) {
    size_t count = 0;
    for (size_t other = 0; other < problem->options->num_mapped_stages; ++other)
        count += problem->first_on_ipu[other] == problem->first_on_ipu[stage];
    return count;
}

uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const pl_limits *limits, const popliner_interval *stage,
                       size_t num_stages_on_ipu) {
    const size_t num_stages = problem->options->num_mapped_stages;
    const size_t number = num_stages - stage->stages_to_end;
    if (pl_objective_is_of_cycles(objective, false))
        return pl_problem_cycles(problem, number, stage->first_unit, stage->last_unit);
    if (problem->chooser != NULL)
        return pl_chooser_part(problem, limits, stage, num_stages_on_ipu);
    const popliner_interval placed = {stage->first_unit, stage->last_unit,
                                      pl_problem_place(problem, num_stages, number)};
    if (num_stages_on_ipu == 1)
        return popliner_costs_peak(problem->costs, placed.first_unit, placed.last_unit,
                                   placed.stages_to_end);
    pl_peak_parts parts = pl_costs_peak_parts(problem->costs, &placed);
    /* the largest of several numbers is at least their mean */
    return parts.own_bytes + parts.other_bytes / num_stages_on_ipu;
}

/* ---- the mean of the IPUs ---- */

/* Finds the least sum of what the IPUs need for all stages, in splits within the limits; NONE if
 * there are none, 0 if it was stopped. */
static popliner_status least_sum(const pl_problem *p, const pl_limits *limits,
                                 popliner_objective objective, const pl_stop *stop, uint64_t *sum,
                                 popliner_error *error) {
    const size_t num_stages = p->options->num_mapped_stages;
    const size_t width = p->num_units + 1;
    pl_ways_through ways = {.problem = p, .limits = limits, .stop = stop};
    uint64_t *sums = pl_new_array((num_stages + 1) * width, sizeof *sums);
    popliner_status status = sums == NULL ? pl_fail_memory(error, "the bounds of the search")
                                          : pl_ways_find(&ways, error);
    const bool is_known = status == POPLINER_OK && !ways.is_stopped;
    for (size_t i = 0; is_known && i < (num_stages + 1) * width; ++i)
        sums[i] = i == 0 ? 0 : NONE;
    for (size_t i = 0; is_known && i < num_stages * width; ++i) {
        const size_t stage = i / width;
        const size_t first = i % width;
        const size_t count = pl_num_on_ipu(p, stage);
        const pl_stage_ends *ends = &ways.ends[stage];
        if (sums[i] == NONE || first == p->num_units)
            continue;
        for (size_t end = ends->from[first]; end < ends->to[first]; ++end) {
            const popliner_interval own = {first, end - 1, num_stages - stage};
            uint64_t *after = &sums[(stage + 1) * width + end];
            if (pl_stage_ends_have(ends, first, end))
                *after = pl_smaller(
                    *after,
                    pl_add_cut_bytes(sums[i], pl_least_load(p, objective, limits, &own, count)));
        }
    }
    *sum = is_known ? sums[(num_stages + 1) * width - 1] : 0;
    free(sums);
    pl_ways_free(&ways);
    return status;
}

/* ---- the fewest cut bytes ---- */

static popliner_status bound_traffic(const pl_shared_search *asked, const pl_limits *limits,
                                     uint64_t known, uint64_t *bound, pl_split *hint,
                                     popliner_error *error) {
    bool is_stopped = false;
    popliner_status status = pl_dynamic_program(asked->problem, limits, PL_GOAL_FEWEST_CUT_BYTES,
                                                asked->stop, hint, &is_stopped, error);
    if (status == POPLINER_OK && hint->num_stages > 0)
        *bound = pl_smaller(known, pl_split_cut_bytes(asked->problem, hint));
    else if (status == POPLINER_OK && !is_stopped)
        *bound = known;
    return status;
}

popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known, uint64_t *bound,
                                     pl_split *hint, popliner_error *error) {
    const pl_problem *p = asked->problem;
    uint64_t sum;
    *bound = 0;
    if (pl_objective_of(objective)->goal == PL_GOAL_FEWEST_CUT_BYTES)
        return bound_traffic(asked, &filter->limits, known, bound, hint, error);
    if (pl_objective_of(objective)->kind != PL_OBJECTIVE_LARGEST || known == 0 ||
        p->max_stages < p->min_stages)
        return POPLINER_OK;
    const pl_filter better =
        known == NONE ? *filter : pl_filter_limited(filter, objective, known - 1);
    PL_TRY(least_sum(p, &better.limits, objective, asked->stop, &sum, error));
    *bound = sum == NONE ? known : pl_smaller(known, sum / p->num_ipus + (sum % p->num_ipus > 0));
    return POPLINER_OK;
}
