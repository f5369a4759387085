/* Numbers that look random and depend on nothing but what is passed in.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_RANDOM_H
#define MK_RANDOM_H

#include <stdint.h>

/* The finaliser of SplitMix64 over three numbers. */
static inline uint64_t mk_random(uint64_t seed, uint64_t a, uint64_t b) {
    uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xd1342543de82ef95u + b * 0x2545f4914f6cdd1du +
                 0x632be59bd9b4e019u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* What a thing is known by: a number that depends on what the thing is, never on how many others
 * were planned before it. */
typedef enum mk_origin {
    MK_OF_THE_SYSTEM,
    MK_OF_A_TENSOR,
    MK_OF_A_PARAMETER, /* of a function, or a result */
    MK_OF_AN_OPERATION,
    MK_OF_A_FUNCTION, /* an operation in its body */
    MK_OF_A_STRAY,    /* copy */
    MK_OF_A_FAULT,
} mk_origin;

static inline uint64_t mk_identity(mk_origin origin, uint64_t a, uint64_t b) {
    return mk_random(origin, a, b);
}

#endif
