/* The options of the solver: defaults, checks, copies and names.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OPTIONS_H
#define PL_SOLVE_OPTIONS_H

#include "popliner/solver.h"

/* Completes the caller's options (NULL: none) by the costs (NULL: pl_solver_options_complete does
 * so later). Copies their listener to *listener and makes *own refer to it. Errors: USAGE for a
 * wrong struct_size. */
popliner_status pl_solver_options_take(const popliner_solver_options *callers,
                                       const popliner_costs *costs, popliner_solver_options *own,
                                       popliner_listener *listener, popliner_error *error);

/* Sets the counted units and what is usual for the costs, where options do not say it. */
void pl_solver_options_complete(popliner_solver_options *options, const popliner_costs *costs);

/* Sets the objective, if there is none, where IPUs have different limits: the least peak would
 * leave the large ones empty, so the tokens that fit matter, or the free memory. `costs` may be
 * NULL: there are no tokens. O(number of limits). */
void pl_solver_options_choose_by_room(popliner_solver_options *options,
                                      const popliner_costs *costs);

/* Zero-initialise; free with pl_owned_options_free. */
typedef struct pl_owned_options {
    popliner_solver_options options; /* its lists are owned; callbacks are the caller's */
} pl_owned_options;

/* Copies options for a chain of num_units units. Free with pl_owned_options_free. Errors:
 * MEMORY. */
popliner_status pl_owned_options_copy(pl_owned_options *copy,
                                      const popliner_solver_options *options, size_t num_units,
                                      popliner_error *error);
void pl_owned_options_free(pl_owned_options *copy);

/* Checks complete options for a chain of num_units units: enumerators are valid, lists have their
 * items, units and IPUs are in range, and no item appears twice. `costs` (NULL: not made yet) must
 * have what the options need. Conflicting constraints are no error: a solve reports them. Errors:
 * USAGE, with the name of the option; MEMORY. O(units + items * log(items)). */
popliner_status pl_options_check(const popliner_solver_options *options, size_t num_units,
                                 const popliner_costs *costs, popliner_error *error);

/* True if the device map puts several stages on one IPU. O(stages^2). */
bool pl_options_share_an_ipu(const popliner_solver_options *options);

/* The numbers that a list has by IPU. Borrowed from the options. */
typedef struct pl_ipu_numbers {
    const char *name; /* of the options: "ipu_speeds" */
    const char *key;  /* of certificates: "ipu_speed" */
    uint64_t unit;    /* what 1 is there */
    size_t count;
    const popliner_ipu_value *items;
} pl_ipu_numbers;

/* Fills *numbers with one of the lists that have a number by IPU; false after the last. */
bool pl_ipu_numbers_at(const popliner_solver_options *options, size_t which,
                       pl_ipu_numbers *numbers);

/* Sets *names to the caller's names (may be NULL), with defaults for those that are NULL. Errors:
 * USAGE for a wrong struct_size. */
popliner_status pl_option_names_take(const popliner_option_names *callers,
                                     popliner_option_names *names, popliner_error *error);

/* Returns the name of a member of the options for messages: the caller's, or `member`. */
const char *pl_option_name(const popliner_solver_options *options, const char *member);

#define PL_OPTION(options, member) pl_option_name(options, #member)

/* Checks that stages can choose their recomputation with these complete options. Errors: USAGE. */
popliner_status pl_variants_check_options(const popliner_solver_options *options,
                                          popliner_error *error);

#endif
