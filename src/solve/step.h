/* The time of a step of a pipeline: its passes, in the order of a schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_H
#define PL_SOLVE_STEP_H

#include "costs/costs.h"
#include "popliner/solver.h"

/* Simulates a step of the plan with the micro-batches and the schedule of the pipeline. `costs`
 * (NULL: none) say what of each stage is forward, else a third is. Unknown if the pipeline says no
 * number of micro-batches, or for the reason in step->obstacle. Errors: MEMORY. O(stages * micro-batches). */
popliner_status pl_step_find(const popliner_plan *plan, const popliner_solver_options *options,
                             const popliner_pipeline *pipeline, const popliner_costs *costs,
                             popliner_pipeline_step *step, popliner_error *error);

#endif
