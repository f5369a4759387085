/* Layers that run in two places: an encoder and a decoder whose layers are numbered alike count as
 * one stack of layers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_LAYER_PLACES_H
#define PL_MODEL_LAYER_PLACES_H

#include "model/layers.h"
#include "model/regex.h"

/* Warns of the first two places that have at least two layers in common. A place is what stands
 * before a layer in the names of operations. Layers run in two places if in both they begin one
 * after another in the order of the layers, in the second place after the last of the first one has
 * begun, and nothing of the first layer begins in between, as it would in a backward pass. `regex`
 * is what found the layers. Errors: USAGE, MEMORY. O(operations + pairs of places * layers). */
popliner_status pl_layer_places_tell(const popliner_operations *operations,
                                     const popliner_layers *layers, pl_regex *regex,
                                     const pl_layer_options *options, popliner_error *error);

#endif
