/* Indices of the intervals of a chain in an array: first the intervals that begin with unit 0, from
 * the shortest on, then those that begin with unit 1, and so on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_TRIANGLE_H
#define PL_COSTS_TRIANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"

/* ---- Triangle -------------------------------------------------------------------------------- */

/* Returns the number of intervals. */
static inline size_t pl_triangle_size(size_t num_units) {
    return num_units * (num_units + 1) / 2;
}

/* Returns the index of the first interval that begins with a unit: earlier rows have n, n - 1, ...
 * intervals. */
static inline size_t pl_triangle_row(size_t num_units, size_t first_unit) {
    return first_unit * (2 * num_units - first_unit + 1) / 2;
}

/* Returns the index of an interval. */
static inline size_t pl_triangle_place(size_t num_units, size_t first_unit, size_t last_unit) {
    return pl_triangle_row(num_units, first_unit) + (last_unit - first_unit);
}

/* ---- Interval sums --------------------------------------------------------------------------- */

/* Sums over every interval of a chain. An amount counts once, however many of its units the
 * interval has.
 *
 * In the row of intervals that begin at i, an amount joins at its first unit u >= i. So each of its
 * units is one arrival, valid for the beginnings after its previous unit. The next beginning has
 * those of one before it, but for what arrives before it, and its own. */

/* Bytes that come with a unit to the intervals that begin after an earlier one. */
typedef struct pl_arrival {
    size_t unit;
    size_t begins_after; /* SIZE_MAX: wherever the interval begins */
    uint64_t bytes;
} pl_arrival;

/* An arrival at `end`, the last unit of the first interval of a beginning that gains amounts. */
typedef struct pl_sum_arrival {
    size_t end;
    size_t amounts;
    size_t next; /* of the same beginning, SIZE_MAX if none */
} pl_sum_arrival;

/* Zero-initialise; free `arrays`, which also tell whether memory was short: then nothing may be
 * summed. */
typedef struct pl_interval_sums {
    size_t num_units;
    size_t width; /* the number of amounts of an entry */
    uint64_t *amounts;
    size_t num_amounts;
    pl_sum_arrival *arrivals;
    size_t num_arrivals;
    size_t *first_arrival; /* [num_units] by beginning, SIZE_MAX if none */
    uint64_t *arriving;    /* [num_units * width], of the current beginning */
    uint64_t *totals;      /* [width], of the current interval */
    size_t next_beginning;
    size_t next_end;
    pl_arrays arrays; /* own these */
} pl_interval_sums;

void pl_interval_sums_init(pl_interval_sums *sums, size_t num_units, size_t width);

/* Adds amounts[width] to the intervals that hold at least one of the units (distinct, ascending).
 * The sum of all amounts must stay within 64 bits. */
void pl_interval_sums_add(pl_interval_sums *sums, const size_t *units, size_t num_units,
                          const uint64_t *amounts);

/* Sets arrivals[2 * num_units], by unit, whose sum is the largest of the bytes[num_units] that an
 * interval has; returns their number. O(num_units); open[num_units] is scratch. */
size_t pl_arrivals_of_largest(const uint64_t *bytes, size_t num_units, pl_arrival *arrivals,
                              size_t *open);

/* Adds an arrival, as the first amount, modulo 2^64. */
void pl_interval_sums_add_arrival(pl_interval_sums *sums, const pl_arrival *arrival);

/* Moves to the next beginning, at first 0. Nothing may be added afterwards. */
void pl_interval_sums_begin(pl_interval_sums *sums);

/* Returns the totals[width] of the next longer interval of this beginning, at first that of one
 * unit. Valid until the next call. */
const uint64_t *pl_interval_sums_extend(pl_interval_sums *sums);

#endif
