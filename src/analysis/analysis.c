/* Creates an analysis, and computes its parts when they are first needed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "answer/certificate_data.h"
#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "solve/options.h"

/* ---- Reading and loading ---- */

/* Hands the analysis out, or frees it after a failure. */
static popliner_status finish(popliner_analysis *a, popliner_status status,
                              popliner_analysis **analysis) {
    if (status != POPLINER_OK)
        popliner_analysis_free(a);
    *analysis = status == POPLINER_OK ? a : NULL;
    return status;
}

bool pl_analysis_make_lock(pthread_mutex_t *lock) {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    const bool is_made = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                         pthread_mutex_init(lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return is_made;
}

popliner_status pl_analysis_create(const popliner_analysis_options *options,
                                   popliner_analysis **analysis, popliner_error *error) {
    *analysis = NULL;
    popliner_analysis *made = calloc(1, sizeof *made);
    if (made == NULL || !pl_analysis_make_lock(&made->lock)) {
        free(made);
        return pl_fail_memory(error, "the analysis");
    }
    popliner_listener callers = POPLINER_LISTENER_INIT;
    popliner_status status =
        pl_struct_take(&callers, sizeof callers, options->listener, "popliner_listener", error);
    pl_recorder_begin(&made->recorder, &callers, &made->listener);
    if (status == POPLINER_OK)
        status = pl_option_names_take(options->option_names, &made->option_names, error);
    made->layer_options = (pl_layer_options){
        .name_regex = pl_arrays_text(&made->texts, options->layer_name_regex),
        .first_layer_regex = pl_arrays_text(&made->texts, options->first_layer_regex),
        .order = options->layer_order,
        .listener = &made->listener,
        .name_regex_name = made->option_names.layer_name_regex,
        .first_layer_regex_name = made->option_names.first_layer_regex,
        .name_regex_hint = made->option_names.layer_name_regex_hint,
    };
    made->num_threads = options->num_threads;
    made->bounds.should_stop = options->should_stop;
    made->bounds.user = options->should_stop_user;
    made->bounds.max_bytes = options->max_memory_bytes;
    if (status == POPLINER_OK && made->texts.failed)
        status = pl_fail_memory(error, "the analysis");
    return finish(made, status, analysis);
}

popliner_status popliner_analysis_options_check(const popliner_analysis_options *options,
                                                popliner_error *error) {
    popliner_analysis_options o = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *empty = NULL;
    popliner_status status =
        pl_struct_take(&o, sizeof o, options, "popliner_analysis_options", error);
    if (status == POPLINER_OK)
        status = pl_analysis_create(&o, &empty, error);
    if (status == POPLINER_OK)
        status = pl_layer_options_check(&empty->layer_options, error);
    popliner_analysis_free(empty);
    return status;
}

/* Warns of breached relations, of missing data, and of replicas that differ. */
static void tell_checks(const popliner_analysis *a) {
    pl_profile_tell_absences(a->profile, &a->listener);
    pl_profile_tell_checks(a->profile, &a->listener);
    pl_part_tell(a->profile, &a->listener);
}

/* Reports what was read. */
static void tell_files(const popliner_analysis *a) {
    const popliner_profile *p = a->profile;
    pl_tell(&a->listener, POPLINER_LEVEL_DEBUG,
            "%zu lowered variables, %zu equivalence classes, %zu programs, %zu liveness steps, %zu "
            "compute sets, %zu vertex types, %zu tiles",
            p->num_variables, p->num_classes, p->num_programs, p->num_steps, p->num_compute_sets,
            p->num_vertex_types, p->target.num_tiles);
    if (a->info != NULL) {
        pl_tell(&a->listener, POPLINER_LEVEL_DEBUG, "%zu debug contexts", a->info->num_contexts);
    } else {
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "No debug.cbor was found; programs are grouped by their own names.");
    }
}

/* Stores the name and size of a file, if there is one. */
static popliner_status keep_file(popliner_analysis *a, pl_analysis_file *file, const char *path,
                                 popliner_error *error) {
    struct stat info;
    if (path == NULL)
        return POPLINER_OK;
    if (stat(path, &info) != 0)
        return pl_fail_reading(error, path);
    file->size_bytes = (uint64_t)info.st_size;
    file->name = pl_arrays_text(&a->texts, path);
    return a->texts.failed ? pl_fail_memory(error, "the files") : POPLINER_OK;
}

