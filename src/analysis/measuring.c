/* Makes chains, meters and measured stages of the memory models, and stores them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage.h"

/* Loads the chain that was stored. */
static popliner_status load_chain(popliner_analysis *a, popliner_memory_model model,
                                  popliner_error *error) {
    pl_chain **chain = &a->models[model].chain;
    PL_TRY(pl_stored_analysis_load_chain(a->stored, a->layers, model, chain, error));
    return *chain != NULL
               ? POPLINER_OK
               : pl_fail(error, POPLINER_ERROR_USAGE,
                         "%s: was stored for other layers, or another memory model; use the same, "
                         "or the profile instead",
                         pl_analysis_stored_name(a));
}

popliner_status pl_analysis_make_chain(popliner_analysis *analysis, popliner_memory_model model,
                                       popliner_error *error) {
    pl_model_parts *parts = &analysis->models[model];
    if (parts->chain != NULL)
        return POPLINER_OK;
    if (analysis->stored != NULL)
        return load_chain(analysis, model, error);
    return pl_chain_create(analysis->profile, analysis->operations, analysis->layers, model,
                           &parts->chain, error);
}

static popliner_status make_meter(popliner_analysis *a, popliner_memory_model model,
                                  popliner_error *error) {
    pl_model_parts *parts = &a->models[model];
    if (a->stored == NULL)
        return pl_stage_meter_create(parts->chain, a->num_threads, &parts->meter, error);
    if (model == POPLINER_MEMORY_MODEL_FULL)
        return pl_stored_analysis_load_meter(a->stored, parts->chain, a->num_threads, &parts->meter,
                                             error);
    return pl_analysis_require_variables(a, error);
}

popliner_status pl_analysis_make_meter(popliner_analysis *analysis, popliner_memory_model model,
                                       popliner_error *error) {
    popliner_analysis *a = analysis;
    double start = pl_clock_seconds();
    if (a->models[model].meter != NULL)
        return POPLINER_OK;
    pl_progress(&a->listener, "Preparing the memory model", 0, 1);
    popliner_status status = pl_analysis_make_chain(a, model, error);
    if (status == POPLINER_OK)
        status = make_meter(a, model, error);
    if (status != POPLINER_OK)
        return status;
    pl_progress(&a->listener, "Preparing the memory model", 1, 1);
    pl_step(&a->listener,
            model == POPLINER_MEMORY_MODEL_FULL ? "Preparing the full memory model"
                                                : "Preparing PopLiner's memory model",
            start);
    return POPLINER_OK;
}

/* Returns the stages in memory that serve a pipeline, and have an estimate; NULL if there are
 * none. */
static pl_stage_details *known_stages(const pl_model_parts *parts,
                                      const popliner_pipeline *pipeline, popliner_need need) {
    for (size_t i = 0; i < PL_NUM_STAGE_PLACES; i++)
        if (parts->stages[i] != NULL && parts->stages[i]->largest[need].start != NULL &&
            pl_details_serve(&parts->stages[i]->key, pipeline))
            return parts->stages[i];
    return NULL;
}

/* Puts stages in the place of those that do not serve the pipeline. */
static void place_stages(pl_model_parts *parts, const popliner_pipeline *pipeline,
                         pl_stage_details *stages) {
    const size_t place = pl_stages_place(pipeline);
    pl_stage_details_free(parts->stages[place]);
    parts->stages[place] = stages;
}

popliner_status pl_analysis_find_stages(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_pipeline *pipeline, popliner_need need,
                                        const pl_stage_details **stages, popliner_error *error) {
    pl_model_parts *parts = &analysis->models[model];
    pl_stage_details *found = NULL;
    double start = pl_clock_seconds();
    *stages = known_stages(parts, pipeline, need);
    if (*stages != NULL || analysis->stored == NULL)
        return POPLINER_OK;
    PL_TRY(pl_stored_analysis_find_stages(analysis->stored, parts->chain, pipeline, &found, error));
    if (found == NULL)
        return POPLINER_OK;
    place_stages(parts, pipeline, found);
    *stages = found;
    pl_step(&analysis->listener, "Loading the measured stages", start);
    return POPLINER_OK;
}

/* Measures all stages for pipelines like this one; a long chain's only for one estimate. */
static popliner_status measure_all(popliner_analysis *a, popliner_memory_model model,
                                   const popliner_pipeline *pipeline, popliner_need need,
                                   pl_stage_details **details, popliner_error *error) {
    const pl_model_parts *parts = &a->models[model];
    const double start = pl_clock_seconds();
    const bool is_long = pl_stage_details_are_large(pl_chain_num_units(parts->chain));
    const pl_interval_options options = {*pipeline, is_long ? 1u << need : 0, &a->listener,
                                         &a->bounds};
    PL_TRY(pl_intervals_measure(parts->meter, &options, details, error));
    pl_step(&a->listener, "Measuring all stages", start);
    return POPLINER_OK;
}

