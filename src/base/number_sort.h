/* Sorting many numbers below a limit again and again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NUMBER_SORT_H
#define PL_BASE_NUMBER_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bit for each number, and one for each word of these that is not 0: so what is marked is found
 * again in ascending order, without looking at the rest. Takes an eighth of a byte for each number
 * below the limit. Zero-initialise; free with pl_number_sort_free. */
typedef struct pl_number_sort {
    uint64_t *bits;       /* of numbers; all 0 between two calls, like the next */
    uint64_t *used_words; /* bits of words of `bits` */
    size_t num_used_words;
} pl_number_sort;

/* Makes room for numbers below `limit`; false when memory is short. */
bool pl_number_sort_begin(pl_number_sort *sort, size_t limit);
void pl_number_sort_free(pl_number_sort *sort);

/* Sorts numbers, of which no two are equal. O(count + limit / 4096). */
void pl_number_sort_ascending(pl_number_sort *sort, uint32_t *numbers, size_t count);

#endif
