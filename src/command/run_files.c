/* The files that a run reads and writes, in one list: a run that would overwrite what it reads, or
 * write two things into one file, is refused before it reads or writes anything.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reports ---- */

/* Whether the directory is a report, whose profile can be examined. */
static bool is_report(const char *directory) {
    struct stat info;
    char *profile = NULL;
    char *debug = NULL;
    const bool is_found =
        stat(directory, &info) == 0 && S_ISDIR(info.st_mode) &&
        popliner_analysis_locate(directory, NULL, &profile, &debug, NULL) == POPLINER_OK;
    free(profile);
    free(debug);
    return is_found;
}

popliner_status report_names_find(const options *o, char ***names, popliner_error *error) {
    const repeated *asked = &o->reports;
    struct stat info;
    *names = NULL;
    if (stat(o->profile, &info) != 0)
        return fail(error, POPLINER_ERROR_INPUT, "%.300s: cannot be read: %s", o->profile,
                    strerror(errno));
    if (is_report(o->profile))
        return fail_usage(error,
                          "--report %s: %.300s holds a profile.pop, so it is a report itself; "
                          "leave out --report",
                          asked->texts[0], o->profile);
    popliner_status status =
        S_ISDIR(info.st_mode) ? popliner_reports_find(o->profile, names, error) : POPLINER_OK;
    if (status == POPLINER_OK && (*names == NULL || **names == NULL))
        return fail(error, POPLINER_ERROR_INPUT,
                    "--report %s: %.300s is not a directory with reports: none of its "
                    "sub-directories holds a profile.pop",
                    asked->texts[0], o->profile);
    if (status != POPLINER_OK || (asked->count == 1 && options_are_together(o)))
        return status;
    for (size_t i = 0; i < asked->count; i++) {
        const char *name = asked->texts[i];
        size_t count = 0;
        bool is_there = false;
        for (; (*names)[count] != NULL; count++)
            is_there = is_there || strcmp((*names)[count], name) == 0;
        if (!is_there)
            return fail_usage(
                error, "--report %s: %.300s has no such report%s", name, o->profile,
                names_hint((const char *const *)*names, count, name, strlen(name)).text);
    }
    /* none is requested twice, so there is room */
    for (size_t i = 0; i < asked->count; i++)
        (*names)[i] = (char *)asked->texts[i];
    (*names)[asked->count] = NULL;
    return POPLINER_OK;
}

/* ---- what a file is ---- */

static input_kind kind_of_file(const char *path) {
    static const struct {
        char magic[16];
        input_kind kind;
    } kinds[] = {{"SQLite format 3", INPUT_PROFILE}, {"popliner stored", INPUT_STORED}};
    char bytes[sizeof kinds->magic] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* takes no memory, which may be short */
    if (file < 0)
        return INPUT_PROFILE;
    const ssize_t count = read(file, bytes, sizeof bytes);
    (void)close(file); /* it was only read */
    for (size_t i = 0; count == sizeof bytes && i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(bytes, kinds[i].magic, sizeof bytes) == 0)
            return kinds[i].kind;
    const bool is_map = count > 0 && ((unsigned char)bytes[0] & 0xe0) == 0xa0; /* of CBOR */
    return is_map ? INPUT_DEBUG : INPUT_COSTS;
}

/* ---- what is written ---- */

/* Returns the folder of a file, for the caller to free; NULL if memory is short. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
}

/* Returns an error number if a file cannot be written, or made in its folder. */
static int find_fault(const char *path, bool is_there, const struct stat *info) {
    if (is_there)
        return S_ISDIR(info->st_mode) ? EISDIR : access(path, W_OK) == 0 ? 0 : errno;
    char *folder = folder_of(path);
    const int fault = folder == NULL ? ENOMEM : access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    return fault;
}

/* Describes a regular file, or the folder and the name with which it will be there. */
static bool identify(const char *path, struct stat *info, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = "";
    if (stat(path, info) == 0)
        return S_ISREG(info->st_mode);
    char *folder = folder_of(path);
    const bool is_known = folder != NULL && stat(folder, info) == 0;
    *name = slash == NULL ? path : slash + 1;
    free(folder);
    return is_known;
}

