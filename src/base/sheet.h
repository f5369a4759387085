/* Writes one table, row after row, each column by a line of its own that has its name, its kind and
 * its value:
 *
 *   PL_COLUMN(sheet, number, "size_bytes", variable->size_bytes);
 *
 * A row is thus a function, which is called once without a row behind it, for the names, and then
 * for each row. Formats:
 *
 *   CSV   RFC 4180: a line of names, lines end in CR LF, and a field within quotes where it has to
 *         be
 *   TSV   a line of names, lines end in LF; in a text \t, \n, \r and \\ stand for a tab, an end of
 *         line and a backslash
 *   JSON  {"section": NAME, "rows": [...]} with an object for each row, on a line of its own
 *
 * A value that there is not is an empty field, or null. What is no valid UTF-8 is shown as U+FFFD;
 * so is, in CSV and TSV, a character that would do something to a terminal. JSON escapes it.
 *
 * PL_FORMAT_KEPT keeps the values instead, to be compared. PL_FORMAT_PACKED, for pages, writes them
 * column by column in little room, once all are known:
 *
 *   {"columns": [...], "all_rows": N, "num_rows": M, "kinds": [...], "data": [...]}
 *
 * The first M rows of N are there: of very long tables the first PL_MAX_PACKED_ROWS.
 * By kind: "number" and "flag" are packed (base/packed.h), each plus one, 0 for none; "text" is
 * {"names": [...], "place": packed places in them, plus one}; "mixed" is a list of values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_SHEET_H
#define PL_BASE_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/json_writer.h"
#include "base/names.h"
#include "popliner/error.h"
#include "popliner/report.h"

#define PL_FORMAT_PACKED ((popliner_format)(POPLINER_FORMAT_JSON + 1))
#define PL_FORMAT_KEPT ((popliner_format)(POPLINER_FORMAT_JSON + 2))

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
        uint64_t number; /* also of a flag, and of a text that was kept, that of its name */
        int64_t signed_number;
        double real;
        const char *text;
    } value;
} pl_cell;

/* Begin with pl_sheet_begin, end with one of the last functions below. */
typedef struct pl_sheet {
    popliner_format format;
    bool is_naming; /* no row has begun: columns are named */
    bool is_whole;  /* packed with all rows, however many: what is drawn */
    bool is_plain;  /* see pl_sheet_begin_plain */
    char **columns; /* [num_columns]: their names */
    size_t num_columns;
    size_t column_capacity;
    size_t column; /* of the value that comes next */
    pl_text text;
    pl_json json;   /* which writes it, if it is JSON */
    pl_cell *cells; /* those that are kept, row after row */
    size_t num_cells;
    size_t cell_capacity;
    pl_names names; /* of the texts in them */
} pl_sheet;

/* Whose columns are to be named next, up to pl_sheet_end_names. */
void pl_sheet_begin(pl_sheet *sheet, popliner_format format, const char *section);

/* The same for a table that people read, too, as CSV or TSV: lines end in LF, and in the end all of
 * it is made printable. */
void pl_sheet_begin_plain(pl_sheet *sheet, popliner_format format);

/* A text as a field of such a table. */
void pl_sheet_add_field(pl_text *text, popliner_format format, const char *value);

/* The names of all columns at once, of a table whose rows are not all made in one place. */
void pl_sheet_set_columns(pl_sheet *sheet, const char *const *names, size_t count);

/* A column of the row that is being written, or its name as long as there is none: then the value
 * is not looked at. `kind` is the end of one of the names of the functions below. */
#define PL_COLUMN(sheet, kind, name, ...)                                                          \
    ((sheet)->is_naming ? pl_sheet_name(sheet, name) : pl_sheet_##kind(sheet, __VA_ARGS__))

void pl_sheet_name(pl_sheet *sheet, const char *name);
void pl_sheet_end_names(pl_sheet *sheet);

/* The next value of the row; behind the last one the next row begins. */
void pl_sheet_none(pl_sheet *sheet);
void pl_sheet_text(pl_sheet *sheet, const char *value); /* NULL: none */
void pl_sheet_number(pl_sheet *sheet, uint64_t value);
void pl_sheet_signed(pl_sheet *sheet, int64_t value);
void pl_sheet_real(pl_sheet *sheet, double value); /* finite; six digits */
void pl_sheet_change(pl_sheet *sheet, bool is_known, int64_t value);
/* The same as a number where it is none below 0: numbers are packed. */
void pl_sheet_packed_change(pl_sheet *sheet, bool is_known, int64_t value);
void pl_sheet_flag(pl_sheet *sheet, bool value);      /* "true" or "false" */
void pl_sheet_index(pl_sheet *sheet, size_t value);   /* SIZE_MAX: none */
void pl_sheet_place(pl_sheet *sheet, uint32_t value); /* UINT32_MAX: none */
void pl_sheet_known(pl_sheet *sheet, bool is_known, uint64_t value);
void pl_sheet_share(pl_sheet *sheet, bool is_known, double value);
/* So many of a divisor's units: six digits behind the point unless it is 1. */
void pl_sheet_known_ratio(pl_sheet *sheet, bool is_known, uint64_t value, uint64_t divisor);
void pl_sheet_words(pl_sheet *sheet, const char *value); /* "": none */
void pl_sheet_made(pl_sheet *sheet, pl_text value);      /* which is freed; empty: none */

/* An id of 64 bits, which JSON has as a text: it may be more than a double holds. 0: none. */
void pl_sheet_id(pl_sheet *sheet, uint64_t id);

/* The end of a sheet that was kept, and is to be cleared. Errors: MEMORY. */
popliner_status pl_sheet_finish_kept(const pl_sheet *sheet, popliner_status status,
                                     popliner_error *error);
void pl_sheet_clear(pl_sheet *sheet);

/* Hands the text over to *result unless memory ran short or `status` is a failure already. The last
 * row has to be whole. */
popliner_status pl_sheet_finish(pl_sheet *sheet, popliner_status status, char **result,
                                popliner_error *error);

#endif
