/* Better splits where stages share IPUs, among those near a known one: all of these at once, by the
 * sweep over IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_NEIGHBOURS_H
#define PL_SOLVE_NEIGHBOURS_H

#include "solve/plan.h"
#include "solve/shared_stages.h"

/* Makes *split, which is within the filter, better in the objective; goal and ranges of `asked` are
 * ignored. It solves exactly, again and again,
 *   - for the stages of one IPU, every other cut staying where it is;
 *   - for all cuts at once, each as far from where it is as some units, ever more of them,
 * until nothing of that helps, or the seconds are over, or asked->stop is wanted. If it `goes_on`,
 * cuts then move as far as chance wants, until the seconds are over. Deterministic but for the
 * time. Errors: MEMORY, those of the shared peaks. */
popliner_status pl_neighbours_improve(const pl_shared_search *asked, const pl_filter *filter,
                                      popliner_objective objective, double seconds, bool goes_on,
                                      pl_split *split, popliner_error *error);

#endif
