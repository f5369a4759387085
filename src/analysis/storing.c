/* Stores an analysis, with all stages of a memory model measured.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdio.h>

#include "base/failure.h"
#include "memory/intervals.h"
#include "pipeline/pipeline.h"

/* Limits the bytes that are kept, or stored, of one chain, for each kind of pipeline. */
static const size_t max_kept_bytes = (size_t)64 << 20;

bool pl_analysis_can_keep_stages(size_t num_units) {
    return pl_stage_details_size(num_units) <= max_kept_bytes;
}

popliner_status pl_analysis_keep_stages(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_pipeline *pipeline, bool with_tile_needs,
                                        const char *purpose, popliner_error *error) {
    pl_interval_options options = PL_INTERVAL_OPTIONS_INIT;
    popliner_analysis *a = analysis;
    pl_model_parts *parts = &a->models[model];
    pl_stage_details *details = NULL;
    double start = pl_clock_seconds();
    size_t place = pl_stages_place(pipeline);
    char step[120];
    const pl_stage_details *known = parts->is_stored[place] ? NULL : parts->stages[place];
    /* the file must not depend on earlier requests */
    if (known != NULL && known->key.pipeline.schedule == pipeline->schedule &&
        known->key.pipeline.copies.rule == pipeline->copies.rule &&
        pl_details_serve(&known->key, pipeline) && (!with_tile_needs || known->tile_needs != NULL))
        return POPLINER_OK;
    options.pipeline = *pipeline;
    options.with_cycles = true;
    options.num_threads = a->num_threads;
    options.listener = &a->listener;
    options.bounds = &a->bounds;
    options.meter = parts->meter;
    options.with_tile_needs = with_tile_needs;
    popliner_status status = pl_intervals_measure(parts->chain, &options, NULL, &details, error);
    if (status != POPLINER_OK)
        return status;
    pl_stage_details_free(parts->stages[place]);
    parts->stages[place] = details;
    parts->is_stored[place] = false;
    snprintf(step, sizeof step, "Measuring all stages%s%s", purpose,
             place == 0                                       ? ""
             : pipeline->recompute == POPLINER_RECOMPUTE_FULL ? ", with recomputation"
                                                              : ", for training");
    pl_step(&a->listener, step, start);
    return POPLINER_OK;
}

static popliner_status store_in_turn(popliner_analysis *analysis, popliner_memory_model model,
                                     const char *path, popliner_error *error) {
    /* rarer pipelines are measured when needed: storing them would double the size */
    static const struct {
        popliner_schedule schedule;
        popliner_recompute recompute;
    } stored[] = {{POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE},
                  {POPLINER_SCHEDULE_POPART, POPLINER_RECOMPUTE_NONE},
                  {POPLINER_SCHEDULE_POPART, POPLINER_RECOMPUTE_FULL}};
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_analysis *a = analysis;
    pl_measured_stages measured[sizeof stored / sizeof *stored];
    size_t num_measured = 0;
    bool is_training = false;
    popliner_status status = pl_analysis_begin(a, model, error);
    if (status == POPLINER_OK)
        status = pl_analysis_make_chain(a, model, error);
    if (status != POPLINER_OK)
        return status;
    const pl_model_parts *parts = &a->models[model];
    size_t num_units = popliner_chain_num_units(parts->chain);
    /* very long chains are measured when needed: they would be most of the file */
    if (pl_analysis_can_keep_stages(num_units)) {
        status = pl_intervals_are_training(parts->chain, &is_training, error);
        size_t num_wanted = is_training ? sizeof stored / sizeof *stored : 1;
        for (; status == POPLINER_OK && num_measured < num_wanted; num_measured++) {
            request.memory_model = model;
            request.schedule = stored[num_measured].schedule;
            request.recompute = stored[num_measured].recompute;
            popliner_pipeline pipeline = pl_analysis_pipeline(&request);
            status = pl_analysis_keep_stages(a, model, &pipeline, false, ", to be stored", error);
            if (status != POPLINER_OK)
                return status;
            measured[num_measured] =
                (pl_measured_stages){parts->chain, parts->stages[pl_stages_place(&pipeline)]};
        }
    }
    double start = pl_clock_seconds();
    if (status == POPLINER_OK)
        status = pl_stored_analysis_save(a->profile, a->operations, measured, num_measured,
                                         &a->listener, path, error);
    if (status == POPLINER_OK)
        pl_step(&a->listener, "Storing the analysis", start);
    return status;
}

popliner_status popliner_analysis_store(popliner_analysis *analysis, popliner_memory_model model,
                                        const char *path, popliner_error *error) {
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = store_in_turn(analysis, model, path, error);
    pl_analysis_leave(analysis);
    return status;
}
