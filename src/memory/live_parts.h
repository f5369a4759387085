/* When the variables of a tile are live that the same units touch: those live at the same time as
 * one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_LIVE_PARTS_H
#define PL_MEMORY_LIVE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many bytes that the units of a set touch, live from first_step to end_step - 1. */
typedef struct pl_live_part {
    uint64_t bytes;
    uint32_t set;
    uint32_t first_step;
    uint32_t end_step;
} pl_live_part;

/* Zero-initialise; free with pl_live_parts_free. */
typedef struct pl_live_parts {
    pl_live_part
        *parts; /* [count], no two of the same set and steps, in the order they came; owned */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* [num_slots] a table to find them: 1 + the part, or 0; owned */
    size_t num_slots;
} pl_live_parts;

/* Leaves none. O(slots), of which there are a few times as many as there were ever parts. */
void pl_live_parts_empty(pl_live_parts *parts);

/* Adds bytes to a part; false when memory is short. O(1), amortised. */
bool pl_live_parts_add(pl_live_parts *parts, uint32_t set, uint32_t first_step, uint32_t end_step,
                       uint64_t bytes);

void pl_live_parts_free(pl_live_parts *parts);

#endif
