/* What the lowered variables come to, tile by tile: our side of the relations that the compiler's
 * own account is checked by.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_TILE_SUMS_H
#define PL_PROFILE_PROFILE_TILE_SUMS_H

#include "profile/profile_data.h"

/* Zero-initialise; free with pl_tile_sums_free. */
typedef struct pl_tile_sums {
    uint64_t *always_live_bytes;     /* [num_tiles] */
    uint64_t *not_always_live_bytes; /* [num_tiles]: most at one step */
    uint32_t *peak_step;             /* [num_tiles]: the first where it is so much */
    uint64_t *covered_bytes;         /* [num_tiles]: at addresses that some variable has */
    uint64_t *end;                   /* [num_tiles]: behind the last of these addresses */
    /* item category * num_tiles + tile: bytes at addresses that no other variable of the tile has,
     * and at those that another has, too */
    uint64_t *alone_bytes;
    uint64_t *shared_bytes;
    uint64_t *class_bytes; /* [num_classes]: over all tiles */
} pl_tile_sums;

/* Adds up the variables of a profile whose ranges are read, tiles beside each other on as many
 * threads. The sums do not depend on how many. Errors: MEMORY. O(variables + tiles * steps). */
popliner_status pl_tile_sums_find(const popliner_profile *profile, size_t num_threads,
                                  pl_tile_sums *sums, popliner_error *error);
void pl_tile_sums_free(pl_tile_sums *sums);

/* Bytes of the variables of a category on a tile. O(categories). */
uint64_t pl_tile_sums_of_category(const popliner_profile *profile, const pl_tile_sums *sums,
                                  pl_category category, size_t tile);

#endif
