/* Walking over the tables of an SQLite file by column name, and what is said when that fails.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/database.h"

/* directory/x.pop with what the statements make; the caller frees the path. */
static char *make_database(const char *directory, const char *sql) {
    char *path = test_path(directory, "x.pop");
    sqlite3 *sqlite;
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
    return path;
}

/* Expects that `path` cannot be opened, with a message that names it and holds `words`. */
static void expect_refused(const char *path, const char *words) {
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_ERROR_INPUT);
    assert_null(database.sqlite);
    assert_int_equal(error.status, POPLINER_ERROR_INPUT);
    test_assert_sentence(error.message);
    assert_non_null(strstr(error.message, path));
    if (strstr(error.message, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error.message);
    pl_database_close(&database); /* may be closed again */
}

static void says_why_a_file_is_no_database(void **state) {
    char *path = test_path(*state, "missing.pop");
    expect_refused(path, "no such file or directory");
    free(path);

    path = test_path(*state, "directory.pop");
    mkdir(path, 0700);
    expect_refused(path, "is a directory, expected a Poplar profile");
    free(path);

    path = test_path(*state, "empty.pop");
    test_write_bytes(path, "", 0);
    expect_refused(path, "is empty, expected a Poplar profile");
    free(path);

    path = test_path(*state, "text.pop");
    test_write_bytes(path, "This is not a database at all.\n", 31);
    expect_refused(path, "expected a Poplar profile");
    char *long_text = malloc(10000);
    memset(long_text, 'x', 10000);
    test_write_bytes(path, long_text, 10000);
    expect_refused(path, "expected a Poplar profile");
    free(long_text);
    free(path);
}

/* A pipe would be waited for, and never written to. */
static void refuses_a_pipe(void **state) {
    char *path = test_path(*state, "pipe.pop");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(path, "not a regular file, expected a Poplar profile");
    free(path);
}

/* SQLite's own way to name files gives some of these a meaning. */
static void opens_files_of_any_name(void **state) {
    static const char *const names[] = {"a?mode=memory", "b#c",       "100%",
                                        "%41",           "file:x",    "with space",
                                        "\xc3\xa4",      "a'b\"c\\d", ":memory:"};
    char *made = make_database(*state, "CREATE TABLE t (a)");
    size_t size;
    uint8_t *bytes = test_read_bytes(made, &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = test_path(*state, names[i]);
        test_write_bytes(path, bytes, size);
        popliner_error error = {0};
        pl_database database;
        if (pl_database_open(&database, path, &error) != POPLINER_OK)
            fail_msg("%s: %s", names[i], error.message);
        assert_true(pl_database_has_table(&database, "t"));
        pl_database_close(&database);
        free(path);
    }
    free(bytes);
    free(made);
}

