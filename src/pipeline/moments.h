/* The micro-batches that the stages of an IPU hold together, moment by moment of its order.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PIPELINE_MOMENTS_H
#define PL_PIPELINE_MOMENTS_H

#include "pipeline/pipeline.h"

/* The moments of each IPU at which no other one holds as much or more of every chunk (of its
 * stages), each of num_chunks numbers; sets, with one for the pass that runs, are 0 unless stages
 * may recompute all. The first moment of an IPU has most sets, then most micro-batches.
 * Zero-initialise. */
typedef struct pl_moments {
    size_t num_devices;
    size_t num_chunks;
    bool is_v;
    size_t *first; /* [num_devices + 1] */
    pl_held *held;
    size_t capacity; /* of `held`, in moments */
} pl_moments;

/* Walks through the order of each IPU, or only of that of a stage (0: each). There are no moments
 * (first is NULL) where an IPU has one stage, where there is no order, or where that has more than
 * some ten million passes: each stage then holds at most popliner_copies_at. Of more than four
 * rounds, those between change nothing. False if memory is short. O(passes * moments). */
bool pl_moments_create(pl_moments *moments, const popliner_pipeline *pipeline,
                       size_t stages_to_end);
void pl_moments_free(pl_moments *moments);

/* Returns the moments of the IPU of a stage, of which there are *count; NULL if there are none. */
const pl_held *pl_moments_of(const pl_moments *moments, size_t stages_to_end, size_t *count);

/* Returns which of the stages of its IPU a stage is. */
size_t pl_moments_chunk(const pl_moments *moments, size_t stages_to_end);

#endif
