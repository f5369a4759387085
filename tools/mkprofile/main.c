/* popliner-mkprofile: writes the profile and the debug information of a synthetic model.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"
#include "base/growth.h"
#include "mkprofile/debug_writer.h"
#include "mkprofile/faults.h"
#include "mkprofile/network_plan.h"
#include "mkprofile/network_planning.h"
#include "mkprofile/options.h"
#include "mkprofile/profile_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef POPLINER_VERSION
#define POPLINER_VERSION "unknown"
#endif

/* Where things go: written under the first name, renamed to the second when all is well. */
typedef struct output_file {
    pl_text temporary;
    pl_text final;
} output_file;

static void name_output(output_file *file, const char *directory, const char *name) {
    pl_text_format(&file->temporary, "%s/.%s.part", directory, name);
    pl_text_format(&file->final, "%s/%s", directory, name);
}

static void free_output(output_file *file) {
    free(file->temporary.data);
    free(file->final.data);
}

static popliner_status prepare_directory(const char *directory, popliner_error *error) {
    struct stat status;
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return pl_fail(error, POPLINER_ERROR_OUTPUT, "The directory %s cannot be made: %s.",
                       directory, strerror(errno));
    if (stat(directory, &status) != 0 || !S_ISDIR(status.st_mode))
        return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s is not a directory.", directory);
    return POPLINER_OK;
}

static popliner_status refuse_existing(const output_file *file, bool force, popliner_error *error) {
    struct stat status;
    if (!force && lstat(file->final.data, &status) == 0)
        return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s exists already; --force overwrites it.",
                       file->final.data);
    return POPLINER_OK;
}

static popliner_status rename_output(const output_file *file, popliner_error *error) {
    if (rename(file->temporary.data, file->final.data) != 0)
        return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s cannot be written: %s.", file->final.data,
                       strerror(errno));
    return POPLINER_OK;
}

static void report(const mk_network_plan *plan, const mk_profile_figures *figures) {
    size_t operations = 0;
    for (size_t i = 0; i < plan->operations.count; i++)
        operations += !mk_operation_at(plan, i)->is_left_out;
    printf(
        "%zu operations, %zu programs, %zu liveness steps, %llu lowered variables, "
        "%zu debug contexts; the fullest tile has %llu bytes without gaps, %llu tiles overflow.\n",
        operations, plan->programs.count, plan->steps.count,
        (unsigned long long)figures->lowered_variables, plan->contexts.count,
        (unsigned long long)figures->max_tile_bytes, (unsigned long long)figures->overfull_tiles);
}

static popliner_status make_profile(const mk_options *options, popliner_error *error) {
    mk_network_plan plan = {.next_instance = 0};
    mk_profile_figures figures = {.lowered_variables = 0};
    output_file profile = {.final = {.data = NULL}};
    output_file debug = {.final = {.data = NULL}};
    popliner_status status;
    bool is_started = false;

    name_output(&profile, options->directory, "profile.pop");
    name_output(&debug, options->directory, "debug.cbor");
    if (profile.temporary.failed || profile.final.failed || debug.temporary.failed ||
        debug.final.failed) {
        status = pl_fail_memory(error, "the names of the files");
        goto done;
    }
    if ((status = prepare_directory(options->directory, error)) != POPLINER_OK ||
        (status = refuse_existing(&profile, options->force, error)) != POPLINER_OK ||
        (status = refuse_existing(&debug, options->force, error)) != POPLINER_OK)
        goto done;
    is_started = true;
    unlink(profile.temporary.data); /* SQLite would add to what an earlier run left */
    if ((status = mk_network_plan_begin(&plan, options, error)) != POPLINER_OK ||
        (status = mk_network_plan_make(&plan, error)) != POPLINER_OK ||
        (status = mk_write_debug(&plan, debug.temporary.data, error)) != POPLINER_OK ||
        (status = mk_write_profile(&plan, profile.temporary.data, &figures, error)) !=
            POPLINER_OK ||
        (status = rename_output(&debug, error)) != POPLINER_OK)
        goto done;
    if ((status = rename_output(&profile, error)) != POPLINER_OK) {
        unlink(debug.final.data); /* both or none */
        goto done;
    }
    if (!options->quiet) {
        report(&plan, &figures);
        mk_print_faults(&plan, stdout);
    }
done:
    if (is_started && status != POPLINER_OK) {
        unlink(profile.temporary.data);
        unlink(debug.temporary.data);
    }
    if (is_started)
        mk_network_plan_end(&plan);
    free_output(&profile);
    free_output(&debug);
    return status;
}

static int exit_status(popliner_status status) {
    switch (status) {
    case POPLINER_OK:
        return 0;
    case POPLINER_ERROR_USAGE:
        return 2;
    case POPLINER_ERROR_OUTPUT:
        return 3;
    default:
        return 1;
    }
}

int main(int num_arguments, char *arguments[]) {
    mk_options options;
    popliner_error error = {.status = POPLINER_OK};
    popliner_status status = mk_options_read(&options, num_arguments, arguments, &error);
    if (status == POPLINER_OK && options.help)
        mk_options_help(stdout);
    else if (status == POPLINER_OK && options.version)
        puts("popliner-mkprofile " POPLINER_VERSION);
    else if (status == POPLINER_OK)
        status = make_profile(&options, &error);
    if (status != POPLINER_OK)
        fprintf(stderr, "popliner-mkprofile: %s\n", error.message);
    if (status == POPLINER_OK && fflush(stdout) != 0)
        status = POPLINER_ERROR_OUTPUT;
    return exit_status(status);
}
