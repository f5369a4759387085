/* popliner: which layer of the model each operation belongs to.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_LAYERS_H
#define POPLINER_LAYERS_H

#include <stddef.h>

#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PopLiner's own defaults. */
#define POPLINER_LAYER_NAME_REGEX "(?:^|\\/)(?:[L|l]ayer|blocks|encoder)[\\/_\\.]?(\\d+)"
#define POPLINER_FIRST_LAYER_REGEX "(word_embeddings|Embedding_Dict)"

typedef enum popliner_layer_order {
    POPLINER_LAYER_ORDER_STEPS,   /* as the layers first appear in the list of operations */
    POPLINER_LAYER_ORDER_NATURAL, /* by name, runs of digits compared as numbers */
} popliner_layer_order;

typedef struct popliner_layer_options {
    const char *name_regex;        /* NULL: POPLINER_LAYER_NAME_REGEX */
    const char *first_layer_regex; /* NULL: POPLINER_FIRST_LAYER_REGEX */
    popliner_layer_order order;
    const popliner_listener *listener; /* may be NULL */
} popliner_layer_options;

/* Whether both regexes are valid, for a caller who wants to know before it reads a profile. Errors:
 * USAGE, with the offset in the regex; MEMORY. */
popliner_status popliner_layer_options_check(const popliner_layer_options *options,
                                             popliner_error *error);

/* The assignment of operations to the units of the chain: unit 0 is what belongs to no layer, then
 * come the layers in the chosen order. Refers to nothing it was made from. Owned by the caller;
 * free with popliner_layers_free. */
typedef struct popliner_layers popliner_layers;

/* Finds the layer of every operation by the rules of PopLiner 1.0.0: the regex (PCRE2 with Unicode;
 * the captured groups are the layer's name, the whole match when there is none) on its name, then
 * on its inputs, then the layer of the operation that follows a Call, then the first layer for what
 * reads the embeddings. For operations that come from no framework the names of the variables that
 * they touch are a further source.
 *
 * Errors: USAGE for a regex that is invalid (the message has the offset) or that takes too long to
 * match; MEMORY. Cost: one match per operation name, inputs, and variable name. */
popliner_status popliner_layers_assign(const popliner_profile *profile,
                                       const popliner_operations *operations,
                                       const popliner_layer_options *options,
                                       popliner_layers **layers, popliner_error *error);
void popliner_layers_free(popliner_layers *layers);

/* The number of units: 1 + the number of layers. */
size_t popliner_layers_num_units(const popliner_layers *layers);

/* The layer's name; NULL for unit 0. */
const char *popliner_layers_name(const popliner_layers *layers, size_t unit);

/* The unit of an operation. */
size_t popliner_layers_unit_of(const popliner_layers *layers, size_t operation);

/* How the layer of an operation was found: "" (by its name), "deduced_from_input_names",
 * "deduced_from_variable_names", "deduced_from_following_operation", "inputs_regex_layer_0",
 * "tensor_filter", or "2_input_layers": the number of layers that its inputs name, if not one. */
const char *popliner_layers_note(const popliner_layers *layers, size_t operation);

#ifdef __cplusplus
}
#endif

#endif
