/* The details of stages: of one IPU, and of all stages of a chain, as they are gathered and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_DETAILS_H
#define PL_MEMORY_STAGE_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fields.h"
#include "memory/code.h"
#include "memory/stage.h"
#include "popliner/costs.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/stage.h"

/* The largest tile of every stage of a chain, wherever the stage stands in a pipeline.
 *
 * A tile needs the bytes of a plain stage and, the further from the end the stage stands, the more
 * copies of what it keeps: over the number of copies a line, and the largest of all tiles the upper
 * envelope of their lines. It has few pieces, most often one, where a table by place would have as
 * many entries as the pipeline stages; and it serves every schedule. */

/* One piece. Made without gaps, for it is stored as it is. */
typedef struct pl_peak_piece {
    uint64_t bytes;       /* without copies */
    uint64_t stash_bytes; /* one copy of what it keeps */
    uint64_t unexplained_bytes;
    uint64_t layout_bytes;      /* part of bytes that nothing uses */
    uint64_t copy_layout_bytes; /* part of stash_bytes */
    uint64_t freed_bytes;       /* not in bytes any more, because copies are kept */
    uint32_t tile;
    uint32_t step;        /* of the peak */
    uint32_t from_copies; /* from which on, as far as the next piece, this is largest */
    uint32_t next;        /* piece of the same stage, or PL_NONE */
} pl_peak_piece;

typedef struct pl_peak_envelope {
    size_t max_copies;    /* that are looked at */
    size_t num_intervals; /* in the order of costs/triangle.h */
    uint32_t *first;      /* [num_intervals] the piece for no copies, or PL_NONE; owned */
    size_t num_pieces;
    size_t capacity;
    pl_peak_piece *pieces; /* [num_pieces], owned */
    uint32_t unused;       /* the first of those that are not in use any more, or PL_NONE */
} pl_peak_envelope;

/* Makes them empty; false when memory is short. Zero-initialise before; free with
 * pl_peak_envelope_free. */
bool pl_peak_envelope_begin(pl_peak_envelope *tiles, size_t num_intervals, size_t max_copies);
void pl_peak_envelope_free(pl_peak_envelope *tiles);

/* Whether a tile of a stage (with its bytes, stash_bytes and number) is the largest for any number
 * of copies; of equals that of the lower number is. O(pieces of the stage). */
bool pl_peak_envelope_has_place_for(const pl_peak_envelope *tiles, size_t interval,
                                    const pl_peak_piece *tile);

/* Lets a tile be the largest for all numbers of copies where it is; from_copies and next do not
 * matter. The tiles may come in any order. False when memory is short. O(pieces of the stage + log
 * copies). */
bool pl_peak_envelope_add(pl_peak_envelope *tiles, size_t interval, const pl_peak_piece *tile);

/* Adds all tiles of `from`, of as many stages. False when memory is short. */
bool pl_peak_envelope_merge(pl_peak_envelope *tiles, const pl_peak_envelope *from);

/* Puts the pieces in the order of the stages and copies, so that equal ones are stored as the same
 * bytes. False when memory is short. */
bool pl_peak_envelope_pack(pl_peak_envelope *tiles);

/* Whether the arrays, which may come from a file, are packed, have a piece for each number of
 * copies of each stage, and name no other tiles or steps. */
bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps);

/* The piece for so many copies, NULL if no tile was added; and the bytes of its tile then. */
const pl_peak_piece *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                           size_t copies);
uint64_t pl_peak_piece_bytes(const pl_peak_piece *tile, size_t copies);

/* Gives the costs of a chain the peaks of all stages of a pipeline of max_stages, or of as many as
 * there are copies looked at for, `tiles` being those of a need; the first unit alone is forbidden
 * if nothing runs for it. Errors: MEMORY. O(stages * places). */
popliner_status pl_peak_envelope_fill(const pl_peak_envelope *tiles, const popliner_chain *chain,
                                      const popliner_pipeline *pipeline, popliner_need need,
                                      popliner_costs *costs, popliner_error *error);

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
    /* 0 if they are not known, else that of the stages */
    size_t num_cycles;
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

/* Whether details that were measured for a pipeline tell of another one what they would if they had
 * been measured for it: effects
 * are the same, and where the profile trains, accumulators and the kind of the schedule, too, and
 * what is recomputed and freed, unless nothing is kept. Max_stages do not matter. None tell of a
 * calibration: what it changes depends on the tile. */
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
