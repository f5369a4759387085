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
#include "base/text.h"
#include "popliner/analysis.h"

/* Returns directory/middle name, which `paths` own; "" if memory is short. */
static const char *join(pl_arrays *paths, const char *directory, const char *middle,
                        const char *name) {
    return pl_arrays_take(paths, pl_text_of("%s/%s%s", directory, middle, name));
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

/* Returns the path of a file next to another one, in `middle` of its directory. */
static const char *path_next_to(pl_arrays *paths, const char *path, const char *middle,
                                const char *name) {
    const char *slash = strrchr(path, '/');
    char *directory = slash == NULL ? pl_arrays_text(paths, ".") : pl_arrays_text(paths, path);
    if (directory == NULL)
        return "";
    if (slash != NULL)
        directory[slash == path ? 1 : slash - path] = '\0';
    return join(paths, directory, middle, name);
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

/* True if a name in a directory may be that of a report: also if it cannot be examined (a directory
 * without permission, a dangling link, a directory called profile.pop). Reading it reports the
 * reason, where ignoring it would hide the report. */
static bool is_report(pl_arrays *paths, const char *directory, const char *name) {
    struct stat info;
    const char *folder = join(paths, directory, "", name);
    const char *profile = join(paths, directory, name, "/profile.pop");
    if (paths->failed || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    if (stat(profile, &info) == 0 || lstat(profile, &info) == 0)
        return true;
    return (errno != ENOENT && errno != ENOTDIR) || (name[0] != '.' && is_dangling(folder));
}

popliner_status popliner_reports_find(const char *directory, char ***names, popliner_error *error) {
    struct dirent **entries = NULL;
    pl_arrays paths = {0};
    size_t num_reports = 0; /* the first ones of the entries */
    size_t size = sizeof **names;
    *names = NULL;
    const int count = scandir(directory, &entries, NULL, by_name);
    if (count < 0)
        return pl_fail_reading(error, directory);
    for (int i = 0; i < count; i++) {
        struct dirent *entry = entries[i];
        if (!is_report(&paths, directory, entry->d_name))
            continue;
        size += sizeof **names + strlen(entry->d_name) + 1;
        entries[i] = entries[num_reports];
        entries[num_reports++] = entry;
    }
    char **list = paths.failed ? NULL : malloc(size); /* one block, with the names after the list */
    if (list != NULL) {
        char *text = (char *)(list + num_reports + 1);
        for (size_t i = 0; i < num_reports; i++, text += strlen(text) + 1)
            list[i] = strcpy(text, entries[i]->d_name);
        list[num_reports] = NULL;
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    pl_arrays_free(&paths);
    *names = list;
    return list != NULL ? POPLINER_OK : pl_fail_memory(error, "file names");
}

/* Writes the part of the message that names the reports; nothing if there are none. */
static void list_reports(char *const *reports, size_t count, pl_text *text) {
    enum { MAX_NAMED = 5 };
    const size_t num_named = count < MAX_NAMED ? count : MAX_NAMED;
    for (size_t i = 0; i < num_named; i++)
        pl_text_format(text, "%s%s/",
                       i == 0                                     ? ""
                       : i + 1 == num_named && num_named == count ? " and "
                                                                  : ", ",
                       reports[i]);
    if (num_named < count)
        pl_text_format(text, " and %zu more", count - num_named);
    if (count > 0)
        pl_text_add(text, count == 1 ? "; pass it" : "; pass one of them");
}

/* Fails because a directory has no profile, of this path. If it cannot be listed, no reports are
 * named. */
static popliner_status fail_no_profile(pl_arrays *paths, const char *directory, const char *path,
                                       popliner_error *error) {
    pl_text text = {0};
    char **reports = NULL;
    struct stat info;
    const int fault = stat(path, &info) != 0 ? errno : EISDIR;
    const bool is_odd = fault == EISDIR || is_dangling(path);
    if (fault == EACCES || is_odd)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s%s: cannot be read: %s", directory,
                       is_odd ? "/profile.pop" : "", strerror(fault));
    popliner_status status = popliner_reports_find(directory, &reports, error);
    size_t num_readable = 0; /* their profiles can be examined */
    for (size_t i = 0; reports != NULL && reports[i] != NULL; i++)
        if (is_file(join(paths, directory, reports[i], "/profile.pop")))
            reports[num_readable++] = reports[i];
    list_reports(reports, num_readable, &text);
    free(reports);
    if (status == POPLINER_ERROR_MEMORY || paths->failed || text.failed)
        status = pl_fail_memory(error, "file names");
    else
        status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: no profile.pop here%s%s", directory,
                         text.length > 0 ? "; found " : "", pl_text_string(&text));
    free(text.data);
    return status;
}

/* ---- The files of a report ---- */

/* Looks for debug.cbor near the profile; NULL if there is none. */
static const char *find_debug(pl_arrays *paths, const char *profile_path) {
    static const char *const places[] = {"", "../"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *candidate = path_next_to(paths, profile_path, places[i], "debug.cbor");
        if (!paths->failed && is_debug(candidate))
            return candidate;
    }
    return NULL;
}

popliner_status popliner_analysis_locate(const char *path, const char *debug_path,
                                         char **found_profile, char **found_debug,
                                         popliner_error *error) {
    struct stat info;
    pl_arrays paths = {0};
    popliner_status status = POPLINER_OK;
    *found_profile = NULL;
    *found_debug = NULL;
    if (stat(path, &info) != 0)
        return pl_fail_reading(error, path);
    const bool is_directory = S_ISDIR(info.st_mode);
    const char *profile = is_directory ? join(&paths, path, "", "profile.pop") : path;
    if (!paths.failed && is_directory && !is_file(profile)) {
        status = fail_no_profile(&paths, path, profile, error);
    } else {
        const char *debug = debug_path != NULL ? debug_path : find_debug(&paths, profile);
        *found_profile = paths.failed ? NULL : strdup(profile);
        *found_debug = paths.failed || debug == NULL ? NULL : strdup(debug);
        if (*found_profile == NULL || (debug != NULL && *found_debug == NULL)) {
            status = pl_fail_memory(error, "file names");
            free(*found_profile);
            free(*found_debug);
            *found_profile = *found_debug = NULL;
        }
    }
    pl_arrays_free(&paths);
    return status;
}

bool pl_is_beside(const char *profile_path, const char *name) {
    pl_arrays paths = {0};
    const bool is_there = is_file(path_next_to(&paths, profile_path, "", name));
    pl_arrays_free(&paths);
    return is_there;
}
