/* Dynamic programming over the chain, all in integers: the optimal values, and the one split that
 * the three criteria of popliner/solver.h single out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_DYNAMIC_PROGRAM_H
#define PL_SOLVE_DYNAMIC_PROGRAM_H

#include "solve/plan.h"

/* The smallest possible largest peak, in bytes, of a split into at most max_stages (>= 1) stages;
 * POPLINER_PEAK_FORBIDDEN when forbidden intervals leave no split. Errors: MEMORY.
 * Cost: O(n^2 * max_stages) time, O(n) memory. */
popliner_status pl_smallest_peak(const popliner_costs *costs, size_t max_stages,
                                 uint64_t *peak_bytes, popliner_error *error);

/* Of the splits into at most max_stages (>= 1) stages of peak at most peak_limit_bytes
 * (< POPLINER_PEAK_FORBIDDEN) those with the fewest cut bytes, and of these the one whose cuts come
 * earliest. *split must be empty; it stays empty when there is none. Errors: MEMORY, INTERNAL.
 * Cost: O(n^2 * stages) time, O(n * stages) memory; the stages that do not help cost nothing. */
popliner_status pl_earliest_best_split(const popliner_costs *costs, size_t max_stages,
                                       uint64_t peak_limit_bytes, pl_split *split,
                                       uint64_t *cut_bytes, popliner_error *error);

#endif
