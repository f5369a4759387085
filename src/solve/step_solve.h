/* The split with the shortest step: as an objective, and among equally good splits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_SOLVE_H
#define PL_SOLVE_STEP_SOLVE_H

#include "solve/search.h"

/* True if the step is the objective, for a method that has objectives. */
bool pl_step_leads(const popliner_solver_options *options);

/* Like pl_solve, for the shortest step. */
popliner_status pl_step_solve(const popliner_costs *costs, const popliner_solver_options *options,
                              popliner_plan *plan, popliner_error *error);

/* Replaces the split of a search whose stages share IPUs by one with a shorter step, if it finds
 * one within the search's filter. Nothing changes where the step is unknown. */
popliner_status pl_step_break_ties(pl_search *search, popliner_error *error);

/* Finds the step of even stages: as many layers each, on the IPUs of a plan within the limits. 0 if
 * it is unknown, or not shorter than that of the plan. Errors: those of pl_step_search. */
popliner_status pl_step_of_even_stages(const popliner_plan *plan,
                                       const popliner_solver_options *options,
                                       const popliner_pipeline *pipeline,
                                       const popliner_costs *costs, uint64_t *cycles,
                                       popliner_error *error);

#endif
