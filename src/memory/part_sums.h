/* Sums over all tiles, of stages and of single operations, all at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PART_SUMS_H
#define PL_MEMORY_PART_SUMS_H

#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "model/operations.h"
#include "popliner/error.h"

/* Sums over all tiles. */
typedef struct pl_part_sums {
    uint64_t part_bytes[POPLINER_NUM_PARTS];
    uint64_t total_bytes;
    size_t largest_tile;         /* the first one; 0 for operations, like largest_tile_bytes */
    uint64_t largest_tile_bytes; /* its total */
} pl_part_sums;

/* Returns the sums of stages on one IPU that were measured; of operations without parameters, if
 * num_stages is 0. */
pl_part_sums pl_part_sums_of(pl_stage_meter *meter, const popliner_interval *stages,
                             size_t num_stages, const popliner_stage_memory *memory);

/* Measures every operation separately and sets *sums, [operations], which the caller frees.
 * Operations of one debug context all have the result of the first, as in PopLiner. Reports
 * progress to the listener. Errors: MEMORY. Cost: one pass over the variables, and
 * that of pl_stage_measure for each context. */
popliner_status pl_operation_sums_measure(const pl_operations *operations, pl_stage_meter *meter,
                                          const popliner_listener *listener, pl_part_sums **sums,
                                          popliner_error *error);

#endif
