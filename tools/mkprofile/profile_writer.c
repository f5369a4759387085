/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/profile_writer.h"

#include "base/failure.h"
#include "mkprofile/profile.h"

#include <stdlib.h>

popliner_status mk_write_profile(const mk_network_plan *plan, const char *path,
                                 mk_profile_figures *figures, popliner_error *error) {
    mk_profile profile = {.plan = plan};
    popliner_status status = mk_sizes_begin(&profile.sizes, plan, error);
    if (status == POPLINER_OK)
        status = mk_layout_begin(&profile.layout, &profile.sizes, error);
    if (status == POPLINER_OK)
        status = mk_number_variables(&profile, error);
    if (status != POPLINER_OK)
        goto done;
    mk_database_open(&profile.database, path);
    mk_write_target(&profile);
    mk_write_names(&profile);
    mk_write_programs(&profile);
    mk_write_vertices(&profile);
    mk_write_tiles(&profile);
    if (plan->options.execution)
        mk_write_execution(&profile);
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
