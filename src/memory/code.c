/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/code.h"

#include "base/id_map.h"
#include "base/keys.h"
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
    const size_t count = p->num_vertex_types;
    pl_arrays own = {0};
    pl_names names = {0};
    pl_keys numbers = {.arrays = &own, .key_size = 2 * sizeof(uint64_t)};
    uint32_t *last_of_name = pl_arrays_new(&own, count, sizeof *last_of_name);
    uint32_t *first_of_kind = pl_arrays_new(&own, count, sizeof *first_of_kind);
    kinds->kind = pl_arrays_new(arrays, count, sizeof *kinds->kind);
    kinds->code = pl_arrays_new(arrays, count, sizeof *kinds->code);
    const bool is_full = model == POPLINER_MEMORY_MODEL_FULL;
    for (uint32_t i = 0; !own.failed && !arrays->failed && i < count; i++) {
        const size_t name =
            is_full ? i : pl_names_number(&names, pl_profile_string(p, p->vertex_type_name[i]));
        const uint64_t key[] = {name, p->vertex_type_size_bytes[i]};
        const size_t num_kinds = numbers.count;
        const size_t kind = pl_keys_number(&numbers, key);
        own.failed = own.failed || name == SIZE_MAX;
        if (own.failed)
            break;
        if (kind == num_kinds)
            first_of_kind[kind] = i;
        last_of_name[name] = i;
        kinds->kind[i] = first_of_kind[kind];
        kinds->code[i] = (uint32_t)name; /* until the last one is known */
    }
    for (size_t i = 0; !own.failed && !arrays->failed && i < count; i++)
        kinds->code[i] = last_of_name[kinds->code[i]];
    pl_names_free(&names);
    pl_arrays_end(&own, arrays);
}
