/* What may be changed so that something fits: one limit, one constraint, or the device map.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_REMEDIES_H
#define PL_SOLVE_REMEDIES_H

#include "solve/objectives.h"

/* For a problem without a split within its limits, and the obstacle that was found: fills the
 * remedies and what may be left out of plan->infeasibility. Each was solved with, and checked. What
 * takes too long is not looked for: has_all_remedies says so. plan->is_stopped becomes true if the
 * search was stopped. Errors: MEMORY, INTERNAL, those of shared peaks. Cost: some 20 searches for
 * any split for each IPU that may get another limit, one or a few for each constraint. */
popliner_status pl_remedies_find(const pl_problem *problem, const pl_stop *stop, double max_seconds,
                                 popliner_plan *plan, popliner_error *error);

#endif
