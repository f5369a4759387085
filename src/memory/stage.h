/* The memory of the stages of a chain: of single ones, and of several on one IPU.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_H
#define PL_MEMORY_STAGE_H

#include "base/bounds.h"
#include "memory/popliner_model.h"
#include "memory/stage_details.h"
#include "popliner/error.h"

/* ---- The meter ------------------------------------------------------------------------------- */

/* See memory/largest.h. */
typedef struct pl_candidates pl_candidates;

/* Measures stages of one profile, from digests that it makes once: not for several threads at once.
 * Refers to the chain that it was made from, and to what that refers to. Owned by the caller; free
 * with pl_stage_meter_free. */
typedef struct pl_stage_meter {
    const pl_chain *chain;
    size_t num_threads;
    /* Own the meter's arrays, but not the tiles of its digest. After a failure, what was
     * requested is incomplete; the next call begins without. */
    pl_arrays arrays;
    pl_account account;
    pl_pass_usage pass_usage;
    bool has_accumulators;  /* the profile, in the full model, if it trains */
    pl_gradients gradients; /* if it has none */
    pl_digest digest;
    pl_popliner_meter *popliner; /* in PopLiner's model */
    pl_candidates *candidates;   /* instead of the variables; NULL: the profile has them */
    uint64_t *cut_bytes;         /* [num_units]: over the cut before each; NULL: not known yet */
    uint64_t *trained_bytes;     /* [sets of units]: see pl_trained_parameters; like cut_bytes */
} pl_stage_meter;

/* Creates a meter that makes its digests on num_threads (0: one per processor). Errors: USAGE if
 * the variables are not loaded; MEMORY. */
popliner_status pl_stage_meter_create(const pl_chain *chain, size_t num_threads,
                                      pl_stage_meter **meter, popliner_error *error);
void pl_stage_meter_free(pl_stage_meter *meter);

/* See pl_popliner_meter_remember_peaks; nothing in the full model. */
void pl_stage_meter_remember_peaks(pl_stage_meter *meter, bool remembers);

/* The functions below set meter->arrays.failed if memory is short; and do nothing after that. */

/* Sets *estimation to how stages of a pipeline are estimated, which may have max_stages (NULL: no
 * pipeline, and no effects). Refers to the meter, the tiles of whose digest may not be made yet. */
void pl_estimation_find(pl_stage_meter *meter, const popliner_pipeline *pipeline, size_t max_stages,
                        pl_estimation *estimation);

/* Makes all tiles of the digest that are not made; false if the bounds (or NULL) stopped it. */
bool pl_stage_meter_complete(pl_stage_meter *meter, const popliner_listener *listener,
                             pl_bounds *bounds);

/* Finds cut_bytes and trained_bytes, unless they are known. False without memory. */
bool pl_stage_meter_find_sums(pl_stage_meter *meter);

/* Asks for the largest data variables of stages on a tile that are live at a step. */
typedef struct pl_largest_query {
    uint32_t tile;
    uint32_t step;
    const popliner_interval *stages;
    size_t num_stages;
    pl_detail_variables *picked; /* the result, empty before */
} pl_largest_query;

/* Lists the largest variables for each query: by size, then by number; also variables that no
 * operation touches, or that pass through. Of a meter that has a digest, whose live ranges count in
 * a way (memory/digest.h). Sorts the queries. Cost: for each tile sorting its variables, and a pass
 * over them for each step. */
void pl_largest_find(pl_stage_meter *meter, size_t live, pl_largest_query *queries, size_t count);

/* ---- Stages ---------------------------------------------------------------------------------- */

/* Frees the arrays; zero-initialise the memory before it is first measured. */
void pl_stage_memory_clear(popliner_stage_memory *memory);

/* Measures stages on one IPU, whose units must not overlap, in a pipeline (NULL: none, and no
 * effects), with what they store in the number of copies for the position of each: into *memory,
 * whose arrays are created or reused, and summed up into *detail; not into either that is NULL.
 * popliner/stage.h says what counts.
 *
 * Each copy of what a stage stores is rounded up on its own, and then multiplied.
 *
 * Errors: MEMORY. Cost: that of making a digest, for the first pipeline of its kind; then O(lists
 * of all tiles), and for *detail O(variables of the fullest tile * log). In PopLiner's model
 * O(touched variables + tiles * (steps + vertex types)). */
popliner_status pl_stage_measure(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                 const popliner_interval *stages, size_t num_stages,
                                 popliner_stage_memory *memory, popliner_stage_detail *detail,
                                 popliner_error *error);

/* Sets *peak_bytes to the largest need of a tile in pl_stage_measure. */
popliner_status pl_stage_measure_peak(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                      popliner_need need, const popliner_interval *stages,
                                      size_t num_stages, uint64_t *peak_bytes,
                                      popliner_error *error);

/* Measures every operation of the chain separately and sets *sums, [operations], which the caller
 * frees: parts and total over all tiles. Operations of one debug context all have the result of the
 * first, as in PopLiner. Reports progress to the listener. Errors: MEMORY. Cost: one pass over the
 * variables, and that of pl_stage_measure for each context. */
popliner_status pl_operation_sums_measure(pl_stage_meter *meter, const popliner_listener *listener,
                                          popliner_stage_detail **sums, popliner_error *error);

/* ---- All stages ------------------------------------------------------------------------------ */

/* Zero-initialise: for no pipeline, and all estimates. */
typedef struct pl_interval_options {
    popliner_pipeline pipeline;
    unsigned needs; /* bits of the estimates to compute; 0: all, and the sums over all tiles */
    const popliner_listener *listener; /* gets progress; may be NULL */
    pl_bounds *bounds;                 /* or NULL */
} pl_interval_options;

/* Measures every stage of the meter's chain, in its memory model, in every position of pipelines of
 * any length, into *details, which the caller frees; see pl_stage_details_costs and
 * pl_stage_details_get. Without the largest variables: see pl_stage_details_find_variables. The
 * meter keeps its digests; the result does not depend on its number of threads. `options` may be
 * NULL.
 *
 * Errors: MEMORY; STOPPED. Cost: that of making a digest (memory/digest.h), unless the meter has
 * it, then for each tile O(units * lists of the tile + units^2), and for each part its segments,
 * shared among the threads. In PopLiner's model O(units^2 * tiles * steps + units * touches), and
 * the digest, for the cuts. See pl_stage_details_are_large for the memory, each thread takes
 * O(units + steps) more. Only the calling thread calls the listener. */
popliner_status pl_intervals_measure(pl_stage_meter *meter, const pl_interval_options *options,
                                     pl_stage_details **details, popliner_error *error);

/* Finds the largest variables of each fullest tile of details that a meter measured, with all
 * estimates, unless they have them. Errors: MEMORY. Cost: that of pl_largest_find. */
popliner_status pl_stage_details_find_variables(pl_stage_details *details, pl_stage_meter *meter,
                                                popliner_error *error);

#endif
