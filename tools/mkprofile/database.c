/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/database.h"

#include "base/failure.h"
#include "mkprofile/schema.h"

#include <stdio.h>

static void fail(mk_database *database, const char *reason) {
    if (!database->failed)
        snprintf(database->reason, sizeof database->reason, "%s", reason);
    database->failed = true;
}

static void check(mk_database *database, int result) {
    if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW)
        fail(database, sqlite3_errmsg(database->handle));
}

void mk_database_run(mk_database *database, const char *sql) {
    if (!database->failed)
        check(database, sqlite3_exec(database->handle, sql, NULL, NULL, NULL));
}

void mk_database_open(mk_database *database, const char *path) {
    *database = (mk_database){.path = path};
    check(database, sqlite3_open_v2(path, &database->handle,
                                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
    mk_database_run(database, "PRAGMA page_size = 4096");
    mk_database_run(database, "PRAGMA journal_mode = OFF");
    mk_database_run(database, "PRAGMA synchronous = OFF");
    mk_database_run(database, "PRAGMA locking_mode = EXCLUSIVE");
    mk_database_run(database, "PRAGMA cache_size = -65536");
    mk_database_run(database, "BEGIN");
    for (size_t i = 0; mk_schema[i] != NULL; i++)
        mk_database_run(database, mk_schema[i]);
}

popliner_status mk_database_close(mk_database *database, popliner_error *error) {
    mk_database_run(database, "COMMIT");
    if (sqlite3_close(database->handle) != SQLITE_OK)
        fail(database, "the file cannot be closed");
    database->handle = NULL;
    if (database->failed)
        return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s cannot be written: %s.", database->path,
                       database->reason);
    return POPLINER_OK;
}

mk_rows mk_rows_begin(mk_database *database, const char *table, int num_columns) {
    mk_rows rows = {.database = database, .next = 1};
    char sql[300];
    int length = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(?", table);
    for (int i = 1; i < num_columns && length < (int)sizeof sql - 4; i++)
        length += snprintf(sql + length, sizeof sql - (size_t)length, ",?");
    snprintf(sql + length, sizeof sql - (size_t)length, ")");
    if (!database->failed)
        check(database, sqlite3_prepare_v2(database->handle, sql, -1, &rows.insert, NULL));
    return rows;
}

void mk_rows_signed(mk_rows *rows, int64_t value) {
    if (!rows->database->failed)
        check(rows->database, sqlite3_bind_int64(rows->insert, rows->next, value));
    rows->next++;
}

void mk_rows_integer(mk_rows *rows, uint64_t value) {
    mk_rows_signed(rows, (int64_t)value);
}

void mk_rows_real(mk_rows *rows, double value) {
    if (!rows->database->failed)
        check(rows->database, sqlite3_bind_double(rows->insert, rows->next, value));
    rows->next++;
}

void mk_rows_null(mk_rows *rows) {
    if (!rows->database->failed)
        check(rows->database, sqlite3_bind_null(rows->insert, rows->next));
    rows->next++;
}

void mk_rows_text(mk_rows *rows, const char *text) {
    if (!rows->database->failed)
        check(rows->database, sqlite3_bind_text(rows->insert, rows->next, text, -1, SQLITE_STATIC));
    rows->next++;
}

void mk_rows_blob(mk_rows *rows, pl_blob *blob) {
    if (blob->failed)
        fail(rows->database, "not enough memory");
    if (!rows->database->failed) {
        /* A NULL pointer would bind NULL; an empty blob is meant. */
        const void *bytes = blob->size > 0 ? (const void *)blob->data : "";
        check(rows->database,
              sqlite3_bind_blob64(rows->insert, rows->next, bytes, blob->size, SQLITE_TRANSIENT));
    }
    blob->size = 0;
    rows->next++;
}

void mk_rows_next(mk_rows *rows) {
    if (!rows->database->failed) {
        check(rows->database, sqlite3_step(rows->insert));
        sqlite3_reset(rows->insert);
    }
    rows->next = 1;
}

void mk_rows_end(mk_rows *rows) {
    sqlite3_finalize(rows->insert);
    rows->insert = NULL;
}

mk_lookup mk_lookup_begin(mk_database *database, const char *sql) {
    mk_lookup lookup = {.database = database};
    if (!database->failed)
        check(database, sqlite3_prepare_v2(database->handle, sql, -1, &lookup.select, NULL));
    return lookup;
}

void mk_lookup_rle(mk_lookup *lookup, uint64_t id, uint64_t *values, size_t count) {
    mk_database *database = lookup->database;
    if (database->failed)
        return;
    check(database, sqlite3_bind_int64(lookup->select, 1, (int64_t)id));
    if (sqlite3_step(lookup->select) != SQLITE_ROW)
        fail(database, "a row that was written is not found again");
    else if (!pl_rle_read(sqlite3_column_blob(lookup->select, 0),
                          (size_t)sqlite3_column_bytes(lookup->select, 0), values, count))
        fail(database, "a blob that was written is damaged");
    sqlite3_reset(lookup->select);
}

void mk_lookup_end(mk_lookup *lookup) {
    sqlite3_finalize(lookup->select);
    lookup->select = NULL;
}
