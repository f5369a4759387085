/* Which constraints contradict each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_CONTRADICTION_H
#define PL_SOLVE_CONTRADICTION_H

#include "solve/objectives.h"

/* For a problem without any split, whatever the memory of its IPUs: fills plan->infeasibility with
 * constraints that contradict each other, of which each is needed, and whether the costs are; with
 * none if the costs alone forbid every split. Where pl_unit_groups_try gives up, the device map, or
 * what is left out after it, may be named without need. The obstacle is UNKNOWN if the search is
 * stopped. Errors: MEMORY, INTERNAL, those of shared peaks. Cost: a search for any split, for each
 * constraint that there is. */
popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error);

#endif
