/* A stored analysis of a small profile whose arrays have changed, with the checksums that they then
 * have, or of which bytes of the file have: it is refused in one sentence, or everything that is
 * asked of it has answers which agree with each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "array_changes.h"
#include "database_image.h"
#include "kept_connections.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "memory_files.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "questions.h"
#include "records.h"
#include "small_profile.h"
#include "store/store.h"

/* What an input begins with: what changes and how it is read, then the questions. */
enum { HEAD_SIZE = 2 + QUESTIONS_SIZE, MAX_ARRAYS = 256, MAX_NAME = 64 };

/* Every input begins a transaction and gives it up. */
static struct {
    sqlite3 *sqlite;
    pl_array_writer writer; /* which replaces arrays there */
    char names[MAX_ARRAYS][MAX_NAME];
    changing_array arrays[MAX_ARRAYS];
    size_t num_arrays;
} base;

/* ---- The stored analysis -------------------------------------------------------------------- */

static void run_sql(sqlite3 *sqlite, const char *sql) {
    FUZZ_CHECK(sqlite3_exec(sqlite, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    FUZZ_CHECK(sqlite3_prepare_v2(base.sqlite, sql, -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

/* Stores what is made of the small profile; returns where. */
static const char *store_small_profile(void) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    const char *from = memory_files_path("base", "profile.pop");
    const char *to = memory_files_path("base", "stored");
    popliner_analysis *analysis;
    sqlite3 *profile = small_profile_make();
    size_t size;
    unsigned char *image = database_image_take(profile, &size);
    sqlite3_close(profile);
    options.num_threads = 1;
    memory_files_set(from, image, size);
    sqlite3_free(image);
    FUZZ_CHECK(popliner_analysis_read(from, NULL, &options, &analysis, NULL) == POPLINER_OK);
    FUZZ_CHECK(popliner_analysis_store(analysis, POPLINER_MEMORY_MODEL_FULL, to, NULL) ==
               POPLINER_OK);
    popliner_analysis_free(analysis);
    return to;
}

/* Copies the database with smaller pages, so that there is less of it. */
static void copy_database(const char *path) {
    sqlite3_stmt *statement;
    char sql[400];
    FUZZ_CHECK(sqlite3_open(":memory:", &base.sqlite) == SQLITE_OK);
    run_sql(base.sqlite, "PRAGMA page_size = 512");
    snprintf(sql, sizeof sql, "ATTACH '%s' AS stored", path);
    run_sql(base.sqlite, sql);
    for (int i = 0; i < 2; i++) {
        const char *pragma = i == 0 ? "application_id" : "user_version";
        snprintf(sql, sizeof sql, "PRAGMA stored.%s", pragma);
        statement = prepare(sql);
        FUZZ_CHECK(sqlite3_step(statement) == SQLITE_ROW);
        snprintf(sql, sizeof sql, "PRAGMA main.%s = %d", pragma, sqlite3_column_int(statement, 0));
        sqlite3_finalize(statement);
        run_sql(base.sqlite, sql);
    }
    statement = prepare("SELECT sql, name FROM stored.sqlite_master WHERE type = 'table'");
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 1);
        run_sql(base.sqlite, (const char *)sqlite3_column_text(statement, 0));
        snprintf(sql, sizeof sql, "INSERT INTO main.%s SELECT * FROM stored.%s", name, name);
        run_sql(base.sqlite, sql);
    }
    sqlite3_finalize(statement);
    run_sql(base.sqlite, "DETACH stored");
}

/* Says of an array how large its items are, and for what they are: of those of a profile by the
 * count that they share. */
static void describe(changing_array *a, const char *name) {
    static popliner_profile profile;
    static pl_operations operations;
    static pl_chain chain;
    static pl_stage_details details;
    pl_field fields[4 * PL_MAX_FIELDS];
    const char *own_name = strrchr(name, '/');
    const bool is_of_stages = own_name != NULL;
    size_t count = 0;
    if (!is_of_stages) {
        count = pl_profile_fields(&profile, fields);
        count += pl_operations_fields(&operations, fields + count);
    } else {
        count = pl_chain_fields(&chain, fields);
        count += pl_details_fields(&details, fields + count);
    }
    a->item_size = 1;     /* of what is coded */
    a->group = (size_t)a; /* its own */
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, is_of_stages ? own_name + 1 : name) != 0)
            continue;
        a->item_size = fields[i].item_size;
        if (!is_of_stages)
            a->group = (size_t)fields[i].count;
    }
}

