/* The memory of an IPU: its stages, what they store, and the layout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_meter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/triangle.h"
#include "memory/tile_meter.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* ---- Effects ---- */

popliner_status pl_stage_meter_pass_usage(pl_stage_meter *meter, const pl_pass_usage **usage,
                                          popliner_error *error) {
    *usage = &meter->pass_usage;
    if (!meter->has_pass_usage) {
        meter->has_pass_usage =
            pl_pass_usage_find(&meter->pass_usage, meter->chain, &meter->account);
        if (!meter->has_pass_usage)
            pl_pass_usage_free(&meter->pass_usage);
    }
    return meter->has_pass_usage ? POPLINER_OK
                                 : pl_fail_memory(error, "the passes of the training");
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
static bool find_passed(pl_stage_meter *meter) {
    const pl_pass_usage *usage = &meter->pass_usage;
    size_t num_sets = usage->usage.sets.count;
    if (meter->passed == NULL && (meter->passed = pl_new_array(num_sets, 1)) == NULL)
        return false;
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
    return true;
}

/* Measures what is sent over the cuts after the stages, by tile. */
static bool measure_sent(const pl_stage_meter *meter, uint64_t *sent_forward,
                         uint64_t *sent_backward) {
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
            size_t after = meter->stages[i].last_unit + 1;
            sent_forward[tile] += after < num_units ? forward_bytes[after] : 0;
            sent_backward[tile] += after < num_units ? backward_bytes[after] : 0;
        }
    }
    free(forward_bytes);
    free(backward_bytes);
    return memory;
}

/* Sets *factor to the bytes of accumulators for a byte of parameters, and whether gradients no
 * longer wait for the optimizer. */
static bool find_accumulated(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                             uint64_t *factor) {
    *factor = 0;
    if (!pl_wants_accumulators(pipeline, meter->pass_usage.passes.is_training))
        return true;
    if (!meter->knows_accumulators) {
        meter->has_accumulators = pl_has_accumulators(meter->profile);
        meter->knows_accumulators =
            meter->has_accumulators ||
            pl_gradients_find(&meter->gradients, meter->chain, &meter->pass_usage, &meter->account);
    }
    *factor = pl_accumulator_factor(pipeline, meter->has_accumulators);
    if (!meter->has_accumulators)
        meter->accumulated = &meter->gradients;
    return meter->knows_accumulators;
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

/* Like pl_stage_measure, for all operations of several stages on one IPU; for adjacent stages,
 * without effects in `pipeline` (which may be NULL), like pl_stage_measure_units. Of the pipeline
 * only schedule, effects and accumulators count. */
static bool measure_shared(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                           const popliner_interval *stages, size_t num_stages,
                           popliner_stage_memory *memory) {
    const size_t num_tiles = meter->profile->target.num_tiles;
    uint64_t *sent_forward = NULL;
    uint64_t *sent_backward = NULL;
    uint64_t factor = 0;
    const pl_pass_usage *pass_usage;
    pl_stage_without_effects(meter);
    if (pipeline == NULL || !meter->chain->model->follows_account)
        return pl_stage_measure_intervals(meter, stages, num_stages, memory);
    if (pl_stage_meter_pass_usage(meter, &pass_usage, NULL) != POPLINER_OK ||
        !find_accumulated(meter, pipeline, &factor))
        return false;
    meter->effects = pipeline->effects;
    meter->stages = stages;
    meter->num_stages = num_stages;
    bool made = (meter->effects & POPLINER_EFFECT_PASSING) == 0 || find_passed(meter);
    if (made && pass_usage->passes.is_training &&
        pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES) {
        sent_forward = pl_new_array(num_tiles, sizeof *sent_forward);
        sent_backward = pl_new_array(num_tiles, sizeof *sent_backward);
        made = sent_forward != NULL && sent_backward != NULL &&
               measure_sent(meter, sent_forward, sent_backward);
        meter->sent_forward = sent_forward;
        meter->sent_backward = sent_backward;
    }
    made = made && pl_stage_measure_intervals(meter, stages, num_stages, memory);
    if (made && factor > 0)
        add_accumulators(meter, factor, memory);
    free(sent_forward);
    free(sent_backward);
    meter->sent_forward = meter->sent_backward = NULL;
    return made;
}

/* ---- The stash ---- */

/* Marks the variables that an operation touches with `mark`. */
static void mark_touched(pl_stage_meter *meter, const popliner_operation *operation, uint8_t mark) {
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_account_touches touches =
            pl_account_touches_of(&meter->account, meter->profile, operation->programs[k]);
        uint32_t variable;
        while (pl_account_touches_next(&touches, &variable))
            meter->touched_by[variable] |= mark;
    }
}

