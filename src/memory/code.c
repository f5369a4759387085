/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/code.h"

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

void pl_vertex_kinds_find(pl_vertex_kinds *kinds, pl_arrays *arrays, popliner_memory_model model,
                          const popliner_profile *p) {
    kinds->kind = pl_arrays_new(arrays, p->num_vertex_types, sizeof *kinds->kind);
    kinds->code = pl_arrays_new(arrays, p->num_vertex_types, sizeof *kinds->code);
    for (uint32_t i = 0; !arrays->failed && i < p->num_vertex_types; i++)
        kinds->kind[i] = kinds->code[i] = i;
    if (!arrays->failed && model == POPLINER_MEMORY_MODEL_POPLINER)
        pl_popliner_merge_vertex_types(kinds, arrays, p);
}
