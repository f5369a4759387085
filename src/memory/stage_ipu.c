/* What an IPU needs: its stages, what they keep, and the layout.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* For a need, how many copies there are of copy_bytes[num_tiles]: of one stage its own, of several
 * one of what all of their copies come to. stash_bytes is that of each stage. */
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

/* From what was measured of a need to all of it. */
static void add_need(const pl_stage_meter *meter, const pl_need_rule *rule, popliner_need need,
                     size_t copies, const uint64_t *copy_bytes, const uint64_t *freed_bytes,
                     popliner_stage_memory *memory) {
    for (size_t tile = 0; tile < memory->num_tiles; tile++) {
        pl_layout layout = pl_layout_of_tile(meter->profile, tile);
        uint64_t *bytes = &memory->need_bytes[need][tile];
        uint64_t code_bytes = 0;
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
            code_bytes += pl_stage_code_bytes(meter, memory, group, tile);
        uint64_t base = *bytes;
        if (need == POPLINER_NEED_EXPECTED)
            base -= freed_bytes[tile] < base ? freed_bytes[tile] : base;
        pl_need_line line = pl_need_of(rule, need, &layout, base, code_bytes, copy_bytes[tile]);
        if (need == POPLINER_NEED_EXPECTED) {
            uint64_t counted_bytes = base + copies * copy_bytes[tile];
            uint64_t live_bytes = line.live_bytes + copies * line.live_copy_bytes;
            memory->part_bytes[POPLINER_PART_STASH][tile] = counted_bytes - *bytes;
            memory->part_bytes[POPLINER_PART_LAYOUT][tile] =
                line.bytes + copies * line.copy_bytes - live_bytes;
            memory->correction_bytes[tile] = (int64_t)live_bytes - (int64_t)counted_bytes;
        }
        *bytes = line.bytes + copies * line.copy_bytes;
    }
}

/* Adds what is not live itself where it is kept in copies. */
static popliner_status add_freed(pl_stage_meter *meter, const popliner_interval *stage,
                                 const uint64_t *stash_bytes, uint64_t *freed_bytes,
                                 popliner_error *error) {
    size_t num_tiles = meter->profile->target.num_tiles;
    uint64_t *unit_bytes = pl_new_array(num_tiles, sizeof *unit_bytes);
    if (unit_bytes == NULL)
        return pl_fail_memory(error, "what a pipeline keeps");
    popliner_status status =
        pl_stage_measure_unit_stash(meter, stage->first_unit, stage->last_unit, unit_bytes, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < num_tiles; tile++)
        freed_bytes[tile] += stash_bytes[tile] - unit_bytes[tile];
    free(unit_bytes);
    return status;
}

/* The calibration of the stages. */
static popliner_scales scales_for(const pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                  const popliner_interval *stages, size_t num_stages) {
    bool has_earlier = false;
    bool has_last = false;
    for (size_t i = 0; i < num_stages; i++) {
        bool is_last = stages[i].last_unit + 1 == meter->chain->num_units;
        has_last = has_last || is_last;
        has_earlier = has_earlier || !is_last;
    }
    return pipeline == NULL ? (popliner_scales){0, 0, 0}
                            : pl_calibration_scales(&pipeline->calibration, has_earlier, has_last);
}

popliner_status pl_stage_measure_ipu(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                     const popliner_interval *stages, size_t num_stages,
                                     popliner_stage_memory *memory, popliner_error *error) {
    size_t num_tiles = meter->profile->target.num_tiles;
    const pl_need_rule rule = {
        .has_needs = meter->chain->model->follows_account,
        .has_layout = pipeline != NULL && (pipeline->effects & POPLINER_EFFECT_LAYOUT) != 0,
        .worst = pl_layout_worst(meter->profile),
        .scales = scales_for(meter, pipeline, stages, num_stages),
    };
    uint64_t *stash_bytes = pl_new_array(num_stages * num_tiles, sizeof *stash_bytes);
    uint64_t *copy_bytes = pl_new_array(num_tiles, sizeof *copy_bytes);
    uint64_t *freed_bytes = pl_new_array(num_tiles, sizeof *freed_bytes);
    popliner_status status = POPLINER_OK;
    if (stash_bytes == NULL || copy_bytes == NULL || freed_bytes == NULL)
        status = pl_fail_memory(error, "the memory of a stage");
    if (status == POPLINER_OK)
        status = pl_stage_measure_shared(meter, pipeline, stages, num_stages, memory, error);
    if (status == POPLINER_OK && memory->correction_bytes == NULL &&
        (memory->correction_bytes = pl_new_array(num_tiles, sizeof(int64_t))) == NULL)
        status = pl_fail_memory(error, "the memory of a stage");
    for (size_t i = 0; status == POPLINER_OK && pipeline != NULL && i < num_stages; i++) {
        if (pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, stages[i].stages_to_end) > 0)
            status =
                pl_stage_measure_stash(meter, pipeline->recompute, stages[i].first_unit,
                                       stages[i].last_unit, stash_bytes + i * num_tiles, error);
        if (status == POPLINER_OK && rule.has_needs && pl_pipeline_frees_originals(pipeline) &&
            pl_pipeline_copies(pipeline, stages[i].stages_to_end) > 0)
            status = add_freed(meter, &stages[i], stash_bytes + i * num_tiles, freed_bytes, error);
    }
    for (int need = 0; status == POPLINER_OK && need < POPLINER_NUM_NEEDS; need++) {
        size_t copies = count_copies(pipeline, (popliner_need)need, stages, num_stages, num_tiles,
                                     stash_bytes, copy_bytes);
        add_need(meter, &rule, (popliner_need)need, copies, copy_bytes, freed_bytes, memory);
    }
    free(stash_bytes);
    free(copy_bytes);
    free(freed_bytes);
    return status;
}
