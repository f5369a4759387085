/* The largest variables of stages, and the few variables of each tile that may be among them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_LARGEST_H
#define PL_MEMORY_LARGEST_H

#include "base/growth.h"
#include "memory/stage.h"

/* When and where a data variable counts. Without padding, since kinds are compared as bytes. */
typedef struct pl_variable_kind {
    uint32_t class_index;
    uint32_t unlowered; /* or PL_NONE */
    uint32_t category;
    uint32_t complete_step; /* see pl_gradients; PL_NONE: it is none */
    uint32_t is_untouched;  /* 0 or 1: it is not always live, and no operation touches it */
    pl_counting counting;
} pl_variable_kind;

typedef struct pl_candidate {
    uint32_t variable;
    uint32_t size_bytes;
    uint32_t kind;
} pl_candidate;

/* The variables of each tile that are among the largest of any stages on it, at the step of any
 * segment, however live ranges count. */
struct pl_candidates {
    size_t num_kinds;
    pl_variable_kind *kinds;
    size_t count;
    uint64_t *tile_start;    /* [num_tiles + 1] */
    pl_candidate *variables; /* [count], ascending */
};

/* Finds the candidates of a meter whose digest is complete; NULL if memory is short. They and
 * their arrays are in `arrays`. Cost: sorting the variables of each tile, and for each segment
 * those that are larger than the largest that count. */
pl_candidates *pl_candidates_find(pl_arrays *arrays, const pl_stage_meter *meter);

#endif
