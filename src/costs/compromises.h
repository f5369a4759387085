/* Choices of a stage, or of several, that trade cycles for bytes: sums that grow unit by unit, or
 * stage by stage, of which those are kept that no other beats (Nemhauser and Ullmann, Management
 * Science 15, 1969).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COMPROMISES_H
#define PL_COSTS_COMPROMISES_H

#include "base/growth.h"

/* The numbers of a choice. Bytes are at each of some moments. */
enum { PL_CYCLES, PL_ORIGIN, PL_BYTES };

/* Zero-initialise all but the first two members. */
typedef struct pl_compromises {
    pl_arrays *arrays;  /* own the rows */
    size_t num_moments; /* at least 1 */
    uint64_t *rows;     /* [count], of each PL_BYTES + num_moments numbers */
    size_t count;
} pl_compromises;

static inline uint64_t *pl_compromise(const pl_compromises *c, size_t row) {
    return c->rows + row * (PL_BYTES + c->num_moments);
}

/* Where a choice comes from: that of the units or stages before, and what the last one chooses. */
static inline uint64_t pl_origin(size_t before, size_t own) {
    return (uint64_t)before << 32 | own;
}

static inline size_t pl_origin_before(const uint64_t *row) {
    return (size_t)(row[PL_ORIGIN] >> 32);
}

static inline size_t pl_origin_own(const uint64_t *row) {
    return (size_t)(row[PL_ORIGIN] & UINT32_MAX);
}

/* Makes room for so many; false, and arrays->failed, if memory is short. */
bool pl_compromises_reserve(pl_compromises *choices, size_t count);

/* True if a choice needs no more bytes than some, at any moment. */
bool pl_compromise_is_within(const pl_compromises *choices, const uint64_t *row,
                             const uint64_t *bytes);

/* Sorts those from `first` on, by cycles, and drops those that another one beats. */
void pl_compromises_keep(pl_compromises *choices, size_t first);

#endif
