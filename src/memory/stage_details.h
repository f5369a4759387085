/* The details of stages: of one IPU, and of all stages of a chain, as they are gathered and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_DETAILS_H
#define PL_MEMORY_STAGE_DETAILS_H

#include "base/fields.h"
#include "memory/code.h"
#include "memory/peak_envelope.h"
#include "memory/stage.h"
#include "popliner/stage.h"

/* The details of the stages that the meter measured last, into `memory`. */
popliner_stage_detail pl_stage_detail_of(const pl_stage_meter *meter,
                                         const popliner_stage_memory *memory);

/* Measures stages that are together on one IPU, in a pipeline (NULL: none, and no effects). It is
 * the stage that the meter has measured last. Errors and cost: those of pl_stage_measure_ipu. */
popliner_status pl_stage_detail_measure(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        popliner_stage_detail *detail, popliner_error *error);

/* The details of every stage that a chain can have, wherever it stands in a pipeline. Owned by the
 * caller; free with pl_stage_details_free. */
typedef struct pl_stage_details pl_stage_details;

void pl_stage_details_free(pl_stage_details *details);

/* About how many bytes they take for so many units, for a caller who is short of memory, and about
 * how many bytes in a stored analysis. O(1). */
size_t pl_stage_details_size(size_t num_units);

/* Whether the details tell of a pipeline what they would if they had been measured for it: effects
 * are the same, and where the profile trains, accumulators and the kind of the schedule, too, and
 * what is recomputed and freed, unless nothing is kept. Max_stages do not matter. None tell of a
 * calibration: what it changes depends on the tile. */
bool pl_stage_details_serve(const pl_stage_details *details, const popliner_pipeline *pipeline);

/* The table of costs that pl_intervals_measure gives for a need of a pipeline that the details
 * serve, without max_bytes. `chain` is that of the details. The caller frees *costs. Errors:
 * MEMORY. O(units^2 * stages). */
popliner_status pl_stage_details_costs(const pl_stage_details *details, const popliner_chain *chain,
                                       const popliner_pipeline *pipeline, popliner_need need,
                                       popliner_costs **costs, popliner_error *error);

/* The details of one stage of the profile that they were measured of, in the pipeline (NULL:
 * without one) that they were measured for. As stages_to_end any number is right where a stage
 * costs the same wherever it stands: without a pipeline, or one that does not train. O(1). */
popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage);

/* What a stage has over all tiles: its parts, of the stash one copy, of the layout without copies;
 * and what copies change. An array of numbers, which is stored as it is. */
enum {
    PL_SUM_COPY_LAYOUT = POPLINER_NUM_PARTS, /* of each copy */
    PL_SUM_FREED,                            /* not live itself, if there are copies */
    PL_SUM_FREED_LAYOUT,
    PL_NUM_DETAIL_SUMS,
};
typedef struct pl_detail_sums {
    uint64_t bytes[PL_NUM_DETAIL_SUMS];
} pl_detail_sums;

/* The largest variables of a largest tile at its step. Made without gaps, for it is stored as it
 * is. */
typedef struct pl_detail_variables {
    uint32_t count;
    uint32_t variable[POPLINER_DETAIL_VARIABLES];
    uint32_t size_bytes[POPLINER_DETAIL_VARIABLES];
    uint32_t unlowered[POPLINER_DETAIL_VARIABLES]; /* or PL_NONE */
    uint32_t category[POPLINER_DETAIL_VARIABLES];
} pl_detail_variables;

/* What a tile is expected to need in a stage: `bytes` without copies of what it keeps; with copies
 * freed_bytes less, and copy_bytes more for each. Of `bytes` code_bytes are code that operations of
 * the stage explain. */
typedef struct pl_tile_need {
    uint64_t bytes;
    uint64_t freed_bytes;
    uint64_t copy_bytes;
    uint64_t code_bytes;
} pl_tile_need;

/* What they were measured for. */
typedef struct pl_details_key {
    popliner_pipeline pipeline; /* max_stages 1 if nothing is kept */
    bool is_training;           /* the profile, here and below */
    bool has_accumulators;
} pl_details_key;

/* Stages are in the order of costs/triangle.h. All arrays are owned. */
struct pl_stage_details {
    size_t num_units;
    pl_detail_sums *sums; /* [num_intervals] */
    pl_details_key key;
    pl_peak_envelope largest[POPLINER_NUM_NEEDS]; /* packed, by need */
    pl_detail_variables *variables;               /* [pieces of what is expected] */
    uint64_t *cuts_bytes;                         /* [num_units], by the unit behind the cut */
    size_t num_cycles; /* 0 if they are not known, else that of the stages */
    uint64_t *cycles;
    /* Of every stage on every tile, [num_tiles][num_intervals]; NULL unless they were wanted, and
     * of stages that were stored. */
    pl_tile_need *tile_needs;
};

/* Takes over sums and largest tiles of the stages, and the cuts and cycles of the costs; there is
 * room for the variables. If it fails, nothing was taken over. Errors: MEMORY. */
popliner_status pl_details_create(pl_detail_sums *sums, pl_peak_envelope *largest,
                                  const pl_details_key *key, const popliner_costs *costs,
                                  pl_stage_details **details, popliner_error *error);

/* Whether what was measured for a pipeline tells of another one, see pl_stage_details_serve. */
bool pl_details_serve(const pl_details_key *measured, const popliner_pipeline *wanted);

/* Adds to sums[count] those of other tiles. */
void pl_detail_sums_add(pl_detail_sums *sums, const pl_detail_sums *others, size_t count);

/* Its arrays, for storing and loading, of which there must be room for PL_DETAILS_FIELDS; returns
 * how many. */
enum { PL_DETAILS_FIELDS = 4 + 2 * POPLINER_NUM_NEEDS };
size_t pl_details_fields(pl_stage_details *details, pl_field *fields);

/* Whether loaded arrays belong to so many units, and name what the profile has. */
bool pl_details_check(const pl_stage_details *details, size_t num_units,
                      const popliner_profile *profile);

#endif
