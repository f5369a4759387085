/* The contents of a chain, and the rules of memory models.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CHAIN_DATA_H
#define PL_MEMORY_CHAIN_DATA_H

#include "base/growth.h"
#include "model/layers.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* ---- Memory models --------------------------------------------------------------------------- */

typedef struct pl_chain pl_chain;

/* Returns the name of a model, in reports. */
static inline const char *pl_memory_model_name(popliner_memory_model model) {
    return model == POPLINER_MEMORY_MODEL_FULL ? "full" : "popliner";
}

/* Sets the unit of every operation of a chain without units, which is its layer, to its place in
 * the full model, whose chain has a head and a tail: the number of its layer, 0 before all layers,
 * one more than the last layer after them. In PopLiner's model unit 0 holds the operations
 * in no layer, wherever they run. Its data is assumed to be spread over all IPUs and counts in no
 * stage. */
void pl_full_place_operations(pl_chain *chain);

/* ---- Chains ---------------------------------------------------------------------------------- */

struct pl_chain {
    popliner_chain told;             /* first: it is what callers have, once complete */
    const popliner_profile *profile; /* not owned, like the next three */
    const pl_operations *operations;
    const pl_layers *layers;
    popliner_memory_model model;
    size_t num_units;
    popliner_unit_kind *kind; /* [num_units] */
    size_t *layer;            /* [num_units]: number in `layers`, 0 for a unit that is no layer */
    const char **labels;      /* [num_units], as popliner_chain.unit_labels */
    size_t num_operations;
    uint32_t *unit_of_operation;
    size_t num_steps;
    uint32_t *operation_of_step;      /* the one that it runs for, or the last one before it */
    struct pl_operation_usage *usage; /* NULL if the chain was loaded */
    pl_arrays arrays;                 /* own what is not in pl_chain_fields */
};

/* Creates the chain for a memory model, which defines its units: popliner/operations.h. Refers to
 * the profile, operations and layers. Owned by the caller; free with pl_chain_free. Errors: MEMORY;
 * USAGE if the variables are not loaded. Cost: O(steps), and one pass over the variables that
 * programs touch. */
popliner_status pl_chain_create(const popliner_profile *profile, const pl_operations *operations,
                                const pl_layers *layers, popliner_memory_model model,
                                pl_chain **chain, popliner_error *error);
void pl_chain_free(pl_chain *chain);

/* True in the full model: unattributed memory is in every stage, no stage has more code than the
 * compiler counts (memory/account.h), and the state of a compute set is the compiler's figure,
 * once. In PopLiner's model the state counts for every program that executes the compute set. */
static inline bool pl_chain_is_full(const pl_chain *chain) {
    return chain->model == POPLINER_MEMORY_MODEL_FULL;
}

static inline size_t pl_chain_num_units(const pl_chain *chain) {
    return chain->num_units;
}

/* Returns the name of the unit's layer; NULL for another unit. */
static inline const char *pl_chain_layer_name(const pl_chain *chain, size_t unit) {
    return pl_layers_name(chain->layers, chain->layer[unit]);
}

/* Returns "head", "layer", "tail" or "unlayered". */
const char *pl_unit_kind_name(popliner_unit_kind kind);

static inline size_t pl_chain_unit_of(const pl_chain *chain, size_t operation) {
    return chain->unit_of_operation[operation];
}

/* Returns the operation that a step runs for, or the last one before it; SIZE_MAX for none. */
static inline size_t pl_chain_operation_at(const pl_chain *chain, size_t step) {
    const uint32_t operation = chain->operation_of_step[step];
    return operation == PL_NONE ? SIZE_MAX : operation;
}

/* True if the unit has any operation. O(operations). */
bool pl_chain_has_operations(const pl_chain *chain, size_t unit);

/* Lists the arrays of a stored chain, at most three, and returns their number. All others follow
 * from them. */
size_t pl_chain_fields(pl_chain *chain, pl_field *fields);

/* Completes a chain whose memory model and stored arrays are set; *is_right becomes true if they
 * fit these operations and layers. Errors: MEMORY. */
popliner_status pl_chain_complete(pl_chain *chain, const popliner_profile *profile,
                                  const pl_operations *operations, const pl_layers *layers,
                                  bool *is_right, popliner_error *error);

/* True if the data of a unit counts: in PopLiner's model not that of operations in no layer. */
static inline bool pl_chain_has_data(const pl_chain *chain, size_t unit) {
    return chain->kind[unit] != POPLINER_UNIT_UNLAYERED;
}

/* True if the layer of an operation is only a guess from the next operation. */
static inline bool pl_layer_is_guess(const pl_layers *layers, size_t operation) {
    return pl_layer_at(layers, operation)->rule == POPLINER_LAYER_RULE_FOLLOWING;
}

/* Returns the unit of the operation in `layers`, and whether it is a guess: all that the chain
 * depends on in addition to the profile. Equal keys give equal chains. */
uint32_t pl_layer_key(const pl_layers *layers, size_t operation);

/* Marks the IPUs of the profile on which operations of the stages compute, in
 * is_used[target.num_ipus], which is 0 before; all of them if unknown. Returns the number of marked
 * IPUs. A stage on several was never compiled for one IPU, so no tile shows what it would need
 * there. O(steps * runs of their vertices); O(1) for a profile of one IPU. */
size_t pl_stage_ipus_mark(const pl_chain *chain, const popliner_interval *stages, size_t num_stages,
                          uint8_t *is_used);

/* Like pl_stage_ipus_mark, but only counts the IPUs. Errors: MEMORY. */
popliner_status pl_stage_ipus_count(const pl_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error);

#endif
