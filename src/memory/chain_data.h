/* What a chain is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CHAIN_DATA_H
#define PL_MEMORY_CHAIN_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fields.h"
#include "memory/memory_model.h"
#include "model/layers.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

struct popliner_chain {
    const popliner_profile *profile; /* what it is made of: none of the next three is owned */
    const popliner_operations *operations;
    const popliner_layers *layers;
    const pl_memory_model *model;
    size_t num_units;
    popliner_unit_kind *kind;   /* [num_units] */
    size_t *layer;              /* [num_units]: its number in `layers`, 0 for a unit that is none */
    popliner_chain_unit *units; /* [num_units], as they are handed out; made of these two */
    size_t num_operations;
    uint32_t *unit_of_operation;
    size_t *unit_operations_start; /* [num_units + 1] into unit_operation */
    size_t *unit_operation;        /* ascending within each unit */
    size_t num_steps;
    uint32_t *operation_of_step;      /* the one that it runs for, or the last one before it */
    struct pl_operation_usage *usage; /* owned; NULL if making the chain did not take it */
};

/* Makes the chain for a memory model, which says what is in it: popliner/operations.h. It refers to
 * the profile, operations and layers. Owned by the caller; free with pl_chain_free.
 * Errors: MEMORY; for FULL, USAGE if the variables are not loaded. Cost: O(steps), and for FULL one
 * pass over the variables that programs touch. */
popliner_status pl_chain_create(const popliner_profile *profile,
                                const popliner_operations *operations,
                                const popliner_layers *layers, popliner_memory_model model,
                                popliner_chain **chain, popliner_error *error);
void pl_chain_free(popliner_chain *chain);

/* The unit in place `unit` < num_units. */
static inline const popliner_chain_unit *pl_chain_unit_at(const popliner_chain *chain,
                                                          size_t unit) {
    return &chain->units[unit];
}

/* "head", "layer", "tail" or "unlayered". */
const char *pl_unit_kind_name(popliner_unit_kind kind);

/* The unit of an operation that there is. */
static inline size_t pl_chain_unit_of(const popliner_chain *chain, size_t operation) {
    return chain->unit_of_operation[operation];
}

/* Whether the unit has any operation. */
bool pl_chain_has_operations(const popliner_chain *chain, size_t unit);

/* The arrays that a stored chain has, of which there must be room for three; returns how many. All
 * others follow from them. */
size_t pl_chain_fields(popliner_chain *chain, pl_field *fields);

/* Completes a chain whose memory model and whose arrays above are known; *is_right is whether they
 * belong to these operations and layers. Errors: MEMORY. */
popliner_status pl_chain_complete(popliner_chain *chain, const popliner_profile *profile,
                                  const popliner_operations *operations,
                                  const popliner_layers *layers, bool *is_right,
                                  popliner_error *error);

/* Whether both have the same units and the same operations in each. Cost: O(operations). */
bool pl_chain_is_same(const popliner_chain *chain, const popliner_chain *other);

/* The first unit whose data counts: what is in no layer, if that is a unit, is unit 0. */
static inline uint32_t pl_chain_first_data_unit(const popliner_chain *chain) {
    return chain->kind[0] == POPLINER_UNIT_UNLAYERED ? 1 : 0;
}

/* Whether the layer of an operation is but a guess from what follows it. */
static inline bool pl_layer_is_guess(const popliner_layers *layers, size_t operation) {
    return pl_layer_at(layers, operation)->rule == POPLINER_LAYER_RULE_FOLLOWING;
}

/* All that the chain depends on beside the profile: the unit of the operation in `layers`, and
 * whether that is but a guess. Two assignments with the same keys have the same chain. */
uint32_t pl_layer_key(const popliner_layers *layers, size_t operation);

/* Marks the IPUs of the profile on which operations of the stages compute, in
 * is_used[target.num_ipus], which is 0; where that is not known, all of them. Returns how many are
 * marked. A stage of more than one was never compiled for one IPU: no tile tells what it would need
 * there. O(steps * runs of their vertices); of a profile of one IPU O(1). */
size_t pl_stage_ipus_mark(const popliner_chain *chain, const popliner_interval *stages,
                          size_t num_stages, uint8_t *is_used);

/* How many there are. Errors: MEMORY. */
popliner_status pl_stage_ipus_count(const popliner_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error);

#endif
