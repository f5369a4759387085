/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "memory/stage_meter.h"
#include "model/operations.h"

void pl_stage_memory_clear(popliner_stage_memory *memory) {
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        free(memory->part_bytes[part]);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        free(memory->need_bytes[need]);
    free(memory->peak_step);
    free(memory->correction_bytes);
    free(memory->always_live_bytes);
    *memory = (popliner_stage_memory){0};
}

/* Allocates an array, or reuses it, all 0; false if memory is short. */
static bool begin_array(uint64_t **array, size_t num_tiles) {
    if (*array == NULL)
        return (*array = pl_new_array(num_tiles, sizeof **array)) != NULL;
    memset(*array, 0, num_tiles * sizeof **array);
    return true;
}

/* Allocates all arrays except correction_bytes, which only an IPU has. */
static bool begin_memory(popliner_stage_memory *memory, size_t num_tiles) {
    if (memory->num_tiles != num_tiles)
        pl_stage_memory_clear(memory);
    memory->num_tiles = num_tiles;
    bool made = begin_array(&memory->peak_step, num_tiles) &&
                begin_array(&memory->always_live_bytes, num_tiles);
    for (int part = 0; made && part < POPLINER_NUM_PARTS; part++)
        made =
            part == POPLINER_PART_PARAMETERS || begin_array(&memory->part_bytes[part], num_tiles);
    for (int need = 0; made && need < POPLINER_NUM_NEEDS; need++)
        made = begin_array(&memory->need_bytes[need], num_tiles);
    if (!made)
        pl_stage_memory_clear(memory);
    return made;
}

popliner_status pl_stage_meter_create(const pl_chain *chain, pl_stage_meter **result,
                                      popliner_error *error) {
    *result = NULL;
    popliner_status status = pl_profile_require_variables(chain->profile, error);
    if (status != POPLINER_OK)
        return status;
    pl_stage_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL)
        return pl_fail_memory(error, "the stages");
    const popliner_profile *profile = meter->profile = chain->profile;
    meter->operations = chain->operations;
    meter->chain = chain;
    pl_arrays *own = &meter->arrays;
    meter->program_seen = pl_arrays_new(own, profile->num_programs, sizeof(uint32_t));
    meter->variable_seen = pl_arrays_new(own, profile->num_variables, 1);
    /* not cleared: a meter that measures no single stage never touches it */
    meter->variables = malloc((profile->num_variables + 1) * sizeof *meter->variables);
    meter->operation_buffer = pl_arrays_new(own, chain->num_operations, sizeof(size_t));
    if (!own->failed && meter->variables != NULL &&
        pl_number_sort_begin(&meter->variable_order, profile->num_variables) &&
        pl_code_counter_begin(&meter->code, chain->model, profile) &&
        pl_account_create(&meter->account, chain->model, profile, chain->operations,
                          chain->usage) &&
        chain->model->begin_work(meter)) {
        *result = meter;
        return POPLINER_OK;
    }
    pl_stage_meter_free(meter);
    return pl_fail_memory(error, "the stages");
}

void pl_stage_meter_free(pl_stage_meter *meter) {
    if (meter == NULL)
        return;
    meter->chain->model->free_work(meter);
    pl_code_counter_free(&meter->code);
    pl_account_free(&meter->account);
    free(meter->curve.change_bytes);
    pl_arrays_free(&meter->arrays);
    free(meter->variables);
    pl_number_sort_free(&meter->variable_order);
    pl_pass_usage_free(&meter->pass_usage);
    pl_gradients_free(&meter->gradients);
    pl_waits_free(&meter->waits);
    free(meter->passed);
    free(meter->touched_by);
    free(meter->is_fed);
    free(meter);
}

void pl_stage_meter_remember_peaks(pl_stage_meter *meter, bool remembers) {
    const pl_memory_model *model = meter->chain->model;
    meter->remembers_peaks = remembers;
    if (!remembers && model->forget_peaks != NULL)
        model->forget_peaks(meter);
}