/* The operations that touch a variable: of units before the stage, in its passes, or of units after
 * it. */
enum { FORWARD = 1, BACKWARD = 2, BEFORE = 4, BEHIND = 8 };

/* Marks the variables by the operations that touch them. */
static void mark_all_touched(pl_stage_meter *meter, size_t first_unit, size_t last_unit) {
    const pl_passes *passes = &meter->pass_usage.passes;
    memset(meter->touched_by, 0, meter->profile->num_variables);
    for (size_t i = 0; i < pl_operations_count(meter->operations); i++) {
        size_t unit = pl_chain_unit_of(meter->chain, i);
        bool is_forward = pl_is_forward(passes, unit, i);
        uint8_t mark = 0;
        if (unit < first_unit) {
            mark = is_forward ? BEFORE : 0;
        } else if (unit <= last_unit && unit >= pl_chain_first_data_unit(meter->chain)) {
            mark |= is_forward ? FORWARD : 0;
            mark |= pl_is_backward(passes, unit, i) ? BACKWARD : 0;
        } else if (unit > last_unit) {
            mark = is_forward ? BEHIND : 0;
        }
        if (mark != 0)
            mark_touched(meter, pl_operation_at(meter->operations, i), mark);
    }
}

popliner_status pl_stage_measure_stash(pl_stage_meter *meter, popliner_recompute recompute,
                                       size_t first_unit, size_t last_unit, uint64_t *by_tile_bytes,
                                       popliner_error *error) {
    const popliner_profile *p = meter->profile;
    const pl_passes *passes = &meter->pass_usage.passes;
    const pl_pass_usage *pass_usage;
    memset(by_tile_bytes, 0, p->target.num_tiles * sizeof *by_tile_bytes);
    popliner_status status = pl_stage_meter_pass_usage(meter, &pass_usage, error);
    if (status == POPLINER_OK && meter->touched_by == NULL) {
        if (meter->is_fed == NULL)
            meter->is_fed = pl_mark_fed(p);
        if (meter->is_fed != NULL)
            meter->touched_by = pl_new_array(p->num_variables, 1);
        if (meter->touched_by == NULL)
            status = pl_fail_memory(error, "what a pipeline keeps");
    }
    if (status != POPLINER_OK)
        return status;
    if (!passes->is_training)
        return POPLINER_OK;
    mark_all_touched(meter, first_unit, last_unit);
    bool keeps_activations = recompute != POPLINER_RECOMPUTE_FULL;
    bool keeps_inputs = recompute != POPLINER_RECOMPUTE_NONE;
    bool keeps_outputs =
        recompute == POPLINER_RECOMPUTE_STANDARD && last_unit + 1 < meter->chain->num_units;
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        tile = pl_profile_tile_from(p, i, tile);
        uint8_t marks = meter->touched_by[i];
        uint32_t class_index = p->variable_class[i];
        if ((marks & FORWARD) == 0 || p->class_always_live[class_index])
            continue;
        /* the host may send an input after the stage has begun */
        bool is_input = meter->is_fed[i] != 0 ||
                        ((marks & BEFORE) != 0 &&
                         pl_class_crosses(p, class_index, passes->forward_step[first_unit]));
        if ((keeps_activations && (marks & BACKWARD) != 0 &&
             pl_class_crosses(p, class_index, passes->loss_step)) ||
            (keeps_inputs && is_input) ||
            (keeps_outputs && (marks & BEHIND) != 0 &&
             pl_class_crosses(p, class_index, passes->forward_step[last_unit + 1])))
            by_tile_bytes[tile] += p->variable_size_bytes[i];
    }
    return POPLINER_OK;
}

/* ---- An IPU ---- */

/* Returns, for a need, the number of copies of copy_bytes[num_tiles]: for one stage its copies, for
 * several 1, with the total of their copies. stash_bytes is that of each stage. */
