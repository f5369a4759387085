/* Bytes live at each liveness step of a stage that only grows, and the most of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_RISING_CURVE_H
#define PL_MEMORY_RISING_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many steps a block has. */
enum { PL_RISING_BLOCK_STEPS = 64 };

/* Nothing is ever taken away, and a step that counts goes on counting: so the peak only rises, and
 * is known after each change without reading the curve again. What covers a whole block of steps is
 * kept with the block, so that a long range costs little more than a short one. */
typedef struct pl_rising_curve {
    size_t num_steps;
    uint64_t *bytes; /* [num_steps], owned, like the next two: without those of the whole block */
    uint8_t *counts; /* [num_steps]: whether the peak may be here */
    struct pl_rising_block *blocks;
    uint64_t peak_bytes; /* over the steps that count; 0 for none */
} pl_rising_curve;

/* Makes the curve zero on `num_steps` steps, none of which counts; false when memory is short.
 * Zero-initialise before, free with pl_rising_curve_free. */
bool pl_rising_curve_begin(pl_rising_curve *curve, size_t num_steps);
void pl_rising_curve_free(pl_rising_curve *curve);

/* Makes the curve equal to another one on as many steps, and no step count. O(steps), as fast as
 * copying. */
void pl_rising_curve_copy(pl_rising_curve *curve, const pl_rising_curve *from);

/* Adds so many bytes at the steps from first_step to end_step - 1. O(steps of two blocks +
 * blocks). */
void pl_rising_curve_add(pl_rising_curve *curve, size_t first_step, size_t end_step,
                         uint64_t bytes);

/* Lets the steps from first_step to end_step - 1 count. O(steps). */
void pl_rising_curve_count(pl_rising_curve *curve, size_t first_step, size_t end_step);

/* The first step that counts and has the peak; 0 if none counts. O(blocks). */
size_t pl_rising_curve_peak_step(const pl_rising_curve *curve);

/* The most over the steps from first_step to end_step - 1 alone, if all steps count, and the first
 * one that has it; 0 and first_step for no step. O(blocks). */
uint64_t pl_rising_curve_peak_within(const pl_rising_curve *curve, size_t first_step,
                                     size_t end_step, size_t *peak_step);

#endif