/* Expects that a walk over `table` cannot be opened, with these words in the message. */
static void expect_no_walk(pl_database *database, const pl_table *table, const char *words) {
    popliner_error error = {0};
    database->outcome = (pl_outcome){.error = &error};
    pl_rows rows = pl_rows_open(database, table);
    assert_int_equal(database->outcome.status, POPLINER_ERROR_INPUT);
    assert_int_equal(error.status, POPLINER_ERROR_INPUT);
    assert_false(pl_rows_next(&rows));
    database->outcome.status = POPLINER_OK;
    test_assert_sentence(error.message);
    assert_non_null(strstr(error.message, database->path));
    if (strstr(error.message, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error.message);
}

static void names_missing_tables_and_columns(void **state) {
    char *path = make_database(*state, "CREATE TABLE things (id INTEGER, name TEXT)");
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    pl_table others = {.name = "others", .untrusted = pl_required, .columns = {{.name = "id"}}};
    pl_table things = {
        .name = "things",
        .columns = {{.name = "id"}, {.name = "colour", "what it looks like", pl_required}}};
    expect_no_walk(&database, &others, "has no table others");
    /* an optional table that exists must have its columns all the same */
    expect_no_walk(&database, &things, "table things has no column colour (what it looks like)");

    others.untrusted = NULL;
    things.is_whole = true;
    pl_rows rows = pl_rows_open(&database, &things);
    assert_false(pl_rows_next(&rows));
    rows = pl_rows_open(&database, &others);
    assert_false(pl_rows_next(&rows));

    assert_true(pl_database_has_table(&database, "things"));
    assert_false(pl_database_has_table(&database, "others"));
    assert_int_equal(database.outcome.status, POPLINER_OK);
    pl_database_close(&database);
    free(path);
}

static void opens_any_database_but_finds_no_foreign_tables(void **state) {
    char *path = make_database(*state, "CREATE TABLE moz_places (id INTEGER, url TEXT)");
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    assert_false(pl_database_has_table(&database, "vars_info"));
    assert_int_equal(database.outcome.status, POPLINER_OK);
    pl_database_close(&database);
    free(path);
}

/* Views can be as long and as large as they like, for the price of a line. */
static void reads_what_is_stored_alone(void **state) {
    static const char *const made[] = {
        "CREATE VIEW t AS WITH n (a) AS (VALUES (1) UNION ALL SELECT a + 1 FROM n) SELECT a FROM n",
        "CREATE TABLE real (a); INSERT INTO real VALUES (1); CREATE VIEW t AS SELECT a FROM real",
        "CREATE VIEW t AS SELECT zeroblob(900000000) AS a",
        "CREATE VIRTUAL TABLE t USING fts5 (a)",
    };
    static const pl_table tables[] = {
        {.name = "t", .untrusted = pl_required, .columns = {{.name = "a"}}},
        {.name = "t", .columns = {{.name = "a"}}},
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char *path = make_database(*state, made[i]);
        pl_database database;
        popliner_error error = {.message = ""};
        assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
        for (size_t k = 0; k < 2; k++)
            expect_no_walk(&database, &tables[k], "t is a view or a virtual table");
        /* not even in another way: a schema can be written so that a view calls itself a table */
        assert_int_not_equal(sqlite3_exec(database.sqlite, "SELECT a FROM t", NULL, NULL, NULL),
                             i < 3 ? SQLITE_OK : -1);
        pl_database_close(&database);
        unlink(path);
        free(path);
    }
}

/* A value that is computed, not stored, cannot be longer than the file. */
static void refuses_values_longer_than_the_file(void **state) {
    char *path = make_database(*state, "CREATE TABLE t (a)");
    pl_database database;
    popliner_error error = {.message = ""};
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    assert_int_equal(
        sqlite3_exec(database.sqlite, "SELECT hex(zeroblob(100000))", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database.sqlite, "SELECT hex(zeroblob(90000000))", NULL, NULL, NULL),
        SQLITE_TOOBIG);
    pl_database_close(&database);
    free(path);
}

/* Reads the only column `a` of the only row of a database made of the value `sql`; expects `words`
 * in the message, or if NULL that it reads as `expected`. */
static void expect_number(const char *directory, const char *sql, uint64_t most, const char *words,
                          uint64_t expected) {
    char statements[200];
    snprintf(statements, sizeof statements,
             "DROP TABLE IF EXISTS t; CREATE TABLE t (a); INSERT INTO t VALUES (%s)", sql);
    char *path = make_database(directory, statements);
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    const pl_table table = {.name = "t", .columns = {{.name = "b"}, {.name = "a"}}};
    pl_rows rows = pl_rows_open(&database, &table);
    assert_true(pl_rows_next(&rows));
    assert_int_equal(pl_rows_number(&rows, 1, most), expected);
    if (words == NULL) {
        assert_int_equal(database.outcome.status, POPLINER_OK);
    } else {
        assert_int_equal(database.outcome.status, POPLINER_ERROR_INPUT);
        assert_int_equal(error.status, POPLINER_ERROR_INPUT);
        test_assert_sentence(error.message);
        assert_non_null(strstr(error.message, path));
        assert_non_null(strstr(error.message, "table t, row 1: column a"));
        if (strstr(error.message, words) == NULL)
            fail_msg("no \"%s\" in \"%s\"", words, error.message);
    }
    /* the column that the table does not have is NULL */
    assert_true(pl_rows_is_null(&rows, 0));
    assert_int_equal(pl_rows_number_or(&rows, 0, most, 77), 77);
    assert_string_equal(pl_rows_text(&rows, 0), "");
    size_t size = 1;
    pl_rows_blob(&rows, 0, &size);
    assert_int_equal(size, 0);
    /* the first failure is kept, and nothing is read after it */
    const popliner_error first = error;
    pl_rows_fail(&rows, 1, "is odd");
    assert_int_equal(memcmp(&first, &error, sizeof first) == 0, words != NULL);
    assert_false(pl_rows_next(&rows));
    assert_false(pl_database_has_table(&database, "t"));
    pl_database_close(&database);
    free(path);
}

static void reads_whole_numbers_in_range_alone(void **state) {
    expect_number(*state, "0", 10, NULL, 0);
    expect_number(*state, "10", 10, NULL, 10);
    expect_number(*state, "9223372036854775807", INT64_MAX, NULL, INT64_MAX);
    expect_number(*state, "9223372036854775807", UINT64_MAX, NULL, INT64_MAX);
    expect_number(*state, "11", 10, "is 11, expected 0 to 10", 0);
    expect_number(*state, "-1", UINT64_MAX, "is -1", 0);
    expect_number(*state, "-9223372036854775808", UINT64_MAX, "is -9223372036854775808", 0);
    expect_number(*state, "NULL", 10, "is NULL", 0);
    expect_number(*state, "'7'", 10, "is not a whole number", 0);
    expect_number(*state, "'seven'", 10, "is not a whole number", 0);
    expect_number(*state, "7.5", 10, "is not a whole number", 0);
    expect_number(*state, "x'07'", 10, "is not a whole number", 0);
}

static void reads_text_and_blobs(void **state) {
    char *path = make_database(*state, "CREATE TABLE t (a, b); INSERT INTO t VALUES "
                                       "('text', x'008081'), (5, zeroblob(0)), (NULL, 'abc')");
    static const pl_table table = {/* names know no case */
                                   .name = "t",
                                   .tail = "ORDER BY rowid",
                                   .columns = {{.name = "A"}, {.name = "B"}}};
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    pl_rows rows = pl_rows_open(&database, &table);
    size_t size;
    assert_true(pl_rows_next(&rows));
    assert_string_equal(pl_rows_text(&rows, 0), "text");
    assert_memory_equal(pl_rows_blob(&rows, 1, &size), "\0\x80\x81", 3);
    assert_int_equal(size, 3);
    assert_true(pl_rows_next(&rows));
    assert_string_equal(pl_rows_text(&rows, 0), "5");
    /* an empty blob also has a beginning and an end: nothing may be added to NULL */
    assert_non_null(pl_rows_blob(&rows, 1, &size));
    assert_int_equal(size, 0);
    assert_false(pl_rows_is_null(&rows, 1));
    assert_true(pl_rows_next(&rows));
    assert_string_equal(pl_rows_text(&rows, 0), "");
    pl_rows_fail(&rows, 1, "is %s", "odd");
    assert_int_equal(database.outcome.status, POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, "table t, row 3: column B is odd"));
    pl_rows_close(&rows);
    pl_database_close(&database);
    free(path);
}

