/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"

int pl_code_group(const popliner_profile *profile, size_t category) {
    switch ((pl_category)profile->category[category]) {
    case PL_CATEGORY_VERTEX_CODE:
        return PL_VERTEX_CODE;
    case PL_CATEGORY_VERTEX_INSTANCE_STATE:
        return PL_VERTEX_STATE;
    case PL_CATEGORY_INTERNAL_EXCHANGE_CODE:
        return PL_EXCHANGE_CODE;
    case PL_CATEGORY_CONTROL_CODE:
        return PL_CONTROL_CODE;
    case PL_CATEGORY_VERTEX_FIELD_DATA:
    case PL_CATEGORY_COPY_DESCRIPTOR:
        return profile->num_compute_set_states > 0 ? PL_VERTEX_STATE : PL_NUM_CODE_GROUPS;
    default:
        return PL_NUM_CODE_GROUPS;
    }
}

typedef struct entry {
    const char *name;
    uint64_t size_bytes;
    uint32_t type;
} entry;

static int compare_entries(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    int order = strcmp(a->name, b->name);
    if (order != 0)
        return order;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return (a->type > b->type) - (a->type < b->type);
}

popliner_status pl_vertex_kinds_find(pl_vertex_kinds *kinds, const popliner_profile *p,
                                     popliner_memory_model model, popliner_error *error) {
    size_t count = p->num_vertex_types;
    entry *entries = pl_new_array(count, sizeof *entries);
    kinds->kind_of_type = pl_new_array(count, sizeof *kinds->kind_of_type);
    kinds->code_of_type = pl_new_array(count, sizeof *kinds->code_of_type);
    if (entries == NULL || kinds->kind_of_type == NULL || kinds->code_of_type == NULL) {
        free(entries);
        return pl_fail_memory(error, "the vertex types");
    }
    for (size_t i = 0; i < count; i++) {
        kinds->kind_of_type[i] = (uint32_t)i;
        kinds->code_of_type[i] = (uint32_t)i;
    }
    if (model == POPLINER_MEMORY_MODEL_FULL)
        count = 0; /* they stay so */
    for (size_t i = 0; i < count; i++)
        entries[i] = (entry){pl_profile_string(p, p->vertex_type_name[i]),
                             p->vertex_type_size_bytes[i], (uint32_t)i};
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count;) {
        size_t end = i; /* behind the types of this name */
        uint32_t last = 0;
        for (; end < count && strcmp(entries[end].name, entries[i].name) == 0; end++)
            last = entries[end].type > last ? entries[end].type : last;
        uint32_t kind = entries[i].type;
        for (size_t k = i; k < end; k++) {
            if (k > i && entries[k].size_bytes != entries[k - 1].size_bytes)
                kind = entries[k].type;
            kinds->kind_of_type[entries[k].type] = kind;
            kinds->code_of_type[entries[k].type] = last;
        }
        i = end;
    }
    free(entries);
    return POPLINER_OK;
}

void pl_vertex_kinds_free(pl_vertex_kinds *kinds) {
    free(kinds->kind_of_type);
    free(kinds->code_of_type);
    *kinds = (pl_vertex_kinds){0};
}

void pl_add_vertex_state(const popliner_profile *p, popliner_memory_model model,
                         uint32_t compute_set, uint64_t *by_tile_bytes) {
    if (model == POPLINER_MEMORY_MODEL_FULL && p->num_compute_set_states > 0) {
        pl_series_add(p, p->compute_set_state[compute_set], 1, by_tile_bytes);
        pl_series_add(p, p->compute_set_descriptors[compute_set], 1, by_tile_bytes);
        return;
    }
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++)
        pl_series_add(p, p->compute_set_vertex_instances[i],
                      p->vertex_type_size_bytes[p->compute_set_vertex_type[i]], by_tile_bytes);
}

