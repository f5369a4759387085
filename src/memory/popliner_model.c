/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/popliner_model.h"

#include <stdbool.h>
#include <string.h>

#include "base/growth.h"
#include "base/id_map.h"
#include "base/keys.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/curve.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* ---- The chain ------------------------------------------------------------------------------- */

void pl_popliner_place_operations(pl_chain *chain) {
    for (size_t i = 0; i < chain->num_operations; i++)
        chain->unit_of_operation[i] = (uint32_t)pl_layers_unit_of(chain->layers, i);
}

/* ---- Vertex types ---------------------------------------------------------------------------- */

void pl_popliner_merge_vertex_types(pl_code_counter *counter, pl_arrays *arrays) {
    const popliner_profile *p = counter->profile;
    pl_arrays own = {0};
    pl_names names = {0};
    pl_keys kinds = {.arrays = &own, .key_size = 2 * sizeof(uint64_t)};
    uint32_t *last_of_name = pl_arrays_new(&own, p->num_vertex_types, sizeof(uint32_t));
    uint32_t *first_of_kind = pl_arrays_new(&own, p->num_vertex_types, sizeof(uint32_t));
    for (uint32_t i = 0; !own.failed && i < p->num_vertex_types; i++) {
        const size_t name = pl_names_number(&names, pl_profile_string(p, p->vertex_type_name[i]));
        const uint64_t key[] = {name, p->vertex_type_size_bytes[i]};
        const size_t num_kinds = kinds.count;
        const size_t kind = pl_keys_number(&kinds, key);
        own.failed = own.failed || name == SIZE_MAX;
        if (own.failed)
            break;
        if (kind == num_kinds)
            first_of_kind[kind] = i;
        last_of_name[name] = i;
        counter->kind_of_type[i] = first_of_kind[kind];
        counter->code_of_type[i] = (uint32_t)name; /* until the last one is known */
    }
    for (size_t i = 0; !own.failed && i < p->num_vertex_types; i++)
        counter->code_of_type[i] = last_of_name[counter->code_of_type[i]];
    pl_names_free(&names);
    pl_arrays_end(&own, arrays);
}

/* ---- A stage --------------------------------------------------------------------------------- */

/* The peak of the variables on a tile. */
typedef struct tile_peak {
    uint64_t bytes;
    size_t step;
    uint64_t parameter_bytes; /* of all of them, live or not */
} tile_peak;

/* The peaks of a set of variables that was measured before. */
typedef struct remembered_peaks {
    uint64_t hash; /* of the variables, in any order */
    size_t num_variables;
    tile_peak *tiles;
} remembered_peaks;

struct pl_popliner_meter {
    const pl_chain *chain;
    pl_arrays *arrays; /* own the meter and the arrays below, except the remembered peaks */
    pl_code_counter code;
    uint64_t *group_bytes[PL_NUM_CODE_GROUPS]; /* [tiles]; vertex code once it is computed */
    /* The number of the current stage; program_seen holds it for programs whose variables are
     * added. The mark of its variables fits a byte: it repeats only after all were cleared. */
    uint32_t stage_number;
    uint32_t *program_seen; /* [programs] */
    uint8_t *variable_seen; /* [variables] */
    uint8_t variable_mark;
    size_t num_variables;
    size_t first_variable; /* the variables with the mark are from this one on, before the next */
    size_t end_variable;
    uint64_t hash;  /* of the variables */
    pl_curve curve; /* of the variables of a tile */
    /* The first and the last operation, the first one in a layer; SIZE_MAX for none. */
    size_t first_operation;
    size_t first_in_layer;
    size_t last_operation;
    size_t last_step; /* of any operation */
    tile_peak *tiles; /* [tiles] */
    /* The units of the stage, if it is of a chain and alone; else first_unit is SIZE_MAX. */
    size_t first_unit;
    size_t end_unit;
    bool remembers_peaks;
    pl_arrays peak_arrays; /* own the remembered peaks */
    remembered_peaks *peaks;
    size_t num_peaks;
};

