/* Places of the intervals of a row of units in an array: first those that begin with unit 0, from
 * the shortest on, then those that begin with unit 1, and so on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_TRIANGLE_H
#define PL_COSTS_TRIANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Triangle -------------------------------------------------------------------------------- */

/* How many intervals there are. */
static inline size_t pl_triangle_size(size_t num_units) {
    return num_units * (num_units + 1) / 2;
}

/* Where the intervals that begin with a unit are: the rows before have n, n - 1, ... elements. */
static inline size_t pl_triangle_row(size_t num_units, size_t first_unit) {
    return first_unit * (2 * num_units - first_unit + 1) / 2;
}

/* The place of an interval. */
static inline size_t pl_triangle_place(size_t num_units, size_t first_unit, size_t last_unit) {
    return pl_triangle_row(num_units, first_unit) + (last_unit - first_unit);
}

/* ---- Interval sums --------------------------------------------------------------------------- */

/* Sums over every interval of a chain, of things that count once however many of their units an
 * interval holds.
 *
 * Among the intervals that begin at i, a thing joins at its first unit u >= i; so each of its units
 * is one arrival, valid for the beginnings behind the unit before it. The arrivals of one beginning
 * differ little from those of the next, and only the differences are kept. */

typedef struct pl_arrival_change {
    size_t end; /* the unit with which the interval gains or loses the amounts */
    size_t amounts;
    size_t next; /* change of the same beginning, SIZE_MAX if none */
    bool is_loss;
} pl_arrival_change;

/* Zero-initialise; free with pl_interval_sums_free. */
typedef struct pl_interval_sums {
    size_t num_units;
    size_t width; /* amounts of a thing */
    uint64_t *amounts;
    size_t num_amounts;
    size_t amounts_capacity;
    pl_arrival_change *changes;
    size_t num_changes;
    size_t changes_capacity;
    size_t *first_change; /* [num_units] by beginning, SIZE_MAX if none */
    uint64_t *arriving;   /* [num_units * width], of the current beginning */
    uint64_t *totals;     /* [width], of the current interval */
    size_t next_beginning;
    size_t next_end;
} pl_interval_sums;

/* All functions that return bool return false when memory is short. */
bool pl_interval_sums_init(pl_interval_sums *sums, size_t num_units, size_t width);

/* Adds amounts[width] to the intervals that hold at least one of the units (distinct, ascending).
 * All amounts together must stay within 64 bits. */
bool pl_interval_sums_add(pl_interval_sums *sums, const size_t *units, size_t num_units,
                          const uint64_t *amounts);

/* The same, but for the intervals that hold at least one and not all of them. */
bool pl_interval_sums_add_parted(pl_interval_sums *sums, const size_t *units, size_t num_units,
                                 const uint64_t *amounts);

/* Goes to the next beginning, 0 at first; after this, nothing may be added. */
void pl_interval_sums_begin(pl_interval_sums *sums);

/* The totals[width] of the next longer interval with that beginning, that of one unit at first.
 * Valid until the next call. */
const uint64_t *pl_interval_sums_extend(pl_interval_sums *sums);

void pl_interval_sums_free(pl_interval_sums *sums);

#endif
