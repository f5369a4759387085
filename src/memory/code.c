/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/code.h"

#include <string.h>

#include "profile/profile_data.h"

void pl_add_vertex_instances(const popliner_profile *p, uint32_t compute_set,
                             uint64_t *by_tile_bytes) {
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++)
        pl_series_add(p, p->compute_set_vertex_instances[i],
                      p->vertex_type_size_bytes[p->compute_set_vertex_type[i]], by_tile_bytes);
}

bool pl_takes_told_state(popliner_memory_model model, const popliner_profile *p) {
    return model == POPLINER_MEMORY_MODEL_FULL && p->num_compute_set_states > 0;
}

void pl_add_vertex_state(popliner_memory_model model, const popliner_profile *p,
                         uint32_t compute_set, uint64_t *by_tile_bytes) {
    if (pl_takes_told_state(model, p)) {
        pl_series_add(p, p->compute_set_state[compute_set], 1, by_tile_bytes);
        pl_series_add(p, p->compute_set_descriptors[compute_set], 1, by_tile_bytes);
    } else {
        pl_add_vertex_instances(p, compute_set, by_tile_bytes);
    }
}

void pl_add_program_code(const popliner_profile *p, uint32_t program,
                         uint64_t *const groups[PL_NUM_CODE_GROUPS], size_t first) {
    if (pl_profile_num_children(p, program) == 0)
        pl_series_add(p, p->program_control_code[program], 1, groups[PL_CONTROL_CODE] + first);
    pl_series_add(p, p->program_exchange_code[program], 1, groups[PL_EXCHANGE_CODE] + first);
}

void pl_code_counter_begin(pl_code_counter *counter, pl_arrays *arrays, popliner_memory_model model,
                           const popliner_profile *p) {
    const size_t num_tiles = p->target.num_tiles;
    *counter = (pl_code_counter){.model = model, .profile = p, .number = 1};
    counter->program_seen = pl_arrays_new(arrays, p->num_programs, sizeof(uint32_t));
    counter->compute_set_seen = pl_arrays_new(arrays, p->num_compute_sets, sizeof(uint32_t));
    counter->type_seen = pl_arrays_new(arrays, p->num_vertex_types * num_tiles, 1);
    counter->code_bytes = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    counter->kind_of_type = pl_arrays_new(arrays, p->num_vertex_types, sizeof(uint32_t));
    counter->code_of_type = pl_arrays_new(arrays, p->num_vertex_types, sizeof(uint32_t));
    for (uint32_t i = 0; !arrays->failed && i < p->num_vertex_types; i++)
        counter->kind_of_type[i] = counter->code_of_type[i] = i;
    if (!arrays->failed && model == POPLINER_MEMORY_MODEL_POPLINER)
        pl_popliner_merge_vertex_types(counter, arrays);
}

void pl_code_counter_reset(pl_code_counter *counter) {
    const popliner_profile *p = counter->profile;
    counter->number++;
    memset(counter->type_seen, 0, p->num_vertex_types * p->target.num_tiles);
}

/* Adds the state of a compute set, and marks the types of its vertices. */
static void add_compute_set(pl_code_counter *counter, uint32_t set, uint64_t *state_bytes) {
    const popliner_profile *p = counter->profile;
    size_t num_tiles = p->target.num_tiles;
    if (counter->model == POPLINER_MEMORY_MODEL_FULL &&
        counter->compute_set_seen[set] == counter->number)
        return;
    counter->compute_set_seen[set] = counter->number;
    pl_add_vertex_state(counter->model, p, set, state_bytes);
    for (uint32_t i = p->compute_set_vertices_start[set];
         i < p->compute_set_vertices_start[set + 1]; i++) {
        uint32_t kind = counter->kind_of_type[p->compute_set_vertex_type[i]];
        uint8_t *seen = counter->type_seen + kind * num_tiles;
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t first;
        size_t end;
        while (pl_tile_runs_next(&walk, &first, &end))
            memset(seen + first, 1, end - first);
    }
}

void pl_code_counter_add(pl_code_counter *counter, uint32_t program,
                         uint64_t *const groups[PL_NUM_CODE_GROUPS]) {
    const popliner_profile *p = counter->profile;
    if (counter->program_seen[program] == counter->number)
        return;
    counter->program_seen[program] = counter->number;
    pl_add_program_code(p, program, groups, 0);
    if (p->program_compute_set[program] != PL_NONE)
        add_compute_set(counter, p->program_compute_set[program], groups[PL_VERTEX_STATE]);
}

void pl_code_counter_finish(pl_code_counter *counter, uint64_t *const groups[PL_NUM_CODE_GROUPS]) {
    const popliner_profile *p = counter->profile;
    size_t num_tiles = p->target.num_tiles;
    for (size_t type = 0; type < p->num_vertex_types; type++) {
        const uint8_t *seen = counter->type_seen + type * num_tiles;
        if (counter->kind_of_type[type] != type || memchr(seen, 1, num_tiles) == NULL)
            continue;
        memset(counter->code_bytes, 0, num_tiles * sizeof *counter->code_bytes);
        pl_series_add(p, p->vertex_type_code[counter->code_of_type[type]], 1, counter->code_bytes);
        for (size_t tile = 0; tile < num_tiles; tile++)
            groups[PL_VERTEX_CODE][tile] += seen[tile] ? counter->code_bytes[tile] : 0;
    }
}
