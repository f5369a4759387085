/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/report_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command/nearest.h"
#include "command/session.h"

static popliner_status fail_memory(popliner_error *error) {
    return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the reports");
}

/* "DIRECTORY/NAME", or NULL without memory. */
static char *join(const char *directory, const char *name) {
    const size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL)
        snprintf(path, size, "%s/%s", directory, name);
    return path;
}

/* Whether the directory is a report. */
static bool is_report(const char *directory) {
    struct stat info;
    char *profile = join(directory, "profile.pop");
    const bool is_there = profile != NULL && stat(profile, &info) == 0 && !S_ISDIR(info.st_mode);
    free(profile);
    return is_there;
}

void report_names_free(report_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->names[i]);
        free(names->paths[i]);
    }
    free(names->names);
    free(names->paths);
    *names = (report_names){0};
}

/* Adds directory/name if that is a report. */
static popliner_status add(report_names *r, const char *directory, const char *name,
                           popliner_error *error) {
    char **names = realloc(r->names, (r->count + 1) * sizeof *names);
    r->names = names == NULL ? r->names : names;
    char **paths = realloc(r->paths, (r->count + 1) * sizeof *paths);
    r->paths = paths == NULL ? r->paths : paths;
    char *path = join(directory, name);
    char *own = malloc(strlen(name) + 1);
    const bool has_memory = names != NULL && paths != NULL && path != NULL && own != NULL;
    if (has_memory && is_report(path)) {
        strcpy(own, name);
        r->names[r->count] = own;
        r->paths[r->count++] = path;
        return POPLINER_OK;
    }
    free(path);
    free(own);
    return has_memory ? POPLINER_OK : fail_memory(error);
}

/* All reports in a directory, by name. */
static popliner_status list(const char *directory, report_names *all, popliner_error *error) {
    struct dirent **entries = NULL;
    popliner_status status = POPLINER_OK;
    const int count = scandir(directory, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (status == POPLINER_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            status = add(all, directory, name, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

bool report_names_are_in(const char *directory) {
    report_names all = {0};
    popliner_error ignored;
    const bool are_there =
        !is_report(directory) && list(directory, &all, &ignored) == POPLINER_OK && all.count > 0;
    report_names_free(&all);
    return are_there;
}

/* Refuses a name that none of the reports has. */
static popliner_status fail_unknown(const options *o, const char *name, const report_names *all,
                                    popliner_error *error) {
    enum { MAX_NAMED = 5 };
    char hint[NEAREST_HINT_BYTES];
    char others[400] = "; it has ";
    size_t length = strlen(others);
    nearest n = nearest_begin(name, strlen(name));
    for (size_t i = 0; i < all->count; i++) {
        nearest_offer(&n, all->names[i], strlen(all->names[i]));
        if (i < MAX_NAMED && length < sizeof others)
            length += (size_t)snprintf(others + length, sizeof others - length, "%s%.60s",
                                       i == 0 ? "" : ", ", all->names[i]);
    }
    if (all->count > MAX_NAMED && length < sizeof others)
        snprintf(others + length, sizeof others - length, " and %zu more", all->count - MAX_NAMED);
    return session_fail(error, POPLINER_ERROR_USAGE, "--report %s: %.300s has no such report%s",
                        name, o->profile, nearest_hint(&n, "", others, hint));
}

popliner_status report_names_find(const options *o, report_names *found, popliner_error *error) {
    report_names all = {0};
    const char *const *asked = o->reports.texts;
    popliner_status status = POPLINER_OK;
    struct stat info;
    if (stat(o->profile, &info) != 0)
        return session_fail(error, POPLINER_ERROR_INPUT, "%.300s: cannot be read: %s", o->profile,
                            strerror(errno));
    if (is_report(o->profile))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--report %s: %.300s holds a profile.pop, so it is a report itself; "
                            "leave out --report",
                            asked[0], o->profile);
    status = list(o->profile, &all, error);
    if (status == POPLINER_OK && all.count == 0)
        status = session_fail(error, POPLINER_ERROR_INPUT,
                              "--report %s: %.300s is no directory with reports: none of its "
                              "sub-directories holds a profile.pop",
                              asked[0], o->profile);
    if (status == POPLINER_OK && options_are_together(o) && o->reports.count == 1) {
        *found = all;
        return POPLINER_OK;
    }
    for (size_t i = 0; status == POPLINER_OK && i < o->reports.count; i++) {
        size_t k = 0;
        while (k < all.count && strcmp(all.names[k], asked[i]) != 0)
            k++;
        status = k == all.count ? fail_unknown(o, asked[i], &all, error)
                                : add(found, o->profile, asked[i], error);
    }
    report_names_free(&all);
    return status;
}
