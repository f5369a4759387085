/* Reading tables of an SQLite file by column name, with errors that name file, table, row and
 * column.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DATABASE_H
#define PL_PROFILE_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/bounds.h"
#include "base/growth.h"
#include "popliner/error.h"
#include "profile/progress.h"

/* What tells that a file has changed: its name leads to another, or somebody has written it. */
typedef struct pl_file_state {
    dev_t device;
    ino_t inode;
    off_t size_bytes;
    struct timespec time; /* of the last change */
    off_t log_bytes;      /* of the write-ahead log beside it; 0 if there is none */
} pl_file_state;

enum { PL_DATABASE_HEADER = 100 };

/* An open file. All of its connections see one state of it, each in one read transaction. */
typedef struct pl_database {
    sqlite3 *sqlite; /* owned; NULL when closed */
    char *path;      /* owned; for messages */
    /* What nothing but this column of the file tells, or nothing but this table (`column` NULL), as
     * the end of a sentence; NULL: not known. For messages; NULL for a file of other tables. */
    const char *(*tells)(const char *table, const char *column);
    char format[80]; /* the version of its contents, in brackets; for messages, "" if unknown */

    char *file_path;   /* owned; without symbolic links */
    bool is_immutable; /* opened without locks, which would need new files beside it */

    /* The state that is read. `watcher` is a connection outside of the transactions, owned; it
     * tells another version as soon as somebody has committed something. */
    pl_file_state state;
    uint8_t header[PL_DATABASE_HEADER];
    sqlite3 *watcher;
    int64_t version;

    /* Further connections to the same file, for reading by several threads; owned. */
    struct pl_database *helpers;
    size_t num_helpers;

    pl_bounds *bounds; /* see pl_database_bind; NULL: none */
    bool is_helper;    /* another thread uses it than the one that called the library */
} pl_database;

/* Opens `path` read-only, and locks it against writers as SQLite's readers do;
 * nothing is written beside it unless there is a write-ahead log already. `expected` says in
 * the error message what the file should have been, for example "a Poplar profile (profile.pop)".
 * Errors: INPUT when it is no database or cannot be read, when it needs to be rolled back first,
 * when another program is writing it (after half a second); MEMORY. */
popliner_status pl_database_open(pl_database *database, const char *path, const char *expected,
                                 popliner_error *error);
void pl_database_close(pl_database *database);

/* From here on reading ends with STOPPED when the bounds are over, in the middle of a query, too,
 * also on connections that are opened later. */
void pl_database_bind(pl_database *database, pl_bounds *bounds);

/* Opens `count` more connections to an open file, or as many as the system gives; none when the
 * file has changed since it was opened. The calling thread keeps the first one to itself. */
void pl_database_open_helpers(pl_database *database, size_t count);

/* What reading ends with that has come to `status` (whose error is *error): INPUT if the file has
 * changed since it was opened, so that what was read may be of two states, else `status`. A file
 * that another has replaced is not changed: the connections keep to the old one. */
popliner_status pl_database_end_reading(const pl_database *database, popliner_status status,
                                        popliner_error *error);

/* What SQLite's failure to open a file is due to where its path is longer than SQLite takes; else
 * what SQLite says itself. `sqlite` may be NULL. */
const char *pl_database_why_not_opened(sqlite3 *sqlite, const char *path);

/* Translates the connection's last SQLite error, met while doing `action` ("reading table x"). */
popliner_status pl_database_fail(const pl_database *database, const char *action,
                                 popliner_error *error);

/* Sets *found to whether the file has a table or view of this name. */
popliner_status pl_database_has_table(const pl_database *database, const char *table, bool *found,
                                      popliner_error *error);

/* The same for a column of a table or view, which may be missing itself. */
popliner_status pl_database_has_column(const pl_database *database, const char *table,
                                       const char *column, bool *found, popliner_error *error);

enum { PL_MAX_COLUMNS = 16 };

/* A column to read. One that is not required reads as NULL where the table does not have it. */
typedef struct pl_column {
    const char *name;
    bool required;
} pl_column;

/* Whether a table must exist. One that need not reads as one without rows where it is missing. */
typedef enum pl_table_need {
    PL_TABLE_OPTIONAL, /* it may be missing, but none of its required columns */
    PL_TABLE_REQUIRED,
    PL_TABLE_WHOLE, /* it may be missing, and is as good as that without a required column */
} pl_table_need;

/* A table and what is read of it; `tail` is SQL behind the FROM clause ("ORDER BY id") or "". */
typedef struct pl_table {
    const char *name;
    pl_table_need need;
    const pl_column *columns;
    size_t num_columns;
    const char *tail;
} pl_table;

/* A walk over the rows of one table. Zero-initialise; close with pl_rows_close. */
typedef struct pl_rows {
    const pl_database *database;
    const char *table;
    const pl_column *columns;
    sqlite3_stmt *statement; /* NULL when the (optional) table does not exist */
    sqlite3_value **values;  /* of the current row; of pl_rows_each alone */
    size_t row;              /* number of the current row, from 1, for messages */
} pl_rows;

