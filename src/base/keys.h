/* Distinct keys of one size, for example sets of units as bits, numbered in the order in which they
 * are added.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_KEYS_H
#define PL_BASE_KEYS_H

#include "base/growth.h"

typedef struct pl_keys {
    pl_arrays *arrays; /* own the arrays below */
    size_t key_size;
    size_t count;
    unsigned char *keys; /* [count][key_size] */
    uint32_t *slots;     /* [num_slots] hash table: 1 + number of the key, or 0 */
    size_t num_slots;
} pl_keys;

static inline const void *pl_key_at(const pl_keys *keys, size_t number) {
    return keys->keys + number * keys->key_size;
}

/* Returns the number of a key, which is added if it is new; 0 if memory is short. The key must not
 * be in keys->keys. O(key size). */
size_t pl_keys_number(pl_keys *keys, const void *key);

/* Removes all keys. */
void pl_keys_empty(pl_keys *keys);

/* Bytes by such keys. Begin with the arrays and the key size of `keys`. */
typedef struct pl_key_sums {
    pl_keys keys;
    uint64_t *bytes; /* [keys.count], in keys.arrays like all */
} pl_key_sums;

void pl_key_sums_add(pl_key_sums *tally, const void *key, uint64_t bytes);

/* Sets of numbers below `end` as bits: begins such keys; returns those of a set; adds a number to
 * bits, and the numbers from `first` up to `end`. */
static inline pl_keys pl_bits_begin(pl_arrays *arrays, size_t end) {
    return (pl_keys){.arrays = arrays, .key_size = (end / 64 + 1) * sizeof(uint64_t)};
}
static inline const uint64_t *pl_bits_at(const pl_keys *sets, size_t set) {
    return (const uint64_t *)pl_key_at(sets, set);
}
static inline void pl_bits_add(uint64_t *bits, size_t bit) {
    bits[bit / 64] |= UINT64_C(1) << bit % 64;
}
static inline void pl_bits_add_range(uint64_t *bits, size_t first, size_t end) {
    for (size_t bit = first; bit < end; bit++)
        pl_bits_add(bits, bit);
}
static inline bool pl_bits_has(const uint64_t *bits, size_t bit) {
    return (bits[bit / 64] >> bit % 64 & 1) != 0;
}

/* Returns the first bit from this one on that is set; `end` if none is below it. */
static inline size_t pl_bits_next(const uint64_t *bits, size_t from, size_t end) {
    for (size_t bit = from; bit < end; bit = (bit / 64 + 1) * 64) {
        uint64_t word = bits[bit / 64] >> bit % 64;
        if (word == 0)
            continue;
        for (; (word & 0xff) == 0; word >>= 8)
            bit += 8;
        for (; (word & 1) == 0; word >>= 1)
            bit++;
        return bit < end ? bit : end;
    }
    return end;
}

#endif
