/* Details of all stages of a chain, as they are computed and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_DETAILS_H
#define PL_MEMORY_STAGE_DETAILS_H

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "popliner/costs.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/stage.h"

/* The fullest tile of every stage of a chain, in every position of a pipeline.
 *
 * A tile needs the bytes of a plain stage and, the further the stage is from the end, more copies
 * of what it stores: a linear function of the number of copies. The peak over all tiles is the
 * upper envelope of these lines. It has few pieces, most often one, where a table by position would
 * have as many entries as the pipeline has stages; and it serves every schedule. */

/* One piece: numbers, which are stored as bytes, in the order of their columns in pages. */
typedef struct pl_peak_piece {
    uint64_t from_copies; /* the piece is the maximum from this number up to the next piece */
    uint64_t bytes;       /* without copies */
    uint64_t stash_bytes; /* one copy of what it stores */
    uint64_t unexplained_bytes;
    uint64_t layout_bytes;      /* part of bytes: layout overhead */
    uint64_t copy_layout_bytes; /* part of stash_bytes */
    uint64_t freed_bytes;       /* no longer in `bytes` if there are copies */
    uint64_t always_live_bytes; /* parts of bytes: of variables that operations touch */
    uint64_t code_bytes;        /* of all groups */
    uint64_t buffer_bytes;
    uint64_t tile;
    uint64_t step; /* of the peak */
    uint64_t added_bytes[PL_NUM_ADDED];
} pl_peak_piece;

/* The lines of a stage that no other one is above for any number of copies, unsorted, while tiles
 * are added. Zero-initialise. */
typedef struct pl_peak_lines {
    size_t count;
    pl_peak_piece *lines;
} pl_peak_lines;

/* Adds a tile, whose from_copies is ignored; of equals the one with the lower number is the
 * fullest. The tiles may come in any order. Not if memory is short. O(lines). */
void pl_peak_lines_add(pl_peak_lines *lines, pl_arrays *arrays, size_t max_copies,
                       const pl_peak_piece *tile);

/* The pieces of stages, in the order of copies. */
typedef struct pl_peak_envelope {
    size_t max_copies;    /* largest number of copies */
    size_t num_intervals; /* in the order of costs/triangle.h */
    uint64_t *start;      /* [num_intervals + 1] into pieces; NULL: not measured */
    size_t num_pieces;
    pl_peak_piece *pieces; /* [num_pieces] */
    pl_arrays *arrays;     /* own both arrays, while stages are added */
} pl_peak_envelope;

/* Returns an envelope of no stages; the functions below add nothing after a failure. */
pl_peak_envelope pl_peak_envelope_begin(pl_arrays *arrays, size_t max_copies);

/* Adds the next stage. For each piece O(lines of the stage * log copies). */
void pl_peak_envelope_add(pl_peak_envelope *tiles, const pl_peak_lines *lines);

/* True if the arrays, which may come from a file, have a piece for each number of copies of each
 * stage, and name only existing tiles and steps. */
bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps);

/* Return the piece of an envelope for this number of copies, NULL if no tile was added; and
 * the bytes of its tile. */
const pl_peak_piece *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                           size_t copies);
uint64_t pl_peak_piece_bytes(const pl_peak_piece *tile, size_t copies);

/* The details of every stage that a chain can have, in every position of a pipeline. Owned by the
 * caller; free with pl_stage_details_free. */
typedef struct pl_stage_details pl_stage_details;

void pl_stage_details_free(pl_stage_details *details);

/* True if they take more than some 64 MiB, in memory and in a stored analysis. O(1). */
bool pl_stage_details_are_large(size_t num_units);

/* Computes the costs that pl_intervals_measure gives for a need of a pipeline that the details
 * serve; without peaks if the need was not measured. `chain` is that of the details. Forbids the
 * first unit alone if nothing runs for it. The caller frees *costs. Errors: MEMORY.
 * O(units^2 * stages). */
popliner_status pl_stage_details_costs(const pl_stage_details *details, const pl_chain *chain,
                                       const popliner_pipeline *pipeline, popliner_need need,
                                       popliner_costs **costs, popliner_error *error);

/* Returns the details of one stage of the profile that they were measured for, in a pipeline (NULL:
 * without one) that they serve. Any stages_to_end is valid if a stage costs the same in every
 * position: without a pipeline, or with one that does not train. O(1). */
popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage);

/* The largest variables of a fullest tile at its step. Without padding, since it is stored as
 * bytes. */
typedef struct pl_detail_variables {
    uint32_t count;
    uint32_t variable[POPLINER_DETAIL_VARIABLES];
    uint32_t size_bytes[POPLINER_DETAIL_VARIABLES];
    uint32_t unlowered[POPLINER_DETAIL_VARIABLES]; /* or PL_NONE */
    uint32_t category[POPLINER_DETAIL_VARIABLES];
} pl_detail_variables;

/* Return the name of a column, by number, and how many a piece has: of needs that are not the
 * expected one nobody asks where. */
const char *pl_detail_sums_column(size_t number);
const char *pl_peak_piece_column(size_t number);
size_t pl_peak_piece_columns(popliner_need need);

/* Sets named[variables->count] to the variables of the profile, with their names. */
void pl_detail_variables_name(const pl_detail_variables *variables, const popliner_profile *profile,
                              popliner_stage_variable *named);

/* The pipeline and profile that details were measured for. */
typedef struct pl_details_key {
    popliner_pipeline pipeline; /* max_stages 1 if nothing is stored */
    bool is_training;           /* the profile, also below */
    bool has_accumulators;
} pl_details_key;

/* Stages are in the order of costs/triangle.h. */
struct pl_stage_details {
    pl_arrays arrays; /* own all arrays below */
    size_t num_units;
    pl_detail_sums *sums; /* [num_intervals] */
    pl_details_key key;
    pl_peak_envelope largest[POPLINER_NUM_NEEDS]; /* by need */
    pl_detail_variables *variables;               /* [pieces of the expected need] */
    uint64_t *cuts_bytes;                         /* [num_units], of the cut before the unit */
};

/* Returns details of stages that were not measured, without cuts; NULL if memory is short. */
pl_stage_details *pl_details_new(size_t num_units);

/* True if details that were measured for a pipeline also hold for another one: equal effects and,
 * if the profile trains, also equal accumulators and kind of schedule, and, unless nothing is
 * stored, equal recomputation and freed memory. Ignores max_stages. */
bool pl_details_serve(const pl_details_key *measured, const popliner_pipeline *wanted);

/* Lists the arrays for storing and loading, at most PL_DETAILS_FIELDS, and returns their number. */
enum { PL_DETAILS_FIELDS = 3 + 2 * POPLINER_NUM_NEEDS };
size_t pl_details_fields(pl_stage_details *details, pl_field *fields);

/* True if loaded arrays fit num_units, and name only what the profile has. */
bool pl_details_check(const pl_stage_details *details, size_t num_units,
                      const popliner_profile *profile);

#endif
