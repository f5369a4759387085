/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* realpath */
#include "command/written_files.h"

#include <errno.h>
#include <fcntl.h>
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

/* `what` is to be written, as a message calls it. */
static popliner_status check_file(const char *option, const char *what, const char *path,
                                  const char *read, const char *also_read, popliner_error *error) {
    struct stat info;
    if (path == NULL)
        return POPLINER_OK;
    if (stat(path, &info) == 0 && (is_same_file(&info, read) || is_same_file(&info, also_read)))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--%s %s: would overwrite a file that is read", option, path);
    int fault = fault_of_writing(path);
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

/* ---- writing ---- */

/* Writes all bytes; false with errno. */
static bool write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0 && errno != EINTR)
            return false;
        bytes += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
    return true;
}

/* Writes into an open file and closes it: an error that comes late is one, too. Returns errno. */
static int fill_file(int file, bool is_synced, const char *bytes, size_t length) {
    int fault = 0;
    if (!write_all(file, bytes, length) || (is_synced && fsync(file) != 0))
        fault = errno;
    if (close(file) != 0 && fault == 0)
        fault = errno;
    return fault;
}

/* Makes a file that was not there before, beside `path`; its name goes into part[size]. Returns the
 * file, or -1 with errno. */
static int make_part(const char *path, mode_t mode, char *part, size_t size) {
    for (unsigned i = 0; i < 100; i++) {
        int length = snprintf(part, size, "%s.part-%ld-%u", path, (long)getpid(), i);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

/* Replaces a regular file, or makes it. Returns errno. */
static int replace_file(const char *path, mode_t old_mode, const char *bytes, size_t length) {
    enum { NAME_SIZE = 4096 };
    char *part = malloc(NAME_SIZE);
    if (part == NULL)
        return ENOMEM;
    int fault = 0;
    int file = make_part(path, 0666, part, NAME_SIZE);
    if (file < 0) {
        fault = errno;
    } else {
        /* the file may belong to another user: then it gets a mode of ours */
        if (old_mode != 0 && fchmod(file, old_mode & 07777) != 0)
            errno = 0;
        fault = fill_file(file, true, bytes, length);
        if (fault == 0 && rename(part, path) != 0)
            fault = errno;
        if (fault != 0)
            unlink(part);
    }
    free(part);
    return fault;
}

/* Standard output or standard error, if a file is one of these under another name, as /dev/stdout
 * is: it is not replaced, nor begun anew. -1: neither. */
static int standard_stream(const struct stat *info) {
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++) {
        struct stat stream;
        if (fstat(file, &stream) == 0 && stream.st_dev == info->st_dev &&
            stream.st_ino == info->st_ino)
            return file;
    }
    return -1;
}

popliner_status write_output_file(const char *path, const char *bytes, size_t length,
                                  popliner_error *error) {
    struct stat info;
    struct stat link;
    bool is_there = stat(path, &info) == 0;
    bool is_dangling = !is_there && lstat(path, &link) == 0;
    int stream = is_there ? standard_stream(&info) : -1;
    /* what a link leads to is replaced, or made, not the link; in place of a file without a name
     * nothing can be put */
    char *real = is_there && S_ISREG(info.st_mode) ? realpath(path, NULL) : NULL;
    int fault = 0;
    if (stream >= 0 || is_dangling || (is_there && real == NULL)) {
        int file =
            stream >= 0 ? dup(stream) : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        fault = file < 0 ? errno : fill_file(file, false, bytes, length);
    } else {
        fault =
            replace_file(real == NULL ? path : real, is_there ? info.st_mode : 0, bytes, length);
    }
    free(real);
    if (fault == 0)
        return POPLINER_OK;
    return session_fail(error, POPLINER_ERROR_OUTPUT, "%s cannot be written: %s", path,
                        strerror(fault));
}
