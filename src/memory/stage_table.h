/* The estimates of every stage of a chain, while their tiles are added one after another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_TABLE_H
#define PL_MEMORY_STAGE_TABLE_H

#include "memory/evaluate.h"
#include "memory/stage_details.h"

/* How stages in a pipeline are estimated. */
typedef struct pl_estimation {
    popliner_pipeline pipeline;
    pl_evaluation evaluation;       /* without a digest in PopLiner's model */
    bool is_training;               /* the profile */
    bool has_accumulators;          /* the profile, in the full model, if it trains */
    size_t max_stages;              /* of the pipeline: 1 if it stores nothing */
    bool frees[POPLINER_NUM_NEEDS]; /* see pl_pipeline_frees_originals */
    bool expects_buffers;           /* the expected estimate includes them */
    pl_need_rule rule;
} pl_estimation;

/* Returns an estimate of a tile with this layout; of what is stored, that of one copy. */
pl_need_line pl_stage_tile_need(const pl_estimation *estimation, popliner_need need,
                                const pl_overhead *layout, const pl_stage_tile *tile,
                                const pl_tile_stash *stash);

/* Returns the live peak that an estimate includes. */
static inline const pl_live_peak *
pl_stage_tile_peak(const pl_estimation *estimation, popliner_need need, const pl_stage_tile *tile) {
    return need == POPLINER_NEED_MOST ||
                   (need == POPLINER_NEED_EXPECTED && estimation->expects_buffers)
               ? &tile->buffered
               : &tile->plain;
}

/* The numbers to compute of each stage. */
typedef struct pl_table_request {
    bool needs[POPLINER_NUM_NEEDS];
    bool with_details;  /* also sums over the tiles, and copies of any schedule */
    popliner_need need; /* that is limited */
    uint64_t max_bytes; /* beyond it the need of a tile does not matter; UINT64_MAX: never */
} pl_table_request;

/* The tiles that one thread added. Zero-initialise; free with pl_stage_table_free. */
typedef struct pl_stage_table {
    pl_arrays arrays; /* own `spreads` and `allowed_end`; after a failure, sums are incomplete */
    const pl_estimation *estimation;
    size_t num_units;
    pl_table_request request;
    pl_peak_envelope largest[POPLINER_NUM_NEEDS]; /* of the wanted needs */
    pl_detail_sums *sums;                         /* only with details; owned */
    pl_need_spread *spreads;                      /* only if NEED_MOST is wanted */
    /* [num_tiles][num_intervals], of all threads, not owned; NULL: not wanted */
    pl_tile_need *tile_needs;
    /* By first unit: stages that reach this unit exceed max_bytes. */
    size_t *allowed_end;
} pl_stage_table;

/* Begins a table. Like the functions below, sets table->arrays.failed if memory is short, and does
 * nothing then. */
void pl_stage_table_begin(pl_stage_table *table, const pl_estimation *estimation, size_t num_units,
                          const pl_table_request *request);
void pl_stage_table_free(pl_stage_table *table);

/* Adds a tile with this layout to the stage first_unit ... last_unit, or ends allowed_end there. */
void pl_stage_table_add(pl_stage_table *table, size_t first_unit, size_t last_unit, size_t tile,
                        const pl_overhead *layout, const pl_stage_tile *measured,
                        const pl_tile_stash *stash);

/* Ends stages that begin earlier where later ones end, after a tile. */
void pl_stage_table_end_tile(pl_stage_table *table);

/* Adds the tiles of another table like this one. */
void pl_stage_table_merge(pl_stage_table *table, const pl_stage_table *other);

/* Completes what all tiles together tell, once they were added. */
void pl_stage_table_finish(pl_stage_table *table, size_t num_tiles);

#endif
