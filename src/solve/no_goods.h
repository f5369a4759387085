/* The best split where stages share IPUs, by integer programs one after another: each answer that
 * needs too much becomes a no-good, a set of stages that the next ones must not have together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_NO_GOODS_H
#define PL_SOLVE_NO_GOODS_H

#include "solve/shared_stages.h"

/* pl_dynamic_program for problems whose stages share IPUs; not for the goal FEWEST_STAGES. *split
 * must be empty, and stays so if there is none. Exact: GLPK solves without the memory that stages
 * need together; this is measured for its answer, and what does not fit is forbidden together with
 * everything that contains it, until it fits. *gave_up, with an empty split, if there is too much
 * to forbid for programs to stay small; NULL: goes on all the same. Errors: MEMORY, INTERNAL, those
 * of the shared peaks. */
popliner_status pl_no_goods_search(const pl_shared_search *asked, const pl_filter *filter,
                                   pl_split *split, pl_search_result *result, bool *gave_up,
                                   popliner_error *error);

#endif
