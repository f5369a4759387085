/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/report_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command/nearest.h"
#include "command/session.h"
#include "popliner/analysis.h"

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

/* Whether the directory is a report, whose profile can be examined. */
static bool is_report(const char *directory) {
    struct stat info;
    char *profile = NULL;
    char *debug = NULL;
    const bool is_found =
        stat(directory, &info) == 0 && S_ISDIR(info.st_mode) &&
        popliner_analysis_locate(directory, NULL, &profile, &debug, NULL) == POPLINER_OK;
    free(profile);
    free(debug);
    return is_found;
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

/* Adds a report of a directory. */
static popliner_status add(report_names *r, const char *directory, const char *name,
                           popliner_error *error) {
    char **names = realloc(r->names, (r->count + 1) * sizeof *names);
    r->names = names == NULL ? r->names : names;
    char **paths = realloc(r->paths, (r->count + 1) * sizeof *paths);
    r->paths = paths == NULL ? r->paths : paths;
    char *path = join(directory, name);
    char *own = malloc(strlen(name) + 1);
    if (names == NULL || paths == NULL || path == NULL || own == NULL) {
        free(path);
        free(own);
        return fail_memory(error);
    }
    strcpy(own, name);
    r->names[r->count] = own;
    r->paths[r->count++] = path;
    return POPLINER_OK;
}

bool report_names_are_in(const char *directory) {
    popliner_reports *all = NULL;
    bool are_there = false;
    if (!is_report(directory) && popliner_reports_find(directory, &all, NULL) == POPLINER_OK)
        for (size_t i = 0; !are_there && i < popliner_reports_count(all); i++) {
            char *report = join(directory, popliner_reports_at(all, i));
            are_there = report != NULL && is_report(report);
            free(report);
        }
    popliner_reports_free(all);
    return are_there;
}

/* Refuses a name that none of the reports has. */
static popliner_status fail_unknown(const options *o, const char *name, const popliner_reports *all,
                                    popliner_error *error) {
    enum { MAX_NAMED = 5 };
    char hint[NEAREST_HINT_BYTES];
    char others[400] = "; it has ";
    size_t length = strlen(others);
    nearest n = nearest_begin(name, strlen(name));
    const size_t count = popliner_reports_count(all);
    for (size_t i = 0; i < count; i++) {
        const char *own = popliner_reports_at(all, i);
        nearest_offer(&n, own, strlen(own));
        if (i < MAX_NAMED && length < sizeof others)
            length += (size_t)snprintf(others + length, sizeof others - length, "%s%.60s",
                                       i == 0 ? "" : ", ", own);
    }
    if (count > MAX_NAMED && length < sizeof others)
        snprintf(others + length, sizeof others - length, " and %zu more", count - MAX_NAMED);
    return session_fail(error, POPLINER_ERROR_USAGE, "--report %s: %.300s has no such report%s",
                        name, o->profile, nearest_hint(&n, "", others, hint));
}

static bool has_report(const popliner_reports *all, const char *name) {
    size_t i = 0;
    while (i < popliner_reports_count(all) && strcmp(popliner_reports_at(all, i), name) != 0)
        i++;
    return i < popliner_reports_count(all);
}

/* Takes those that are asked for. */
static popliner_status take(const options *o, const popliner_reports *all, report_names *found,
                            popliner_error *error) {
    const bool takes_all = options_are_together(o) && o->reports.count == 1;
    const size_t count = takes_all ? popliner_reports_count(all) : o->reports.count;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        const char *name = takes_all ? popliner_reports_at(all, i) : o->reports.texts[i];
        status = has_report(all, name) ? add(found, o->profile, name, error)
                                       : fail_unknown(o, name, all, error);
    }
    return status;
}

popliner_status report_names_find(const options *o, report_names *found, popliner_error *error) {
    popliner_reports *all = NULL;
    const char *const *asked = o->reports.texts;
    struct stat info;
    if (stat(o->profile, &info) != 0)
        return session_fail(error, POPLINER_ERROR_INPUT, "%.300s: cannot be read: %s", o->profile,
                            strerror(errno));
    if (is_report(o->profile))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--report %s: %.300s holds a profile.pop, so it is a report itself; "
                            "leave out --report",
                            asked[0], o->profile);
    popliner_status status =
        S_ISDIR(info.st_mode) ? popliner_reports_find(o->profile, &all, error) : POPLINER_OK;
    if (status == POPLINER_OK && (all == NULL || popliner_reports_count(all) == 0))
        status = session_fail(error, POPLINER_ERROR_INPUT,
                              "--report %s: %.300s is no directory with reports: none of its "
                              "sub-directories holds a profile.pop",
                              asked[0], o->profile);
    if (status == POPLINER_OK)
        status = take(o, all, found, error);
    popliner_reports_free(all);
    return status;
}