/* Begins a walk over a table. The rows keep its name and columns, not the structure. */
popliner_status pl_rows_open(pl_rows *rows, const pl_database *database, const pl_table *table,
                             popliner_error *error);
void pl_rows_close(pl_rows *rows);

/* Moves to the next row; *more is false behind the last one. */
popliner_status pl_rows_next(pl_rows *rows, bool *more, popliner_error *error);

/* Takes the current row; what it returns but OK ends the walk. */
typedef popliner_status (*pl_take_row)(void *user, pl_rows *rows, popliner_error *error);

/* Calls `take` for every row of a table, and ends with the first error that it returns. */
popliner_status pl_table_read(const pl_database *database, const pl_table *table, pl_take_row take,
                              void *user, popliner_error *error);

/* SQL for the columns of a table, those that are not required and missing as NULL; the tail is not
 * looked at. Sets *found to whether the table exists. Free sql->data. */
popliner_status pl_list_columns(const pl_database *database, const pl_table *table, bool *found,
                                pl_text *sql, popliner_error *error);

/* Calls `take` for every row of a query whose columns are those of `rows`, and ends with the first
 * error that it returns. rows->row counts on from what it is; the functions below work on the
 * current row. For tables of millions of rows: it saves a call of SQLite's for each row, and the
 * larger part of one for each value. No other walk may be open on the connection. */
popliner_status pl_rows_each(pl_rows *rows, const char *query, size_t num_columns, pl_take_row take,
                             void *user, popliner_error *error);

/* All values of the current row of pl_rows_each at once, NULL as -1. False when one of them is
 * neither NULL nor a whole number, or is negative; values[] then means nothing. */
bool pl_rows_plain_numbers(const pl_rows *rows, size_t num_columns, int64_t *values);

/* A whole number in [0, max] of the current row. NULL or text is an error. */
popliner_status pl_rows_number(pl_rows *rows, int column, uint64_t max, uint64_t *value,
                               popliner_error *error);

/* The same, but NULL reads as `otherwise`. */
popliner_status pl_rows_number_or(pl_rows *rows, int column, uint64_t max, uint64_t otherwise,
                                  uint64_t *value, popliner_error *error);

/* Whether a column holds a whole number that is not negative, which goes to *value: for what is not
 * needed, and left as it is where the file tells nothing, or nonsense. */
bool pl_rows_told(const pl_rows *rows, int column, uint64_t *value);

bool pl_rows_is_null(const pl_rows *rows, int column);

/* Text of the current row, "" for NULL; valid until the next row. */
const char *pl_rows_text(pl_rows *rows, int column);

/* Bytes of the current row, size 0 for NULL, and never NULL; valid until the next row. */
const uint8_t *pl_rows_blob(pl_rows *rows, int column, size_t *size);

/* An INPUT error about a column of the current row; `format` says what is wrong with it. */
popliner_status pl_rows_fail(const pl_rows *rows, int column, popliner_error *error,
                             const char *format, ...);

/* ---- Tables of millions of rows ---- */

/* Rows whose key is in [first, end), one after another in the table's order. */
typedef struct pl_piece {
    int64_t first;
    int64_t end; /* INT64_MAX: no end */
    size_t num_rows;
} pl_piece;

/* What is read, and how. The pieces do not depend on the number of threads. */
typedef struct pl_scan {
    const pl_database *database; /* its connections are the threads */
    const char *table;
    const pl_column *columns;
    size_t num_columns;
    const char *key;   /* the column by whose numbers the table is cut into pieces, or "rowid" */
    int64_t min_keys;  /* of a piece: they are rows enough to be worth one */
    const char *order; /* "ORDER BY ...", ascending in the key, or "" */
    pl_reading_progress *progress; /* or NULL */

    /* Takes the current row, the row_in_piece-th of its piece. Called by one thread for all rows of
     * a piece, but for several pieces at the same time. */
    popliner_status (*take)(void *user, pl_rows *rows, size_t piece, size_t row_in_piece,
                            popliner_error *error);
    void (*side_task)(void *user); /* or NULL: other work for the calling thread, done first */
    void *user;

    /* Filled by pl_scan_open. */
    bool found;   /* the table exists */
    bool is_open; /* the table could not be cut: there is one piece, without bounds */
    int64_t lowest;
    int64_t highest; /* keys; behind the cut */
    pl_piece *pieces;
    size_t num_pieces;
    char *column_list; /* SQL */
} pl_scan;

/* Looks at the table and cuts it into pieces; a missing one has no piece. Errors: INPUT for a
 * missing column, MEMORY. Close the scan with pl_scan_close in any case. */
popliner_status pl_scan_open(pl_scan *scan, popliner_error *error);

/* Makes one piece without bounds of the table, to be read by one thread. */
void pl_scan_do_not_cut(pl_scan *scan);

/* Takes every row. The error is that of the first row, in the table's order, that was refused. */
popliner_status pl_scan_run(pl_scan *scan, popliner_error *error);

void pl_scan_close(pl_scan *scan);

#endif
