/* The command: reads its options, calls the library, prints what it returns.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/log.h"
#include "command/options.h"
#include "popliner/analysis.h"
#include "popliner/intervals.h"
#include "popliner/locate.h"
#include "popliner/report.h"
#include "popliner/solver.h"
#include "popliner/version.h"

enum { EXIT_NO_SPLIT = 1 };

/* What one run works on. */
typedef struct run {
    options options;
    log_state log;
    popliner_listener listener;
    popliner_profile *profile;
    popliner_operations *operations;
    popliner_layers *layers;
    popliner_stage_meter *meter;
    bool no_split_fits;
} run;

static int exit_status(popliner_status status) {
    switch (status) {
    case POPLINER_OK:
        return EXIT_SUCCESS;
    case POPLINER_ERROR_USAGE:
        return 2;
    case POPLINER_ERROR_INPUT:
    case POPLINER_ERROR_OUTPUT:
        return 3;
    case POPLINER_ERROR_MEMORY:
    case POPLINER_ERROR_INTERNAL:
        break;
    }
    return 4;
}

static popliner_status fail(popliner_error *error, popliner_status status, const char *format,
                            ...) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return status;
}

/* Whether all that was printed has arrived. */
static popliner_status finish_printing(popliner_error *error) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return POPLINER_OK;
    return fail(error, POPLINER_ERROR_OUTPUT, "standard output cannot be written: %s",
                strerror(errno));
}

/* Prints a text that the library made, and frees it. */
static popliner_status print(char *text, popliner_error *error) {
    fputs(text, stdout);
    free(text);
    return finish_printing(error);
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
            return fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: is %s", path,
                        S_ISDIR(info.st_mode) ? "a directory, not a file" : "no regular file");
        if (is_same_file(&info, profile) || is_same_file(&info, debug))
            return fail(error, POPLINER_ERROR_USAGE,
                        "--save-to-file %s: would overwrite the %s that is read", path,
                        is_same_file(&info, profile) ? "profile" : "debug information");
    }
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *directory = length == 0 ? strdup(".") : strndup(path, length);
    popliner_status status = POPLINER_OK;
    if (directory == NULL)
        status = fail(error, POPLINER_ERROR_MEMORY, "not enough memory for file names");
    else if (stat(directory, &info) == 0 && !S_ISDIR(info.st_mode))
        status = fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: %s is no directory", path,
                      directory);
    else if (access(directory, W_OK | X_OK) != 0)
        status = fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: its directory %s: %s", path,
                      directory, strerror(errno));
    free(directory);
    return status;
}

static popliner_status read_debug_info(run *r, const char *path, popliner_debug_info **info,
                                       popliner_error *error) {
    *info = NULL;
    if (path == NULL) {
        log_message(&r->log, POPLINER_LEVEL_WARNING,
                    "No debug.cbor was found beside the profile or one directory up; programs are "
                    "grouped by their own names instead of the model's operations.");
        return POPLINER_OK;
    }
    return popliner_debug_info_read(path, &r->listener, info, error);
}

static popliner_status read_profile(run *r, popliner_error *error) {
    char *profile_path = NULL;
    char *debug_path = NULL;
    popliner_debug_info *info = NULL;
    double start = log_seconds();
    popliner_status status =
        popliner_locate(r->options.profile, r->options.debug, &profile_path, &debug_path, error);
    if (status == POPLINER_OK)
        status = check_save_path(r->options.save_to_file, profile_path, debug_path, error);
    if (status == POPLINER_OK)
        status = popliner_profile_read(profile_path, &r->listener, &r->profile, error);
    if (status == POPLINER_OK) {
        log_step(&r->log, "Reading the profile", start);
        popliner_profile_counts counts = popliner_profile_get_counts(r->profile);
        log_message(&r->log, POPLINER_LEVEL_DEBUG,
                    "%zu lowered variables, %zu equivalence classes, %zu programs, %zu liveness "
                    "steps, %zu compute sets, %zu vertex types, %zu tiles",
                    counts.num_variables, counts.num_equivalence_classes, counts.num_programs,
                    counts.num_steps, counts.num_compute_sets, counts.num_vertex_types,
                    popliner_profile_target(r->profile)->num_tiles);
        start = log_seconds();
        status = read_debug_info(r, debug_path, &info, error);
    }
    if (status == POPLINER_OK) {
        if (info != NULL) {
            log_step(&r->log, "Reading the debug information", start);
            log_message(&r->log, POPLINER_LEVEL_DEBUG, "%zu debug contexts",
                        popliner_debug_info_num_contexts(info));
        }
        start = log_seconds();
        status = popliner_operations_find(r->profile, info, &r->operations, error);
    }
    if (status == POPLINER_OK)
        log_step(&r->log, "Finding the operations", start);
    popliner_debug_info_free(info);
    free(profile_path);
    free(debug_path);
    return status;
}

