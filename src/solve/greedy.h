/* The greedy algorithm of PopLiner 1.0.0.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_GREEDY_H
#define PL_SOLVE_GREEDY_H

#include "costs/costs.h"
#include "popliner/solver.h"

/* To the letter: for at least 3, then 2, then 1 units per
 * stage, for a target of 50, 60, ... 100 % of options->max_stage_bytes, stages are filled one after
 * another with as many units as keep the peak within the target; the first attempt that places all
 * units in at most options->max_stages stages wins. Each attempt is announced to the listener.
 * Without a success the plan is INFEASIBLE and holds the stages of the last attempt, which may not
 * cover the chain and may be none. Peaks are asked for on demand.
 *
 * Of the options only these two and the listener count. cut_bytes and cycles stay 0, and there are
 * no values: this solver knows no other costs. Errors: USAGE, MEMORY, and whatever `peak`
 * returns. */
popliner_status pl_solve_greedily(size_t num_units, popliner_peak_function peak, void *user,
                                  const popliner_solver_options *options, popliner_plan *plan,
                                  popliner_error *error);

#endif
