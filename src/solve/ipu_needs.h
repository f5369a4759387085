/* How small the limit of one IPU may be, where all others keep theirs and none has several stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_IPU_NEEDS_H
#define PL_SOLVE_IPU_NEEDS_H

#include "solve/problem.h"
#include "solve/stop.h"

/* bytes[k] becomes the fewest that the stage k must be allowed so that there is a split through it
 * within the limits; POPLINER_PEAK_FORBIDDEN if no number is enough, and while that is not known
 * because the search was stopped. They limit memory alone. Errors: MEMORY. Cost: where
 * needs never shrink O(n * max_stages), where they depend on the end of the pipeline O(n) for each
 * number of stages and each special place or place that is asked for. */
popliner_status pl_ipu_needs_find(const pl_problem *problem, const pl_limits *limits,
                                  size_t num_places, const pl_stop *stop, uint64_t *bytes,
                                  popliner_error *error);

#endif
