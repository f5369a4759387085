/* Products, larger and smaller numbers, their order, and pseudorandom numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NUMBERS_H
#define PL_BASE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Products -------------------------------------------------------------------------------- */

enum { PL_MAX_FACTORS = 6 };

/* An exact product, the lowest 32 bits first. */
typedef struct pl_product {
    uint32_t digits[2 * PL_MAX_FACTORS];
} pl_product;

/* Multiplies at most PL_MAX_FACTORS factors; 1 for none. O(count). */
pl_product pl_product_of(const uint64_t *factors, size_t count);

/* Returns -1, 0 or 1. O(1). */
int pl_product_compare(const pl_product *a, const pl_product *b);

/* Returns the product of `above` divided by that of `below` (at most PL_MAX_FACTORS - 1 factors,
 * none of them 0), rounded up; UINT64_MAX if it is larger. O(1). */
uint64_t pl_ratio_up(const uint64_t *above, size_t num_above, const uint64_t *below,
                     size_t num_below);

/* Return the larger or the smaller of two numbers, or their product: UINT64_MAX if it is larger. */
static inline uint64_t pl_larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t pl_smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Return the smaller or the larger of two counts. */
static inline size_t pl_fewer(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline size_t pl_more(size_t a, size_t b) {
    return a > b ? a : b;
}

static inline uint64_t pl_multiply_or_never(uint64_t a, uint64_t b) {
    return a > 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* Compare two uint64_t, two size_t or two uint32_t for qsort(). */
int pl_compare_numbers(const void *left, const void *right);
int pl_compare_counts(const void *left, const void *right);
int pl_compare_places(const void *left, const void *right);

/* ---- Random numbers -------------------------------------------------------------------------- */

/* Returns a pseudorandom number below `limit` (at least 1), equal on every run: SplitMix64 (Steele,
 * Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014). *state may begin
 * with any value. O(1). */
static inline uint64_t pl_random_below(uint64_t *state, uint64_t limit) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

#endif
