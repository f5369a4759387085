/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* realpath */
#include "command/written_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/session.h"

static bool is_same_file(const struct stat *info, const char *path) {
    struct stat other;
    return path != NULL && stat(path, &other) == 0 && other.st_dev == info->st_dev &&
           other.st_ino == info->st_ino;
}

/* The directory of a file; NULL without memory. The caller frees it. */
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    return length == 0 ? strdup(".") : strndup(path, length);
}

static popliner_status fail_memory(popliner_error *error) {
    return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for file names");
}

/* The path behind all links; NULL if there is none, or without memory. */
static char *find_real(const char *path, bool *is_short_of_memory) {
    char *real = path == NULL ? NULL : realpath(path, NULL);
    if (path != NULL && real == NULL && errno == ENOMEM)
        *is_short_of_memory = true;
    return real;
}

/* Whether the name of a file is that of the database with what SQLite appends to it. */
static bool is_named_after(const char *name, const char *database) {
    static const char *const suffixes[] = {"-wal", "-journal", "-shm"};
    size_t length = strlen(database);
    for (size_t i = 0; i < 3; i++)
        if (strncmp(name, database, length) == 0 && strcmp(name + length, suffixes[i]) == 0)
            return true;
    return false;
}

/* Refuses a file `path` that SQLite would take for one that belongs to the database `read`, if that
 * is one: by its name beside that, behind all links. */
static popliner_status check_not_part(const char *option, const char *path, const char *read,
                                      popliner_error *error) {
    const char *slash = strrchr(path, '/');
    bool is_short_of_memory = false;
    popliner_status status = POPLINER_OK;
    char *database = find_real(read, &is_short_of_memory);
    char *folder = directory_of(path);
    char *real_folder = find_real(folder, &is_short_of_memory);
    char *last = database == NULL ? NULL : strrchr(database, '/');
    if (folder == NULL || is_short_of_memory) {
        status = fail_memory(error);
    } else if (real_folder != NULL && last != NULL) {
        *last = '\0';
        if (strcmp(real_folder, *database == '\0' ? "/" : database) == 0 &&
            is_named_after(slash == NULL ? path : slash + 1, last + 1))
            status = session_fail(error, POPLINER_ERROR_USAGE,
                                  "--%s %s: would be taken for a part of %s, beside which it is",
                                  option, path, read);
    }
    free(real_folder);
    free(folder);
    free(database);
    return status;
}

popliner_status check_stored_file(const options *o, const char *profile, const char *debug,
                                  popliner_error *error) {
    const char *path = o->save_to_file;
    struct stat info;
    if (path == NULL)
        return POPLINER_OK;
    popliner_status status = check_not_part("save-to-file", path, profile, error);
    if (status != POPLINER_OK)
        return status;
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
    char *directory = directory_of(path);
    if (directory == NULL)
        status = fail_memory(error);
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

/* Why a file cannot be written, as errno has it; 0 if it can. Neither makes nor changes it. */
static int fault_of_writing(const char *path) {
    struct stat info;
    int fault = 0;
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    if (errno != ENOENT)
        return errno;
    char *directory = directory_of(path);
    if (directory == NULL)
        fault = ENOMEM;
    else if (access(directory, W_OK | X_OK) != 0)
        fault = errno;
    free(directory);
    return fault;
}

/* `what` is to be written, as a message calls it. */
static popliner_status check_file(const char *option, const char *what, const char *path,
                                  const char *read, const char *also_read, popliner_error *error) {
    struct stat info;
    if (path == NULL)
        return POPLINER_OK;
    if (stat(path, &info) == 0 && (is_same_file(&info, read) || is_same_file(&info, also_read)))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--%s %s: would overwrite a file that is read", option, path);
    popliner_status status = check_not_part(option, path, read, error);
    if (status == POPLINER_OK)
        status = check_not_part(option, path, also_read, error);
    if (status != POPLINER_OK)
        return status;
    int fault = fault_of_writing(path);
    if (fault == ENOMEM)
        return fail_memory(error);
    if (fault != 0)
        return session_fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: %s cannot be written (%s)",
                            option, path, what, strerror(fault));
    return POPLINER_OK;
}

