/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/stage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/liveness.h"
#include "memory/vertex_code.h"
#include "read/blob_codec.h"
#include "read/profile_data.h"

/* The peaks of a set of variables that was measured before. */
typedef struct remembered_peaks {
    uint64_t hash; /* of the variables in ascending order */
    size_t num_variables;
    uint64_t *by_tile_bytes; /* owned */
} remembered_peaks;

struct popliner_stage_meter {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_layers *layers;
    pl_vertex_kinds kinds;
    pl_curve curve;

    /* What the current stage has seen carries its number. */
    uint32_t stage_number;
    uint32_t *program_seen;  /* [num_programs] */
    uint32_t *variable_seen; /* [num_variables] */

    uint32_t *variables; /* [num_variables]: those of the stage, by tile */
    uint8_t *type_seen;  /* [num_vertex_types * num_tiles] */
    size_t *operation_buffer;

    bool remembers;
    remembered_peaks *remembered;
    size_t num_remembered;
    size_t remembered_capacity;
};

popliner_status popliner_stage_meter_create(const popliner_profile *profile,
                                            const popliner_operations *operations,
                                            const popliner_layers *layers,
                                            popliner_stage_meter **result, popliner_error *error) {
    *result = NULL;
    popliner_stage_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL)
        return pl_fail_memory(error, "the stages");
    meter->profile = profile;
    meter->operations = operations;
    meter->layers = layers;
    meter->program_seen = pl_new_array(profile->num_programs, sizeof *meter->program_seen);
    meter->variable_seen = pl_new_array(profile->num_variables, sizeof *meter->variable_seen);
    meter->variables = pl_new_array(profile->num_variables, sizeof *meter->variables);
    meter->type_seen = pl_new_array(profile->num_vertex_types * profile->target.num_tiles, 1);
    meter->operation_buffer =
        pl_new_array(popliner_operations_count(operations), sizeof *meter->operation_buffer);
    popliner_status status = POPLINER_OK;
    if (meter->program_seen == NULL || meter->variable_seen == NULL || meter->variables == NULL ||
        meter->type_seen == NULL || meter->operation_buffer == NULL)
        status = pl_fail_memory(error, "the stages");
    if (status == POPLINER_OK)
        status = pl_vertex_kinds_find(&meter->kinds, profile, error);
    if (status == POPLINER_OK)
        *result = meter;
    else
        popliner_stage_meter_free(meter);
    return status;
}

void popliner_stage_meter_free(popliner_stage_meter *meter) {
    if (meter == NULL)
        return;
    pl_vertex_kinds_free(&meter->kinds);
    free(meter->curve.change_bytes);
    free(meter->program_seen);
    free(meter->variable_seen);
    free(meter->variables);
    free(meter->type_seen);
    free(meter->operation_buffer);
    for (size_t i = 0; i < meter->num_remembered; i++)
        free(meter->remembered[i].by_tile_bytes);
    free(meter->remembered);
    free(meter);
}

void popliner_stage_meter_remember_peaks(popliner_stage_meter *meter) {
    meter->remembers = true;
}

static popliner_status make_arrays(popliner_stage_memory *memory, size_t num_tiles,
                                   popliner_error *error) {
    uint64_t **const arrays[] = {
        &memory->variables_bytes,     &memory->vertex_code_bytes,  &memory->vertex_state_bytes,
        &memory->exchange_code_bytes, &memory->control_code_bytes, &memory->total_bytes,
    };
    if (memory->num_tiles != num_tiles)
        popliner_stage_memory_clear(memory);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (*arrays[i] == NULL)
            *arrays[i] = pl_new_array(num_tiles, sizeof **arrays[i]);
        if (*arrays[i] == NULL) {
            popliner_stage_memory_clear(memory);
            return pl_fail_memory(error, "the memory of a stage");
        }
        memset(*arrays[i], 0, num_tiles * sizeof **arrays[i]);
    }
    memory->num_tiles = num_tiles;
    return POPLINER_OK;
}

void popliner_stage_memory_clear(popliner_stage_memory *memory) {
    free(memory->variables_bytes);
    free(memory->vertex_code_bytes);
    free(memory->vertex_state_bytes);
    free(memory->exchange_code_bytes);
    free(memory->control_code_bytes);
    free(memory->total_bytes);
    *memory = (popliner_stage_memory){0};
}

