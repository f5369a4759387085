/* popliner: the operations of the user's model, each with the programs that it was compiled to, and
 * their layers.
 *
 * Threads: operations and layers do not change, and any number of threads may read them at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_OPERATIONS_H
#define POPLINER_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An operation of a profile. Owned by the analysis, with all that it points to. */
typedef struct popliner_operation {
    const char *name;         /* as PopLiner shows it, never empty */
    uint64_t debug_context;   /* id of its context; several operations may share one */
    const char *inputs;       /* names of its inputs joined by '/', "" if none */
    bool is_tensor;           /* it only moves a tensor */
    const uint32_t *programs; /* ascending; numbers of the profile's programs, from 0 */
    size_t num_programs;      /* at least 1 */
    size_t first_step;        /* liveness step at which the first of its programs starts */
    size_t last_step;         /* liveness step of the last of its programs, over all calls */
    /* all are of a framework's debug contexts, or all of those of the programs */
    bool is_of_framework;
} popliner_operation;

/* ---- Layers ---- */

/* The defaults of PopLiner 1.0.0. */
#define POPLINER_LAYER_NAME_REGEX "(?:^|\\/)(?:[L|l]ayer|blocks|encoder)[\\/_\\.]?(\\d+)"
#define POPLINER_FIRST_LAYER_REGEX "(word_embeddings|Embedding_Dict)"

typedef enum popliner_layer_order {
    POPLINER_LAYER_ORDER_STEPS,   /* as the layers first appear in the list of operations */
    POPLINER_LAYER_ORDER_NATURAL, /* by name, runs of digits compared as numbers */
} popliner_layer_order;

/* The rule that found the layer of an operation. */
typedef enum popliner_layer_rule {
    POPLINER_LAYER_RULE_NAME,        /* the regex on its name */
    POPLINER_LAYER_RULE_INPUTS,      /* the regex on the names of its inputs */
    POPLINER_LAYER_RULE_VARIABLES,   /* the regex on the names of the variables that it touches */
    POPLINER_LAYER_RULE_FOLLOWING,   /* a Call: the layer of the next operation */
    POPLINER_LAYER_RULE_FIRST_LAYER, /* it reads the embeddings */
    POPLINER_LAYER_RULE_TENSOR,      /* no layer: it only moves a tensor, and is ignored */
    POPLINER_LAYER_RULE_NONE,        /* no layer: no rule applied */
} popliner_layer_rule;

/* The layer of an operation, and the rule that found it. Owned by the analysis, with its texts. The
 * units are those of the chain of POPLINER_MEMORY_MODEL_POPLINER. */
typedef struct popliner_layer_finding {
    size_t unit;      /* 0 for an operation in no layer; layers follow in the chosen order */
    const char *name; /* of the layer; NULL for unit 0 */
    popliner_layer_rule rule;
    size_t
        /* if no rule applied: the number of layers, not 1, in the names that were read last */
        num_named;
    /* The rule as PopLiner's tables call it: "" (by its name), "deduced_from_input_names",
     * "deduced_from_variable_names", "deduced_from_following_operation", "inputs_regex_layer_0",
     * "tensor_filter", or "2_input_layers": the number of layers that its inputs name, if not
     * one. */
    const char *note;
} popliner_layer_finding;

/* ---- The chain ----
 *
 * The chain of units that is cut into stages, and its memory model.
 *
 * Threads: a chain does not change, and any number of threads may read it at once. */

typedef enum popliner_memory_model {
    /* PopLiner 1.0.0's: counts attributed memory, and ignores the rest. */
    POPLINER_MEMORY_MODEL_POPLINER,
    /* Counts everything that the compiler counts: unattributed memory is charged to every stage,
     * and operations in no layer have a position in the chain. */
    POPLINER_MEMORY_MODEL_FULL,
    POPLINER_NUM_MEMORY_MODELS,
} popliner_memory_model;

typedef enum popliner_unit_kind {
    POPLINER_UNIT_UNLAYERED, /* popliner's model: every operation in no layer, wherever it runs */
    POPLINER_UNIT_HEAD,      /* full model: operations before all layers */
    POPLINER_UNIT_LAYER,
    POPLINER_UNIT_TAIL, /* full model: operations after all layers */
} popliner_unit_kind;

/* A chain of units, by memory model:
 *
 *   POPLINER  unit 0 holds the operations in no layer, then the layers follow
 *   FULL      the head, if there is one, the layers, the tail, if there is one. Operations in no
 *             layer are placed one after another:
 *             - one whose last step is before the first step of any layer belongs to the head
 *             - one whose first step is after the last step of all layers belongs to the tail, if
 *               the variables that it touches belong nowhere, or most to the last layer of the
 *               chain
 *             - any other belongs to the unit that has most bytes of the variables that it touches
 *               (a variable that belongs to n units counts for each with an nth of its bytes; the
 *               earlier of equals in the chain); if the variables belong nowhere, to the unit of
 *               the operation before it (the head, if there is none).
 *             An operation whose layer is only a guess from the next operation
 *             (POPLINER_LAYER_RULE_FOLLOWING, the note "deduced_from_following_operation": a Call)
 *             is in no layer here: its layer does not count among the layers above, and makes no
 *             variables belong to it.
 *             A variable belongs to the layers whose operations touch it, and to the units of
 *             operations in no layer that touch it other than by a copy from or to the host.
 *
 * Every liveness step belongs to the unit of the operation that it runs for, or of the last
 * operation before it, or of the first one. Owned by the analysis, with all that it points to;
 * later versions may append members. */
typedef struct popliner_chain {
    const popliner_unit_kind *unit_kinds; /* [num_units] */
    /* [num_units]: the name of its layer, "Head", "Tail", or "None" for operations in no layer */
    const char *const *unit_labels;
    size_t num_units;
    const uint32_t *unit_of_operation; /* [num_operations] */
    size_t num_operations;
    /* [num_steps] that a liveness step runs for, or the last one before it; UINT32_MAX: none */
    const uint32_t *operation_of_step;
    size_t num_steps;
} popliner_chain;

#ifdef __cplusplus
}
#endif

#endif
