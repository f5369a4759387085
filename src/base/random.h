/* Numbers that look random and are the same on every run: SplitMix64 (Steele, Lea and Flood, Fast
 * splittable pseudorandom number generators, OOPSLA 2014).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_RANDOM_H
#define PL_BASE_RANDOM_H

#include <stdint.h>

/* The next number below `limit`, which is at least 1. Any *state may be the first. O(1). */
static inline uint64_t pl_random_below(uint64_t *state, uint64_t limit) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

#endif
