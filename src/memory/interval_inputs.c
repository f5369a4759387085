/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/interval_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/stage_data.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "profile/tile_runs.h"

void pl_interval_inputs_free(pl_interval_inputs *inputs) {
    pl_account_free(&inputs->own_account);
    pl_pass_usage_free(&inputs->own_pass_usage);
    pl_passing_free(&inputs->passing);
    free(inputs->was_kept);
    pl_stash_free(&inputs->stash);
    pl_vertex_kinds_free(&inputs->kinds);
    pl_unit_sets_free(&inputs->kind_sets);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        free(inputs->set_bytes[group]);
    free(inputs->kind_set);
    free(inputs->kind_code_bytes);
    free(inputs->unit_runs_start);
    free(inputs->unit_run);
    free(inputs->run_of_step);
    free(inputs->is_break);
    free(inputs->set_bits);
    *inputs = (pl_interval_inputs){0};
}

/* Sums control code, exchange code and vertex state of the programs by their set of units. */
static popliner_status sum_programs(pl_interval_inputs *inputs, popliner_error *error) {
    const popliner_profile *p = inputs->profile;
    const pl_memory_model *model = inputs->model;
    const pl_unit_usage *usage = &inputs->pass_usage->usage;
    size_t num_tiles = p->target.num_tiles;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        inputs->set_bytes[group] = pl_new_array(usage->sets.count * num_tiles, sizeof(uint64_t));
        if (inputs->set_bytes[group] == NULL)
            return pl_fail_memory(error, "the memory of the layers");
    }
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = usage->program_set[program];
        uint32_t compute_set = p->program_compute_set[program];
        if (set == 0)
            continue;
        if (pl_profile_num_children(p, program) == 0)
            pl_series_add(p, p->program_control_code[program], 1,
                          inputs->set_bytes[PL_CONTROL_CODE] + set * num_tiles);
        pl_series_add(p, p->program_exchange_code[program], 1,
                      inputs->set_bytes[PL_EXCHANGE_CODE] + set * num_tiles);
        if (model->repeats_state && compute_set != PL_NONE)
            pl_add_vertex_state(model, p, compute_set,
                                inputs->set_bytes[PL_VERTEX_STATE] + set * num_tiles);
    }
    for (uint32_t compute_set = 0; !model->repeats_state && compute_set < p->num_compute_sets;
         compute_set++) {
        uint32_t set = usage->compute_set_set[compute_set];
        if (set != 0)
            pl_add_vertex_state(model, p, compute_set,
                                inputs->set_bytes[PL_VERTEX_STATE] + set * num_tiles);
    }
    return POPLINER_OK;
}

/* Adds the current unit to the kinds that a compute set has instances of, on their tiles. */
static bool add_compute_set(pl_interval_inputs *inputs, uint32_t compute_set) {
    const popliner_profile *p = inputs->profile;
    size_t num_tiles = p->target.num_tiles;
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        uint32_t kind = inputs->kinds.kind_of_type[p->compute_set_vertex_type[i]];
        uint32_t *sets = inputs->kind_set + kind * num_tiles;
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t tile;
        size_t end;
        while (pl_tile_runs_next(&walk, &tile, &end)) {
            for (; tile < end; tile++) {
                if (!pl_unit_sets_add(&inputs->kind_sets, &sets[tile]))
                    return false;
            }
        }
    }
    return true;
}

static popliner_status find_vertex_code(pl_interval_inputs *inputs, popliner_error *error) {
    const popliner_profile *p = inputs->profile;
    size_t num_tiles = p->target.num_tiles;
    inputs->kind_set = pl_new_array(p->num_vertex_types * num_tiles, sizeof *inputs->kind_set);
    inputs->kind_code_bytes =
        pl_new_array(p->num_vertex_types * num_tiles, sizeof *inputs->kind_code_bytes);
    popliner_status status = pl_vertex_kinds_find(&inputs->kinds, inputs->model, p, error);
    if (status != POPLINER_OK)
        return status;
    if (inputs->kind_set == NULL || inputs->kind_code_bytes == NULL ||
        !pl_unit_sets_begin(&inputs->kind_sets))
        return pl_fail_memory(error, "the vertex code of the layers");
    for (size_t type = 0; type < p->num_vertex_types; type++)
        pl_series_add(p, p->vertex_type_code[inputs->kinds.code_of_type[type]], 1,
                      inputs->kind_code_bytes + type * num_tiles);
    const popliner_chain *chain = inputs->chain;
    for (size_t unit = 0; unit < chain->num_units; unit++) {
        pl_unit_sets_begin_unit(&inputs->kind_sets, (uint32_t)unit);
        for (size_t i = chain->unit_operations_start[unit];
             i < chain->unit_operations_start[unit + 1]; i++) {
            const popliner_operation *operation =
                pl_operation_at(inputs->operations, chain->unit_operation[i]);
            for (size_t k = 0; k < operation->num_programs; k++) {
                uint32_t compute_set = p->program_compute_set[operation->programs[k]];
                if (compute_set != PL_NONE && !add_compute_set(inputs, compute_set))
                    return pl_fail_memory(error, "the vertex code of the layers");
            }
        }
    }
    return POPLINER_OK;
}

