/* Minimises one objective after another, each without worsening the earlier ones.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SEARCH_H
#define PL_SOLVE_SEARCH_H

#include "solve/plan.h"
#include "solve/shared/shared.h"

typedef struct pl_search pl_search;

/* Finds the best split for the goal within limits, which are not those of a spread, by
 * oracle_user. Sets search->found, is_least, and is_stopped if it could not end. *split is empty,
 * and stays empty if there is none. */
typedef popliner_status pl_oracle(pl_search *search, const pl_limits *limits, pl_goal goal,
                                  pl_split *split, popliner_error *error);

/* Zero-initialise all but the first three members; free with pl_search_free. */
struct pl_search {
    const pl_problem *problem;
    const pl_stop *stop;
    pl_filter filter; /* the limits, and the objectives so far */
    pl_shared shared;
    pl_split split;             /* the best known split within the filter; empty: none */
    pl_objective_values values; /* of the split */
    bool by_cycles;             /* stages that choose do so for the fewest cycles */
    bool uses_programs;         /* solve by integer programs only */
    bool is_claim;              /* the split is said to be the best */
    pl_oracle *oracle; /* of stages that are not those of a chain with an IPU each; or NULL */
    void *oracle_user;
    pl_objective_values found; /* of the last split of the oracle */
    bool is_least;             /* no split has less of the maximum that by_cycles tells */
    popliner_proof proof;      /* of the last answer of pl_search_find */
    bool is_stopped;
    bool is_unproven;   /* a better one may exist: a search gave up */
    bool is_proven;     /* no split is better, though an equally good one may have earlier cuts */
    uint64_t most_work; /* where stages share IPUs: it ends when shared.work is this; 0: usual */
    uint64_t known_bounds[POPLINER_NUM_OBJECTIVES]; /* no split within the filter has less */
};

void pl_search_free(pl_search *search);

/* Finds a split within `filter` by a suitable method; where stages share IPUs any, whatever the
 * goal. *split must be empty, and stays empty if there is none, or if the search was stopped or
 * gave up, which is_stopped tells. Errors: MEMORY, INTERNAL, those of shared peaks. */
popliner_status pl_search_find(pl_search *search, const pl_filter *filter, pl_goal goal,
                               pl_split *split, popliner_error *error);

/* Returns the value of an objective for the best known split. */
uint64_t pl_search_value(const pl_search *search, popliner_objective objective);

/* Improves search->split to the best by the objectives, then by the earliest cuts, or, where stages
 * share IPUs, towards even loads. Fills plan->values. is_stopped means that not all values are
 * proven. Errors: those of pl_search_find. */
popliner_status pl_search_optimise(pl_search *search, const popliner_objective *objectives,
                                   size_t num_objectives, popliner_plan *plan,
                                   popliner_error *error);

/* ---- one problem, one or several searches ---- */

/* Zero-initialise; free with pl_solving_end. Must not move. Borrows costs and options. */
typedef struct pl_solving {
    pl_problem problem;
    pl_stop stop;
    pl_search search;
    const popliner_objective *objectives;
    size_t num_objectives;
    bool asks_glpk; /* GLPK may choose the split */
} pl_solving;

/* Checks the options, which must be complete, and prepares the problem. The time limit starts here.
 * The filter of the search is that of the limits. Errors: USAGE, MEMORY. */
popliner_status pl_solving_begin(pl_solving *solving, const popliner_costs *costs,
                                 const popliner_solver_options *options, popliner_error *error);
void pl_solving_end(pl_solving *solving);

/* Finds the best split within the search's filter, and adds the limits that the objectives became
 * to the filter. The plan must be empty, and stays empty if there is no such split or the search
 * was stopped before it found one. Errors: MEMORY, INTERNAL, those of shared peaks. */
popliner_status pl_solving_find(pl_solving *solving, popliner_plan *plan, popliner_error *error);

/* ---- who chooses ---- */

/* Lets GLPK choose the split, where the dynamic program has proven the plan's values, or that
 * nothing fits. Its values are claims; GLPK's split becomes that of the search, and the plan's
 * proofs BOTH_PROGRAMS, if it has the same best values. *is_chosen is false, and all stays as it
 * is, if the options want no second proof, if stages share IPUs, without GLPK, or if the programs
 * are larger, or take more work, than GLPK does in about half a second; both are counted, not
 * timed, so that who chooses depends on the question alone. Errors: INTERNAL if a value differs;
 * MEMORY. */
popliner_status pl_choose_by_programs(pl_solving *solving, popliner_plan *plan, bool *is_chosen,
                                      popliner_error *error);

#endif
