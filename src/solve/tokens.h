/* The most tokens that all IPUs can hold: the largest number with whose caches some split fits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_TOKENS_H
#define PL_SOLVE_TOKENS_H

#include "popliner/solver.h"

/* True if the tokens come first, for a method that has objectives. */
bool pl_tokens_lead(const popliner_solver_options *options);

/* True if the options and costs are such that tokens may lead. */
bool pl_tokens_are_asked_of(const popliner_solver_options *options, const popliner_costs *costs);

/* True if some IPU that may be used has no limit. O(limits^2), with a
 * device map O(stages * limits). */
bool pl_tokens_lack_limit(const popliner_solver_options *options);

/* Fills an empty plan, as pl_solve does, with the best by the objectives. */
typedef popliner_status pl_solve_function(const popliner_costs *costs,
                                          const popliner_solver_options *options,
                                          popliner_plan *plan, popliner_error *error);

/* Fills an empty plan with the one for the most tokens that `solve` finds; among the splits that
 * hold these, the best by the other objectives, or, without any, the one of the least memory with
 * these tokens. Calls it some 60 times. Errors: USAGE, MEMORY, those of `solve`. */
popliner_status pl_tokens_solve(const popliner_costs *costs, const popliner_solver_options *options,
                                pl_solve_function *solve, popliner_plan *plan,
                                popliner_error *error);

#endif
