/* Reading the tables that have millions of rows: in pieces, by several threads, and without a call
 * of SQLite's for each row and column.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_TABLE_SCAN_H
#define PL_PROFILE_TABLE_SCAN_H

#include "popliner/listener.h"
#include "profile/database.h"

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
    const char *task;  /* for pl_progress, or NULL */
    const popliner_listener *listener;

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
