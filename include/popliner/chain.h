/* popliner: the chain of units that is cut into stages, and the memory model that it serves.
 *
 * Threads: a chain does not change, and any number of threads may read it at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_CHAIN_H
#define POPLINER_CHAIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_memory_model {
    /* PopLiner 1.0.0's: counts what operations explain, and assumes the rest away. */
    POPLINER_MEMORY_MODEL_POPLINER,
    /* Counts everything that the compiler counts: what no operation explains is a cost of every
     * stage, and operations in no layer have a place in the chain. */
    POPLINER_MEMORY_MODEL_FULL,
    POPLINER_NUM_MEMORY_MODELS,
} popliner_memory_model;

typedef enum popliner_unit_kind {
    POPLINER_UNIT_UNLAYERED, /* popliner's model: every operation in no layer, wherever it runs */
    POPLINER_UNIT_HEAD,      /* full model: what runs before any layer */
    POPLINER_UNIT_LAYER,
    POPLINER_UNIT_TAIL, /* full model: what runs after every layer */
} popliner_unit_kind;

/* A chain of units, by memory model:
 *   POPLINER  unit 0 is what is in no layer, then come the layers
 *   FULL      the head, if there is one, the layers, the tail, if there is one. Operations in no
 *             layer are placed one after another:
 *               - one whose last step is before the first step of any layer belongs to the head
 *               - one whose first step is after the last step of all layers belongs to the tail, if
 *                 the variables that it touches belong nowhere, or most to the last layer of the
 *                 chain
 *               - else it belongs to where most bytes of the variables that it touches belong (a
 *                 variable that belongs to n places counts for each with an nth of its bytes; the
 *                 earlier of equals in the chain), or to where the operation before it belongs (the
 *                 head, if there is none) if they belong nowhere.
 *             An operation whose layer is but a guess from what follows it
 *             (POPLINER_LAYER_RULE_FOLLOWING, the note "deduced_from_following_operation": a Call)
 *             is in no layer here: such a layer neither counts among the layers above nor makes
 *             variables belong to it.
 *             A variable belongs to the layers whose operations touch it, and to where operations
 *             in no layer were placed that touch it otherwise than by a copy from or to the host.
 *             Every liveness step belongs to the unit of the operation that it runs for, or of the
 *             last one before it, or of the first one.
 * Owned by the analysis. */
typedef struct popliner_chain popliner_chain;

size_t popliner_chain_num_units(const popliner_chain *chain);

/* A unit of a chain. Belongs to the chain, with its texts; later versions may append members. */
typedef struct popliner_chain_unit {
    popliner_unit_kind kind;
    const char *name;  /* of the layer; NULL for a unit that is none */
    const char *label; /* how to call it: the name of its layer, "Head", "Tail", or "None" for what
                          is in no layer */
} popliner_chain_unit;

/* NULL beyond the last. */
const popliner_chain_unit *popliner_chain_unit_at(const popliner_chain *chain, size_t unit);

/* The unit that an operation belongs to; SIZE_MAX for an operation beyond the last. */
size_t popliner_chain_unit_of(const popliner_chain *chain, size_t operation);

/* The operation that a liveness step runs for, or the last one before it; SIZE_MAX for none, and
 * for a step beyond the last. */
size_t popliner_chain_operation_at(const popliner_chain *chain, size_t step);

#ifdef __cplusplus
}
#endif

#endif
