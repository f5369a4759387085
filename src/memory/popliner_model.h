/* PopLiner 1.0.0's memory model, quirks included, from its source: popliner/stage.h has its rules.
 * What it counts of code is in the digest (memory/code.h); here are its units and its peaks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_POPLINER_MODEL_H
#define PL_MEMORY_POPLINER_MODEL_H

#include "memory/evaluate.h"

/* Finds the peaks of the variables of one stage after another. */
typedef struct pl_popliner_meter pl_popliner_meter;

/* Makes a meter in `arrays`, which refers to the digest, without its tiles, and to `arrays`; NULL
 * if memory is short. Its owner forgets remembered peaks at last. */
pl_popliner_meter *pl_popliner_meter_new(pl_arrays *arrays, const pl_digest *digest);

/* Makes the meter repeat a quirk of PopLiner, which its greedy solver can depend on: the peak of
 * the variables is remembered by the set of variables alone, so a later stage with equal variables
 * but other steps gets the peak of the earlier one. Off at first; false drops the remembered
 * peaks. */
void pl_popliner_meter_remember_peaks(pl_popliner_meter *meter, bool remembers);

/* Measures the stages of one IPU, as one. If there are several, the steps end with the last step of
 * any operation, so that they never need less than one of them, nor less than before one has grown.
 * O(sets of operations + variables + live ranges + tiles * steps). */
void pl_popliner_meter_measure(pl_popliner_meter *meter, const popliner_interval *stages,
                               size_t num_stages);

/* Returns the peak of the stage that was measured last on a tile. O(1). */
pl_live_peak pl_popliner_meter_peak(const pl_popliner_meter *meter, size_t tile);

/* Sets the peaks in results[num_units] to those of each unit alone on a tile. False if memory is
 * short. O(units in the sets of the tile's variables + steps of each unit). */
bool pl_popliner_meter_measure_each(pl_popliner_meter *meter, size_t tile, pl_stage_tile *results);

#endif