static size_t count_copies(const popliner_pipeline *pipeline, popliner_need need,
                           const popliner_interval *stages, size_t num_stages, size_t num_tiles,
                           const uint64_t *stash_bytes, uint64_t *copy_bytes) {
    memset(copy_bytes, 0, num_tiles * sizeof *copy_bytes);
    if (pipeline == NULL)
        return 0;
    for (size_t i = 0; i < num_stages; i++) {
        size_t copies =
            num_stages == 1 ? 1 : pl_pipeline_copies_for(pipeline, need, stages[i].stages_to_end);
        for (size_t tile = 0; tile < num_tiles; tile++)
            copy_bytes[tile] += copies * stash_bytes[i * num_tiles + tile];
    }
    return num_stages == 1 ? pl_pipeline_copies_for(pipeline, need, stages[0].stages_to_end) : 1;
}

uint64_t pl_stage_code_bytes(const pl_stage_meter *meter, const popliner_stage_memory *memory,
                             int group, size_t tile) {
    return memory->part_bytes[PL_FIRST_CODE + group][tile] +
           pl_account_fixed_code(&meter->account, group, tile);
}

/* Returns what decides where the data of the stage lies on a tile. */
static pl_placed_bytes find_placed(const pl_stage_meter *meter, const popliner_stage_memory *memory,
                                   size_t tile) {
    uint64_t apart_bytes = 0;
    const uint32_t *apart;
    const size_t num_apart = pl_account_apart(&meter->account, tile, &apart);
    for (size_t i = 0; i < num_apart; i++)
        if (meter->variable_seen[apart[i]] == meter->variable_mark)
            apart_bytes = pl_larger(apart_bytes, meter->profile->variable_size_bytes[apart[i]]);
    uint64_t sum_bytes[PL_NUM_SUMS] = {[PL_SUM_DATA] = memory->always_live_bytes[tile]};
    for (int i = 0; i < PL_NUM_ADDED; i++)
        sum_bytes[PL_SUM_ADDED + i] = memory->part_bytes[PL_FIRST_ADDED + i][tile];
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        sum_bytes[group] = memory->part_bytes[PL_FIRST_CODE + group][tile];
    return pl_steady_bytes_of(&meter->account, tile, sum_bytes, apart_bytes).placed;
}

/* Completes an estimate from what was measured. */
static void add_need(const pl_stage_meter *meter, const pl_need_rule *rule, popliner_need need,
                     size_t copies, const uint64_t *copy_bytes, const uint64_t *freed_bytes,
                     popliner_stage_memory *memory) {
    pl_need_spread spread = {0};
    for (size_t tile = 0; tile < memory->num_tiles; tile++) {
        pl_overhead layout = pl_account_overhead(&meter->account, tile);
        uint64_t *bytes = &memory->need_bytes[need][tile];
        pl_placed_bytes placed = find_placed(meter, memory, tile);
        placed.freed = freed_bytes == NULL ? 0 : freed_bytes[tile];
        pl_need_line line = pl_need_of(rule, need, &layout, *bytes, placed, copy_bytes[tile]);
        pl_need_spread_add(&spread, &line);
        if (need == POPLINER_NEED_EXPECTED) {
            uint64_t counted_bytes = *bytes - line.freed_bytes + copies * copy_bytes[tile];
            uint64_t live_bytes = line.live_bytes + copies * line.live_copy_bytes;
            memory->part_bytes[POPLINER_PART_STASH][tile] = counted_bytes - *bytes;
            memory->part_bytes[POPLINER_PART_LAYOUT][tile] =
                line.bytes + copies * line.copy_bytes - live_bytes;
            memory->correction_bytes[tile] = (int64_t)live_bytes - (int64_t)counted_bytes;
        }
        *bytes = line.bytes + copies * line.copy_bytes;
    }
    if (need != POPLINER_NEED_MOST)
        return;
    const pl_need_line any = pl_need_spread_line(&spread, rule, memory->num_tiles);
    for (size_t tile = 0; tile < memory->num_tiles; tile++)
        memory->need_bytes[need][tile] =
            pl_larger(memory->need_bytes[need][tile], pl_need_line_at(&any, copies));
}

/* Adds what is not live itself if copies of it are stored: all of it, except for the most that is
 * at one step of the stage. */
static bool add_freed(pl_stage_meter *meter, const popliner_interval *stage,
                      const uint64_t *stash_bytes, uint64_t *freed_bytes) {
    uint64_t *unit_bytes = pl_new_array(meter->chain->num_units, sizeof *unit_bytes);
    bool memory = unit_bytes != NULL &&
                  (meter->waits.end_step != NULL ||
                   pl_waits_find(&meter->waits, &meter->pass_usage.passes, meter->profile));
    for (size_t tile = 0; memory && tile < meter->profile->target.num_tiles; tile++) {
        memory = pl_waits_measure(&meter->waits, &meter->pass_usage, meter->chain, tile,
                                  &meter->curve, unit_bytes);
        const uint64_t most_bytes =
            pl_tiles_max(unit_bytes + stage->first_unit, stage->last_unit - stage->first_unit + 1);
        freed_bytes[tile] += stash_bytes[tile] > most_bytes ? stash_bytes[tile] - most_bytes : 0;
    }
    free(unit_bytes);
    return memory;
}

