/* A problem that is solved, once or within one filter after another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SOLVING_H
#define PL_SOLVE_SOLVING_H

#include "solve/objectives.h"

/* Zero-initialise; free with pl_solving_end. Must stay where it is. Refers to costs and options. */
typedef struct pl_solving {
    pl_problem problem;
    pl_stop stop;
    pl_search search;
    const popliner_objective *objectives;
    size_t num_objectives;
} pl_solving;

/* Checks the options, which are complete, and makes the problem ready; the time limit counts from
 * here. The filter of the search is that of the limits. Errors: USAGE, MEMORY. */
popliner_status pl_solving_begin(pl_solving *solving, const popliner_costs *costs,
                                 const popliner_solver_options *options, popliner_error *error);
void pl_solving_end(pl_solving *solving);

/* Finds the best split within the search's filter, which then has the limits that the objectives
 * became. The plan must be empty; it stays so if there is no such split, or if the search was
 * stopped before there was one. Errors: MEMORY, INTERNAL, those of shared peaks. */
popliner_status pl_solving_find(pl_solving *solving, popliner_plan *plan, popliner_error *error);

#endif
