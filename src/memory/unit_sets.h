/* Sets of units, each distinct one kept once: which units touch a variable, run a program, or need
 * a vertex type. Most things belong to one or two units, and a handful of sets serves millions of
 * variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_SETS_H
#define PL_MEMORY_UNIT_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"

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

#endif