/* Whether both are one file, or will be. */
static bool is_same_file(const char *a, const char *b) {
    struct stat of_a;
    struct stat of_b;
    const char *name_a;
    const char *name_b;
    return strcmp(a, b) == 0 || (identify(a, &of_a, &name_a) && identify(b, &of_b, &name_b) &&
                                 strcmp(name_a, name_b) == 0 && of_a.st_dev == of_b.st_dev &&
                                 of_a.st_ino == of_b.st_ino);
}

static popliner_status check_written(const options *o, const wanted_output *w,
                                     popliner_error *error) {
    const bool is_stored = w->what->kind == OUTPUT_ANALYSIS; /* in place of what is there */
    struct stat info;
    for (const wanted_output *other = o->outputs.items; other < w; other++)
        if (other->path != NULL && is_same_file(w->path, other->path))
            return fail_usage(error, "--%s %s: is the file of --%s %s, too", w->option, w->value,
                              other->option, other->value);
    if (strcmp(w->path, "-") == 0)
        return fail_usage(error,
                          "--%s %s: is not standard output; give %s./- for a file of that name",
                          w->option, w->value, is_stored ? "" : "/dev/stdout for that, or ");
    const bool is_there = stat(w->path, &info) == 0;
    const bool is_read = is_there && S_ISREG(info.st_mode) && access(w->path, R_OK) == 0;
    const input_kind kind = is_read ? kind_of_file(w->path) : INPUT_COSTS;
    if (kind == INPUT_PROFILE || kind == INPUT_DEBUG)
        return fail_usage(error, "--%s %s: would overwrite %s", w->option, w->value,
                          kind == INPUT_PROFILE ? "a profile" : "debug information");
    const int fault = find_fault(w->path, is_there, &info);
    if (fault != 0)
        return fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: %s cannot be written (%s)", w->option,
                    w->value, w->what->what, strerror(fault));
    return is_there && is_stored && !S_ISREG(info.st_mode)
               ? fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: is not a regular file", w->option,
                      w->value)
               : POPLINER_OK;
}

/* ---- what is read ---- */

/* Refuses to write a file that is read: `what`. Profiles and debug information are never written
 * over, whoever reads them. */
static popliner_status check_read(const options *o, const char *what, const char *path,
                                  popliner_error *error) {
    for (size_t i = 0; path != NULL && i < o->outputs.count; i++) {
        const wanted_output *w = &o->outputs.items[i];
        /* what is loaded has been read when it is stored again */
        const bool is_stored_again =
            w->what->kind == OUTPUT_ANALYSIS && o->load_from_file && path == o->profile;
        if (w->path != NULL && !is_stored_again && is_same_file(path, w->path))
            return fail_usage(error, "--%s %s: would overwrite %s", w->option, w->value, what);
    }
    return POPLINER_OK;
}

popliner_status check_run_files(const options *o, popliner_error *error) {
    const struct {
        const char *path;
        const char *what;
    } read[] = {
        {o->costs != NULL && strcmp(o->costs, "-") == 0 ? "/dev/stdin" : o->costs,
         "the file of costs that is read"},
        {o->profile, "the stored analysis that is read"},
        {o->compare, "a file of --compare"},
        {o->compiled, "a file of --compiled"},
        {o->debug, "the debug information that is read"},
        {o->schedule.path, "a file of --schedule"},
    };
    char **names = NULL;
    const popliner_status status =
        o->reports.count > 0 ? report_names_find(o, &names, error) : POPLINER_OK;
    free(names);
    TRY(status);
    for (size_t i = 0; i < o->outputs.count; i++)
        if (o->outputs.items[i].path != NULL)
            TRY(check_written(o, &o->outputs.items[i], error));
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        TRY(check_read(o, read[i].what, read[i].path, error));
    for (size_t i = 0; i < o->files.count; i++)
        TRY(check_read(o, "the file of arguments that is read", o->files.paths[i], error));
    return POPLINER_OK;
}

/* ---- what INPUT is ---- */

input_kind input_kind_of(const char *path) {
    struct stat info;
    if (strcmp(path, "-") == 0)
        return INPUT_COSTS;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
        return INPUT_PROFILE;
    if (!S_ISREG(info.st_mode))
        return INPUT_COSTS;
    const input_kind kind = kind_of_file(path);
    return kind == INPUT_PROFILE || kind == INPUT_STORED ? kind
           : text_ends_with(path, ".pop")                ? INPUT_PROFILE
                                                         : INPUT_COSTS;
}
