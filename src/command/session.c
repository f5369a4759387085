/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "popliner/debug_info.h"
#include "popliner/intervals.h"
#include "popliner/locate.h"
#include "popliner/read.h"

popliner_status session_fail(popliner_error *error, popliner_status status, const char *format,
                             ...) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

popliner_status session_finish_printing(popliner_error *error) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return POPLINER_OK;
    return session_fail(error, POPLINER_ERROR_OUTPUT, "standard output cannot be written: %s",
                        strerror(errno));
}

popliner_status session_print(char *text, popliner_error *error) {
    fputs(text, stdout);
    free(text);
    return session_finish_printing(error);
}

static bool is_same_file(const struct stat *info, const char *path) {
    struct stat other;
    return path != NULL && stat(path, &other) == 0 && other.st_dev == info->st_dev &&
           other.st_ino == info->st_ino;
}

/* Says before the work begins if the analysis cannot be stored where it should be. Storing replaces
 * the file of that name: a device must not be replaced, nor what is being read. */
static popliner_status check_save_path(const char *path, const char *profile, const char *debug,
                                       popliner_error *error) {
    struct stat info;
    if (path == NULL)
        return POPLINER_OK;
    if (stat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return session_fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: is %s", path,
                                S_ISDIR(info.st_mode) ? "a directory, not a file"
                                                      : "no regular file");
        if (is_same_file(&info, profile) || is_same_file(&info, debug))
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--save-to-file %s: would overwrite the %s that is read", path,
                                is_same_file(&info, profile) ? "profile" : "debug information");
    }
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *directory = length == 0 ? strdup(".") : strndup(path, length);
    popliner_status status = POPLINER_OK;
    if (directory == NULL)
        status = session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for file names");
    else if (stat(directory, &info) == 0 && !S_ISDIR(info.st_mode))
        status = session_fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: %s is no directory",
                              path, directory);
    else if (access(directory, W_OK | X_OK) != 0)
        status =
            session_fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: its directory %s: %s",
                         path, directory, strerror(errno));
    free(directory);
    return status;
}

popliner_status session_check_programs(const session *s, const char *read, const char *also_read,
                                       popliner_error *error) {
    const char *const paths[] = {s->options.write_lp, s->options.write_mps};
    struct stat info;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i] != NULL && stat(paths[i], &info) == 0 &&
            (is_same_file(&info, read) || is_same_file(&info, also_read)))
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--write-%s %s: would overwrite a file that is read",
                                i == 0 ? "lp" : "mps", paths[i]);
    return POPLINER_OK;
}

static popliner_status read_profile(session *s, popliner_error *error) {
    char *profile_path = NULL;
    char *debug_path = NULL;
    popliner_read_options read_options = {.listener = &s->listener,
                                          .num_threads = s->options.num_threads};
    double start = log_seconds();
    popliner_status status =
        popliner_locate(s->options.profile, s->options.debug, &profile_path, &debug_path, error);
    if (status == POPLINER_OK)
        status = check_save_path(s->options.save_to_file, profile_path, debug_path, error);
    if (status == POPLINER_OK)
        status = session_check_programs(s, profile_path, debug_path, error);
    if (status == POPLINER_OK)
        status = popliner_read_files(profile_path, debug_path, &read_options, &s->read_profile,
                                     &s->info, error);
    if (status == POPLINER_OK) {
        s->profile = s->read_profile;
        s->has_variables = true;
        log_step(&s->log,
                 s->info == NULL ? "Reading the profile"
                                 : "Reading the profile and the debug information",
                 start);
        popliner_graph counts = POPLINER_GRAPH_INIT;
        popliner_profile_graph(s->profile, &counts, NULL);
        log_message(&s->log, POPLINER_LEVEL_DEBUG,
                    "%zu lowered variables, %zu equivalence classes, %zu programs, %zu liveness "
                    "steps, %zu compute sets, %zu vertex types, %zu tiles",
                    counts.num_variables, counts.num_equivalence_classes, counts.num_programs,
                    counts.num_steps, counts.num_compute_sets, counts.num_vertex_types,
                    popliner_profile_target(s->profile)->num_tiles);
        if (s->info != NULL)
            log_message(&s->log, POPLINER_LEVEL_DEBUG, "%zu debug contexts, %zu of them needed",
                        popliner_debug_info_num_read(s->info),
                        popliner_debug_info_num_contexts(s->info));
        else
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "No debug.cbor was found beside the profile or one directory up; programs "
                        "are grouped by their own names instead of the model's operations.");
        start = log_seconds();
        status = popliner_operations_find(s->profile, s->info, &s->found_operations, error);
    }
    if (status == POPLINER_OK) {
        s->operations = s->found_operations;
        log_step(&s->log, "Finding the operations", start);
    }
    free(profile_path);
    free(debug_path);
    return status;
}

