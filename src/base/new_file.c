/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath, lstat */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "popliner/utilities.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/threads.h"

const char *pl_last_part(const char *path) {
    const char *end = path + strlen(path);
    while (end > path && end[-1] == '/')
        end--;
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return begin == end ? path : begin;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* All functions return 0 or errno. */

/* Writes all bytes, syncs the file to the disk if it is to, and closes it. Some file systems do not
 * support syncing, and need not. */
static int write_all(int file, const char *bytes, size_t length, bool syncs) {
    int fault = 0;
    while (length > 0 && fault == 0) {
        const ssize_t written = write(file, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno != EINTR) {
            fault = errno;
        }
    }
    if (fault == 0 && syncs && fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP &&
        errno != ENOSYS)
        fault = errno;
    return close(file) != 0 && fault == 0 ? errno : fault;
}

/* Returns the number of the standard stream, output or error, that a file is; -1: neither. */
static int standard_stream(const struct stat *info) {
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++) {
        struct stat stream;
        if (fstat(file, &stream) == 0 && stream.st_dev == info->st_dev &&
            stream.st_ino == info->st_ino)
            return file;
    }
    return -1;
}

/* Writes into a file as it is; a standard stream under another name is not truncated either. */
static int write_in_place(const char *path, const struct stat *info, const void *bytes,
                          size_t length) {
    const int stream = standard_stream(info);
    const int file =
        stream >= 0 ? dup(stream) : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file < 0 ? errno : write_all(file, bytes, length, false);
}

/* Creates a temporary file in the directory of a path, with a short name, as that of the file may
 * have the maximum length already. The caller frees part->data. */
static int make_part(const char *path, mode_t mode, pl_text *part, int *file) {
    enum { MOST_TRIES = 1000 };
    const char *slash = strrchr(path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    for (int i = 0; i < MOST_TRIES; i++) {
        part->length = 0;
        pl_text_append(part, path, folder);
        pl_text_format(part, "popliner-%lx-%d.part", (unsigned long)getpid(), i);
        if (part->failed)
            return ENOMEM;
        *file = open(part->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (*file >= 0 || errno != EEXIST)
            return *file >= 0 ? 0 : errno;
    }
    return EEXIST;
}

/* Copies the owner and the mode of the file that will be replaced, as far as permitted; what is
 * written is no program that runs as its owner. */
static void take_over(int file, const struct stat *old) {
    const int is_refused = fchown(file, old->st_uid, old->st_gid);
    (void)is_refused;
    fchmod(file, old->st_mode & 0777);
}

/* Writes a temporary file, which only a process that is killed leaves, and moves it to the path;
 * `old` is the file there, or NULL. */
static int write_apart(const char *path, const struct stat *old, const void *bytes, size_t length) {
    pl_text part = {0};
    int file;
    int fault = make_part(path, old != NULL ? old->st_mode & 0777 : 0666, &part, &file);
    if (fault == 0) {
        if (old != NULL)
            take_over(file, old);
        fault = write_all(file, bytes, length, true);
        if (fault == 0 && rename(part.data, path) != 0)
            fault = errno;
        if (fault != 0)
            unlink(part.data);
    }
    free(part.data);
    return fault;
}

/* Like write_apart, while this thread blocks signals: one that ends the process would leave an
 * incomplete file. */
static int write_unharmed(const char *path, const struct stat *old, const void *bytes,
                          size_t length) {
    char *target = old != NULL ? realpath(path, NULL) : strdup(path);
    sigset_t before;
    if (target == NULL)
        return old != NULL ? errno : ENOMEM;
    pl_signals_block(&before);
    const int fault = write_apart(target, old, bytes, length);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(target);
    return fault;
}

/* A link is kept, and its target is replaced. In place are written: devices and pipes; the missing
 * target of a link; standard output and error under another name; a file that no longer has a name;
 * and a file in a directory where no file can be created or replaced. */
static int write_file(const char *path, const void *bytes, size_t length) {
    struct stat info;
    if (stat(path, &info) != 0 && lstat(path, &info) != 0)
        return write_unharmed(path, NULL, bytes, length);
    int fault = EACCES;
    if (S_ISREG(info.st_mode) && standard_stream(&info) < 0)
        fault = write_unharmed(path, &info, bytes, length);
    return fault == EACCES || fault == ENOENT ? write_in_place(path, &info, bytes, length) : fault;
}

popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error) {
    const int fault = write_file(path, bytes, length);
    if (fault == ENOMEM)
        return pl_fail_memory(error, "a file name");
    return fault == 0 ? POPLINER_OK
                      : pl_fail(error, POPLINER_ERROR_OUTPUT, "%s: cannot be written: %s", path,
                                strerror(fault));
}

/* ---- Reading --------------------------------------------------------------------------------- */

popliner_status pl_file_look(const char *path, const char *expected, popliner_reason reason,
                             struct stat *info, popliner_error *error) {
    if (stat(path, info) != 0)
        return pl_fail_reading(error, path);
    const char *wrong = S_ISDIR(info->st_mode)    ? "a directory"
                        : !S_ISREG(info->st_mode) ? "not a regular file"
                        : info->st_size == 0      ? "empty"
                                                  : NULL;
    return wrong == NULL
               ? POPLINER_OK
               : pl_fail_because(error, S_ISREG(info->st_mode) ? POPLINER_REASON_OTHER : reason,
                                 "%s: is %s, expected %s", path, wrong, expected);
}

popliner_status pl_file_read(const char *path, const char *what, pl_text *text,
                             popliner_error *error) {
    enum { MOST_MIB = 256 };
    char piece[1 << 14];
    popliner_status status = POPLINER_OK;
    struct stat info;
    const bool is_input = strcmp(path, "-") == 0;
    FILE *stream = is_input ? stdin : fopen(path, "rb");
    path = is_input ? "standard input" : path;
    if (stream == NULL)
        return pl_fail_reading(error, path);
    const bool has_end = fstat(fileno(stream), &info) == 0 && S_ISREG(info.st_mode);
    const size_t most = has_end ? SIZE_MAX : (size_t)MOST_MIB << 20;
    size_t count = sizeof piece;
    while (count == sizeof piece && !text->failed && text->length <= most) {
        count = fread(piece, 1, sizeof piece, stream);
        pl_text_append(text, piece, count);
    }
    if (text->failed)
        status = pl_fail_memory(error, what);
    else if (text->length > most)
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: longer than %d MiB, and not a regular file; store it as a file first",
                         path, MOST_MIB);
    else if (ferror(stream))
        status = pl_fail_reading(error, path);
    if (!is_input)
        (void)fclose(stream); /* it was only read */
    return status;
}
