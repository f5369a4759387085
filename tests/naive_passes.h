/* The passes of a training evaluated the simple way, step by step and variable by variable, from
 * the definitions in popliner/intervals.h and popliner/stage.h alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_NAIVE_PASSES_H
#define PL_TESTS_NAIVE_PASSES_H

#include "golden_case.h"

#include "popliner/costs.h"
#include "popliner/pipeline.h"

enum { NAIVE_FORWARD = 1, NAIVE_BACKWARD = 2 };

typedef struct naive_passes {
    const golden_case *c;
    const pl_chain *chain;
    size_t num_units;
    bool trains;
    size_t turn;       /* step; SIZE_MAX without training */
    size_t loss;       /* likewise */
    size_t last_layer; /* unit */
    uint8_t *runs;     /* [steps] */
    uint8_t *passes;   /* [operations]: bits */
    size_t *first;     /* [operations]: the first step of its own */
    uint8_t *touches;  /* [variables][num_units]: bits */
    size_t *complete;  /* [variables]: the step after which a gradient is; SIZE_MAX if it is none */
} naive_passes;

void naive_begin(naive_passes *n, const golden_case *c, const pl_chain *chain);
void naive_end(naive_passes *n);

/* The bytes carried over the cut before `unit`, forward and backward together. */
uint64_t naive_cut(const naive_passes *n, size_t unit);

/* Like naive_cut, by tile and by pass, into forward[num_tiles] and backward[num_tiles]. */
void naive_cut_by_tile(const naive_passes *n, size_t unit, uint64_t *forward, uint64_t *backward);

/* The bytes of parameters of stages on one IPU by tile, as docs/internals/memory-models.md has it,
 * into by_tile[num_tiles]; those that several touch once. */
void naive_parameters(const naive_passes *n, const popliner_interval *stages, size_t num_stages,
                      uint64_t *by_tile);

/* The bytes by tile that the stage keeps, into by_tile[num_tiles]. */
void naive_stash(const naive_passes *n, popliner_recompute recompute, size_t first_unit,
                 size_t last_unit, uint64_t *by_tile);

/* The cycles of the steps of the interval, without what crosses its cuts. */
uint64_t naive_cycles(const naive_passes *n, size_t first_unit, size_t last_unit);

/* Those of a unit that its forward pass has at most, as docs/internals/memory-models.md has it. */
uint64_t naive_forward_cycles(const naive_passes *n, size_t unit);

#endif
