/* Dynamic programming over the chain, all in integers: exact wherever stages do not share IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_DYNAMIC_PROGRAM_H
#define PL_SOLVE_DYNAMIC_PROGRAM_H

#include "solve/plan.h"
#include "solve/stop.h"

/* Which of the splits that the filter admits is wanted. */
typedef enum pl_goal {
    PL_GOAL_ANY,
    PL_GOAL_FEWEST_CUT_BYTES,
    PL_GOAL_FEWEST_STAGES,
    PL_GOAL_EARLIEST_CUTS, /* see popliner/solver.h */
} pl_goal;

/* Finds such a split; *split must be empty and stays so if there is none. With a most_spread, every
 * smallest value that a stage may have is tried. *is_stopped becomes true, and the split stays empty,
 * if that is wanted meanwhile. Errors: MEMORY, INTERNAL.
 * Cost: O(n^2 * stages) time, once for each number of stages if what a stage may be depends on its
 * IPU; O(n^2 + n * stages) memory. */
popliner_status pl_dynamic_program(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error);

/* The values that the stages of the intervals within the filter can have (cycles or peaks), each
 * once, ascending. The caller frees *values. Errors: MEMORY. O(n^2 * places * log n). */
popliner_status pl_stage_values(const pl_problem *problem, const pl_filter *filter, bool of_cycles,
                                uint64_t **values, size_t *count, popliner_error *error);

#endif