popliner_status session_load(session *s, popliner_error *error) {
    double start = log_seconds();
    popliner_status status = POPLINER_OK;
    if (s->options.load_from_file) {
        status = check_save_path(s->options.save_to_file, NULL, NULL, error);
        if (status == POPLINER_OK)
            status = session_check_programs(s, s->options.profile, NULL, error);
        if (status == POPLINER_OK)
            status = popliner_analysis_open(s->options.profile, &s->analysis, error);
        if (status == POPLINER_OK) {
            s->profile = popliner_analysis_profile(s->analysis);
            s->operations = popliner_analysis_operations(s->analysis);
            log_step(&s->log, "Loading the analysis", start);
        }
    } else {
        status = read_profile(s, error);
    }
    if (status == POPLINER_OK && popliner_operations_count(s->operations) == 0)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "No program belongs to an operation: there is nothing to split. Compile with "
                    "the engine option autoReport.outputDebugInfo set to true.");
    if (status != POPLINER_OK)
        return status;
    log_message(&s->log, POPLINER_LEVEL_DEBUG, "%zu operations",
                popliner_operations_count(s->operations));

    start = log_seconds();
    popliner_layer_options layer_options = {
        .name_regex = s->options.layer_name_regex,
        .first_layer_regex = s->options.inputs_regex_layer_0,
        .order = s->options.layer_order,
        .listener = &s->listener,
    };
    status = popliner_layers_assign(s->profile, s->operations, &layer_options, &s->layers, error);
    if (status == POPLINER_OK)
        log_step(&s->log, "Finding the layers", start);
    return status;
}

popliner_memory_model session_memory_model(const session *s, popliner_memory_model otherwise) {
    switch (s->options.memory_model) {
    case MODEL_POPLINER:
        return POPLINER_MEMORY_MODEL_POPLINER;
    case MODEL_FULL:
        return POPLINER_MEMORY_MODEL_FULL;
    case MODEL_DEFAULT:
        break;
    }
    return otherwise;
}

popliner_status session_need_variables(session *s, popliner_error *error) {
    double start = log_seconds();
    if (s->has_variables)
        return POPLINER_OK;
    popliner_status status = popliner_analysis_load_variables(s->analysis, &s->listener, error);
    if (status == POPLINER_OK) {
        s->has_variables = true;
        log_step(&s->log, "Loading the lowered variables", start);
    }
    return status;
}

/* Makes sure that the chain of a memory model is there. */
static popliner_status make_chain(session *s, popliner_memory_model model, popliner_error *error) {
    if (s->chain[model] != NULL)
        return POPLINER_OK;
    return popliner_chain_create(s->profile, s->operations, s->layers, model, &s->chain[model],
                                 error);
}

popliner_status session_prepare(session *s, popliner_memory_model model, popliner_error *error) {
    if (s->meter[model] != NULL)
        return POPLINER_OK;
    popliner_status status = session_need_variables(s, error);
    double start = log_seconds();
    if (status == POPLINER_OK)
        status = make_chain(s, model, error);
    if (status == POPLINER_OK)
        status = popliner_stage_meter_create(s->profile, s->operations, s->chain[model],
                                             &s->meter[model], error);
    if (status == POPLINER_OK)
        log_step(&s->log,
                 model == POPLINER_MEMORY_MODEL_FULL ? "Preparing the full memory model"
                                                     : "Preparing PopLiner's memory model",
                 start);
    return status;
}

/* What is stored of one chain takes about so much at most, for each way of recomputing. */
static const size_t most_stored_bytes = (size_t)64 << 20;

/* Measures all stages of a chain in a pipeline that trains, and keeps them in the session. */
static popliner_status measure_stages(session *s, popliner_chain *chain,
                                      popliner_recompute recompute, popliner_error *error) {
    popliner_interval_options interval_options = POPLINER_INTERVAL_OPTIONS_INIT;
    popliner_measured_stages *stages = &s->measured[s->num_measured];
    double start = log_seconds();
    stages->chain = chain;
    interval_options.pipeline.schedule = POPLINER_SCHEDULE_TRAINING;
    interval_options.pipeline.recompute = recompute;
    interval_options.with_cycles = true;
    interval_options.num_threads = s->options.num_threads;
    popliner_status status =
        popliner_intervals_measure(s->profile, s->operations, chain, &interval_options,
                                   &s->listener, NULL, &stages->details, error);
    if (status == POPLINER_OK) {
        s->num_measured++;
        log_step(&s->log,
                 recompute == POPLINER_RECOMPUTE_FULL
                     ? "Measuring all stages, to be stored, with recomputing"
                     : "Measuring all stages, to be stored",
                 start);
    }
    return status;
}

