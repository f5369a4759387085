/* Compares predictions with compiled pipelines.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "popliner/changes.h"
#include "profile/profile_data.h"
#include "solve/plan.h"

void popliner_comparison_free(popliner_comparison *callers) {
    pl_comparison *c = (pl_comparison *)callers;
    if (c == NULL)
        return;
    pl_arrays_free(&c->arrays);
    free(c);
}

/* ---- The fullest tiles ---- */

/* Data is live memory other than code; the layout is the rest. */
static void finish_tile(pl_fullest_tile *t, uint64_t live_bytes) {
    uint64_t code_bytes = 0;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        code_bytes += t->group_bytes[group];
    t->group_bytes[PL_GROUP_DATA] = live_bytes > code_bytes ? live_bytes - code_bytes : 0;
    t->group_bytes[PL_GROUP_LAYOUT] = t->bytes - live_bytes;
}

/* Finds the fullest tile of a profile by the compiler's own account, with gaps or without. */
static pl_fullest_tile find_compiled(const popliner_profile *p, bool counts_layout) {
    pl_fullest_tile t = {0};
    uint64_t most_live_bytes = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        const uint64_t live_bytes =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
        const uint64_t bytes = /* a profile may lack the gaps */
            counts_layout ? pl_larger(live_bytes, p->tile_total_including_gaps_bytes[tile])
                          : live_bytes;
        if (tile > 0 && bytes <= t.bytes)
            continue;
        t.tile = tile;
        t.bytes = bytes;
        most_live_bytes = live_bytes;
    }
    for (size_t i = p->tile_variables_start[t.tile]; i < p->tile_variables_start[t.tile + 1]; i++) {
        const int group = pl_code_group(p, p->variable_category[i]);
        if (group < PL_NUM_CODE_GROUPS && p->class_always_live[p->variable_class[i]])
            t.group_bytes[group] += p->variable_size_bytes[i];
    }
    finish_tile(&t, most_live_bytes);
    return t;
}

/* Computes the expected memory of a stage. */
static popliner_status find_predicted(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                      const popliner_interval *stage, pl_fullest_tile *t,
                                      popliner_error *error) {
    popliner_stage_memory memory = {0};
    popliner_stage_detail sums;
    popliner_status status = pl_stage_measure(meter, pipeline, stage, 1, &memory, &sums, error);
    if (status == POPLINER_OK) {
        t->tile = sums.tile;
        t->bytes = sums.tile_bytes;
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
            t->group_bytes[group] = memory.part_bytes[PL_FIRST_CODE + group][t->tile] +
                                    meter->digest.tiles[t->tile].fixed_code_bytes[group];
        finish_tile(t, t->bytes - sums.tile_layout_bytes);
    }
    pl_stage_memory_clear(&memory);
    return status;
}

/* Returns how many times the predicted data the compiled stages have, on their fullest tiles. */
static double data_ratio_of(const pl_comparison *c) {
    double predicted_bytes = 0;
    double compiled_bytes = 0;
    for (size_t i = 0; i < c->info.num_stages; i++) {
        predicted_bytes += (double)c->stages[i].predicted.group_bytes[PL_GROUP_DATA];
        compiled_bytes += (double)c->stages[i].compiled.group_bytes[PL_GROUP_DATA];
    }
    return predicted_bytes > 0 ? compiled_bytes / predicted_bytes : 1;
}

/* ---- The split ---- */

/* Checks that each compiled profile can be the IPU of a stage. */
static popliner_status check_compiled(const popliner_profile *p, popliner_analysis *const *compiled,
                                      size_t num_stages, popliner_error *error) {
    for (size_t i = 0; i < num_stages; i++) {
        const popliner_profile *own = popliner_analysis_profile(compiled[i]);
        PL_TRY(pl_analysis_require_variables(compiled[i], error));
        if (own->target.num_ipus != 1)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "the compiled profile of stage %zu has %zu IPUs, expected 1", i,
                           own->target.num_ipus);
        if (own->target.num_tiles != p->target.num_tiles)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "the compiled profile of stage %zu has %zu tiles, but the prediction "
                           "has %zu; compile both for the same device",
                           i, own->target.num_tiles, p->target.num_tiles);
    }
    return POPLINER_OK;
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
    PL_TRY(pl_cuts_check(num_units, first_units, num_cuts, error));
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

static popliner_status compare(popliner_analysis *a, const popliner_request *request,
                               const size_t *first_units, size_t num_cuts,
                               popliner_analysis *const *compiled, pl_comparison *c,
                               popliner_error *error) {
    popliner_request own;
    PL_TRY(pl_analysis_take_request(request, &own, error));
    if (own.memory_model != POPLINER_MEMORY_MODEL_FULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "compiled stages need the full memory model");
    PL_TRY(pl_analysis_begin(a, own.memory_model, PL_NEED_METER, error));
    const pl_model_parts *parts = &a->models[own.memory_model];
    PL_TRY(place_stages(c, parts->chain, first_units, num_cuts, error));
    PL_TRY(check_compiled(a->profile, compiled, c->info.num_stages, error));
    c->num_tiles = a->profile->target.num_tiles;
    const popliner_pipeline pipeline = pl_analysis_pipeline(&own);
    for (size_t i = 0; i < c->info.num_stages; i++) {
        pl_stage_comparison *it = &c->stages[i];
        it->compiled =
            find_compiled(compiled[i]->profile, (own.effects & POPLINER_EFFECT_LAYOUT) != 0);
        PL_TRY(find_predicted(parts->meter, &pipeline, &it->units, &it->predicted, error));
        it->error_percent = pl_report_percent(it->predicted.bytes, it->compiled.bytes);
    }
    c->info.data_ratio = data_ratio_of(c);
    return POPLINER_OK;
}

popliner_status popliner_analysis_compare(popliner_analysis *analysis,
                                          const popliner_request *request,
                                          const size_t *first_units, size_t num_cuts,
                                          popliner_analysis *const *compiled,
                                          popliner_comparison **comparison, popliner_error *error) {
    *comparison = NULL;
    pl_analysis_enter(analysis);
    pl_comparison *c = calloc(1, sizeof *c);
    const popliner_status status =
        c == NULL ? pl_fail_memory(error, "the comparison")
                  : compare(analysis, request, first_units, num_cuts, compiled, c, error);
    if (status == POPLINER_OK)
        *comparison = &c->info;
    else
        popliner_comparison_free((popliner_comparison *)c);
    return pl_analysis_leave(analysis, status);
}
