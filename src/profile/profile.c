/* Reads a profile: runs the steps in the order of their dependencies.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdlib.h>

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

void pl_reading_tell(const pl_reading *r, uint64_t percent) {
    const uint64_t file_bytes = (uint64_t)r->database.state.st_size;
    pl_progress(r->options->listener, "Reading the profile", file_bytes * percent / 100,
                file_bytes);
}

static void open_file(pl_reading *r) {
    popliner_status status = pl_database_open(&r->database, r->path, r->database.outcome.error);
    if (status == POPLINER_OK)
        pl_database_bind(&r->database, r->options->bounds);
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

popliner_status pl_read_files(const char *profile_path, const char *debug_path,
                              const pl_read_options *options, popliner_profile **profile,
                              pl_debug_info **info, popliner_error *error) {
    static const pl_read_options defaults = {0};
    static pl_reader *const readers[] = {
        open_file,
        pl_profile_read_target,
        pl_part_find,
        pl_profile_read_variables,
        open_helpers,
        pl_profile_read_lowered,
        pl_profile_read_cycles,
        pl_profile_read_compute_sets,
        pl_profile_read_programs,
        pl_profile_read_execution,
        pl_profile_read_live_ranges,
        pl_profile_read_tiles,
        pl_tables_find_absences,
        pl_profile_find_checks,
    };
    pl_reading r = {.path = profile_path,
                    .options = options != NULL ? options : &defaults,
                    .debug_path = debug_path,
                    .database.outcome.error = error,
                    .profile = calloc(1, sizeof *r.profile)};
    pl_field fields[PL_MAX_FIELDS];
    *profile = NULL;
    if (info != NULL)
        *info = NULL;
    if (r.profile == NULL)
        return pl_fail_memory(error, "the profile");
    pl_profile_add_string(r.profile, "");
    for (size_t i = 0; pl_database_is_well(&r.database) && i < sizeof readers / sizeof *readers;
         i++) {
        readers[i](&r);
        pl_reading_has(&r, true);
    }
    if (pl_database_is_well(&r.database))
        pl_reading_tell(&r, 100);
    popliner_status status = pl_database_end_reading(&r.database, r.database.outcome.status, error);
    if (status == POPLINER_OK) {
        pl_arrays *arrays = &r.profile->arrays;
        pl_fields_allocate(
            arrays, fields,
            pl_profile_fields(r.profile, PL_FIELDS_ALL, NULL, fields)); /* empty ones */
        pl_part_keep(r.profile, &r.part);
        status = arrays->failed ? pl_fail_memory(error, "the profile") : POPLINER_OK;
    }
    if (status == POPLINER_OK && r.debug_status != POPLINER_OK) {
        status = r.debug_status;
        if (error != NULL)
            *error = r.debug_error;
    }
    if (status == POPLINER_OK && r.debug_info != NULL)
        status = pl_profile_check_contexts(r.profile, r.debug_info, error);
    free_reading(&r);
    if (status == POPLINER_OK) {
        *profile = r.profile;
        if (info != NULL)
            *info = r.debug_info;
    } else {
        pl_profile_free(r.profile);
        pl_debug_info_free(r.debug_info);
    }
    return status;
}
