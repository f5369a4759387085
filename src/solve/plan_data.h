/* What a plan is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PLAN_DATA_H
#define PL_SOLVE_PLAN_DATA_H

#include "popliner/solver.h"

/* Zero-initialise before the first use; free with pl_plan_clear. */
struct popliner_plan {
    popliner_plan_status status;
    popliner_plan_stage *stages; /* owned */
    size_t num_stages;
    size_t num_units; /* of the costs; 0 where the plan tells of no unit */
    bool is_stopped;

    uint64_t peak_bytes;
    uint64_t cycles;
    uint64_t cut_bytes;
    uint64_t spread;
    size_t num_ipus;

    popliner_plan_value values[POPLINER_NUM_OBJECTIVES];
    size_t num_values;

    popliner_infeasibility infeasibility;
    popliner_proof proof; /* see popliner_plan_summary */

    popliner_plan_summary summary; /* of the above, by pl_plan_summarise */
};

/* A plan without stages, of which nothing is known: INFEASIBLE, and why is UNKNOWN. Errors:
 * MEMORY. */
popliner_status pl_plan_create_empty(bool is_stopped, popliner_plan **plan, popliner_error *error);

/* Frees what the plan owns and makes it empty. NULL is fine. */
void pl_plan_clear(popliner_plan *plan);

/* Fills the summary from all else. It points into the plan, so a plan that was copied needs another
 * one. */
void pl_plan_summarise(popliner_plan *plan);

/* popliner_solve into a plan that is empty, by any method but GREEDY, of options that are
 * complete. */
popliner_status pl_solve(const popliner_costs *costs, const popliner_solver_options *options,
                         popliner_plan *plan, popliner_error *error);

/* "none", "dynamic_program", ...; NULL for a proof that there is not. */
const char *pl_proof_name(popliner_proof proof);

#endif
