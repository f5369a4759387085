/* What each of several parts of a model needs by itself, all at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PART_SUMS_H
#define PL_MEMORY_PART_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/operation_sums.h"
#include "memory/stage.h"
#include "memory/unit_usage.h"

/* Operations in parts, each in one: every operation by itself, or every unit of a chain. */
typedef struct pl_parts {
    size_t count;
    const uint32_t *part_of_operation; /* [operations] */
    /* By the account of the meter. Members of its sets stand for themselves, modulo `count`: so it
     * may be that of a pl_pass_usage. */
    const pl_unit_usage *usage;
    bool wants_tiles; /* which is the largest, too */
} pl_parts;

/* Over all tiles. */
typedef struct pl_part_sums {
    pl_memory_sums sums;
    uint64_t parameter_bytes;    /* pl_stage_parameter_bytes */
    size_t largest_tile;         /* the first with the most; only if it is wanted, like the next */
    uint64_t largest_tile_bytes; /* total_bytes there */
} pl_part_sums;

/* Those of the stage that was measured last. */
pl_part_sums pl_part_sums_of(const pl_stage_meter *meter, const pl_stage_memory *memory);

/* Whether parts can be measured at once: where the steps of a stage are those of its operations
 * alone, and there are some. */
bool pl_part_sums_are_possible(const pl_stage_meter *meter);

/* Finds into sums[parts->count] what pl_stage_measure, without effects, finds for each part. It
 * does not change which stage was measured last. Where pl_part_sums_are_possible. Errors: MEMORY.
 * Cost: O(variables * live ranges of each that are in a part + tiles * steps), and for each part
 * that of counting its code on all tiles. */
popliner_status pl_part_sums_measure(const pl_stage_meter *meter, const pl_parts *parts,
                                     pl_part_sums *sums, popliner_error *error);

#endif