void pl_stage_add_variables(pl_stage_meter *meter, const popliner_operation *operation) {
    const popliner_profile *p = meter->profile;
    for (size_t k = 0; k < operation->num_programs; k++) {
        uint32_t program = operation->programs[k];
        if (meter->program_seen[program] == meter->stage_number)
            continue;
        meter->program_seen[program] = meter->stage_number;
        pl_account_touches touches = pl_account_touches_of(&meter->account, p, program);
        uint32_t variable;
        while (pl_account_touches_next(&touches, &variable)) {
            if (meter->variable_seen[variable] == meter->variable_mark)
                continue;
            meter->variable_seen[variable] = meter->variable_mark;
            meter->variables[meter->num_variables++] = variable;
        }
    }
}

void pl_stage_sort_variables(pl_stage_meter *meter) {
    pl_number_sort_ascending(&meter->variable_order, meter->variables, meter->num_variables);
}

/* Limits what programs explain, adds the unattributed memory, and sums up. */
static void complete(const pl_stage_meter *meter, popliner_stage_memory *memory) {
    for (size_t tile = 0; tile < memory->num_tiles; tile++) {
        uint64_t fixed_bytes = pl_account_fixed(&meter->account, tile);
        memory->need_bytes[POPLINER_NEED_EXPECTED][tile] =
            memory->part_bytes[POPLINER_PART_VARIABLES][tile] +
            memory->part_bytes[POPLINER_PART_UNEXPLAINED][tile] +
            memory->part_bytes[POPLINER_PART_BUFFERS][tile];
        memory->part_bytes[POPLINER_PART_UNEXPLAINED][tile] += fixed_bytes;
        pl_part_add(memory, POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE, tile, fixed_bytes);
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
            uint64_t *bytes = &memory->part_bytes[PL_FIRST_CODE + group][tile];
            uint64_t limited_bytes = pl_account_limit(&meter->account, group, tile, *bytes);
            *bytes = 0;
            pl_part_add(memory, (popliner_part)(PL_FIRST_CODE + group), tile, limited_bytes);
        }
        if (!meter->chain->model->follows_account) /* it has no other estimates */
            memory->need_bytes[POPLINER_NEED_LEAST][tile] =
                memory->need_bytes[POPLINER_NEED_MOST][tile] =
                    memory->need_bytes[POPLINER_NEED_EXPECTED][tile];
    }
}

/* Measures the operations with the effects that the meter is set to. */
static bool measure(pl_stage_meter *meter, const size_t *operations, size_t num_operations,
                    popliner_stage_memory *memory) {
    if (!begin_memory(memory, meter->profile->target.num_tiles))
        return false;
    uint64_t *const *groups = memory->part_bytes + PL_FIRST_CODE;
    meter->stage_number++;
    if (++meter->variable_mark == 0) {
        memset(meter->variable_seen, 0, meter->profile->num_variables);
        meter->variable_mark = 1;
    }
    meter->num_variables = 0;
    pl_code_counter_reset(&meter->code);
    for (size_t i = 0; i < num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(meter->operations, operations[i]);
        for (size_t k = 0; k < operation->num_programs; k++)
            pl_code_counter_add(&meter->code, operation->programs[k], groups);
    }
    pl_code_counter_finish(&meter->code, groups);
    const bool made = meter->chain->model->measure_data(meter, operations, num_operations, memory);
    complete(meter, memory);
    return made;
}

popliner_status pl_stage_measure(pl_stage_meter *meter, const size_t *operations,
                                 size_t num_operations, popliner_stage_memory *memory,
                                 popliner_error *error) {
    pl_stage_without_effects(meter);
    return measure(meter, operations, num_operations, memory)
               ? POPLINER_OK
               : pl_fail_memory(error, "the memory of a stage");
}

