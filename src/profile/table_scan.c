/* Reads all rows of a table, in pieces by several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/database.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/threads.h"

/* Small enough that threads finish together and progress moves, large enough that the cost of
 * finding the start of a piece is negligible. */
enum { MAX_PIECES = 256 };

/* Sets the bounds and returns true if all keys are numbers, which SQLite finds without reading
 * every row if the key is the rowid or has an index. */
static bool find_bounds(pl_scan *scan) {
    sqlite3 *sqlite = scan->database->sqlite;
    sqlite3_stmt *statement = NULL;
    pl_text sql = {0};
    bool is_number = false;
    pl_text_format(&sql,
                   "SELECT (SELECT min(%s) FROM \"%s\"), (SELECT max(%s) FROM \"%s\"), "
                   "EXISTS (SELECT 1 FROM \"%s\" WHERE %s IS NULL)",
                   scan->key, scan->table->name, scan->key, scan->table->name, scan->table->name,
                   scan->key);
    if (sql.failed)
        pl_outcome_fail_memory(&scan->database->outcome, "a query");
    /* for example, a view has no rowid: then it is one piece */
    else if (sqlite3_prepare_v2(sqlite, sql.data, -1, &statement, NULL) == SQLITE_OK &&
             sqlite3_step(statement) == SQLITE_ROW &&
             sqlite3_column_type(statement, 0) == SQLITE_INTEGER &&
             sqlite3_column_type(statement, 1) == SQLITE_INTEGER &&
             sqlite3_column_int(statement, 2) == 0) {
        is_number = true;
        scan->lowest = sqlite3_column_int64(statement, 0);
        scan->highest = sqlite3_column_int64(statement, 1);
    } else if (sqlite3_errcode(sqlite) == SQLITE_NOMEM) {
        pl_outcome_fail_memory(&scan->database->outcome, "the database");
    }
    sqlite3_finalize(statement);
    free(sql.data);
    return is_number;
}

void pl_scan_do_not_cut(pl_scan *scan) {
    scan->is_open = true;
    scan->num_pieces = 1;
    scan->pieces[0] = (pl_piece){.first = INT64_MIN, .end = INT64_MAX};
}

void pl_scan_open(pl_scan *scan) {
    pl_text list = {0};
    scan->found = pl_table_list_columns(scan->database, scan->table, &list);
    scan->column_list = list.data;
    if (!scan->found)
        return;
    scan->pieces = pl_new_array(MAX_PIECES, sizeof *scan->pieces);
    if (!pl_outcome_has(&scan->database->outcome, scan->pieces != NULL, "a table"))
        return;
    if (!find_bounds(scan) || scan->lowest < 0 || scan->highest > INT64_MAX - MAX_PIECES) {
        pl_scan_do_not_cut(scan);
        return;
    }
    int64_t span = scan->highest - scan->lowest + 1;
    int64_t keys = span / MAX_PIECES + 1;
    if (keys < scan->min_keys)
        keys = scan->min_keys;
    for (int64_t first = scan->lowest;; first += keys) {
        pl_piece *piece = &scan->pieces[scan->num_pieces++];
        bool is_last = scan->highest - first < keys;
        *piece = (pl_piece){.first = first, .end = is_last ? scan->highest + 1 : first + keys};
        if (is_last)
            break;
    }
}

void pl_scan_close(pl_scan *scan) {
    free(scan->pieces);
    free(scan->column_list);
    scan->pieces = NULL;
    scan->column_list = NULL;
}

/* The piece that is read. */
typedef struct piece_user {
    const pl_scan *scan;
    size_t piece;
    size_t rows_before; /* of the earlier pieces, for messages */
} piece_user;

static void take_row(void *user, pl_rows *rows) {
    const piece_user *p = user;
    p->scan->take(p->scan->user, rows, p->piece, rows->row - 1 - p->rows_before);
}

