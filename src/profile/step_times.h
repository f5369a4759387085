/* When each step of a program runs: one after another, each for as long as its program takes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_STEP_TIMES_H
#define PL_PROFILE_STEP_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/growth.h"
#include "popliner/error.h"
#include "popliner/profile.h"

/* Zero-initialise; free its arrays. */
typedef struct pl_step_times {
    bool is_in_cycles; /* else a step that contains no other takes 1 */
    uint64_t *start;   /* [steps] */
    uint64_t *end;     /* a step ends when all have run that it contains, as often as it repeats
                          them: the profile lists only the first time */
    bool *has_inner;   /* it contains others */
    pl_arrays arrays;
} pl_step_times;

/* `is_once`: nothing is repeated. Errors: MEMORY. O(steps). */
popliner_status pl_step_times_find(pl_step_times *times, const popliner_profile *profile,
                                   bool is_once, popliner_error *error);

#endif
