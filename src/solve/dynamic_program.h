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

/* Finds such a split; *split must be empty and stays so if there is none. With a max_spread, every
 * smallest value that a stage may have is tried. *is_stopped becomes true, and the split stays
 * empty, if that is wanted meanwhile. Errors: MEMORY, INTERNAL.
 * Cost: O(n^2 * stages) time, once for each number of stages if what a stage may be depends on its
 * IPU; O(n^2 + n * stages) memory. */
popliner_status pl_dynamic_program(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error);

/* Windows of values (peaks or cycles) that all stages of a split may lie in: every value that an
 * interval within the filter has is the smallest of one. Zero-initialise; free with
 * pl_windows_free. */
typedef struct pl_windows {
    struct pl_window_interval *intervals; /* sorted by value; owned, like the next three */
    size_t count;
    size_t capacity;
    size_t *first_of_unit; /* [units]: heads of lists in next_of_unit */
    size_t *next_of_unit;  /* [count] */
    size_t *num_stages;    /* [units + 1] */
    size_t num_units;
    size_t max_stages;
    size_t at; /* the interval whose value is the smallest of the window */
} pl_windows;

/* Errors: MEMORY. O(n^2 * places * log n); 40 bytes for each interval and place. */
popliner_status pl_windows_find(pl_windows *windows, const pl_problem *problem,
                                const pl_filter *filter, bool of_cycles, popliner_error *error);
void pl_windows_free(pl_windows *windows);

/* Goes on, from where it stands, to the next window of this width whose intervals can cover the
 * chain in as few stages as are allowed, which says nothing of other constraints. False if there is
 * none. O(n + intervals in the window) for each value that is passed. */
bool pl_windows_seek(pl_windows *windows, uint64_t width, uint64_t *min_value);

/* Leaves the window where it stands. */
void pl_windows_pass(pl_windows *windows);

#endif
