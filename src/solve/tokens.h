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

/* Checks options that tokens lead. Errors: USAGE. */
popliner_status pl_tokens_check(const popliner_costs *costs, const popliner_solver_options *options,
                                popliner_error *error);

/* Tells whether some split of a table fits. Sets *is_stopped if it could not end. */
typedef popliner_status pl_tokens_function(void *user, const popliner_costs *grown, bool *does_fit,
                                           bool *is_stopped, popliner_error *error);

/* Finds the most tokens that fit, and a bound, which is equal unless a search was stopped. The
 * costs must fit, and their units grow. Errors: MEMORY, those of `fits`, which is called some 60
 * times. */
popliner_status pl_tokens_find(const popliner_costs *costs, pl_tokens_function *fits, void *user,
                               const popliner_solver_options *options, uint64_t *tokens,
                               uint64_t *bound, popliner_error *error);

/* Like pl_solve, for the most tokens; among the splits that hold these, the best by the other
 * objectives, or, without any, the one of the least memory with these tokens. */
popliner_status pl_tokens_solve(const popliner_costs *costs, const popliner_solver_options *options,
                                popliner_plan *plan, popliner_error *error);

#endif
