/* Why no split fits, and what would make one fit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INFEASIBILITY_H
#define PL_SOLVE_INFEASIBILITY_H

#include "solve/problem.h"
#include "solve/search.h"
#include "solve/stop.h"

/* The most work that each of these may do (see pl_shared.work): where stages share IPUs, the search
 * for a better best effort and for the bytes that suffice; and all searches for remedies. */
#define PL_WORK_FOR_REASONS ((uint64_t)100000000)

/* For a problem without a split within its limits: fills plan->infeasibility, and the stages,
 * totals and values of the best effort, if there is one. The plan must be empty. Errors: MEMORY,
 * INTERNAL, those of shared peaks. */
popliner_status pl_explain_infeasibility(const pl_problem *problem, const pl_stop *stop,
                                         popliner_plan *plan, popliner_error *error);

/* ---- conflicting constraints ---- */

/* For a problem without any split, whatever the memory of its IPUs: fills plan->infeasibility with
 * a conflicting set of constraints, and with whether the costs are part of the conflict. No smaller
 * one conflicts, but that a device map may be named needlessly with pairs or placements. The set is
 * empty if the costs alone forbid every split. The obstacle is UNKNOWN if the search was stopped.
 * Errors: MEMORY, INTERNAL, those of shared peaks. Cost: a search for any split for each
 * constraint. */
popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error);

/* ---- remedies ---- */

/* For a problem without a split within its limits: sets the fewest IPUs that are enough, and, with
 * a best effort and where IPUs have their own limits, the smallest mem_per_tile, or its bounds. The
 * bound so far is set. Errors: MEMORY, INTERNAL, those of shared peaks. Cost: some tens of searches
 * for any split. */
popliner_status pl_enough_find(const pl_problem *problem, const pl_stop *stop, popliner_plan *plan,
                               popliner_error *error);

/* For a problem without a split within its limits, and with its obstacle known: fills the remedies
 * of plan->infeasibility (another value for one limit, one constraint or the device map) and the
 * constraints that could be dropped. Each was solved with, and checked. Skips what takes too long:
 * then has_all_remedies is false. Sets plan->is_stopped if the search was stopped. Errors: MEMORY,
 * INTERNAL, those of shared peaks. Cost: about 20 searches for any split for each IPU that may get
 * another limit, and one or a few for each constraint. */
popliner_status pl_remedies_find(const pl_problem *problem, const pl_stop *stop,
                                 popliner_plan *plan, popliner_error *error);

#endif