static void list_arrays(void) {
    sqlite3_stmt *list = prepare("SELECT name, bytes FROM arrays ORDER BY rowid");
    while (sqlite3_step(list) == SQLITE_ROW) {
        FUZZ_CHECK(base.num_arrays < MAX_ARRAYS);
        changing_array *a = &base.arrays[base.num_arrays];
        char *name = base.names[base.num_arrays++];
        snprintf(name, MAX_NAME, "%s", (const char *)sqlite3_column_text(list, 0));
        describe(a, name);
        const size_t size = (size_t)sqlite3_column_bytes(list, 1);
        a->num_items = size / a->item_size;
        FUZZ_CHECK(a->num_items * a->item_size == size);
        a->bytes = malloc(size > 0 ? size : 1);
        FUZZ_CHECK(a->bytes != NULL);
        if (size > 0)
            memcpy(a->bytes, sqlite3_column_blob(list, 1), size);
    }
    sqlite3_finalize(list);
}

static void make_base(void) {
    kept_connections_use(NULL, false);
    memory_files_begin();
    copy_database(store_small_profile());
    list_arrays();
    base.writer.sqlite = base.sqlite;
    base.writer.insert = prepare("INSERT OR REPLACE INTO arrays VALUES (?1, ?2, ?3)");
}

/* ---- Changes -------------------------------------------------------------------------------- */

static void change_arrays(const uint8_t *records, size_t num_records, bool breaks_groups) {
    changing_array arrays[MAX_ARRAYS];
    memcpy(arrays, base.arrays, base.num_arrays * sizeof *arrays);
    for (size_t i = 0; i < base.num_arrays; i++) {
        const size_t size = arrays[i].num_items * arrays[i].item_size;
        arrays[i].bytes = malloc(size > 0 ? size : 1);
        FUZZ_CHECK(arrays[i].bytes != NULL);
        memcpy(arrays[i].bytes, base.arrays[i].bytes, size);
    }
    for (size_t i = 0; i < num_records; i++) {
        const uint8_t *record = records + i * RECORD_SIZE;
        array_change(arrays, base.num_arrays, record, breaks_groups);
    }
    for (size_t i = 0; i < base.num_arrays; i++) {
        changing_array *a = &arrays[i];
        if (a->is_changed) {
            const pl_field field = {base.names[i], &a->bytes, a->item_size, &a->num_items, 0};
            FUZZ_CHECK(pl_array_writer_add(&base.writer, "", &field));
        }
        free(a->bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *analysis;
    popliner_error error = {.message = ""};
    size_t file_size;
    if (base.sqlite == NULL)
        make_base();
    if (size < HEAD_SIZE)
        return 0;
    const size_t num_records = records_count(size, HEAD_SIZE);
    const uint8_t *records = data + HEAD_SIZE;
    const bool is_raw = data[0] % 16 == 15;
    run_sql(base.sqlite, "BEGIN");
    if (!is_raw)
        change_arrays(records, num_records, data[0] % 16 == 14);
    unsigned char *file = database_image_take(base.sqlite, &file_size);
    run_sql(base.sqlite, "ROLLBACK");
    for (size_t i = 0; is_raw && i < num_records; i++)
        file_size = database_image_change(file, file_size, records + i * RECORD_SIZE);
    if (!is_raw)
        database_image_count_change(file, false);
    const char *path = memory_files_path("stored", "analysis");
    memory_files_set(path, file, file_size);
    sqlite3_free(file);
    kept_connections_use(path, !is_raw);
    options.num_threads = 1;
    options.layer_order = (popliner_layer_order)(data[1] & 1);
    const popliner_status status = popliner_analysis_load(path, &options, &analysis, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT, path);
    if (status != POPLINER_OK)
        return 0;
    const subject s = {analysis, &options, path, false, num_records == 0};
    questions_ask_all(&s, data + 2, data[0] >> 4);
    popliner_analysis_free(analysis);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    size = records_mutate(data, size, max_size, seed, HEAD_SIZE);
    if (size > 0)
        data[0] = questions_fewer(data[0], seed);
    return size;
}
