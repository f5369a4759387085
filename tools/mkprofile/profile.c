/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/profile.h"

#include "base/failure.h"
#include "base/growth.h"

popliner_status mk_number_variables(mk_profile *profile, popliner_error *error) {
    const mk_network_plan *plan = profile->plan;
    size_t tiles = (size_t)plan->options.num_tiles;
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

bool mk_has_var(const mk_profile *profile, size_t variable, size_t tile) {
    return profile->var_places[variable * profile->plan->options.num_tiles + tile] != UINT32_MAX;
}

uint64_t mk_var_id(const mk_profile *profile, size_t variable, size_t tile) {
    return profile->first_var_id[tile] +
           profile->var_places[variable * profile->plan->options.num_tiles + tile];
}