/* Reads the files into a new analysis. */
static popliner_status read_files(popliner_analysis *a, const popliner_analysis_options *o,
                                  const char *profile_file, const char *debug_file,
                                  popliner_error *error) {
    const double start = pl_clock_seconds();
    const pl_read_options options = {
        .listener = &a->listener,
        .num_threads = o->num_threads,
        .bounds = &a->bounds,
        .is_one_ipu = o->ipu != SIZE_MAX,
        .ipu = o->ipu,
        .ipu_name = a->option_names.ipu,
    };
    PL_TRY(pl_read_files(profile_file, debug_file, &options, &a->read_profile, &a->info, error));
    PL_TRY(keep_file(a, &a->profile_file, profile_file, error));
    PL_TRY(keep_file(a, &a->debug_file, debug_file, error));
    a->profile = a->read_profile;
    a->num_read_warnings = a->recorder.warnings.count;
    pl_step(&a->listener,
            a->info == NULL ? "Reading the profile"
                            : "Reading the profile and the debug information",
            start);
    tell_files(a);
    tell_checks(a);
    return POPLINER_OK;
}

popliner_status popliner_analysis_read(const char *path, const char *debug_path,
                                       const popliner_analysis_options *options,
                                       popliner_analysis **analysis, popliner_error *error) {
    popliner_analysis_options o = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *a = NULL;
    char *profile_file = NULL;
    char *debug_file = NULL;
    *analysis = NULL;
    PL_TRY(pl_struct_take(&o, sizeof o, options, "popliner_analysis_options", error));
    PL_TRY(popliner_analysis_locate(path, debug_path, &profile_file, &debug_file, error));
    popliner_status status = pl_analysis_create(&o, &a, error);
    if (status == POPLINER_OK)
        status = finish(a, read_files(a, &o, profile_file, debug_file, error), analysis);
    free(profile_file);
    free(debug_file);
    return status;
}

/* Reports the number of operations. */
static void tell_operations(const popliner_analysis *a) {
    size_t count = pl_operations_count(a->operations);
    if (count == 0)
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "No program belongs to an operation; compile with autoReport.outputDebugInfo set "
                "to true.");
    pl_tell(&a->listener, POPLINER_LEVEL_DEBUG, "%zu operations", count);
}

/* Warns if the debug information was missing when the analysis was stored. */
static void tell_stored_pair(const popliner_analysis *a) {
    const popliner_profile *p = a->profile;
    bool has_context = false;
    for (size_t i = 0; i < p->num_programs && !has_context; i++)
        has_context = p->program_debug_context[i] != 0;
    if (has_context && p->num_checks > 0 && p->checks[POPLINER_RELATION_DEBUG_INFO].checked == 0)
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "The analysis was stored without debug.cbor; programs are grouped by their names.");
}

/* Loads a file into a new analysis. */
static popliner_status load_file(popliner_analysis *a, const popliner_analysis_options *o,
                                 const char *path, popliner_error *error) {
    const double start = pl_clock_seconds();
    if (o->ipu != SIZE_MAX)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "%s %zu: a stored analysis has the IPUs it was stored with; use the profile instead",
            a->option_names.ipu, o->ipu);
    PL_TRY(pl_stored_analysis_open(path, &a->stored, error));
    PL_TRY(keep_file(a, &a->stored_file, path, error));
    PL_TRY(pl_stored_analysis_tell(a->stored, &a->listener, error));
    a->profile = a->stored->profile;
    a->operations = a->stored->operations;
    a->num_read_warnings = a->recorder.warnings.count;
    pl_step(&a->listener, "Loading the analysis", start);
    tell_operations(a);
    tell_checks(a);
    tell_stored_pair(a);
    return POPLINER_OK;
}

popliner_status popliner_analysis_load(const char *path, const popliner_analysis_options *options,
                                       popliner_analysis **analysis, popliner_error *error) {
    popliner_analysis_options o = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *a = NULL;
    *analysis = NULL;
    PL_TRY(pl_struct_take(&o, sizeof o, options, "popliner_analysis_options", error));
    PL_TRY(pl_analysis_create(&o, &a, error));
    return finish(a, load_file(a, &o, path, error), analysis);
}