static popliner_status load(run *r, popliner_error *error) {
    double start = log_seconds();
    popliner_status status = POPLINER_OK;
    if (r->options.load_from_file) {
        status = check_save_path(r->options.save_to_file, NULL, NULL, error);
        if (status == POPLINER_OK)
            status = popliner_analysis_load(r->options.profile, &r->profile, &r->operations, error);
        if (status == POPLINER_OK)
            log_step(&r->log, "Loading the analysis", start);
    } else {
        status = read_profile(r, error);
    }
    if (status == POPLINER_OK && popliner_operations_count(r->operations) == 0)
        log_message(&r->log, POPLINER_LEVEL_WARNING,
                    "No program belongs to an operation: there is nothing to split. Compile with "
                    "the engine option autoReport.outputDebugInfo set to true.");
    if (status != POPLINER_OK)
        return status;
    log_message(&r->log, POPLINER_LEVEL_DEBUG, "%zu operations",
                popliner_operations_count(r->operations));

    start = log_seconds();
    popliner_layer_options layer_options = {
        .name_regex = r->options.layer_name_regex,
        .first_layer_regex = r->options.inputs_regex_layer_0,
        .order = r->options.layer_order,
        .listener = &r->listener,
    };
    status = popliner_layers_assign(r->profile, r->operations, &layer_options, &r->layers, error);
    if (status == POPLINER_OK)
        status =
            popliner_stage_meter_create(r->profile, r->operations, r->layers, &r->meter, error);
    if (status == POPLINER_OK)
        log_step(&r->log, "Finding the layers", start);
    return status;
}

/* The peak of a stage as PopLiner's greedy solver sees it. */
static popliner_status measure_peak(void *user, size_t first_unit, size_t last_unit,
                                    uint64_t *peak_bytes, popliner_error *error) {
    run *r = user;
    popliner_stage_memory memory = {0};
    popliner_status status =
        popliner_stage_measure_units(r->meter, first_unit, last_unit, &memory, error);
    if (status == POPLINER_OK)
        *peak_bytes = popliner_largest_of_tiles(memory.total_bytes, memory.num_tiles);
    popliner_stage_memory_clear(&memory);
    return status;
}

static popliner_status find_plan(run *r, popliner_plan *plan, popliner_error *error) {
    uint64_t limit_bytes = r->options.mem_per_tile_bytes;
    if (limit_bytes == 0)
        limit_bytes = popliner_profile_target(r->profile)->bytes_per_tile;
    popliner_solver_options solver_options = {
        .method = POPLINER_METHOD_ILP,
        .max_stages = r->options.num_ipus,
        .max_stage_bytes = limit_bytes,
        .listener = &r->listener,
    };
    double start = log_seconds();
    popliner_status status = POPLINER_OK;
    if (r->options.solver == SOLVER_GREEDY) {
        popliner_stage_meter_remember_peaks(r->meter);
        status = popliner_solve_greedily(popliner_layers_num_units(r->layers), measure_peak, r,
                                         &solver_options, plan, error);
    } else {
        popliner_costs *costs = NULL;
        status = popliner_intervals_measure(r->profile, r->operations, r->layers, &r->listener,
                                            &costs, error);
        if (status == POPLINER_OK) {
            log_step(&r->log, "Measuring all stages", start);
            start = log_seconds();
            status = popliner_solve(costs, &solver_options, plan, error);
        }
        popliner_costs_free(costs);
    }
    if (status == POPLINER_OK)
        log_step(&r->log, "Solving", start);
    return status;
}

static void tell_plan(run *r, const popliner_plan *plan, const char *line) {
    if (plan->status == POPLINER_PLAN_INFEASIBLE) {
        log_message(&r->log, POPLINER_LEVEL_INFO,
                    "FAILURE: Unable to fit model on IPUs. Best effort printed.");
        r->no_split_fits = true;
        return;
    }
    log_message(&r->log, POPLINER_LEVEL_INFO, "SUCCESS: %s", line);
    if (plan->num_stages < r->options.num_ipus)
        log_message(&r->log, POPLINER_LEVEL_WARNING, "Used %zu IPUs instead of the %zu requested.",
                    plan->num_stages, r->options.num_ipus);
    if (plan->bounds_known)
        log_message(&r->log, POPLINER_LEVEL_INFO,
                    "%s: largest tile %llu bytes (no split has less than %llu), cuts %llu bytes "
                    "(no such split has less than %llu).",
                    plan->status == POPLINER_PLAN_OPTIMAL ? "Proven optimal" : "Not proven optimal",
                    (unsigned long long)plan->peak_bytes, (unsigned long long)plan->peak_bound,
                    (unsigned long long)plan->cut_bytes, (unsigned long long)plan->cut_bound);
}

