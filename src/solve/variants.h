/* What is asked of the search for what stages recompute, before there are costs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_VARIANTS_H
#define PL_SOLVE_VARIANTS_H

#include "popliner/solver.h"

/* Whether there is such a search for these options, which were taken. Errors: USAGE. */
popliner_status pl_variants_check_options(const popliner_solver_options *options,
                                          popliner_error *error);

#endif
