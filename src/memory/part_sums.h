/* What each of several shares of a model needs by itself, all at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PART_SUMS_H
#define PL_MEMORY_PART_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "popliner/error.h"

/* Operations in shares, each in one: every operation by itself, or every unit of a chain. */
typedef struct pl_shares {
    size_t count;
    const uint32_t *share_of_operation; /* [operations] */
    /* By the account of the meter. Members of its sets stand for themselves, modulo `count`: so it
     * may be that of a pl_pass_usage. */
    const pl_unit_usage *usage;
    bool wants_tiles; /* which is the largest, too */
} pl_shares;

/* Over all tiles. */
typedef struct pl_part_sums {
    uint64_t part_bytes[POPLINER_NUM_PARTS];
    uint64_t total_bytes;
    size_t largest_tile;         /* the first with the most; only if it is wanted, like the next */
    uint64_t largest_tile_bytes; /* all of it there */
} pl_part_sums;

/* Those of the stage that was measured last. */
pl_part_sums pl_part_sums_of(const pl_stage_meter *meter, const popliner_stage_memory *memory);

/* Whether shares can be measured at once: where the steps of a stage are those of its operations
 * alone, and there are some. */
bool pl_part_sums_are_possible(const pl_stage_meter *meter);

/* Finds into sums[shares->count] what pl_stage_measure, without effects, finds for each share. It
 * does not change which stage was measured last. Where pl_part_sums_are_possible. Errors: MEMORY.
 * Cost: O(variables * live ranges of each that are in a share + tiles * steps), and for each share
 * that of counting its code on all tiles. */
popliner_status pl_part_sums_measure(const pl_stage_meter *meter, const pl_shares *shares,
                                     pl_part_sums *sums, popliner_error *error);

/* Measures every operation by itself into *sums, [operations], which the caller frees; but those of
 * one debug context once: they all show what the first of them needs, as the original does. The
 * listener hears how far it is. Errors: MEMORY. Cost: that of pl_part_sums_measure where that is
 * possible, else that of pl_stage_measure for each context. */
popliner_status pl_operation_sums_measure(const popliner_operations *operations,
                                          pl_stage_meter *meter, const popliner_listener *listener,
                                          pl_part_sums **sums, popliner_error *error);

#endif
