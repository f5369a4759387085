/* A mixed-integer program in plain arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_MIP_H
#define PL_SOLVE_MIP_H

#include <stdbool.h>
#include <stddef.h>

/* lower <= sum over the columns of value * x <= upper; -INFINITY and INFINITY are no bound. */
typedef struct pl_mip_row {
    double lower;
    double upper;
} pl_mip_row;

/* A variable: 0 or 1, or anything from 0. */
typedef struct pl_mip_column {
    bool binary;
    double cost;
} pl_mip_column;

typedef struct pl_mip_entry {
    size_t row;
    size_t column;
    double value;
} pl_mip_entry;

/* Minimise the sum of cost * x. Zero-initialise; free with pl_mip_clear. */
typedef struct pl_mip {
    pl_mip_row *rows; /* owned, like the others */
    size_t num_rows;
    size_t row_capacity;
    pl_mip_column *columns;
    size_t num_columns;
    size_t column_capacity;
    pl_mip_entry *entries; /* each place at most once */
    size_t num_entries;
    size_t entry_capacity;
} pl_mip;

void pl_mip_clear(pl_mip *program);

/* Each appends one item; false when memory is short. */
bool pl_mip_add_row(pl_mip *program, double lower, double upper);
bool pl_mip_add_column(pl_mip *program, bool binary, double cost);
bool pl_mip_add_entry(pl_mip *program, size_t row, size_t column, double value);

#endif
