/* Who uses what: the units that run each program, execute each compute set and touch each variable.
 *
 * What programs touch is gone through once, for operations. The usage of any units follows from
 * that, as long as some hundred sets of operations serve millions of variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_USAGE_H
#define PL_MEMORY_UNIT_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* Sets of units, each distinct one kept once: which units touch a variable, run a program, or need
 * a vertex type. Most things belong to one or two units, and a handful of sets serves millions of
 * variables. */

/* Set 0 is empty. Any other set is `rest[set]` and one larger unit `last_unit[set]`: walk from the
 * largest unit to the smallest with
 *     for (s = set; s != 0; s = sets->rest[s]) ... sets->last_unit[s] ...  */
typedef struct pl_unit_sets {
    size_t count;
    size_t capacity; /* of the next three */
    uint32_t *rest;
    uint32_t *last_unit; /* PL_NONE of set 0 */
    uint32_t *with_unit; /* set and the unit that was added to it last; 0 for none yet */
    uint32_t current_unit;
} pl_unit_sets;

/* False when memory is short, here and below. */
bool pl_unit_sets_begin(pl_unit_sets *sets);
void pl_unit_sets_free(pl_unit_sets *sets);

/* The part of a set up to a unit, itself a set: its last unit is the largest that is not above. */
static inline uint32_t pl_unit_sets_up_to(const pl_unit_sets *sets, uint32_t set, uint32_t unit) {
    while (set != 0 && sets->last_unit[set] > unit)
        set = sets->rest[set];
    return set;
}

static inline bool pl_unit_sets_has(const pl_unit_sets *sets, uint32_t set, uint32_t unit) {
    set = pl_unit_sets_up_to(sets, set, unit);
    return set != 0 && sets->last_unit[set] == unit;
}

/* All additions up to the next call of this are of `unit`; units must ascend. O(1). */
static inline void pl_unit_sets_begin_unit(pl_unit_sets *sets, uint32_t unit) {
    sets->current_unit = unit;
}

/* pl_unit_sets_add for a set that was not met with the current unit yet. */
bool pl_unit_sets_add_new(pl_unit_sets *sets, uint32_t *set);

/* Replaces *set by its union with the current unit. O(1). */
static inline bool pl_unit_sets_add(pl_unit_sets *sets, uint32_t *set) {
    if (sets->last_unit[*set] == sets->current_unit)
        return true;
    if (sets->last_unit[sets->with_unit[*set]] != sets->current_unit)
        return pl_unit_sets_add_new(sets, set);
    *set = sets->with_unit[*set];
    return true;
}

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

/* To which unit each operation belongs, and which touches count. */
typedef struct pl_unit_map {
    const uint32_t *unit_of_operation; /* [operations] */
    size_t num_units;
    bool leaves_out_copies; /* from and to the host, where anything else touches the same */
} pl_unit_map;

/* Finds out for the units of a map. Zero-initialise before, free with pl_unit_usage_free.
 * `by_operation`, unless it is NULL, saves to go through what programs touch, and is to stay as
 * long as the usage. Errors: MEMORY. O(touches), or O(sets * operations in each). */
popliner_status pl_unit_usage_find(pl_unit_usage *usage, const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const pl_operation_usage *by_operation, const pl_unit_map *map,
                                   popliner_error *error);
void pl_unit_usage_free(pl_unit_usage *usage);

#endif
