/* The best split by integer programs, one after another, where stages share IPUs; and GLPK's opinion
 * on what the dynamic program found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STAGE_SEARCH_H
#define PL_SOLVE_STAGE_SEARCH_H

#include "popliner/listener.h"
#include "solve/dynamic_program.h"
#include "solve/shared_stages.h"

/* pl_dynamic_program for problems whose stages share IPUs; not for the goal FEWEST_STAGES. Exact:
 * GLPK solves without the memory that stages need together; this is measured for its answer, and
 * what does not fit is forbidden together with everything that contains it, until it fits.
 * Errors: MEMORY, INTERNAL, those of the shared peaks. */
popliner_status pl_stage_search(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                const pl_stop *stop, const popliner_listener *listener,
                                pl_shared *shared, pl_split *split, pl_program_result *result,
                                popliner_error *error);

/* GLPK's own word on what the dynamic program found: that no split is within the filter
 * (best = NULL), or that the best for the goal FEWEST_CUT_BYTES or FEWEST_STAGES has this value.
 * Nothing is done where the program would be large, or has to be another one for each number of
 * stages. Errors: INTERNAL if GLPK knows a better one; MEMORY. */
popliner_status pl_stage_search_check(const pl_problem *problem, const pl_filter *filter,
                                      pl_goal goal, const uint64_t *best, const pl_stop *stop,
                                      const popliner_listener *listener, popliner_error *error);

#endif
