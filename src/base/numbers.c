/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/numbers.h"

#include <stdlib.h>

#include "base/growth.h"

/* ---- Products -------------------------------------------------------------------------------- */

enum { NUM_DIGITS = 2 * PL_MAX_FACTORS };

static void multiply(pl_product *p, uint32_t factor) {
    uint64_t carry = 0;
    for (size_t i = 0; i < NUM_DIGITS; ++i) {
        carry += (uint64_t)p->digits[i] * factor;
        p->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* a + b * 2^32 */
static pl_product add_shifted(const pl_product *a, const pl_product *b) {
    pl_product sum = *a;
    uint64_t carry = 0;
    for (size_t i = 1; i < NUM_DIGITS; ++i) {
        carry += (uint64_t)sum.digits[i] + b->digits[i - 1];
        sum.digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return sum;
}

pl_product pl_product_of(const uint64_t *factors, size_t count) {
    pl_product product = {{1}};
    for (size_t i = 0; i < count; ++i) {
        pl_product low = product;
        pl_product high = product;
        multiply(&low, (uint32_t)factors[i]);
        multiply(&high, (uint32_t)(factors[i] >> 32));
        product = add_shifted(&low, &high);
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
    for (size_t i = 0; i < count; ++i) {
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
    for (size_t i = 0; i < num_below; ++i)
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

/* ---- Sorting --------------------------------------------------------------------------------- */

enum { WORD = 64 };

bool pl_number_sort_begin(pl_number_sort *sort, size_t limit) {
    size_t num_words = limit / WORD + 1;
    sort->num_used_words = num_words / WORD + 1;
    sort->bits = pl_new_array(num_words, sizeof *sort->bits);
    sort->used_words = pl_new_array(sort->num_used_words, sizeof *sort->used_words);
    return sort->bits != NULL && sort->used_words != NULL;
}

void pl_number_sort_free(pl_number_sort *sort) {
    free(sort->bits);
    free(sort->used_words);
    *sort = (pl_number_sort){0};
}

/* Removes the lowest bit of a word that is not 0, and returns its position: the bit multiplied by a
 * de Bruijn sequence has a distinct number in its upper six bits for each position (Leiserson,
 * Prokop, Randall, "Using de Bruijn sequences to index a 1 in a computer word", 1998). */
static unsigned take_lowest(uint64_t *word) {
    static const uint8_t places[WORD] = {
        0,  1,  2,  53, 3,  7,  54, 27, 4,  38, 41, 8,  34, 55, 48, 28, 62, 5,  39, 46, 44, 42,
        22, 9,  24, 35, 59, 56, 49, 18, 29, 11, 63, 52, 6,  26, 37, 40, 33, 47, 61, 45, 43, 21,
        23, 58, 17, 10, 51, 25, 36, 32, 60, 20, 57, 16, 50, 31, 19, 15, 30, 14, 13, 12,
    };
    uint64_t lowest = *word & (~*word + 1);
    *word ^= lowest;
    return places[lowest * UINT64_C(0x022fdd63cc95386d) >> 58];
}

void pl_number_sort_ascending(pl_number_sort *sort, uint32_t *numbers, size_t count) {
    size_t num_sorted = 0;
    for (size_t i = 0; i < count; i++) {
        size_t word = numbers[i] / WORD;
        sort->bits[word] |= UINT64_C(1) << numbers[i] % WORD;
        sort->used_words[word / WORD] |= UINT64_C(1) << word % WORD;
    }
    for (size_t i = 0; num_sorted < count && i < sort->num_used_words; i++)
        while (sort->used_words[i] != 0) {
            size_t word = i * WORD + take_lowest(&sort->used_words[i]);
            while (sort->bits[word] != 0)
                numbers[num_sorted++] = (uint32_t)(word * WORD + take_lowest(&sort->bits[word]));
        }
}
