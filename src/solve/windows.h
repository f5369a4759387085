/* Windows of values (peaks or cycles) that all stages of a split may lie in, for splits of a small
 * spread: instead of every value that may be the smallest, blocks of them are looked at together.
 * In a block of `step` + 1 smallest values a split may be wider than is wanted by `step`; where
 * there is none even so, none of these values is the smallest of one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_WINDOWS_H
#define PL_SOLVE_WINDOWS_H

#include "solve/problem.h"

/* Begin with PL_WINDOWS_INIT. */
typedef struct pl_windows {
    uint64_t at; /* no smaller value is the smallest of a split that is looked for */
    uint64_t step;
    bool is_over;
} pl_windows;

#define PL_WINDOWS_INIT                                                                            \
    { 0, UINT64_MAX, false }

/* The limits that the splits of the block keep to, which are at most `width` + step wide. */
pl_limits pl_windows_limits(const pl_windows *windows, uint64_t width, const pl_filter *filter);

/* The block holds nothing that is looked for, or no more: goes on to the next one, which is
 * twice as large. */
void pl_windows_skip(pl_windows *windows, uint64_t width);

/* In the block is a split that is wider than `width`, with this largest value: makes the block
 * smaller, so that it does not hold that split. */
void pl_windows_narrow(pl_windows *windows, uint64_t width, uint64_t max_value);

#endif
