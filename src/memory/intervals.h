/* The costs of every stage of a chain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_INTERVALS_H
#define PL_MEMORY_INTERVALS_H

#include "base/bounds.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* Zero-initialise: for no pipeline. */
typedef struct pl_interval_options {
    popliner_pipeline pipeline;
    popliner_need need;                /* to compute; with details all are */
    size_t num_threads;                /* 0: one per processor; the result does not depend on it */
    const popliner_listener *listener; /* gets progress; may be NULL */
    pl_stage_meter *meter;             /* of the chain, which keeps its digests; or NULL */
    pl_bounds *bounds;                 /* or NULL */
} pl_interval_options;

/* Fills a table of costs for the chain, in its memory model, and tables of the results of
 * pl_stage_detail_measure for every interval, in every position of pipelines of any length. The
 * caller frees *costs and *details. `costs` or `details` may be NULL if not wanted, and `options`
 * for none.
 *
 *   peak     the largest need of a tile in pl_stage_measure_ipu, in the last position of the
 *            pipeline; if it and the profile train, also for up to pipeline.max_stages to the end.
 *            Unit 0 alone is forbidden if it has no operations.
 *   cut      docs/internals/memory-models.md#the-bytes-over-a-cut
 *
 * Errors: USAGE if the variables are not loaded; MEMORY; STOPPED. Cost: that of making a digest
 * (memory/digest.h), unless the meter has it, then for each tile O(units * lists of the tile +
 * units^2), and for each part its segments, shared among the threads. In PopLiner's model O(units^2
 * * tiles * steps + units * touches). See pl_stage_details_size for the
 * memory, each thread takes O(units + steps) more. Only the calling thread calls the listener. */
popliner_status pl_intervals_measure(const pl_chain *chain, const pl_interval_options *options,
                                     popliner_costs **costs, pl_stage_details **details,
                                     popliner_error *error);

#endif
