/* Guessing a layer regex from the names of operations that have no layer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_SUGGESTION_H
#define PL_DIAGNOSIS_SUGGESTION_H

#include <stddef.h>

#include "popliner/error.h"
#include "popliner/operations.h"

/* A regex that would find layers in the names of operations that have none, "" if there is no
 * likely one, with one of these names and the number of layers that it finds. */
typedef struct pl_suggestion {
    char regex[160];
    char example[160];
    size_t num_layers;
} pl_suggestion;

/* Looks for the word that is followed by most different numbers, at least two, in names such as
 * "h/3/attention" or "model/layer_._0/mlp" of operations without a layer. Errors: MEMORY. */
popliner_status pl_suggest_regex(const popliner_operations *operations,
                                 const popliner_layers *layers, pl_suggestion *suggestion,
                                 popliner_error *error);

#endif
