/* What was measured of stages that share an IPU, and what a search among them found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SHARED_STAGES_H
#define PL_SOLVE_SHARED_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/solver.h"
#include "solve/dynamic_program.h"
#include "solve/ipu_room.h"

/* What any stages on one IPU were measured to need together, to be found again by their units: a
 * table that grows up to some 100 MB. Part of pl_shared. */
typedef struct pl_measured {
    uint32_t *units;      /* [capacity][width]: the stages, and which IPU if that matters */
    uint64_t *peak_bytes; /* [capacity] */
    size_t count;
    size_t capacity; /* a power of 2, or 0; a place is free if its first number is UINT32_MAX */
    size_t width;
} pl_measured;

/* Stages whose need together on one IPU was measured, mostly because it is too much: kept for all
 * later programs of the same problem. Zero-initialise; free with pl_shared_free. */
typedef struct pl_shared {
    popliner_interval *intervals; /* [count][max stages of an IPU] */
    size_t *first_stage;          /* [count]: the first stage on the IPU */
    uint64_t *peak_bytes;         /* [count] */
    size_t count;
    size_t capacity;
    bool is_hard; /* there are so many no-goods that pl_no_goods_search gave up */
    pl_measured measured;
    uint64_t *least_bytes; /* [stages]: a triangle of pl_least_load, once it was asked for */
    bool is_wide;          /* there are so many places for cuts that pl_device_sweep gave up */
} pl_shared;

void pl_shared_free(pl_shared *shared);

/* Adds what the stages[width] (all that the device map has) on the IPU with that first stage need.
 * Errors: MEMORY. */
popliner_status pl_shared_add(pl_shared *shared, size_t width, const popliner_interval *stages,
                              size_t first_stage_on_ipu, uint64_t peak_bytes,
                              popliner_error *error);

/* What the stages on one IPU need together: `together`, ascending, are `count` of the problem's
 * stages, all of the IPU whose first stage is `first_stage`. Asks the costs only if that is not
 * known yet. Errors: MEMORY, those of the shared peaks. */
popliner_status pl_shared_measure(pl_shared *shared, const pl_problem *problem, size_t first_stage,
                                  const popliner_interval *together, size_t count,
                                  uint64_t *peak_bytes, popliner_error *error);

/* Where a cut may be: the first unit of a stage, or the end of the chain. */
typedef struct pl_cut_range {
    size_t lowest;
    size_t highest;
} pl_cut_range;

/* What IPUs need for stages at least, of MEMORY: pl_least_load, for all of them. NULL when memory
 * is short. O(stages * units^2) for the first time. */
const uint64_t *pl_shared_least_bytes(pl_shared *shared, const pl_problem *problem);

/* A search for the best split of a problem whose stages share IPUs. What the split has to keep to
 * is given besides: each kind of search says whether it accepts a pl_filter or pl_limits alone.
 * Nothing of it is owned. */
typedef struct pl_shared_search {
    const pl_problem *problem;
    pl_goal goal;
    const pl_stop *stop;
    const popliner_listener *listener; /* may be NULL */
    size_t max_tries; /* after so many stages pl_device_sweep gives up; 0 for any number */
    const pl_cut_range *ranges; /* [stages + 1], for pl_device_sweep alone; NULL: anywhere */
    pl_room *room;              /* how much IPUs can hold, or NULL */
    pl_shared *shared; /* what is measured is added, and what is there is not measured again */
} pl_shared_search;

/* What a search found. */
typedef struct pl_search_result {
    bool is_stopped;          /* time was up, or the caller wanted it to end */
    uint64_t bound_bytes;     /* of the goal FEWEST_CUT_BYTES: nothing has fewer */
    uint64_t next_peak_bytes; /* without a split: one needs at least this peak; 0 if unknown */
    popliner_proof proof;     /* what the answer rests on */
} pl_search_result;

#endif
