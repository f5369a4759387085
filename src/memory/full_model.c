/* The full memory model: everything that the compiler counts. popliner/stage.h tells its rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/memory_model.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/placing.h"
#include "memory/stage_data.h"
#include "model/operations.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"

/* The model's own part of a meter: which steps are the stage's. */
typedef struct own_steps {
    uint32_t *operation_seen; /* [operations]: the number of the last stage that had it */
    uint8_t *is_own;          /* [num_steps] */
    size_t first;             /* of these; both 0 if there are none */
    size_t end;
} own_steps;

static popliner_status begin_work(pl_stage_meter *meter, popliner_error *error) {
    own_steps *steps = calloc(1, sizeof *steps);
    meter->work = steps;
    if (steps == NULL)
        return pl_fail_memory(error, "the stages");
    steps->operation_seen =
        pl_new_array(popliner_operations_count(meter->operations), sizeof *steps->operation_seen);
    steps->is_own = pl_new_array(meter->profile->num_steps, 1);
    if (steps->operation_seen == NULL || steps->is_own == NULL)
        return pl_fail_memory(error, "the stages");
    return POPLINER_OK;
}

static void free_work(pl_stage_meter *meter) {
    own_steps *steps = meter->work;
    if (steps == NULL)
        return;
    free(steps->operation_seen);
    free(steps->is_own);
    free(steps);
}

static void find_own_steps(pl_stage_meter *meter, const size_t *operations, size_t num_operations) {
    own_steps *steps = meter->work;
    for (size_t i = 0; i < num_operations; i++)
        steps->operation_seen[operations[i]] = meter->stage_number;
    steps->first = steps->end = 0;
    for (size_t step = 0; step < meter->profile->num_steps; step++) {
        uint32_t operation = meter->chain->operation_of_step[step];
        /* without any operation the one stage there is has all the steps */
        steps->is_own[step] =
            operation == PL_NONE || steps->operation_seen[operation] == meter->stage_number;
        if (steps->is_own[step] != 0) {
            steps->first = steps->end == 0 ? step : steps->first;
            steps->end = step + 1;
        }
    }
}

/* The most live bytes at steps of one pass, and the first step with them. */
typedef struct pass_peak {
    bool has_steps;
    uint64_t bytes;
    size_t step;
    uint64_t buffer_bytes; /* that are there at all of its steps */
} pass_peak;

/* The larger one, with the buffers or without them; the first of equals. */
static const pass_peak *larger_of(const pass_peak *first, const pass_peak *second,
                                  bool with_buffers) {
    uint64_t first_bytes = first->bytes + (with_buffers ? first->buffer_bytes : 0);
    uint64_t second_bytes = second->bytes + (with_buffers ? second->buffer_bytes : 0);
    return second->has_steps && (!first->has_steps || second_bytes > first_bytes) ? second : first;
}

/* Adds what passes through the stage on a tile, at the steps of the pass in which it does. */
static void add_passing(pl_stage_meter *meter, size_t tile) {
    const popliner_profile *p = meter->profile;
    size_t turn_step = meter->pass_usage.passes.turn_step < p->num_steps
                           ? meter->pass_usage.passes.turn_step
                           : p->num_steps;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (meter->passed[pl_unit_usage_of(&meter->pass_usage.usage, i)] == 0 ||
            meter->variable_seen[i] == meter->variable_mark)
            continue;
        for (int is_before = 0; is_before < 2; is_before++) {
            if (!pl_stage_is_passed(meter, (size_t)i, is_before != 0))
                continue;
            uint32_t class_index = p->variable_class[i];
            for (uint32_t k = p->class_ranges_start[class_index];
                 k < p->class_ranges_start[class_index + 1]; k++) {
                size_t first = p->range_first_step[k];
                size_t end = p->range_end_step[k];
                if (is_before != 0)
                    end = end < turn_step ? end : turn_step;
                else
                    first = first > turn_step ? first : turn_step;
                first = first > meter->curve.first_step ? first : meter->curve.first_step;
                end = end < meter->curve.end_step ? end : meter->curve.end_step;
                if (first < end)
                    pl_curve_add_steps(&meter->curve, first, end, p->variable_size_bytes[i]);
            }
        }
    }
}

/* What no operation touches at the step of a peak. */
static uint64_t unexplained_at(const pl_stage_meter *meter, size_t tile, const pass_peak *peak) {
    const popliner_profile *p = meter->profile;
    const uint32_t *unexplained;
    size_t count = pl_account_unexplained(&meter->account, tile, &unexplained);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count && peak->bytes > 0; i++)
        if (popliner_liveness_is_live(p, unexplained[i], peak->step))
            bytes += p->variable_size_bytes[unexplained[i]];
    return bytes;
}

