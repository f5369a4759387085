/* What a chain is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CHAIN_DATA_H
#define PL_MEMORY_CHAIN_DATA_H

#include <stdint.h>

#include "popliner/chain.h"

struct popliner_chain {
    const popliner_layers *layers;
    popliner_memory_model model;
    size_t num_units;
    popliner_unit_kind *kind; /* [num_units] */
    size_t *layer;            /* [num_units]: its number in `layers`, 0 for a unit that is none */
    size_t num_operations;
    uint32_t *unit_of_operation;
    size_t *unit_operations_start; /* [num_units + 1] into unit_operation */
    size_t *unit_operation;        /* ascending within each unit */
    size_t num_steps;
    uint32_t *operation_of_step; /* the one that it runs for, or the last one before it */
};

#endif
