/* What the layers are inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_LAYERS_DATA_H
#define PL_MODEL_LAYERS_DATA_H

#include "base/names.h"
#include "popliner/operations.h"

struct popliner_layers {
    size_t num_operations;
    popliner_layer_finding *items; /* [num_operations], as they are handed out */
    char (*note)[40];              /* [num_operations] */
    size_t num_layers;
    const char **names; /* unit u > 0 is names[u - 1]; the strings belong to all_names */
    pl_names all_names; /* every result of the regex, also those that decided nothing */
};

/* The layer of an operation that there is. */
static inline const popliner_layer_finding *pl_layer_at(const popliner_layers *layers,
                                                        size_t operation) {
    return &layers->items[operation];
}

/* Its unit: 0 for what belongs to no layer, then come the layers in their order. */
static inline size_t pl_layers_unit_of(const popliner_layers *layers, size_t operation) {
    return layers->items[operation].unit;
}

/* 1 + the number of layers. */
static inline size_t pl_layers_num_units(const popliner_layers *layers) {
    return layers->num_layers + 1;
}

/* The layer's name; NULL for unit 0. */
static inline const char *pl_layers_name(const popliner_layers *layers, size_t unit) {
    return unit == 0 ? NULL : layers->names[unit - 1];
}

#endif
