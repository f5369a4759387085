/* GLPK's opinion on what the dynamic program found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SECOND_OPINION_H
#define PL_SOLVE_SECOND_OPINION_H

#include "popliner/listener.h"
#include "solve/dynamic_program.h"

/* GLPK's own word on what the dynamic program found: that no split is within the filter
 * (best = NULL), or that the best for the goal FEWEST_CUT_BYTES or FEWEST_STAGES has this value.
 * Nothing is done where the program would be large, or has to be another one for each number of
 * stages. Errors: INTERNAL if GLPK knows a better one; MEMORY. */
popliner_status pl_second_opinion(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                  const uint64_t *best, const pl_stop *stop,
                                  const popliner_listener *listener, popliner_error *error);

#endif