/* The rows that take_row saw. */
typedef struct seen {
    char text[200];
    size_t refused_row; /* 0: none */
} seen;

static void take_row(void *user, pl_rows *rows) {
    seen *s = user;
    size_t length = strlen(s->text);
    size_t size;
    uint64_t number = pl_rows_number_or(rows, 0, 100, 77);
    if (rows->row == s->refused_row) {
        pl_rows_fail(rows, 1, "is not wanted");
        return;
    }
    pl_rows_blob(rows, 1, &size);
    snprintf(s->text + length, sizeof s->text - length, "%zu:%llu,%s,%zu%s ", rows->row,
             (unsigned long long)number, pl_rows_text(rows, 1), size,
             pl_rows_is_null(rows, 1) ? ",null" : "");
}

static void hands_over_every_row(void **state) {
    char *path =
        make_database(*state, "CREATE TABLE t (a, b); INSERT INTO t VALUES (3, 'x'), (1, 2), "
                              "(NULL, 5), (2, NULL), (4, -1), (5, 6.5)");
    static const pl_table table = {.name = "t", .columns = {{.name = "a"}, {.name = "b"}}};
    static const char order[] = "ORDER BY a";
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    pl_rows rows = {.database = &database, .table = &table, .row = 10};
    seen s = {.refused_row = 0};
    pl_rows_each(&rows, order, take_row, &s);
    assert_int_equal(database.outcome.status, POPLINER_OK);
    assert_string_equal(s.text, "11:77,5,1 12:1,2,1 13:2,,0,null 14:3,x,1 15:4,-1,2 16:5,6.5,3 ");
    assert_int_equal(rows.row, 16);

    /* ends with the first error, and can be used again */
    s = (seen){.refused_row = 3};
    rows.row = 0;
    pl_rows_each(&rows, order, take_row, &s);
    assert_int_equal(database.outcome.status, POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, "table t, row 3: column b is not wanted"));
    assert_int_equal(rows.row, 3);
    s = (seen){.refused_row = 0};
    database.outcome.status = POPLINER_OK;
    pl_rows_each(&rows, "WHERE a > 9", take_row, &s);
    assert_int_equal(database.outcome.status, POPLINER_OK);
    assert_string_equal(s.text, "");
    pl_rows_each(&rows, "WHERE missing", take_row, &s);
    assert_int_equal(database.outcome.status, POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, "no such column"));
    pl_database_close(&database);
    free(path);
}

