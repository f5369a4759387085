/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath, lstat */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* ---- Names ----------------------------------------------------------------------------------- */

/* Returns the length of the directory in a path, without the slash. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path);
}

/* Returns the absolute path of the directory of a file; NULL with errno. The caller frees it. */
static char *find_folder(const char *path) {
    size_t length = folder_length(path);
    char *folder = path[0] == '/' && length == 0 ? pl_copy_string("/", 1)
                   : length == 0                 ? pl_copy_string(".", 1)
                                                 : pl_copy_string(path, length);
    if (folder == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    char *real = realpath(folder, NULL);
    free(folder);
    return real;
}

/* Returns the text, or NULL with errno. */
static char *text_or_memory(pl_text *text) {
    if (!text->failed)
        return text->data;
    free(text->data);
    errno = ENOMEM;
    return NULL;
}

static char *join(const char *folder, const char *name) {
    pl_text path = {0};
    pl_text_format(&path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return text_or_memory(&path);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

const char *pl_last_part(const char *path) {
    const char *end = path + strlen(path);
    while (end > path && end[-1] == '/')
        end--;
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return begin == end ? path : begin;
}

/* Returns the absolute path with all links followed; NULL with errno. */
static char *find_place(const char *path, bool is_there) {
    if (is_there)
        return realpath(path, NULL);
    if (base_name(path)[0] == '\0') {
        errno = EISDIR;
        return NULL;
    }
    char *folder = find_folder(path);
    char *place = folder == NULL ? NULL : join(folder, base_name(path));
    int fault = errno;
    free(folder);
    errno = fault;
    return place;
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

/* Creates a temporary file in the directory of new_file->path, with a short name, as that of the
 * file may have the maximum length already. */
static int make_part(pl_new_file *new_file, mode_t mode) {
    enum { MOST_TRIES = 1000 };
    char *folder = find_folder(new_file->path);
    int fault = folder == NULL ? errno : EEXIST;
    for (int i = 0; fault == EEXIST && i < MOST_TRIES; i++) {
        char name[60];
        snprintf(name, sizeof name, "popliner-%lx-%d.part", (unsigned long)getpid(), i);
        new_file->part = join(folder, name);
        if (new_file->part == NULL) {
            fault = ENOMEM;
            break;
        }
        new_file->file = open(new_file->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        fault = new_file->file < 0 ? errno : 0;
        if (fault != 0) {
            free(new_file->part);
            new_file->part = NULL;
        }
    }
    free(folder);
    return fault;
}

/* Copies the owner and the mode of the file that will be replaced, as far as permitted. */
static void take_over(const pl_new_file *new_file, const struct stat *old) {
    struct stat now;
    if (fstat(new_file->file, &now) != 0)
        return;
    bool is_owned = (now.st_uid == old->st_uid && now.st_gid == old->st_gid) ||
                    fchown(new_file->file, old->st_uid, old->st_gid) == 0;
    /* never make a set-user-id program that runs as us out of one of another owner */
    mode_t mode = old->st_mode & (is_owned ? 07777 : 0777);
    if (fchmod(new_file->file, mode) != 0)
        return;
}

/* Blocks the signals that end the process, unless another thread takes them. */
static void hold_signals(pl_new_file *new_file) {
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
    pthread_sigmask(SIG_BLOCK, &ending, &new_file->signals);
}

static void let_go_signals(const pl_new_file *new_file) {
    pthread_sigmask(SIG_SETMASK, &new_file->signals, NULL);
}

static int begin_apart(pl_new_file *new_file, const char *path, const struct stat *old) {
    new_file->path = find_place(path, old != NULL);
    if (new_file->path == NULL)
        return errno;
    hold_signals(new_file);
    int fault = make_part(new_file, old != NULL ? old->st_mode & 0777 : 0666);
    if (fault == 0 && old != NULL)
        take_over(new_file, old);
    if (fault != 0) {
        let_go_signals(new_file);
        free(new_file->path);
        new_file->path = NULL;
    }
    return fault;
}

static int begin_in_place(pl_new_file *new_file, const char *path, const struct stat *info) {
    int stream = standard_stream(info);
    new_file->file = stream >= 0 ? dup(stream) : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return new_file->file < 0 ? errno : 0;
}

/* Begins; creates the file that a link leads to, if it does not exist, so that it can be
 * replaced. */
static int create_target(pl_new_file *new_file, const char *path) {
    struct stat info;
    *new_file = (pl_new_file){.file = -1};
    if (stat(path, &info) == 0 || lstat(path, &info) != 0 || !S_ISLNK(info.st_mode))
        return 0;
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    new_file->is_target_new = file >= 0 && close(file) == 0;
    return new_file->is_target_new ? 0 : errno;
}

int pl_new_file_begin(pl_new_file *new_file, const char *path) {
    struct stat info;
    int fault = create_target(new_file, path);
    if (fault != 0 || stat(path, &info) != 0)
        return fault != 0 ? fault : begin_apart(new_file, path, NULL);
    fault = EACCES;
    if (S_ISREG(info.st_mode) && standard_stream(&info) < 0)
        fault = begin_apart(new_file, path, &info);
    if (fault == EACCES || fault == ENOENT) /* no file can be created there, or it has no name */
        fault = begin_in_place(new_file, path, &info);
    return fault;
}

int pl_new_file_begin_apart(pl_new_file *new_file, const char *path) {
    struct stat info;
    const int fault = create_target(new_file, path);
    if (fault != 0 || stat(path, &info) != 0)
        return fault != 0 ? fault : begin_apart(new_file, path, NULL);
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    return S_ISREG(info.st_mode) ? begin_apart(new_file, path, &info) : EINVAL;
}

/* ---- Writing and ending ---------------------------------------------------------------------- */

static int add(pl_new_file *new_file, const void *bytes, size_t length) {
    const char *rest = bytes;
    while (length > 0) {
        ssize_t written = write(new_file->file, rest, length);
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
    slash[slash == path] = '\0';
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0)
        return errno == EACCES ? 0 : errno;
    int fault = sync_file(file);
    close(file);
    return fault;
}

/* Closes the file and gives it its name. */
static int end_apart(pl_new_file *new_file, int fault) {
    if (fault == 0)
        fault = sync_file(new_file->file);
    if (close(new_file->file) != 0 && fault == 0)
        fault = errno;
    if (fault == 0 && rename(new_file->part, new_file->path) != 0)
        fault = errno;
    if (fault != 0)
        unlink(new_file->part);
    if (fault != 0 && new_file->is_target_new)
        unlink(new_file->path);
    if (fault == 0)
        fault = sync_folder_of(new_file->path);
    let_go_signals(new_file);
    return fault;
}

int pl_new_file_end(pl_new_file *new_file, int fault) {
    if (new_file->path != NULL)
        fault = end_apart(new_file, fault);
    else if (close(new_file->file) != 0 && fault == 0)
        fault = errno;
    free(new_file->part);
    free(new_file->path);
    *new_file = (pl_new_file){.file = -1};
    return fault;
}

popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error) {
    pl_new_file file;
    int fault = pl_new_file_begin(&file, path);
    if (fault == 0)
        fault = pl_new_file_end(&file, add(&file, bytes, length));
    if (fault == ENOMEM)
        return pl_fail_memory(error, "a file name");
    return fault == 0 ? POPLINER_OK
                      : pl_fail(error, POPLINER_ERROR_OUTPUT, "%s cannot be written: %s", path,
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
    FILE *stream = fopen(path, "rb");
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
    (void)fclose(stream); /* it was only read */
    return status;
}
