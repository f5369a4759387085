/* Reads a profile: runs the steps in the order of their dependencies.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_readers.h"

/* ---- Memory ---- */

bool pl_reading_has(pl_reading *r, bool memory) {
    return pl_outcome_has(&r->database.outcome, memory && !r->profile->arrays.failed,
                          "the profile");
}

void *pl_reading_new(pl_reading *r, size_t count, size_t item_size) {
    void *items = pl_arrays_new(&r->arrays, count, item_size);
    pl_reading_has(r, items != NULL);
    return items;
}

bool pl_reading_grow(pl_reading *r, void *array, size_t num_needed, size_t item_size) {
    return pl_reading_has(r, pl_arrays_grow(&r->arrays, array, num_needed, item_size));
}

static void free_reading(pl_reading *r) {
    for (size_t i = 0; i < PL_NUM_TABLES; i++)
        pl_id_map_free(&r->ids[i]);
    pl_arrays_free(&r->arrays);
    pl_database_close(&r->database);
}

/* ---- Reading ---- */

/* Begins a reader, with which `percent` of the file will be read. */
static void begin_reader(pl_reading *r, unsigned percent) {
    r->progress.percent += r->progress.next_percent;
    r->progress.next_percent = percent - r->progress.percent;
    if (r->progress.percent > 0) /* before that, nothing is read */
        pl_reading_progress_tell(&r->progress, 0, 1);
}

static void open_file(pl_reading *r) {
    popliner_status status = pl_database_open(&r->database, r->path, r->database.outcome.error);
    if (status == POPLINER_OK)
        pl_database_bind(&r->database, r->options->bounds);
    r->progress.file_bytes = (uint64_t)r->database.state.st_size;
}

/* Opens a connection for each thread, up to as many as the size of the file keeps busy. */
static void open_helpers(pl_reading *r) {
    enum { MAX_THREADS = 64, BYTES_PER_THREAD = 1 << 16 };
    const size_t wanted =
        r->options->num_threads > 0 ? r->options->num_threads : pl_machine_processors();
    const size_t most = (size_t)r->database.state.st_size / BYTES_PER_THREAD;
    const size_t num_helpers = wanted - 1 < most ? wanted - 1 : most;
    pl_database_open_helpers(&r->database,
                             num_helpers < MAX_THREADS ? num_helpers : MAX_THREADS - 1);
}

/* Like pl_read_profile, with a side task, or NULL, which runs once if nothing fails. */
static popliner_status read_with(const char *path, const pl_read_options *options,
                                 const pl_side_task *side_task, popliner_profile **result,
                                 popliner_error *error) {
    static const pl_read_options defaults = {0};
    /* how much of the time has passed after each, as measured with 7.8 million variables */
    static const struct {
        pl_reader *read;
        unsigned percent;
    } readers[] = {
        {open_file, 0},
        {pl_profile_read_target, 0},
        {pl_part_find, 0},
        {pl_profile_read_variables, 0},
        {open_helpers, 0},
        {pl_profile_read_lowered, 80},
        {pl_profile_read_cycles, 80},
        {pl_profile_read_compute_sets, 92},
        {pl_profile_read_programs, 93},
        {pl_profile_read_execution, 95},
        {pl_profile_read_live_ranges, 95},
        {pl_profile_read_tiles, 95},
        {pl_tables_find_absences, 95},
        {pl_profile_find_checks, 100},
    };
    pl_reading r = {.path = path,
                    .options = options != NULL ? options : &defaults,
                    .side_task = side_task,
                    .progress.listener = options != NULL ? options->listener : NULL,
                    .database.outcome.error = error,
                    .profile = calloc(1, sizeof *r.profile)};
    pl_field fields[PL_MAX_FIELDS];
    *result = NULL;
    if (r.profile == NULL)
        return pl_fail_memory(error, "the profile");
    pl_profile_add_string(r.profile, "");
    for (size_t i = 0; pl_database_is_well(&r.database) && i < sizeof readers / sizeof *readers;
         i++) {
        begin_reader(&r, readers[i].percent);
        readers[i].read(&r);
        pl_reading_has(&r, true);
    }
    if (pl_database_is_well(&r.database))
        begin_reader(&r, 100);
    popliner_status status = pl_database_end_reading(&r.database, r.database.outcome.status, error);
    if (status == POPLINER_OK) {
        pl_arrays *arrays = &r.profile->arrays;
        pl_fields_allocate(arrays, fields, pl_profile_fields(r.profile, fields)); /* empty ones */
        pl_part_keep(r.profile, &r.part);
        status = arrays->failed ? pl_fail_memory(error, "the profile") : POPLINER_OK;
    }
    free_reading(&r);
    if (status == POPLINER_OK)
        *result = r.profile;
    else
        pl_profile_free(r.profile);
    return status;
}

popliner_status pl_read_profile(const char *path, const pl_read_options *options,
                                popliner_profile **profile, popliner_error *error) {
    return read_with(path, options, NULL, profile, error);
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
    debug_task task = {.path = debug_path,
                       .listener = options == NULL ? NULL : options->listener,
                       .bounds = options == NULL ? NULL : options->bounds};
    pl_side_task side_task = {read_debug_info, &task};
    *info = NULL;
    popliner_status status =
        read_with(profile_path, options, debug_path == NULL ? NULL : &side_task, profile, error);
    if (status == POPLINER_OK && task.status != POPLINER_OK) {
        status = task.status;
        if (error != NULL)
            *error = task.error;
    }
    if (status == POPLINER_OK && task.info != NULL)
        status = pl_profile_check_contexts(*profile, task.info, error);
    if (status == POPLINER_OK) {
        *info = task.info;
    } else {
        pl_debug_info_free(task.info);
        pl_profile_free(*profile);
        *profile = NULL;
    }
    return status;
}
