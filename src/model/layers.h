/* Finding the layers of operations.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_LAYERS_H
#define PL_MODEL_LAYERS_H

#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

typedef struct pl_layer_options {
    const char *name_regex;        /* NULL: POPLINER_LAYER_NAME_REGEX */
    const char *first_layer_regex; /* NULL: POPLINER_FIRST_LAYER_REGEX */
    popliner_layer_order order;
    const popliner_listener *listener; /* may be NULL */
    /* How the user knows the two regexes, and a sentence behind the advice to change the first one.
     * NULL: by the names of the fields, and none. */
    const char *name_regex_name;
    const char *first_layer_regex_name;
    const char *name_regex_hint;
} pl_layer_options;

/* Finds the layer of every operation by the rules of PopLiner 1.0.0: the regex (PCRE2 with Unicode;
 * the captured groups are the layer's name, the whole match when there is none) on its name, then
 * on its inputs, then the layer of the operation that follows a Call, then the first layer for what
 * reads the embeddings. For operations that come from no framework the names of the variables that
 * they touch are a further source.
 *
 * Errors: USAGE for a regex that is invalid (the message has the offset) or that takes too long to
 * match; MEMORY. Cost: one match per operation name, inputs, and variable name. */
popliner_status pl_layers_assign(const popliner_profile *profile,
                                 const popliner_operations *operations,
                                 const pl_layer_options *options, popliner_layers **layers,
                                 popliner_error *error);
/* Whether both regexes are valid, for a caller who wants to know before there is a profile. Errors:
 * USAGE, with the offset in the regex; MEMORY. */
popliner_status pl_layer_options_check(const pl_layer_options *options, popliner_error *error);

void pl_layers_free(popliner_layers *layers);

#endif
