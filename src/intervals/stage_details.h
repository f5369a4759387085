/* The details of stages: of one IPU, and of all stages of a chain, as they are gathered and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_INTERVALS_STAGE_DETAILS_H
#define PL_INTERVALS_STAGE_DETAILS_H

#include "base/fields.h"
#include "intervals/peak_envelope.h"
#include "memory/code.h"
#include "memory/stage.h"
#include "popliner/stage.h"

/* The details of the stage that the meter measured last, into `memory`, and that keeps so many
 * bytes for a pipeline, kept_bytes[num_tiles]. */
popliner_stage_detail pl_stage_detail_of(const pl_stage_meter *meter, const pl_stage_memory *memory,
                                         const uint64_t *kept_bytes);

/* Measures stages that are together on one IPU, with what they keep for a pipeline (NULL: nothing).
 * It is the stage that the meter has measured last. Errors: MEMORY. Cost: that of
 * pl_stage_measure_shared and pl_stage_measure_kept. */
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

/* Whether the details tell of a pipeline what they would if they had been measured for it. Plain
 * stages are among those of any pipeline, as its last ones; and where a pipeline keeps nothing, it
 * does not matter what is recomputed. What was measured for the schedule that keeps most serves all
 * schedules. Max_stages do not matter. */
bool pl_stage_details_serve(const pl_stage_details *details, const popliner_pipeline *pipeline);

/* The table of costs that pl_intervals_measure gives for a pipeline that the details serve,
 * without max_bytes. `chain` is that of the details. The caller frees *costs. Errors: MEMORY.
 * O(units^2 * stages). */
popliner_status pl_stage_details_costs(const pl_stage_details *details, const popliner_chain *chain,
                                       const popliner_pipeline *pipeline, popliner_costs **costs,
                                       popliner_error *error);

/* The details of one stage of the profile that they were measured of, in the pipeline (NULL:
 * without one) that they were measured for. As stages_to_end any number is right where a stage
 * costs the same wherever it stands: without a pipeline, or one that does not train. O(1). */
popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage);

/* What a stage has over all tiles. */
typedef struct pl_detail_sums {
    uint64_t variables_bytes;
    uint64_t code_bytes[PL_NUM_CODE_GROUPS];
    uint64_t unexplained_bytes;
    uint64_t unexplained_always_live_bytes; /* part of it */
    uint64_t stash_bytes;                   /* one copy */
    uint64_t parameter_bytes;
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

/* Stages are in the order of costs/triangle.h. All arrays are owned. */
struct pl_stage_details {
    size_t num_units;
    pl_detail_sums *sums;           /* [largest.num_intervals] */
    popliner_pipeline pipeline;     /* that they were measured for */
    pl_peak_envelope largest;       /* packed */
    pl_detail_variables *variables; /* [largest.num_pieces] */
    uint64_t *cuts_bytes;           /* [num_units], by the unit behind the cut */
    size_t num_cycles;              /* 0 if they are not known, else that of the stages */
    uint64_t *cycles;
};

/* Takes over sums and largest tiles of the stages, and the cuts and cycles of the costs; there is
 * room for the variables. If it fails, nothing was taken over. Errors: MEMORY. */
popliner_status pl_details_create(pl_detail_sums *sums, pl_peak_envelope *largest,
                                  const popliner_pipeline *pipeline, const popliner_costs *costs,
                                  pl_stage_details **details, popliner_error *error);

/* Whether what was measured for a pipeline tells of another one, see pl_stage_details_serve;
 * max_stages of the former are 1 if it keeps nothing. */
bool pl_details_serve(const popliner_pipeline *measured, const popliner_pipeline *wanted);

/* Adds to sums[count] those of other tiles. */
void pl_detail_sums_add(pl_detail_sums *sums, const pl_detail_sums *others, size_t count);

/* Its arrays, for storing and loading, of which there must be room for PL_DETAILS_FIELDS; returns
 * how many. */
enum { PL_DETAILS_FIELDS = 6 };
size_t pl_details_fields(pl_stage_details *details, pl_field *fields);

/* Whether loaded arrays belong to so many units, and name what the profile has. */
bool pl_details_check(const pl_stage_details *details, size_t num_units,
                      const popliner_profile *profile);

#endif
