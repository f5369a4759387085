/* Why nothing fits, and what would be enough.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INFEASIBILITY_H
#define PL_SOLVE_INFEASIBILITY_H

#include "solve/objectives.h"

/* For a problem without a split within its limits: fills plan->infeasibility, and the best effort's
 * stages, totals and values, if there is one. The plan must be empty. Errors: MEMORY, INTERNAL,
 * those of shared peaks. */
popliner_status pl_explain_infeasibility(const pl_problem *problem, const pl_stop *stop,
                                         popliner_plan *plan, popliner_error *error);

#endif