static void read_piece(const pl_scan *scan, pl_database *database, size_t piece,
                       size_t rows_before) {
    pl_piece *p = &scan->pieces[piece];
    piece_user user = {scan, piece, rows_before};
    pl_rows rows = {.database = database, .table = scan->table, .row = rows_before};
    pl_text sql = {0};
    pl_text_format(&sql, "SELECT %s FROM \"%s\"", scan->column_list, scan->table->name);
    if (!scan->is_open)
        pl_text_format(&sql, " WHERE %s >= %lld AND %s < %lld", scan->key, (long long)p->first,
                       scan->key, (long long)p->end);
    pl_text_format(&sql, " %s", scan->table->tail == NULL ? "" : scan->table->tail);
    if (pl_outcome_has(&database->outcome, !sql.failed, "a query"))
        pl_rows_each(&rows, sql.data, take_row, &user);
    p->num_rows = rows.row - rows_before;
    free(sql.data);
}

static pl_database *connection_of(const pl_scan *scan, size_t worker) {
    assert(worker <= scan->database->num_helpers);
    return worker == 0 ? scan->database : &scan->database->helpers[worker - 1];
}

static bool do_piece(void *user, size_t worker, size_t piece) {
    pl_scan *scan = user;
    pl_database *database = connection_of(scan, worker);
    read_piece(scan, database, piece, 0);
    if (!pl_database_is_well(database))
        return false;
    const size_t num_done = atomic_fetch_add(&scan->num_done, 1) + 1;
    if (worker == 0 && scan->progress != NULL)
        pl_reading_progress_tell(scan->progress, num_done, scan->num_pieces);
    return true;
}

static void do_side_task(void *user) {
    const pl_scan *scan = user;
    scan->side_task->run(scan->side_task->user);
}

/* Returns how many rows the pieces before this one had. */
static size_t rows_before(const pl_scan *scan, size_t piece) {
    size_t num_rows = 0;
    for (size_t i = 0; i < piece; i++)
        num_rows += scan->pieces[i].num_rows;
    return num_rows;
}

/* Fails for the first piece that failed, with the row where it failed: reads the piece again, now
 * that the number of earlier rows is known. What has gone wrong once only has no row. */
static void fail_again(const pl_scan *scan, size_t failed, bool was_of_memory) {
    pl_database *database = scan->database;
    if (was_of_memory)
        pl_outcome_fail_memory(&database->outcome, "a table");
    read_piece(scan, database, failed, rows_before(scan, failed));
    pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT, "%s: table %s could not be read once",
                    database->path, scan->table->name);
}

static void fail_stopped(const pl_scan *scan) {
    pl_outcome_fail(&scan->database->outcome, POPLINER_ERROR_STOPPED,
                    "%s: reading table %s was stopped after %zu rows", scan->database->path,
                    scan->table->name, rows_before(scan, scan->num_pieces));
}

void pl_scan_run(pl_scan *scan) {
    pl_database *database = scan->database;
    const pl_outcome before = database->outcome;
    const pl_parallel work = {.num_threads = database->num_helpers + 1,
                              .count = scan->num_pieces,
                              .task = do_piece,
                              .side_task = scan->side_task == NULL ? NULL : do_side_task,
                              .user = scan,
                              .bounds = database->bounds};
    bool was_of_memory = false;
    if (before.status != POPLINER_OK)
        return;
    for (size_t i = 0; i < work.num_threads; i++)
        connection_of(scan, i)->outcome = (pl_outcome){.error = NULL};
    const size_t failed = pl_parallel_run(&work);
    for (size_t i = 0; i < work.num_threads; i++)
        was_of_memory =
            was_of_memory || connection_of(scan, i)->outcome.status == POPLINER_ERROR_MEMORY;
    database->outcome = before;
    if (failed < scan->num_pieces && pl_bounds_are_over(database->bounds))
        fail_stopped(scan);
    else if (failed < scan->num_pieces)
        fail_again(scan, failed, was_of_memory);
}
