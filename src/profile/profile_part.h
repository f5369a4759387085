/* The part of a profile that is analysed: the IPUs of its first replica, or one of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_PART_H
#define PL_PROFILE_PROFILE_PART_H

#include "profile/profile_data.h"

/* IPUs and tiles are numbered as in the file. Where the numbers of the target do not tell which
 * tiles an IPU has, the part is all of the file. */
struct pl_part {
    bool is_all;          /* nothing is left out */
    bool is_one_ipu;      /* it was asked for */
    bool is_of_replica;   /* there are several replicas, and this is the first or of it */
    size_t num_ipus;      /* of the file */
    size_t replica_ipus;  /* of one replica */
    size_t replica_tiles; /* likewise */
    size_t first_ipu;
    size_t end_ipu;
    size_t first_tile;
    size_t end_tile;
};

/* The part that the options ask for, of a profile whose target is read; where the file has the
 * tiles of one replica only, the target gets so many. Warns of what makes the profile a poor one to
 * split. Errors: USAGE for an IPU that the profile does not have; INPUT for one whose tiles are not
 * to be told, and of reading; MEMORY. O(tiles). */
popliner_status pl_part_find(const pl_database *database, const pl_read_options *options,
                             popliner_profile *profile, pl_part *part, popliner_error *error);

/* Leaves in a profile that was read as a whole what is on the tiles of the part: variables, numbers
 * by tile, the compiler's account. Tiles and variables are numbered from 0 again. What it tells of
 * programs, steps, classes, names and checks stays. Before that the other replicas are compared
 * with the first, and the facts get what comes of it. Errors: MEMORY. O(variables + touched
 * variables + series * tiles). */
popliner_status pl_part_keep(popliner_profile *profile, const pl_part *part, popliner_error *error);

/* Tells which part of how much a profile is that was read or loaded, and warns if its replicas are
 * not alike. */
void pl_part_tell(const popliner_profile *profile, const popliner_listener *listener);

/* Whether the part has something of this IPU. */
static inline bool pl_part_has_ipu(const pl_part *part, uint64_t ipu) {
    return part->is_all || (ipu >= part->first_ipu && ipu < part->end_ipu);
}

/* The same for a place in a list of `count` entries: if these are one for each IPU. */
static inline bool pl_part_has_place(const pl_part *part, size_t place, size_t count) {
    bool is_by_ipu = count == part->num_ipus || count == part->replica_ipus;
    return !is_by_ipu || pl_part_has_ipu(part, place);
}

#endif
