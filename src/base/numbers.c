/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/numbers.h"

/* ---- Products -------------------------------------------------------------------------------- */

enum { NUM_DIGITS = 2 * PL_MAX_FACTORS };

/* Adds a product times a digit to a sum, from one place on. */
static void add_multiple(pl_product *sum, const pl_product *p, uint32_t digit, size_t place) {
    uint64_t carry = 0;
    for (size_t i = place; i < NUM_DIGITS; i++) {
        carry += (uint64_t)p->digits[i - place] * digit + sum->digits[i];
        sum->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

pl_product pl_product_of(const uint64_t *factors, size_t count) {
    pl_product product = {{1}};
    for (size_t i = 0; i < count; i++) {
        const pl_product before = product;
        product = (pl_product){{0}};
        add_multiple(&product, &before, (uint32_t)factors[i], 0);
        add_multiple(&product, &before, (uint32_t)(factors[i] >> 32), 1);
    }
    return product;
}

int pl_product_compare(const pl_product *a, const pl_product *b) {
    for (size_t i = NUM_DIGITS; i-- > 0;)
        if (a->digits[i] != b->digits[i])
            return a->digits[i] < b->digits[i] ? -1 : 1;
    return 0;
}

/* False if the product has more than 64 bits. */
static bool is_plain(const uint64_t *factors, size_t count, uint64_t *product) {
    *product = 1;
    for (size_t i = 0; i < count; i++) {
        if (factors[i] != 0 && *product > UINT64_MAX / factors[i])
            return false;
        *product *= factors[i];
    }
    return true;
}

uint64_t pl_ratio_up(const uint64_t *above, size_t num_above, const uint64_t *below,
                     size_t num_below) {
    uint64_t dividend;
    uint64_t divisor;
    if (is_plain(above, num_above, &dividend) && is_plain(below, num_below, &divisor))
        return dividend / divisor + (dividend % divisor != 0);
    pl_product wanted = pl_product_of(above, num_above);
    uint64_t factors[PL_MAX_FACTORS];
    uint64_t least = 0; /* the result is from `least` to `most` */
    uint64_t most = UINT64_MAX;
    for (size_t i = 0; i < num_below; i++)
        factors[i] = below[i];
    while (least < most) {
        factors[num_below] = least + (most - least) / 2;
        pl_product product = pl_product_of(factors, num_below + 1);
        if (pl_product_compare(&product, &wanted) >= 0)
            most = factors[num_below];
        else
            least = factors[num_below] + 1;
    }
    return least;
}

/* ---- Order ----------------------------------------------------------------------------------- */

int pl_compare_numbers(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

int pl_compare_counts(const void *left, const void *right) {
    const size_t *a = left;
    const size_t *b = right;
    return (*a > *b) - (*a < *b);
}

int pl_compare_places(const void *left, const void *right) {
    const uint32_t *a = left;
    const uint32_t *b = right;
    return (*a > *b) - (*a < *b);
}
