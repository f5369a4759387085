/* The units that run each program, execute each compute set and touch each variable.
 *
 * One pass over what programs touch finds the usage by operation. The usage by any units follows
 * from it, because some hundred sets of operations serve millions of variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_USAGE_H
#define PL_MEMORY_UNIT_USAGE_H

#include <assert.h>

#include "base/growth.h"
#include "base/keys.h"
#include "model/operations.h"
#include "popliner/profile.h"

/* Distinct sets of operations, or of units: those that touch a variable, run a program, or need a
 * vertex type. Most items belong to one or two, and a handful of sets serves millions of
 * variables. */

/* Set 0 is empty. Any other set is `rest[set]` plus one larger unit `last_unit[set]`. Iterate from
 * the largest unit to the smallest with
 *
 *       for (s = set; s != 0; s = sets->rest[s]) ... sets->last_unit[s] ... */
typedef struct pl_unit_sets {
    pl_arrays *arrays; /* own the arrays below */
    size_t count;
    uint32_t *rest;
    uint32_t *last_unit; /* PL_NONE for set 0 */
    uint32_t *with_unit; /* the set plus the unit that was added to it last; 0 for none yet */
    uint32_t current_unit;
} pl_unit_sets;

/* Begins with the empty set. */
void pl_unit_sets_begin(pl_unit_sets *sets, pl_arrays *arrays);

/* Returns the part of a set up to a unit, itself a set: its last unit is the largest one that is
 * not above. */
static inline uint32_t pl_unit_sets_up_to(const pl_unit_sets *sets, uint32_t set, uint32_t unit) {
    while (set != 0 && sets->last_unit[set] > unit)
        set = sets->rest[set];
    return set;
}

/* Starts additions of `unit`, up to the next call; units must ascend. O(1). */
static inline void pl_unit_sets_begin_unit(pl_unit_sets *sets, uint32_t unit) {
    assert(unit >= sets->current_unit);
    sets->current_unit = unit;
}

/* Like pl_unit_sets_add, for a set to which the current unit was not added before. */
void pl_unit_sets_add_new(pl_unit_sets *sets, uint32_t *set);

/* Replaces *set by its union with the current unit; not if memory is short. O(1). */
static inline void pl_unit_sets_add(pl_unit_sets *sets, uint32_t *set) {
    if (sets->last_unit[*set] == sets->current_unit)
        return;
    if (sets->last_unit[sets->with_unit[*set]] != sets->current_unit)
        pl_unit_sets_add_new(sets, set);
    else
        *set = sets->with_unit[*set];
}

/* Usage by operation. Members of the sets are the numbers of operations; num_operations is added
 * for copies from or to the host. */
typedef struct pl_operation_usage {
    size_t num_operations;
    pl_unit_sets sets;
    uint8_t *is_used;          /* [sets]: it is the set of some item; others are parts of these */
    uint32_t *program_set;     /* [num_programs] */
    uint32_t *compute_set_set; /* [num_compute_sets] */
    uint32_t *variable_set;    /* [num_variables] */
} pl_operation_usage;

/* Returns the part of a set that is no copies from or to the host. */
static inline uint32_t pl_without_copies(const pl_operation_usage *usage, uint32_t set) {
    const size_t count = usage->num_operations;
    return count == 0 ? 0 : pl_unit_sets_up_to(&usage->sets, set, (uint32_t)count - 1);
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
