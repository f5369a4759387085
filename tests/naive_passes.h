/* The cycles of the passes of a training the simple way, step by step, from the definitions in
 * popliner/intervals.h and docs/internals/memory-models.md alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_NAIVE_PASSES_H
#define PL_TESTS_NAIVE_PASSES_H

#include "golden_case.h"

typedef struct naive_passes {
    const golden_case *c;
    const pl_chain *chain;
    size_t num_units;
    bool trains;
    size_t turn;       /* step; SIZE_MAX without training */
    size_t last_layer; /* unit */
    uint8_t *runs;     /* [steps] */
} naive_passes;

void naive_begin(naive_passes *n, const golden_case *c, const pl_chain *chain);
void naive_end(naive_passes *n);

/* The cycles of the steps of the interval, without what crosses its cuts. */
uint64_t naive_cycles(const naive_passes *n, size_t first_unit, size_t last_unit);

/* Those of a unit that its forward pass has at most, as docs/internals/memory-models.md has it. */
uint64_t naive_forward_cycles(const naive_passes *n, size_t unit);

#endif
