/* What the profile is of: schema version, target, and the compiler's own account by tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

/* More tiles than any machine has: 64 IPUs of 1472 tiles are 94,208. */
enum { MOST_TILES = 1 << 24 };

static popliner_status read_version(const pl_database *database, const popliner_listener *listener,
                                    popliner_error *error) {
    static const pl_column columns[] = {{"major", true}, {"minor", false}, {"point", false}};
    pl_rows rows = {0};
    bool more = false;
    uint64_t major = 0;
    uint64_t minor = 0;
    uint64_t point = 0;
    bool found = false;
    popliner_status status = pl_database_has_table(database, "version_info", &found, error);
    if (status == POPLINER_OK && !found)
        return pl_fail_because(error, POPLINER_REASON_NO_PROFILE,
                               "%s: has no table version_info: it is an SQLite database, but not a "
                               "Poplar profile",
                               database->path);
    if (status == POPLINER_OK)
        status = pl_rows_open(&rows, database, "version_info", true, columns, 3, "", error);
    if (status == POPLINER_OK)
        status = pl_rows_next(&rows, &more, error);
    if (status == POPLINER_OK && !more)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: table version_info is empty", database->path);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 0, UINT32_MAX, &major, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 1, UINT32_MAX, 0, &minor, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 2, UINT32_MAX, 0, &point, error);
    pl_rows_close(&rows);
    if (status != POPLINER_OK)
        return status;
    if (major != 3)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: has profile format version %llu.%llu.%llu; only versions 3.x are "
                       "supported",
                       database->path, (unsigned long long)major, (unsigned long long)minor,
                       (unsigned long long)point);
    pl_tell(listener, POPLINER_LEVEL_DEBUG, "Profile format version %llu.%llu.%llu",
            (unsigned long long)major, (unsigned long long)minor, (unsigned long long)point);
    return POPLINER_OK;
}

static popliner_status read_target_row(const pl_database *database, popliner_target *target,
                                       popliner_error *error) {
    static const pl_column columns[] = {{"num_tiles", true},     {"num_ipus", false},
                                        {"num_replicas", false}, {"bytes_per_tile", true},
                                        {"architecture", false}, {"clock_frequency", false}};
    pl_rows rows = {0};
    bool more = false;
    uint64_t num_tiles = 0;
    uint64_t num_ipus = 1;
    uint64_t num_replicas = 1;
    popliner_status status =
        pl_rows_open(&rows, database, "target_info", true, columns, 6, "", error);
    if (status == POPLINER_OK)
        status = pl_rows_next(&rows, &more, error);
    if (status == POPLINER_OK && !more)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: table target_info is empty", database->path);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 0, MOST_TILES, &num_tiles, error);
    if (status == POPLINER_OK && num_tiles == 0)
        status = pl_rows_fail(&rows, 0, error, "is 0");
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 1, UINT32_MAX, 1, &num_ipus, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 2, UINT32_MAX, 1, &num_replicas, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 3, INT64_MAX, &target->bytes_per_tile, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 5, INT64_MAX, 0, &target->clock_hz, error);
    if (status == POPLINER_OK)
        snprintf(target->architecture, sizeof target->architecture, "%s", pl_rows_text(&rows, 4));
    target->num_tiles = (size_t)num_tiles;
    target->num_ipus = (size_t)num_ipus;
    target->num_replicas = (size_t)num_replicas;
    pl_rows_close(&rows);
    return status;
}

popliner_status pl_profile_read_target(const pl_database *database,
                                       const popliner_listener *listener, popliner_profile *profile,
                                       popliner_error *error) {
    popliner_target *target = &profile->target;
    popliner_status status = read_version(database, listener, error);
    if (status == POPLINER_OK)
        status = read_target_row(database, target, error);
    if (status != POPLINER_OK)
        return status;
    if (target->num_replicas > 1)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The profile was compiled for %zu replicas; profile a single replica, or the "
                "memory of all of them is counted as one model's.",
                target->num_replicas);
    if (target->num_ipus > 1)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The profile was compiled for %zu IPUs; compile the whole model for one IPU, or "
                "it is already split.",
                target->num_ipus);
    return POPLINER_OK;
}

popliner_status pl_profile_read_tile_memory(const pl_database *database, popliner_profile *profile,
                                            popliner_error *error) {
    static const pl_column columns[] = {{"tile", true},
                                        {"total", false},
                                        {"total_including_gaps", false},
                                        {"always_live_bytes", false},
                                        {"not_always_live_max_bytes", false}};
    size_t num_tiles = profile->target.num_tiles;
    profile->tile_total_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    profile->tile_total_including_gaps_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    profile->tile_always_live_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    profile->tile_not_always_live_peak_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    uint64_t *const by_tile[] = {
        profile->tile_total_bytes, profile->tile_total_including_gaps_bytes,
        profile->tile_always_live_bytes, profile->tile_not_always_live_peak_bytes};
    for (size_t i = 0; i < 4; i++) {
        if (by_tile[i] == NULL)
            return pl_fail_memory(error, "the tiles");
    }
    pl_rows rows = {0};
    bool more = false;
    popliner_status status =
        pl_rows_open(&rows, database, "memory_by_tile", false, columns, 5, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t tile = 0;
        status = pl_rows_number(&rows, 0, num_tiles - 1, &tile, error);
        for (int i = 0; status == POPLINER_OK && i < 4; i++)
            status = pl_rows_number_or(&rows, i + 1, INT64_MAX, 0, &by_tile[i][tile], error);
    }
    pl_rows_close(&rows);
    return status;
}
