/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"

/* True if a split is better for the goal than the best one so far. */
static bool is_better(pl_goal goal, const pl_split *split, const pl_objective_values *values,
                      const pl_split *best, const pl_objective_values *best_values) {
    if (best->num_stages == 0)
        return true;
    return goal == PL_GOAL_FEWEST_CUT_BYTES ? values->cut_bytes < best_values->cut_bytes
                                            : pl_split_compare(split, best) < 0;
}

/* Sweeps one window after another. */
static popliner_status sweep_windows(const pl_shared_search *asked, const pl_filter *filter,
                                     pl_split *best, pl_search_result *result, bool *gave_up,
                                     popliner_error *error) {
    pl_windows windows = PL_WINDOWS_INIT;
    pl_objective_values best_values = {0};
    pl_split split = {0};
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && !windows.is_over) {
        pl_limits window = pl_windows_limits(&windows, filter->max_spread, filter);
        pl_objective_values values = {0};
        pl_split_clear(&split);
        status = pl_device_sweep(asked, &window, &split, result, gave_up, error);
        if (status != POPLINER_OK || result->is_stopped || *gave_up)
            break;
        if (split.num_stages > 0)
            status = pl_split_evaluate(asked->problem, &split, &values, NULL, error);
        if (status != POPLINER_OK)
            break;
        bool helps =
            split.num_stages > 0 && is_better(asked->goal, &split, &values, best, &best_values);
        if (helps &&
            pl_objective_values_spread(&values, filter->spread_is_of_cycles) > filter->max_spread) {
            pl_windows_narrow(&windows, filter->max_spread,
                              filter->spread_is_of_cycles ? values.cycles : values.peak_bytes);
            continue;
        }
        if (helps) {
            pl_split_move(best, &split);
            best_values = values;
            if (asked->goal == PL_GOAL_ANY)
                break;
        }
        pl_windows_skip(&windows, filter->max_spread);
    }
    result->bound_bytes = best->num_stages > 0 ? best_values.cut_bytes : 0;
    if (status != POPLINER_OK || result->is_stopped || *gave_up)
        pl_split_clear(best);
    pl_split_clear(&split);
    return status;
}

popliner_status pl_spread_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error) {
    const pl_limits *only = pl_filter_only_limits(filter);
    return only != NULL ? pl_device_sweep(asked, only, split, result, gave_up, error)
                        : sweep_windows(asked, filter, split, result, gave_up, error);
}
