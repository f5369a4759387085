/* PopLiner 1.0.0's memory model, quirks included, from its source: popliner/stage.h has its rules.
 * One plain evaluator, which adds operations to a stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_POPLINER_MODEL_H
#define PL_MEMORY_POPLINER_MODEL_H

#include "memory/evaluate.h"

/* Measures one stage after another. */
typedef struct pl_popliner_meter pl_popliner_meter;

/* Makes a meter in `arrays`, which refers to the chain and to `arrays`; NULL if memory is short.
 * Takes a byte per lowered variable. Its owner forgets remembered peaks at last. */
pl_popliner_meter *pl_popliner_meter_new(pl_arrays *arrays, const pl_chain *chain);

/* Makes the meter repeat a quirk of PopLiner, which its greedy solver can depend on: the peak of
 * the variables is remembered by the set of variables alone, so a later stage with equal variables
 * but other steps gets the peak of the earlier one. Off at first; false drops the remembered
 * peaks. */
void pl_popliner_meter_remember_peaks(pl_popliner_meter *meter, bool remembers);

/* Computes the stages of one IPU, as one; each program counts once. If there are several, the steps
 * end with the last step of any operation, so that they never need less than one of them, nor less
 * than before one has grown. A stage that is the one before with more units takes only these more.
 * O(touched variables + variables + tiles * (steps + vertex types)). */
void pl_popliner_meter_measure(pl_popliner_meter *meter, const popliner_interval *stages,
                               size_t num_stages);

/* Like pl_popliner_meter_measure, for a stage of any operations. */
void pl_popliner_meter_measure_operations(pl_popliner_meter *meter, const size_t *operations,
                                          size_t num_operations);

/* Returns the stage that was computed last, on a tile. O(1). */
pl_stage_tile pl_popliner_meter_tile(const pl_popliner_meter *meter, size_t tile);

#endif
