/* When each liveness step runs: one after another, each for as long as its program takes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_TRACE_TIME_H
#define PL_SHOW_TRACE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "popliner/error.h"
#include "profile/profile_data.h"

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

#endif
