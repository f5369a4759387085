/* The correction that follows from predictions and what was compiled.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CALIBRATION_H
#define PL_MEMORY_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/pipeline.h"

/* Bytes of a tile. */
typedef struct pl_fit_bytes {
    uint64_t code_bytes;
    uint64_t data_bytes;
    uint64_t layout_bytes;
} pl_fit_bytes;

/* A stage from which to learn. */
typedef struct pl_fit_stage {
    pl_fit_bytes predicted;
    pl_fit_bytes compiled;
} pl_fit_stage;

/* Makes it of all stages but the one in place `left_out` (SIZE_MAX: of all), of which the last has
 * nothing behind it: each scale is the sum of what was compiled by the sum of what was predicted,
 * rounded to millionths; 1 where nothing was predicted, or no stage is left to learn from. False if
 * a scale is beyond what a calibration may have. O(stages). */
bool pl_calibration_fit(const pl_fit_stage *stages, size_t num_stages, size_t left_out,
                        popliner_calibration *calibration);

#endif
