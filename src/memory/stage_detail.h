/* The details of all stages of a chain, as they are gathered tile by tile and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_DETAIL_H
#define PL_MEMORY_STAGE_DETAIL_H

#include "base/fields.h"
#include "memory/code.h"
#include "popliner/stage_detail.h"

/* What a stage has over all tiles. */
typedef struct pl_detail_sums {
    uint64_t variables_bytes;
    uint64_t code_bytes[PL_NUM_CODE_GROUPS];
    uint64_t unexplained_bytes;
    uint64_t stash_bytes; /* one copy */
    uint64_t parameter_bytes;
} pl_detail_sums;

/* Its largest tile, for one place in the pipeline. Made without gaps, for it is stored as it is. */
typedef struct pl_detail_top {
    uint64_t bytes;
    uint64_t unexplained_bytes;
    uint64_t stash_bytes; /* all copies */
    uint32_t tile;        /* PL_NONE before any tile was added */
    uint32_t step;
    uint32_t num_variables;
    uint32_t variable[POPLINER_DETAIL_VARIABLES];
    uint32_t size_bytes[POPLINER_DETAIL_VARIABLES];
    uint32_t unlowered[POPLINER_DETAIL_VARIABLES]; /* or PL_NONE */
    uint32_t category[POPLINER_DETAIL_VARIABLES];
    uint32_t unused;
} pl_detail_top;

struct popliner_stage_details {
    size_t num_units;
    size_t most_stages; /* places in the pipeline, at least 1 */
    size_t num_sums;    /* intervals */
    size_t num_tops;    /* intervals for each place */
    pl_detail_sums *sums;
    pl_detail_top *tops;
};

/* Zero-initialised but for the tiles. Errors: MEMORY. */
popliner_status pl_details_create(size_t num_units, size_t most_stages,
                                  popliner_stage_details **details, popliner_error *error);

/* Its arrays, for storing and loading, of which there must be room for two; returns how many. */
size_t pl_details_fields(popliner_stage_details *details, pl_field *fields);

/* Whether loaded arrays belong to so many units and places, and name what the profile has. */
bool pl_details_check(const popliner_stage_details *details, const popliner_profile *profile);

/* The place of an interval among all of them. */
size_t pl_details_place(const popliner_stage_details *details, size_t first_unit, size_t last_unit);

/* What one tile adds to a stage. */
typedef struct pl_detail_tile {
    size_t tile;
    size_t step; /* of its peak */
    uint64_t variables_bytes;
    uint64_t code_bytes[PL_NUM_CODE_GROUPS];
    uint64_t unexplained_bytes;
    uint64_t stash_bytes; /* one copy */
} pl_detail_tile;

/* Adds a tile to an interval, in any order of the tiles. */
void pl_details_add(popliner_stage_details *details, const popliner_pipeline *pipeline,
                    size_t first_unit, size_t last_unit, const pl_detail_tile *tile);

/* Adds to the tiles of `to` those of `from`, which must be others. */
void pl_details_merge(const popliner_stage_details *from, popliner_stage_details *to);

#endif
