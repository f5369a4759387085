/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/locate.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/growth.h"

/* directory/middle name, as new text; NULL without memory. */
static char *join(const char *directory, const char *middle, const char *name) {
    pl_text path = {0};
    pl_text_format(&path, "%s/%s%s", directory, middle, name);
    if (path.failed) {
        free(path.data);
        return NULL;
    }
    return path.data;
}

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* Whether there is something to be read as debug information: also a link that leads nowhere, or
 * what cannot be looked at. Reading it will say what is wrong, where nothing would seem to be
 * there. */
static bool is_debug(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0)
        return !S_ISDIR(info.st_mode);
    return (errno != ENOENT && errno != ENOTDIR && errno != EACCES) || lstat(path, &info) == 0;
}

/* The directory part of a path, "." if it has none; NULL without memory. */
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return pl_copy_string(".", 1);
    return pl_copy_string(path, slash == path ? 1 : (size_t)(slash - path));
}

/* "a/, b/ and c/ do: name one of them", of the directories in this one that hold a profile; nothing
 * if there are none. False without memory. */
static bool list_reports(const char *directory, pl_text *text) {
    enum { MAX_NAMED = 5 };
    struct dirent **entries = NULL;
    size_t found[MAX_NAMED];
    size_t num_found = 0;
    bool memory = true;
    int count = scandir(directory, &entries, NULL, alphasort);
    for (int i = 0; memory && i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        char *profile = join(directory, name, "/profile.pop");
        memory = profile != NULL;
        if (memory && is_file(profile) && num_found++ < MAX_NAMED)
            found[num_found - 1] = (size_t)i;
        free(profile);
    }
    size_t num_named = num_found < MAX_NAMED ? num_found : MAX_NAMED;
    for (size_t i = 0; i < num_named; i++)
        pl_text_format(text, "%s%s/",
                       i == 0                                         ? ""
                       : i + 1 == num_named && num_named == num_found ? " and "
                                                                      : ", ",
                       entries[found[i]]->d_name);
    if (num_named < num_found)
        pl_text_format(text, " and %zu more", num_found - num_named);
    if (num_found > 0)
        pl_text_add(text, num_found == 1 ? " does: name it" : " do: name one of them");
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return memory && !text->failed;
}

/* Refuses a directory that holds no profile. */
static popliner_status fail_no_profile(const char *directory, popliner_error *error) {
    pl_text reports = {0};
    popliner_status status =
        !list_reports(directory, &reports)
            ? pl_fail_memory(error, "file names")
            : pl_fail(error, POPLINER_ERROR_INPUT, "%s: the directory holds no profile.pop%s%s",
                      directory, reports.length > 0 ? ", but " : "",
                      reports.length > 0 ? reports.data : "");
    free(reports.data);
    return status;
}

/* Looks for a debug.cbor near the profile; *debug_path stays NULL without one. False when memory is
 * short. */
static bool find_debug(const char *profile_path, char **debug_path) {
    static const char *const places[] = {"", "../"};
    char *directory = directory_of(profile_path);
    bool memory = directory != NULL;
    for (size_t i = 0; memory && i < sizeof places / sizeof *places; i++) {
        char *candidate = join(directory, places[i], "debug.cbor");
        memory = candidate != NULL;
        if (memory && is_debug(candidate)) {
            *debug_path = candidate;
            break;
        }
        free(candidate);
    }
    free(directory);
    return memory;
}

popliner_status pl_locate(const char *profile, const char *debug, char **profile_path,
                          char **debug_path, popliner_error *error) {
    struct stat info;
    bool memory = true;
    *profile_path = NULL;
    *debug_path = NULL;
    if (stat(profile, &info) != 0)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", profile,
                       strerror(errno));
    if (S_ISDIR(info.st_mode))
        *profile_path = join(profile, "", "profile.pop");
    else
        *profile_path = pl_copy_string(profile, strlen(profile));
    memory = *profile_path != NULL;
    if (memory && S_ISDIR(info.st_mode) && !is_file(*profile_path)) {
        free(*profile_path);
        *profile_path = NULL;
        return fail_no_profile(profile, error);
    }
    if (memory && debug != NULL) {
        *debug_path = pl_copy_string(debug, strlen(debug));
        memory = *debug_path != NULL;
    } else if (memory) {
        memory = find_debug(*profile_path, debug_path);
    }
    if (!memory) {
        free(*profile_path);
        *profile_path = NULL;
        return pl_fail_memory(error, "file names");
    }
    return POPLINER_OK;
}

bool pl_is_beside(const char *profile_path, const char *name) {
    char *directory = directory_of(profile_path);
    char *path = directory == NULL ? NULL : join(directory, "", name);
    const bool is_there = path != NULL && is_file(path);
    free(path);
    free(directory);
    return is_there;
}
