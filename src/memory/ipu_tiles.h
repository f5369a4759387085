/* The memory of several stages on one IPU, from sums that are found once for all of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_IPU_TILES_H
#define PL_MEMORY_IPU_TILES_H

#include "memory/stage.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"
#include "popliner/stage.h"

/* The sums of all tiles, by the sets of units that count them. For one thread at a time. */
typedef struct pl_ipu_tiles pl_ipu_tiles;

/* Finds the sums for pipelines like this one, in the full model, on num_threads (0: one per
 * processor). They refer to the meter, which must live as long. Free with pl_ipu_tiles_free.
 * Errors: MEMORY. Cost: two passes over the variables, and O((vertex types + sets) * tiles). */
popliner_status pl_ipu_tiles_create(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                    size_t num_threads, pl_ipu_tiles **tiles,
                                    popliner_error *error);
void pl_ipu_tiles_free(pl_ipu_tiles *tiles);

/* True if the sums hold for a pipeline: copies and the calibration may differ. */
bool pl_ipu_tiles_serve(const pl_ipu_tiles *tiles, const popliner_pipeline *pipeline);

/* Returns the largest need of a tile in pl_stage_measure_ipu for at least two stages. Cost: O(sets
 * of units + tiles * (sets and segments of a tile, see pl_tile_meter)). */
uint64_t pl_ipu_tiles_peak(pl_ipu_tiles *tiles, const popliner_pipeline *pipeline,
                           popliner_need need, const popliner_interval *stages, size_t num_stages);

#endif
