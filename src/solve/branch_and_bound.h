/* Branch and bound over the cuts for problems whose stages share IPUs, for where GLPK would need
 * too many programs: in integers, and exact.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_BRANCH_AND_BOUND_H
#define PL_SOLVE_BRANCH_AND_BOUND_H

#include "solve/shared_stages.h"

/* True if pl_branch_and_bound can answer: what stages need together must not shrink. */
bool pl_branch_and_bound_can(const pl_problem *problem);

/* Like pl_no_goods_search, but within limits alone, and stages may be fixed. When stopped, the
 * split of the goal FEWEST_CUT_BYTES is the best so far. Errors: MEMORY, those of the shared peaks.
 * Cost: in the worst case all splits; a stage of an IPU is given up as soon as it can be seen that
 * those behind it cannot reach the end of the chain any more. */
popliner_status pl_branch_and_bound(const pl_shared_search *asked, const pl_limits *limits,
                                    pl_split *split, pl_search_result *result,
                                    popliner_error *error);

#endif
