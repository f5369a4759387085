/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/stage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/curve.h"
#include "memory/full_model.h"
#include "memory/passes.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"
#include "profile/touches.h"

/* The peaks of a set of variables that was measured before. */
typedef struct remembered_peaks {
    uint64_t hash; /* of the variables in ascending order */
    size_t num_variables;
    uint64_t *by_tile; /* owned: the bytes, then the steps */
} remembered_peaks;

struct popliner_stage_meter {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    pl_code_counter code;
    pl_full_model full; /* of that memory model only */
    pl_curve curve;
    pl_passes passes; /* once they are needed */

    /* What the current stage has seen carries its number. */
    uint32_t stage_number;
    uint32_t *program_seen;   /* [num_programs]: its variables are marked */
    uint32_t *variable_seen;  /* [num_variables] */
    uint32_t *operation_seen; /* [operations] */

    uint32_t *variables;  /* [num_variables]: those of the stage, by tile */
    uint8_t *step_marked; /* [num_steps]: whether the step is the stage's */
    size_t *operation_buffer;
    uint8_t *touched_by; /* [num_variables]: once the stash is measured */
    bool is_shared;      /* the stage is several on one IPU */

    bool remembers;
    remembered_peaks *remembered;
    size_t num_remembered;
    size_t remembered_capacity;
};

popliner_status popliner_stage_meter_create(const popliner_profile *profile,
                                            const popliner_operations *operations,
                                            const popliner_chain *chain,
                                            popliner_stage_meter **result, popliner_error *error) {
    *result = NULL;
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status != POPLINER_OK)
        return status;
    size_t num_operations = popliner_operations_count(operations);
    popliner_stage_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL)
        return pl_fail_memory(error, "the stages");
    meter->profile = profile;
    meter->operations = operations;
    meter->chain = chain;
    meter->program_seen = pl_new_array(profile->num_programs, sizeof *meter->program_seen);
    meter->variable_seen = pl_new_array(profile->num_variables, sizeof *meter->variable_seen);
    meter->operation_seen = pl_new_array(num_operations, sizeof *meter->operation_seen);
    meter->variables = pl_new_array(profile->num_variables, sizeof *meter->variables);
    meter->step_marked = pl_new_array(profile->num_steps, 1);
    meter->operation_buffer = pl_new_array(num_operations, sizeof *meter->operation_buffer);
    if (meter->program_seen == NULL || meter->variable_seen == NULL ||
        meter->operation_seen == NULL || meter->variables == NULL || meter->step_marked == NULL ||
        meter->operation_buffer == NULL)
        status = pl_fail_memory(error, "the stages");
    if (status == POPLINER_OK)
        status = pl_code_counter_begin(&meter->code, profile, chain->model, error);
    if (status == POPLINER_OK && chain->model == POPLINER_MEMORY_MODEL_FULL)
        status = pl_full_model_create(&meter->full, profile, operations, error);
    if (status == POPLINER_OK)
        *result = meter;
    else
        popliner_stage_meter_free(meter);
    return status;
}

void popliner_stage_meter_free(popliner_stage_meter *meter) {
    if (meter == NULL)
        return;
    pl_code_counter_free(&meter->code);
    pl_full_model_free(&meter->full);
    free(meter->curve.change_bytes);
    free(meter->program_seen);
    free(meter->variable_seen);
    free(meter->operation_seen);
    free(meter->variables);
    free(meter->step_marked);
    free(meter->operation_buffer);
    free(meter->touched_by);
    pl_passes_free(&meter->passes);
    for (size_t i = 0; i < meter->num_remembered; i++)
        free(meter->remembered[i].by_tile);
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
        &memory->exchange_code_bytes, &memory->control_code_bytes, &memory->unexplained_bytes,
        &memory->total_bytes,         &memory->peak_step,
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
    free(memory->unexplained_bytes);
    free(memory->total_bytes);
    free(memory->peak_step);
    *memory = (popliner_stage_memory){0};
}