popliner_status pl_analysis_stages(popliner_analysis *analysis, popliner_memory_model model,
                                   const popliner_pipeline *pipeline, popliner_need need,
                                   bool with_variables, const pl_stage_details **stages,
                                   popliner_error *error) {
    pl_model_parts *parts = &analysis->models[model];
    pl_stage_details *own = known_stages(parts, pipeline, need);
    const bool is_again = own != NULL;
    if (!is_again) {
        PL_TRY(pl_analysis_find_stages(analysis, model, pipeline, need, stages, error));
        if (*stages != NULL)
            return POPLINER_OK;
        PL_TRY(pl_analysis_make_meter(analysis, model, error));
        PL_TRY(measure_all(analysis, model, pipeline, need, &own, error));
        place_stages(parts, pipeline, own);
    }
    *stages = own;
    return (is_again || with_variables) && own->sums != NULL && parts->meter != NULL
               ? pl_stage_details_find_variables(own, parts->meter, error)
               : POPLINER_OK;
}

popliner_status popliner_analysis_is_training(popliner_analysis *analysis,
                                              popliner_memory_model model, bool *is_training,
                                              popliner_error *error) {
    const popliner_chain *chain;
    *is_training = false;
    pl_analysis_enter(analysis);
    popliner_status status = popliner_analysis_chain(analysis, model, &chain, error);
    if (status == POPLINER_OK)
        status = pl_analysis_know_cycles(&analysis->models[model], error);
    if (status == POPLINER_OK)
        *is_training = analysis->models[model].is_training;
    return pl_analysis_leave(analysis, status);
}

/* Checks that these can be stages of one IPU. */
static popliner_status check_stages(const pl_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, popliner_error *error) {
    size_t num_units = pl_chain_num_units(chain);
    for (size_t i = 0; i < num_stages; i++) {
        const popliner_interval *it = &stages[i];
        if (it->first_unit > it->last_unit || it->last_unit >= num_units ||
            it->stages_to_end == 0 || (i > 0 && it->first_unit <= stages[i - 1].last_unit))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "stage %zu of %zu: units %zu to %zu, %zu stages to the end; expected "
                           "ascending units below %zu",
                           i, num_stages, it->first_unit, it->last_unit, it->stages_to_end,
                           num_units);
    }
    return POPLINER_OK;
}

/* ---- Single stages ---- */

void popliner_stage_memory_free(popliner_stage_memory *memory) {
    if (memory != NULL)
        pl_stage_memory_clear(memory);
    free(memory);
}

static popliner_status measure_stages_in_turn(popliner_analysis *analysis,
                                              const popliner_request *request,
                                              const popliner_interval *stages, size_t num_stages,
                                              popliner_stage_detail *detail,
                                              popliner_stage_memory **memory,
                                              popliner_error *error) {
    popliner_request r;
    PL_TRY(pl_analysis_take_request(request, &r, error));
    PL_TRY(pl_analysis_begin(analysis, r.memory_model, PL_NEED_METER, error));
    const pl_model_parts *parts = &analysis->models[r.memory_model];
    popliner_pipeline pipeline = pl_analysis_pipeline(&r);
    pipeline.copies = r.copies; /* a given number of stages holds for these */
    PL_TRY(check_stages(parts->chain, stages, num_stages, error));
    popliner_stage_memory *own = calloc(1, sizeof *own);
    if (own == NULL)
        return pl_fail_memory(error, "the memory of a stage");
    popliner_status status =
        pl_stage_measure(parts->meter, &pipeline, stages, num_stages, own, detail, error);
    if (status == POPLINER_OK)
        status = pl_stage_ipus_count(parts->chain, stages, num_stages, &detail->num_ipus, error);
    if (status == POPLINER_OK && memory != NULL)
        *memory = own;
    else
        popliner_stage_memory_free(own);
    return status;
}

popliner_status popliner_analysis_measure_stages(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_interval *stages, size_t num_stages,
                                                 popliner_stage_detail *detail,
                                                 popliner_stage_memory **memory,
                                                 popliner_error *error) {
    *detail = (popliner_stage_detail){0};
    if (memory != NULL)
        *memory = NULL;
    pl_analysis_enter(analysis);
    return pl_analysis_leave(analysis, measure_stages_in_turn(analysis, request, stages, num_stages,
                                                              detail, memory, error));
}