bool pl_stage_measure_intervals(pl_stage_meter *meter, const popliner_interval *stages,
                                size_t num_stages, popliner_stage_memory *memory) {
    size_t count = 0;
    for (size_t i = 0; i < pl_operations_count(meter->operations); i++) {
        size_t unit = pl_chain_unit_of(meter->chain, i);
        bool is_of_stage = false;
        for (size_t k = 0; k < num_stages && !is_of_stage; k++)
            is_of_stage = unit >= stages[k].first_unit && unit <= stages[k].last_unit;
        if (is_of_stage)
            meter->operation_buffer[count++] = i;
    }
    meter->is_shared = num_stages > 1;
    const bool made = measure(meter, meter->operation_buffer, count, memory);
    meter->is_shared = false;
    return made;
}

popliner_status pl_stage_measure_units(pl_stage_meter *meter, size_t first_unit, size_t last_unit,
                                       popliner_stage_memory *memory, popliner_error *error) {
    const popliner_interval stage = {first_unit, last_unit, 1};
    pl_stage_without_effects(meter);
    return pl_stage_measure_intervals(meter, &stage, 1, memory)
               ? POPLINER_OK
               : pl_fail_memory(error, "the memory of a stage");
}

uint64_t pl_stage_parameter_bytes(const pl_stage_meter *meter) {
    const popliner_profile *p = meter->profile;
    uint64_t bytes = 0;
    for (size_t i = 0; i < meter->num_variables; i++) {
        uint32_t variable = meter->variables[i];
        if (p->class_always_live[p->variable_class[variable]] &&
            p->category[p->variable_category[variable]] == PL_CATEGORY_VARIABLE)
            bytes += p->variable_size_bytes[variable];
    }
    return bytes;
}

void pl_stage_sum_parts(const pl_stage_meter *meter, const popliner_stage_memory *memory,
                        uint64_t part_bytes[POPLINER_NUM_PARTS]) {
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        part_bytes[part] = part == POPLINER_PART_PARAMETERS
                               ? pl_stage_parameter_bytes(meter)
                               : pl_tiles_sum(memory->part_bytes[part], memory->num_tiles);
}

/* True if the variable counts as data, at a step, in the stage that was measured last. */
static bool is_of_stage(const pl_stage_meter *meter, size_t variable, size_t step) {
    bool is_seen = meter->variable_seen[variable] == meter->variable_mark;
    return pl_account_is_data(
        &meter->account, meter->profile, variable,
        is_seen || pl_stage_is_passed(meter, variable, step < meter->pass_usage.passes.turn_step));
}

size_t pl_stage_largest_variables(const pl_stage_meter *meter, size_t tile, size_t step,
                                  popliner_stage_variable *largest, size_t max_count) {
    size_t first = (size_t)meter->profile->tile_variables_start[tile];
    size_t end = (size_t)meter->profile->tile_variables_start[tile + 1];
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        uint64_t size_bytes = meter->profile->variable_size_bytes[i];
        bool is_larger =
            count < max_count || (max_count > 0 && size_bytes > largest[max_count - 1].size_bytes);
        if (!is_larger || size_bytes == 0 || !is_of_stage(meter, i, step) ||
            !pl_gradients_is_live(meter->accumulated, meter->profile, i, step))
            continue;
        size_t place = count < max_count ? count++ : max_count - 1;
        for (; place > 0 && largest[place - 1].size_bytes < size_bytes; place--)
            largest[place] = largest[place - 1];
        popliner_variable v = POPLINER_VARIABLE_INIT;
        popliner_profile_get(meter->profile, POPLINER_ITEM_VARIABLE, i, &v, NULL);
        largest[place] = (popliner_stage_variable){i, size_bytes, v.name, v.category};
    }
    return count;
}

uint64_t pl_tiles_sum(const uint64_t *bytes, size_t num_tiles) {
    uint64_t sum = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        sum += bytes[tile];
    return sum;
}

uint64_t pl_tiles_max(const uint64_t *bytes, size_t num_tiles) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        largest = bytes[tile] > largest ? bytes[tile] : largest;
    return largest;
}
