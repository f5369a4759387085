/* Reads a profile: runs the steps in the order of their dependencies.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_readers.h"

/* ---- Shared by the steps ---- */

pl_series pl_profile_read_series(popliner_profile *profile, pl_rows *rows, int column) {
    const size_t num_tiles = profile->target.num_tiles;
    pl_series series = {0};
    if (pl_rows_is_null(rows, column))
        return series;
    size_t size_bytes;
    const uint8_t *rle = pl_rows_blob(rows, column, &size_bytes);
    pl_runs runs = pl_runs_begin(rle, size_bytes);
    uint64_t tiles = 0;
    uint64_t value;
    uint64_t length;
    int more;
    bool all_zero = true;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0 && length <= num_tiles - tiles &&
           value <= PL_MAX_TILE_BYTES) {
        tiles += length;
        all_zero = all_zero && value == 0;
    }
    if (more < 0)
        pl_rows_fail(rows, column, "is damaged: it ends inside a number or a run");
    else if (more > 0 && length > num_tiles - tiles)
        pl_rows_fail(rows, column, "holds more numbers than the target has tiles (%zu)", num_tiles);
    else if (more > 0)
        pl_rows_fail(rows, column, "holds %llu, more than a tile can have",
                     (unsigned long long)value);
    else if (tiles != num_tiles)
        pl_rows_fail(rows, column, "holds %llu numbers, the target has %zu tiles",
                     (unsigned long long)tiles, num_tiles);
    else if (!all_zero && !pl_profile_add_series(profile, rle, size_bytes, &series))
        pl_outcome_fail_memory(&rows->database->outcome, "the numbers by tile");
    return series;
}

/* True if the varints, at least one, are all 0, one byte for each. */
static bool is_all_zero(const uint8_t *list, size_t size_bytes) {
    return list[0] == 0x80 && memcmp(list, list + 1, size_bytes - 1) == 0;
}

pl_series pl_profile_read_list_series(popliner_profile *profile, pl_rows *rows, int column) {
    const size_t num_tiles = profile->target.num_tiles;
    size_t size_bytes;
    const uint8_t *blob = pl_rows_blob(rows, column, &size_bytes);
    pl_series series = {0};
    if (size_bytes == 0 || (size_bytes == num_tiles && is_all_zero(blob, size_bytes)))
        return series;
    uint64_t *by_tile = pl_new_array(num_tiles, sizeof *by_tile);
    pl_blob rle = {0};
    size_t tile = 0;
    if (by_tile == NULL) {
        rle.failed = true;
    } else if (!pl_varint_list_read(blob, size_bytes, by_tile, num_tiles)) {
        pl_rows_fail(rows, column, "does not hold one number for each of the target's %zu tiles",
                     num_tiles);
    } else {
        while (tile < num_tiles && by_tile[tile] <= PL_MAX_TILE_BYTES)
            tile++;
        if (tile < num_tiles)
            pl_rows_fail(rows, column, "holds %llu, more than a tile can have",
                         (unsigned long long)by_tile[tile]);
        else
            pl_rle_write(&rle, by_tile, num_tiles);
    }
    if (rle.failed ||
        (rle.size > 0 && !pl_profile_add_series(profile, rle.data, rle.size, &series)))
        pl_outcome_fail_memory(&rows->database->outcome, "the numbers by tile");
    free(rle.data);
    free(by_tile);
    return series;
}

pl_rows pl_reading_open(pl_reading *r, const pl_table *table, const size_t *count) {
    pl_table whole = *table;
    for (size_t i = 0; i < table->num_columns; i++)
        r->columns[i] = table->columns[i];
    whole.columns = r->columns;
    whole.num_columns += pl_reading_columns(r, count, r->columns + table->num_columns);
    r->first_column = (int)table->num_columns;
    r->capacity = 0;
    return pl_rows_open(&r->database, &whole);
}

void pl_reading_add(pl_reading *r, pl_rows *rows, size_t *count, pl_id_map *ids, uint64_t id) {
    const bool memory = pl_profile_reserve(r->profile, count, &r->capacity) &&
                        (ids == NULL || pl_id_map_add(ids, id, *count));
    if (pl_outcome_has(&r->database.outcome, memory, "the profile"))
        pl_reading_take(r, rows, (*count)++);
}

void pl_reading_ids(pl_reading *r, const pl_table *table, size_t *count, pl_id_map *ids) {
    pl_rows rows = pl_reading_open(r, table, count);
    while (pl_rows_next(&rows))
        pl_reading_add(r, &rows, count, ids, pl_rows_number(&rows, 0, INT64_MAX));
    pl_id_map_sort(ids);
    pl_outcome_has(&r->database.outcome, pl_profile_allocate(r->profile, count), "the profile");
}

uint32_t pl_rows_index(pl_rows *rows, int column, const pl_id_map *ids, const char *table) {
    uint64_t id = pl_rows_number(rows, column, INT64_MAX);
    uint32_t index = pl_id_map_find(ids, id);
    if (index == PL_NONE)
        pl_rows_fail(rows, column, "is %llu, which table %s does not have", (unsigned long long)id,
                     table);
    return index;
}

/* ---- The whole profile ---- */

