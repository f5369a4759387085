/* The one check of what is asked of the solver.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OPTIONS_CHECK_H
#define PL_SOLVE_OPTIONS_CHECK_H

#include "popliner/solver.h"

/* Checks complete options for a chain of num_units units, before any method looks at them: every
 * enumerator exists, every list has its items, every unit and IPU is in range, and nothing is given
 * twice. `costs` is NULL where the costs are not made yet; else it also checks that they have what
 * the options need. Contradictions between constraints are no errors: a solve names them.
 * Errors: USAGE, by the name of the option; MEMORY. O(units + items log items). */
popliner_status pl_options_check(const popliner_solver_options *options, size_t num_units,
                                 const popliner_costs *costs, popliner_error *error);

#endif
