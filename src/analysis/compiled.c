/* Compares predictions with compiled pipelines.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/stage.h"
#include "pipeline/pipeline.h"
#include "popliner/changes.h"
#include "profile/profile_data.h"

void popliner_comparison_free(popliner_comparison *callers) {
    pl_comparison *c = (pl_comparison *)callers;
    if (c == NULL)
        return;
    pl_arrays_free(&c->arrays);
    free(c);
}

/* ---- By tile ---- */

/* The memory of an IPU by tile, each array with num_tiles items. Zero-initialise; free with
 * pl_arrays_free. */
typedef struct tiles {
    size_t num_tiles;
    pl_arrays arrays;
    uint64_t *group_bytes[PL_NUM_GROUPS];
    uint64_t *live_bytes;
    uint64_t *whole_bytes;
} tiles;

static popliner_status make_tiles(tiles *t, size_t num_tiles, popliner_error *error) {
    pl_arrays_free(&t->arrays);
    *t = (tiles){.num_tiles = num_tiles};
    t->live_bytes = pl_arrays_new(&t->arrays, num_tiles, sizeof *t->live_bytes);
    t->whole_bytes = pl_arrays_new(&t->arrays, num_tiles, sizeof *t->whole_bytes);
    for (int group = 0; group < PL_NUM_GROUPS; group++)
        t->group_bytes[group] = pl_arrays_new(&t->arrays, num_tiles, sizeof *t->group_bytes[group]);
    return t->arrays.failed ? pl_fail_memory(error, "the comparison") : POPLINER_OK;
}

/* Data is live memory other than code; the layout is the rest. */
static void finish_tiles(tiles *t) {
    for (size_t tile = 0; tile < t->num_tiles; tile++) {
        uint64_t code_bytes = 0;
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
            code_bytes += t->group_bytes[group][tile];
        uint64_t live_bytes = t->live_bytes[tile];
        if (t->whole_bytes[tile] < live_bytes) /* if the profile lacks it */
            t->whole_bytes[tile] = live_bytes;
        t->group_bytes[PL_GROUP_DATA][tile] = live_bytes > code_bytes ? live_bytes - code_bytes : 0;
        t->group_bytes[PL_GROUP_LAYOUT][tile] = t->whole_bytes[tile] - live_bytes;
    }
}

/* Reads the compiler's own account. */
static popliner_status take_compiled(const popliner_profile *p, tiles *t, popliner_error *error) {
    popliner_status status = make_tiles(t, p->target.num_tiles, error);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        tile = pl_profile_tile_from(p, i, tile);
        int group = pl_code_group(p, p->variable_category[i]);
        if (group < PL_NUM_CODE_GROUPS && p->class_always_live[p->variable_class[i]])
            t->group_bytes[group][tile] += p->variable_size_bytes[i];
    }
    for (size_t tile = 0; tile < t->num_tiles; tile++) {
        t->live_bytes[tile] =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
        t->whole_bytes[tile] = p->tile_total_including_gaps_bytes[tile];
    }
    finish_tiles(t);
    return POPLINER_OK;
}

/* Computes the expected memory of a stage. */
static popliner_status take_predicted(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                      const popliner_interval *stage, tiles *t,
                                      popliner_error *error) {
    popliner_stage_memory memory = {0};
    popliner_status status = pl_stage_measure_ipu(meter, pipeline, stage, 1, &memory, error);
    if (status == POPLINER_OK)
        status = make_tiles(t, memory.num_tiles, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < t->num_tiles; tile++) {
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
            t->group_bytes[group][tile] = pl_stage_code_bytes(meter, &memory, group, tile);
        t->whole_bytes[tile] = memory.need_bytes[POPLINER_NEED_EXPECTED][tile];
        t->live_bytes[tile] = t->whole_bytes[tile] - memory.part_bytes[POPLINER_PART_LAYOUT][tile];
    }
    if (status == POPLINER_OK)
        finish_tiles(t);
    pl_stage_memory_clear(&memory);
    return status;
}

/* ---- Over the tiles ---- */

static popliner_status spread_of(const uint64_t *bytes, size_t num_tiles, pl_spread *spread,
                                 popliner_error *error) {
    *spread = (pl_spread){0};
    if (num_tiles == 0)
        return POPLINER_OK;
    uint64_t *sorted = pl_new_array(num_tiles, sizeof *sorted);
    if (sorted == NULL)
        return pl_fail_memory(error, "the comparison");
    memcpy(sorted, bytes, num_tiles * sizeof *sorted);
    qsort(sorted, num_tiles, sizeof *sorted, pl_compare_numbers);
    spread->min_bytes = sorted[0];
    spread->median_bytes = sorted[num_tiles / 2];
    spread->max_bytes = sorted[num_tiles - 1];
    spread->mean_bytes = (double)pl_tiles_sum(bytes, num_tiles) / (double)num_tiles;
    while (bytes[spread->tile] != spread->max_bytes)
        spread->tile++;
    free(sorted);
    return POPLINER_OK;
}

