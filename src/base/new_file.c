/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath, lstat */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "popliner/utilities.h"

#include "base/failure.h"
#include "base/growth.h"

/* A file that is being written. A regular file is first written in the same directory under a
 * unique name ("popliner-*.part"), which only a process that is killed leaves, and replaces the old
 * file when it is complete. The new file gets the mode and, if permitted, the owner of the file
 * that it replaces. A link is kept, and its target is replaced, or made first. Until the file is
 * ended, the thread blocks the signals that ask it to end, which would leave an incomplete file. */
typedef struct new_file {
    int file;
    char *path;         /* owned: the final path; NULL: it is written in place */
    char *part;         /* owned: the path until then */
    bool is_target_new; /* of a link: what fails removes it */
    sigset_t signals;   /* that were blocked before */
} new_file;

const char *pl_last_part(const char *path) {
    const char *end = path + strlen(path);
    while (end > path && end[-1] == '/')
        end--;
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return begin == end ? path : begin;
}

/* ---- Beginning ------------------------------------------------------------------------------- */

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

/* Creates a temporary file in the directory of out->path, with a short name, as that of the file
 * may have the maximum length already. */
static int make_part(new_file *out, mode_t mode) {
    enum { MOST_TRIES = 1000 };
    const char *slash = strrchr(out->path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - out->path) + 1;
    for (int i = 0; i < MOST_TRIES; i++) {
        pl_text part = {0};
        pl_text_append(&part, out->path, folder);
        pl_text_format(&part, "popliner-%lx-%d.part", (unsigned long)getpid(), i);
        free(out->part);
        out->part = part.data;
        if (part.failed)
            return ENOMEM;
        out->file = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (out->file >= 0 || errno != EEXIST)
            return out->file >= 0 ? 0 : errno;
    }
    return EEXIST;
}

/* Copies the owner and the mode of the file that will be replaced, as far as permitted. */
static void take_over(const new_file *out, const struct stat *old) {
    struct stat now;
    if (fstat(out->file, &now) != 0)
        return;
    bool is_owned = (now.st_uid == old->st_uid && now.st_gid == old->st_gid) ||
                    fchown(out->file, old->st_uid, old->st_gid) == 0;
    /* never make a set-user-id program that runs as us out of one of another owner */
    mode_t mode = old->st_mode & (is_owned ? 07777 : 0777);
    if (fchmod(out->file, mode) != 0)
        return;
}

/* Blocks the signals that end the process, unless another thread takes them. */
static void hold_signals(new_file *out) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigaddset(&ending, SIGALRM);
    sigaddset(&ending, SIGQUIT);
    sigaddset(&ending, SIGUSR1); /* batch systems send them before they end a job */
    sigaddset(&ending, SIGUSR2);
    sigaddset(&ending, SIGXCPU);
    pthread_sigmask(SIG_BLOCK, &ending, &out->signals);
}

static void let_go_signals(const new_file *out) {
    pthread_sigmask(SIG_SETMASK, &out->signals, NULL);
}

static int begin_apart(new_file *out, const char *path, const struct stat *old) {
    out->path = old != NULL ? realpath(path, NULL) : pl_copy_string(path, strlen(path));
    if (out->path == NULL)
        return old != NULL ? errno : ENOMEM;
    hold_signals(out);
    int fault = make_part(out, old != NULL ? old->st_mode & 0777 : 0666);
    if (fault == 0 && old != NULL)
        take_over(out, old);
    if (fault != 0) {
        let_go_signals(out);
        free(out->part);
        free(out->path);
        out->part = out->path = NULL;
    }
    return fault;
}

static int begin_in_place(new_file *out, const char *path, const struct stat *info) {
    int stream = standard_stream(info);
    out->file = stream >= 0 ? dup(stream) : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return out->file < 0 ? errno : 0;
}

/* Begins; creates the file that a link leads to, if it does not exist, so that it can be
 * replaced. */
