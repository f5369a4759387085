/* The time of a step of a pipeline: its passes, in the order of a schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_H
#define PL_SOLVE_STEP_H

#include "base/growth.h"
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

/* Returns why no step of an order can be simulated, whatever the cycles of its stages; NULL if one
 * can. */
const char *pl_step_obstacle(const pl_order *order);

/* A pass of a step. Passes are numbered from 1; 0 is none. */
typedef struct pl_step_node {
    uint32_t part;   /* its stage * PL_NUM_PASS_KINDS + its kind */
    uint32_t before; /* the one before it on its device */
    uint32_t needs;  /* the one of another stage, or kind, that it waits for */
} pl_step_node;

/* The passes of a step, each after those that it waits for. */
typedef struct pl_step_graph {
    size_t num_stages;
    size_t num_passes;
    pl_step_node *nodes; /* [num_passes] */
    uint64_t *ends;      /* [num_passes + 1]: when each ended in the last run */
} pl_step_graph;

/* Makes the graph of an order without an obstacle, in arrays that `arrays` owns. Errors: MEMORY.
 * O(passes). */
popliner_status pl_step_graph_create(pl_step_graph *graph, const pl_order *order, pl_arrays *arrays,
                                     popliner_error *error);

/* Returns when the last pass ends, with these cycles of each stage's passes, as pl_step_node has
 * them. O(passes). */
uint64_t pl_step_run(const pl_step_graph *graph, const uint64_t *cycles);

/* Counts the passes of each stage and kind on the longest path of the last run. O(passes). */
void pl_step_count_path(const pl_step_graph *graph, uint32_t *counts);

/* Like pl_step_find, and leaves the passes with their ends in `graph`, in arrays that `arrays`
 * owns; none if the step is unknown. */
popliner_status pl_step_simulate(const popliner_plan *plan, const popliner_solver_options *options,
                                 const popliner_pipeline *pipeline, const popliner_costs *costs,
                                 popliner_pipeline_step *step, pl_step_graph *graph,
                                 pl_arrays *arrays, popliner_error *error);

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

/* Divides the cycles of all stages of a plan, for pl_step_run: cycles[num_stages *
 * PL_NUM_PASS_KINDS]. */
void pl_step_divide(const popliner_plan *plan, const popliner_solver_options *options,
                    const popliner_pipeline *pipeline, const popliner_costs *costs,
                    uint64_t *cycles);

/* Sets the cycles of a stage for pl_step_run. */
static inline void pl_step_set_cycles(uint64_t *cycles, size_t stage, pl_step_parts parts) {
    cycles[stage * PL_NUM_PASS_KINDS + PL_PASS_FORWARD] = parts.forward;
    cycles[stage * PL_NUM_PASS_KINDS + PL_PASS_BACKWARD] = parts.backward;
    cycles[stage * PL_NUM_PASS_KINDS + PL_PASS_WEIGHTS] = parts.weights;
}

#endif