popliner_status session_save(session *s, popliner_error *error) {
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    bool trains = false;
    popliner_status status = session_need_variables(s, error);
    if (status == POPLINER_OK)
        status = make_chain(s, model, error);
    popliner_chain *chain = s->chain[model];
    /* very long chains are measured when they are asked for: they would be most of the file */
    if (status == POPLINER_OK &&
        popliner_stage_details_size(popliner_chain_num_units(chain)) <= most_stored_bytes) {
        status = popliner_intervals_train(s->profile, s->operations, chain, &trains, error);
        /* plain stages are among those of a pipeline: its last ones */
        if (status == POPLINER_OK)
            status = measure_stages(s, chain, POPLINER_RECOMPUTE_NONE, error);
        if (status == POPLINER_OK && trains && popliner_chain_num_units(chain) > 1)
            status = measure_stages(s, chain, POPLINER_RECOMPUTE_FULL, error);
    }
    double start = log_seconds();
    if (status == POPLINER_OK)
        status = popliner_analysis_save(s->profile, s->operations, s->measured, s->num_measured,
                                        &s->listener, s->options.save_to_file, error);
    if (status == POPLINER_OK)
        log_step(&s->log, "Storing the analysis", start);
    return status;
}

popliner_status session_find_stages(session *s, popliner_memory_model model,
                                    const popliner_pipeline *pipeline,
                                    const popliner_measured_stages **stages,
                                    popliner_error *error) {
    popliner_measured_stages found = {0};
    double start = log_seconds();
    *stages = NULL;
    for (size_t i = 0; i < s->num_measured; i++)
        if (popliner_chain_memory_model(s->measured[i].chain) == model &&
            popliner_stage_details_serve(s->measured[i].details, pipeline))
            *stages = &s->measured[i];
    if (*stages != NULL || s->analysis == NULL || s->num_measured == MOST_MEASURED)
        return POPLINER_OK;
    popliner_status status =
        popliner_analysis_find_stages(s->analysis, s->layers, model, pipeline, &found, error);
    if (status != POPLINER_OK || found.chain == NULL)
        return status;
    if (s->chain[model] == NULL)
        s->chain[model] = found.chain;
    else
        popliner_chain_free(found.chain);
    found.chain = s->chain[model];
    s->measured[s->num_measured] = found;
    *stages = &s->measured[s->num_measured++];
    log_step(&s->log, "Loading the measured stages", start);
    return POPLINER_OK;
}

/* The most that the layout leaves unused on any tile, beyond what is live there. */
static uint64_t largest_gap(const popliner_profile *profile) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < popliner_profile_target(profile)->num_tiles; tile++) {
        popliner_tile_memory m = POPLINER_TILE_MEMORY_INIT;
        popliner_profile_tile(profile, tile, &m, NULL);
        uint64_t live = m.always_live_bytes + m.not_always_live_peak_bytes;
        uint64_t gap =
            m.total_including_gaps_bytes > live ? m.total_including_gaps_bytes - live : 0;
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

popliner_status session_less_reserve(const session *s, uint64_t memory_bytes, uint64_t *limit_bytes,
                                     popliner_error *error) {
    uint64_t reserve = 0;
    switch (s->options.reserve) {
    case RESERVE_NOTHING:
        break;
    case RESERVE_BYTES:
        reserve = s->options.reserve_amount;
        break;
    case RESERVE_PERCENT:
        reserve = (uint64_t)((double)memory_bytes * (double)s->options.reserve_amount / 10000.0);
        break;
    case RESERVE_GAPS:
        reserve = largest_gap(s->profile);
        break;
    }
    if (reserve > memory_bytes)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--reserve: %llu bytes are more than a tile has (%llu)",
                            (unsigned long long)reserve, (unsigned long long)memory_bytes);
    *limit_bytes = memory_bytes - reserve;
    return POPLINER_OK;
}

popliner_status session_limit(session *s, uint64_t *limit_bytes, popliner_error *error) {
    uint64_t memory = s->options.mem_per_tile_bytes;
    if (memory == 0)
        memory = popliner_profile_target(s->profile)->bytes_per_tile;
    popliner_status status = session_less_reserve(s, memory, limit_bytes, error);
    if (status == POPLINER_OK && *limit_bytes < memory)
        log_message(&s->log, POPLINER_LEVEL_INFO, "Keeping %llu of %llu bytes free on every tile",
                    (unsigned long long)(memory - *limit_bytes), (unsigned long long)memory);
    return status;
}

void session_free(session *s) {
    for (size_t i = 0; i < MOST_MEASURED; i++) {
        s->measured[i].chain = NULL; /* freed below */
        popliner_measured_stages_clear(&s->measured[i]);
    }
    for (int model = 0; model < NUM_MEMORY_MODELS; model++) {
        popliner_stage_meter_free(s->meter[model]);
        popliner_chain_free(s->chain[model]);
    }
    popliner_layers_free(s->layers);
    popliner_operations_free(s->found_operations);
    popliner_debug_info_free(s->info);
    popliner_profile_free(s->read_profile);
    popliner_analysis_close(s->analysis);
}
