/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/compromises.h"

#include <stdlib.h>
#include <string.h>

static size_t width_of(const pl_compromises *c) {
    return PL_BYTES + c->num_moments;
}

bool pl_compromises_reserve(pl_compromises *c, size_t count) {
    return pl_arrays_grow(c->arrays, &c->rows, count * width_of(c), sizeof *c->rows);
}

bool pl_compromise_is_within(const pl_compromises *c, const uint64_t *row, const uint64_t *bytes) {
    size_t m = 0;
    while (m < c->num_moments && row[PL_BYTES + m] <= bytes[m])
        ++m;
    return m == c->num_moments;
}

static int compare_rows(const void *left, const void *right) {
    const uint64_t *a = left;
    const uint64_t *b = right;
    if (a[PL_CYCLES] != b[PL_CYCLES])
        return a[PL_CYCLES] < b[PL_CYCLES] ? -1 : 1;
    if (a[PL_BYTES] != b[PL_BYTES])
        return a[PL_BYTES] < b[PL_BYTES] ? -1 : 1;
    /* a total order, so that the result does not depend on qsort */
    return (a[PL_ORIGIN] > b[PL_ORIGIN]) - (a[PL_ORIGIN] < b[PL_ORIGIN]);
}

void pl_compromises_keep(pl_compromises *c, size_t first) {
    const bool has_one = c->num_moments == 1; /* then the last one has the fewest bytes */
    const size_t size = width_of(c) * sizeof *c->rows;
    size_t kept = first;
    if (c->count > first)
        qsort(pl_compromise(c, first), c->count - first, size, compare_rows);
    for (size_t i = first; i < c->count; ++i) {
        const uint64_t *own = pl_compromise(c, i);
        size_t k = kept;
        while (k > first && !pl_compromise_is_within(c, pl_compromise(c, k - 1), own + PL_BYTES))
            k = has_one ? first : k - 1;
        if (k == first)
            memmove(pl_compromise(c, kept++), own, size);
    }
    c->count = kept;
}
