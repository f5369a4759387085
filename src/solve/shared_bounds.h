/* How good a split can be at all where stages share IPUs: bounds that take no search.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SHARED_BOUNDS_H
#define PL_SOLVE_SHARED_BOUNDS_H

#include "solve/plan.h"
#include "solve/shared_stages.h"

enum { PL_MOST_HINTS = 8 };

/* What a relaxation tells. Zero-initialise; free with pl_shared_bound_clear. */
typedef struct pl_shared_bound {
    uint64_t bound;                /* no split within the filter has a smaller value */
    pl_split hints[PL_MOST_HINTS]; /* splits that the relaxations chose; good ones to begin with */
    size_t num_hints;
} pl_shared_bound;

void pl_shared_bound_clear(pl_shared_bound *bound);

/* What an IPU needs for a stage, at least, beside the others there: the sum over its stages is
 * never more than what it needs for all of them. For the objectives MEMORY and CYCLES. */
uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const popliner_interval *stage, size_t num_stages_on_ipu);

/* How many stages are on the IPU of this one. */
size_t pl_num_on_ipu(const pl_problem *problem, size_t stage);

/* Bounds the objective of the splits within the filter of which a better one than `known` (or
 * UINT64_MAX) is asked for: the bound is at most `known`, and equal to it only if there is none.
 * For MEMORY, CYCLES and TRAFFIC; 0 for the others. Takes about `seconds`. Errors: MEMORY.
 *
 * Four relaxations; of each IPU only what pl_least_load tells:
 *   - of TRAFFIC: stages as if each had an IPU of its own, by the dynamic program;
 *   - the same for the largest: stages have to be no larger than what their IPU may need;
 *   - as many units as fit on an IPU, whichever they are: all IPUs together have to hold the chain.
 *     With equal layers that is the optimum;
 *   - Lagrange: each IPU gets a weight, together 1; the smallest weighted sum over all stages is a
 *     bound, whatever the weights, which are made heavier where there is too much. */
popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known, double seconds,
                                     pl_shared_bound *bound, popliner_error *error);

#endif
