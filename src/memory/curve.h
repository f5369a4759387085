/* Bytes live at each liveness step, and their maximum.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CURVE_H
#define PL_MEMORY_CURVE_H

#include "base/growth.h"
#include "popliner/profile.h"

/* The bytes live on one tile over the steps first_step ... end_step - 1, stored as changes from
 * step to step, so that adding a variable costs two additions per live range. */
typedef struct pl_curve {
    int64_t *change_bytes; /* [end_step - first_step + 1] */
    size_t first_step;
    size_t end_step;
} pl_curve;

/* Resets the curve to zero on [first_step, end_step), with an array in `arrays`. Zero-initialise
 * the curve before the first use. */
void pl_curve_begin(pl_curve *curve, pl_arrays *arrays, size_t first_step, size_t end_step);

/* Adds `size_bytes` wherever the equivalence class is live. Live ranges are half-open; ignores
 * their parts outside the curve's steps. */
void pl_curve_add(pl_curve *curve, const popliner_profile *profile, uint32_t class_index,
                  uint64_t size_bytes);

/* Like pl_curve_add, for the steps first_step <= step < end_step, which must be within the
 * curve. */
void pl_curve_add_steps(pl_curve *curve, size_t first_step, size_t end_step, uint64_t size_bytes);

/* Returns the largest sum over the steps in [first_step, end_step), which must be within the curve,
 * and sets *peak_step to the first step with it; 0 and first_step for no step. O(end_step - curve's
 * first step). */
uint64_t pl_curve_peak(const pl_curve *curve, size_t first_step, size_t end_step,
                       size_t *peak_step);

/* Sets bytes[end_step - first_step] to the sum at each of the curve's steps. */
void pl_curve_read(const pl_curve *curve, uint64_t *bytes);

#endif
