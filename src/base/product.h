/* Products of several 64-bit numbers, exactly: for comparing fractions and rounding them up.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_PRODUCT_H
#define PL_BASE_PRODUCT_H

#include <stddef.h>
#include <stdint.h>

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

#endif
