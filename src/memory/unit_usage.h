/* Who uses what: the units that run each program, execute each compute set and touch each variable.
 *
 * What programs touch is gone through once, for operations. The usage of any units follows from
 * that, as long as some hundred sets of operations serve millions of variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_USAGE_H
#define PL_MEMORY_UNIT_USAGE_H

#include "memory/account.h"
#include "memory/unit_sets.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* Who uses what by operation. Members of the sets are the numbers of operations; num_operations
 * more where they copy from or to the host. */
typedef struct pl_operation_usage {
    size_t num_operations;
    size_t num_programs;
    size_t num_compute_sets;
    pl_unit_sets sets;
    uint8_t *is_used;          /* [sets]: it is the set of something; others are parts of these */
    uint32_t *program_set;     /* [num_programs] */
    uint32_t *compute_set_set; /* [num_compute_sets] */
    uint32_t *variable_set;    /* [num_variables] */
} pl_operation_usage;

/* Zero-initialise before, free with pl_operation_usage_free. Errors: MEMORY. O(touches). */
popliner_status pl_operation_usage_find(pl_operation_usage *usage, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        popliner_error *error);
void pl_operation_usage_free(pl_operation_usage *usage);

typedef struct pl_unit_usage {
    size_t num_units;
    pl_unit_sets sets;
    uint32_t *program_set;        /* [num_programs] */
    uint32_t *compute_set_set;    /* [num_compute_sets] */
    const uint32_t *variable_set; /* [num_variables]: of operations; see pl_unit_usage_of */
    uint32_t *units_of_set;       /* of a set of operations, the set of units */
    pl_operation_usage own;       /* empty if the usage by operation is that of somebody else */
} pl_unit_usage;

/* The set of units that touch a variable. */
static inline uint32_t pl_unit_usage_of(const pl_unit_usage *usage, size_t variable) {
    return usage->units_of_set[usage->variable_set[variable]];
}

/* Finds out for operations of which each belongs to one of num_units units:
 * unit_of_operation[operations]. Zero-initialise before, free with pl_unit_usage_free. `account`
 * says which touches count; NULL: all do. `by_operation`, unless it is NULL, saves to go through
 * what programs touch, and is to stay as long as the usage. Errors: MEMORY. O(touches), or O(sets *
 * operations in each). */
popliner_status pl_unit_usage_find(pl_unit_usage *usage, const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const pl_operation_usage *by_operation,
                                   const uint32_t *unit_of_operation, size_t num_units,
                                   const pl_account *account, popliner_error *error);
void pl_unit_usage_free(pl_unit_usage *usage);

#endif
