/* The memory of programs other than data: vertex code, vertex state, exchange code, control code.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_CODE_H
#define PL_MEMORY_CODE_H

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
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

/* Adds what a program itself needs, its exchange and control code, to groups[...][first + tile]. */
void pl_add_program_code(const popliner_profile *profile, uint32_t program,
                         uint64_t *const groups[PL_NUM_CODE_GROUPS], size_t first);

/* Counts the code of sets of programs; for one thread. */
typedef struct pl_code_counter {
    popliner_memory_model model;
    const popliner_profile *profile;
    /* By vertex type, all different in the full model: the type that represents its kind, and the
     * one whose code it has. */
    uint32_t *kind_of_type;
    uint32_t *code_of_type;
    uint32_t number;            /* marks what the current set has counted */
    uint32_t *program_seen;     /* [num_programs] */
    uint32_t *compute_set_seen; /* [num_compute_sets] */
    uint8_t *type_seen;         /* [num_vertex_types * num_tiles] */
    uint64_t *code_bytes;       /* [num_tiles], for one type */
} pl_code_counter;

/* Initialises the counter, with arrays in `arrays` and an empty set of programs. */
void pl_code_counter_begin(pl_code_counter *counter, pl_arrays *arrays, popliner_memory_model model,
                           const popliner_profile *profile);

/* Begins another set of programs. */
void pl_code_counter_reset(pl_code_counter *counter);

/* Adds a program to the set and, if it is new there, its state, exchange code and control code to
 * groups[PL_VERTEX_STATE] and so on, each [num_tiles]. */
void pl_code_counter_add(pl_code_counter *counter, uint32_t program,
                         uint64_t *const groups[PL_NUM_CODE_GROUPS]);

/* Adds the code of all vertex types of the set to groups[PL_VERTEX_CODE]. */
void pl_code_counter_finish(pl_code_counter *counter, uint64_t *const groups[PL_NUM_CODE_GROUPS]);

/* Merges, for PopLiner's model, types with equal name and size, with the code of the last type of
 * their name. Sets arrays->failed if memory is short. O(vertex types). */
void pl_popliner_merge_vertex_types(pl_code_counter *counter, pl_arrays *arrays);

#endif