void popliner_analysis_free(popliner_analysis *analysis) {
    popliner_analysis *a = analysis;
    if (a == NULL)
        return;
    pthread_mutex_destroy(&a->lock);
    for (size_t model = 0; model < POPLINER_NUM_MEMORY_MODELS; model++) {
        pl_model_parts *parts = &a->models[model];
        for (size_t place = 0; place < PL_NUM_STAGE_PLACES; place++)
            pl_stage_details_free(parts->stages[place]);
        popliner_diagnosis_free((popliner_diagnosis *)parts->diagnosis);
        pl_stage_meter_free(parts->meter);
        pl_chain_free(parts->chain);
        pl_arrays_free(&parts->arrays);
    }
    pl_arrays_free(&a->texts);
    pl_sharing_clear(&a->sharing);
    pl_layers_free(a->layers);
    pl_operations_free(a->found_operations);
    pl_debug_info_free(a->info);
    pl_profile_free(a->read_profile);
    pl_stored_analysis_close(a->stored);
    pl_messages_clear(&a->recorder.warnings);
    free(a);
}

void pl_analysis_enter(popliner_analysis *analysis) {
    pthread_mutex_lock(&analysis->lock);
}

popliner_status pl_analysis_leave(popliner_analysis *analysis, popliner_status status) {
    pthread_mutex_unlock(&analysis->lock);
    return status;
}

/* ---- Parts ---- */

const popliner_profile *popliner_analysis_profile(const popliner_analysis *analysis) {
    return analysis->profile;
}

