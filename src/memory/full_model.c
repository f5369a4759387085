/* The full memory model: everything that the compiler counts. popliner/stage.h tells its rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/memory_model.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/placing.h"
#include "memory/stage_data.h"
#include "model/operations_data.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"

/* The model's own part of a meter: which steps are the stage's. */
typedef struct own_steps {
    uint32_t *operation_seen; /* [operations]: the number of the last stage that had it */
    uint8_t *is_own;          /* [num_steps] */
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
    for (size_t step = 0; step < meter->profile->num_steps; step++) {
        uint32_t operation = meter->chain->operation_of_step[step];
        /* without any operation the one stage there is has all the steps */
        steps->is_own[step] =
            operation == PL_NONE || steps->operation_seen[operation] == meter->stage_number;
    }
}

/* The peak on one tile of the stage's variables meter->variables[first ... end - 1] and those that
 * no operation touches, over the stage's own steps. */
static popliner_status measure_tile(pl_stage_meter *meter, size_t tile, size_t first, size_t end,
                                    pl_stage_memory *memory, popliner_error *error) {
    const popliner_profile *p = meter->profile;
    const own_steps *steps = meter->work;
    const uint32_t *unexplained;
    size_t num_unexplained = pl_account_unexplained(&meter->account, tile, &unexplained);
    uint64_t always_live_bytes = 0;
    size_t peak_step;
    if (!pl_curve_begin(&meter->curve, 0, p->num_steps))
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
    uint64_t peak_bytes = pl_curve_peak_of_marked(&meter->curve, steps->is_own, &peak_step);
    uint64_t unexplained_bytes = 0;
    for (size_t i = 0; i < num_unexplained && peak_bytes > 0; i++)
        if (popliner_liveness_is_live(p, unexplained[i], peak_step))
            unexplained_bytes += p->variable_size_bytes[unexplained[i]];
    memory->variables_bytes[tile] = always_live_bytes + peak_bytes - unexplained_bytes;
    memory->unexplained_bytes[tile] = unexplained_bytes;
    memory->peak_step[tile] = peak_step;
    return POPLINER_OK;
}

static popliner_status measure_data(pl_stage_meter *meter, const size_t *operations,
                                    size_t num_operations, pl_stage_memory *memory,
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
