/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_sql.h"

#include <stdlib.h>
#include <string.h>

#include "profile/blob_codec.h"
#include "test_data.h"

sqlite3 *test_open_sql(const char *path, int flags) {
    sqlite3 *sqlite = NULL;
    assert_int_equal(sqlite3_open_v2(path, &sqlite, flags, NULL), SQLITE_OK);
    return sqlite;
}

sqlite3 *test_open_to_write(const char *path) {
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READWRITE);
    test_run_sql(sqlite, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    return sqlite;
}

void test_run_sql(sqlite3 *sqlite, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(sqlite, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

void test_alter(const char *path, const char *sql) {
    sqlite3 *sqlite = test_open_to_write(path);
    test_run_sql(sqlite, sql);
    assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
}

char *test_altered_copy(const char *from, const char *directory, const char *sql) {
    size_t size;
    uint8_t *bytes = test_read_bytes(from, &size);
    char *path = test_path(directory, "profile.pop");
    test_write_bytes(path, bytes, size);
    free(bytes);
    test_alter(path, sql);
    return path;
}

sqlite3_stmt *test_query(sqlite3 *sqlite, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(sqlite));
    return statement;
}

uint64_t test_ask(sqlite3 *sqlite, const char *sql) {
    sqlite3_stmt *statement = test_query(sqlite, sql);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    uint64_t number = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

bool test_category_bytes(sqlite3 *sqlite, const char *name, size_t num_tiles, uint64_t *by_tile) {
    sqlite3_stmt *statement =
        test_query(sqlite, "SELECT interleaved_overlapped, non_interleaved_overlapped,"
                           " overflowed_overlapped, interleaved_non_overlapped,"
                           " non_interleaved_non_overlapped, overflowed_non_overlapped"
                           " FROM memory_by_category WHERE category_id = ?");
    uint64_t *values = test_new_array(num_tiles, sizeof *values);
    memset(by_tile, 0, num_tiles * sizeof *by_tile);
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    int code = sqlite3_step(statement);
    assert_true(code == SQLITE_ROW || code == SQLITE_DONE);
    for (int column = 0; code == SQLITE_ROW && column < 6; column++) {
        const void *blob = sqlite3_column_blob(statement, column);
        size_t size = (size_t)sqlite3_column_bytes(statement, column);
        assert_true(pl_varint_list_read(blob, size, values, num_tiles));
        for (size_t tile = 0; tile < num_tiles; tile++)
            by_tile[tile] += values[tile];
    }
    free(values);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW;
}