popliner_status popliner_analysis_add_message(popliner_analysis *analysis, popliner_level level,
                                              const char *text, popliner_error *error) {
    if ((unsigned)level > POPLINER_LEVEL_ERROR || text == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a message has no text, or the unknown level %d", (int)level);
    pl_analysis_enter(analysis);
    pl_messages_add(&analysis->recorder.warnings, level, text, true);
    return pl_analysis_leave(analysis, analysis->recorder.warnings.arrays.failed
                                           ? pl_fail_memory(error, "a message")
                                           : POPLINER_OK);
}

popliner_status pl_analysis_require_variables(const popliner_analysis *a, popliner_error *error) {
    if (a->stored == NULL)
        return POPLINER_OK;
    return pl_fail(
        error, POPLINER_ERROR_USAGE,
        "%s: a stored analysis has no lowered variables, which this needs; use the profile "
        "instead",
        pl_analysis_stored_name(a));
}

static popliner_status find_operations(popliner_analysis *a, popliner_error *error) {
    const double start = pl_clock_seconds();
    if (a->operations != NULL)
        return POPLINER_OK;
    PL_TRY(pl_operations_find(a->profile, a->info, &a->found_operations, error));
    a->operations = a->found_operations;
    pl_step(&a->listener, "Finding the operations", start);
    tell_operations(a);
    return POPLINER_OK;
}

popliner_status popliner_analysis_operations(popliner_analysis *analysis,
                                             const popliner_operation **operations, size_t *count,
                                             popliner_error *error) {
    *operations = NULL;
    *count = 0;
    pl_analysis_enter(analysis);
    const popliner_status status = find_operations(analysis, error);
    if (status == POPLINER_OK) {
        *operations = analysis->operations->items;
        *count = analysis->operations->count;
    }
    return pl_analysis_leave(analysis, status);
}

static popliner_status find_layers(popliner_analysis *a, popliner_error *error) {
    PL_TRY(find_operations(a, error));
    const double start = pl_clock_seconds();
    if (a->layers != NULL)
        return POPLINER_OK;
    PL_TRY(pl_layers_assign(a->profile, a->operations, &a->layer_options, &a->layers, error));
    pl_step(&a->listener, "Finding the layers", start);
    return POPLINER_OK;
}

popliner_status popliner_analysis_layers(popliner_analysis *analysis,
                                         const popliner_layer_finding **layers, size_t *count,
                                         popliner_error *error) {
    *layers = NULL;
    *count = 0;
    pl_analysis_enter(analysis);
    const popliner_status status = find_layers(analysis, error);
    if (status == POPLINER_OK) {
        *layers = analysis->layers->items;
        *count = analysis->layers->num_operations;
    }
    return pl_analysis_leave(analysis, status);
}

popliner_status pl_analysis_begin(popliner_analysis *analysis, popliner_memory_model model,
                                  pl_needed needed, popliner_error *error) {
    pl_bounds_begin(&analysis->bounds);
    if ((unsigned)model >= POPLINER_NUM_MEMORY_MODELS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown memory model %d", (int)model);
    PL_TRY(find_layers(analysis, error));
    if (needed == PL_NEED_CHAIN)
        PL_TRY(pl_analysis_make_chain(analysis, model, error));
    if (needed == PL_NEED_METER)
        PL_TRY(pl_analysis_make_meter(analysis, model, error));
    return POPLINER_OK;
}

popliner_status pl_analysis_check_certificate(const popliner_analysis *analysis,
                                              const pl_certificate *certificate, const char *user,
                                              popliner_error *error) {
    const pl_chain *chain = certificate == NULL ? NULL : certificate->input.chain;
    if (certificate == NULL || (chain != NULL && chain->profile == analysis->profile))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s needs a certificate of this analysis", user);
}

popliner_status popliner_analysis_chain(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_chain **chain, popliner_error *error) {
    *chain = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = pl_analysis_begin(
        analysis, model, analysis->stored != NULL ? PL_NEED_CHAIN : PL_NEED_METER, error);
    if (status == POPLINER_OK)
        *chain = &analysis->models[model].chain->told;
    return pl_analysis_leave(analysis, status);
}

bool popliner_analysis_debug_path(const popliner_analysis *analysis, uint64_t id, char *path,
                                  size_t size) {
    if (analysis->info != NULL)
        return pl_debug_info_path(analysis->info, id, path, size);
    if (size > 0)
        *path = '\0';
    return false;
}

/* ---- the diagnosis, and what layers share ---- */

static popliner_status diagnose_in_turn(popliner_analysis *a, popliner_memory_model model,
                                        bool layer_operations_only, const popliner_interval *units,
                                        pl_diagnosis **diagnosis, popliner_error *error) {
    const double start = pl_clock_seconds();
    PL_TRY(pl_analysis_require_variables(a, error));
    PL_TRY(pl_analysis_begin(a, model, PL_NEED_METER, error));
    pl_diagnosis *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the diagnosis");
    const popliner_status status =
        pl_diagnose(a->models[model].meter, layer_operations_only, units, made, error);
    if (status != POPLINER_OK) {
        free(made); /* it is empty */
        return status;
    }
    made->option_names = a->option_names;
    pl_step(&a->listener, "Diagnosing", start);
    *diagnosis = made;
    return POPLINER_OK;
}

popliner_status popliner_analysis_diagnose(popliner_analysis *analysis, popliner_memory_model model,
                                           bool layer_operations_only, size_t first_unit,
                                           size_t last_unit, popliner_diagnosis **diagnosis,
                                           popliner_error *error) {
    const popliner_interval units = {first_unit, last_unit, 1};
    pl_diagnosis *made = NULL;
    *diagnosis = NULL;
    pl_analysis_enter(analysis);
    const popliner_status status =
        diagnose_in_turn(analysis, model, layer_operations_only, &units, &made, error);
    *diagnosis = made == NULL ? NULL : &made->told;
    return pl_analysis_leave(analysis, status);
}

popliner_status pl_analysis_keep_diagnosis(popliner_analysis *a, popliner_memory_model model,
                                           const pl_diagnosis **diagnosis, popliner_error *error) {
    pl_diagnosis **kept = &a->models[model].diagnosis;
    const popliner_interval all = {0, SIZE_MAX, 1};
    const popliner_status status =
        *kept != NULL ? POPLINER_OK : diagnose_in_turn(a, model, false, &all, kept, error);
    *diagnosis = *kept;
    return status;
}

popliner_status pl_analysis_pair_layers(popliner_analysis *a, popliner_memory_model model,
                                        const pl_sharing **sharing, popliner_error *error) {
    *sharing = NULL;
    PL_TRY(pl_analysis_require_variables(a, error));
    PL_TRY(pl_analysis_begin(a, model, PL_NEED_CHAIN, error));
    if (a->sharing.affinity_bytes == NULL)
        PL_TRY(pl_sharing_measure(a->models[model].chain, &a->sharing, error));
    *sharing = &a->sharing;
    return POPLINER_OK;
}
