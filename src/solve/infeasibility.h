/* Why nothing fits, and what would be enough.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INFEASIBILITY_H
#define PL_SOLVE_INFEASIBILITY_H

#include "solve/objectives.h"

/* How long is looked for a better best effort and for the bytes that are enough, where stages share
 * IPUs, and for remedies: each. */
#define PL_SECONDS_FOR_REASONS 20.0

/* For a problem without a split within its limits: fills plan->infeasibility, and the best effort's
 * stages, totals and values, if there is one. The plan must be empty. max_seconds is
 * PL_SECONDS_FOR_REASONS but for tests. Errors: MEMORY, INTERNAL, those of shared peaks. */
popliner_status pl_explain_infeasibility(const pl_problem *problem, const pl_stop *stop,
                                         double max_seconds, popliner_plan *plan,
                                         popliner_error *error);

#endif
