/* The values of a table, kept instead of written: to be compared, or, once all are known, to be
 * written column by column in little room:
 *
 *   {"columns": [...], "all_rows": N, "num_rows": M, "kinds": [...], "data": [...]}
 *
 * The first M rows of N are there: of very long tables the first PL_MAX_PACKED_ROWS.
 * By kind: "number" and "flag" are packed (base/packed.h), each plus one, 0 for none; "text" is
 * {"names": [...], "place": packed places in them, plus one}; "mixed" is a list of values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TABLES_SHEET_H
#define PL_TABLES_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/names.h"
#include "popliner/report.h"

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

/* ---- Writes one table in one of three formats, value by value, row after row: as many values in each row as there are columns. *   CSV   RFC 4180: a line of names, lines end in CR LF, and a field within quotes where it has to be TSV   a line of names, lines end in LF; in a text \t, \n, \r and \\ stand for a tab, an end of line and a backslash JSON  {"section": NAME, "rows": [...]} with an object for each row, on a line of its own * A value that there is not is an empty field, or null. What is no valid UTF-8 is shown as U+FFFD; so is, in CSV and TSV, a character that would do something to a terminal. JSON escapes it ---- */

/* A format more, for pages. */
#define PL_FORMAT_PACKED ((popliner_format)(POPLINER_FORMAT_JSON + 1))

/* A format more, for what is not written but compared: the cells are kept, those of the first row
 * are the names of the columns. */
#define PL_FORMAT_KEPT ((popliner_format)(POPLINER_FORMAT_JSON + 2))

/* Begin with pl_sheet_begin, end with pl_sheet_finish. */
typedef struct pl_sheet {
    popliner_format format;
    const char *const *columns; /* [num_columns], the caller's */
    size_t num_columns;
    size_t column; /* of the value that comes next */
    size_t num_rows;
    pl_text text;
    pl_cells cells; /* of the two formats above; of PL_FORMAT_KEPT the caller's to clear */
    bool is_whole;  /* packed with all rows, however many: what is drawn */
} pl_sheet;

/* Writes the names of the columns, of which there is at least one; they have to live as long as the
 * sheet. */
void pl_sheet_begin(pl_sheet *sheet, popliner_format format, const char *section,
                    const char *const *columns, size_t num_columns);

/* The next value of the row; behind the last one the next row begins. */
void pl_sheet_text(pl_sheet *sheet, const char *value); /* NULL: none */
void pl_sheet_number(pl_sheet *sheet, uint64_t value);
void pl_sheet_signed(pl_sheet *sheet, int64_t value);
void pl_sheet_real(pl_sheet *sheet, double value);  /* finite; six digits */
void pl_sheet_flag(pl_sheet *sheet, bool value);    /* "true" or "false" */
void pl_sheet_index(pl_sheet *sheet, size_t value); /* SIZE_MAX: none */
void pl_sheet_none(pl_sheet *sheet);

/* An id of 64 bits, which JSON has as a text: it may be more than a double holds. 0: none. */
void pl_sheet_id(pl_sheet *sheet, uint64_t id);

/* The end of a sheet that was kept. Errors: MEMORY. */
popliner_status pl_sheet_finish_kept(const pl_sheet *sheet, popliner_status status,
                                     popliner_error *error);

/* Hands the text over to *result unless memory ran short or `status` is a failure already. The last
 * row has to be whole. */
popliner_status pl_sheet_finish(pl_sheet *sheet, popliner_status status, char **result,
                                popliner_error *error);

#endif