/* The vertices of a compute set: state for each instance, code where the type is new. */
static void add_compute_set(popliner_stage_meter *meter, uint32_t set,
                            popliner_stage_memory *memory) {
    const popliner_profile *p = meter->profile;
    size_t num_tiles = p->target.num_tiles;
    for (uint32_t i = p->compute_set_vertices_start[set];
         i < p->compute_set_vertices_start[set + 1]; i++) {
        uint32_t type = p->compute_set_vertex_type[i];
        pl_series instances = p->compute_set_vertex_instances[i];
        pl_series_add(p, instances, p->vertex_type_size_bytes[type], memory->vertex_state_bytes);
        uint8_t *seen = meter->type_seen + meter->kinds.kind_of_type[type] * num_tiles;
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

/* The code of every kind of vertex that was seen, tile by tile. */
static popliner_status add_vertex_code(const popliner_stage_meter *meter,
                                       popliner_stage_memory *memory, popliner_error *error) {
    const popliner_profile *p = meter->profile;
    size_t num_tiles = p->target.num_tiles;
    uint64_t *code_bytes = pl_new_array(num_tiles, sizeof *code_bytes);
    if (code_bytes == NULL)
        return pl_fail_memory(error, "the memory of a stage");
    for (size_t type = 0; type < p->num_vertex_types; type++) {
        const uint8_t *seen = meter->type_seen + type * num_tiles;
        if (meter->kinds.kind_of_type[type] != type || memchr(seen, 1, num_tiles) == NULL)
            continue;
        memset(code_bytes, 0, num_tiles * sizeof *code_bytes);
        pl_series_add(p, p->vertex_type_code[meter->kinds.code_of_type[type]], 1, code_bytes);
        for (size_t tile = 0; tile < num_tiles; tile++)
            memory->vertex_code_bytes[tile] += seen[tile] ? code_bytes[tile] : 0;
    }
    free(code_bytes);
    return POPLINER_OK;
}

static void add_program(popliner_stage_meter *meter, uint32_t program,
                        popliner_stage_memory *memory) {
    const popliner_profile *p = meter->profile;
    if (meter->program_seen[program] == meter->stage_number)
        return;
    meter->program_seen[program] = meter->stage_number;
    if (!p->program_has_children[program])
        pl_series_add(p, p->program_control_code[program], 1, memory->control_code_bytes);
    pl_series_add(p, p->program_exchange_code[program], 1, memory->exchange_code_bytes);
    if (p->program_compute_set[program] != PL_NONE)
        add_compute_set(meter, p->program_compute_set[program], memory);
}

static size_t mark_variables(popliner_stage_meter *meter, uint32_t program, uint32_t *new_ones) {
    const popliner_profile *p = meter->profile;
    size_t count = 0;
    for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
         l++) {
        uint32_t list = p->program_list[l];
        for (uint64_t i = p->list_start[list]; i < p->list_start[list + 1]; i++) {
            uint32_t variable = p->list_variable[i];
            if (meter->variable_seen[variable] == meter->stage_number)
                continue;
            meter->variable_seen[variable] = meter->stage_number;
            new_ones[count++] = variable;
        }
    }
    return count;
}

static int compare_variables(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Puts meter->variables[0 ... count - 1] into the order of their tiles, which is their own. A few
 * are sorted; many are found again by their marks. */
static void sort_variables(popliner_stage_meter *meter, size_t count) {
    const popliner_profile *p = meter->profile;
    if (count < p->num_variables / 32) {
        qsort(meter->variables, count, sizeof *meter->variables, compare_variables);
    } else {
        size_t found = 0;
        for (size_t i = 0; i < p->num_variables; i++) {
            if (meter->variable_seen[i] == meter->stage_number)
                meter->variables[found++] = (uint32_t)i;
        }
    }
}

/* The peak of meter->variables[0 ... count - 1] on every tile. */
static popliner_status measure_variables(popliner_stage_meter *meter, size_t count,
                                         size_t first_step, size_t end_step,
                                         uint64_t *by_tile_bytes, popliner_error *error) {
    const popliner_profile *p = meter->profile;
    for (size_t i = 0; i < count;) {
        uint32_t tile = p->variable_tile[meter->variables[i]];
        if (!pl_curve_begin(&meter->curve, first_step, end_step))
            return pl_fail_memory(error, "the memory of a stage");
        for (; i < count && p->variable_tile[meter->variables[i]] == tile; i++) {
            uint32_t variable = meter->variables[i];
            pl_curve_add(&meter->curve, p, p->variable_class[variable],
                         p->variable_size_bytes[variable]);
        }
        by_tile_bytes[tile] = pl_curve_peak(&meter->curve, first_step, end_step);
    }
    return POPLINER_OK;
}

/* The same, but what was measured for the same variables before is taken again. */
static popliner_status recall_variables(popliner_stage_meter *meter, size_t count,
                                        size_t first_step, size_t end_step, uint64_t *by_tile_bytes,
                                        popliner_error *error) {
    size_t tiles_bytes = meter->profile->target.num_tiles * sizeof *by_tile_bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ meter->variables[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (size_t i = 0; i < meter->num_remembered; i++) {
        const remembered_peaks *known = &meter->remembered[i];
        if (known->hash == hash && known->num_variables == count) {
            memcpy(by_tile_bytes, known->by_tile_bytes, tiles_bytes);
            return POPLINER_OK;
        }
    }
    popliner_status status =
        measure_variables(meter, count, first_step, end_step, by_tile_bytes, error);
    if (status != POPLINER_OK)
        return status;
    void *remembered = meter->remembered;
    uint64_t *copy = malloc(tiles_bytes);
    if (copy == NULL || !pl_reserve(&remembered, &meter->remembered_capacity,
                                    meter->num_remembered + 1, sizeof *meter->remembered)) {
        free(copy);
        return pl_fail_memory(error, "the memory of a stage");
    }
    memcpy(copy, by_tile_bytes, tiles_bytes);
    meter->remembered = remembered;
    meter->remembered[meter->num_remembered++] = (remembered_peaks){hash, count, copy};
    return POPLINER_OK;
}

popliner_status popliner_stage_measure(popliner_stage_meter *meter, const size_t *operations,
                                       size_t num_operations, popliner_stage_memory *memory,
                                       popliner_error *error) {
    const popliner_profile *p = meter->profile;
    size_t num_tiles = p->target.num_tiles;
    popliner_status status = make_arrays(memory, num_tiles, error);
    if (status != POPLINER_OK)
        return status;
    meter->stage_number++;
    memset(meter->type_seen, 0, p->num_vertex_types * num_tiles);

    size_t num_variables = 0;
    size_t first_step = 0;
    size_t last_step = 0;
    bool has_layer = false;
    for (size_t i = 0; i < num_operations; i++) {
        popliner_operation operation = popliner_operations_get(meter->operations, operations[i]);
        bool in_layer = popliner_layers_unit_of(meter->layers, operations[i]) > 0;
        if (i == 0 || (in_layer && !has_layer))
            first_step = operation.first_step;
        has_layer = has_layer || in_layer;
        last_step = operation.last_step;
        for (size_t k = 0; k < operation.num_programs; k++) {
            add_program(meter, operation.programs[k], memory);
            if (in_layer)
                num_variables +=
                    mark_variables(meter, operation.programs[k], meter->variables + num_variables);
        }
    }
    status = add_vertex_code(meter, memory, error);
    if (status == POPLINER_OK && num_operations > 0) {
        sort_variables(meter, num_variables);
        status = meter->remembers
                     ? recall_variables(meter, num_variables, first_step, last_step + 1,
                                        memory->variables_bytes, error)
                     : measure_variables(meter, num_variables, first_step, last_step + 1,
                                         memory->variables_bytes, error);
    }
    for (size_t tile = 0; tile < num_tiles; tile++)
        memory->total_bytes[tile] =
            memory->variables_bytes[tile] + memory->vertex_code_bytes[tile] +
            memory->vertex_state_bytes[tile] + memory->exchange_code_bytes[tile] +
            memory->control_code_bytes[tile];
    return status;
}

popliner_status popliner_stage_measure_units(popliner_stage_meter *meter, size_t first_unit,
                                             size_t last_unit, popliner_stage_memory *memory,
                                             popliner_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < popliner_operations_count(meter->operations); i++) {
        size_t unit = popliner_layers_unit_of(meter->layers, i);
        if (unit >= first_unit && unit <= last_unit)
            meter->operation_buffer[count++] = i;
    }
    return popliner_stage_measure(meter, meter->operation_buffer, count, memory, error);
}

uint64_t popliner_sum_of_tiles(const uint64_t *bytes, size_t num_tiles) {
    uint64_t sum = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        sum += bytes[tile];
    return sum;
}

uint64_t popliner_largest_of_tiles(const uint64_t *bytes, size_t num_tiles) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        largest = bytes[tile] > largest ? bytes[tile] : largest;
    return largest;
}
