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

popliner_status check_program_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error) {
    const char *const paths[] = {o->write_lp, o->write_mps};
    struct stat info;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i] != NULL && stat(paths[i], &info) == 0 &&
            (is_same_file(&info, read) || is_same_file(&info, also_read)))
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--write-%s %s: would overwrite a file that is read",
                                i == 0 ? "lp" : "mps", paths[i]);
    return POPLINER_OK;
}