static void free_ids(pl_profile_ids *ids) {
    pl_id_map *const maps[] = {
        &ids->vertex_types, &ids->compute_sets, &ids->programs,   &ids->exchange_targets,
        &ids->classes,      &ids->unlowered,    &ids->categories, &ids->variables,
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        pl_id_map_free(maps[i]);
}

/* Returns the number of threads, limited to what the size of the file keeps busy. */
static size_t useful_threads(const char *path, size_t num_threads) {
    enum { MAX_THREADS = 64, BYTES_PER_THREAD = 1 << 16 };
    uint64_t max = pl_file_bytes(path) / BYTES_PER_THREAD + 1;
    if (max > MAX_THREADS)
        max = MAX_THREADS;
    if (num_threads == 0)
        num_threads = pl_machine_processors();
    return num_threads < max ? num_threads : (size_t)max;
}

static void open_file(pl_reading *r) {
    popliner_status status = pl_database_open(
        &r->database, r->path, "a Poplar profile (profile.pop)", r->database.outcome.error);
    r->database.tells = pl_schema_tells;
    if (status == POPLINER_OK)
        pl_database_bind(&r->database, r->options->bounds);
}

static void open_helpers(pl_reading *r) {
    pl_database_open_helpers(&r->database, useful_threads(r->path, r->options->num_threads) - 1);
}

/* Like pl_read_profile, with a side task, or NULL, which runs once if nothing fails. */
static popliner_status read_with(const char *path, const pl_read_options *options,
                                 const pl_side_task *side_task, pl_reading_progress *progress,
                                 popliner_profile **result, popliner_error *error) {
    static const pl_read_options defaults = {0};
    /* how much of the time has passed after each, as measured with 7.8 million variables */
    static const struct {
        pl_reader *read;
        unsigned percent;
    } readers[] = {
        {open_file, 0},
        {pl_profile_read_target, 0},
        {pl_part_find, 0},
        {pl_report_notes_read, 0},
        {pl_profile_read_variables, 0},
        {open_helpers, 0},
        {pl_profile_read_lowered, 80},
        {pl_profile_read_compute_sets, 92},
        {pl_profile_read_programs, 93},
        {pl_profile_read_execution, 95},
        {pl_profile_read_live_ranges, 95},
        {pl_profile_read_tiles, 95},
        {pl_schema_find_absences, 95},
        {pl_profile_find_checks, 100},
    };
    pl_reading r = {.path = path,
                    .options = options != NULL ? options : &defaults,
                    .side_task = side_task,
                    .progress = progress,
                    .database.outcome.error = error,
                    .profile = calloc(1, sizeof *r.profile)};
    pl_field fields[PL_MAX_FIELDS];
    *result = NULL;
    if (r.profile == NULL || pl_profile_add_string(r.profile, "") != 0) {
        pl_profile_free(r.profile);
        return pl_fail_memory(error, "the profile");
    }
    progress->listener = r.options->listener;
    progress->profile_bytes = pl_file_bytes(path);
    for (size_t i = 0; pl_database_is_well(&r.database) && i < sizeof readers / sizeof *readers;
         i++) {
        pl_reading_progress_next(progress, readers[i].percent);
        readers[i].read(&r);
    }
    if (pl_database_is_well(&r.database))
        pl_reading_progress_next(progress, 100);
    popliner_status status = pl_database_end_reading(&r.database, r.database.outcome.status, error);
    if (status == POPLINER_OK &&
        !pl_fields_allocate(fields, pl_profile_fields(r.profile, fields))) /* empty ones */
        status = pl_fail_memory(error, "the profile");
    if (status == POPLINER_OK)
        status = pl_part_keep(r.profile, &r.part, error);
    free_ids(&r.ids);
    pl_database_close(&r.database);
    if (status == POPLINER_OK)
        *result = r.profile;
    else
        pl_profile_free(r.profile);
    return status;
}

popliner_status pl_read_profile(const char *path, const pl_read_options *options,
                                popliner_profile **profile, popliner_error *error) {
    pl_reading_progress progress = {0};
    return read_with(path, options, NULL, &progress, profile, error);
}

/* Reads the debug information at the same time. */
typedef struct debug_task {
    const char *path;
    const popliner_listener *listener;
    pl_bounds *bounds;
    pl_debug_info *info;
    popliner_status status;
    popliner_error error;
} debug_task;

static void read_debug_info(void *user) {
    debug_task *task = user;
    task->status =
        pl_debug_info_read(task->bounds, task->path, task->listener, &task->info, &task->error);
}

popliner_status pl_read_files(const char *profile_path, const char *debug_path,
                              const pl_read_options *options, popliner_profile **profile,
                              pl_debug_info **info, popliner_error *error) {
    pl_reading_progress progress = {.debug_bytes = pl_file_bytes(debug_path)};
    const popliner_listener listener = pl_reading_progress_of_debug(&progress);
    debug_task task = {.path = debug_path,
                       .listener = &listener,
                       .bounds = options == NULL ? NULL : options->bounds};
    pl_side_task side_task = {read_debug_info, &task};
    *info = NULL;
    popliner_status status = read_with(
        profile_path, options, debug_path == NULL ? NULL : &side_task, &progress, profile, error);
    if (status == POPLINER_OK && task.status != POPLINER_OK) {
        status = task.status;
        if (error != NULL)
            *error = task.error;
    }
    if (status == POPLINER_OK && task.info != NULL) {
        pl_debug_keep_needed(task.info, *profile);
        status = pl_profile_check_contexts(*profile, task.info, error);
    }
    if (status == POPLINER_OK) {
        *info = task.info;
    } else {
        pl_debug_info_free(task.info);
        pl_profile_free(*profile);
        *profile = NULL;
    }
    return status;
}
