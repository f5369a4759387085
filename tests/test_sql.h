/* What tests share that look into databases with SQL, or alter them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_TEST_SQL_H
#define PL_TESTS_TEST_SQL_H

#include "test.h"

#include <stdbool.h>

#include <sqlite3.h>

/* All of these fail the test where SQLite does not do what is asked. The caller closes databases
 * and finalizes statements. */

/* `flags` are those of sqlite3_open_v2(). */
sqlite3 *test_open_sql(const char *path, int flags);

/* An existing database of which nothing has to outlive a crash. */
sqlite3 *test_open_to_write(const char *path);

void test_run_sql(sqlite3 *sqlite, const char *sql);

/* The same in an existing file. */
void test_alter(const char *path, const char *sql);

/* Copies the file to directory/profile.pop and runs SQL there; the caller frees the copy's path. */
char *test_altered_copy(const char *from, const char *directory, const char *sql);

sqlite3_stmt *test_query(sqlite3 *sqlite, const char *sql);

/* The number in the first column of the first row. */
uint64_t test_ask(sqlite3 *sqlite, const char *sql);

/* The bytes of a category on each tile, from the profile's own table: alone and overlapped, in
 * three kinds of memory. False, with zeros, if the table does not have it. */
bool test_category_bytes(sqlite3 *sqlite, const char *name, size_t num_tiles, uint64_t *by_tile);

#endif