/* ---- Storing ---- */

/* True if `path` names the file that was read, by whatever name. */
static bool is_same_file(const char *path, const pl_analysis_file *read) {
    struct stat new_file;
    struct stat old_file;
    return read->name != NULL && stat(path, &new_file) == 0 && stat(read->name, &old_file) == 0 &&
           new_file.st_dev == old_file.st_dev && new_file.st_ino == old_file.st_ino;
}

enum { MAX_STORED = 3 };

/* Lists the stages to store: measured, or stored before; not those that are kept, as a file must
 * not depend on earlier requests. */
static popliner_status list_stages(popliner_analysis *a, popliner_memory_model model,
                                   pl_stage_details *stages[MAX_STORED], popliner_error *error) {
    /* rarer pipelines follow from the digests; their largest variables would need more space */
    static const struct {
        popliner_schedule schedule;
        popliner_recompute recompute;
    } stored[MAX_STORED] = {{POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE},
                            {POPLINER_SCHEDULE_POPART, POPLINER_RECOMPUTE_NONE},
                            {POPLINER_SCHEDULE_POPART, POPLINER_RECOMPUTE_FULL}};
    popliner_request request = POPLINER_REQUEST_INIT;
    pl_model_parts *parts = &a->models[model];
    PL_TRY(pl_analysis_know_cycles(parts, error));
    /* those of very long chains would be most of the file */
    if (pl_stage_details_are_large(pl_chain_num_units(parts->chain)))
        return POPLINER_OK;
    for (size_t i = 0; i < (parts->is_training ? MAX_STORED : 1); i++) {
        request.memory_model = model;
        request.schedule = stored[i].schedule;
        request.recompute = stored[i].recompute;
        const popliner_pipeline pipeline = pl_analysis_pipeline(&request);
        if (a->stored != NULL)
            PL_TRY(pl_stored_analysis_find_stages(a->stored, parts->chain, &pipeline, &stages[i],
                                                  error));
        else
            PL_TRY(measure_all(a, model, &pipeline, POPLINER_NEED_EXPECTED, &stages[i], error));
        if (a->stored == NULL)
            PL_TRY(pl_stage_details_find_variables(stages[i], parts->meter, error));
    }
    return POPLINER_OK;
}

/* Stores the parts of a model, which are there. */
static popliner_status store_parts(popliner_analysis *a, popliner_memory_model model,
                                   const char *path, popliner_error *error) {
    const bool is_full = model == POPLINER_MEMORY_MODEL_FULL;
    const pl_model_parts *parts = &a->models[model];
    pl_stage_details *own[MAX_STORED] = {NULL};
    const pl_stage_details *stages[MAX_STORED];
    pl_messages warnings = a->recorder.warnings;
    warnings.count = a->num_read_warnings;
    pl_stored_contents contents = {
        a->profile, a->operations, parts->chain, is_full ? parts->meter : NULL, stages,
        0,          &warnings};
    popliner_status status = list_stages(a, model, own, error);
    const double start = pl_clock_seconds();
    for (size_t i = 0; i < MAX_STORED; i++)
        if (own[i] != NULL)
            stages[contents.num_stages++] = own[i];
    if (status == POPLINER_OK) {
        pl_progress(&a->listener, "Storing the analysis", 0, 1);
        status = pl_stored_analysis_save(&contents, path, error);
    }
    for (size_t i = 0; i < MAX_STORED; i++)
        pl_stage_details_free(own[i]);
    if (status != POPLINER_OK)
        return status;
    pl_progress(&a->listener, "Storing the analysis", 1, 1);
    pl_step(&a->listener, "Storing the analysis", start);
    return POPLINER_OK;
}

static popliner_status store_in_turn(popliner_analysis *analysis, popliner_memory_model model,
                                     const char *path, popliner_error *error) {
    popliner_analysis *a = analysis;
    /* a stored analysis may be stored again: it was read as a whole */
    if (is_same_file(path, &a->profile_file) || is_same_file(path, &a->debug_file))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%.300s: would overwrite a file that the analysis is read from", path);
    const bool is_full = model == POPLINER_MEMORY_MODEL_FULL;
    PL_TRY(pl_analysis_begin(a, model, is_full || a->stored == NULL ? PL_NEED_METER : PL_NEED_CHAIN,
                             error));
    return store_parts(a, model, path, error);
}

popliner_status popliner_analysis_store(popliner_analysis *analysis, popliner_memory_model model,
                                        const char *path, popliner_error *error) {
    pl_analysis_enter(analysis);
    return pl_analysis_leave(analysis, store_in_turn(analysis, model, path, error));
}
