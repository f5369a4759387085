/* PopLiner 1.0.0's memory model, quirks included, from its source: popliner/stage.h has its rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/memory_model.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "memory/stage_meter.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* ---- The chain ---- */

static popliner_status place_operations(pl_chain *chain, popliner_error *error) {
    (void)error;
    for (size_t i = 0; i < chain->num_operations; i++)
        chain->unit_of_operation[i] = (uint32_t)pl_layers_unit_of(chain->layers, i);
    return POPLINER_OK;
}

/* ---- Vertex types ---- */

/* A vertex type, for sorting. */
typedef struct vertex_type {
    const char *name;
    uint64_t size_bytes;
    uint32_t type;
} vertex_type;

static int compare_vertex_types(const void *left, const void *right) {
    const vertex_type *a = left;
    const vertex_type *b = right;
    int order = strcmp(a->name, b->name);
    if (order != 0)
        return order;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return (a->type > b->type) - (a->type < b->type);
}

/* Merges types with equal name and size, with the code of the last type of their name. */
static bool merge_vertex_types(pl_vertex_kinds *kinds, const popliner_profile *p) {
    size_t count = p->num_vertex_types;
    vertex_type *types = pl_new_array(count, sizeof *types);
    if (types == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        types[i] = (vertex_type){pl_profile_string(p, p->vertex_type_name[i]),
                                 p->vertex_type_size_bytes[i], (uint32_t)i};
    qsort(types, count, sizeof *types, compare_vertex_types);
    for (size_t i = 0; i < count;) {
        size_t end = i; /* end of the types of this name */
        uint32_t last = 0;
        for (; end < count && strcmp(types[end].name, types[i].name) == 0; end++)
            last = types[end].type > last ? types[end].type : last;
        uint32_t kind = types[i].type;
        for (size_t k = i; k < end; k++) {
            if (k > i && types[k].size_bytes != types[k - 1].size_bytes)
                kind = types[k].type;
            kinds->kind_of_type[types[k].type] = kind;
            kinds->code_of_type[types[k].type] = last;
        }
        i = end;
    }
    free(types);
    return true;
}

/* ---- Remembered peaks ---- */

/* The peaks of a set of variables that was measured before. */
typedef struct remembered_peaks {
    uint64_t hash; /* of the variables in ascending order */
    size_t num_variables;
    uint64_t *by_tile; /* owned: the bytes, then the steps */
} remembered_peaks;

/* The model's own state in a meter. */
typedef struct memory_of_peaks {
    remembered_peaks *peaks;
    size_t num_peaks;
    size_t capacity;
} memory_of_peaks;

static bool begin_work(pl_stage_meter *meter) {
    meter->work = calloc(1, sizeof(memory_of_peaks));
    return meter->work != NULL;
}

static void forget_peaks(pl_stage_meter *meter) {
    memory_of_peaks *known = meter->work;
    for (size_t i = 0; i < known->num_peaks; i++)
        free(known->peaks[i].by_tile);
    free(known->peaks);
    *known = (memory_of_peaks){0};
}

static void free_work(pl_stage_meter *meter) {
    if (meter->work != NULL)
        forget_peaks(meter);
    free(meter->work);
}

/* Returns the peaks of equal variables, if they were measured before. */
static const remembered_peaks *find_peaks(const memory_of_peaks *known, uint64_t hash,
                                          size_t num_variables) {
    for (size_t i = 0; i < known->num_peaks; i++) {
        if (known->peaks[i].hash == hash && known->peaks[i].num_variables == num_variables)
            return &known->peaks[i];
    }
    return NULL;
}

static bool remember_peaks(memory_of_peaks *known, uint64_t hash, size_t num_variables,
                           const popliner_stage_memory *memory) {
    size_t array_bytes = memory->num_tiles * sizeof(uint64_t);
    uint64_t *by_tile = malloc(2 * array_bytes);
    if (by_tile == NULL ||
        !pl_grow(&known->peaks, &known->capacity, known->num_peaks + 1, sizeof *known->peaks)) {
        free(by_tile);
        return false;
    }
    memcpy(by_tile, memory->part_bytes[POPLINER_PART_VARIABLES], array_bytes);
    memcpy(by_tile + memory->num_tiles, memory->peak_step, array_bytes);
    known->peaks[known->num_peaks++] = (remembered_peaks){hash, num_variables, by_tile};
    return true;
}

/* ---- One stage ---- */

/* Computes the peak of the stage's variables on every tile. */
static bool measure_variables(pl_stage_meter *meter, size_t first_step, size_t end_step,
                              popliner_stage_memory *memory) {
    const popliner_profile *p = meter->profile;
    size_t count = meter->num_variables;
    for (size_t tile = 0; tile < memory->num_tiles; tile++)
        memory->peak_step[tile] = first_step;
    for (size_t i = 0, tile = 0; i < count;) {
        size_t peak_step;
        tile = pl_profile_tile_from(p, meter->variables[i], tile);
        if (!pl_curve_begin(&meter->curve, first_step, end_step))
            return false;
        for (; i < count && meter->variables[i] < p->tile_variables_start[tile + 1]; i++) {
            uint32_t variable = meter->variables[i];
            pl_curve_add(&meter->curve, p, p->variable_class[variable],
                         p->variable_size_bytes[variable]);
        }
        memory->part_bytes[POPLINER_PART_VARIABLES][tile] =
            pl_curve_peak(&meter->curve, first_step, end_step, &peak_step);
        memory->peak_step[tile] = peak_step;
    }
    return true;
}

/* Like measure_variables, but returns the peaks that were measured before for equal variables,
 * whatever the steps. */
static bool recall_variables(pl_stage_meter *meter, size_t first_step, size_t end_step,
                             popliner_stage_memory *memory) {
    memory_of_peaks *known = meter->work;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < meter->num_variables; i++) {
        hash = (hash ^ meter->variables[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    const remembered_peaks *found = find_peaks(known, hash, meter->num_variables);
    if (found != NULL) {
        size_t num_tiles = memory->num_tiles;
        memcpy(memory->part_bytes[POPLINER_PART_VARIABLES], found->by_tile,
               num_tiles * sizeof(uint64_t));
        memcpy(memory->peak_step, found->by_tile + num_tiles, num_tiles * sizeof(uint64_t));
        return true;
    }
    return measure_variables(meter, first_step, end_step, memory) &&
           remember_peaks(known, hash, meter->num_variables, memory);
}

/* Measures the variables of operations in layers, over one range of steps. */
static bool measure_data(pl_stage_meter *meter, const size_t *operations, size_t num_operations,
                         popliner_stage_memory *memory) {
    size_t first_step = 0;
    size_t last_step = 0;
    bool has_layer = false;
    if (num_operations == 0)
        return true;
    for (size_t i = 0; i < num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(meter->operations, operations[i]);
        size_t unit = pl_chain_unit_of(meter->chain, operations[i]);
        bool in_layer = meter->chain->kind[unit] == POPLINER_UNIT_LAYER;
        if (i == 0 || (in_layer && !has_layer))
            first_step = operation->first_step;
        has_layer = has_layer || in_layer;
        if (!meter->is_shared || operation->last_step > last_step)
            last_step = operation->last_step;
        if (in_layer)
            pl_stage_add_variables(meter, operation);
    }
    pl_stage_sort_variables(meter);
    return (meter->remembers_peaks ? recall_variables : measure_variables)(meter, first_step,
                                                                           last_step + 1, memory);
}

const pl_memory_model pl_popliner_model = {
    .id = POPLINER_MEMORY_MODEL_POPLINER,
    .name = "popliner",
    .has_unlayered_unit = true,
    .place_operations = place_operations,
    .merge_vertex_types = merge_vertex_types,
    .repeats_state = true,
    .may_shrink = true,
    .compares_own_step = true,
    .begin_work = begin_work,
    .free_work = free_work,
    .forget_peaks = forget_peaks,
    .measure_data = measure_data,
};