pl_popliner_meter *pl_popliner_meter_new(pl_arrays *arrays, const pl_chain *chain) {
    const popliner_profile *p = chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    pl_popliner_meter *meter = pl_arrays_new(arrays, 1, sizeof *meter);
    if (meter == NULL)
        return NULL;
    meter->arrays = arrays;
    meter->chain = chain;
    meter->first_unit = SIZE_MAX;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        meter->group_bytes[group] = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    meter->program_seen = pl_arrays_new(arrays, p->num_programs, sizeof *meter->program_seen);
    meter->variable_seen = pl_arrays_new(arrays, p->num_variables, 1);
    pl_curve_begin(&meter->curve, arrays, 0, p->num_steps);
    meter->tiles = pl_arrays_new(arrays, num_tiles, sizeof *meter->tiles);
    pl_code_counter_begin(&meter->code, arrays, chain->model, p);
    return meter;
}

void pl_popliner_meter_remember_peaks(pl_popliner_meter *meter, bool remembers) {
    meter->remembers_peaks = remembers;
    if (remembers)
        return;
    pl_arrays_free(&meter->peak_arrays);
    meter->peaks = NULL;
    meter->num_peaks = 0;
}

/* Begins another stage. */
static void begin_stage(pl_popliner_meter *m) {
    const popliner_profile *p = m->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    m->stage_number++;
    if (++m->variable_mark == 0) {
        memset(m->variable_seen, 0, p->num_variables);
        m->variable_mark = 1;
    }
    m->num_variables = 0;
    m->first_variable = p->num_variables;
    m->end_variable = 0;
    m->hash = 0;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        memset(m->group_bytes[group], 0, num_tiles * sizeof(uint64_t));
    m->first_operation = m->first_in_layer = m->last_operation = SIZE_MAX;
    m->last_step = 0;
    pl_code_counter_reset(&m->code);
}

/* Adds a variable, unless the stage has it. */
static void add_variable(pl_popliner_meter *m, uint32_t variable) {
    if (m->variable_seen[variable] == m->variable_mark)
        return;
    m->variable_seen[variable] = m->variable_mark;
    m->num_variables++;
    m->first_variable = pl_fewer(m->first_variable, variable);
    m->end_variable = pl_more(m->end_variable, (size_t)variable + 1);
    uint64_t mixed = (variable + UINT64_C(0xcbf29ce484222325)) * UINT64_C(0x9e3779b97f4a7c15);
    m->hash += (mixed ^ mixed >> 29) * UINT64_C(0xd6e8feb86659fd93);
}

/* Adds operations to the stage; each program counts once. */
static void add_operations(pl_popliner_meter *m, const size_t *operations, size_t num_operations) {
    const popliner_profile *p = m->chain->profile;
    for (size_t i = 0; i < num_operations; i++) {
        const size_t number = operations[i];
        const popliner_operation *operation = pl_operation_at(m->chain->operations, number);
        const bool in_layer =
            m->chain->kind[m->chain->unit_of_operation[number]] == POPLINER_UNIT_LAYER;
        if (m->first_operation == SIZE_MAX || number < m->first_operation)
            m->first_operation = number;
        if (in_layer && (m->first_in_layer == SIZE_MAX || number < m->first_in_layer))
            m->first_in_layer = number;
        if (m->last_operation == SIZE_MAX || number > m->last_operation)
            m->last_operation = number;
        if (operation->last_step > m->last_step)
            m->last_step = operation->last_step;
        for (size_t k = 0; k < operation->num_programs; k++) {
            const uint32_t program = operation->programs[k];
            pl_code_counter_add(&m->code, program, m->group_bytes);
            if (!in_layer || m->program_seen[program] == m->stage_number)
                continue;
            m->program_seen[program] = m->stage_number;
            pl_touches touches = pl_touches_of(p, program);
            uint32_t variable;
            while (pl_touches_next(&touches, &variable))
                add_variable(m, variable);
        }
    }
}

/* Returns the peak of the variables on a tile. */
static tile_peak find_peak(pl_popliner_meter *m, size_t tile, size_t first_step, size_t end_step) {
    const popliner_profile *p = m->chain->profile;
    const size_t first = pl_more(p->tile_variables_start[tile], m->first_variable);
    const size_t end = pl_fewer(p->tile_variables_start[tile + 1], m->end_variable);
    tile_peak peak = {0, first_step, 0};
    if (first >= end)
        return peak;
    /* which was begun with room for all steps */
    pl_curve_begin(&m->curve, m->arrays, 0, p->num_steps);
    for (size_t i = first; i < end; i++) {
        if (m->variable_seen[i] != m->variable_mark)
            continue;
        pl_curve_add(&m->curve, p, p->variable_class[i], p->variable_size_bytes[i]);
        peak.parameter_bytes += pl_is_parameter(p, i) ? p->variable_size_bytes[i] : 0;
    }
    peak.bytes = pl_curve_peak(&m->curve, first_step, end_step, &peak.step);
    return peak;
}

