/* The names of options, complete.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OPTION_NAMES_H
#define PL_SOLVE_OPTION_NAMES_H

#include "popliner/solver.h"

/* Makes *names those of the caller (may be NULL), with the defaults in the place of those that are
 * NULL. Errors: USAGE for a struct_size. */
popliner_status pl_option_names_take(const popliner_option_names *callers,
                                     popliner_option_names *names, popliner_error *error);

#endif
