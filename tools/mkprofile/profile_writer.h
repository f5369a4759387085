/* Writes a network plan as profile.pop.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PROFILE_WRITER_H
#define MK_PROFILE_WRITER_H

#include "mkprofile/network_plan.h"

/* What was written, for the report to the user. */
typedef struct mk_profile_figures {
    uint64_t lowered_variables;
    uint64_t max_tile_bytes;
    uint64_t overfull_tiles; /* that need more than a tile has */
} mk_profile_figures;

popliner_status mk_write_profile(const mk_network_plan *plan, const char *path,
                                 mk_profile_figures *figures, popliner_error *error);

#endif
