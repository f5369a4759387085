/* Storing and loading: every array of the profile and of the operations as it is in memory, in
 * pieces, with a checksum each.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/analysis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/failure.h"
#include "base/growth.h"
#include "model/operations_data.h"
#include "read/profile_data.h"

/* "PPLN" in the header of the file; the version changes with any array below. */
enum { APPLICATION_ID = 0x50504c4e, FORMAT_VERSION = 4 };

/* SQLite takes no blob above a gigabyte. */
enum { PIECE_BYTES = 1 << 26 };

/* Written as a number and read back: other machines store it otherwise. */
static const uint64_t byte_order_mark = 0x0102030405060708u;

static popliner_status fail_saving(sqlite3 *sqlite, const char *path, popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s: cannot be written: %s", path,
                   sqlite == NULL ? strerror(errno) : sqlite3_errmsg(sqlite));
}

/* Of a piece, and of where it belongs: a damaged index can lead to the piece of another array. */
static uint64_t piece_checksum(const char *name, int piece, size_t num_bytes, const void *bytes,
                               size_t size) {
    const uint64_t place[] = {XXH3_64bits(name, strlen(name)), (uint64_t)piece, num_bytes};
    return XXH3_64bits_withSeed(size > 0 ? bytes : NULL, size, XXH3_64bits(place, sizeof place));
}

