/* Reading a profile: its parts, in the order in which they need each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "read/profile_data.h"

#include <stdlib.h>

#include "base/failure.h"

static void free_ids(pl_profile_ids *ids) {
    pl_id_map *const maps[] = {
        &ids->vertex_types, &ids->compute_sets, &ids->programs,   &ids->exchange_targets,
        &ids->classes,      &ids->unlowered,    &ids->categories, &ids->variables,
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        pl_id_map_free(maps[i]);
}

popliner_status popliner_profile_read(const char *path, const popliner_listener *listener,
                                      popliner_profile **result, popliner_error *error) {
    pl_database database = {0};
    pl_profile_ids ids = {0};
    *result = NULL;
    popliner_profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL || pl_profile_add_string(profile, "") != 0) {
        popliner_profile_free(profile);
        return pl_fail_memory(error, "the profile");
    }
    popliner_status status =
        pl_database_open(&database, path, "a Poplar profile (profile.pop)", error);
    if (status == POPLINER_OK)
        status = pl_profile_read_target(&database, listener, profile, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_variables(&database, listener, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_programs(&database, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_cycles(&database, listener, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_live_ranges(&database, profile, &ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_tile_memory(&database, profile, error);
    free_ids(&ids);
    pl_database_close(&database);
    if (status == POPLINER_OK)
        *result = profile;
    else
        popliner_profile_free(profile);
    return status;
}
