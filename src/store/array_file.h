/* A file of named arrays: SQLite, with a version, and a checksum for each piece of an array.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_ARRAY_FILE_H
#define PL_STORE_ARRAY_FILE_H

#include "base/fields.h"
#include "popliner/error.h"
#include "profile/database.h"

/* A file that is being written. Zero-initialise; close with pl_array_writer_close, which gives up
 * what has not been committed. */
typedef struct pl_array_writer {
    sqlite3 *sqlite; /* owned; for further tables, too */
    sqlite3_stmt *insert;
} pl_array_writer;

/* Fills the file, which is empty, with the table of arrays. False when SQLite fails, here and
 * below; its connection has the reason. */
bool pl_array_writer_open(pl_array_writer *writer, const char *path);

/* Adds an array under its name behind `group`, which keeps arrays of one name apart, or is "". */
bool pl_array_writer_add(pl_array_writer *writer, const char *group, const pl_field *field);
bool pl_array_writer_commit(pl_array_writer *writer);
bool pl_array_writer_close(pl_array_writer *writer);

/* A file that is being read. Zero-initialise; close with pl_array_reader_close. */
typedef struct pl_array_reader {
    pl_database database;
    sqlite3_stmt *select;
} pl_array_reader;

/* Opens a file of this format and version. Errors: INPUT, MEMORY. */
popliner_status pl_array_reader_open(pl_array_reader *reader, const char *path,
                                     popliner_error *error);
void pl_array_reader_close(pl_array_reader *reader);

/* Whether the file has an array of this name. Errors: INPUT. */
popliner_status pl_array_reader_has(pl_array_reader *reader, const char *group, const char *name,
                                    bool *has, popliner_error *error);

/* Loads one array from all of its pieces, which is then the field's. A count of SIZE_MAX becomes
 * that of the array, any other must be it. Errors: INPUT if it is missing or damaged, MEMORY. */
popliner_status pl_array_reader_load(pl_array_reader *reader, const char *group,
                                     const pl_field *field, popliner_error *error);

/* Says what of the file is damaged, and what to do. */
popliner_status pl_array_reader_fail(const pl_array_reader *reader, const char *what,
                                     popliner_error *error);

#endif
