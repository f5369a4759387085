/* Stores and loads every array of the profile, of the operations and of measured stages as in
 * memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/database.h"
#include "profile/profile_data.h"

/* ---- The measured stages of a chain ---- */

/* The stored data of measured stages. Zero-initialise; free with free_record. */
typedef struct record {
    size_t num_settings;
    uint64_t *settings; /* [NUM_SETTINGS] */
    size_t num_operations;
    uint32_t *layer_key; /* [operations]: the layers that the chain was made for */
    pl_chain *chain;
    pl_stage_details *details;
} record;

enum {
    SETTING_MODEL,
    SETTING_SCHEDULE,
    SETTING_RECOMPUTE,
    SETTING_MAX_STAGES,
    SETTING_EFFECTS,
    SETTING_ACCUMULATORS,
    SETTING_TRAINING,
    SETTING_HAS_ACCUMULATORS,
    NUM_SETTINGS
};

enum { MAX_FIELDS = 16, MAX_GROUP = 40 };

static void name_group(size_t number, char *group) {
    snprintf(group, MAX_GROUP, "stages/%zu/", number);
}

/* Lists the fields that identify the stages. */
static size_t list_key(record *r, pl_field *fields) {
    fields[0] = (pl_field){"settings", &r->settings, sizeof *r->settings, &r->num_settings, 0};
    fields[1] = (pl_field){"layer_key", &r->layer_key, sizeof *r->layer_key, &r->num_operations, 0};
    return 2;
}

/* Lists the fields of the stages themselves. */
static size_t list_contents(record *r, pl_field *fields) {
    size_t count = pl_chain_fields(r->chain, fields);
    return count + pl_details_fields(r->details, fields + count);
}

/* Stores the stages as number `number`. Errors: OUTPUT if the file cannot be written, without a
 * message, which SQLite has; MEMORY. */
static popliner_status save_stages(pl_array_writer *writer, size_t number,
                                   const pl_operations *operations,
                                   const pl_measured_stages *stages, popliner_error *error) {
    /* shallow copies: listing fields takes the addresses of mutable members */
    pl_chain chain = *stages->chain;
    pl_stage_details details = *stages->details;
    const popliner_pipeline *pipeline = &details.key.pipeline;
    uint64_t settings[NUM_SETTINGS] = {
        [SETTING_MODEL] = (uint64_t)chain.model->id,
        [SETTING_SCHEDULE] = (uint64_t)pipeline->schedule,
        [SETTING_RECOMPUTE] = (uint64_t)pipeline->recompute,
        [SETTING_MAX_STAGES] = pipeline->max_stages,
        [SETTING_EFFECTS] = pipeline->effects,
        [SETTING_ACCUMULATORS] = (uint64_t)pipeline->accumulators,
        [SETTING_TRAINING] = details.key.is_training ? 1 : 0,
        [SETTING_HAS_ACCUMULATORS] = details.key.has_accumulators ? 1 : 0,
    };
    record r = {
        .num_settings = NUM_SETTINGS,
        .settings = settings,
        .num_operations = pl_operations_count(operations),
        .chain = &chain,
        .details = &details,
    };
    pl_field fields[MAX_FIELDS];
    char group[MAX_GROUP];
    r.layer_key = pl_new_array(r.num_operations, sizeof *r.layer_key);
    if (r.layer_key == NULL)
        return pl_fail_memory(error, "the stored stages");
    for (size_t i = 0; i < r.num_operations; i++)
        r.layer_key[i] = pl_layer_key(chain.layers, i);
    size_t num_fields = list_key(&r, fields);
    num_fields += list_contents(&r, fields + num_fields);
    name_group(number, group);
    bool saved = true;
    for (size_t i = 0; saved && i < num_fields; i++)
        saved = pl_array_writer_add(writer, group, &fields[i]);
    free(r.layer_key);
    return saved ? POPLINER_OK : POPLINER_ERROR_OUTPUT;
}

static void free_record(record *r) {
    free(r->settings);
    free(r->layer_key);
    pl_chain_free(r->chain);
    pl_stage_details_free(r->details);
}

/* Loads arrays of the record; all counts except that of the operations come from the file. */
static void load(pl_array_reader *reader, const char *group, const pl_field *fields,
                 size_t num_fields) {
    for (size_t i = 0; i < num_fields; i++)
        *fields[i].count = SIZE_MAX;
    for (size_t i = 0; i < num_fields; i++)
        pl_array_reader_load(reader, group, &fields[i]);
}

