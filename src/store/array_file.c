/* The file of a stored analysis: named arrays in SQLite, each with a checksum.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/failure.h"
#include "base/growth.h"
#include "popliner/stage.h"

/* "PPLN" in the header of the file. The version changes with any stored array, automatically with
 * POPLINER_NUM_PARTS. */
enum { APPLICATION_ID = 0x50504c4e, FORMAT_VERSION = 18 + POPLINER_NUM_PARTS };

/* Returns the version of the files of this machine: others may have another byte order. */
static int own_version(void) {
    static const uint16_t one = 1;
    return FORMAT_VERSION + (*(const uint8_t *)&one == 1 ? 0 : 1 << 16);
}

/* At least the length of the names of an array and its group. */
enum { MAX_NAME = 100 };

/* Computes the checksum of an array and its name: a damaged index can lead to another array. */
static uint64_t checksum_of(const char *name, const void *bytes, size_t num_bytes) {
    return XXH3_64bits_withSeed(num_bytes > 0 ? bytes : NULL, num_bytes,
                                XXH3_64bits(name, strlen(name)));
}

/* ---- Writing ---- */

bool pl_array_writer_open(pl_array_writer *writer, const char *path) {
    char begin[400];
    snprintf(begin, sizeof begin,
             "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;"
             "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN;"
             "CREATE TABLE arrays (name TEXT PRIMARY KEY, checksum INTEGER, bytes BLOB);",
             APPLICATION_ID, own_version());
    return sqlite3_open_v2(path, &writer->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           NULL) == SQLITE_OK &&
           sqlite3_exec(writer->sqlite, begin, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(writer->sqlite, "INSERT INTO arrays VALUES (?1, ?2, ?3)", -1,
                              &writer->insert, NULL) == SQLITE_OK;
}

bool pl_array_writer_add(pl_array_writer *writer, const char *group, const pl_field *field) {
    sqlite3_stmt *insert = writer->insert;
    char name[MAX_NAME];
    size_t num_bytes = (*field->count + field->extra_items) * field->item_size;
    static const uint8_t nothing[1] = {0}; /* for an array without items, which may be NULL */
    const uint8_t *bytes = num_bytes > 0 ? pl_field_items(field) : nothing;
    snprintf(name, sizeof name, "%s%s", group, field->name);
    return sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_int64(insert, 2, (sqlite3_int64)checksum_of(name, bytes, num_bytes)) ==
               SQLITE_OK &&
           sqlite3_bind_blob64(insert, 3, bytes, num_bytes, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
}

bool pl_array_writer_commit(pl_array_writer *writer) {
    return sqlite3_exec(writer->sqlite, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

bool pl_array_writer_close(pl_array_writer *writer) {
    sqlite3_finalize(writer->insert);
    int code = sqlite3_close(writer->sqlite);
    *writer = (pl_array_writer){0};
    return code == SQLITE_OK;
}

/* ---- Reading ---- */

static void check_version(pl_database *database) {
    static const char action[] = "reading its version";
    pl_outcome *outcome = &database->outcome;
    int64_t application = 0;
    int64_t version = 0;
    pl_database_ask(database, "PRAGMA application_id", NULL, action, &application);
    pl_database_ask(database, "PRAGMA user_version", NULL, action, &version);
    if (outcome->status == POPLINER_OK && application != APPLICATION_ID)
        outcome->status = pl_fail_because(outcome->error, POPLINER_REASON_NO_ANALYSIS,
                                          "%s: is not a stored analysis", database->path);
    if (version != own_version())
        pl_outcome_fail(
            outcome, POPLINER_ERROR_INPUT,
            "%s: has format %d, but this popliner reads format %d; store the analysis again",
            database->path, (int)version, own_version());
}

void pl_array_reader_open(pl_array_reader *reader, const char *path, popliner_error *error) {
    pl_database *database = &reader->database;
    if (pl_database_open(database, path, "a stored analysis", error) != POPLINER_OK)
        return;
    check_version(database);
    if (sqlite3_prepare_v2(database->sqlite, "SELECT checksum, bytes FROM arrays WHERE name = ?1",
                           -1, &reader->select, NULL) != SQLITE_OK)
        pl_database_fail(database, "loading an array");
}

void pl_array_reader_close(pl_array_reader *reader) {
    sqlite3_finalize(reader->select);
    reader->select = NULL;
    pl_database_close(&reader->database);
}

void pl_array_reader_fail(pl_array_reader *reader, const char *what) {
    pl_outcome_fail(&reader->database.outcome, POPLINER_ERROR_INPUT,
                    "%s: is damaged (%s); store the analysis again", reader->database.path, what);
}

/* Reads the row of an array; false if there is none. */
static bool select_array(pl_array_reader *reader, const char *name) {
    if (!pl_database_is_well(&reader->database))
        return false;
    /* returns the error of the last query again, which was reported then */
    sqlite3_reset(reader->select);
    int code = sqlite3_bind_text(reader->select, 1, name, -1, SQLITE_TRANSIENT);
    if (code == SQLITE_OK)
        code = sqlite3_step(reader->select);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        pl_database_fail(&reader->database, "loading an array");
    return code == SQLITE_ROW;
}

bool pl_array_reader_has(pl_array_reader *reader, const char *group, const char *name) {
    char full_name[MAX_NAME];
    snprintf(full_name, sizeof full_name, "%s%s", group, name);
    return select_array(reader, full_name);
}

void pl_array_reader_load(pl_array_reader *reader, const char *group, const pl_field *field) {
    pl_outcome *outcome = &reader->database.outcome;
    char name[MAX_NAME];
    snprintf(name, sizeof name, "%s%s", group, field->name);
    const bool is_there = select_array(reader, name);
    const void *blob = is_there ? sqlite3_column_blob(reader->select, 1) : NULL;
    const size_t num_bytes = is_there ? (size_t)sqlite3_column_bytes(reader->select, 1) : 0;
    const size_t items = num_bytes / field->item_size;
    if (!is_there || num_bytes % field->item_size != 0 || items < field->extra_items ||
        (*field->count != SIZE_MAX && *field->count != items - field->extra_items) ||
        checksum_of(name, blob, num_bytes) != (uint64_t)sqlite3_column_int64(reader->select, 0))
        pl_array_reader_fail(reader, name);
    uint8_t *bytes = pl_database_is_well(&reader->database) ? pl_new_array(num_bytes, 1) : NULL;
    if (!pl_outcome_has(outcome, bytes != NULL, "the stored analysis"))
        return;
    if (num_bytes > 0)
        memcpy(bytes, blob, num_bytes);
    *field->count = items - field->extra_items;
    pl_field_set_items(field, bytes);
}
