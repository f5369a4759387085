/* A request, made ready for what is asked, and the costs of its stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_TASK_H
#define PL_ANALYSIS_TASK_H

#include "analysis/analysis_data.h"
#include "popliner/solver.h"
#include "solve/options.h"

/* ---- Task ------------------------------------------------------------------------------------ */

/* What a request is for. */
typedef enum pl_purpose { PL_TO_SOLVE, PL_TO_TELL_COSTS, PL_TO_EVALUATE } pl_purpose;

/* Zero-initialise; free with pl_task_free. */
typedef struct pl_task {
    popliner_analysis *analysis;
    popliner_memory_model model;
    popliner_pipeline pipeline; /* its max_stages mean nothing */
    popliner_need need;
    bool is_greedy;
    size_t num_stages; /* of an evaluation; else most of a split */
    const popliner_chain *chain;
    const pl_stage_details *stages; /* those that were stored, or NULL */
    pl_owned_options solver;
    popliner_listener listener; /* the solver's: tells the recorder */
    pl_recorder recorder;       /* of all that is told of the request */
    popliner_costs *costs;
    unsigned ways;                    /* bits: what stages choose from; 0: all */
    const popliner_recompute *given;  /* the caller's, what each stage recomputes; NULL: as one */
    popliner_variants_answer *chosen; /* what each stage chose to; NULL: nothing was chosen */
} pl_task;

void pl_task_free(pl_task *task);

/* Makes the request ready. A single split is measured where the variables are there already.
 * Errors: those of popliner_analysis_chain; USAGE. */
popliner_status pl_task_begin(pl_task *task, popliner_analysis *analysis,
                              const popliner_request *request, pl_purpose what,
                              popliner_error *error);

/* Measures all stages, if they were not before, into task->costs. Those that are above max_bytes
 * are not measured further; without such a limit, all pipelines are measured that may be enough
 * when nothing fits. Errors: MEMORY; those of a meter. */
popliner_status pl_task_measure_costs(pl_task *task, uint64_t max_bytes, popliner_error *error);

/* Warns of a profile that trains while no schedule says what a pipeline keeps, or that was
 * taken without accumulators that a pipeline will have: the listener
 * once, each certificate. Errors: MEMORY. */
popliner_status pl_task_tell_training(pl_task *task, popliner_error *error);

/* The largest limit of any IPU. */
uint64_t pl_task_largest_limit(const popliner_solver_options *options);

/* ---- Recomputing ----------------------------------------------------------------------------- */

/* What recomputing costs in the pipelines of an analysis, and which ways there are. */

/* Adds to the cycles of a table what its stages compute once more in the pipeline, if they do; see
 * pl_unit_cycles_add_forward. Errors: MEMORY. O(steps + units^2). */
popliner_status pl_recomputing_add_cycles(const popliner_chain *chain,
                                          const popliner_pipeline *pipeline, popliner_costs *costs,
                                          popliner_error *error);

/* Whether it is known what recomputing takes. Errors: USAGE where the profile tells no cycles, or
 * trains and has none of a forward pass; MEMORY. O(steps). */
popliner_status pl_recomputing_check(const popliner_chain *chain, popliner_error *error);

/* The ways that are to be measured of those that stages choose from (bits; 0: all), into
 * measured[PL_NUM_RECOMPUTES]; returns how many. With NONE, STANDARD need not be: it never needs
 * less, and takes as many cycles. Without a pipeline that keeps anything one is enough. */
size_t pl_recomputing_ways(const popliner_pipeline *pipeline, unsigned ways,
                           popliner_recompute *measured);

#endif
