/* What may be asked of a split: a row for each kind of constraint.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_CONSTRAINT_H
#define PL_SOLVE_CONSTRAINT_H

#include "solve/options.h"

enum { PL_ANY_IPU = -1, PL_NO_IPU = -2 };

/* What constraints come to, for a problem. */
typedef struct pl_rules {
    size_t min_stages;
    size_t max_stages;
    bool is_mapped;
    size_t min_units;
    size_t max_units;
    popliner_cut_rule *cuts; /* [num_units] */
    int64_t *unit_ipu;       /* [num_units] where each has to be, or PL_ANY_IPU */
} pl_rules;

/* Zero-initialise; the caller frees the items. */
typedef struct pl_constraints {
    popliner_constraint *items;
    size_t count;
    size_t capacity;
    bool failed; /* memory was short */
} pl_constraints;

typedef struct pl_constraint_kind {
    const char *name;  /* of popliner_option_names, if callers give no other */
    const char *words; /* behind it: %N a number, %U a unit, %V the second one, %I an IPU */
    bool is_number;    /* of units, which may be a little different instead */
    bool may_go;       /* it may be left out alone */
    bool is_of_ipu;    /* it says what is on one IPU, wherever stages are */
    /* Appends those of the options; NULL if another kind's does. */
    void (*list)(pl_constraints *list, const popliner_solver_options *options, size_t num_units);
    /* NULL: see pl_problem. */
    void (*apply)(pl_rules *rules, const popliner_constraint *constraint);
    /* Takes it out of options that have it; NULL if it must not go. */
    void (*leave_out)(pl_owned_options *own, const popliner_constraint *constraint);
} pl_constraint_kind;

/* The row of a kind that there is. */
const pl_constraint_kind *pl_constraint_of(popliner_constraint_kind kind);

/* The constraints of some options, one by one, so that each can be left out to see whether it is
 * needed for a contradiction: the number of stages, min_units and max_units, then each required or
 * forbidden cut, each pair, each placement. The caller frees list->items. Errors: MEMORY. */
popliner_status pl_constraints_list(const popliner_costs *costs,
                                    const popliner_solver_options *options, pl_constraints *list,
                                    popliner_error *error);

#endif
