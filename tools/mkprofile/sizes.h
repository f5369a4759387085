/* The size of every lowered variable, as a rule: nothing is kept per variable and tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_SIZES_H
#define MK_SIZES_H

#include "mkprofile/network_plan.h"

/* What the rules need beside the plan. */
typedef struct mk_sizes {
    const mk_network_plan *plan;
    uint64_t *control_bytes; /* by chunk, then tile */
    bool *has_type;          /* by vertex type, then tile: whether it has instances there */
    uint64_t *tile_permille; /* how much of the usual share a tile gets */
} mk_sizes;

popliner_status mk_sizes_begin(mk_sizes *sizes, const mk_network_plan *plan, popliner_error *error);
void mk_sizes_end(mk_sizes *sizes);

/* Whether the tile is one of `tiles`. */
bool mk_tiles_hold(const mk_network_plan *plan, mk_tiles tiles, uint64_t tile);

/* Whether a logical variable has a lowered one on the tile, and how large it is. */
bool mk_is_held(const mk_sizes *sizes, size_t variable, uint64_t tile);
uint64_t mk_size_on_tile(const mk_sizes *sizes, size_t variable, uint64_t tile);

/* Instances of the vertices on a tile. */
uint64_t mk_instances_on_tile(const mk_network_plan *plan, size_t vertices, uint64_t tile);

/* Bytes of code that an exchange has on a tile. */
uint64_t mk_exchange_code_on_tile(const mk_network_plan *plan, size_t exchange, uint64_t tile);

/* Bytes of a program's own control code on a tile, its children's not included. */
uint64_t mk_control_code_on_tile(const mk_network_plan *plan, size_t program, uint64_t tile);

#endif
