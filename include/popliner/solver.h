/* popliner: choosing the boundaries.
 *
 * The solvers know costs and limits, not profiles: see popliner/costs.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SOLVER_H
#define POPLINER_SOLVER_H

#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_method {
    POPLINER_METHOD_ILP,                 /* GLPK, checked in integers and against the bound */
    POPLINER_METHOD_DYNAMIC_PROGRAMMING, /* exact; the oracle of the former */
} popliner_method;

typedef struct popliner_solver_options {
    popliner_method method;
    size_t max_stages;                 /* at least 1 */
    uint64_t max_stage_bytes;          /* no stage may have a larger peak */
    double time_limit_seconds;         /* for GLPK, 0 = none */
    const popliner_listener *listener; /* may be NULL */
} popliner_solver_options;

/* Chooses at most options->max_stages stages that cover the chain so that
 *   1. the largest peak of a stage is as small as possible, and at most max_stage_bytes,
 *   2. among these splits the cuts carry as few bytes as possible,
 *   3. among these the cuts come as early as possible: the sorted lists of cuts are compared
 *      element by element, and a list is before any longer one that begins with it.
 * So the answer is unique, whatever the method. When no split is within max_stage_bytes, the plan
 * is INFEASIBLE and holds the split that is best without that limit (the fewest stages, none, if
 * forbidden intervals leave no split at all).
 *
 * *plan must be empty (zeroed); the caller clears it. Errors: USAGE (max_stages 0), MEMORY,
 * INTERNAL (GLPK failed or its answer does not check; the process goes on).
 *
 * Both methods compute the optimal values by dynamic programming, which proves them. ILP has GLPK
 * find them a second time and fails if GLPK's splits have others. When GLPK meets the time limit
 * the plan rests on the dynamic program alone, as optimal as ever, and the listener gets a WARNING.
 * GLPK's own messages are passed to the listener at DEBUG.
 *
 * Cost: O(n^2 * stages) time and O(n * stages) memory besides the table; for ILP also GLPK's time
 * for two models over the intervals that an optimal answer can contain, and up to 1 GiB. */
popliner_status popliner_solve(const popliner_costs *costs, const popliner_solver_options *options,
                               popliner_plan *plan, popliner_error *error);

/* The greedy algorithm of PopLiner 1.0.0, to the letter: for at least 3, then 2, then 1 units per
 * stage, for a target of 50, 60, ... 100 % of options->max_stage_bytes, stages are filled one after
 * another with as many units as keep the peak within the target; the first attempt that places all
 * units in at most options->max_stages stages wins. Each attempt is announced to the listener.
 * Without a success the plan is INFEASIBLE and holds the stages of the last attempt, which may not
 * cover the chain and may be none.
 *
 * options->method and time_limit_seconds are ignored. cut_bytes of the plan stays 0: this solver
 * knows no costs of cuts. Errors: USAGE, MEMORY, and whatever `peak` returns. */
popliner_status popliner_solve_greedily(size_t num_units, popliner_peak_function peak, void *user,
                                        const popliner_solver_options *options, popliner_plan *plan,
                                        popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
