/* The contents of a stage meter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_METER_H
#define PL_MEMORY_STAGE_METER_H

#include "memory/popliner_model.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "pipeline/moments.h"

/* See memory/largest.h. */
typedef struct pl_candidates pl_candidates;

struct pl_stage_meter {
    const pl_chain *chain;
    size_t num_threads;
    /* Own the meter's arrays, but not the digest and candidates. After a failure, what was
     * requested is incomplete; the next call begins without. */
    pl_arrays arrays;
    pl_account account;
    pl_pass_usage pass_usage;
    bool knows_accumulators;
    bool has_accumulators;  /* the profile, if knows_accumulators */
    pl_gradients gradients; /* if it has none */
    pl_parameter_sums parameters;
    pl_digest *digest;           /* NULL: not begun yet. Owned */
    pl_popliner_meter *popliner; /* in PopLiner's model */
    pl_candidates *candidates;   /* instead of the variables; NULL: the profile has them */
    uint64_t *cut_bytes;         /* [num_units]: over the cut before each; NULL: not known yet */
    pl_moments moments;          /* of the IPUs of moments_pipeline */
    popliner_pipeline moments_pipeline;
};

/* The functions below set meter->arrays.failed if memory is short; and do nothing after that. */

/* Sets *estimation to how stages of a pipeline are estimated, which may have max_stages (NULL: no
 * pipeline, and no effects), and begins the digest for it, whose tiles may not be made yet. The
 * estimation refers to the meter. */
void pl_estimation_find(pl_stage_meter *meter, const popliner_pipeline *pipeline, size_t max_stages,
                        pl_estimation *estimation);

/* True if tiles of its digest are needed: in PopLiner's model only for what is stored. */
static inline bool pl_estimation_has_tiles(const pl_stage_meter *meter,
                                           const pl_estimation *estimation) {
    return meter->popliner == NULL || estimation->has_stash;
}

/* True if some pipeline needs live ranges that count in this way. */
static inline bool pl_stage_meter_may_need(const pl_stage_meter *meter, size_t live) {
    return (live & PL_LIVE_ACCUMULATES) == 0 ||
           (meter->pass_usage.passes.is_training && !meter->has_accumulators);
}

/* Makes all of the digest that any pipeline may need. */
void pl_stage_meter_complete(pl_stage_meter *meter);

/* Returns the number of threads that it uses. */
size_t pl_stage_meter_threads(const pl_stage_meter *meter);

/* Finds cut_bytes, unless they are known: those carried forward and backward. Cost: that of
 * pl_passes_add_tile_cuts for all tiles. */
void pl_stage_meter_find_cuts(pl_stage_meter *meter);

/* Makes all tiles of its digest that are needed and not made; false if the bounds (or NULL) stopped
 * it. */
bool pl_estimation_complete(pl_stage_meter *meter, const pl_estimation *estimation,
                            const popliner_listener *listener, pl_bounds *bounds);

/* Begins stages on one IPU, of an estimation whose tiles are made: what their tiles have is measured
 * one by one then. *question refers to the others, and its arrays are in `arrays`. */
void pl_stages_begin(pl_stage_meter *meter, const pl_estimation *estimation,
                     const popliner_interval *stages, size_t num_stages, pl_question *question,
                     pl_arrays *arrays);

/* Sets *measured to what the stages that were begun last have on a tile, and stash[num_stages],
 * which is 0 before, to what each stores. */
void pl_stages_measure_tile(pl_stage_meter *meter, pl_question *question, size_t tile,
                            pl_stage_tile *measured, pl_tile_stash *stash);

/* Asks for the largest data variables of stages on a tile that are live at a step. */
typedef struct pl_largest_query {
    uint32_t tile;
    uint32_t step;
    uint32_t first_unit;
    uint32_t last_unit;
    size_t place; /* in the results */
} pl_largest_query;

/* Lists the largest variables for each query in picked[query.place], which are empty before: by
 * size, then by number; also variables that no operation touches, or that pass through. Sorts the
 * queries. stages[num_stages], unless NULL, replace the units of all queries. Cost: for each tile
 * sorting its variables, and a pass over them for each step. */
void pl_largest_find(pl_stage_meter *meter, const pl_estimation *estimation,
                     pl_largest_query *queries, size_t count, const popliner_interval *stages,
                     size_t num_stages, pl_detail_variables *picked);

#endif
