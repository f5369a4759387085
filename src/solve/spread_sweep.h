/* pl_device_sweep where the spread of a split is limited, too.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SPREAD_SWEEP_H
#define PL_SOLVE_SPREAD_SWEEP_H

#include "solve/plan.h"
#include "solve/shared_stages.h"

/* Like pl_device_sweep, but within any filter; with a limit on the spread one sweep for each block
 * of smallest values, see solve/objective.h, and asked->max_tries are those of each. *gave_up, with
 * an empty split, if one of them did. */
popliner_status pl_spread_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error);

#endif