static bool save_field(sqlite3_stmt *insert, const pl_field *field) {
    size_t num_bytes = (*field->count + field->extra_items) * field->item_size;
    const uint8_t *bytes = pl_field_items(field);
    size_t done = 0;
    int piece = 0;
    do {
        size_t size = num_bytes - done < PIECE_BYTES ? num_bytes - done : PIECE_BYTES;
        uint64_t checksum = piece_checksum(field->name, piece, num_bytes, bytes + done, size);
        if (sqlite3_bind_text(insert, 1, field->name, -1, SQLITE_STATIC) != SQLITE_OK ||
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

/* Of everything that the row of the target holds. */
static uint64_t target_checksum(const popliner_target *target,
                                const popliner_operations *operations) {
    const uint64_t numbers[] = {target->num_tiles,      target->num_ipus, target->num_replicas,
                                target->bytes_per_tile, target->clock_hz, operations->of_framework};
    uint64_t seed = XXH3_64bits(numbers, sizeof numbers);
    return XXH3_64bits_withSeed(target->architecture, strlen(target->architecture), seed);
}

static bool save_target(sqlite3 *sqlite, const popliner_profile *profile,
                        const popliner_operations *operations) {
    sqlite3_stmt *insert = NULL;
    const popliner_target *target = &profile->target;
    bool saved =
        sqlite3_prepare_v2(sqlite, "INSERT INTO target VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                           -1, &insert, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)target->num_tiles) == SQLITE_OK &&
        sqlite3_bind_int64(insert, 2, (sqlite3_int64)target->num_ipus) == SQLITE_OK &&
        sqlite3_bind_int64(insert, 3, (sqlite3_int64)target->num_replicas) == SQLITE_OK &&
        sqlite3_bind_int64(insert, 4, (sqlite3_int64)target->bytes_per_tile) == SQLITE_OK &&
        sqlite3_bind_text(insert, 5, target->architecture, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_bind_int(insert, 6, operations->of_framework) == SQLITE_OK &&
        sqlite3_bind_blob(insert, 7, &byte_order_mark, sizeof byte_order_mark, SQLITE_STATIC) ==
            SQLITE_OK &&
        sqlite3_bind_int64(insert, 8, (sqlite3_int64)target_checksum(target, operations)) ==
            SQLITE_OK &&
        sqlite3_bind_int64(insert, 9, (sqlite3_int64)target->clock_hz) == SQLITE_OK &&
        sqlite3_step(insert) == SQLITE_DONE;
    sqlite3_finalize(insert);
    return saved;
}

/* Both structures' fields; the counts behind them are only read. */
static size_t list_fields(popliner_profile *profile, popliner_operations *operations,
                          pl_field *fields) {
    size_t count = pl_profile_fields(profile, fields);
    return count + pl_operations_fields(operations, fields + count);
}

/* Writes the file `part`, which is to become `path`: errors name the latter. */
static popliner_status write_file(const popliner_profile *profile,
                                  const popliner_operations *operations, const char *part,
                                  const char *path, popliner_error *error) {
    sqlite3 *sqlite = NULL;
    sqlite3_stmt *insert = NULL;
    pl_field fields[2 * PL_MOST_FIELDS];
    /* shallow copies: listing fields takes the addresses of members that may change */
    popliner_profile profile_copy = *profile;
    popliner_operations operations_copy = *operations;
    size_t num_fields = list_fields(&profile_copy, &operations_copy, fields);
    char begin[480];
    snprintf(begin, sizeof begin,
             "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 65536;"
             "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN;"
             "CREATE TABLE target (num_tiles, num_ipus, num_replicas, bytes_per_tile,"
             " architecture, of_framework, byte_order, checksum, clock_hz);"
             "CREATE TABLE arrays (name TEXT, piece INTEGER, num_bytes INTEGER, checksum INTEGER,"
             " bytes BLOB, PRIMARY KEY (name, piece));",
             APPLICATION_ID, FORMAT_VERSION);
    bool saved = sqlite3_open_v2(part, &sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
                     SQLITE_OK &&
                 sqlite3_exec(sqlite, begin, NULL, NULL, NULL) == SQLITE_OK &&
                 save_target(sqlite, profile, operations) &&
                 sqlite3_prepare_v2(sqlite, "INSERT INTO arrays VALUES (?1, ?2, ?3, ?4, ?5)", -1,
                                    &insert, NULL) == SQLITE_OK;
    for (size_t i = 0; saved && i < num_fields; i++)
        saved = save_field(insert, &fields[i]);
    sqlite3_finalize(insert);
    saved = saved && sqlite3_exec(sqlite, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
    popliner_status status = saved ? POPLINER_OK : fail_saving(sqlite, path, error);
    sqlite3_close(sqlite);
    return status;
}

popliner_status popliner_analysis_save(const popliner_profile *profile,
                                       const popliner_operations *operations, const char *path,
                                       popliner_error *error) {
    pl_text part = {0};
    pl_text_format(&part, "%s.%ld.part", path, (long)getpid());
    if (part.failed) {
        free(part.data);
        return pl_fail_memory(error, "a file name");
    }
    unlink(part.data); /* a run of the same number may have been killed here */
    popliner_status status = write_file(profile, operations, part.data, path, error);
    if (status == POPLINER_OK && rename(part.data, path) != 0)
        status = fail_saving(NULL, path, error);
    if (status != POPLINER_OK)
        unlink(part.data);
    free(part.data);
    return status;
}

/* The value of a pragma that holds one number. */
static popliner_status read_pragma(const pl_database *database, const char *sql, int *value,
                                   popliner_error *error) {
    sqlite3_stmt *statement = NULL;
    popliner_status status = POPLINER_OK;
    if (sqlite3_prepare_v2(database->sqlite, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        *value = sqlite3_column_int(statement, 0);
    else
        status = pl_database_fail(database, "reading its version", error);
    sqlite3_finalize(statement);
    return status;
}

static popliner_status check_version(const pl_database *database, popliner_error *error) {
    int application = 0;
    int version = 0;
    popliner_status status = read_pragma(database, "PRAGMA application_id", &application, error);
    if (status == POPLINER_OK)
        status = read_pragma(database, "PRAGMA user_version", &version, error);
    if (status != POPLINER_OK)
        return status;
    if (application != APPLICATION_ID)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: is no stored analysis; only files written by --save-to-file can be "
                       "loaded",
                       database->path);
    if (version != FORMAT_VERSION)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: is a stored analysis of format %d; this popliner reads format %d, "
                       "store it again",
                       database->path, version, FORMAT_VERSION);
    return POPLINER_OK;
}

static popliner_status fail_damaged(const pl_database *database, const char *what,
                                    popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is damaged (%s); store the analysis again",
                   database->path, what);
}

static popliner_status load_target(const pl_database *database, popliner_profile *profile,
                                   popliner_operations *operations, popliner_error *error) {
    static const pl_column columns[] = {
        {"num_tiles", true},      {"num_ipus", true},     {"num_replicas", true},
        {"bytes_per_tile", true}, {"architecture", true}, {"of_framework", true},
        {"byte_order", true},     {"checksum", true},     {"clock_hz", true}};
    popliner_target *target = &profile->target;
    pl_rows rows = {0};
    bool more = false;
    uint64_t numbers[4] = {0};
    uint64_t of_framework = 0;
    popliner_status status = pl_rows_open(&rows, database, "target", true, columns, 9, "", error);
    if (status == POPLINER_OK)
        status = pl_rows_next(&rows, &more, error);
    if (status == POPLINER_OK && !more)
        status = fail_damaged(database, "no target", error);
    for (int i = 0; status == POPLINER_OK && i < 4; i++)
        status = pl_rows_number(&rows, i, i == 0 ? 1 << 24 : INT64_MAX, &numbers[i], error);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 5, 1, &of_framework, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 8, INT64_MAX, &target->clock_hz, error);
    if (status == POPLINER_OK) {
        size_t size = 0;
        const uint8_t *mark = pl_rows_blob(&rows, 6, &size);
        if (size != sizeof byte_order_mark || memcmp(mark, &byte_order_mark, size) != 0)
            status = pl_fail(error, POPLINER_ERROR_INPUT,
                             "%s: was stored on a machine of another byte order; store it again on "
                             "this one",
                             database->path);
        snprintf(target->architecture, sizeof target->architecture, "%s", pl_rows_text(&rows, 4));
    }
    target->num_tiles = (size_t)numbers[0];
    target->num_ipus = (size_t)numbers[1];
    target->num_replicas = (size_t)numbers[2];
    target->bytes_per_tile = numbers[3];
    operations->of_framework = (uint8_t)of_framework;
    if (status == POPLINER_OK &&
        (uint64_t)sqlite3_column_int64(rows.statement, 7) != target_checksum(target, operations))
        status = fail_damaged(database, "the target", error);
    pl_rows_close(&rows);
    return status;
}

/* One array, from all of its pieces. The first field of a count sets it; others must agree. */
static popliner_status load_field(const pl_database *database, sqlite3_stmt *select,
                                  const pl_field *field, popliner_error *error) {
    uint8_t *bytes = NULL;
    size_t num_bytes = 0;
    size_t done = 0;
    int num_pieces = 0;
    int code;
    popliner_status status = POPLINER_OK;
    if (sqlite3_reset(select) != SQLITE_OK ||
        sqlite3_bind_text(select, 1, field->name, -1, SQLITE_STATIC) != SQLITE_OK)
        return pl_database_fail(database, "loading an array", error);
    while (status == POPLINER_OK && (code = sqlite3_step(select)) == SQLITE_ROW) {
        const void *piece = sqlite3_column_blob(select, 2);
        size_t size = (size_t)sqlite3_column_bytes(select, 2);
        if (num_pieces == 0) {
            sqlite3_int64 total = sqlite3_column_int64(select, 0);
            num_bytes = total < 0 ? SIZE_MAX : (size_t)total;
            /* a damaged size must not be allocated: each full piece of the file backs 64 MiB */
            if (num_bytes > size && size != PIECE_BYTES)
                status = fail_damaged(database, field->name, error);
            else if ((bytes = pl_new_array(num_bytes, 1)) == NULL)
                status = pl_fail_memory(error, "the stored analysis");
        }
        if (status != POPLINER_OK)
            break;
        if (size > num_bytes - done ||
            piece_checksum(field->name, num_pieces++, num_bytes, piece, size) !=
                (uint64_t)sqlite3_column_int64(select, 1)) {
            status = fail_damaged(database, field->name, error);
            break;
        }
        if (size > 0)
            memcpy(bytes + done, piece, size);
        done += size;
    }
    if (status == POPLINER_OK && code != SQLITE_DONE)
        status = pl_database_fail(database, "loading an array", error);
    size_t items = num_bytes / field->item_size;
    if (status == POPLINER_OK &&
        (num_pieces == 0 || done != num_bytes || num_bytes % field->item_size != 0 ||
         items < field->extra_items ||
         (*field->count != SIZE_MAX && *field->count != items - field->extra_items)))
        status = fail_damaged(database, field->name, error);
    if (status == POPLINER_OK) {
        *field->count = items - field->extra_items;
        pl_field_set_items(field, bytes);
    } else {
        free(bytes);
    }
    return status;
}

popliner_status popliner_analysis_load(const char *path, popliner_profile **profile_result,
                                       popliner_operations **operations_result,
                                       popliner_error *error) {
    pl_database database = {0};
    sqlite3_stmt *select = NULL;
    pl_field fields[2 * PL_MOST_FIELDS];
    popliner_profile *profile = calloc(1, sizeof *profile);
    popliner_operations *operations = calloc(1, sizeof *operations);
    *profile_result = NULL;
    *operations_result = NULL;
    popliner_status status = profile == NULL || operations == NULL
                                 ? pl_fail_memory(error, "the stored analysis")
                                 : pl_database_open(&database, path, "a stored analysis", error);
    if (status == POPLINER_OK)
        status = check_version(&database, error);
    if (status == POPLINER_OK)
        status = load_target(&database, profile, operations, error);
    if (status == POPLINER_OK &&
        sqlite3_prepare_v2(database.sqlite,
                           "SELECT num_bytes, checksum, bytes FROM arrays WHERE name = ?1 ORDER BY "
                           "piece",
                           -1, &select, NULL) != SQLITE_OK)
        status = pl_database_fail(&database, "loading an array", error);
    if (status == POPLINER_OK) {
        size_t num_fields = list_fields(profile, operations, fields);
        for (size_t i = 0; i < num_fields; i++) {
            if (fields[i].count != &profile->target.num_tiles)
                *fields[i].count = SIZE_MAX; /* not known yet */
        }
        for (size_t i = 0; status == POPLINER_OK && i < num_fields; i++)
            status = load_field(&database, select, &fields[i], error);
    }
    if (status == POPLINER_OK)
        status = pl_profile_check(profile, path, error);
    if (status == POPLINER_OK &&
        !pl_operations_check(operations, profile->num_programs, profile->num_steps))
        status = fail_damaged(&database, "the operations", error);
    sqlite3_finalize(select);
    pl_database_close(&database);
    if (status == POPLINER_OK) {
        *profile_result = profile;
        *operations_result = operations;
    } else {
        popliner_profile_free(profile);
        popliner_operations_free(operations);
    }
    return status;
}
