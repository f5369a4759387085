/* Details of all stages of a chain, as they are computed and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_DETAILS_H
#define PL_MEMORY_STAGE_DETAILS_H

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/needs.h"
#include "memory/parts.h"
#include "popliner/costs.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/stage.h"

/* The fullest tile of every stage of a chain, in every position of a pipeline.
 *
 * A tile needs the bytes of a plain stage and, the further the stage is from the end, more copies
 * of what it stores: a linear function of the number of copies. The peak over all tiles is the
 * largest of these lines. Few of them are it anywhere, most often one, where a table by position
 * would have as many entries as the pipeline has stages; and they serve every schedule. */

/* The lines of a stage that no other one is above for any number of copies, while tiles are added.
 * Zero-initialise. */
typedef struct pl_peak_lines {
    size_t count;
    pl_need_line *lines;
} pl_peak_lines;

/* Adds a tile; of equals the one with the lower number is the fullest. Not if memory is short.
 * O(lines). */
void pl_peak_lines_add(pl_peak_lines *lines, pl_arrays *arrays, size_t max_copies,
                       const pl_need_line *tile);

/* The lines of all stages. */
typedef struct pl_peak_envelope {
    size_t max_copies;    /* largest number of copies */
    size_t num_intervals; /* in the order of costs/triangle.h */
    uint64_t *start;      /* [num_intervals + 1] into pieces; NULL: not measured */
    size_t num_pieces;
    pl_need_line *pieces; /* [num_pieces] */
} pl_peak_envelope;

/* Lists the lines of so many stages, for which max_copies is set. Its arrays are in `arrays`, after
 * whose failure there are none. */
void pl_peak_envelope_list(pl_peak_envelope *tiles, pl_arrays *arrays, const pl_peak_lines *lines,
                           size_t num_intervals);

/* True if the arrays, which may come from a file, have a line for each stage, and name only
 * existing tiles and steps. */
bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps);

/* Returns the line that is the largest for this number of copies, NULL if no tile was added.
 * O(lines of the stage). */
const pl_need_line *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                          size_t copies);

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

/* Sets the variables of a detail to those of the profile, with their names. */
void pl_detail_variables_name(const pl_detail_variables *variables, const popliner_profile *profile,
                              popliner_stage_detail *detail);

/* Sets the fullest tile of a detail, by its line with so many copies: all but its variables. */
void pl_stage_detail_set_tile(popliner_stage_detail *detail, const pl_need_line *line,
                              size_t copies);

/* Details depend on these numbers, which are stored as bytes. */
typedef struct pl_details_key {
    uint64_t max_stages;  /* of the pipeline; 1 if nothing is stored */
    uint64_t max_copies;  /* that expected lines are known for */
    uint64_t live;        /* how live ranges count: memory/digest.h */
    uint64_t is_training; /* the profile, also below */
    uint64_t has_accumulators;
    uint64_t effects;
    /* The others are 0 for a profile that does not train. */
    uint64_t kind;         /* pl_schedule_kind */
    uint64_t accumulators; /* 0 if the kind adds none */
    uint64_t stored;       /* 1 + pl_pipeline_stored; 0: nothing is stored */
    uint64_t frees_originals;
} pl_details_key;

/* Returns the key of a pipeline, by what it tells; the first three and has_accumulators are 0. */
pl_details_key pl_details_key_of(const popliner_pipeline *pipeline, bool is_training);

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

/* True if details that were measured for a pipeline also hold for another one, whose copies must be
 * known then. Ignores its max_stages. */
bool pl_details_serve(const pl_details_key *measured, const popliner_pipeline *wanted);

/* Lists the arrays for storing and loading, at most PL_DETAILS_FIELDS, and returns their number. */
enum { PL_DETAILS_FIELDS = 3 + 2 * POPLINER_NUM_NEEDS };
size_t pl_details_fields(pl_stage_details *details, pl_field *fields);

/* Pages have the numbers of these fields by column: of the items of a field so many, from the first
 * on, as of needs that are not the expected one nobody asks where. */
size_t pl_details_columns(const pl_field *field);
uint64_t pl_details_number(const pl_field *field, size_t item, size_t column);
void pl_details_set_number(const pl_field *field, size_t item, size_t column, uint64_t number);

/* True if loaded arrays fit num_units, and name only what the profile has. */
bool pl_details_check(const pl_stage_details *details, size_t num_units,
                      const popliner_profile *profile);

#endif
