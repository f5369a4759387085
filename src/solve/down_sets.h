/* The best contiguous partition of a graph of units: a dynamic program over its down-sets, as in
 * Tarnawski et al. 2020.
 *
 * A down-set contains, with a unit, all units that it depends on. The units of the first k stages
 * are one, so a partition is a path of growing down-sets, and a stage is the difference of two.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_DOWN_SETS_H
#define PL_SOLVE_DOWN_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "costs/unit_graph.h"
#include "popliner/solver.h"
#include "solve/plan.h"
#include "solve/stop.h"

/* Which partitions are allowed. Pairs and placements are by unit of the graph. */
typedef struct pl_graph_rules {
    const pl_problem *problem; /* of a chain of the graph */
    const pl_unit_graph *units;
    bool traffic_takes_cycles;
    size_t *place_of_unit;      /* [units] the stage that must have it; SIZE_MAX: any; NULL: none */
    popliner_constraint *pairs; /* units of one stage, as many as the options have */
} pl_graph_rules;

/* Steps that several searches may still spend. */
typedef struct pl_graph_budget {
    const pl_stop *stop;
    uint64_t steps;       /* units that are added to a stage; some nanoseconds each */
    size_t num_down_sets; /* the most that one search stored */
    bool is_over;         /* the last search ended early */
} pl_graph_budget;

/* Sets stage_of_unit[units] to the best partition within the limits, and *num_stages; to 0 if there
 * is none, or the budget is over. For PL_GOAL_ANY that is the one with the smallest maximum, of
 * cycles or bytes, where cut bytes have no limit. Errors: MEMORY. */
popliner_status pl_down_sets_search(const pl_graph_rules *rules, const pl_limits *limits,
                                    pl_goal goal, bool by_cycles, pl_graph_budget *budget,
                                    uint32_t *stage_of_unit, size_t *num_stages,
                                    popliner_error *error);

/* Computes the values of a partition by the edges of its units. Errors: MEMORY. */
popliner_status pl_graph_evaluate(const pl_graph_rules *rules, const uint32_t *stage_of_unit,
                                  size_t num_stages, pl_objective_values *values,
                                  popliner_error *error);

/* ---- the question that is asked of a graph ---- */

/* Returns the unit at each place of the chain, for free(); NULL when memory is short. */
uint32_t *pl_graph_units_at(const pl_graph_chain *graph);

/* Returns a number that two questions of one graph share if they ask the same, however its units
 * are put in order; 0 if the search over down-sets cannot answer it. `options` are complete. */
uint64_t pl_graph_question(const popliner_costs *costs, const popliner_solver_options *options);

/* Says in the plan, which popliner_solve makes of these costs, what is known of their graph.
 * Errors: INTERNAL if that contradicts the plan. */
popliner_status pl_graph_tell(const popliner_costs *costs, const popliner_solver_options *options,
                              popliner_plan *plan, popliner_error *error);

#endif