pl_scales pl_stage_scales(const pl_chain *chain, const popliner_pipeline *pipeline,
                          const popliner_interval *stages, size_t num_stages) {
    bool has_earlier = false;
    bool has_last = false;
    for (size_t i = 0; i < num_stages; i++) {
        bool is_last = stages[i].last_unit + 1 == chain->num_units;
        has_last = has_last || is_last;
        has_earlier = has_earlier || !is_last;
    }
    return pipeline == NULL ? (pl_scales){0, 0, 0}
                            : pl_calibration_scales(&pipeline->calibration, has_earlier, has_last);
}

/* Sets *most_bytes to the sum of what each stage needs alone at most, which is also enough for them
 * together: the tiles may be less even if they share data. For one stage: unlimited. */
static popliner_status find_most_alone(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                       const popliner_interval *stages, size_t num_stages,
                                       uint64_t *most_bytes, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    *most_bytes = num_stages > 1 ? 0 : UINT64_MAX;
    for (size_t i = 0; status == POPLINER_OK && num_stages > 1 && i < num_stages; i++) {
        popliner_stage_memory alone = {0};
        status = pl_stage_measure_ipu(meter, pipeline, &stages[i], 1, &alone, error);
        if (status == POPLINER_OK)
            *most_bytes += pl_tiles_max(alone.need_bytes[POPLINER_NEED_MOST], alone.num_tiles);
        pl_stage_memory_clear(&alone);
    }
    return status;
}

popliner_status pl_stage_measure_ipu(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                     const popliner_interval *stages, size_t num_stages,
                                     popliner_stage_memory *memory, popliner_error *error) {
    size_t num_tiles = meter->profile->target.num_tiles;
    const pl_need_rule rule = {
        .has_needs = meter->chain->model->follows_account,
        .has_layout = pipeline != NULL && (pipeline->effects & POPLINER_EFFECT_LAYOUT) != 0,
        .tiles_per_ipu = meter->profile->target.tiles_per_ipu,
        .scales = pl_stage_scales(meter->chain, pipeline, stages, num_stages),
        .profile = meter->profile,
    };
    uint64_t most_bytes;
    popliner_status status =
        find_most_alone(meter, pipeline, stages, num_stages, &most_bytes, error);
    if (status != POPLINER_OK)
        return status;
    uint64_t *stash_bytes = pl_new_array(num_stages * num_tiles, sizeof *stash_bytes);
    uint64_t *copy_bytes = pl_new_array(num_tiles, sizeof *copy_bytes);
    uint64_t *freed_bytes = pl_new_array(num_tiles, sizeof *freed_bytes);
    bool made = stash_bytes != NULL && copy_bytes != NULL && freed_bytes != NULL &&
                measure_shared(meter, pipeline, stages, num_stages, memory);
    if (made && memory->correction_bytes == NULL)
        made = (memory->correction_bytes = pl_new_array(num_tiles, sizeof(int64_t))) != NULL;
    for (size_t i = 0; made && pipeline != NULL && i < num_stages; i++) {
        uint64_t *own_bytes = stash_bytes + i * num_tiles;
        if (pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, stages[i].stages_to_end) == 0)
            continue;
        made = pl_stage_measure_stash(meter, pl_pipeline_stored(pipeline), stages[i].first_unit,
                                      stages[i].last_unit, own_bytes, NULL) == POPLINER_OK;
        /* if the expected need frees, it has copies where the one at most has */
        if (made && rule.has_needs && pl_pipeline_frees_originals(pipeline, POPLINER_NEED_MOST))
            made = add_freed(meter, &stages[i], own_bytes, freed_bytes);
    }
    for (int need = 0; made && need < POPLINER_NUM_NEEDS; need++) {
        size_t copies = count_copies(pipeline, (popliner_need)need, stages, num_stages, num_tiles,
                                     stash_bytes, copy_bytes);
        const bool frees =
            pipeline != NULL && pl_pipeline_frees_originals(pipeline, (popliner_need)need);
        add_need(meter, &rule, (popliner_need)need, copies, copy_bytes, frees ? freed_bytes : NULL,
                 memory);
    }
    free(stash_bytes);
    free(copy_bytes);
    free(freed_bytes);
    for (size_t tile = 0; made && rule.has_needs && tile < num_tiles; tile++)
        memory->need_bytes[POPLINER_NEED_MOST][tile] =
            pl_smaller(memory->need_bytes[POPLINER_NEED_MOST][tile], most_bytes);
    return made ? POPLINER_OK : pl_fail_memory(error, "the memory of a stage");
}

