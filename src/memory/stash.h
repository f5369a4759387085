/* The rule for the data of a micro-batch that a stage stores until its backward pass.
 * docs/internals/memory-models.md has its sources.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STASH_H
#define PL_MEMORY_STASH_H

#include <stdbool.h>

#include "popliner/pipeline.h"

/* How a variable that is not always live is used around a stage, and where it is live: at a step
 * and at the one before it (pl_class_crosses). */
typedef struct pl_stash_use {
    bool forward;  /* the stage touches it in its forward pass */
    bool backward; /* in its backward pass */
    bool before;   /* earlier units touch it forward */
    bool after;    /* later units touch it forward */
    bool is_fed;   /* a copy from the host fills it, at any time */
    bool at_loss;  /* it is live where the passes part */
    bool at_begin; /* when the stage begins its forward pass */
    bool at_end;   /* when the unit after the stage does */
} pl_stash_use;

/* True if the stage stores it:
 *
 *   NONE      what both passes touch and is live at the loss
 *   FULL      what earlier units or the host leave for the forward pass
 *   STANDARD  both, and what the forward pass leaves for later units */
static inline bool pl_stash_has(popliner_recompute recompute, const pl_stash_use *use) {
    const bool is_activation = use->backward && use->at_loss;
    const bool is_input = use->is_fed || (use->before && use->at_begin);
    const bool is_output = use->after && use->at_end;
    return use->forward && ((recompute != POPLINER_RECOMPUTE_FULL && is_activation) ||
                            (recompute != POPLINER_RECOMPUTE_NONE && is_input) ||
                            (recompute == POPLINER_RECOMPUTE_STANDARD && is_output));
}

#endif
