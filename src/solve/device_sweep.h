/* The best split where stages share IPUs, one IPU after another: exact, and quick where few cuts
 * are between what is done and what is to come, as with two stages on each IPU.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_DEVICE_SWEEP_H
#define PL_SOLVE_DEVICE_SWEEP_H

#include "solve/plan.h"
#include "solve/shared_stages.h"

/* True if pl_device_sweep can answer: for goals other than FEWEST_STAGES. */
bool pl_device_sweep_can(const pl_problem *problem, pl_goal goal);

/* Like pl_no_goods_search, but within limits alone; pl_spread_sweep is for filters. *gave_up, with
 * an empty split, if there were too many places for cuts to remember, more than three million, or
 * if more than asked->max_tries stages were tried. When stopped, the split of the goals
 * EARLIEST_CUTS and FEWEST_CUT_BYTES is empty. Errors: MEMORY, those of the shared peaks. Cost: the
 * cuts that are at the border of the IPUs done so far can be at so many places: about units^3 for
 * two stages on each IPU, far fewer near the optimum; and for each as many as the next IPU has
 * splits. */
popliner_status pl_device_sweep(const pl_shared_search *asked, const pl_limits *limits,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error);

#endif
