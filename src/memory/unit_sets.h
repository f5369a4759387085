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
#include "memory/full_model.h"
#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/layers.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* Set 0 is empty. Any other set is `rest[set]` and one larger unit `last_unit[set]`: walk from the
 * largest unit to the smallest with
 *     for (s = set; s != 0; s = sets->rest[s]) ... sets->last_unit[s] ...  */
typedef struct pl_unit_sets {
    size_t count;
    size_t rest_capacity;
    size_t last_capacity;
    size_t next_capacity;
    uint32_t *rest;
    uint32_t *last_unit;
    uint32_t *with_current; /* set and current_unit, or PL_NONE while not needed yet */
    uint32_t current_unit;
} pl_unit_sets;

/* False when memory is short, here and below. */
bool pl_unit_sets_begin(pl_unit_sets *sets);
void pl_unit_sets_free(pl_unit_sets *sets);

/* All additions up to the next call of this are of `unit`; units must ascend. O(sets). */
void pl_unit_sets_begin_unit(pl_unit_sets *sets, uint32_t unit);

/* Replaces *set by its union with the current unit. O(1). */
bool pl_unit_sets_add(pl_unit_sets *sets, uint32_t *set);

/* Who uses what: the units that run each program, execute each compute set and touch each variable.
 */
typedef struct pl_usage {
    size_t num_units;
    pl_unit_sets sets;
    uint32_t *program_set;     /* [num_programs] */
    uint32_t *compute_set_set; /* [num_compute_sets] */
    uint32_t *variable_set;    /* [num_variables] */
} pl_usage;

/* Finds out for the units of a chain, or for layers (unit 0: in none). Zero-initialise before, free
 * with pl_usage_free. `full` is NULL, or the full memory model, whose rule for host copies then
 * decides which units touch a variable. Errors: MEMORY. O(touches + units * operations). */
popliner_status pl_usage_of_chain(pl_usage *usage, const popliner_profile *profile,
                                  const popliner_operations *operations,
                                  const popliner_chain *chain, const pl_full_model *full,
                                  popliner_error *error);
popliner_status pl_usage_of_layers(pl_usage *usage, const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const popliner_layers *layers, popliner_error *error);

/* The same, but operations whose layer is a guess from what follows them are in none. */
popliner_status pl_usage_of_sure_layers(pl_usage *usage, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        const popliner_layers *layers, popliner_error *error);

/* The layer of an operation, 0 for one that is in none or whose layer is such a guess. */
size_t pl_sure_layer(const popliner_layers *layers, size_t operation);
void pl_usage_free(pl_usage *usage);

#endif