/* Marks the variables of a program; writes the new ones and returns how many they are. */
static size_t mark_variables(popliner_stage_meter *meter, uint32_t program, uint32_t *new_ones) {
    const popliner_profile *p = meter->profile;
    size_t count = 0;
    bool is_full = meter->chain->model == POPLINER_MEMORY_MODEL_FULL;
    if (meter->program_seen[program] == meter->stage_number)
        return 0;
    meter->program_seen[program] = meter->stage_number;
    pl_touches touches = pl_touches_of(p, program);
    uint32_t variable;
    while (pl_touches_next(&touches, &variable)) {
        if (meter->variable_seen[variable] == meter->stage_number ||
            (is_full && !pl_full_model_counts(&meter->full, p, program, variable)))
            continue;
        meter->variable_seen[variable] = meter->stage_number;
        new_ones[count++] = variable;
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

/* The peak of meter->variables[0 ... count - 1] on every tile, in PopLiner's model. */
static popliner_status measure_variables(popliner_stage_meter *meter, size_t count,
                                         size_t first_step, size_t end_step,
                                         popliner_stage_memory *memory, popliner_error *error) {
    const popliner_profile *p = meter->profile;
    for (size_t tile = 0; tile < memory->num_tiles; tile++)
        memory->peak_step[tile] = first_step;
    for (size_t i = 0, tile = 0; i < count;) {
        size_t peak_step;
        tile = pl_profile_tile_from(p, meter->variables[i], tile);
        if (!pl_curve_begin(&meter->curve, first_step, end_step))
            return pl_fail_memory(error, "the memory of a stage");
        for (; i < count && meter->variables[i] < p->tile_variables_start[tile + 1]; i++) {
            uint32_t variable = meter->variables[i];
            pl_curve_add(&meter->curve, p, p->variable_class[variable],
                         p->variable_size_bytes[variable]);
        }
        memory->variables_bytes[tile] =
            pl_curve_peak(&meter->curve, first_step, end_step, &peak_step);
        memory->peak_step[tile] = peak_step;
    }
    return POPLINER_OK;
}

/* The same, but what was measured for the same variables before is taken again. */
static popliner_status recall_variables(popliner_stage_meter *meter, size_t count,
                                        size_t first_step, size_t end_step,
                                        popliner_stage_memory *memory, popliner_error *error) {
    size_t num_tiles = memory->num_tiles;
    size_t array_bytes = num_tiles * sizeof(uint64_t);
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ meter->variables[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (size_t i = 0; i < meter->num_remembered; i++) {
        const remembered_peaks *known = &meter->remembered[i];
        if (known->hash == hash && known->num_variables == count) {
            memcpy(memory->variables_bytes, known->by_tile, array_bytes);
            memcpy(memory->peak_step, known->by_tile + num_tiles, array_bytes);
            return POPLINER_OK;
        }
    }
    popliner_status status = measure_variables(meter, count, first_step, end_step, memory, error);
    if (status != POPLINER_OK)
        return status;
    void *remembered = meter->remembered;
    uint64_t *copy = malloc(2 * array_bytes);
    if (copy == NULL || !pl_reserve(&remembered, &meter->remembered_capacity,
                                    meter->num_remembered + 1, sizeof *meter->remembered)) {
        free(copy);
        return pl_fail_memory(error, "the memory of a stage");
    }
    memcpy(copy, memory->variables_bytes, array_bytes);
    memcpy(copy + num_tiles, memory->peak_step, array_bytes);
    meter->remembered = remembered;
    meter->remembered[meter->num_remembered++] = (remembered_peaks){hash, count, copy};
    return POPLINER_OK;
}

/* PopLiner's model: variables of operations in layers, over one range of steps. */
static popliner_status measure_as_popliner(popliner_stage_meter *meter, const size_t *operations,
                                           size_t num_operations, popliner_stage_memory *memory,
                                           popliner_error *error) {
    size_t num_variables = 0;
    size_t first_step = 0;
    size_t last_step = 0;
    bool has_layer = false;
    for (size_t i = 0; i < num_operations; i++) {
        popliner_operation operation = popliner_operations_get(meter->operations, operations[i]);
        size_t unit = popliner_chain_unit_of(meter->chain, operations[i]);
        bool in_layer = popliner_chain_kind(meter->chain, unit) == POPLINER_UNIT_LAYER;
        if (i == 0 || (in_layer && !has_layer))
            first_step = operation.first_step;
        has_layer = has_layer || in_layer;
        if (!meter->is_shared || operation.last_step > last_step)
            last_step = operation.last_step;
        for (size_t k = 0; in_layer && k < operation.num_programs; k++)
            num_variables +=
                mark_variables(meter, operation.programs[k], meter->variables + num_variables);
    }
    if (num_operations == 0)
        return POPLINER_OK;
    sort_variables(meter, num_variables);
    if (meter->remembers)
        return recall_variables(meter, num_variables, first_step, last_step + 1, memory, error);
    return measure_variables(meter, num_variables, first_step, last_step + 1, memory, error);
}

/* Full model: on one tile the stage's variables meter->variables[first ... end - 1] and those that
 * nothing explains, over the stage's own steps. */
static popliner_status measure_tile(popliner_stage_meter *meter, size_t tile, size_t first,
                                    size_t end, popliner_stage_memory *memory,
                                    popliner_error *error) {
    const popliner_profile *p = meter->profile;
    const pl_full_model *full = &meter->full;
    uint64_t always_live_bytes = 0;
    size_t peak_step;
    if (!pl_curve_begin(&meter->curve, 0, p->num_steps))
        return pl_fail_memory(error, "the memory of a stage");
    for (size_t i = first; i < end; i++) {
        uint32_t variable = meter->variables[i];
        if (!p->class_always_live[p->variable_class[variable]])
            pl_curve_add(&meter->curve, p, p->variable_class[variable],
                         p->variable_size_bytes[variable]);
        else if ((full->variable_flags[variable] & PL_VARIABLE_IS_CODE) == 0)
            always_live_bytes += p->variable_size_bytes[variable];
    }
    for (uint64_t i = full->unexplained_start[tile]; i < full->unexplained_start[tile + 1]; i++) {
        uint32_t variable = full->unexplained[i];
        pl_curve_add(&meter->curve, p, p->variable_class[variable],
                     p->variable_size_bytes[variable]);
    }
    memory->variables_bytes[tile] =
        always_live_bytes + pl_curve_peak_of_marked(&meter->curve, meter->step_marked, &peak_step);
    memory->peak_step[tile] = peak_step;
    return POPLINER_OK;
}

static popliner_status measure_fully(popliner_stage_meter *meter, const size_t *operations,
                                     size_t num_operations, popliner_stage_memory *memory,
                                     popliner_error *error) {
    const popliner_profile *p = meter->profile;
    popliner_status status = POPLINER_OK;
    size_t num_variables = 0;
    for (size_t i = 0; i < num_operations; i++) {
        popliner_operation operation = popliner_operations_get(meter->operations, operations[i]);
        meter->operation_seen[operations[i]] = meter->stage_number;
        for (size_t k = 0; k < operation.num_programs; k++)
            num_variables +=
                mark_variables(meter, operation.programs[k], meter->variables + num_variables);
    }
    sort_variables(meter, num_variables);
    for (size_t step = 0; step < p->num_steps; step++) {
        uint32_t operation = meter->chain->operation_of_step[step];
        /* without any operation the one stage there is has all the steps */
        meter->step_marked[step] =
            operation == PL_NONE || meter->operation_seen[operation] == meter->stage_number;
    }
    size_t end = 0;
    for (size_t tile = 0; status == POPLINER_OK && tile < memory->num_tiles; tile++) {
        size_t first = end;
        while (end < num_variables && meter->variables[end] < p->tile_variables_start[tile + 1])
            end++;
        status = measure_tile(meter, tile, first, end, memory, error);
        memory->unexplained_bytes[tile] = meter->full.fixed_bytes[tile];
    }
    uint64_t *const groups[PL_NUM_CODE_GROUPS] = {
        [PL_VERTEX_CODE] = memory->vertex_code_bytes,
        [PL_VERTEX_STATE] = memory->vertex_state_bytes,
        [PL_EXCHANGE_CODE] = memory->exchange_code_bytes,
        [PL_CONTROL_CODE] = memory->control_code_bytes,
    };
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        for (size_t tile = 0; tile < memory->num_tiles; tile++)
            groups[group][tile] =
                pl_full_model_limit(&meter->full, group, tile, groups[group][tile]);
    }
    return status;
}

popliner_status popliner_stage_measure(popliner_stage_meter *meter, const size_t *operations,
                                       size_t num_operations, popliner_stage_memory *memory,
                                       popliner_error *error) {
    size_t num_tiles = meter->profile->target.num_tiles;
    popliner_status status = make_arrays(memory, num_tiles, error);
    if (status != POPLINER_OK)
        return status;
    uint64_t *const groups[PL_NUM_CODE_GROUPS] = {
        [PL_VERTEX_CODE] = memory->vertex_code_bytes,
        [PL_VERTEX_STATE] = memory->vertex_state_bytes,
        [PL_EXCHANGE_CODE] = memory->exchange_code_bytes,
        [PL_CONTROL_CODE] = memory->control_code_bytes,
    };
    meter->stage_number++;
    pl_code_counter_reset(&meter->code);
    for (size_t i = 0; i < num_operations; i++) {
        popliner_operation operation = popliner_operations_get(meter->operations, operations[i]);
        for (size_t k = 0; k < operation.num_programs; k++)
            pl_code_counter_add(&meter->code, operation.programs[k], groups);
    }
    pl_code_counter_finish(&meter->code, groups);
    if (meter->chain->model == POPLINER_MEMORY_MODEL_FULL)
        status = measure_fully(meter, operations, num_operations, memory, error);
    else
        status = measure_as_popliner(meter, operations, num_operations, memory, error);
    for (size_t tile = 0; tile < num_tiles; tile++)
        memory->total_bytes[tile] =
            memory->variables_bytes[tile] + memory->vertex_code_bytes[tile] +
            memory->vertex_state_bytes[tile] + memory->exchange_code_bytes[tile] +
            memory->control_code_bytes[tile] + memory->unexplained_bytes[tile];
    return status;
}

popliner_status popliner_stage_measure_units(popliner_stage_meter *meter, size_t first_unit,
                                             size_t last_unit, popliner_stage_memory *memory,
                                             popliner_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < popliner_operations_count(meter->operations); i++) {
        size_t unit = popliner_chain_unit_of(meter->chain, i);
        if (unit >= first_unit && unit <= last_unit)
            meter->operation_buffer[count++] = i;
    }
    return popliner_stage_measure(meter, meter->operation_buffer, count, memory, error);
}

popliner_status popliner_stage_measure_shared(popliner_stage_meter *meter,
                                              const popliner_interval *stages, size_t num_stages,
                                              popliner_stage_memory *memory,
                                              popliner_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < popliner_operations_count(meter->operations); i++) {
        size_t unit = popliner_chain_unit_of(meter->chain, i);
        bool is_of_stage = false;
        for (size_t k = 0; k < num_stages && !is_of_stage; k++)
            is_of_stage = unit >= stages[k].first_unit && unit <= stages[k].last_unit;
        if (is_of_stage)
            meter->operation_buffer[count++] = i;
    }
    meter->is_shared = num_stages > 1;
    popliner_status status =
        popliner_stage_measure(meter, meter->operation_buffer, count, memory, error);
    meter->is_shared = false;
    return status;
}

