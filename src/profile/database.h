/* Reads tables of an SQLite file by column name. Errors name file, table, row and column.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DATABASE_H
#define PL_PROFILE_DATABASE_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "popliner/error.h"

/* ---- An open file ---- */

/* An open file. All of its connections see one state of it, each in one read transaction. What
 * reads from it fails in `outcome`, and does nothing if something failed before. */
typedef struct pl_database {
    sqlite3 *sqlite; /* owned; NULL when closed */
    char *path;      /* owned; for messages */
    char format[80]; /* the version of its contents, in brackets; for messages, "" if unknown */

    char *file_path;   /* owned; without symbolic links */
    bool is_immutable; /* opened without locks, which would create new files in its directory */

    bool is_logged; /* in write-ahead mode */

    /* The state that is read: if one of these changes, the path leads to another file, or the file
     * was written. */
    struct stat state;
    off_t log_bytes; /* of its write-ahead log; 0 if there is none */

    /* More connections to the file, for reading by several threads; owned. */
    struct pl_database *helpers;
    size_t num_helpers;

    pl_bounds *bounds; /* see pl_database_bind; NULL: none */
    pl_outcome outcome;
    bool is_helper; /* used by a thread other than the one that called the library */
} pl_database;

/* Opens `path` read-only, also for reading with `error` from then on, and locks it against writers
 * like SQLite's readers; creates no files unless there is a write-ahead log already. Errors: INPUT
 * if the file is no database, cannot be read, needs a rollback first, or is being written (after
 * half a second); MEMORY. */
popliner_status pl_database_open(pl_database *database, const char *path, popliner_error *error);
void pl_database_close(pl_database *database);

/* Sets the bounds: when they are over, reading fails with STOPPED, even inside a query and on
 * connections that are opened later. */
void pl_database_bind(pl_database *database, pl_bounds *bounds);

/* Opens `count` more connections to an open file, or as many as the system provides; none if the
 * file has a log, or has changed since it was opened. The calling thread uses the first
 * connection. */
void pl_database_open_helpers(pl_database *database, size_t count);

/* Ends reading with `status` (whose error is *error). Returns INPUT instead if the file has changed
 * since it was opened, so that the results may be of two states. A file that was replaced has not
 * changed: the connections keep reading the old one. */
popliner_status pl_database_end_reading(const pl_database *database, popliner_status status,
                                        popliner_error *error);

/* Fails with the connection's last SQLite error; `action` was in progress ("reading table x"). */
void pl_database_fail(pl_database *database, const char *action);

/* True if nothing has failed. */
static inline bool pl_database_is_well(const pl_database *database) {
    return database->outcome.status == POPLINER_OK;
}

/* True if a query, with `text` as its parameter unless NULL, has a row, whose first number goes to
 * *number. `action` is for messages, as in pl_database_fail. */
bool pl_database_ask(pl_database *database, const char *sql, const char *text, const char *action,
                     int64_t *number);

/* pl_bounds_take for the memory of something in this file. */
void pl_database_take_bytes(pl_database *database, const char *what, uint64_t count,
                            uint64_t item_bytes);

/* True if the file has a table or view of this name. */
bool pl_database_has_table(pl_database *database, const char *table);

/* True if a table or view has a column; false if the table is missing. */
bool pl_database_has_column(pl_database *database, const char *table, const char *column);

enum { PL_MAX_COLUMNS = 12 };

/* The cost of a missing table or column that nothing works without: see pl_column.untrusted. */
extern const char pl_required[];

/* A column to read. One that its table does not have reads as NULL, unless it is required. The last
 * four members are for profile/tables.h. */
typedef struct pl_column {
    const char *name;
    const char *tells; /* what it contains, as the end of a sentence; for messages; may be NULL */
    /* what is unreliable without it; NULL: nothing; pl_required: the table cannot be read */
    const char *untrusted;
    int kind;     /* pl_column_kind */
    int of;       /* pl_table_number: the table that it refers to */
    size_t into;  /* offset of what gets it in the profile: an array, or a number; 0: none */
    uint64_t max; /* 0: that of the array, or none */
} pl_column;

/* A table. One that is missing reads as empty, unless it is required (`untrusted`), and fails where
 * it is opened. */
typedef struct pl_table {
    const char *name;
    const char *tells;
    const char *untrusted;
    const char *program_type; /* expected only if there are programs of this type; NULL: always */
    bool fails_later;         /* a required one reads as empty: its reader fails with a remedy */
    bool is_whole;            /* counts as missing without a column that anything depends on */
    const char *tail;         /* SQL after the FROM clause, "ORDER BY id"; may be NULL */
    size_t count;             /* offset of the count that each row increases; 0: none */
    pl_column columns[PL_MAX_COLUMNS]; /* up to one without a name */
} pl_table;

/* Returns the number of columns. */
size_t pl_table_width(const pl_table *table);

/* An iteration over the rows of one table. Only database.c uses `statement` and `values`: one of
 * them is NULL. */
typedef struct pl_rows {
    pl_database *database;
    const pl_table *table;
    sqlite3_stmt *statement; /* NULL if the (optional) table does not exist */
    sqlite3_value **values;  /* of the current row; only for pl_rows_each */
    size_t row;              /* number of the current row, from 1, for messages */
} pl_rows;

/* Begins an iteration over a table. Close it unless pl_rows_next has returned false. */
pl_rows pl_rows_open(pl_database *database, const pl_table *table);
void pl_rows_close(pl_rows *rows);

/* Moves to the next row; false after the last one, or once something has failed. */
bool pl_rows_next(pl_rows *rows);

/* Processes the current row; a failure ends the iteration. */
typedef void (*pl_take_row)(void *user, pl_rows *rows);

/* Calls `take` for every row of the table of `rows`, with `tail` instead of its own. Increments
 * rows->row; the functions below read the current row. For tables of millions of rows: saves a call
 * of SQLite for each row, and most of a call for each value. No other iteration may be open on the
 * connection. */
void pl_rows_each(pl_rows *rows, const char *tail, pl_take_row take, void *user);

/* Reads a whole number in [0, max] of the current row. NULL or text is an error; then returns 0. */
uint64_t pl_rows_number(pl_rows *rows, int column, uint64_t max);

/* Like pl_rows_number, but reads NULL as `otherwise`. */
uint64_t pl_rows_number_or(pl_rows *rows, int column, uint64_t max, uint64_t otherwise);

/* True if a column holds a whole number that is not negative, which goes to *value; else leaves
 * *value unchanged. For values that nothing depends on. */
bool pl_rows_find_number(const pl_rows *rows, int column, uint64_t *value);

/* Reads a value as SQLite converts it: 0 for NULL. */
int64_t pl_rows_integer(const pl_rows *rows, int column);
double pl_rows_real(const pl_rows *rows, int column);

bool pl_rows_is_null(const pl_rows *rows, int column);

/* Returns text of the current row, "" for NULL; valid until the next row. */
const char *pl_rows_text(pl_rows *rows, int column);

/* Returns bytes of the current row, never NULL; size 0 for NULL. Valid until the next row. */
const uint8_t *pl_rows_blob(pl_rows *rows, int column, size_t *size);

/* Fails with INPUT for a column of the current row; `format` is the rest of the sentence. */
void pl_rows_fail(const pl_rows *rows, int column, const char *format, ...);

#endif
