/* The best split by integer programs alone, where no stages share an IPU: one program for each
 * objective, solved by GLPK, which knows nothing of what the dynamic program found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STRAIGHT_PROGRAMS_H
#define PL_SOLVE_STRAIGHT_PROGRAMS_H

#include "popliner/listener.h"
#include "solve/dynamic_program.h"

typedef struct pl_straight_programs {
    const pl_problem *problem;
    const pl_filter *filter;
    const pl_stop *stop;
    const popliner_listener *listener; /* may be NULL */
} pl_straight_programs;

/* What became of a search for the smallest value. */
typedef struct pl_straight_answer {
    uint64_t bound;   /* no split within the filter has a smaller value */
    bool is_stopped;  /* time was up, or the caller wanted it to end */
    bool is_unproven; /* GLPK could not tell the best from others by a few bytes */
} pl_straight_answer;

/* Finds a split within the filter. *split must be empty, and stays so if there is none or
 * *is_stopped becomes true. Errors: MEMORY; INTERNAL, also where the program becomes too large. */
popliner_status pl_straight_find(const pl_straight_programs *asked, pl_split *split,
                                 bool *is_stopped, popliner_error *error);

/* Makes *split, which is one within the filter, the best by an objective. What is above its value,
 * or above that of stages filled one after another, is left out of the programs. The value is
 * computed in integers; once it is known, a second program has to show that there is nothing below
 * it. Errors: as above. */
popliner_status pl_straight_minimise(const pl_straight_programs *asked,
                                     popliner_objective objective, pl_split *split,
                                     pl_straight_answer *answer, popliner_error *error);

/* Makes *split the one with the earliest cuts, one cut after another. Errors: as above. */
popliner_status pl_straight_find_earliest(const pl_straight_programs *asked, pl_split *split,
                                          bool *is_stopped, popliner_error *error);

#endif
