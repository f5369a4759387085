/* A trace of a profile, see popliner/trace.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_TRACE_H
#define PL_SHOW_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/certificate.h"
#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* What a trace is of. */
typedef struct pl_trace_source {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    const popliner_certificate *certificate; /* NULL: of no plan */
} pl_trace_source;

/* Errors: MEMORY; USAGE if the variables are not loaded. */
popliner_status pl_trace_make(const pl_trace_source *source, char **text, popliner_error *error);

/* ---- When each liveness step runs: one after another, each for as long as its program takes ---- */

/* Zero-initialise; free with pl_trace_time_free. */
typedef struct pl_trace_time {
    bool is_in_cycles; /* else a step that contains no other takes 1 */
    uint64_t *start;   /* [steps] */
    uint64_t *end;     /* a step ends when all have run that it contains, as often as it repeats
                          them: they are told for the first time alone */
    uint8_t *is_leaf;  /* it contains no other */
} pl_trace_time;

/* Errors: MEMORY. O(steps). */
popliner_status pl_trace_time_find(pl_trace_time *time, const popliner_profile *profile,
                                   popliner_error *error);
void pl_trace_time_free(pl_trace_time *time);

/* ---- Lanes: intervals of time that overlap, side by side ---- */

/* Puts each of `count` intervals [start, end), in ascending order of their starts, into the first
 * lane in which nothing runs at its start: lane[i], counted from 0. Intervals of a lane do not
 * overlap, and there are no more lanes than intervals that run at one time. Sets *num_lanes. False
 * when memory is short. O(count * log(lanes)). */
bool pl_lanes_find(const uint64_t *start, const uint64_t *end, size_t count, uint32_t *lane,
                   size_t *num_lanes);

#endif