static pl_details_key key_of(const record *r) {
    return (pl_details_key){
        .pipeline =
            {
                .schedule = (popliner_schedule)r->settings[SETTING_SCHEDULE],
                .recompute = (popliner_recompute)r->settings[SETTING_RECOMPUTE],
                .max_stages = (size_t)r->settings[SETTING_MAX_STAGES],
                .effects = (unsigned)r->settings[SETTING_EFFECTS],
                .accumulators = (popliner_accumulators)r->settings[SETTING_ACCUMULATORS],
            },
        .is_training = r->settings[SETTING_TRAINING] != 0,
        .has_accumulators = r->settings[SETTING_HAS_ACCUMULATORS] != 0,
    };
}

/* True if these stages are wanted. */
static bool is_wanted(const record *r, const pl_wanted_stages *wanted) {
    const pl_details_key measured = key_of(r);
    if (r->settings[SETTING_MODEL] != (uint64_t)wanted->model ||
        pl_memory_model_find(wanted->model) == NULL)
        return false;
    for (size_t i = 0; i < r->num_operations; i++)
        if (r->layer_key[i] != pl_layer_key(wanted->layers, i))
            return false;
    return pl_details_serve(&measured, wanted->pipeline);
}

/* True if all sizes match and all references are within the profile. */
static bool is_consistent(const record *r, const popliner_profile *profile) {
    size_t num_units = r->chain->num_units;
    size_t max_stages = r->details->key.pipeline.max_stages;
    /* pipelines of any length were measured, unless nothing is stored */
    return (max_stages == 1 || max_stages == num_units) &&
           pl_details_check(r->details, num_units, profile);
}

/* Moves what was loaded to *stages. */
static void take(record *r, pl_measured_stages *stages) {
    stages->chain = r->chain;
    stages->details = r->details;
    r->chain = NULL;
    r->details = NULL;
}

/* True if both have the same units with the same operations. Cost: O(operations). */
static bool chain_is_same(const pl_chain *chain, const pl_chain *other) {
    bool is_same =
        chain->num_units == other->num_units && chain->num_operations == other->num_operations;
    for (size_t i = 0; is_same && i < chain->num_units; i++)
        is_same = chain->kind[i] == other->kind[i] && chain->layer[i] == other->layer[i];
    for (size_t i = 0; is_same && i < chain->num_operations; i++)
        is_same = chain->unit_of_operation[i] == other->unit_of_operation[i];
    return is_same;
}

/* Loads the contents of a wanted record. */
static void load_contents(pl_stored_analysis *analysis, const char *group, record *r,
                          const pl_wanted_stages *wanted) {
    pl_array_reader *reader = &analysis->reader;
    pl_outcome *outcome = &reader->database.outcome;
    pl_field fields[MAX_FIELDS];
    bool is_right = false;
    r->chain = calloc(1, sizeof *r->chain);
    r->details = calloc(1, sizeof *r->details);
    if (!pl_outcome_has(outcome, r->chain != NULL && r->details != NULL, "the stored stages"))
        return;
    r->chain->model = pl_memory_model_find(wanted->model);
    load(reader, group, fields, list_contents(r, fields));
    r->details->key = key_of(r);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        r->details->largest[need].max_copies = pl_most_copies(r->details->key.pipeline.max_stages);
        r->details->largest[need].unused = PL_NONE;
    }
    if (outcome->status == POPLINER_OK)
        outcome->status = pl_chain_complete(r->chain, analysis->profile, analysis->operations,
                                            wanted->layers, &is_right, outcome->error);
    if (outcome->status == POPLINER_OK &&
        (!is_right || (wanted->chain != NULL && !chain_is_same(r->chain, wanted->chain)) ||
         !is_consistent(r, analysis->profile)))
        pl_array_reader_fail(reader, "its stages");
}

/* Loads the stages of this number if they are wanted; else *stages stays zero. False if the file
 * has no stages of this number. */
static bool load_stages(pl_stored_analysis *analysis, size_t number, const pl_wanted_stages *wanted,
                        pl_measured_stages *stages) {
    pl_array_reader *reader = &analysis->reader;
    record r = {0};
    pl_field fields[MAX_FIELDS];
    char group[MAX_GROUP];
    name_group(number, group);
    if (!pl_array_reader_has(reader, group, "settings"))
        return false;
    load(reader, group, fields, list_key(&r, fields));
    if (r.num_settings != NUM_SETTINGS ||
        r.num_operations != pl_operations_count(analysis->operations))
        pl_array_reader_fail(reader, "its stages");
    if (pl_database_is_well(&reader->database) && is_wanted(&r, wanted)) {
        load_contents(analysis, group, &r, wanted);
        if (pl_database_is_well(&reader->database))
            take(&r, stages);
    }
    free_record(&r);
    return true;
}

