/* The greedy search of PopLiner 1.0.0.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/options.h"

#include <inttypes.h>

typedef struct greedy {
    size_t num_units;
    popliner_peak_function peak;
    void *user;
    popliner_plan *plan; /* has room for max_stages stages */
    size_t max_stages;
} greedy;

/* Fills one stage from first_unit on: first min_units units, or one unit if fewer are left; then
 * unit by unit while the peak is within the target. *fits: true if the stage has any. */
static popliner_status fill_stage(const greedy *search, size_t first_unit, size_t min_units,
                                  double target_bytes, popliner_plan_stage *stage, bool *fits,
                                  popliner_error *error) {
    *fits = false;
    size_t last_unit = first_unit;
    if (search->num_units - first_unit >= min_units)
        last_unit = first_unit + min_units - 1;
    for (; last_unit < search->num_units; ++last_unit) {
        uint64_t peak_bytes;
        popliner_status status =
            pl_ask_peak(search->peak, search->user, first_unit, last_unit, &peak_bytes, error);
        if (status != POPLINER_OK)
            return status;
        if (peak_bytes == POPLINER_PEAK_FORBIDDEN || (double)peak_bytes > target_bytes)
            break;
        *stage = (popliner_plan_stage){
            .first_unit = first_unit, .last_unit = last_unit, .peak_bytes = peak_bytes};
        *fits = true;
    }
    return POPLINER_OK;
}

/* Makes one attempt, which replaces the stages of the plan. *placed: true if it placed all
 * units. */
static popliner_status attempt(const greedy *search, size_t min_units, double target_bytes,
                               bool *placed, popliner_error *error) {
    popliner_plan *plan = search->plan;
    plan->num_stages = 0;
    plan->peak_bytes = 0;
    *placed = false;
    size_t next_unit = 0;
    while (!*placed && plan->num_stages < search->max_stages) {
        popliner_plan_stage *stage = &plan->stages[plan->num_stages];
        bool fits;
        popliner_status status =
            fill_stage(search, next_unit, min_units, target_bytes, stage, &fits, error);
        if (status != POPLINER_OK || !fits)
            return status;
        stage->ipu = plan->num_stages++;
        if (stage->peak_bytes > plan->peak_bytes)
            plan->peak_bytes = stage->peak_bytes;
        next_unit = stage->last_unit + 1;
        *placed = next_unit == search->num_units;
    }
    return POPLINER_OK;
}

popliner_status pl_solve_greedily(size_t num_units, popliner_peak_function peak, void *user,
                                  const popliner_solver_options *options, popliner_plan *plan,
                                  popliner_error *error) {
    popliner_solver_options own = POPLINER_SOLVER_OPTIONS_INIT;
    if (options != NULL)
        own = *options;
    popliner_solver_options_complete(&own, num_units, SIZE_MAX, false);
    if (num_units == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "num_units 0: a chain needs at least one unit");
    popliner_status status = pl_options_check(&own, num_units, NULL, error);
    if (status != POPLINER_OK)
        return status;

    greedy search = {num_units, peak, user, plan,
                     own.num_ipus < num_units ? own.num_ipus : num_units};
    plan->stages = pl_new_array(search.max_stages, sizeof *plan->stages);
    if (plan->stages == NULL)
        return pl_fail_memory(error, "the stages of the plan");

    /* PopLiner 1.0.0 multiplies by these, with rounding: that can decide at the last byte */
    static const double proportions[] = {0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
    static const int percents[] = {50, 60, 70, 80, 90, 100};
    bool placed = false;
    for (size_t min_units = 3; min_units >= 1 && !placed; --min_units) {
        for (size_t i = 0; i < sizeof percents / sizeof *percents && !placed; ++i) {
            double target_bytes = (double)own.mem_per_tile * proportions[i];
            pl_tell(own.listener, POPLINER_LEVEL_INFO,
                    "Targeting tile capacity: %" PRIu64 " KB (%d%%) - minimum layers: %zu...",
                    (uint64_t)(target_bytes / 1024.0), percents[i], min_units);
            status = attempt(&search, min_units, target_bytes, &placed, error);
            if (status != POPLINER_OK) {
                pl_plan_clear(plan);
                return status;
            }
        }
    }
    plan->num_ipus = plan->num_stages;
    plan->status = placed ? POPLINER_PLAN_FEASIBLE : POPLINER_PLAN_INFEASIBLE;
    return POPLINER_OK;
}
