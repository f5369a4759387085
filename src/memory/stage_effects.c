/* What compiling adds to a stage, measured for stages by themselves.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

popliner_status pl_stage_meter_pass_usage(pl_stage_meter *meter, const pl_pass_usage **usage,
                                          popliner_error *error) {
    *usage = &meter->pass_usage;
    if (meter->has_pass_usage)
        return POPLINER_OK;
    popliner_status status =
        pl_pass_usage_find(&meter->pass_usage, meter->profile, meter->operations, meter->chain,
                           &meter->account, error);
    meter->has_pass_usage = status == POPLINER_OK;
    if (!meter->has_pass_usage)
        pl_pass_usage_free(&meter->pass_usage);
    return status;
}

bool pl_stage_is_passed(const pl_stage_meter *meter, size_t variable, bool is_before_turn) {
    const popliner_profile *p = meter->profile;
    uint32_t class_index = p->variable_class[variable];
    if ((meter->effects & POPLINER_EFFECT_PASSING) == 0 || p->class_always_live[class_index])
        return false;
    uint8_t passed = meter->passed[pl_unit_usage_of(&meter->pass_usage.usage, variable)];
    if (is_before_turn)
        return (passed & PL_PASSED_FORWARD) != 0;
    return (passed & PL_PASSED_BACKWARD) != 0 &&
           !pl_class_crosses(p, class_index, meter->pass_usage.passes.turn_step);
}

/* Finds which sets pass through the stages. */
static popliner_status find_passed(pl_stage_meter *meter, popliner_error *error) {
    const pl_pass_usage *usage = &meter->pass_usage;
    size_t num_sets = usage->usage.sets.count;
    if (meter->passed == NULL && (meter->passed = pl_new_array(num_sets, 1)) == NULL)
        return pl_fail_memory(error, "the memory of a stage");
    memset(meter->passed, 0, num_sets);
    for (size_t set = 1; set < num_sets; set++)
        for (size_t i = 0; i < meter->num_stages; i++) {
            const popliner_interval *stage = &meter->stages[i];
            const pl_pass_bounds *b = &usage->bounds[set];
            if (pl_passes_forward(b, stage->first_unit, stage->last_unit))
                meter->passed[set] |= PL_PASSED_FORWARD;
            if (pl_passes_backward(b, false, stage->first_unit, stage->last_unit))
                meter->passed[set] |= PL_PASSED_BACKWARD;
        }
    return POPLINER_OK;
}

/* What crosses the cuts behind the stages, by tile. */
static popliner_status measure_handed(const pl_stage_meter *meter, uint64_t *handed_on,
                                      uint64_t *handed_in, popliner_error *error) {
    size_t num_units = meter->chain->num_units;
    uint64_t *forward_bytes = pl_new_array(num_units, sizeof *forward_bytes);
    uint64_t *backward_bytes = pl_new_array(num_units, sizeof *backward_bytes);
    bool memory = forward_bytes != NULL && backward_bytes != NULL;
    for (size_t tile = 0; memory && tile < meter->profile->target.num_tiles; tile++) {
        memset(forward_bytes, 0, num_units * sizeof *forward_bytes);
        memset(backward_bytes, 0, num_units * sizeof *backward_bytes);
        pl_passes_add_tile_cuts(&meter->pass_usage, meter->profile, tile, forward_bytes,
                                backward_bytes);
        for (size_t i = 0; i < meter->num_stages; i++) {
            size_t behind = meter->stages[i].last_unit + 1;
            handed_on[tile] += behind < num_units ? forward_bytes[behind] : 0;
            handed_in[tile] += behind < num_units ? backward_bytes[behind] : 0;
        }
    }
    free(forward_bytes);
    free(backward_bytes);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the buffers of a stage");
}

/* Adds accumulators for the parameters of the stages. */
static void add_accumulators(const pl_stage_meter *meter, uint64_t factor,
                             popliner_stage_memory *memory) {
    const popliner_profile *p = meter->profile;
    const pl_unit_sets *sets = &meter->pass_usage.usage.sets;
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        bool is_own = false;
        tile = pl_profile_tile_from(p, i, tile);
        for (uint32_t set = pl_parameter_units(&meter->pass_usage, p, &meter->account, i);
             set != 0 && !is_own; set = sets->rest[set])
            for (size_t k = 0; k < meter->num_stages; k++)
                is_own = is_own || (sets->last_unit[set] >= meter->stages[k].first_unit &&
                                    sets->last_unit[set] <= meter->stages[k].last_unit);
        if (is_own)
            pl_part_add(memory, POPLINER_PART_ACCUMULATORS, tile,
                        factor * p->variable_size_bytes[i]);
    }
}

popliner_status pl_stage_measure_shared(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        popliner_stage_memory *memory, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    uint64_t *handed_on = NULL;
    uint64_t *handed_in = NULL;
    uint64_t factor = 0;
    const pl_pass_usage *pass_usage;
    meter->effects = 0;
    meter->handed_on = meter->handed_in = NULL;
    if (pipeline == NULL || !meter->chain->model->follows_account)
        return pl_stage_measure_intervals(meter, stages, num_stages, memory, error);
    status = pl_stage_meter_pass_usage(meter, &pass_usage, error);
    bool is_training = meter->pass_usage.passes.is_training;
    if (status == POPLINER_OK && pl_wants_accumulators(pipeline, is_training)) {
        if (!meter->knows_accumulators)
            meter->has_accumulators = pl_has_accumulators(meter->profile);
        meter->knows_accumulators = true;
        factor = pl_accumulator_factor(pipeline, meter->has_accumulators);
    }
    if (status != POPLINER_OK)
        return status;
    meter->effects = pipeline->effects;
    meter->stages = stages;
    meter->num_stages = num_stages;
    if ((meter->effects & POPLINER_EFFECT_PASSING) != 0)
        status = find_passed(meter, error);
    if (status == POPLINER_OK && is_training &&
        pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES) {
        size_t num_tiles = meter->profile->target.num_tiles;
        handed_on = pl_new_array(num_tiles, sizeof *handed_on);
        handed_in = pl_new_array(num_tiles, sizeof *handed_in);
        status = handed_on == NULL || handed_in == NULL
                     ? pl_fail_memory(error, "the buffers of a stage")
                     : measure_handed(meter, handed_on, handed_in, error);
        meter->handed_on = handed_on;
        meter->handed_in = handed_in;
    }
    if (status == POPLINER_OK)
        status = pl_stage_measure_intervals(meter, stages, num_stages, memory, error);
    if (status == POPLINER_OK && factor > 0)
        add_accumulators(meter, factor, memory);
    free(handed_on);
    free(handed_in);
    meter->handed_on = meter->handed_in = NULL;
    return status;
}
