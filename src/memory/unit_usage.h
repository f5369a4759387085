/* The units that run each program, execute each compute set and touch each variable.
 *
 * One pass over what programs touch finds the usage by operation. The usage by any units follows
 * from it, because some hundred sets of operations serve millions of variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_USAGE_H
#define PL_MEMORY_UNIT_USAGE_H

#include "base/growth.h"
#include "base/keys.h"
#include "model/operations.h"
#include "popliner/profile.h"

/* Distinct sets of operations: those that touch a variable or run a program. Most items belong to
 * one or two, and a handful of sets serves millions of variables.
 *
 * Set 0 is empty. Any other set is `rest[set]` plus one larger member `last[set]`. Iterate from the
 * largest member to the smallest with
 *
 *       for (s = set; s != 0; s = sets->rest[s]) ... sets->last[s] ... */
typedef struct pl_linked_sets {
    size_t count;
    uint32_t *rest;
    uint32_t *last; /* PL_NONE for set 0 */
    uint32_t *with; /* the set plus the member that was added to it last; 0 for none yet */
} pl_linked_sets;

/* Usage by operation. Members of the sets are the numbers of operations; num_operations is added
 * for copies from or to the host. */
typedef struct pl_operation_usage {
    size_t num_operations;
    pl_linked_sets sets;
    uint8_t *is_used;          /* [sets]: it is the set of some item; others are parts of these */
    uint32_t *program_set;     /* [num_programs] */
    uint32_t *compute_set_set; /* [num_compute_sets] */
    uint32_t *variable_set;    /* [num_variables] */
} pl_operation_usage;

/* Returns the part of a set that is no copies from or to the host. */
static inline uint32_t pl_without_copies(const pl_operation_usage *usage, uint32_t set) {
    while (set != 0 && usage->sets.last[set] >= usage->num_operations)
        set = usage->sets.rest[set];
    return set;
}

/* Finds the usage, whose arrays are in `arrays`. O(touches). */
void pl_operation_usage_find(pl_operation_usage *usage, pl_arrays *arrays,
                             const popliner_profile *profile, const pl_operations *operations);

/* Usage by unit; the sets are bits (base/keys.h), since a chain has few units. */
typedef struct pl_unit_usage {
    size_t num_units;
    const pl_operation_usage *by_operation; /* not owned */
    pl_keys sets;                           /* the distinct sets of units; set 0 is empty */
    uint32_t *units_of_set;                 /* the set of units for a set of operations */
} pl_unit_usage;

/* Returns the set of units that touch a variable. */
static inline uint32_t pl_unit_usage_of(const pl_unit_usage *usage, size_t variable) {
    return usage->units_of_set[usage->by_operation->variable_set[variable]];
}

/* Finds the usage by these units, unit_of_operation[operations]; refers to that by operation. May
 * leave out copies from and to the host where anything else touches the variable. Its arrays are in
 * `arrays`. O(sets * operations in each). */
void pl_unit_usage_find(pl_unit_usage *usage, pl_arrays *arrays,
                        const pl_operation_usage *by_operation, const uint32_t *unit_of_operation,
                        size_t num_units, bool leaves_out_copies);

#endif
