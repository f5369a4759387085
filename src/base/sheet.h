/* Writes one table, row after row, each column by one line with its name, its kind and its value:
 *
 *       PL_COLUMN(sheet, number, "size_bytes", variable->size_bytes);
 *
 * So a row is a function, which is called once without a row, for the names, and then for each row.
 * Formats:
 *
 *   CSV   RFC 4180: a line of names, lines end in CR LF, and a field is quoted if necessary
 *   TSV   a line of names, lines end in LF; in a text \t, \n, \r and \\ are a tab, an end of line
 *         and a backslash
 *   JSON  {"section": NAME, "rows": [...]} with an object for each row, on its own line
 *
 * A missing value is an empty field, or null. Invalid UTF-8 becomes U+FFFD; so does, in CSV and
 * TSV, a character that a terminal would obey. JSON escapes it.
 *
 * PL_FORMAT_KEPT stores the values instead, for comparisons. PL_FORMAT_PAGE, for pages, is
 *
 *   {"section": NAME, "columns": [...], "rows": [[...], ...], "all_rows": N}
 *
 * without blanks: the first rows of N, at most PL_MAX_PAGE_ROWS unless is_whole.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_SHEET_H
#define PL_BASE_SHEET_H

#include "base/growth.h"
#include "base/id_map.h"
#include "base/json_writer.h"
#include "popliner/error.h"
#include "popliner/report.h"

#define PL_FORMAT_PAGE ((popliner_format)(POPLINER_FORMAT_JSON + 1))
#define PL_FORMAT_KEPT ((popliner_format)(POPLINER_FORMAT_JSON + 2))

enum { PL_MAX_PAGE_ROWS = 30000 };

typedef enum pl_cell_kind {
    PL_CELL_NONE,
    PL_CELL_NUMBER,
    PL_CELL_FLAG,
    PL_CELL_TEXT,
    PL_CELL_SIGNED,
    PL_CELL_REAL,
    PL_CELL_RATIO, /* a real number with six decimals */
} pl_cell_kind;

typedef struct pl_cell {
    pl_cell_kind kind;
    union {
        uint64_t number; /* also for a flag, and for a stored text, where it numbers the name */
        int64_t signed_number;
        double real;
        const char *text;
    } value;
} pl_cell;

/* Begin with pl_sheet_begin, end with pl_sheet_finish, or with pl_sheet_clear if it is
 * stored. */
typedef struct pl_sheet {
    popliner_format format;
    bool is_naming;       /* no row has begun: columns are named */
    bool is_whole;        /* in a page with all rows, for drawings */
    const char **columns; /* [num_columns]: names */
    size_t num_columns;
    size_t num_rows; /* complete ones */
    size_t column;   /* of the next value */
    pl_text text;    /* failed if memory ran short, for any of this */
    pl_json json;    /* for JSON and pages */
    pl_cell *cells;  /* stored cells, row after row */
    size_t num_cells;
    pl_names names;   /* of the texts in the cells */
    pl_arrays arrays; /* own the columns and cells */
} pl_sheet;

/* Begins a sheet; name its columns next, and end with pl_sheet_end_names. */
void pl_sheet_begin(pl_sheet *sheet, popliner_format format, const char *section);

/* Sets the names of all columns, for a table whose rows are written in several places. */
void pl_sheet_set_columns(pl_sheet *sheet, const char *const *names, size_t count);

/* Writes a column of the current row, or its name while columns are named; the value is then not
 * evaluated. `kind` is the last part of the name of a function below. */
#define PL_COLUMN(sheet, kind, name, ...)                                                          \
    ((sheet)->is_naming ? pl_sheet_name(sheet, name) : pl_sheet_##kind(sheet, __VA_ARGS__))

void pl_sheet_name(pl_sheet *sheet, const char *name);
void pl_sheet_end_names(pl_sheet *sheet);

/* Write the next value of the row; after the last one the next row begins. */
void pl_sheet_none(pl_sheet *sheet);
void pl_sheet_text(pl_sheet *sheet, const char *value); /* NULL: none */
void pl_sheet_number(pl_sheet *sheet, uint64_t value);
void pl_sheet_change(pl_sheet *sheet, bool is_known, int64_t value);
void pl_sheet_flag(pl_sheet *sheet, bool value);      /* "true" or "false" */
void pl_sheet_index(pl_sheet *sheet, size_t value);   /* SIZE_MAX: none */
void pl_sheet_place(pl_sheet *sheet, uint32_t value); /* UINT32_MAX: none */
void pl_sheet_known(pl_sheet *sheet, bool is_known, uint64_t value);
void pl_sheet_share(pl_sheet *sheet, bool is_known, double value); /* six digits, if finite */
/* Writes value / divisor, with six decimals unless the divisor is 1. */
void pl_sheet_known_ratio(pl_sheet *sheet, bool is_known, uint64_t value, uint64_t divisor);
void pl_sheet_words(pl_sheet *sheet, const char *value); /* "": none */
void pl_sheet_made(pl_sheet *sheet, pl_text value);      /* frees the text; empty: none */

/* Writes an id of 64 bits; in JSON as a text, as a double could not hold it. 0: none. */
void pl_sheet_id(pl_sheet *sheet, uint64_t id);

/* Frees a stored sheet. */
void pl_sheet_clear(pl_sheet *sheet);

/* Sets *result to the text unless memory ran short or `status` is a failure. The last row must be
 * complete. */
popliner_status pl_sheet_finish(pl_sheet *sheet, popliner_status status, char **result,
                                popliner_error *error);

#endif