/* Marks with `mark` the variables that an operation touches. */
static void mark_touched(popliner_stage_meter *meter, popliner_operation operation, uint8_t mark) {
    const popliner_profile *p = meter->profile;
    bool is_full = meter->chain->model == POPLINER_MEMORY_MODEL_FULL;
    for (size_t k = 0; k < operation.num_programs; k++) {
        uint32_t program = operation.programs[k];
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            if (!is_full || pl_full_model_counts(&meter->full, p, program, variable))
                meter->touched_by[variable] |= mark;
        }
    }
}

popliner_status popliner_stage_measure_stash(popliner_stage_meter *meter,
                                             popliner_recompute recompute, size_t first_unit,
                                             size_t last_unit, uint64_t *by_tile_bytes,
                                             popliner_error *error) {
    enum { FORWARD = 1, BACKWARD = 2, BEFORE = 4 };
    const popliner_profile *p = meter->profile;
    const pl_passes *passes = &meter->passes;
    memset(by_tile_bytes, 0, p->target.num_tiles * sizeof *by_tile_bytes);
    if (meter->touched_by == NULL) {
        popliner_status status =
            pl_passes_find(&meter->passes, p, meter->operations, meter->chain, error);
        if (status == POPLINER_OK &&
            (meter->touched_by = pl_new_array(p->num_variables, 1)) == NULL)
            status = pl_fail_memory(error, "what a pipeline keeps");
        if (status != POPLINER_OK) {
            pl_passes_free(&meter->passes);
            return status;
        }
    }
    if (!passes->is_training)
        return POPLINER_OK;
    memset(meter->touched_by, 0, p->num_variables);
    for (size_t i = 0; i < popliner_operations_count(meter->operations); i++) {
        size_t unit = popliner_chain_unit_of(meter->chain, i);
        uint8_t mark = 0;
        if (unit < first_unit) {
            mark = pl_is_forward(passes, unit, i) ? BEFORE : 0;
        } else if (unit <= last_unit && meter->chain->kind[unit] != POPLINER_UNIT_UNLAYERED) {
            mark |= pl_is_forward(passes, unit, i) ? FORWARD : 0;
            mark |= pl_is_backward(passes, unit, i) ? BACKWARD : 0;
        }
        if (mark != 0)
            mark_touched(meter, popliner_operations_get(meter->operations, i), mark);
    }
    bool keeps_inputs = recompute == POPLINER_RECOMPUTE_FULL;
    uint8_t wanted = keeps_inputs ? BEFORE | FORWARD : FORWARD | BACKWARD;
    size_t step = keeps_inputs ? passes->forward_step[first_unit] : passes->turn_step;
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        tile = pl_profile_tile_from(p, i, tile);
        if ((meter->touched_by[i] & wanted) == wanted &&
            !p->class_always_live[p->variable_class[i]] &&
            pl_class_crosses(p, p->variable_class[i], step))
            by_tile_bytes[tile] += p->variable_size_bytes[i];
    }
    return POPLINER_OK;
}