static popliner_status solve(run *r, popliner_error *error) {
    popliner_plan plan = {0};
    char *text = NULL;
    char *line = NULL;
    popliner_status status = find_plan(r, &plan, error);
    if (status == POPLINER_OK)
        status = popliner_report_plan_json(&plan, r->layers, r->meter, &text, error);
    if (status == POPLINER_OK)
        status = popliner_report_plan_line(&plan, r->layers, &line, error);
    if (status == POPLINER_OK) {
        tell_plan(r, &plan, line);
        status = print(text, error);
        text = NULL;
    }
    popliner_plan_clear(&plan);
    free(text);
    free(line);
    return status;
}

static popliner_status print_sharing(run *r, popliner_error *error) {
    popliner_sharing sharing = {0};
    char *text = NULL;
    popliner_status status =
        popliner_sharing_measure(r->profile, r->operations, r->layers, &sharing, error);
    if (status == POPLINER_OK && r->options.memory_affinity) {
        status = popliner_report_square(r->layers, sharing.affinity_bytes, r->options.delimiter,
                                        &text, error);
        if (status == POPLINER_OK)
            status = print(text, error);
    }
    if (status == POPLINER_OK && r->options.interlayer_communication) {
        status = popliner_report_square(r->layers, sharing.communication_bytes,
                                        r->options.delimiter, &text, error);
        if (status == POPLINER_OK)
            status = print(text, error);
    }
    popliner_sharing_clear(&sharing);
    return status;
}

static popliner_status perform(run *r, popliner_error *error) {
    const options *o = &r->options;
    char *text = NULL;
    popliner_status status = load(r, error);
    if (status == POPLINER_OK && o->save_to_file != NULL)
        status = popliner_analysis_save(r->profile, r->operations, o->save_to_file, error);
    if (status == POPLINER_OK && o->memory_totals) {
        status = popliner_report_memory_totals(r->profile, r->operations, r->meter, o->delimiter,
                                               &text, error);
        if (status == POPLINER_OK)
            status = print(text, error);
    }
    if (status == POPLINER_OK && o->operation_breakdown) {
        status = popliner_report_operations(r->operations, r->layers, r->meter, o->delimiter, &text,
                                            error);
        if (status == POPLINER_OK)
            status = print(text, error);
    }
    if (status == POPLINER_OK && o->layer_breakdown) {
        status = popliner_report_layers(r->layers, r->meter, o->delimiter, &text, error);
        if (status == POPLINER_OK)
            status = print(text, error);
    }
    if (status == POPLINER_OK && (o->memory_affinity || o->interlayer_communication))
        status = print_sharing(r, error);
    if (status == POPLINER_OK && o->solve)
        status = solve(r, error);
    return status;
}

int main(int argc, char **argv) {
    run r = {0};
    popliner_error error = {0};
    log_begin(&r.log, POPLINER_LEVEL_INFO, true);
    popliner_status status = options_parse(argc, argv, &r.options, &error);
    if (status == POPLINER_OK && r.options.help) {
        options_print_help(stdout);
        status = finish_printing(&error);
    } else if (status == POPLINER_OK && r.options.version) {
        printf("popliner %s\n", popliner_version());
        status = finish_printing(&error);
    } else if (status == POPLINER_OK) {
        popliner_level level = r.options.quiet     ? POPLINER_LEVEL_WARNING
                               : r.options.verbose ? POPLINER_LEVEL_DEBUG
                                                   : POPLINER_LEVEL_INFO;
        log_begin(&r.log, level, !r.options.quiet);
        r.listener = log_listener(&r.log);
        double start = log_seconds();
        status = perform(&r, &error);
        log_step(&r.log, "Total", start);
    }
    if (status != POPLINER_OK)
        log_message(&r.log, POPLINER_LEVEL_ERROR, "%s", error.message);
    popliner_stage_meter_free(r.meter);
    popliner_layers_free(r.layers);
    popliner_operations_free(r.operations);
    popliner_profile_free(r.profile);
    if (status == POPLINER_OK && r.no_split_fits)
        return EXIT_NO_SPLIT;
    return exit_status(status);
}
