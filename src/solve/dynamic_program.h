/* Dynamic programming over the chain, all in integers: exact wherever stages do not share IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_DYNAMIC_PROGRAM_H
#define PL_SOLVE_DYNAMIC_PROGRAM_H

#include "solve/plan.h"
#include "solve/stage_rule.h"
#include "solve/stop.h"

/* Finds a split for the goal; *split must be empty and stays so if there is none. With a max_spread, blocks
 * of smallest values are tried: see solve/objective.h. *is_stopped becomes true, and the split stays
 * empty, if that is wanted meanwhile. Errors: MEMORY, INTERNAL.
 *
 * Cost: a row takes O(n) if needs never shrink, else as many steps as there are intervals that may
 * be that stage. There is one row for the fewest stages; one for each stage if cut bytes are
 * limited or wanted, or if what may be a stage depends on how many are to come; one more for
 * each of the first places that have a rule of their own (pl_problem_num_special), and these
 * again for each length of the pipeline if that matters, too. Memory: the rows, and what is
 * marked. */
popliner_status pl_dynamic_program(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error);

#endif
