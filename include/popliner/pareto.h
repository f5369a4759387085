/* popliner: all best compromises between two objectives.
 *
 * A split is dominated if another one is no worse in both objectives and better in one. The best
 * compromises are the values of the splits that no other dominates: their Pareto front.
 *
 * Threads: compromises do not change, and any number of threads may read them at once. The table
 * is used as popliner/costs.h says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PARETO_H
#define POPLINER_PARETO_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Points, each with its split. Owned by the caller that solved; free with popliner_pareto_free. */
typedef struct popliner_pareto popliner_pareto;

typedef struct popliner_pareto_summary {
    /* By the first objective from the smallest value to the largest, so by the second one from the
     * largest to the smallest. A plan is OPTIMAL; or FEASIBLE if it was not proven: something may
     * dominate it. Its bounds are those of the splits with less of the second objective than the
     * point before. */
    const popliner_plan *const *plans; /* [num_points] */
    size_t num_points; /* with none, and not stopped: popliner_solve says why nothing fits */
    /* It is proven that these points are all, and each of them that nothing dominates it. */
    bool is_complete;
    bool is_stopped; /* the time was up, or the caller wanted it to end */
    popliner_objective objectives[2];
} popliner_pareto_summary;

/* As long as the points. O(1). */
const popliner_pareto_summary *popliner_pareto_get_summary(const popliner_pareto *pareto);

/* NULL is fine. */
void popliner_pareto_free(popliner_pareto *pareto);

/* Finds every pair of values of the first two objectives that no split within all limits and
 * constraints dominates, and for each pair the split that popliner_solve would choose among those
 * that have it: by the objectives behind the first two, then by the earliest cuts. BALANCE is what
 * it is in such a list of objectives.
 *
 * The options are those of popliner_solve, and the costs of a profile those of
 * popliner_analysis_costs; the time limit is for all points together. When time is up, or
 * should_stop returns true, the points are those that are known; the last of them may be FEASIBLE.
 *
 * The method is that of a limit on the second objective (the epsilon-constraint method, Haimes,
 * Lasdon and Wismer, 1971): the best split by one objective after the other, then the same with
 * less of the second one, until there is none.
 *
 * The caller frees *pareto. Errors: as popliner_solve; also USAGE for less than two objectives, for
 * slack, and for the method GREEDY. Cost: that of popliner_solve for each point and once more. */
popliner_status popliner_pareto_solve(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      popliner_pareto **pareto, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
