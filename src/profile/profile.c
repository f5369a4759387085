/* Reading a profile: its parts, in the order in which they need each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "profile/debug_data.h"
#include "profile/profile_checks.h"
#include "profile/profile_part.h"
#include "profile/read.h"
#include "profile/report_notes.h"
#include "profile/schema.h"

static void free_ids(pl_profile_ids *ids) {
    pl_id_map *const maps[] = {
        &ids->vertex_types, &ids->compute_sets, &ids->programs,   &ids->exchange_targets,
        &ids->classes,      &ids->unlowered,    &ids->categories, &ids->variables,
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        pl_id_map_free(maps[i]);
}

/* The number of threads wanted, as far as the file is large enough to keep them busy. */
static size_t useful_threads(const char *path, size_t num_threads) {
    enum { MAX_THREADS = 64, BYTES_PER_THREAD = 1 << 16 };
    struct stat info = {0};
    uint64_t max = stat(path, &info) == 0 ? (uint64_t)info.st_size / BYTES_PER_THREAD + 1 : 1;
    if (max > MAX_THREADS)
        max = MAX_THREADS;
    if (num_threads == 0)
        num_threads = pl_machine_processors();
    return num_threads < max ? num_threads : (size_t)max;
}

/* Makes an array of each that has remained empty, so that none is NULL. */
static bool make_empty_arrays(popliner_profile *profile) {
    pl_field fields[PL_MAX_FIELDS];
    size_t num_fields = pl_profile_fields(profile, fields);
    bool memory = true;
    for (size_t i = 0; i < num_fields; i++) {
        if (pl_field_items(&fields[i]) != NULL)
            continue;
        void *items = pl_new_array(*fields[i].count + fields[i].extra_items, fields[i].item_size);
        pl_field_set_items(&fields[i], items);
        memory = memory && items != NULL;
    }
    return memory;
}

popliner_status pl_profile_read(const char *path, const pl_read_options *options,
                                const pl_side_task *side_task, popliner_profile **result,
                                popliner_error *error) {
    static const pl_read_options defaults = {0};
    const pl_read_options *o = options != NULL ? options : &defaults;
    pl_database database = {0};
    pl_profile_ids ids = {0};
    pl_part part = {0};
    *result = NULL;
    popliner_profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL || pl_profile_add_string(profile, "") != 0) {
        pl_profile_free(profile);
        return pl_fail_memory(error, "the profile");
    }
    popliner_status status =
        pl_database_open(&database, path, "a Poplar profile (profile.pop)", error);
    if (status == POPLINER_OK)
        pl_database_bind(&database, o->bounds);
    if (status == POPLINER_OK)
        status = pl_profile_read_target(&database, o->listener, profile, error);
    if (status == POPLINER_OK)
        status = pl_part_find(&database, o, profile, &part, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_facts(&database, profile, error);
    if (status == POPLINER_OK && !o->leaves_out_notes)
        status = pl_report_notes_read(path, o->listener, profile, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_variables(&database, profile, &ids, error);
    if (status == POPLINER_OK) {
        pl_database_open_helpers(&database, useful_threads(path, o->num_threads) - 1);
        status = pl_profile_read_lowered(&database, o, side_task, profile, &ids, error);
    }
    if (status == POPLINER_OK)
        status = pl_profile_read_programs(&database, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_execution(&database, o->listener, &part, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_cycles(&database, &part, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_live_ranges(&database, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_tiles(&database, o->listener, profile, error);
    if (status == POPLINER_OK)
        status = pl_schema_find_absences(&database, profile, error);
    if (status == POPLINER_OK)
        status = pl_profile_find_checks(&database, profile, &ids, error);
    status = pl_database_end_reading(&database, status, error);
    if (status == POPLINER_OK && !make_empty_arrays(profile))
        status = pl_fail_memory(error, "the profile");
    if (status == POPLINER_OK)
        status = pl_part_keep(profile, &part, error);
    free_ids(&ids);
    pl_database_close(&database);
    if (status == POPLINER_OK)
        *result = profile;
    else
        pl_profile_free(profile);
    return status;
}

popliner_status pl_read_profile(const char *path, const pl_read_options *options,
                                popliner_profile **profile, popliner_error *error) {
    return pl_profile_read(path, options, NULL, profile, error);
}

/* The debug information, beside the profile. */
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
    task->status = pl_debug_info_read_within(task->bounds, task->path, task->listener, &task->info,
                                             &task->error);
}

popliner_status pl_read_files(const char *profile_path, const char *debug_path,
                              const pl_read_options *options, popliner_profile **profile,
                              pl_debug_info **info, popliner_error *error) {
    debug_task task = {.path = debug_path,
                       .listener = options == NULL ? NULL : options->listener,
                       .bounds = options == NULL ? NULL : options->bounds};
    pl_side_task side_task = {read_debug_info, &task};
    *info = NULL;
    popliner_status status = pl_profile_read(
        profile_path, options, debug_path == NULL ? NULL : &side_task, profile, error);
    if (status == POPLINER_OK && task.status != POPLINER_OK) {
        status = pl_fail(error, task.status, "%s", task.error.message);
        pl_profile_free(*profile);
        *profile = NULL;
    }
    if (status == POPLINER_OK && task.info != NULL)
        pl_debug_keep_needed(task.info, *profile);
    if (status == POPLINER_OK)
        *info = task.info;
    else
        pl_debug_info_free(task.info);
    return status;
}
