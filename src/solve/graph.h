/* The question that is asked of a graph, for a search over its down-sets.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_GRAPH_H
#define PL_SOLVE_GRAPH_H

#include "costs/unit_graph.h"
#include "solve/plan.h"

/* Returns the unit at each place of the chain, for free(); NULL when memory is short. */
uint32_t *pl_graph_units_at(const pl_graph_chain *graph);

/* Returns a number that two questions of one graph share if they ask the same, however its units
 * are put in order; 0 if the search over down-sets cannot answer it. `options` are complete. */
uint64_t pl_graph_question(const popliner_costs *costs, const popliner_solver_options *options);

/* Says in the plan, which popliner_solve makes of these costs, what is known of their graph. Errors:
 * INTERNAL if that contradicts the plan. */
popliner_status pl_graph_tell(const popliner_costs *costs, const popliner_solver_options *options,
                              popliner_plan *plan, popliner_error *error);

#endif
