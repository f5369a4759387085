/* The time of a step of a pipeline: its passes, in the order of a schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_H
#define PL_SOLVE_STEP_H

#include "costs/costs.h"
#include "pipeline/order.h"
#include "popliner/solver.h"

/* Simulates a step of the plan with the micro-batches and the schedule of the pipeline. `costs`
 * (NULL: none) say what of each stage is forward, else a third is. Unknown if the pipeline says no
 * number of micro-batches, or for the reason in step->obstacle. Errors: MEMORY. O(stages *
 * micro-batches). */
popliner_status pl_step_find(const popliner_plan *plan, const popliner_solver_options *options,
                             const popliner_pipeline *pipeline, const popliner_costs *costs,
                             popliner_pipeline_step *step, popliner_error *error);

/* Returns the order of stages that go round num_ipus devices or there and back; without devices if
 * they do neither. O(num_stages). */
pl_order pl_step_order(const popliner_pipeline *pipeline, const popliner_plan_stage *stages,
                       size_t num_stages, size_t num_ipus);

/* Returns why no step of an order can be simulated, whatever the cycles of its stages; NULL if one
 * can. */
const char *pl_step_obstacle(const pl_order *order);

/* The passes of a stage, in cycles. */
typedef struct pl_step_parts {
    uint64_t forward;
    uint64_t backward; /* without `weights` */
    uint64_t weights;  /* the gradients of weights, if they are a pass of their own */
} pl_step_parts;

/* Divides the cycles of a stage, of which link_cycles are for its cuts, into its passes. `costs` as
 * above. */
pl_step_parts pl_step_passes(const popliner_plan_stage *stage, uint64_t link_cycles,
                             const popliner_solver_options *options,
                             const popliner_pipeline *pipeline, const popliner_costs *costs);

#endif