popliner_status pl_code_counter_begin(pl_code_counter *counter, const popliner_profile *p,
                                      popliner_memory_model model, popliner_error *error) {
    size_t num_tiles = p->target.num_tiles;
    *counter = (pl_code_counter){.profile = p, .model = model};
    counter->program_seen = pl_new_array(p->num_programs, sizeof *counter->program_seen);
    counter->compute_set_seen =
        pl_new_array(p->num_compute_sets, sizeof *counter->compute_set_seen);
    counter->type_seen = pl_new_array(p->num_vertex_types * num_tiles, 1);
    counter->code_bytes = pl_new_array(num_tiles, sizeof *counter->code_bytes);
    if (counter->program_seen == NULL || counter->compute_set_seen == NULL ||
        counter->type_seen == NULL || counter->code_bytes == NULL)
        return pl_fail_memory(error, "the code of programs");
    return pl_vertex_kinds_find(&counter->kinds, p, model, error);
}

void pl_code_counter_free(pl_code_counter *counter) {
    pl_vertex_kinds_free(&counter->kinds);
    free(counter->program_seen);
    free(counter->compute_set_seen);
    free(counter->type_seen);
    free(counter->code_bytes);
}

void pl_code_counter_reset(pl_code_counter *counter) {
    const popliner_profile *p = counter->profile;
    counter->number++;
    memset(counter->type_seen, 0, p->num_vertex_types * p->target.num_tiles);
}

/* The vertices of a compute set: their state, and a mark for their types. */
static void add_compute_set(pl_code_counter *counter, uint32_t set, uint64_t *state_bytes) {
    const popliner_profile *p = counter->profile;
    size_t num_tiles = p->target.num_tiles;
    /* PopLiner counts the state again for every program that executes the compute set */
    if (counter->model == POPLINER_MEMORY_MODEL_FULL &&
        counter->compute_set_seen[set] == counter->number)
        return;
    counter->compute_set_seen[set] = counter->number;
    pl_add_vertex_state(p, counter->model, set, state_bytes);
    for (uint32_t i = p->compute_set_vertices_start[set];
         i < p->compute_set_vertices_start[set + 1]; i++) {
        uint32_t kind = counter->kinds.kind_of_type[p->compute_set_vertex_type[i]];
        pl_series instances = p->compute_set_vertex_instances[i];
        uint8_t *seen = counter->type_seen + kind * num_tiles;
        pl_runs runs = pl_runs_begin(p->series_bytes + instances.offset, instances.size_bytes);
        size_t tile = 0;
        uint64_t value;
        uint64_t length;
        while (pl_runs_next(&runs, &value, &length) > 0) {
            if (value > 0)
                memset(seen + tile, 1, length);
            tile += length;
        }
    }
}

void pl_code_counter_add(pl_code_counter *counter, uint32_t program,
                         uint64_t *const groups[PL_NUM_CODE_GROUPS]) {
    const popliner_profile *p = counter->profile;
    if (counter->program_seen[program] == counter->number)
        return;
    counter->program_seen[program] = counter->number;
    if (pl_profile_num_children(p, program) == 0)
        pl_series_add(p, p->program_control_code[program], 1, groups[PL_CONTROL_CODE]);
    pl_series_add(p, p->program_exchange_code[program], 1, groups[PL_EXCHANGE_CODE]);
    if (p->program_compute_set[program] != PL_NONE)
        add_compute_set(counter, p->program_compute_set[program], groups[PL_VERTEX_STATE]);
}

void pl_code_counter_finish(pl_code_counter *counter, uint64_t *const groups[PL_NUM_CODE_GROUPS]) {
    const popliner_profile *p = counter->profile;
    size_t num_tiles = p->target.num_tiles;
    for (size_t type = 0; type < p->num_vertex_types; type++) {
        const uint8_t *seen = counter->type_seen + type * num_tiles;
        if (counter->kinds.kind_of_type[type] != type || memchr(seen, 1, num_tiles) == NULL)
            continue;
        memset(counter->code_bytes, 0, num_tiles * sizeof *counter->code_bytes);
        pl_series_add(p, p->vertex_type_code[counter->kinds.code_of_type[type]], 1,
                      counter->code_bytes);
        for (size_t tile = 0; tile < num_tiles; tile++)
            groups[PL_VERTEX_CODE][tile] += seen[tile] ? counter->code_bytes[tile] : 0;
    }
}