/* ---- Storing ---- */

/* Written as bytes and compared: other machines may have another byte order. */
static const uint64_t byte_order_mark = 0x0102030405060708u;

/* `fault` is an errno. */
static popliner_status fail_saving(int fault, const char *path, popliner_error *error) {
    if (fault == ENOMEM)
        return pl_fail_memory(error, "storing the analysis");
    return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s: cannot be written: %s", path,
                   strerror(fault));
}

static popliner_status fail_in_sqlite(sqlite3 *sqlite, const char *part, const char *path,
                                      popliner_error *error) {
    if (sqlite == NULL || sqlite3_errcode(sqlite) == SQLITE_NOMEM)
        return pl_fail_memory(error, "storing the analysis");
    return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s: cannot be written: %s", path,
                   pl_database_why_not_opened(sqlite, part));
}

/* Computes the checksum of everything in the row of the target. */
static uint64_t target_checksum(const pl_target *target, const pl_operations *operations) {
    const uint64_t numbers[] = {target->num_tiles,      target->num_ipus, target->num_replicas,
                                target->bytes_per_tile, target->clock_hz, operations->of_framework};
    uint64_t seed = XXH3_64bits(numbers, sizeof numbers);
    return XXH3_64bits_withSeed(target->architecture, strlen(target->architecture), seed);
}

static bool save_target(sqlite3 *sqlite, const popliner_profile *profile,
                        const pl_operations *operations) {
    static const char create[] =
        "CREATE TABLE target (num_tiles, num_ipus, num_replicas, bytes_per_tile,"
        " architecture, of_framework, byte_order, checksum, clock_hz)";
    sqlite3_stmt *insert = NULL;
    const pl_target *target = &profile->target;
    bool saved =
        sqlite3_exec(sqlite, create, NULL, NULL, NULL) == SQLITE_OK &&
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

/* Returns the total size of several arrays. */
static uint64_t bytes_of(const pl_field *fields, size_t num_fields) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < num_fields; i++)
        bytes += (uint64_t)(*fields[i].count + fields[i].extra_items) * fields[i].item_size;
    return bytes;
}

/* The data to store, and the final path, which errors name. */
typedef struct contents {
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_measured_stages *stages; /* [num_stages] */
    size_t num_stages;
    const popliner_listener *listener;
    const char *path;
} contents;

/* Writes the file `part`, which will become c->path. */
static popliner_status write_file(const contents *c, const char *part, popliner_error *error) {
    pl_array_writer writer = {0};
    pl_field fields[2 * PL_MAX_FIELDS];
    /* shallow copies: listing fields takes the addresses of mutable members */
    popliner_profile profile_copy = *c->profile;
    pl_operations operations_copy = *c->operations;
    size_t num_fields = pl_profile_fields(&profile_copy, fields);
    num_fields += pl_operations_fields(&operations_copy, fields + num_fields);
    bool saved = pl_array_writer_open(&writer, part) &&
                 save_target(writer.sqlite, c->profile, c->operations);
    uint64_t done_bytes = 0;
    uint64_t total_bytes = bytes_of(fields, num_fields);
    for (size_t i = 0; saved && i < num_fields; i++) {
        pl_progress(c->listener, "Storing the analysis", done_bytes, total_bytes);
        saved = pl_array_writer_add(&writer, "", &fields[i]);
        done_bytes += bytes_of(&fields[i], 1);
    }
    pl_progress(c->listener, "Storing the analysis", total_bytes, total_bytes);
    popliner_status status = saved ? POPLINER_OK : POPLINER_ERROR_OUTPUT;
    for (size_t i = 0; status == POPLINER_OK && i < c->num_stages; i++)
        status = save_stages(&writer, i, c->operations, &c->stages[i], error);
    if (status == POPLINER_OK && !pl_array_writer_commit(&writer))
        status = POPLINER_ERROR_OUTPUT;
    if (status == POPLINER_ERROR_OUTPUT)
        status = fail_in_sqlite(writer.sqlite, part, c->path, error);
    if (!pl_array_writer_close(&writer) && status == POPLINER_OK)
        status = fail_saving(EIO, c->path, error);
    return status;
}

/* Rejects a path with a journal or log of an earlier file, which SQLite would use for the new file.
 * `place` is the real path, `path` the caller's. */
