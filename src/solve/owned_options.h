/* The options of the solver as the caller set them, and copies with arrays of their own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OWNED_OPTIONS_H
#define PL_SOLVE_OWNED_OPTIONS_H

#include "popliner/solver.h"

/* Completes what the caller set (NULL: nothing) with the defaults and the marks of the costs (NULL:
 * not made yet), and its listener, if it has one, as *listener, which the options then refer to.
 * Errors: USAGE for a struct_size. */
popliner_status pl_solver_options_take(const popliner_solver_options *callers,
                                       const popliner_costs *costs, popliner_solver_options *own,
                                       popliner_listener *listener, popliner_error *error);

/* Zero-initialise; free with pl_owned_options_free. */
typedef struct pl_owned_options {
    popliner_solver_options options; /* refers to what follows; callbacks are the caller's */
    popliner_objective *objectives;
    popliner_ipu_limit *ipu_limits;
    popliner_ipu_speed *ipu_speeds;
    popliner_ipu_link *ipu_links;
    uint8_t *counted_units;
    popliner_cut_rule *cut_rules;
    popliner_pair *pairs;
    popliner_placement *placements;
    size_t *device_map;
} pl_owned_options;

/* Copies options for a chain of so many units. Errors: MEMORY. */
popliner_status pl_owned_options_copy(pl_owned_options *copy,
                                      const popliner_solver_options *options, size_t num_units,
                                      popliner_error *error);
void pl_owned_options_free(pl_owned_options *copy);

#endif