/* Sets the peaks to those that were measured before for equal variables, whatever the steps. */
static bool recall_peaks(pl_popliner_meter *m) {
    for (size_t i = 0; m->remembers_peaks && i < m->num_peaks; i++)
        if (m->peaks[i].hash == m->hash && m->peaks[i].num_variables == m->num_variables) {
            memcpy(m->tiles, m->peaks[i].tiles,
                   m->chain->profile->target.num_tiles * sizeof *m->tiles);
            return true;
        }
    return false;
}

static void remember_peaks(pl_popliner_meter *m) {
    tile_peak *tiles = pl_arrays_copy(&m->peak_arrays, m->tiles,
                                      m->chain->profile->target.num_tiles, sizeof *tiles);
    if (pl_arrays_grow(&m->peak_arrays, &m->peaks, m->num_peaks + 1, sizeof *m->peaks))
        m->peaks[m->num_peaks++] = (remembered_peaks){m->hash, m->num_variables, tiles};
    m->arrays->failed = m->arrays->failed || m->peak_arrays.failed;
}

/* Computes the stage so far. */
static void finish_stage(pl_popliner_meter *m, bool is_shared) {
    const size_t num_tiles = m->chain->profile->target.num_tiles;
    memset(m->group_bytes[PL_VERTEX_CODE], 0, num_tiles * sizeof(uint64_t));
    pl_code_counter_finish(&m->code, m->group_bytes);
    memset(m->tiles, 0, num_tiles * sizeof *m->tiles);
    if (m->first_operation == SIZE_MAX || recall_peaks(m))
        return;
    const size_t first = m->first_in_layer != SIZE_MAX ? m->first_in_layer : m->first_operation;
    const size_t first_step = pl_operation_at(m->chain->operations, first)->first_step;
    const size_t last_step =
        is_shared ? m->last_step
                  : pl_operation_at(m->chain->operations, m->last_operation)->last_step;
    for (size_t tile = 0; tile < num_tiles; tile++)
        m->tiles[tile] = find_peak(m, tile, first_step, last_step + 1);
    if (m->remembers_peaks)
        remember_peaks(m);
}

void pl_popliner_meter_measure(pl_popliner_meter *m, const popliner_interval *stages,
                               size_t num_stages) {
    const size_t *start = m->chain->unit_operations_start;
    const bool is_longer =
        num_stages == 1 && m->first_unit == stages->first_unit && m->end_unit <= stages->last_unit;
    if (!is_longer)
        begin_stage(m);
    for (size_t i = 0; i < num_stages; i++) {
        const size_t first = start[is_longer ? m->end_unit : stages[i].first_unit];
        add_operations(m, m->chain->unit_operation + first, start[stages[i].last_unit + 1] - first);
    }
    finish_stage(m, num_stages > 1);
    m->first_unit = num_stages == 1 ? stages->first_unit : SIZE_MAX;
    m->end_unit = stages->last_unit + 1;
}

void pl_popliner_meter_measure_operations(pl_popliner_meter *m, const size_t *operations,
                                          size_t num_operations) {
    begin_stage(m);
    add_operations(m, operations, num_operations);
    finish_stage(m, false);
    m->first_unit = SIZE_MAX;
}

pl_stage_tile pl_popliner_meter_tile(const pl_popliner_meter *m, size_t tile) {
    pl_stage_tile result = {
        .plain = {m->tiles[tile].bytes, 0, 0, m->tiles[tile].step},
        .steady.parameter_bytes = m->tiles[tile].parameter_bytes,
    };
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        result.steady.code_bytes[group] = m->group_bytes[group][tile];
        result.steady.all_code_bytes += m->group_bytes[group][tile];
    }
    result.buffered = result.plain;
    return result;
}
