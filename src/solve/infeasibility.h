/* Why nothing fits, and what would be enough.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INFEASIBILITY_H
#define PL_SOLVE_INFEASIBILITY_H

#include "solve/problem.h"
#include "solve/search.h"
#include "solve/stop.h"

/* How long is looked for a better best effort and for the bytes that are enough, where stages share
 * IPUs, and for remedies: each. */
#define PL_SECONDS_FOR_REASONS 20.0

/* For a problem without a split within its limits: fills plan->infeasibility, and the best effort's
 * stages, totals and values, if there is one. The plan must be empty. max_seconds is
 * PL_SECONDS_FOR_REASONS but for tests. Errors: MEMORY, INTERNAL, those of shared peaks. */
popliner_status pl_explain_infeasibility(const pl_problem *problem, const pl_stop *stop,
                                         double max_seconds, popliner_plan *plan,
                                         popliner_error *error);

/* ---- contradiction ---- */

/* Which constraints contradict each other. */

/* For a problem without any split, whatever the memory of its IPUs: fills plan->infeasibility with
 * constraints that contradict each other, of which each is needed, and whether the costs are; with
 * none if the costs alone forbid every split. Where the search for units on one IPU gives up, the device map, or
 * what is left out after it, may be named without need. The obstacle is UNKNOWN if the search is
 * stopped. Errors: MEMORY, INTERNAL, those of shared peaks. Cost: a search for any split, for each
 * constraint that there is. */
popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error);

/* ---- remedies ---- */

/* What may be changed so that something fits: one limit, one constraint, or the device map. */

/* For a problem without a split within its limits, and the obstacle that was found: fills the
 * remedies and what may be left out of plan->infeasibility. Each was solved with, and checked. What
 * takes too long is not looked for: has_all_remedies says so. plan->is_stopped becomes true if the
 * search was stopped. Errors: MEMORY, INTERNAL, those of shared peaks. Cost: some 20 searches for
 * any split for each IPU that may get another limit, one or a few for each constraint. */
popliner_status pl_remedies_find(const pl_problem *problem, const pl_stop *stop, double max_seconds,
                                 popliner_plan *plan, popliner_error *error);

/* ---- limits of one IPU ---- */

/* How small the limit of one IPU may be, where all others keep theirs and none has several stages. */

/* bytes[k] becomes the fewest that the stage k must be allowed so that there is a split through it
 * within the limits; POPLINER_PEAK_FORBIDDEN if no number is enough, and while that is not known
 * because the search was stopped. They limit memory alone. Errors: MEMORY. Cost: where
 * needs never shrink O(n * max_stages), where they depend on the end of the pipeline O(n) for each
 * number of stages and each special place or place that is asked for. */
popliner_status pl_ipu_needs_find(const pl_problem *problem, const pl_limits *limits,
                                  size_t num_places, const pl_stop *stop, uint64_t *bytes,
                                  popliner_error *error);

#endif
