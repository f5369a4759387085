/* Constraints of a split: a row for each kind.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_CONSTRAINT_H
#define PL_SOLVE_CONSTRAINT_H

#include "solve/options.h"

/* Zero-initialise; the caller frees the items. */
typedef struct pl_constraints {
    popliner_constraint *items;
    size_t count;
    size_t capacity;
    bool failed; /* memory was short */
} pl_constraints;

typedef struct pl_constraint_kind {
    const char *name; /* see popliner_option_names; used unless the caller has another name */
    /* what follows the name: %N a number, %U a unit, %V the second unit, %I an IPU */
    const char *words;
    /* what it asks for: also %s an "s" unless the number is 1, %D an IPU without its number, %V "0
     * to 3" and %W "0 and 1" from the unit to the second or next one */
    const char *meaning;
    /* the smallest number of units that is more than the command's default; a remedy may change
     * the number a little. 0: no number of units */
    size_t least;
    bool is_of_ipu; /* restricts which units are on one IPU, in any stage */
    /* The one number of a kind that is nothing but a number, 0 for any, is at this offset of the
     * options, and certificates have it by this key, 0 as null; 0 and NULL for other kinds. */
    size_t number;
    const char *key;
} pl_constraint_kind;

/* Returns the row of a valid kind. */
const pl_constraint_kind *pl_constraint_of(popliner_constraint_kind kind);

/* True if the constraint may be dropped alone. */
bool pl_constraint_may_go(const popliner_constraint *constraint);

/* Drops such a constraint from options that have it. */
void pl_constraint_leave_out(pl_owned_options *own, const popliner_constraint *constraint);

/* Returns the number that the options have for a kind; 0 if there is none. */
size_t pl_constraint_number(const popliner_solver_options *options, popliner_constraint_kind kind);

/* Drops options.left_out, if any, from options that were checked. Errors: USAGE, MEMORY. */
popliner_status pl_constraints_leave_out(pl_owned_options *own, size_t num_units,
                                         popliner_error *error);

/* Lists the constraints of the options one by one, so that each can be left out to see whether a
 * conflict needs it: the number of stages, min_units and max_units, then each required or forbidden
 * cut, each pair, each placement. The caller frees list->items. Errors: MEMORY. */
popliner_status pl_constraints_list(const popliner_solver_options *options, size_t num_units,
                                    pl_constraints *list, popliner_error *error);

#endif
