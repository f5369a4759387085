/* A SQLite file that is written once, from start to end, in one transaction.
 *
 * The first failure sticks: what comes after it does nothing, and mk_database_close() tells it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_DATABASE_H
#define MK_DATABASE_H

#include "popliner/error.h"
#include "profile/blob_codec.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mk_database {
    sqlite3 *handle;
    const char *path;
    bool failed;
    char reason[300];
} mk_database;

/* Opens a new file at `path`, which must stay valid, and creates the schema in it. */
void mk_database_open(mk_database *database, const char *path);

/* Commits and closes; POPLINER_ERROR_OUTPUT when anything failed since mk_database_open(). */
popliner_status mk_database_close(mk_database *database, popliner_error *error);

void mk_database_run(mk_database *database, const char *sql);

/* Rows of one table, value after value. */
typedef struct mk_rows {
    mk_database *database;
    sqlite3_stmt *insert;
    int next; /* column */
} mk_rows;

mk_rows mk_rows_begin(mk_database *database, const char *table, int num_columns);
void mk_rows_integer(mk_rows *rows, uint64_t value);
void mk_rows_signed(mk_rows *rows, int64_t value);
void mk_rows_real(mk_rows *rows, double value);
void mk_rows_null(mk_rows *rows);

/* The text must stay valid until the row ends. */
void mk_rows_text(mk_rows *rows, const char *text);

/* Copied; empties the blob for its next use. */
void mk_rows_blob(mk_rows *rows, pl_blob *blob);

void mk_rows_next(mk_rows *rows); /* the row is complete */
void mk_rows_end(mk_rows *rows);

/* Blobs that were written, found again by an id. */
typedef struct mk_lookup {
    mk_database *database;
    sqlite3_stmt *select;
} mk_lookup;

/* `sql` has one parameter, the id, and one column, the blob. */
mk_lookup mk_lookup_begin(mk_database *database, const char *sql);

/* Decodes the RLE blob of the id into values[count]. */
void mk_lookup_rle(mk_lookup *lookup, uint64_t id, uint64_t *values, size_t count);

void mk_lookup_end(mk_lookup *lookup);

#endif