/* Appends all that the functions of a row say of its two columns. */
static void describe_row(void *user, pl_rows *rows) {
    char *text = user;
    for (int column = 0; column < 2; column++) {
        const size_t length = strlen(text);
        uint64_t told = 99;
        size_t size;
        const bool is_told = pl_rows_find_number(rows, column, &told);
        const char first = (char)pl_rows_blob(rows, column, &size)[0];
        snprintf(text + length, 1000 - length, "%d,%d,%llu,%lld,%g,%llu,%zu,%c,%s;",
                 pl_rows_is_null(rows, column), is_told, (unsigned long long)told,
                 (long long)pl_rows_integer(rows, column), pl_rows_real(rows, column),
                 (unsigned long long)pl_rows_number_or(rows, 0, 9, 7), size, size > 0 ? first : '-',
                 pl_rows_text(rows, column));
    }
}

/* A row is that of a statement or of an aggregate function: no function may know one alone. */
static void both_sources_of_rows_agree(void **state) {
    char *path = make_database(*state, "CREATE TABLE t (a, b); INSERT INTO t VALUES (3, 'x'), "
                                       "(NULL, -5), (4, 6.5), (9, NULL), (1, x'4142')");
    static const pl_table table = {.name = "t", .columns = {{.name = "a"}, {.name = "b"}}};
    popliner_error error = {0};
    pl_database database;
    char stepped[1000] = "";
    char taken[1000] = "";
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    pl_rows rows = pl_rows_open(&database, &table);
    while (pl_rows_next(&rows))
        describe_row(stepped, &rows);
    rows = (pl_rows){.database = &database, .table = &table};
    pl_rows_each(&rows, NULL, describe_row, taken);
    assert_int_equal(database.outcome.status, POPLINER_OK);
    assert_string_equal(taken, stepped);
    assert_non_null(strstr(stepped, "0,1,3,3,3,3,1,3,3;0,0,99,0,0,3,1,x,x;"));
    assert_non_null(strstr(stepped, "1,0,99,0,0,7,0,-,;0,0,99,-5,-5,7,2,-,-5;"));
    pl_database_close(&database);
    free(path);
}

static void opens_helpers(void **state) {
    char *path = make_database(*state, "CREATE TABLE t (a)");
    popliner_error error = {0};
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    assert_int_equal(database.num_helpers, 0);
    pl_database_open_helpers(&database, 0);
    assert_null(database.helpers);
    pl_database_open_helpers(&database, 3);
    assert_int_equal(database.num_helpers, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(pl_database_has_table(&database.helpers[i], "t"));
    }
    pl_database_close(&database);
    free(path);
}

/* Errors are optional everywhere. */
static void fails_without_an_error_to_fill(void **state) {
    char *path = test_path(*state, "missing.pop");
    pl_database database;
    assert_int_equal(pl_database_open(&database, path, NULL), POPLINER_ERROR_INPUT);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(says_why_a_file_is_no_database),
        IN_DIRECTORY(refuses_a_pipe),
        IN_DIRECTORY(opens_files_of_any_name),
        IN_DIRECTORY(names_missing_tables_and_columns),
        IN_DIRECTORY(opens_any_database_but_finds_no_foreign_tables),
        IN_DIRECTORY(reads_whole_numbers_in_range_alone),
        IN_DIRECTORY(reads_text_and_blobs),
        IN_DIRECTORY(hands_over_every_row),
        IN_DIRECTORY(both_sources_of_rows_agree),
        IN_DIRECTORY(opens_helpers),
        IN_DIRECTORY(fails_without_an_error_to_fill),
        IN_DIRECTORY(reads_what_is_stored_alone),
        IN_DIRECTORY(refuses_values_longer_than_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
