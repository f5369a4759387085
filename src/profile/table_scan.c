/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/database.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/threads.h"

/* Small enough that threads finish together and progress moves, large enough that the cost of
 * finding the start of a piece is negligible. */
enum { MAX_PIECES = 256 };

/* Sets *is_number and the bounds if all keys are numbers, which SQLite finds without reading every
 * row if the key is the rowid or has an index. */
static popliner_status find_bounds(pl_scan *scan, bool *is_number, popliner_error *error) {
    sqlite3 *sqlite = scan->database->sqlite;
    sqlite3_stmt *statement = NULL;
    pl_text sql = {0};
    popliner_status status = POPLINER_OK;
    *is_number = false;
    pl_text_format(&sql,
                   "SELECT (SELECT min(%s) FROM \"%s\"), (SELECT max(%s) FROM \"%s\"), "
                   "EXISTS (SELECT 1 FROM \"%s\" WHERE %s IS NULL)",
                   scan->key, scan->table, scan->key, scan->table, scan->table, scan->key);
    if (sql.failed)
        status = pl_fail_memory(error, "a query");
    /* for example, a view has no rowid: then it is one piece */
    else if (sqlite3_prepare_v2(sqlite, sql.data, -1, &statement, NULL) == SQLITE_OK &&
             sqlite3_step(statement) == SQLITE_ROW &&
             sqlite3_column_type(statement, 0) == SQLITE_INTEGER &&
             sqlite3_column_type(statement, 1) == SQLITE_INTEGER &&
             sqlite3_column_int(statement, 2) == 0) {
        *is_number = true;
        scan->lowest = sqlite3_column_int64(statement, 0);
        scan->highest = sqlite3_column_int64(statement, 1);
    } else if (sqlite3_errcode(sqlite) == SQLITE_NOMEM) {
        status = pl_fail_memory(error, "the database");
    }
    sqlite3_finalize(statement);
    free(sql.data);
    return status;
}

void pl_scan_do_not_cut(pl_scan *scan) {
    scan->is_open = true;
    scan->num_pieces = 1;
    scan->pieces[0] = (pl_piece){.first = INT64_MIN, .end = INT64_MAX};
}

