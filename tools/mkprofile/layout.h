/* One tile: the truth about its memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_LAYOUT_H
#define MK_LAYOUT_H

#include "mkprofile/placement.h"

typedef struct mk_tile_memory {
    uint64_t total_bytes; /* of the union of all address ranges */
    uint64_t always_live_bytes;
    uint64_t not_always_live_peak_bytes;
    uint64_t overlapped_bytes[MK_CATEGORY_COUNT];
    uint64_t non_overlapped_bytes[MK_CATEGORY_COUNT];
} mk_tile_memory;

/* Filled tile after tile; the arrays are reused. */
typedef struct mk_layout {
    mk_placement placement;
    mk_tile_memory memory;

    uint64_t *class_bytes; /* on the tile, by class id */
    int64_t *step_bytes;   /* on the tiles of an IPU so far: change at each step, by IPU */
    int64_t *tile_changes; /* the same, on this tile */
    struct edge *edges;    /* of the address ranges of temporaries */
} mk_layout;

popliner_status mk_layout_begin(mk_layout *layout, const mk_sizes *sizes, popliner_error *error);
void mk_layout_end(mk_layout *layout);

/* Lays out one tile. */
void mk_layout_tile(mk_layout *layout, uint64_t tile);

#endif