/* What operations explain, and who touches what in which pass: found already, or now. */
static popliner_status find_account(pl_interval_inputs *inputs, popliner_error *error) {
    pl_stage_meter *meter = inputs->options->meter;
    if (meter != NULL) {
        inputs->account = &meter->account;
        return pl_stage_meter_pass_usage(meter, &inputs->pass_usage, error);
    }
    inputs->account = &inputs->own_account;
    inputs->pass_usage = &inputs->own_pass_usage;
    popliner_status status = pl_account_create(&inputs->own_account, inputs->model, inputs->profile,
                                               inputs->operations, inputs->chain->usage, error);
    if (status == POPLINER_OK)
        status = pl_pass_usage_find(&inputs->own_pass_usage, inputs->profile, inputs->operations,
                                    inputs->chain, inputs->account, error);
    return status;
}

/* What a pipeline of so many stages keeps. */
static popliner_status find_stash(pl_interval_inputs *inputs, size_t max_stages,
                                  popliner_error *error) {
    const popliner_pipeline *pipeline = &inputs->options->pipeline;
    size_t num_units = inputs->chain->num_units;
    const pl_passes *passes = &inputs->pass_usage->passes;
    max_stages = max_stages < num_units ? max_stages : num_units;
    inputs->keeps =
        passes->is_training && pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, max_stages) > 0;
    inputs->max_stages = inputs->keeps ? max_stages : 1;
    if (!inputs->keeps)
        return POPLINER_OK;
    return pl_stash_create(&inputs->stash, inputs->profile, inputs->chain, passes,
                           &inputs->pass_usage->usage, pipeline->recompute, error);
}

/* Which needs are wanted, and what of the effects they ask for. */
static popliner_status find_effects(pl_interval_inputs *inputs, bool with_all_needs,
                                    popliner_error *error) {
    const popliner_profile *p = inputs->profile;
    const pl_passes *passes = &inputs->pass_usage->passes;
    const popliner_pipeline *pipeline = &inputs->options->pipeline;
    unsigned effects = inputs->model->follows_account ? pipeline->effects : 0;
    inputs->rule = (pl_need_rule){
        .has_needs = inputs->model->follows_account,
        .has_layout = (effects & POPLINER_EFFECT_LAYOUT) != 0,
        .worst = pl_layout_worst(p),
        .scales = pipeline->calibration.earlier,
    };
    inputs->last_rule = inputs->rule;
    inputs->last_rule.scales = pipeline->calibration.last;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        inputs->wants_need[need] = with_all_needs || need == (int)inputs->options->need;
    popliner_status status = pl_passing_find(&inputs->passing, inputs->pass_usage,
                                             (effects & POPLINER_EFFECT_PASSING) != 0, error);
    if (status != POPLINER_OK || !inputs->model->follows_account || !passes->is_training)
        return status;
    inputs->was_kept = pl_new_array(p->num_classes, 1);
    if (inputs->was_kept == NULL)
        return pl_fail_memory(error, "the passes of the training");
    for (uint32_t i = 0; i < p->num_classes; i++)
        inputs->was_kept[i] = pl_class_crosses(p, i, passes->turn_step) ? 1 : 0;
    inputs->frees_originals = inputs->keeps && pl_pipeline_frees_originals(pipeline);
    inputs->has_buffers =
        ((effects & POPLINER_EFFECT_BUFFERS) != 0 || inputs->wants_need[POPLINER_NEED_MOST]) &&
        pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES;
    if (with_all_needs || pl_wants_accumulators(pipeline, true))
        inputs->has_accumulators = pl_has_accumulators(p);
    if (pl_wants_accumulators(pipeline, true))
        inputs->accumulator_factor = pl_accumulator_factor(pipeline, inputs->has_accumulators);
    return status;
}

/* The unit that a step belongs to. */
static uint32_t unit_of_step(const popliner_chain *chain, size_t step) {
    uint32_t operation = chain->operation_of_step[step];
    return operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
}