/* The peak on one tile of the stage's variables meter->variables[first ... end - 1] and those that
 * no operation touches, over the stage's own steps. */
static popliner_status measure_tile(pl_stage_meter *meter, size_t tile, size_t first, size_t end,
                                    popliner_stage_memory *memory, popliner_error *error) {
    const popliner_profile *p = meter->profile;
    const own_steps *steps = meter->work;
    const uint32_t *unexplained;
    size_t num_unexplained = pl_account_unexplained(&meter->account, tile, &unexplained);
    uint64_t always_live_bytes = 0;
    if (!pl_curve_begin(&meter->curve, steps->first, steps->end))
        return pl_fail_memory(error, "the memory of a stage");
    for (size_t i = first; i < end; i++) {
        uint32_t variable = meter->variables[i];
        if (!p->class_always_live[p->variable_class[variable]])
            pl_curve_add(&meter->curve, p, p->variable_class[variable],
                         p->variable_size_bytes[variable]);
        else if (!pl_account_is_code(&meter->account, variable))
            always_live_bytes += p->variable_size_bytes[variable];
    }
    for (size_t i = 0; i < num_unexplained; i++) {
        uint32_t variable = unexplained[i];
        pl_curve_add(&meter->curve, p, p->variable_class[variable],
                     p->variable_size_bytes[variable]);
    }
    if ((meter->effects & POPLINER_EFFECT_PASSING) != 0)
        add_passing(meter, tile);
    bool is_handed = meter->handed_on != NULL;
    size_t turn_step = is_handed ? meter->pass_usage.passes.turn_step : p->num_steps;
    pass_peak forward = {.buffer_bytes = is_handed ? meter->handed_in[tile] : 0};
    pass_peak backward = {.buffer_bytes = is_handed ? meter->handed_on[tile] : 0};
    forward.has_steps = pl_curve_peak_of_marked(&meter->curve, steps->is_own, 0,
                                                turn_step < steps->end ? turn_step : steps->end,
                                                &forward.bytes, &forward.step);
    if (turn_step < steps->end)
        backward.has_steps = pl_curve_peak_of_marked(&meter->curve, steps->is_own, turn_step,
                                                     steps->end, &backward.bytes, &backward.step);
    bool has_buffers = (meter->effects & POPLINER_EFFECT_BUFFERS) != 0;
    const pass_peak *plain = larger_of(&forward, &backward, false);
    const pass_peak *buffered = larger_of(&forward, &backward, true);
    const pass_peak *expected = has_buffers ? buffered : plain;
    uint64_t unexplained_bytes = unexplained_at(meter, tile, expected);
    memory->part_bytes[POPLINER_PART_VARIABLES][tile] =
        always_live_bytes + expected->bytes - unexplained_bytes;
    memory->part_bytes[POPLINER_PART_UNEXPLAINED][tile] = unexplained_bytes;
    memory->part_bytes[POPLINER_PART_BUFFERS][tile] =
        has_buffers && expected->has_steps ? expected->buffer_bytes : 0;
    memory->peak_step[tile] = expected->has_steps ? expected->step : 0;
    memory->need_bytes[POPLINER_NEED_LEAST][tile] =
        always_live_bytes + plain->bytes - unexplained_at(meter, tile, plain);
    memory->need_bytes[POPLINER_NEED_MOST][tile] =
        always_live_bytes + buffered->bytes + (buffered->has_steps ? buffered->buffer_bytes : 0);
    return POPLINER_OK;
}

static popliner_status measure_data(pl_stage_meter *meter, const size_t *operations,
                                    size_t num_operations, popliner_stage_memory *memory,
                                    popliner_error *error) {
    const popliner_profile *p = meter->profile;
    popliner_status status = POPLINER_OK;
    find_own_steps(meter, operations, num_operations);
    for (size_t i = 0; i < num_operations; i++)
        pl_stage_add_variables(meter, pl_operation_at(meter->operations, operations[i]));
    pl_stage_sort_variables(meter);
    size_t end = 0;
    for (size_t tile = 0; status == POPLINER_OK && tile < memory->num_tiles; tile++) {
        size_t first = end;
        while (end < meter->num_variables &&
               meter->variables[end] < p->tile_variables_start[tile + 1])
            end++;
        status = measure_tile(meter, tile, first, end, memory, error);
    }
    return status;
}

const pl_memory_model pl_full_model = {
    .id = POPLINER_MEMORY_MODEL_FULL,
    .name = "full",
    .place_operations = pl_place_by_touches,
    .takes_told_state = true,
    .follows_account = true,
    .adds_always_live = true,
    .has_own_steps = true,
    .begin_work = begin_work,
    .free_work = free_work,
    .measure_data = measure_data,
};
