/* A request that is prepared for solving or evaluating, and the costs of its stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_TASK_H
#define PL_ANALYSIS_TASK_H

#include "analysis/analysis_data.h"
#include "popliner/solver.h"
#include "solve/options.h"

/* ---- Task ------------------------------------------------------------------------------------ */

/* The purpose of a request. */
typedef enum pl_purpose { PL_TO_SOLVE, PL_TO_TELL_COSTS, PL_TO_EVALUATE } pl_purpose;

/* Zero-initialise; free with pl_task_free. */
typedef struct pl_task {
    popliner_analysis *analysis;
    popliner_memory_model model;
    popliner_pipeline pipeline; /* its max_stages is undefined */
    popliner_need need;
    bool is_greedy;
    size_t num_stages; /* of an evaluation; else the largest number of a split */
    const popliner_chain *chain;
    const pl_stage_details *stages; /* stored ones, or NULL */
    pl_owned_options solver;
    popliner_listener listener; /* the solver's: calls the recorder */
    pl_recorder recorder;       /* warnings about the request */
    popliner_costs *costs;
    unsigned ways; /* bits that stages choose from; 0: all */
    /* the caller's recomputation of each stage; NULL: the request's */
    const popliner_recompute *given;
    popliner_variants_answer *chosen; /* the choices of the stages; NULL: there was no choice */
} pl_task;

void pl_task_free(pl_task *task);

/* Prepares the request. Measures a single split directly if the variables are loaded. Errors: those
 * of popliner_analysis_chain; USAGE. */
popliner_status pl_task_begin(pl_task *task, popliner_analysis *analysis,
                              const popliner_request *request, pl_purpose what,
                              popliner_error *error);

/* Keeps all stages, measured in detail, if such a pipeline was requested before; t->stages are these
 * then. Errors: those of pl_intervals_measure. */
popliner_status pl_task_keep_if_again(pl_task *t, popliner_error *error);

/* Measures all stages, unless they were measured before, into task->costs. Stages above max_bytes
 * are not measured further; without such a limit, measures all pipelines that may be enough if
 * nothing fits. Errors: MEMORY; those of a meter. */
popliner_status pl_task_measure_costs(pl_task *task, uint64_t max_bytes, popliner_error *error);

/* Warns of a profile that trains while no schedule says what a pipeline stores, or that has no
 * accumulators although a pipeline will have them: the listener once, each certificate. Errors:
 * MEMORY. */
popliner_status pl_task_tell_training(pl_task *task, popliner_error *error);

/* ---- Recomputation --------------------------------------------------------------------------- */

/* Adds the cycles that stages recompute in the pipeline to the cycles of a table, if they do; see
 * pl_unit_cycles_add_forward. Errors: MEMORY. O(steps + units^2). */
popliner_status pl_recomputing_add_cycles(const popliner_chain *chain,
                                          const popliner_pipeline *pipeline, popliner_costs *costs,
                                          popliner_error *error);

/* Checks that the time of recomputation is known. Errors: USAGE if the profile has no cycles, or
 * trains and has none of a forward pass; MEMORY. O(steps). */
popliner_status pl_recomputing_check(const popliner_chain *chain, popliner_error *error);

/* Lists the recomputations to measure, of those that stages choose from (bits; 0: all), in
 * measured[PL_NUM_RECOMPUTES]; returns their number. With NONE, STANDARD is not measured: it never
 * needs less, and takes as many cycles. If the pipeline stores nothing, one is enough. */
size_t pl_recomputing_ways(const popliner_pipeline *pipeline, unsigned ways,
                           popliner_recompute *measured);

#endif
