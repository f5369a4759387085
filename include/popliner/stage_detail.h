/* popliner: what is told of a stage: what its memory is for, and where most of it is needed.
 *
 * It is measured for one IPU at a time, or, by pl_intervals_measure, for all stages of a chain
 * at once; then it can be stored with an analysis, so that later runs need no variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_STAGE_DETAIL_H
#define POPLINER_STAGE_DETAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many variables are listed. */
#define POPLINER_DETAIL_VARIABLES 5

/* The memory of an IPU, summed up, and its largest tile. Plain memory; the names in it live as long
 * as the profile. */
typedef struct popliner_stage_detail {
    uint64_t total_bytes; /* over all tiles, like the next eight */
    uint64_t variables_bytes;
    uint64_t vertex_code_bytes;
    uint64_t vertex_state_bytes;
    uint64_t exchange_code_bytes;
    uint64_t control_code_bytes;
    uint64_t unexplained_bytes;
    uint64_t stash_bytes; /* what it keeps for a pipeline, all copies */
    uint64_t parameter_bytes;
    size_t tile; /* the largest one, the first of equals */
    uint64_t tile_bytes;
    uint64_t tile_unexplained_bytes;
    uint64_t tile_stash_bytes;
    size_t step; /* of its peak */
    size_t num_variables;
    popliner_stage_variable variables[POPLINER_DETAIL_VARIABLES]; /* the largest there and then */
} popliner_stage_detail;

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
 * does not matter what is recomputed. Its most_stages do not matter either. */
bool pl_stage_details_serve(const pl_stage_details *details, const popliner_pipeline *pipeline);

/* The table of costs that pl_intervals_measure gives for a pipeline that the details serve,
 * without most_bytes. `chain` is that of the details. The caller frees *costs. Errors: MEMORY.
 * O(units^2 * stages). */
popliner_status pl_stage_details_costs(const pl_stage_details *details, const popliner_chain *chain,
                                       const popliner_pipeline *pipeline, popliner_costs **costs,
                                       popliner_error *error);

/* The details of one stage of the profile that they were measured of, in the pipeline (NULL: without
 * one) that they were measured for. As stages_to_end any number is right where a stage costs the same
 * wherever it stands: without a pipeline, or one that does not train. O(1). */
popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage);

#ifdef __cplusplus
}
#endif

#endif