static int create_target(new_file *out, const char *path) {
    struct stat info;
    *out = (new_file){.file = -1};
    if (stat(path, &info) == 0 || lstat(path, &info) != 0 || !S_ISLNK(info.st_mode))
        return 0;
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    out->is_target_new = file >= 0 && close(file) == 0;
    return out->is_target_new ? 0 : errno;
}

/* Begins to write the file `path`. Writes in place: devices and pipes; the process's standard
 * output or error under another name, which is not truncated either; a file that no longer has a
 * name; and a file in a directory where no file can be created. Returns 0 or errno, like the
 * functions below; after an error there is nothing to end. */
static int begin(new_file *out, const char *path) {
    struct stat info;
    int fault = create_target(out, path);
    if (fault != 0 || stat(path, &info) != 0)
        return fault != 0 ? fault : begin_apart(out, path, NULL);
    fault = EACCES;
    if (S_ISREG(info.st_mode) && standard_stream(&info) < 0)
        fault = begin_apart(out, path, &info);
    if (fault == EACCES || fault == ENOENT) /* no file can be created there, or it has no name */
        fault = begin_in_place(out, path, &info);
    return fault;
}

/* ---- Writing and ending ---------------------------------------------------------------------- */

static int add(new_file *out, const void *bytes, size_t length) {
    const char *rest = bytes;
    while (length > 0) {
        ssize_t written = write(out->file, rest, length);
        if (written < 0 && errno != EINTR)
            return errno;
        rest += written < 0 ? 0 : written;
        length -= written < 0 ? 0 : (size_t)written;
    }
    return 0;
}

/* Syncs a file to the disk; some file systems do not support that, and need not. */
static int sync_file(int file) {
    return fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS ? 0 : errno;
}

/* Syncs the directory of a file, and cuts the path for that, to need no memory. Skips a directory
 * that may be written but not read. */
static int sync_folder_of(char *path) {
    char *slash = strrchr(path, '/');
    if (slash != NULL)
        slash[slash == path] = '\0';
    int file = open(slash == NULL ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES ? 0 : errno;
    int fault = sync_file(file);
    close(file);
    return fault;
}

/* Syncs the file to the disk, moves it to its path, and syncs the directory. */
static int end_apart(new_file *out, int fault) {
    if (fault == 0)
        fault = sync_file(out->file);
    if (close(out->file) != 0 && fault == 0)
        fault = errno;
    if (fault == 0 && rename(out->part, out->path) != 0)
        fault = errno;
    if (fault != 0)
        unlink(out->part);
    if (fault != 0 && out->is_target_new)
        unlink(out->path);
    if (fault == 0)
        fault = sync_folder_of(out->path);
    let_go_signals(out);
    return fault;
}

/* Ends it, unless `fault` is not 0 or a step fails: then an incomplete file is removed. Returns the
 * first fault. */
static int end(new_file *out, int fault) {
    if (out->path != NULL)
        fault = end_apart(out, fault);
    else if (close(out->file) != 0 && fault == 0)
        fault = errno;
    free(out->part);
    free(out->path);
    return fault;
}

popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error) {
    new_file file;
    int fault = begin(&file, path);
    if (fault == 0)
        fault = end(&file, add(&file, bytes, length));
    if (fault == ENOMEM)
        return pl_fail_memory(error, "a file name");
    return fault == 0 ? POPLINER_OK
                      : pl_fail(error, POPLINER_ERROR_OUTPUT, "%s: cannot be written: %s", path,
                                strerror(fault));
}

/* ---- Reading --------------------------------------------------------------------------------- */

static popliner_status fail_reading(const char *path, const char *what, popliner_error *error) {
    return errno == ENOMEM ? pl_fail_memory(error, what) : pl_fail_reading(error, path);
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
        return fail_reading(path, what, error);
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
        status = fail_reading(path, what, error);
    if (!is_input)
        (void)fclose(stream); /* it was only read */
    return status;
}
