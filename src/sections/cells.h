/* The values of a table, kept instead of written: to be compared, or, once all are known, to be
 * written column by column in little room:
 *
 *   {"columns": [...], "all_rows": N, "num_rows": M, "kinds": [...], "data": [...]}
 *
 * The first M rows of N are there: of very long tables the first PL_MAX_PACKED_ROWS.
 * By kind: "number" and "flag" are packed (show/packed.h), each plus one, 0 for none; "text" is
 * {"names": [...], "place": packed places in them, plus one}; "mixed" is a list of values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SECTIONS_CELLS_H
#define PL_SECTIONS_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/names.h"

enum { PL_MAX_PACKED_ROWS = 30000 };

typedef enum pl_cell_kind {
    PL_CELL_NONE,
    PL_CELL_NUMBER,
    PL_CELL_FLAG,
    PL_CELL_TEXT,
    PL_CELL_SIGNED,
    PL_CELL_REAL,
} pl_cell_kind;

typedef struct pl_cell {
    pl_cell_kind kind;
    union {
        uint64_t number; /* also of a flag, and of a text that of its name */
        int64_t signed_number;
        double real;
    } value;
} pl_cell;

/* Zero-initialise; clear with pl_cells_clear. */
typedef struct pl_cells {
    pl_cell *items; /* row after row */
    size_t count;
    size_t capacity;
    pl_names names;
    bool failed; /* memory ran short */
} pl_cells;

void pl_cells_add(pl_cells *cells, pl_cell cell);
void pl_cells_add_text(pl_cells *cells, const char *value);

/* Adds the object, behind its columns, to a text. No more cells come then. */
void pl_cells_write(pl_cells *cells, size_t num_columns, bool is_whole, pl_text *text);

void pl_cells_clear(pl_cells *cells);

#endif
