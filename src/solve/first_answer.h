/* A good split where stages share IPUs, before anything is proven: a few simple ones, improved by
 * moving cuts, with what their IPUs really need.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_FIRST_ANSWER_H
#define PL_SOLVE_FIRST_ANSWER_H

#include "solve/plan.h"
#include "solve/shared_stages.h"

/* How splits are looked for. */
typedef struct pl_first_answer_wish {
    popliner_objective objective; /* what is to be small */
    const pl_split *hints;        /* splits to begin with, of as many stages as the map has */
    size_t num_hints;
    double seconds;   /* how long at most */
    size_t num_kicks; /* how often the best one is shaken and improved again */
} pl_first_answer_wish;

/* Finds a split within the filter, and makes it small in the objective; asked->goal is not
 * looked at. Begins with *split, which is empty or within the filter; with cuts after equally many
 * units, and after equal parts of what the units need; and with the hints. The answer is none of
 * these that is worse; *split stays empty if nothing within the filter was found, which proves
 * nothing. Ends early, and quietly, when asked->stop is wanted. Errors: MEMORY, those of the shared
 * peaks. Cost: O(stages^2) tries for each improvement, each as dear as measuring the IPUs that it
 * touches. */
popliner_status pl_first_answer(const pl_shared_search *asked, const pl_filter *filter,
                                const pl_first_answer_wish *wish, pl_split *split,
                                popliner_error *error);

#endif
