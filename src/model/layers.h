/* Finds the layers of operations.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_LAYERS_H
#define PL_MODEL_LAYERS_H

#include "base/id_map.h"
#include "model/operations.h"
#include "model/regex.h"
#include "popliner/error.h"
#include "popliner/profile.h"

typedef struct pl_layer_options {
    const char *name_regex;        /* NULL: POPLINER_LAYER_NAME_REGEX */
    const char *first_layer_regex; /* NULL: POPLINER_FIRST_LAYER_REGEX */
    popliner_layer_order order;
    const popliner_listener *listener; /* may be NULL */
    /* Names of the two regexes in messages, and a sentence after the advice to change the first
     * one. NULL: the names of the fields, and no sentence. */
    const char *name_regex_name;
    const char *first_layer_regex_name;
    const char *name_regex_hint;
} pl_layer_options;

/* The layer of each operation. */
typedef struct pl_layers pl_layers;

/* Finds the layer of every operation by the rules of PopLiner 1.0.0. Uses the regex (PCRE2 with
 * Unicode; the captured groups are the layer's name, or the whole match if there is no group) on
 * the operation's name, then on its inputs; for a Call then takes the layer of the next operation;
 * at last assigns operations that read the embeddings to the first layer. For operations that come
 * from no framework also uses the names of the variables that they touch.
 *
 * Errors: USAGE for a regex that is invalid (the message has the offset) or takes too long to
 * match; MEMORY. Cost: one match per operation name, inputs, and variable name. */
popliner_status pl_layers_assign(const popliner_profile *profile, const pl_operations *operations,
                                 const pl_layer_options *options, pl_layers **layers,
                                 popliner_error *error);
/* Checks both regexes before there is a profile. Errors: USAGE, with the offset in the regex;
 * MEMORY. */
popliner_status pl_layer_options_check(const pl_layer_options *options, popliner_error *error);

void pl_layers_free(pl_layers *layers);

/* ---- The layers ------------------------------------------------------------------------------ */

struct pl_layers {
    size_t num_operations;
    popliner_layer_finding *items; /* [num_operations] */
    size_t num_layers;
    const char **names; /* unit u > 0 is names[u - 1]; the strings belong to all_names */
    pl_names all_names; /* every result of the regex, even if it decided nothing */
    pl_arrays arrays;   /* own the others */
};

/* Returns the layer of an operation. */
static inline const popliner_layer_finding *pl_layer_at(const pl_layers *layers, size_t operation) {
    return &layers->items[operation];
}

/* Returns the operation's unit: 0 if it is in no layer; layers follow in their order. */
static inline size_t pl_layers_unit_of(const pl_layers *layers, size_t operation) {
    return layers->items[operation].unit;
}

/* Returns the number of layers plus 1. */
static inline size_t pl_layers_num_units(const pl_layers *layers) {
    return layers->num_layers + 1;
}

/* Returns the layer's name; NULL for unit 0. */
static inline const char *pl_layers_name(const pl_layers *layers, size_t unit) {
    return unit == 0 ? NULL : layers->names[unit - 1];
}

/* ---- Layers that run in two places ----------------------------------------------------------- */

/* Warns of the first two places that have at least two layers in common. A place is the text before
 * a layer in the names of operations. Layers run in two places if in both they begin one after
 * another in the order of the layers, in the second place after the last of the first one has
 * begun, and nothing of the first layer begins in between, as it would in a backward pass. `regex`
 * is the one that found the layers. Errors: USAGE, MEMORY. O(operations + pairs of places *
 * layers). */
popliner_status pl_layer_places_tell(const pl_operations *operations, const pl_layers *layers,
                                     pl_regex *regex, const pl_layer_options *options,
                                     popliner_error *error);

#endif
