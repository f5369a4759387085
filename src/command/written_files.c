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

/* What is behind the last slash. */
static const char *own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
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
            is_named_after(own_name(path), last + 1))
            status = session_fail(error, POPLINER_ERROR_USAGE,
                                  "--%s %s: would be taken for a part of %s, beside which it is",
                                  option, path, read);
    }
    free(real_folder);
    free(folder);
    free(database);
    return status;
}

/* Storing replaces the file of that name: a device must not be replaced, nor what is being read. */
static popliner_status check_stored_file(const char *path, const char *profile, const char *debug,
                                         popliner_error *error) {
    struct stat info;
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

/* A file that is to be written. */
typedef struct written_file {
    const char *option;
    const char *what; /* as messages call it */
    const char *path;
} written_file;

/* Lists them, the stored analysis first; NULL without memory. The caller frees the list. */
static written_file *list_files(const options *o, size_t *count) {
    static const char program[] = "the integer program";
    const written_file single[] = {
        {"save-to-file", "the analysis", o->save_to_file},
        {"write-lp", program, o->write_lp},
        {"write-mps", program, o->write_mps},
        {"trace", "the trace", o->trace},
        {"html", "the page", o->html},
    };
    const size_t num_single = sizeof single / sizeof *single;
    written_file *files = malloc((num_single + o->num_outputs + o->num_emits) * sizeof *files);
    *count = 0;
    if (files == NULL)
        return NULL;
    for (size_t i = 0; i < num_single; i++)
        if (single[i].path != NULL)
            files[(*count)++] = single[i];
    for (size_t i = 0; i < o->num_outputs; i++)
        files[(*count)++] = (written_file){"output", "the section", o->outputs[i].path};
    for (size_t i = 0; i < o->num_emits; i++)
        if (o->emits[i].path != NULL)
            files[(*count)++] = (written_file){"emit", "the plan", o->emits[i].path};
    return files;
}

/* Whether two names lead to one file that would be replaced: what is there already, or one name in
 * one directory. Devices take all that is written. */
static popliner_status find_one_file(const char *path, const char *other, bool *is_one,
                                     popliner_error *error) {
    struct stat info;
    *is_one = strcmp(path, other) == 0;
    if (*is_one)
        return POPLINER_OK;
    if (stat(path, &info) == 0) {
        *is_one = S_ISREG(info.st_mode) && is_same_file(&info, other);
        return POPLINER_OK;
    }
    if (strcmp(own_name(path), own_name(other)) != 0)
        return POPLINER_OK;
    char *directory = directory_of(path);
    char *other_directory = directory_of(other);
    const bool memory = directory != NULL && other_directory != NULL;
    *is_one = memory && stat(directory, &info) == 0 && is_same_file(&info, other_directory);
    free(directory);
    free(other_directory);
    return memory ? POPLINER_OK : fail_memory(error);
}

/* Refuses two that are one, of which the second would be all that is left. */
static popliner_status check_apart(const written_file *files, size_t count, popliner_error *error) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            bool is_one;
            popliner_status status = find_one_file(files[i].path, files[k].path, &is_one, error);
            if (status != POPLINER_OK)
                return status;
            const bool is_option = strcmp(files[i].option, files[k].option) == 0;
            const bool is_name = strcmp(files[i].path, files[k].path) == 0;
            if (is_one)
                return session_fail(error, POPLINER_ERROR_USAGE,
                                    "--%s %s: is the file of %s--%s%s%s, too", files[i].option,
                                    files[i].path, is_option ? "another " : "", files[k].option,
                                    is_name ? "" : " ", is_name ? "" : files[k].path);
        }
    return POPLINER_OK;
}

popliner_status check_written_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error) {
    size_t count;
    written_file *files = list_files(o, &count);
    if (files == NULL)
        return fail_memory(error);
    popliner_status status = check_apart(files, count, error);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        const written_file *f = &files[i];
        /* what is loaded has been read when it is stored again */
        status = f->path != o->save_to_file
                     ? check_file(f->option, f->what, f->path, read, also_read, error)
                 : o->load_from_file ? check_stored_file(f->path, NULL, NULL, error)
                                     : check_stored_file(f->path, read, also_read, error);
    }
    free(files);
    return status;
}

popliner_status check_compared_files(const options *o, popliner_error *error) {
    char *profile = NULL;
    char *debug = NULL;
    popliner_error ignored;
    if (o->compare == NULL)
        return POPLINER_OK;
    /* what cannot be found is refused when it is to be read */
    popliner_analysis_locate(o->compare, NULL, &profile, &debug, &ignored);
    size_t count = 0;
    struct stat info;
    popliner_status status = POPLINER_OK;
    written_file *files = list_files(o, &count);
    if (files == NULL)
        status = fail_memory(error);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        if (stat(files[i].path, &info) == 0 &&
            (is_same_file(&info, o->compare) || is_same_file(&info, profile) ||
             is_same_file(&info, debug)))
            status = session_fail(error, POPLINER_ERROR_USAGE,
                                  "--%s %s: would overwrite a file of --compare", files[i].option,
                                  files[i].path);
    }
    free(files);
    free(profile);
    free(debug);
    return status;
}
