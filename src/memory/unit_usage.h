/* Who uses what: the units that run each program, execute each compute set and touch each variable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_USAGE_H
#define PL_MEMORY_UNIT_USAGE_H

#include "memory/account.h"
#include "memory/unit_sets.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

typedef struct pl_unit_usage {
    size_t num_units;
    pl_unit_sets sets;
    uint32_t *program_set;     /* [num_programs] */
    uint32_t *compute_set_set; /* [num_compute_sets] */
    uint32_t *variable_set;    /* [num_variables] */
} pl_unit_usage;

/* Finds out for operations of which each belongs to one of num_units units:
 * unit_of_operation[operations]. Zero-initialise before, free with pl_unit_usage_free. `account`
 * says which touches count; NULL: all do. Errors: MEMORY. O(touches). */
popliner_status pl_unit_usage_find(pl_unit_usage *usage, const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const uint32_t *unit_of_operation, size_t num_units,
                                   const pl_account *account, popliner_error *error);
void pl_unit_usage_free(pl_unit_usage *usage);

#endif