/* Lists the steps of each unit. */
static popliner_status find_unit_steps(pl_interval_inputs *inputs, popliner_error *error) {
    size_t num_steps = inputs->profile->num_steps;
    size_t num_units = inputs->chain->num_units;
    inputs->unit_runs_start = pl_new_array(num_units + 2, sizeof *inputs->unit_runs_start);
    inputs->unit_run = pl_new_array(num_steps, sizeof *inputs->unit_run);
    inputs->run_of_step = pl_new_array(num_steps, sizeof *inputs->run_of_step);
    if (inputs->unit_runs_start == NULL || inputs->unit_run == NULL || inputs->run_of_step == NULL)
        return pl_fail_memory(error, "the intervals");
    /* counted two places up and filled one place up, so that the starts are right in the end */
    for (int is_filling = 0; is_filling < 2; is_filling++) {
        for (size_t step = 0; step < num_steps;) {
            uint32_t unit = unit_of_step(inputs->chain, step);
            pl_step_run run = {(uint32_t)step, (uint32_t)step + 1, unit};
            while (run.end_step < num_steps && unit_of_step(inputs->chain, run.end_step) == unit)
                run.end_step++;
            if (is_filling != 0)
                inputs->unit_run[inputs->unit_runs_start[unit + 1]] = run;
            for (; is_filling != 0 && step < run.end_step; step++)
                inputs->run_of_step[step] = (uint32_t)inputs->unit_runs_start[unit + 1];
            inputs->unit_runs_start[unit + (is_filling != 0 ? 1 : 2)]++;
            step = run.end_step;
        }
        for (size_t unit = 0; is_filling == 0 && unit <= num_units; unit++)
            inputs->unit_runs_start[unit + 1] += inputs->unit_runs_start[unit];
    }
    return POPLINER_OK;
}

/* Before and from the turn on other units may count a variable, and other buffers are there. */
static void break_at_turn(pl_interval_inputs *inputs) {
    if (inputs->pass_usage->passes.turn_step <= inputs->profile->num_steps)
        inputs->is_break[inputs->pass_usage->passes.turn_step] = 1;
}

/* The steps that count in a stage are those of its units, or all from its first to its last
 * operation: see peak_of_stage in tile_meter.c. */
static popliner_status find_breaks(pl_interval_inputs *inputs, popliner_error *error) {
    const popliner_chain *chain = inputs->chain;
    inputs->is_break = pl_new_array(inputs->profile->num_steps + 1, 1);
    if (inputs->is_break == NULL)
        return pl_fail_memory(error, "the intervals");
    for (size_t i = 0;
         inputs->model->has_own_steps && i < inputs->unit_runs_start[chain->num_units]; i++)
        inputs->is_break[inputs->unit_run[i].first_step] = 1;
    for (size_t unit = 0; !inputs->model->has_own_steps && unit < chain->num_units; unit++) {
        if (!pl_chain_has_operations(chain, unit))
            continue;
        const size_t *first = chain->unit_operation + chain->unit_operations_start[unit];
        const size_t *last = chain->unit_operation + chain->unit_operations_start[unit + 1] - 1;
        inputs->is_break[pl_operation_at(inputs->operations, *first)->first_step] = 1;
        inputs->is_break[pl_operation_at(inputs->operations, *last)->last_step + 1] = 1;
    }
    break_at_turn(inputs);
    return POPLINER_OK;
}

static popliner_status find_set_bits(pl_interval_inputs *inputs, popliner_error *error) {
    const pl_unit_sets *sets = &inputs->passing.sets;
    inputs->set_words = inputs->chain->num_units / 64 + 1;
    inputs->set_bits = pl_new_array(sets->count * inputs->set_words, sizeof *inputs->set_bits);
    if (inputs->set_bits == NULL)
        return pl_fail_memory(error, "the intervals");
    /* the rest of a set was made before the set */
    for (size_t set = 1; set < sets->count; set++) {
        uint64_t *bits = inputs->set_bits + set * inputs->set_words;
        memcpy(bits, inputs->set_bits + sets->rest[set] * inputs->set_words,
               inputs->set_words * sizeof *bits);
        bits[sets->last_unit[set] / 64] |= (uint64_t)1 << sets->last_unit[set] % 64;
    }
    return POPLINER_OK;
}

popliner_status pl_interval_inputs_find(pl_interval_inputs *inputs, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        const popliner_chain *chain,
                                        const pl_interval_options *options, size_t max_stages,
                                        bool with_all_needs, popliner_error *error) {
    inputs->profile = profile;
    inputs->operations = operations;
    inputs->chain = chain;
    inputs->options = options;
    inputs->model = chain->model;
    inputs->first_data_unit = pl_chain_first_data_unit(chain);
    popliner_status status = find_account(inputs, error);
    if (status == POPLINER_OK)
        status = find_stash(inputs, max_stages, error);
    if (status == POPLINER_OK)
        status = sum_programs(inputs, error);
    if (status == POPLINER_OK)
        status = find_vertex_code(inputs, error);
    if (status == POPLINER_OK)
        status = find_effects(inputs, with_all_needs, error);
    if (status == POPLINER_OK)
        status = find_unit_steps(inputs, error);
    if (status == POPLINER_OK)
        status = find_breaks(inputs, error);
    if (status == POPLINER_OK)
        status = find_set_bits(inputs, error);
    return status;
}
