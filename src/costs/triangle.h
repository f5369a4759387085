/* Places of the intervals of a row of units in an array: first those that begin with unit 0, from
 * the shortest on, then those that begin with unit 1, and so on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_TRIANGLE_H
#define PL_COSTS_TRIANGLE_H

#include <stddef.h>

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

#endif
