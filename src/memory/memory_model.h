/* The rules of a memory model: one table for each model, in its own file, which all other code
 * reads. To add a model, add such a file, and a row in chain.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_MEMORY_MODEL_H
#define PL_MEMORY_MEMORY_MODEL_H

#include "base/growth.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

typedef struct pl_chain pl_chain;
struct pl_vertex_kinds;

/* The place of an operation after all layers, while a chain is made. Operations before all layers,
 * or in none, have place 0; layers have their number. */
static const uint32_t PL_PLACE_TAIL = UINT32_MAX - 1;

typedef struct pl_memory_model {
    popliner_memory_model id;
    const char *name; /* in reports */

    /* ---- The chain ---- */

    /* Unit 0 holds the operations in no layer, wherever they run. Its data is assumed to be spread
     * over all IPUs and counts in no stage. Otherwise the chain has a head and a tail. */
    bool has_unlayered_unit;

    /* Sets the unit of every operation of a chain without units to its place. */
    void (*place_operations)(pl_chain *chain);

    /* ---- Code and vertex state ---- */

    /* Merges the kinds of types that count as one; at first each vertex type has its own. NULL:
     * none do. `arrays` tell that memory was short. */
    void (*merge_vertex_types)(struct pl_vertex_kinds *kinds, pl_arrays *arrays,
                               const popliner_profile *profile);

    /* The state of a compute set is the compiler's figure, if there is one. Otherwise it is
     * instances times the size of their type. */
    bool takes_told_state;

    /* The state of a compute set counts for every program that executes it. */
    bool repeats_state;

    /* ---- Data ---- */

    /* Unattributed memory is in every stage, and no stage has more code than the compiler counts;
     * see memory/account.h. */
    bool follows_account;
} pl_memory_model;

extern const pl_memory_model pl_popliner_model;
extern const pl_memory_model pl_full_model;

/* Returns the rules of a model, which are static; NULL if there is no such model. */
const pl_memory_model *pl_memory_model_find(popliner_memory_model id);

#endif
