/* Finds the files of a report by the path of any of them, and the reports of a directory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/read.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "base/text.h"
#include "popliner/analysis.h"

/* Returns directory/middle name as new text; NULL if memory is short. */
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

/* True if there may be debug information: also for a dangling link, or a file that cannot be
 * examined. Reading it reports the reason, where ignoring it would hide the file. */
static bool is_debug(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0)
        return !S_ISDIR(info.st_mode);
    return (errno != ENOENT && errno != ENOTDIR && errno != EACCES) || lstat(path, &info) == 0;
}

/* Returns the directory of a path, "." if it has none; NULL if memory is short. */
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return pl_copy_string(".", 1);
    return pl_copy_string(path, slash == path ? 1 : (size_t)(slash - path));
}

/* ---- The reports in a directory ---- */

/* The order is the same in every locale. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    const int order = pl_compare_naturally((*a)->d_name, (*b)->d_name);
    return order != 0 ? order : strcmp((*a)->d_name, (*b)->d_name);
}

/* True if the path is a dangling link. */
static bool is_dangling(const char *path) {
    struct stat info;
    return stat(path, &info) != 0 && lstat(path, &info) == 0;
}

/* True if there may be a report: also if it cannot be examined (a directory without permission, a
 * dangling link, a directory called profile.pop). Reading it reports the reason, where ignoring it
 * would hide the report. */
static bool is_report(const char *folder, const char *profile) {
    struct stat info;
    const char *name = strrchr(folder, '/') + 1;
    if (stat(profile, &info) == 0 || lstat(profile, &info) == 0)
        return true;
    return (errno != ENOENT && errno != ENOTDIR) || (name[0] != '.' && is_dangling(folder));
}

/* Adds a name if it is a report. False if memory is short. */
static bool add_report(pl_names *reports, const char *directory, const char *name) {
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    char *folder = join(directory, "", name);
    char *profile = join(directory, name, "/profile.pop");
    const bool is_added =
        folder != NULL && profile != NULL &&
        (!is_report(folder, profile) || pl_names_number(reports, name) != SIZE_MAX);
    free(profile);
    free(folder);
    return is_added;
}

/* Returns a list of the names in one block; NULL if memory is short. */
static char **list_names(const pl_names *names) {
    size_t size = (names->count + 1) * sizeof(char *);
    for (size_t i = 0; i < names->count; i++)
        size += strlen(names->items[i]) + 1;
    char **list = malloc(size);
    if (list == NULL)
        return NULL;
    char *text = (char *)(list + names->count + 1);
    for (size_t i = 0; i < names->count; i++, text += strlen(text) + 1)
        list[i] = strcpy(text, names->items[i]);
    list[names->count] = NULL;
    return list;
}

popliner_status popliner_reports_find(const char *directory, char ***names, popliner_error *error) {
    struct dirent **entries = NULL;
    pl_names found = {0};
    *names = NULL;
    const int count = scandir(directory, &entries, NULL, by_name);
    popliner_status status = POPLINER_OK;
    if (count < 0)
        status = errno == ENOMEM ? pl_fail_memory(error, "file names")
                                 : pl_fail_reading(error, directory);
    for (int i = 0; i < count; i++) {
        if (status == POPLINER_OK && !add_report(&found, directory, entries[i]->d_name))
            status = pl_fail_memory(error, "file names");
        free(entries[i]);
    }
    free(entries);
    if (status == POPLINER_OK && (*names = list_names(&found)) == NULL)
        status = pl_fail_memory(error, "file names");
    pl_names_free(&found);
    return status;
}

/* Adds the reports whose profiles can be examined to `readable`. False if memory is short. */
static bool find_readable(const char *directory, char *const *reports, pl_names *readable) {
    bool memory = true;
    for (; memory && *reports != NULL; reports++) {
        char *profile = join(directory, *reports, "/profile.pop");
        memory = profile != NULL &&
                 (!is_file(profile) || pl_names_number(readable, *reports) != SIZE_MAX);
        free(profile);
    }
    return memory;
}

/* Writes the part of the message that names the reports; nothing if there are none. */
static void list_reports(const pl_names *reports, pl_text *text) {
    enum { MAX_NAMED = 5 };
    const size_t count = reports->count;
    const size_t num_named = count < MAX_NAMED ? count : MAX_NAMED;
    for (size_t i = 0; i < num_named; i++)
        pl_text_format(text, "%s%s/",
                       i == 0                                     ? ""
                       : i + 1 == num_named && num_named == count ? " and "
                                                                  : ", ",
                       reports->items[i]);
    if (num_named < count)
        pl_text_format(text, " and %zu more", count - num_named);
    if (count > 0)
        pl_text_add(text, count == 1 ? "; pass it" : "; pass one of them");
}

/* Fails because a directory has no profile. If it cannot be listed, no reports are named. */
static popliner_status fail_no_profile(const char *directory, popliner_error *error) {
    pl_text text = {0};
    pl_names readable = {0};
    char **reports = NULL;
    struct stat info;
    char *path = join(directory, "", "profile.pop");
    const int fault = path == NULL ? 0 : stat(path, &info) != 0 ? errno : EISDIR;
    const bool is_odd = fault == EISDIR || (path != NULL && is_dangling(path));
    free(path);
    if (path == NULL)
        return pl_fail_memory(error, "file names");
    if (fault == EACCES || is_odd)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s%s: cannot be read: %s", directory,
                       is_odd ? "/profile.pop" : "", strerror(fault));
    popliner_status status = popliner_reports_find(directory, &reports, error);
    if (reports != NULL && !find_readable(directory, reports, &readable))
        status = POPLINER_ERROR_MEMORY;
    list_reports(&readable, &text);
    free(reports);
    pl_names_free(&readable);
    if (status == POPLINER_ERROR_MEMORY || text.failed)
        status = pl_fail_memory(error, "file names");
    else
        status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: no profile.pop here%s%s", directory,
                         text.length > 0 ? "; found " : "", text.length > 0 ? text.data : "");
    free(text.data);
    return status;
}

/* ---- The files of a report ---- */

/* Looks for debug.cbor near the profile; *debug_path stays NULL if there is none. False if memory
 * is short. */
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

popliner_status popliner_analysis_locate(const char *path, const char *debug_path,
                                         char **found_profile, char **found_debug,
                                         popliner_error *error) {
    struct stat info;
    bool memory = true;
    *found_profile = NULL;
    *found_debug = NULL;
    if (stat(path, &info) != 0)
        return pl_fail_reading(error, path);
    if (S_ISDIR(info.st_mode))
        *found_profile = join(path, "", "profile.pop");
    else
        *found_profile = pl_copy_string(path, strlen(path));
    memory = *found_profile != NULL;
    if (memory && S_ISDIR(info.st_mode) && !is_file(*found_profile)) {
        free(*found_profile);
        *found_profile = NULL;
        return fail_no_profile(path, error);
    }
    if (memory && debug_path != NULL) {
        *found_debug = pl_copy_string(debug_path, strlen(debug_path));
        memory = *found_debug != NULL;
    } else if (memory) {
        memory = find_debug(*found_profile, found_debug);
    }
    if (!memory) {
        free(*found_profile);
        *found_profile = NULL;
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
