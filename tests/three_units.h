/* The least chain that devices which differ can be told apart on, and what is refused for it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_THREE_UNITS_H
#define PL_TESTS_THREE_UNITS_H

#include <stdbool.h>

#include "popliner/costs.h"
#include "popliner/solver.h"

/* Units of 3, 4 and 5 cycles, if it has any, of a byte each, without cuts. The caller frees it. */
popliner_costs *three_units(bool has_cycles);

/* Solving ends in USAGE with just this message, and without a plan. */
void assert_refuses(const popliner_costs *costs, const popliner_solver_options *options,
                    const char *message);

#endif
