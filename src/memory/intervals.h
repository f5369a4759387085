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

/* Zero-initialise: for no pipeline, and all estimates. */
typedef struct pl_interval_options {
    popliner_pipeline pipeline;
    unsigned needs; /* bits of the estimates to compute; 0: all, and the sums over all tiles */
    const popliner_listener *listener; /* gets progress; may be NULL */
    pl_bounds *bounds;                 /* or NULL */
} pl_interval_options;

/* Measures every stage of the meter's chain, in its memory model, in every position of pipelines of
 * any length, into *details, which the caller frees; see pl_stage_details_costs and
 * pl_stage_details_get. Without the largest variables: see pl_stage_details_find_variables. The
 * meter keeps its digests; the result does not depend on its number of threads. `options` may be
 * NULL.
 *
 * Errors: MEMORY; STOPPED. Cost: that of making a digest (memory/digest.h), unless the meter has
 * it, then for each tile O(units * lists of the tile + units^2), and for each part its segments,
 * shared among the threads. In PopLiner's model O(units^2 * tiles * steps + units * touches). See
 * pl_stage_details_are_large for the memory, each thread takes O(units + steps) more. Only the
 * calling thread calls the listener. */
popliner_status pl_intervals_measure(pl_stage_meter *meter, const pl_interval_options *options,
                                     pl_stage_details **details, popliner_error *error);

/* Finds the largest variables of each fullest tile of details that a meter measured, with all
 * estimates, unless they have them. Errors: MEMORY. Cost: that of pl_largest_find. */
popliner_status pl_stage_details_find_variables(pl_stage_details *details, pl_stage_meter *meter,
                                                popliner_error *error);

#endif