popliner_status check_program_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error) {
    static const char what[] = "the integer program";
    popliner_status status = check_file("write-lp", what, o->write_lp, read, also_read, error);
    if (status == POPLINER_OK)
        status = check_file("write-mps", what, o->write_mps, read, also_read, error);
    return status;
}

/* Whether two names, of which the second may be NULL, lead to one file that would be replaced. That
 * names are not the same was seen before. */
static bool is_one_file(const char *path, const char *other) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && is_same_file(&info, other);
}

popliner_status check_output_files(const options *o, const char *read, const char *also_read,
                                   popliner_error *error) {
    const char *const others[] = {o->save_to_file, o->write_lp, o->write_mps, o->trace, o->html};
    popliner_status status = check_file("trace", "the trace", o->trace, read, also_read, error);
    if (status == POPLINER_OK)
        status = check_file("html", "the page", o->html, read, also_read, error);
    for (size_t i = 0; status == POPLINER_OK && i < o->num_outputs; i++) {
        const char *path = o->outputs[i].path;
        const char *twice = NULL;
        status = check_file("output", "the section", path, read, also_read, error);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            twice = is_one_file(path, others[k]) ? others[k] : twice;
        for (size_t k = 0; k < i; k++)
            twice = is_one_file(path, o->outputs[k].path) ? o->outputs[k].path : twice;
        if (status == POPLINER_OK && twice != NULL)
            status =
                session_fail(error, POPLINER_ERROR_USAGE,
                             "--output %s: something else is to be written into %s", path, twice);
    }
    return status;
}

popliner_status check_emitted_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error) {
    const char *const others[] = {o->save_to_file, o->write_lp, o->write_mps, o->trace, o->html};
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < o->num_emits; i++) {
        const char *path = o->emits[i].path;
        const char *twice = NULL;
        if (path == NULL)
            continue;
        status = check_file("emit", "the plan", path, read, also_read, error);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            twice = is_one_file(path, others[k]) ? others[k] : twice;
        for (size_t k = 0; k < o->num_outputs; k++)
            twice = is_one_file(path, o->outputs[k].path) ? o->outputs[k].path : twice;
        for (size_t k = 0; k < i; k++)
            twice = is_one_file(path, o->emits[k].path) ? o->emits[k].path : twice;
        if (status == POPLINER_OK && twice != NULL)
            status =
                session_fail(error, POPLINER_ERROR_USAGE,
                             "--emit %s: something else is to be written into %s", path, twice);
    }
    return status;
}

/* Whether writing into a file, if one was named, would change what is to be compared. */
static popliner_status check_not_compared(const char *option, const char *path,
                                          const char *const *read, size_t num_read,
                                          popliner_error *error) {
    struct stat info;
    if (path == NULL || stat(path, &info) != 0)
        return POPLINER_OK;
    for (size_t i = 0; i < num_read; i++)
        if (is_same_file(&info, read[i]))
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--%s %s: would overwrite a file of --compare", option, path);
    return POPLINER_OK;
}

popliner_status check_compared_files(const options *o, popliner_error *error) {
    char *profile = NULL;
    char *debug = NULL;
    popliner_error ignored;
    if (o->compare == NULL)
        return POPLINER_OK;
    /* what cannot be found is refused when it is to be read */
    popliner_analysis_locate(o->compare, NULL, &profile, &debug, &ignored);
    const char *const read[] = {o->compare, profile, debug};
    popliner_status status = check_not_compared("save-to-file", o->save_to_file, read, 3, error);
    if (status == POPLINER_OK)
        status = check_not_compared("trace", o->trace, read, 3, error);
    if (status == POPLINER_OK)
        status = check_not_compared("html", o->html, read, 3, error);
    for (size_t i = 0; status == POPLINER_OK && i < o->num_outputs; i++)
        status = check_not_compared("output", o->outputs[i].path, read, 3, error);
    free(profile);
    free(debug);
    return status;
}