static popliner_status check_beside(const char *place, const char *path, popliner_error *error) {
    static const char *const suffixes[] = {"-journal", "-wal"};
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && status == POPLINER_OK; i++) {
        pl_text name = {0};
        struct stat info;
        pl_text_format(&name, "%s%s", place, suffixes[i]);
        if (name.failed)
            status = pl_fail_memory(error, "a file name");
        else if (stat(name.data, &info) == 0 && info.st_size > 0)
            status = pl_fail(error, POPLINER_ERROR_OUTPUT,
                             "%s: SQLite would read %s as part of it; remove that file", path,
                             name.data);
        free(name.data);
    }
    return status;
}

popliner_status pl_stored_analysis_save(const popliner_profile *profile,
                                        const pl_operations *operations,
                                        const pl_measured_stages *stages, size_t num_stages,
                                        const popliner_listener *listener, const char *path,
                                        popliner_error *error) {
    pl_new_file file;
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status != POPLINER_OK)
        return status;
    int fault = pl_new_file_begin_apart(&file, path);
    if (fault != 0)
        return fail_saving(fault, path, error);
    status = check_beside(file.path, path, error);
    const contents all = {.profile = profile,
                          .operations = operations,
                          .stages = stages,
                          .num_stages = num_stages,
                          .listener = listener,
                          .path = path};
    if (status == POPLINER_OK)
        status = write_file(&all, file.part, error);
    if (status != POPLINER_OK)
        pl_new_file_end(&file, ECANCELED);
    else if ((fault = pl_new_file_end(&file, 0)) != 0)
        status = fail_saving(fault, path, error);
    return status;
}

static void load_target(pl_array_reader *reader, popliner_profile *profile,
                        pl_operations *operations) {
    static const pl_column columns[] = {
        {"num_tiles", true},      {"num_ipus", true},     {"num_replicas", true},
        {"bytes_per_tile", true}, {"architecture", true}, {"of_framework", true},
        {"byte_order", true},     {"checksum", true},     {"clock_hz", true}};
    static const pl_table table = {"target", true, columns, 9, ""};
    pl_target *target = &profile->target;
    size_t size = 0;
    pl_rows rows = pl_rows_open(&reader->database, &table);
    if (!pl_rows_next(&rows)) {
        pl_array_reader_fail(reader, "no target");
        return;
    }
    target->num_tiles = (size_t)pl_rows_number(&rows, 0, 1 << 24);
    target->num_ipus = (size_t)pl_rows_number(&rows, 1, INT64_MAX);
    target->num_replicas = (size_t)pl_rows_number(&rows, 2, INT64_MAX);
    target->bytes_per_tile = pl_rows_number(&rows, 3, INT64_MAX);
    /* as in a profile: there is always a fullest tile */
    if (target->num_tiles == 0)
        pl_rows_fail(&rows, 0, "is 0");
    operations->of_framework = (uint8_t)pl_rows_number(&rows, 5, 1);
    target->clock_hz = pl_rows_number(&rows, 8, INT64_MAX);
    const uint8_t *mark = pl_rows_blob(&rows, 6, &size);
    if (size != sizeof byte_order_mark || memcmp(mark, &byte_order_mark, size) != 0)
        pl_outcome_fail(&reader->database.outcome, POPLINER_ERROR_INPUT,
                        "%s: was stored with another byte order; store it again on this machine",
                        reader->database.path);
    snprintf(target->architecture, sizeof target->architecture, "%s", pl_rows_text(&rows, 4));
    if ((uint64_t)pl_rows_integer(&rows, 7) != target_checksum(target, operations))
        pl_array_reader_fail(reader, "the target");
    pl_rows_close(&rows);
}

/* ---- Loading ---- */

void pl_stored_analysis_close(pl_stored_analysis *analysis) {
    if (analysis == NULL)
        return;
    pl_array_reader_close(&analysis->reader);
    pl_profile_free(analysis->profile);
    pl_operations_free(analysis->operations);
    free(analysis);
}

void pl_stored_analysis_leave_out_notes(pl_stored_analysis *analysis) {
    popliner_profile *p = analysis->profile;
    for (size_t i = 0; i < p->num_notes; i++) {
        const pl_string texts[] = {p->note_name[i], p->note_value[i]};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            memset(p->strings + texts[k], 0, strlen(p->strings + texts[k]));
    }
    p->num_notes = 0;
}

/* Frees the arrays of variables, so that the profile has none; false if memory is short. */
static bool leave_variables_out(popliner_profile *p) {
    pl_field fields[PL_MAX_FIELDS];
    size_t num_fields = pl_profile_variable_fields(p, fields);
    pl_fields_free(fields, num_fields);
    p->lacks_variables = true;
    pl_profile_count_variables(p, 0);
    return pl_fields_allocate(fields, num_fields);
}

