/* popliner: stages that choose how they recompute, together with the cuts.
 *
 * A file of costs may list several ways of running a unit or an interval, each with its memory,
 * stash and cycles: less of the one for more of the other. With POPLINER_RECOMPUTE_AUTO each stage
 * (and in it each unit that has variants) chooses, so that memory and cycles are as small as they
 * can be together. Other costs have a table for each way. (Of a profile popliner_analysis_solve
 * makes them.)
 *
 * Threads: answers do not change, and any number of threads may read them at once. The tables
 * are used as popliner/costs.h says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_VARIANTS_H
#define POPLINER_VARIANTS_H

#include <stddef.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owned by the caller; free with popliner_variants_answer_free. */
typedef struct popliner_variants_answer popliner_variants_answer;

/* As popliner_solve, for a file that was read with POPLINER_RECOMPUTE_AUTO: no split with any
 * choices is better in the objectives, one after another. Each stage then makes the choice with
 * the fewest cycles that its limit of memory, and the value of MEMORY if that is an objective,
 * leave; so nothing is recomputed without need. BALANCE, a slack, stages that share an IPU and the
 * greedy algorithm are refused. options->time_limit_seconds is that of the whole search.
 * Errors: USAGE (also for a file that was read with another way of recomputing), INPUT for more
 * than 2^22 compromises of one stage, and those of popliner_solve.
 * Cost: a table and a solve for each number of cycles that is tried, about 40. */
popliner_status popliner_variants_solve(const popliner_costs_file *file,
                                        const popliner_solver_options *options,
                                        popliner_variants_answer **answer, popliner_error *error);

/* The same for stages that may be run in any of several ways, each with a table of costs: of the
 * same chain, with the peaks and cycles that stages have then, wherever they stand. The cuts are
 * those of costs[0]. Of equal ways the first is chosen; texts of the answer are names[num_ways].
 * Of a plan that is INFEASIBLE each stage has the least peak that it can have. Errors: USAGE, also
 * where costs[num_ways] are of different lengths, or only some have cycles; those of
 * popliner_solve. Cost: as above. */
popliner_status popliner_variants_solve_costs(const popliner_costs *const *costs,
                                              const char *const *names, size_t num_ways,
                                              const popliner_solver_options *options,
                                              popliner_variants_answer **answer,
                                              popliner_error *error);

/* Gives the plan away, whose stages have the peaks and cycles of their choices; NULL from the
 * second time on. */
popliner_plan *popliner_variants_take_plan(popliner_variants_answer *answer);

/* The choices of the stages: "none", "full" (all is recomputed, the inputs are kept), the name of
 * an interval's variant, or those of units that are not as they are, "u=NAME,...". One for each
 * stage of the plan; lives as long as the answer. */
const char *const *popliner_variants_texts(const popliner_variants_answer *answer);

/* NULL is fine. */
void popliner_variants_answer_free(popliner_variants_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