static popliner_status sum_up(const tiles *t, pl_ipu_memory *memory, popliner_error *error) {
    popliner_status status = spread_of(t->live_bytes, t->num_tiles, &memory->live, error);
    if (status == POPLINER_OK)
        status = spread_of(t->whole_bytes, t->num_tiles, &memory->whole, error);
    for (int group = 0; status == POPLINER_OK && group < PL_NUM_GROUPS; group++) {
        memory->group_bytes[group] = pl_tiles_sum(t->group_bytes[group], t->num_tiles);
        memory->tile_bytes[group] =
            t->num_tiles > 0 ? t->group_bytes[group][memory->whole.tile] : 0;
    }
    return status;
}

/* Returns how many times the predicted data the compiled stages have, on their fullest tiles. */
static double data_ratio_of(const pl_comparison *c) {
    double predicted_bytes = 0;
    double compiled_bytes = 0;
    for (size_t i = 0; i < c->info.num_stages; i++) {
        predicted_bytes += (double)c->stages[i].predicted.tile_bytes[PL_GROUP_DATA];
        compiled_bytes += (double)c->stages[i].compiled.tile_bytes[PL_GROUP_DATA];
    }
    return predicted_bytes > 0 ? compiled_bytes / predicted_bytes : 1;
}

/* ---- The stages ---- */

typedef struct subject {
    pl_stage_meter *meter;
    popliner_pipeline pipeline;
    pl_comparison *comparison;
} subject;

/* Computes the error of a stage if it is predicted for another pipeline. */
static popliner_status find_error(const subject *s, const popliner_pipeline *pipeline, size_t stage,
                                  double *percent, popliner_error *error) {
    pl_stage_comparison *it = &s->comparison->stages[stage];
    popliner_stage_memory memory = {0};
    uint64_t truth_bytes =
        s->comparison->counts_layout ? it->compiled.whole.max_bytes : it->compiled.live.max_bytes;
    popliner_status status =
        pl_stage_measure_ipu(s->meter, pipeline, &it->units, 1, &memory, error);
    if (status == POPLINER_OK)
        *percent = pl_report_percent(
            pl_tiles_max(memory.need_bytes[POPLINER_NEED_EXPECTED], memory.num_tiles), truth_bytes);
    pl_stage_memory_clear(&memory);
    return status;
}

/* Computes the errors without each counted part. */
static popliner_status leave_out_parts(const subject *s, size_t stage, popliner_error *error) {
    double *percent = s->comparison->stages[stage].without_percent;
    popliner_status status = POPLINER_OK;
    for (unsigned part = 0; status == POPLINER_OK && part < PL_NUM_COUNTED_PARTS; part++) {
        popliner_pipeline other = s->pipeline;
        bool is_effect = part + 1 < PL_NUM_COUNTED_PARTS;
        bool is_counted = is_effect ? (other.effects >> part & 1) != 0
                                    : other.accumulators != POPLINER_ACCUMULATORS_NONE;
        percent[part] = NAN;
        if (!is_counted)
            continue;
        if (is_effect)
            other.effects &= ~(1u << part);
        else
            other.accumulators = POPLINER_ACCUMULATORS_NONE;
        status = find_error(s, &other, stage, &percent[part], error);
    }
    return status;
}

static popliner_status compare_stage(const subject *s, size_t stage,
                                     const popliner_profile *compiled, popliner_error *error) {
    pl_stage_comparison *it = &s->comparison->stages[stage];
    tiles t = {0};
    popliner_status status = take_compiled(compiled, &t, error);
    if (status == POPLINER_OK)
        status = sum_up(&t, &it->compiled, error);
    if (status == POPLINER_OK)
        status = take_predicted(s->meter, &s->pipeline, &it->units, &t, error);
    if (status == POPLINER_OK)
        status = sum_up(&t, &it->predicted, error);
    pl_arrays_free(&t.arrays);
    if (status == POPLINER_OK)
        status = find_error(s, &s->pipeline, stage, &it->error_percent, error);
    if (status == POPLINER_OK)
        status = leave_out_parts(s, stage, error);
    if (status != POPLINER_OK)
        return status;
    it->live_error_percent =
        pl_report_percent(it->predicted.live.max_bytes, it->compiled.live.max_bytes);
    return POPLINER_OK;
}

