/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void popliner_plan_clear(popliner_plan *plan) {
    if (plan == NULL)
        return;
    free(plan->stages);
    *plan = (popliner_plan){0};
}

void pl_split_clear(pl_split *split) {
    free(split->first_units);
    *split = (pl_split){0};
}

bool pl_split_append(pl_split *split, size_t first_unit) {
    void *items = split->first_units;
    if (!pl_reserve(&items, &split->capacity, split->num_stages + 1, sizeof *split->first_units))
        return false;
    split->first_units = items;
    split->first_units[split->num_stages++] = first_unit;
    return true;
}

/* The last unit of a stage of the split. */
static size_t last_unit_of(const popliner_costs *costs, const pl_split *split, size_t stage) {
    return (stage + 1 < split->num_stages ? split->first_units[stage + 1]
                                          : popliner_costs_num_units(costs)) -
           1;
}

uint64_t pl_split_peak(const popliner_costs *costs, const pl_split *split) {
    uint64_t largest_bytes = 0;
    for (size_t stage = 0; stage < split->num_stages; ++stage) {
        uint64_t bytes = popliner_costs_peak(costs, split->first_units[stage],
                                             last_unit_of(costs, split, stage));
        if (bytes > largest_bytes)
            largest_bytes = bytes;
    }
    return largest_bytes;
}

uint64_t pl_split_cut_bytes(const popliner_costs *costs, const pl_split *split) {
    uint64_t bytes = 0;
    for (size_t stage = 1; stage < split->num_stages; ++stage)
        bytes = pl_add_cut_bytes(bytes, popliner_costs_cut(costs, split->first_units[stage]));
    return bytes;
}

popliner_status pl_plan_fill(const popliner_costs *costs, const pl_split *split,
                             popliner_plan *plan, popliner_error *error) {
    plan->stages = pl_new_array(split->num_stages, sizeof *plan->stages);
    if (plan->stages == NULL)
        return pl_fail_memory(error, "the stages of the plan");
    plan->num_stages = split->num_stages;
    for (size_t stage = 0; stage < split->num_stages; ++stage) {
        size_t first = split->first_units[stage];
        size_t last = last_unit_of(costs, split, stage);
        plan->stages[stage] =
            (popliner_plan_stage){first, last, popliner_costs_peak(costs, first, last)};
    }
    plan->peak_bytes = pl_split_peak(costs, split);
    plan->cut_bytes = pl_split_cut_bytes(costs, split);
    return POPLINER_OK;
}

popliner_status pl_plan_check(const popliner_costs *costs, const popliner_plan *plan,
                              size_t max_stages, uint64_t expected_peak_bytes,
                              uint64_t expected_cut_bytes, popliner_error *error) {
    size_t num_units = popliner_costs_num_units(costs);
    if (plan->num_stages > max_stages)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "the solver made %zu stages where %zu are allowed", plan->num_stages,
                       max_stages);
    size_t next_unit = 0;
    uint64_t peak_bytes = 0;
    uint64_t cut_bytes = 0;
    for (size_t i = 0; i < plan->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        if (stage->first_unit != next_unit || stage->last_unit < stage->first_unit ||
            stage->last_unit >= num_units)
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "stage %zu of the solver is units %zu to %zu, but unit %zu of %zu is "
                           "the next to be placed",
                           i, stage->first_unit, stage->last_unit, next_unit, num_units);
        uint64_t bytes = popliner_costs_peak(costs, stage->first_unit, stage->last_unit);
        if (bytes == POPLINER_PEAK_FORBIDDEN || bytes != stage->peak_bytes)
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "stage %zu of the solver, units %zu to %zu, must not be or has another "
                           "peak than the solver says",
                           i, stage->first_unit, stage->last_unit);
        if (bytes > peak_bytes)
            peak_bytes = bytes;
        if (i > 0)
            cut_bytes = pl_add_cut_bytes(cut_bytes, popliner_costs_cut(costs, stage->first_unit));
        next_unit = stage->last_unit + 1;
    }
    if (next_unit != num_units)
        return pl_fail(error, POPLINER_ERROR_INTERNAL, "the solver placed %zu units of %zu",
                       next_unit, num_units);
    if (peak_bytes != plan->peak_bytes || peak_bytes != expected_peak_bytes)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "the solver says that the peak is %" PRIu64 " bytes, its stages say %" PRIu64
                       ", the bound is %" PRIu64,
                       plan->peak_bytes, peak_bytes, expected_peak_bytes);
    if (cut_bytes != plan->cut_bytes || cut_bytes != expected_cut_bytes)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "the solver says that its cuts carry %" PRIu64
                       " bytes, its stages say %" PRIu64 ", the bound is %" PRIu64,
                       plan->cut_bytes, cut_bytes, expected_cut_bytes);
    return POPLINER_OK;
}
