/* Measures several shares of a model separately, all at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PART_SUMS_H
#define PL_MEMORY_PART_SUMS_H

#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "model/operations.h"
#include "popliner/error.h"

/* Operations in disjoint shares: single operations, or the units of a chain. */
typedef struct pl_shares {
    size_t count;
    const uint32_t *share_of_operation; /* [operations] */
    /* By the account of the meter. Its members are shares modulo `count`, so it may be that of a
     * pl_pass_usage. */
    const pl_unit_usage *usage;
    bool wants_tiles; /* also compute the fullest tile */
} pl_shares;

/* Sums over all tiles. */
typedef struct pl_part_sums {
    uint64_t part_bytes[POPLINER_NUM_PARTS];
    uint64_t total_bytes;
    size_t largest_tile;         /* the first one; only if wants_tiles, like largest_tile_bytes */
    uint64_t largest_tile_bytes; /* its total */
} pl_part_sums;

/* Returns the sums of a stage that was measured; without parameters if the stage is NULL. */
pl_part_sums pl_part_sums_of(pl_stage_meter *meter, const popliner_interval *stage,
                             const popliner_stage_memory *memory);

/* True if shares can be measured at once: if the steps of a stage are only those of its operations,
 * and there are operations. */
bool pl_part_sums_are_possible(const pl_stage_meter *meter);

/* Sets sums[shares->count] to the results of pl_stage_measure, without effects, for each share.
 * Does not change the stage that was measured last. Only if pl_part_sums_are_possible. Errors:
 * MEMORY. Cost: O(variables * live ranges of each that are in a share + tiles * steps), and for
 * each share that of counting its code on all tiles. */
popliner_status pl_part_sums_measure(const pl_stage_meter *meter, const pl_shares *shares,
                                     pl_part_sums *sums, popliner_error *error);

/* Measures every operation separately and sets *sums, [operations], which the caller frees.
 * Operations of one debug context all have the result of the first, as in PopLiner. Reports
 * progress to the listener. Errors: MEMORY. Cost: that of pl_part_sums_measure if possible, else
 * that of pl_stage_measure for each context. */
popliner_status pl_operation_sums_measure(const pl_operations *operations, pl_stage_meter *meter,
                                          const popliner_listener *listener, pl_part_sums **sums,
                                          popliner_error *error);

#endif
