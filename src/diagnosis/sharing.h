/* Which layers use the same memory, and what one layer hands to another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_SHARING_H
#define PL_DIAGNOSIS_SHARING_H

#include <stddef.h>
#include <stdint.h>

#include "memory/unit_usage.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* Two square tables over the layers (unit 0 is left out): row i, column j is item
 * i * num_layers + j. Zero-initialise; free with pl_sharing_clear. */
typedef struct pl_sharing {
    size_t num_layers;
    /* Bytes of the lowered variables that operations of both layers touch; on the diagonal, all
     * that the layer touches. Symmetric. */
    uint64_t *affinity_bytes;
    /* Bytes of the lowered variables that both layers touch and that have a live range which begins
     * at a step of an operation of layer i and ends (its last live step) at one of layer j. */
    uint64_t *communication_bytes;
} pl_sharing;

/* `by_operation` may be NULL. Errors: USAGE if the variables are not loaded; MEMORY. Cost: one pass
 * over the variables, and, without `by_operation`, one over those that programs touch. */
popliner_status pl_sharing_measure(const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const popliner_layers *layers,
                                   const pl_operation_usage *by_operation, pl_sharing *sharing,
                                   popliner_error *error);
void pl_sharing_clear(pl_sharing *sharing);

#endif