popliner_status popliner_stage_measure_kept(popliner_stage_meter *meter,
                                            const popliner_pipeline *pipeline,
                                            const popliner_interval *stages, size_t num_stages,
                                            uint64_t *kept_bytes, popliner_error *error) {
    size_t num_tiles = meter->profile->target.num_tiles;
    memset(kept_bytes, 0, num_tiles * sizeof *kept_bytes);
    if (pipeline == NULL)
        return POPLINER_OK;
    popliner_status status = POPLINER_OK;
    uint64_t *copy_bytes = pl_new_array(num_tiles, sizeof *copy_bytes);
    if (copy_bytes == NULL)
        return pl_fail_memory(error, "what a pipeline keeps");
    for (size_t i = 0; status == POPLINER_OK && i < num_stages; i++) {
        size_t copies = popliner_pipeline_copies(pipeline, stages[i].stages_to_end);
        if (copies == 0)
            continue;
        status = popliner_stage_measure_stash(meter, pipeline->recompute, stages[i].first_unit,
                                              stages[i].last_unit, copy_bytes, error);
        for (size_t tile = 0; status == POPLINER_OK && tile < num_tiles; tile++)
            kept_bytes[tile] += copies * copy_bytes[tile];
    }
    free(copy_bytes);
    return status;
}

