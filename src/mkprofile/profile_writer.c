/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/profile_writer.h"

#include "base/failure.h"
#include "base/growth.h"
#include "mkprofile/profile.h"

#include <stdlib.h>

bool mk_has_var(const mk_profile *profile, size_t variable, size_t tile) {
    return profile->var_places[variable * profile->plan->options.tiles + tile] != UINT32_MAX;
}

uint64_t mk_var_id(const mk_profile *profile, size_t variable, size_t tile) {
    return profile->first_var_id[tile] +
           profile->var_places[variable * profile->plan->options.tiles + tile];
}

/* Lowered variables are numbered tile by tile, on a tile in the order of the logical ones. */
static popliner_status number_variables(mk_profile *profile, popliner_error *error) {
    const mk_plan *plan = profile->plan;
    size_t tiles = (size_t)plan->options.tiles;
    profile->first_var_id = pl_new_array(tiles + 1, sizeof *profile->first_var_id);
    profile->var_places = pl_new_array(plan->variables.count * tiles, sizeof *profile->var_places);
    profile->by_tile = pl_new_array(tiles, sizeof *profile->by_tile);
    profile->by_tile_too = pl_new_array(tiles, sizeof *profile->by_tile_too);
    profile->by_tile_third = pl_new_array(tiles, sizeof *profile->by_tile_third);
    if (profile->first_var_id == NULL || profile->var_places == NULL || profile->by_tile == NULL ||
        profile->by_tile_too == NULL || profile->by_tile_third == NULL)
        return pl_fail_memory(error, "the numbers of variables");
    for (size_t tile = 0; tile < tiles; tile++) {
        uint32_t place = 0;
        for (size_t i = 0; i < plan->variables.count; i++)
            profile->var_places[i * tiles + tile] =
                mk_is_held(&profile->sizes, i, tile) ? place++ : UINT32_MAX;
        profile->first_var_id[tile + 1] = profile->first_var_id[tile] + place;
    }
    return POPLINER_OK;
}

popliner_status mk_write_profile(const mk_plan *plan, const char *path, mk_profile_figures *figures,
                                 popliner_error *error) {
    mk_profile profile = {.plan = plan};
    popliner_status status = mk_sizes_begin(&profile.sizes, plan, error);
    if (status == POPLINER_OK)
        status = mk_layout_begin(&profile.layout, &profile.sizes, error);
    if (status == POPLINER_OK)
        status = number_variables(&profile, error);
    if (status != POPLINER_OK)
        goto done;
    mk_database_open(&profile.database, path);
    mk_write_target(&profile);
    mk_write_names(&profile);
    mk_write_programs(&profile);
    mk_write_vertices(&profile);
    mk_write_tiles(&profile);
    status = mk_database_close(&profile.database, error);
    if (status == POPLINER_OK && profile.blob.failed)
        status = pl_fail_memory(error, "the rows of the profile");
    *figures = profile.figures;
done:
    mk_layout_end(&profile.layout);
    mk_sizes_end(&profile.sizes);
    free(profile.first_var_id);
    free(profile.var_places);
    free(profile.by_tile);
    free(profile.by_tile_too);
    free(profile.by_tile_third);
    free(profile.blob.data);
    return status;
}
