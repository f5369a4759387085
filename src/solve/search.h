/* One objective after another: each is made as small as possible within the best for those before
 * it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SEARCH_H
#define PL_SOLVE_SEARCH_H

#include "solve/plan.h"
#include "solve/shared/shared.h"

/* Zero-initialise but for the first three; free with pl_search_free. */
typedef struct pl_search {
    const pl_problem *problem;
    const pl_stop *stop;
    pl_filter filter; /* what is known to be kept: the limits, and the objectives so far */
    pl_enumeration enumeration;
    pl_shared shared;
    pl_room room;
    bool has_room;              /* it was made */
    uint64_t open_bytes;        /* a limit that it could not rule out */
    pl_split split;             /* the best known within the filter; empty: none */
    pl_objective_values values; /* of the split */
    bool uses_programs;         /* integer programs alone are asked */
    popliner_proof proof;       /* what the last answer of pl_search_find rests on */
    bool is_stopped;
    bool is_unproven;     /* GLPK could not tell the best from others by a few bytes */
    bool is_proven;       /* no split is better, though one that is as good may have earlier cuts */
    uint64_t known_bound; /* of the first objective: no split within the filter has less */
    double next_told_seconds; /* when the gap is told again */
} pl_search;

void pl_search_free(pl_search *search);

/* Looks for a first split within search->filter that is good for the objective, and puts it into
 * search->split. Empty if there is none, or the search was stopped. Errors: MEMORY, INTERNAL, those
 * of shared peaks. */
popliner_status pl_search_begin(pl_search *search, popliner_objective objective,
                                popliner_error *error);

/* Finds a split within `filter` and the problem, by the method that fits. *split must be empty, and
 * stays so if there is none or the search was stopped. *bound (may be NULL) becomes 0 if nothing is
 * known; with a split for the goal FEWEST_CUT_BYTES, what none has fewer than; without a split, the
 * peak that one has at least. Errors: MEMORY, INTERNAL, those of shared peaks. */
popliner_status pl_search_find(pl_search *search, const pl_filter *filter, pl_goal goal,
                               pl_split *split, uint64_t *bound, popliner_error *error);

/* What the best known split has of an objective. */
uint64_t pl_search_value(const pl_search *search, popliner_objective objective);

/* Starts from search->split and makes it the best by the objectives, then by the earliest cuts.
 * Fills plan->values; is_stopped says that they are not all proven. Errors: as above. */
popliner_status pl_search_optimise(pl_search *search, const popliner_objective *objectives,
                                   size_t num_objectives, popliner_plan *plan,
                                   popliner_error *error);

/* ---- once or several times ---- */

/* A problem that is solved, once or within one filter after another. */

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
