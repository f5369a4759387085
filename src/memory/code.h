/* The memory of programs other than data: vertex code, vertex state, exchange code, control code.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CODE_H
#define PL_MEMORY_CODE_H

#include "base/growth.h"
#include "memory/chain_data.h"
#include "popliner/profile.h"

/* Adds the instances of a compute set's vertices, times the size of their type, to
 * by_tile_bytes[num_tiles]. */
void pl_add_vertex_instances(const popliner_profile *profile, uint32_t compute_set,
                             uint64_t *by_tile_bytes);

/* True if the state of a compute set is the compiler's figure: the profile must have it, and the
 * model use it. */
bool pl_takes_told_state(popliner_memory_model model, const popliner_profile *profile);

/* Adds the state of a compute set's vertices to by_tile_bytes[num_tiles]: the compiler's figure,
 * else that of the instances. */
void pl_add_vertex_state(popliner_memory_model model, const popliner_profile *profile,
                         uint32_t compute_set, uint64_t *by_tile_bytes);

/* By vertex type: the type that represents its kind, whose code a tile has once, and the one whose
 * code that is. In the full model each is its own kind. PopLiner's model merges types with equal
 * name and size, with the code of the last type of their name. */
typedef struct pl_vertex_kinds {
    uint32_t *kind;
    uint32_t *code;
} pl_vertex_kinds;

/* Finds the kinds, in `arrays`. O(vertex types). */
void pl_vertex_kinds_find(pl_vertex_kinds *kinds, pl_arrays *arrays, popliner_memory_model model,
                          const popliner_profile *profile);

#endif