/* Loads everything except the variables. */
static void load_ground(pl_stored_analysis *a) {
    pl_outcome *outcome = &a->reader.database.outcome;
    pl_field fields[2 * PL_MAX_FIELDS];
    size_t num_tiles = a->profile->target.num_tiles;
    size_t num_fields = pl_profile_fields(a->profile, fields);
    num_fields -= pl_profile_variable_fields(a->profile, fields + num_fields);
    num_fields += pl_operations_fields(a->operations, fields + num_fields);
    for (size_t i = 0; i < num_fields; i++)
        *fields[i].count = SIZE_MAX; /* unknown yet */
    a->profile->target.num_tiles = num_tiles;
    for (size_t i = 0; i < num_fields; i++)
        pl_array_reader_load(&a->reader, "", &fields[i]);
    if (!pl_outcome_has(outcome, leave_variables_out(a->profile), "the stored analysis"))
        return;
    outcome->status = pl_profile_check(a->profile, a->reader.database.path, outcome->error);
    if (outcome->status != POPLINER_OK)
        return;
    if (!pl_operations_check(a->operations, a->profile->num_programs, a->profile->num_steps))
        pl_array_reader_fail(&a->reader, "the operations");
    else if (pl_outcome_has(outcome, pl_operations_complete(a->operations), "the stored analysis"))
        pl_profile_take_facts(a->profile);
}

popliner_status pl_stored_analysis_load_variables(pl_stored_analysis *analysis,
                                                  const popliner_listener *listener,
                                                  popliner_error *error) {
    pl_database *database = &analysis->reader.database;
    popliner_profile *p = analysis->profile;
    pl_field fields[PL_MAX_FIELDS];
    if (!p->lacks_variables)
        return POPLINER_OK;
    size_t num_fields = pl_profile_variable_fields(p, fields);
    pl_fields_free(fields, num_fields);
    pl_profile_count_variables(p, SIZE_MAX);
    database->outcome = (pl_outcome){.error = error};
    for (size_t i = 0; i < num_fields; i++) {
        pl_progress(listener, "Loading lowered variables", i, num_fields);
        pl_array_reader_load(&analysis->reader, "", &fields[i]);
    }
    pl_progress(listener, "Loading lowered variables", num_fields, num_fields);
    popliner_status status = database->outcome.status;
    if (status == POPLINER_OK)
        status = pl_profile_check(p, database->path, error);
    status = pl_database_end_reading(database, status, error);
    p->lacks_variables = false;
    if (status != POPLINER_OK && !leave_variables_out(p))
        return pl_fail_memory(error, "the stored analysis");
    return status;
}

popliner_status pl_stored_analysis_open(const char *path, pl_stored_analysis **result,
                                        popliner_error *error) {
    *result = NULL;
    pl_stored_analysis *a = calloc(1, sizeof *a);
    if (a == NULL)
        return pl_fail_memory(error, "the stored analysis");
    pl_outcome *outcome = &a->reader.database.outcome;
    a->profile = calloc(1, sizeof *a->profile);
    a->operations = calloc(1, sizeof *a->operations);
    outcome->error = error;
    if (pl_outcome_has(outcome, a->profile != NULL && a->operations != NULL, "the stored analysis"))
        pl_array_reader_open(&a->reader, path, error);
    if (outcome->status == POPLINER_OK) {
        load_target(&a->reader, a->profile, a->operations);
        load_ground(a);
    }
    popliner_status status = outcome->status;
    /* without a framework, layers also depend on the names of variables */
    if (status == POPLINER_OK && !a->operations->of_framework)
        status = pl_stored_analysis_load_variables(a, NULL, error);
    status = pl_database_end_reading(&a->reader.database, status, error);
    if (status == POPLINER_OK)
        *result = a;
    else
        pl_stored_analysis_close(a);
    return status;
}

/* ---- Measured stages ---- */

void pl_measured_stages_clear(pl_measured_stages *stages) {
    pl_chain_free(stages->chain);
    pl_stage_details_free(stages->details);
    *stages = (pl_measured_stages){0};
}

popliner_status pl_stored_analysis_find_stages(pl_stored_analysis *analysis,
                                               const pl_wanted_stages *wanted,
                                               pl_measured_stages *stages, popliner_error *error) {
    pl_database *database = &analysis->reader.database;
    *stages = (pl_measured_stages){0};
    database->outcome = (pl_outcome){.error = error};
    for (size_t i = 0; stages->chain == NULL && load_stages(analysis, i, wanted, stages); i++)
        continue;
    popliner_status status = pl_database_end_reading(database, database->outcome.status, error);
    if (status != POPLINER_OK)
        pl_measured_stages_clear(stages);
    return status;
}
