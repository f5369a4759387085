/* Guessing a layer regex from the names of operations that have no layer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_SUGGESTION_H
#define PL_DIAGNOSIS_SUGGESTION_H

#include <stddef.h>

#include "popliner/error.h"
#include "popliner/operations.h"

/* Looks for the word that is followed by most different numbers in names such as "h/3/attention" or
 * "model/layer_._0/mlp" of operations without a layer. Writes a regex for it, "" if there is none
 * with at least two numbers, one of the names, and how many numbers there are. Errors: MEMORY. */
popliner_status pl_suggest_regex(const popliner_operations *operations,
                                 const popliner_layers *layers, char *regex, size_t regex_size,
                                 char *example, size_t example_size, size_t *num_layers,
                                 popliner_error *error);

#endif