/* ---- The split ---- */

/* Checks that each compiled profile can be the IPU of a stage. */
static popliner_status check_compiled(const popliner_profile *p, popliner_analysis *const *compiled,
                                      size_t num_stages, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < num_stages; i++) {
        const popliner_profile *own = popliner_analysis_profile(compiled[i]);
        status = pl_analysis_require_variables(compiled[i], error);
        if (status == POPLINER_OK && own->target.num_ipus != 1)
            status = pl_fail(error, POPLINER_ERROR_USAGE,
                             "the compiled profile of stage %zu has %zu IPUs, expected 1", i,
                             own->target.num_ipus);
        if (status == POPLINER_OK && own->target.num_tiles != p->target.num_tiles)
            status = pl_fail(error, POPLINER_ERROR_USAGE,
                             "the compiled profile of stage %zu has %zu tiles, but the prediction "
                             "has %zu; compile both for the same device",
                             i, own->target.num_tiles, p->target.num_tiles);
    }
    return status;
}

/* Sets the stages of the split, with their names. */
static popliner_status place_stages(pl_comparison *c, const pl_chain *chain,
                                    const size_t *first_units, size_t num_cuts,
                                    popliner_error *error) {
    size_t num_units = pl_chain_num_units(chain);
    c->info.num_stages = num_cuts + 1;
    c->stages = pl_arrays_new(&c->arrays, c->info.num_stages, sizeof *c->stages);
    c->names = pl_arrays_new(&c->arrays, 2 * c->info.num_stages, sizeof *c->names);
    if (c->arrays.failed)
        return pl_fail_memory(error, "the comparison");
    popliner_status status = pl_analysis_check_cuts(chain, first_units, num_cuts, error);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < c->info.num_stages; i++) {
        popliner_interval *units = &c->stages[i].units;
        *units = (popliner_interval){
            .first_unit = i == 0 ? 0 : first_units[i - 1],
            .last_unit = (i < num_cuts ? first_units[i] : num_units) - 1,
            .stages_to_end = c->info.num_stages - i,
        };
        c->names[2 * i] = pl_arrays_text(&c->arrays, chain->labels[units->first_unit]);
        c->names[2 * i + 1] = pl_arrays_text(&c->arrays, chain->labels[units->last_unit]);
    }
    return c->arrays.failed ? pl_fail_memory(error, "the comparison") : POPLINER_OK;
}

static popliner_status compare_in_turn(popliner_analysis *analysis, const popliner_request *request,
                                       const size_t *first_units, size_t num_cuts,
                                       popliner_analysis *const *compiled,
                                       popliner_comparison **comparison, popliner_error *error) {
    popliner_analysis *a = analysis;
    pl_comparison *c = calloc(1, sizeof *c);
    if (c == NULL)
        return pl_fail_memory(error, "the comparison");
    popliner_request own;
    popliner_status status = pl_analysis_take_request(request, &own, error);
    if (status == POPLINER_OK && own.memory_model != POPLINER_MEMORY_MODEL_FULL)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "compiled stages need the full memory model");
    if (status == POPLINER_OK)
        status = pl_analysis_begin(a, own.memory_model, PL_NEED_METER, error);
    if (status == POPLINER_OK)
        status = place_stages(c, a->models[own.memory_model].chain, first_units, num_cuts, error);
    if (status == POPLINER_OK)
        status = check_compiled(a->profile, compiled, c->info.num_stages, error);
    c->num_tiles = a->profile->target.num_tiles;
    c->counts_layout = (own.effects & POPLINER_EFFECT_LAYOUT) != 0;
    const subject s = {a->models[POPLINER_MEMORY_MODEL_FULL].meter, pl_analysis_pipeline(&own), c};
    for (size_t i = 0; status == POPLINER_OK && i < c->info.num_stages; i++)
        status = compare_stage(&s, i, compiled[i]->profile, error);
    if (status != POPLINER_OK) {
        popliner_comparison_free(&c->info);
        return status;
    }
    c->info.data_ratio = data_ratio_of(c);
    *comparison = &c->info;
    return POPLINER_OK;
}

popliner_status popliner_analysis_compare(popliner_analysis *analysis,
                                          const popliner_request *request,
                                          const size_t *first_units, size_t num_cuts,
                                          popliner_analysis *const *compiled,
                                          popliner_comparison **comparison, popliner_error *error) {
    *comparison = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = compare_in_turn(analysis, request, first_units, num_cuts, compiled, comparison, error);
    return pl_analysis_leave(analysis, status);
}
