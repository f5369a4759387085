/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* realpath */
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

/* What is behind the last slash. */
static const char *own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static popliner_status fail_memory(popliner_error *error) {
    return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for file names");
}

/* Follows links that lead nowhere yet, where a file would be made. False without memory. */
static bool follow_links(char **path) {
    enum { MOST_LINKS = 40, ROOM = 4096 };
    char link[ROOM];
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t length = readlink(*path, link, sizeof link - 1);
        if (length <= 0 || length == ROOM - 1)
            break;
        link[length] = '\0';
        const size_t kept = link[0] == '/' ? 0 : (size_t)(own_name(*path) - *path);
        char *next = malloc(kept + (size_t)length + 1);
        if (next == NULL)
            return false;
        memcpy(next, *path, kept);
        memcpy(next + kept, link, (size_t)length + 1);
        free(*path);
        *path = next;
    }
    return true;
}

/* Where a file is or would be made, behind all links; NULL without memory. The caller frees it. */
static char *find_place(const char *path) {
    char *place = realpath(path, NULL);
    if (place != NULL || errno == ENOMEM)
        return place;
    char *at = strdup(path);
    char *folder = at != NULL && follow_links(&at) ? directory_of(at) : NULL;
    char *real_folder = folder == NULL ? NULL : realpath(folder, NULL);
    if (real_folder != NULL && (place = malloc(strlen(real_folder) + strlen(at) + 2)) != NULL) {
        strcpy(place, real_folder);
        strcat(place, "/");
        strcat(place, own_name(at));
    } else if (folder != NULL && real_folder == NULL && errno != ENOMEM) {
        place = strdup(at);
    }
    free(real_folder);
    free(folder);
    free(at);
    return place;
}

/* Refuses a file that SQLite would take for one that belongs to a database beside it. */
static popliner_status check_not_part(const char *option, const char *path, popliner_error *error) {
    static const char *const suffixes[] = {"-wal", "-journal", "-shm"};
    struct stat info;
    char *place = find_place(path);
    popliner_status status = place == NULL ? fail_memory(error) : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t length = strlen(place);
        const size_t own_length = strlen(suffixes[i]);
        if (length <= own_length || strcmp(place + length - own_length, suffixes[i]) != 0)
            continue;
        place[length - own_length] = '\0';
        if (stat(place, &info) == 0 && S_ISREG(info.st_mode))
            status = session_fail(error, POPLINER_ERROR_USAGE,
                                  "--%s %s: would be taken for a part of %s, beside which it is",
                                  option, path, place);
        place[length - own_length] = suffixes[i][0];
    }
    free(place);
    return status;
}

/* A file that is read. */
typedef struct read_file {
    const char *what; /* as messages call it */
    const char *path; /* NULL: there is none */
} read_file;

enum { NUM_READ = 4 };

/* Whether the file is one of those beside a profile that tell of its report. */
static bool is_note_of(const char *path, const char *profile, bool *memory) {
    static const char *const notes[] = {"framework.json", "app.json"};
    struct stat info;
    bool is_note = false;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        is_note = is_note || strcmp(own_name(path), notes[i]) == 0;
    if (!is_note || profile == NULL)
        return false;
    char *folder = directory_of(path);
    char *read_folder = directory_of(profile);
    *memory = folder != NULL && read_folder != NULL;
    is_note = *memory && stat(folder, &info) == 0 && is_same_file(&info, read_folder);
    free(folder);
    free(read_folder);
    return is_note;
}

/* Refuses a file that is read: read[NUM_READ], of which the first is the profile, what is loaded or
 * the costs. */
static popliner_status check_not_read(const char *option, const char *path, const read_file *read,
                                      popliner_error *error) {
    struct stat info;
    bool memory = true;
    if (stat(path, &info) != 0)
        return POPLINER_OK;
    const char *what = is_note_of(path, read[0].path, &memory) ? own_name(path) : NULL;
    for (size_t i = 0; i < NUM_READ && what == NULL; i++)
        what = is_same_file(&info, read[i].path) ? read[i].what : NULL;
    if (what != NULL)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--%s %s: would overwrite the %s that is read", option, path, what);
    return memory ? POPLINER_OK : fail_memory(error);
}

/* Storing replaces the file of that name: a device must not be replaced. */
static popliner_status check_stored_file(const char *path, popliner_error *error) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return session_fail(error, POPLINER_ERROR_OUTPUT, "--save-to-file %s: is %s", path,
                            S_ISDIR(info.st_mode) ? "a directory, not a file" : "no regular file");
    popliner_status status = POPLINER_OK;
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

/* Whether two names lead to one file that would be replaced: what is there already, or the place
 * where one would be made. Devices take all that is written. */
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
    char *place = find_place(path);
    char *other_place = find_place(other);
    const bool memory = place != NULL && other_place != NULL;
    *is_one = memory && strcmp(place, other_place) == 0;
    free(place);
    free(other_place);
    return memory ? POPLINER_OK : fail_memory(error);
}

/* Whether a file is what standard output leads to, where all that is printed would be lost. Who
 * names the device means it, unless the file is replaced. */
static bool is_printed_into(const char *path, bool is_replaced) {
    struct stat info;
    struct stat output;
    return (is_replaced || strncmp(path, "/dev/", 5) != 0) && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode) && fstat(STDOUT_FILENO, &output) == 0 &&
           info.st_dev == output.st_dev && info.st_ino == output.st_ino;
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

/* Refuses one that must not be written, or cannot be. */
static popliner_status check_file(const options *o, const written_file *f, const read_file *read,
                                  popliner_error *error) {
    const bool is_stored = f->path == o->save_to_file;
    popliner_status status = check_not_read(f->option, f->path, read, error);
    if (status == POPLINER_OK)
        status = check_not_part(f->option, f->path, error);
    if (status == POPLINER_OK && is_printed_into(f->path, is_stored))
        status = session_fail(error, POPLINER_ERROR_USAGE, "--%s %s: is standard output, too",
                              f->option, f->path);
    if (status != POPLINER_OK || is_stored)
        return status != POPLINER_OK ? status : check_stored_file(f->path, error);
    int fault = fault_of_writing(f->path);
    if (fault == ENOMEM)
        return fail_memory(error);
    if (fault != 0)
        return session_fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: %s cannot be written (%s)",
                            f->option, f->path, f->what, strerror(fault));
    return POPLINER_OK;
}

popliner_status check_written_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error) {
    size_t count;
    const char *what = o->costs != NULL    ? "file of costs"
                       : o->load_from_file ? "stored analysis"
                                           : "profile";
    read_file all[NUM_READ] = {
        {what, read},
        {"debug information", also_read},
        {"file of --config", o->config_path},
        {"file of --calibration", o->calibration},
    };
    written_file *files = list_files(o, &count);
    if (files == NULL)
        return fail_memory(error);
    popliner_status status = check_apart(files, count, error);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        /* what is loaded has been read when it is stored again */
        const bool is_stored_again = files[i].path == o->save_to_file && o->load_from_file;
        all[0].path = is_stored_again ? NULL : read;
        status = check_file(o, &files[i], all, error);
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
