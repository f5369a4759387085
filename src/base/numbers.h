/* Numbers: exact products, those that look random, and sorting.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NUMBERS_H
#define PL_BASE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Products -------------------------------------------------------------------------------- */

enum { PL_MAX_FACTORS = 6 };

/* The lowest 32 bits first. */
typedef struct pl_product {
    uint32_t digits[2 * PL_MAX_FACTORS];
} pl_product;

/* Of at most PL_MAX_FACTORS; 1 of none. O(count). */
pl_product pl_product_of(const uint64_t *factors, size_t count);

/* -1, 0, 1. O(1). */
int pl_product_compare(const pl_product *a, const pl_product *b);

/* The smallest whole number that is at least the product of `above` divided by that of `below`
 * (at most PL_MAX_FACTORS - 1, none of them 0), or UINT64_MAX if it is larger. O(1). */
uint64_t pl_ratio_up(const uint64_t *above, size_t num_above, const uint64_t *below,
                     size_t num_below);

/* ---- Random numbers -------------------------------------------------------------------------- */

/* The next number below `limit`, which is at least 1, of those that look random and are the same on
 * every run: SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators,
 * OOPSLA 2014). Any *state may be the first. O(1). */
static inline uint64_t pl_random_below(uint64_t *state, uint64_t limit) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

/* ---- Sorting --------------------------------------------------------------------------------- */

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