uint64_t popliner_stage_parameter_bytes(const popliner_stage_meter *meter) {
    const popliner_profile *p = meter->profile;
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->num_variables; i++) {
        if (meter->variable_seen[i] == meter->stage_number &&
            p->class_always_live[p->variable_class[i]] &&
            p->category[p->variable_category[i]] == PL_CATEGORY_VARIABLE)
            bytes += p->variable_size_bytes[i];
    }
    return bytes;
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

/* Whether the variable counts as data in the stage that was measured last. */
static bool is_of_stage(const popliner_stage_meter *meter, size_t variable) {
    bool seen = meter->variable_seen[variable] == meter->stage_number;
    return meter->chain->model == POPLINER_MEMORY_MODEL_FULL
               ? pl_full_model_has_data(&meter->full, meter->profile, variable, seen)
               : seen;
}

size_t popliner_stage_largest_variables(const popliner_stage_meter *meter, size_t tile, size_t step,
                                        popliner_stage_variable *largest, size_t most) {
    size_t first;
    size_t end;
    size_t count = 0;
    popliner_liveness_tile_variables(meter->profile, tile, &first, &end);
    for (size_t i = first; i < end; i++) {
        uint64_t size_bytes = meter->profile->variable_size_bytes[i];
        bool is_larger = count < most || (most > 0 && size_bytes > largest[most - 1].size_bytes);
        if (!is_larger || size_bytes == 0 || !is_of_stage(meter, i) ||
            !popliner_liveness_is_live(meter->profile, i, step))
            continue;
        size_t place = count < most ? count++ : most - 1;
        for (; place > 0 && largest[place - 1].size_bytes < size_bytes; place--)
            largest[place] = largest[place - 1];
        popliner_variable v = POPLINER_VARIABLE_INIT;
        popliner_liveness_variable(meter->profile, i, &v, NULL);
        largest[place] = (popliner_stage_variable){i, size_bytes, v.name, v.category};
    }
    return count;
}