/* ---- Trained parameters ---- */

/* Adds up trained variables by set, and keeps the sets that have some. */
static bool find_used(pl_trained_parameters *t, const pl_stage_meter *meter,
                      const pl_pass_usage *usage) {
    const popliner_profile *p = meter->profile;
    uint64_t *set_bytes = pl_new_array(t->sets->count, sizeof *set_bytes);
    if (set_bytes == NULL)
        return false;
    for (size_t i = 0; i < p->num_variables; i++)
        set_bytes[pl_parameter_units(usage, p, &meter->account, i)] += p->variable_size_bytes[i];
    set_bytes[0] = 0; /* not trained */
    for (size_t set = 0; set < t->sets->count; set++)
        t->num_used += set_bytes[set] > 0;
    t->used = pl_new_array(t->num_used, sizeof *t->used);
    size_t at = 0;
    for (size_t set = 0; t->used != NULL && set < t->sets->count; set++)
        if (set_bytes[set] > 0)
            t->used[at++] = (pl_trained_set){(uint32_t)set, set_bytes[set]};
    free(set_bytes);
    return t->used != NULL;
}

/* Sums up every stage alone. */
static bool sum_intervals(pl_trained_parameters *t) {
    pl_interval_sums sums = {0};
    size_t *units = pl_new_array(t->num_units, sizeof *units);
    bool memory = units != NULL && pl_interval_sums_init(&sums, t->num_units, 1);
    for (size_t i = 0; memory && i < t->num_used; i++) {
        size_t place = t->num_units; /* descending: filled from the end */
        for (uint32_t set = t->used[i].set; set != 0; set = t->sets->rest[set])
            units[--place] = t->sets->last_unit[set];
        memory =
            pl_interval_sums_add(&sums, units + place, t->num_units - place, &t->used[i].bytes);
    }
    for (size_t first = 0; memory && first < t->num_units; first++) {
        pl_interval_sums_begin(&sums);
        for (size_t last = first; last < t->num_units; last++)
            t->interval_bytes[pl_triangle_place(t->num_units, first, last)] =
                *pl_interval_sums_extend(&sums);
    }
    free(units);
    pl_interval_sums_free(&sums);
    return memory;
}

popliner_status pl_trained_parameters_find(pl_trained_parameters *trained, pl_stage_meter *meter,
                                           popliner_error *error) {
    const pl_pass_usage *usage = NULL;
    popliner_status status = pl_stage_meter_pass_usage(meter, &usage, error);
    if (status != POPLINER_OK)
        return status;
    trained->sets = &usage->usage.sets;
    trained->num_units = meter->chain->num_units;
    trained->interval_bytes =
        pl_new_array(pl_triangle_size(trained->num_units), sizeof *trained->interval_bytes);
    bool memory = trained->interval_bytes != NULL;
    if (memory && usage->passes.is_training)
        memory = find_used(trained, meter, usage) && sum_intervals(trained);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the parameters of the stages");
}

void pl_trained_parameters_free(pl_trained_parameters *trained) {
    free(trained->used);
    free(trained->interval_bytes);
    *trained = (pl_trained_parameters){0};
}

uint64_t pl_trained_parameters_bytes(void *user, const popliner_interval *stages,
                                     size_t num_stages) {
    const pl_trained_parameters *t = user;
    uint64_t sum = 0;
    if (num_stages == 1)
        return t->interval_bytes[pl_triangle_place(t->num_units, stages->first_unit,
                                                   stages->last_unit)];
    for (size_t i = 0; i < t->num_used; i++) {
        uint32_t set = t->used[i].set;
        bool is_there = false;
        for (size_t k = num_stages; k-- > 0 && !is_there;) {
            set = pl_unit_sets_up_to(t->sets, set, (uint32_t)stages[k].last_unit);
            is_there = set != 0 && t->sets->last_unit[set] >= stages[k].first_unit;
        }
        sum += is_there ? t->used[i].bytes : 0;
    }
    return sum;
}
