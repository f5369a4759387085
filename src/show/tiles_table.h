/* Bytes by tile: the compiler's account, and the sum of each category.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_TILES_TABLE_H
#define PL_SHOW_TILES_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "profile/profile_data.h"

/* Columns before those of the categories. */
enum {
    PL_TILES_ALWAYS_LIVE,
    PL_TILES_NOT_ALWAYS_LIVE, /* at its peak */
    PL_TILES_LIVE,            /* both */
    PL_TILES_TOTAL,
    PL_TILES_WITH_GAPS,
    PL_TILES_OVERHEAD, /* what the layout leaves unused beyond what is live */
    PL_NUM_TILES_MEASURES
};

enum { PL_WORST_TILES = 10 };

/* Zero-initialise; clear with pl_tiles_table_clear. */
typedef struct pl_tiles_table {
    size_t num_tiles;
    size_t num_columns;
    /* [num_columns]: what a reader calls the measures, then the profile's categories, each once */
    const char *names[PL_NUM_TILES_MEASURES + PL_MAX_CATEGORIES];
    uint64_t *bytes;              /* [tile * num_columns + column] */
    size_t worst[PL_WORST_TILES]; /* those with most live memory, the largest first */
} pl_tiles_table;

/* Fills an empty one. Errors: USAGE if the variables are not loaded; MEMORY. O(variables). */
popliner_status pl_tiles_table_fill(pl_tiles_table *table, const popliner_profile *profile,
                                    popliner_error *error);
void pl_tiles_table_clear(pl_tiles_table *table);

/* The tile with most live memory by the compiler's account, the first of equals. O(tiles). */
size_t pl_tiles_largest(const popliner_profile *profile);

/* The bytes of those variables of a tile, or of POPLINER_ALL_TILES, that are always live and marked
 * in `selection` (NULL: all). O(variables). */
uint64_t pl_tiles_always_live(const popliner_profile *profile, size_t tile,
                              const uint8_t *selection);

#endif
