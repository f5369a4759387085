/* The file of a stored analysis: named arrays in SQLite, with a checksum for each piece.
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
enum { APPLICATION_ID = 0x50504c4e, FORMAT_VERSION = 17 + POPLINER_NUM_PARTS };

/* Returns the version of the files of this machine: others may have another byte order. */
static int own_version(void) {
    static const uint16_t one = 1;
    return FORMAT_VERSION + (*(const uint8_t *)&one == 1 ? 0 : 1 << 16);
}

/* SQLite limits blobs to a gigabyte. */
enum { PIECE_BYTES = 1 << 26 };

/* At least the length of the names of an array and its group. */
enum { MAX_NAME = 100 };

/* Computes the checksum of a piece and its position: a damaged index can lead to the piece of
 * another array. */
static uint64_t piece_checksum(const char *name, int piece, size_t num_bytes, const void *bytes,
                               size_t size) {
    const uint64_t place[] = {XXH3_64bits(name, strlen(name)), (uint64_t)piece, num_bytes};
    return XXH3_64bits_withSeed(size > 0 ? bytes : NULL, size, XXH3_64bits(place, sizeof place));
}

/* ---- Writing ---- */

bool pl_array_writer_open(pl_array_writer *writer, const char *path) {
    char begin[400];
    snprintf(begin, sizeof begin,
             "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;"
             "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN;"
             "CREATE TABLE arrays (name TEXT, piece INTEGER, num_bytes INTEGER, checksum INTEGER,"
             " bytes BLOB, PRIMARY KEY (name, piece));",
             APPLICATION_ID, own_version());
    return sqlite3_open_v2(path, &writer->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           NULL) == SQLITE_OK &&
           sqlite3_exec(writer->sqlite, begin, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_prepare_v2(writer->sqlite, "INSERT INTO arrays VALUES (?1, ?2, ?3, ?4, ?5)", -1,
                              &writer->insert, NULL) == SQLITE_OK;
}

bool pl_array_writer_add(pl_array_writer *writer, const char *group, const pl_field *field) {
    sqlite3_stmt *insert = writer->insert;
    char name[MAX_NAME];
    size_t num_bytes = (*field->count + field->extra_items) * field->item_size;
    static const uint8_t nothing[1] = {0}; /* for an array without items, which may be NULL */
    const uint8_t *bytes = num_bytes > 0 ? pl_field_items(field) : nothing;
    size_t done = 0;
    int piece = 0;
    snprintf(name, sizeof name, "%s%s", group, field->name);
    do {
        size_t size = num_bytes - done < PIECE_BYTES ? num_bytes - done : PIECE_BYTES;
        uint64_t checksum = piece_checksum(name, piece, num_bytes, bytes + done, size);
        if (sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC) != SQLITE_OK ||
            sqlite3_bind_int(insert, 2, piece++) != SQLITE_OK ||
            sqlite3_bind_int64(insert, 3, (sqlite3_int64)num_bytes) != SQLITE_OK ||
            sqlite3_bind_int64(insert, 4, (sqlite3_int64)checksum) != SQLITE_OK ||
            (size > 0 ? sqlite3_bind_blob64(insert, 5, bytes + done, size, SQLITE_STATIC)
                      : sqlite3_bind_zeroblob(insert, 5, 0)) != SQLITE_OK ||
            sqlite3_step(insert) != SQLITE_DONE || sqlite3_reset(insert) != SQLITE_OK)
            return false;
        done += size;
    } while (done < num_bytes);
    return true;
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
    if (sqlite3_prepare_v2(database->sqlite,
                           "SELECT num_bytes, checksum, bytes FROM arrays WHERE name = ?1 ORDER BY "
                           "piece",
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

/* Begins to iterate over the pieces of an array. Returns the result of the first step. */
static int select_array(pl_array_reader *reader, const char *name) {
    if (!pl_database_is_well(&reader->database))
        return SQLITE_DONE;
    /* returns the error of the last query again, which was reported then */
    sqlite3_reset(reader->select);
    int code = sqlite3_bind_text(reader->select, 1, name, -1, SQLITE_TRANSIENT);
    return code == SQLITE_OK ? sqlite3_step(reader->select) : code;
}

/* Fails unless the iteration has ended. */
static void end_array(pl_array_reader *reader, int code) {
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        pl_database_fail(&reader->database, "loading an array");
}

bool pl_array_reader_has(pl_array_reader *reader, const char *group, const char *name) {
    char full_name[MAX_NAME];
    snprintf(full_name, sizeof full_name, "%s%s", group, name);
    int code = select_array(reader, full_name);
    end_array(reader, code);
    return code == SQLITE_ROW;
}

void pl_array_reader_load(pl_array_reader *reader, const char *group, const pl_field *field) {
    pl_outcome *outcome = &reader->database.outcome;
    sqlite3_stmt *select = reader->select;
    char name[MAX_NAME];
    uint8_t *bytes = NULL;
    size_t num_bytes = 0;
    size_t done = 0;
    int num_pieces = 0;
    snprintf(name, sizeof name, "%s%s", group, field->name);
    int code = select_array(reader, name);
    for (; code == SQLITE_ROW; code = sqlite3_step(select)) {
        const void *piece = sqlite3_column_blob(select, 2);
        size_t size = (size_t)sqlite3_column_bytes(select, 2);
        if (num_pieces == 0) {
            sqlite3_int64 total = sqlite3_column_int64(select, 0);
            num_bytes = total < 0 ? SIZE_MAX : (size_t)total;
            /* limits the allocation for a damaged size: each full piece of the file proves 64
             * MiB */
            if (num_bytes > size && size != PIECE_BYTES)
                pl_array_reader_fail(reader, name);
            else
                pl_outcome_has(outcome, (bytes = pl_new_array(num_bytes, 1)) != NULL,
                               "the stored analysis");
        }
        if (size > num_bytes - done || piece_checksum(name, num_pieces++, num_bytes, piece, size) !=
                                           (uint64_t)sqlite3_column_int64(select, 1))
            pl_array_reader_fail(reader, name);
        if (!pl_database_is_well(&reader->database))
            break;
        if (size > 0)
            memcpy(bytes + done, piece, size);
        done += size;
    }
    end_array(reader, code);
    size_t items = num_bytes / field->item_size;
    if (num_pieces == 0 || done != num_bytes || num_bytes % field->item_size != 0 ||
        items < field->extra_items ||
        (*field->count != SIZE_MAX && *field->count != items - field->extra_items))
        pl_array_reader_fail(reader, name);
    if (outcome->status == POPLINER_OK) {
        *field->count = items - field->extra_items;
        pl_field_set_items(field, bytes);
    } else {
        free(bytes);
    }
}
