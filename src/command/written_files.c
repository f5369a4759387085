/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/written_files.h"

#include <errno.h>
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

popliner_status check_stored_file(const options *o, const char *profile, const char *debug,
                                  popliner_error *error) {
    const char *path = o->save_to_file;
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
    char *directory = directory_of(path);
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

static popliner_status check_program_file(const char *option, const char *path, const char *read,
                                          const char *also_read, popliner_error *error) {
    struct stat info;
    if (path == NULL)
        return POPLINER_OK;
    if (stat(path, &info) == 0 && (is_same_file(&info, read) || is_same_file(&info, also_read)))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--%s %s: would overwrite a file that is read", option, path);
    int fault = fault_of_writing(path);
    if (fault != 0)
        return session_fail(error, POPLINER_ERROR_OUTPUT,
                            "--%s %s: the integer program cannot be written (%s)", option, path,
                            strerror(fault));
    return POPLINER_OK;
}

popliner_status check_program_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error) {
    popliner_status status = check_program_file("write-lp", o->write_lp, read, also_read, error);
    if (status == POPLINER_OK)
        status = check_program_file("write-mps", o->write_mps, read, also_read, error);
    return status;
}
