/* The options of the solver: completed, checked, copied, and what they are called.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OPTIONS_H
#define PL_SOLVE_OPTIONS_H

#include "popliner/solver.h"

/* Completes what the caller set (NULL: nothing) with the defaults and the marks of the costs (NULL:
 * not made yet), and its listener, if it has one, as *listener, which the options then refer to.
 * Errors: USAGE for a struct_size. */
popliner_status pl_solver_options_take(const popliner_solver_options *callers,
                                       const popliner_costs *costs, popliner_solver_options *own,
                                       popliner_listener *listener, popliner_error *error);

/* The arrays of the options, each a row of a table. */
typedef enum pl_option_list {
    PL_LIST_OBJECTIVES,
    PL_LIST_DEVICE_MAP,
    PL_LIST_COUNTED_UNITS,
    PL_LIST_CUT_RULES,
    PL_LIST_PAIRS,
    PL_LIST_PLACEMENTS,
    PL_LIST_IPU_LIMITS,
    PL_LIST_IPU_SPEEDS,
    PL_LIST_IPU_LINKS,
    PL_NUM_LISTS,
} pl_option_list;

/* Zero-initialise; free with pl_owned_options_free. */
typedef struct pl_owned_options {
    popliner_solver_options options; /* refers to what follows; callbacks are the caller's */
    void *lists[PL_NUM_LISTS];       /* NULL for those that are not given */
} pl_owned_options;

/* Copies options for a chain of so many units. Errors: MEMORY. */
popliner_status pl_owned_options_copy(pl_owned_options *copy,
                                      const popliner_solver_options *options, size_t num_units,
                                      popliner_error *error);
void pl_owned_options_free(pl_owned_options *copy);

/* Checks complete options for a chain of num_units units, before any method looks at them: every
 * enumerator exists, every list has its items, every unit and IPU is in range, and nothing is given
 * twice. `costs` is NULL where the costs are not made yet; else it also checks that they have what
 * the options need. Contradictions between constraints are no errors: a solve names them.
 * Errors: USAGE, by the name of the option; MEMORY. O(units + items log items). */
popliner_status pl_options_check(const popliner_solver_options *options, size_t num_units,
                                 const popliner_costs *costs, popliner_error *error);

/* Makes *names those of the caller (may be NULL), with the defaults in the place of those that are
 * NULL. Errors: USAGE for a struct_size. */
popliner_status pl_option_names_take(const popliner_option_names *callers,
                                     popliner_option_names *names, popliner_error *error);

/* Whether there is such a search for these options, which were taken. Errors: USAGE. */
popliner_status pl_variants_check_options(const popliner_solver_options *options,
                                          popliner_error *error);

/* The smallest memory of which so much is left; false if there is none up to INT64_MAX. */
bool pl_reserve_memory(const popliner_reserve *reserve, uint64_t limit_bytes,
                       uint64_t *memory_bytes);

#endif