popliner_status pl_scan_open(pl_scan *scan, popliner_error *error) {
    bool is_number = false;
    pl_text list = {0};
    const pl_table table = {scan->table, PL_TABLE_OPTIONAL, scan->columns, scan->num_columns,
                            scan->order};
    popliner_status status = pl_list_columns(scan->database, &table, &scan->found, &list, error);
    scan->column_list = list.data;
    if (status != POPLINER_OK || !scan->found)
        return status;
    scan->pieces = pl_new_array(MAX_PIECES, sizeof *scan->pieces);
    if (scan->pieces == NULL)
        return pl_fail_memory(error, "a table");
    status = find_bounds(scan, &is_number, error);
    if (status != POPLINER_OK)
        return status;
    if (!is_number || scan->lowest < 0 || scan->highest > INT64_MAX - MAX_PIECES) {
        pl_scan_do_not_cut(scan);
        return POPLINER_OK;
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
    return POPLINER_OK;
}

void pl_scan_close(pl_scan *scan) {
    free(scan->pieces);
    free(scan->column_list);
    scan->pieces = NULL;
    scan->column_list = NULL;
}

/* The state of reading the pieces. */
typedef struct run {
    pl_scan *scan;
    popliner_error *errors; /* of each worker: that of its first piece that failed */
} run;

typedef struct piece_user {
    const pl_scan *scan;
    size_t piece;
    size_t rows_before; /* of the earlier pieces, for messages */
} piece_user;

static popliner_status take_row(void *user, pl_rows *rows, popliner_error *error) {
    const piece_user *p = user;
    return p->scan->take(p->scan->user, rows, p->piece, rows->row - 1 - p->rows_before, error);
}

static popliner_status read_piece(const pl_scan *scan, const pl_database *database, size_t piece,
                                  size_t rows_before, popliner_error *error) {
    pl_piece *p = &scan->pieces[piece];
    piece_user user = {scan, piece, rows_before};
    pl_rows rows = {
        .database = database, .table = scan->table, .columns = scan->columns, .row = rows_before};
    pl_text sql = {0};
    pl_text_format(&sql, "SELECT %s FROM \"%s\"", scan->column_list, scan->table);
    if (!scan->is_open)
        pl_text_format(&sql, " WHERE %s >= %lld AND %s < %lld", scan->key, (long long)p->first,
                       scan->key, (long long)p->end);
    pl_text_format(&sql, " %s", scan->order);
    popliner_status status =
        sql.failed ? pl_fail_memory(error, "a query")
                   : pl_rows_each(&rows, sql.data, scan->num_columns, take_row, &user, error);
    p->num_rows = rows.row - rows_before;
    free(sql.data);
    return status;
}

static bool do_piece(void *user, size_t worker, size_t piece) {
    run *r = user;
    const pl_scan *scan = r->scan;
    const pl_database *database =
        worker == 0 ? scan->database : &scan->database->helpers[worker - 1];
    if (read_piece(scan, database, piece, 0, &r->errors[worker]) != POPLINER_OK)
        return false;
    if (scan->progress != NULL)
        atomic_fetch_add(&scan->progress->pieces_done, 1);
    if (worker == 0 && scan->progress != NULL)
        pl_reading_progress_tell(scan->progress);
    return true;
}

static void do_side_task(void *user) {
    const run *r = user;
    r->scan->side_task(r->scan->user);
}

static popliner_status fail_stopped(const pl_scan *scan, popliner_error *error) {
    size_t num_rows = 0;
    for (size_t i = 0; i < scan->num_pieces; i++)
        num_rows += scan->pieces[i].num_rows;
    return pl_fail(error, POPLINER_ERROR_STOPPED, "%s: reading table %s was stopped after %zu rows",
                   scan->database->path, scan->table, num_rows);
}

/* True if a run that failed was stopped: then there may be no error. */
static bool is_stopped(const run *r, size_t num_threads) {
    for (size_t i = 0; i < num_threads; i++)
        if (r->errors[i].status != POPLINER_OK)
            return r->errors[i].status == POPLINER_ERROR_STOPPED;
    return true;
}

popliner_status pl_scan_run(pl_scan *scan, popliner_error *error) {
    size_t num_threads = scan->database->num_helpers + 1;
    run r = {.scan = scan, .errors = pl_new_array(num_threads, sizeof *r.errors)};
    if (r.errors == NULL)
        return pl_fail_memory(error, "a table");
    pl_parallel work = {.num_threads = num_threads,
                        .count = scan->num_pieces,
                        .task = do_piece,
                        .side_task = scan->side_task == NULL ? NULL : do_side_task,
                        .user = &r,
                        .bounds = scan->database->bounds};
    if (scan->progress != NULL)
        scan->progress->num_pieces = scan->num_pieces;
    size_t failed = pl_parallel_run(&work);
    popliner_status status = POPLINER_OK;
    if (failed < scan->num_pieces && is_stopped(&r, num_threads)) {
        status = fail_stopped(scan, error);
    } else if (failed < scan->num_pieces) {
        /* reads the piece again now that the number of earlier rows is known, for a message with
         * the number of the row */
        size_t rows_before = 0;
        for (size_t i = 0; i < failed; i++)
            rows_before += scan->pieces[i].num_rows;
        status = read_piece(scan, scan->database, failed, rows_before, error);
        for (size_t i = 0; i < num_threads && status == POPLINER_OK; i++) {
            if (r.errors[i].status != POPLINER_OK)
                status = pl_fail(error, r.errors[i].status, "%s", r.errors[i].message);
        }
    }
    free(r.errors);
    return status;
}
