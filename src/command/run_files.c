/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* strdup, readlink */
#include "command/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/output_table.h"

/* ---- reports ---- */

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

popliner_status report_names_add(report_names *r, const char *directory, const char *name,
                                 popliner_error *error) {
    char **names = realloc(r->names, (r->count + 1) * sizeof *names);
    r->names = names == NULL ? r->names : names;
    char **paths = realloc(r->paths, (r->count + 1) * sizeof *paths);
    r->paths = paths == NULL ? r->paths : paths;
    char *path = path_join(directory, name);
    char *own = malloc(strlen(name) + 1);
    if (names == NULL || paths == NULL || path == NULL || own == NULL) {
        free(path);
        free(own);
        return fail_memory(error, "the reports");
    }
    strcpy(own, name);
    r->names[r->count] = own;
    r->paths[r->count++] = path;
    return POPLINER_OK;
}

bool report_names_are_in(const char *directory) {
    char **all = NULL;
    bool are_there = false;
    if (!is_report(directory) && popliner_reports_find(directory, &all, NULL) == POPLINER_OK)
        for (size_t i = 0; !are_there && all[i] != NULL; i++) {
            char *report = path_join(directory, all[i]);
            are_there = report != NULL && is_report(report);
            free(report);
        }
    free(all);
    return are_there;
}

/* Refuses a name that none of the reports has. */
static popliner_status fail_unknown(const options *o, const char *name, char *const *all,
                                    popliner_error *error) {
    enum { MAX_NAMED = 5 };
    char hint[NEAREST_HINT_BYTES];
    char others[400] = "; it has ";
    size_t length = strlen(others);
    nearest n = nearest_begin(name, strlen(name));
    size_t count = 0;
    for (; all[count] != NULL; count++) {
        nearest_offer(&n, all[count], strlen(all[count]));
        if (count < MAX_NAMED && length < sizeof others)
            length += (size_t)snprintf(others + length, sizeof others - length, "%s%.60s",
                                       count == 0 ? "" : ", ", all[count]);
    }
    if (count > MAX_NAMED && length < sizeof others)
        snprintf(others + length, sizeof others - length, " and %zu more", count - MAX_NAMED);
    if (output_find(name, strcspn(name, ":=")) != NULL)
        return fail_usage(error, "--report %s: %.300s has no such report; a table is --output %s",
                          name, o->profile, name);
    return fail_usage(error, "--report %s: %.300s has no such report%s", name, o->profile,
                      nearest_hint(&n, "", others, hint));
}

static bool has_report(char *const *all, const char *name) {
    while (*all != NULL && strcmp(*all, name) != 0)
        all++;
    return *all != NULL;
}

/* Selects the requested reports. */
static popliner_status take(const options *o, char *const *all, report_names *found,
                            popliner_error *error) {
    const bool takes_all = options_are_together(o) && o->reports.count == 1;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && takes_all && all[i] != NULL; i++)
        status = report_names_add(found, o->profile, all[i], error);
    for (size_t i = 0; status == POPLINER_OK && !takes_all && i < o->reports.count; i++)
        status = has_report(all, o->reports.texts[i])
                     ? report_names_add(found, o->profile, o->reports.texts[i], error)
                     : fail_unknown(o, o->reports.texts[i], all, error);
    return status;
}

popliner_status report_names_find(const options *o, report_names *found, popliner_error *error) {
    char **all = NULL;
    const char *const *asked = o->reports.texts;
    struct stat info;
    if (stat(o->profile, &info) != 0)
        return fail(error, POPLINER_ERROR_INPUT, "%.300s: cannot be read: %s", o->profile,
                    strerror(errno));
    if (is_report(o->profile))
        return fail_usage(error,
                          "--report %s: %.300s holds a profile.pop, so it is a report itself; "
                          "leave out --report",
                          asked[0], o->profile);
    popliner_status status =
        S_ISDIR(info.st_mode) ? popliner_reports_find(o->profile, &all, error) : POPLINER_OK;
    if (status == POPLINER_OK && (all == NULL || all[0] == NULL))
        status = fail(error, POPLINER_ERROR_INPUT,
                      "--report %s: %.300s is not a directory with reports: none of its "
                      "sub-directories holds a profile.pop",
                      asked[0], o->profile);
    if (status == POPLINER_OK)
        status = take(o, all, found, error);
    free(all);
    return status;
}

/* Files that SQLite writes next to a database. */
static const char *const parts[] = {"-wal", "-journal", "-shm"};
enum { NUM_PARTS = sizeof parts / sizeof *parts };

/* ---- what is written ---- */

typedef struct target {
    option_path of; /* without an option: a standard stream */
    char *at;       /* owned: where the path leads to */
    bool is_there;
    bool is_replaced; /* writing it leaves nothing of what was there: it is no device */
    struct stat info; /* of its folder, if it is not there */
} target;

/* The files that a run writes; each file that it reads is compared with them. */
typedef struct check {
    const options *o;
    target *targets;
    size_t count;
    popliner_status status;
    popliner_error *error;
} check;

/* Returns the last part of a path. */
static const char *own_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The first `length` bytes of a text and another text; NULL without memory. The caller frees it. */
static char *append(const char *text, size_t length, const char *more) {
    char *both = malloc(length + strlen(more) + 1);
    if (both != NULL) {
        memcpy(both, text, length);
        strcpy(both + length, more);
    }
    return both;
}

/* The path of another file in the directory of one; as append. */
static char *in_directory_of(const char *path, const char *name) {
    return append(path, (size_t)(own_name(path) - path), name);
}

/* The path that a link has, or its own; NULL without memory. The caller frees it. */
static char *led_to(const char *path) {
    char link[4096];
    const ssize_t length = readlink(path, link, sizeof link - 1);
    if (length <= 0)
        return strdup(path);
    link[length] = '\0';
    return link[0] == '/' ? strdup(link) : in_directory_of(path, link);
}

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A standard stream, if it is a regular file: others take whatever comes. */
static void add_stream(check *c, int number, const char *what) {
    target t = {.of.what = what, .is_there = true};
    if (fstat(number, &t.info) == 0 && S_ISREG(t.info.st_mode))
        c->targets[c->count++] = t;
}

static popliner_status add_file(check *c, const option_path *of, popliner_error *error) {
    target t = {.of = *of, .at = led_to(of->path), .is_there = stat(of->path, &t.info) == 0};
    t.is_replaced = !t.is_there || S_ISREG(t.info.st_mode);
    char *folder = t.at == NULL ? NULL : in_directory_of(t.at, ".");
    if (folder == NULL) {
        free(t.at);
        return fail_memory(error, "file names");
    }
    if (!t.is_there && stat(folder, &t.info) != 0)
        t.info = (struct stat){0};
    free(folder);
    c->targets[c->count++] = t;
    return POPLINER_OK;
}

static popliner_status add_targets(check *c, popliner_error *error) {
    enum { STREAMS = 2 };
    option_path p;
    popliner_status status = POPLINER_OK;
    c->targets = calloc(STREAMS + c->o->outputs.count, sizeof *c->targets);
    if (c->targets == NULL)
        return fail_memory(error, "file names");
    add_stream(c, STDOUT_FILENO, "standard output");
    add_stream(c, STDERR_FILENO, "standard error");
    for (size_t i = 0; status == POPLINER_OK && options_path_at(c->o, i, &p) != NULL; i++)
        if (p.use == PATH_WRITTEN)
            status = add_file(c, &p, error);
    return status;
}

/* Refuses a target that is the file of an earlier one, of which the later would be all that is
 * left. Devices take all that is written. */
static popliner_status check_apart(const check *c, const target *t, popliner_error *error) {
    for (const target *other = c->targets; other < t; other++) {
        const bool is_one =
            is_same(&t->info, &other->info) &&
            (t->is_there ? other->is_there
                         : !other->is_there && strcmp(own_name(t->at), own_name(other->at)) == 0);
        /* who names the device means it, unless the file is replaced */
        if (other->of.option == NULL && is_one &&
            (t->of.is_stored || strncmp(t->of.path, "/dev/", 5) != 0))
            return fail_usage(error, "--%s %s: is %s, too", t->of.option, t->of.value,
                              other->of.what);
        if (other->of.option != NULL &&
            (strcmp(t->of.path, other->of.path) == 0 || (t->is_replaced && is_one)))
            return fail_usage(error, "--%s %s: is the file of --%s %s, too", t->of.option,
                              t->of.value, other->of.option, other->of.value);
    }
    return POPLINER_OK;
}

/* Refuses a file that is not there yet, but that whoever reads the report, or the database, in the
 * same directory would take for a part of it. */
static popliner_status check_new(const target *t, popliner_error *error) {
    static const char *const names[] = {"debug.cbor", POPLINER_NOTE_FILES};
    struct stat info;
    const char *path = t->at;
    const size_t length = strlen(path);
    char *whole = NULL;
    for (size_t i = 0; !t->is_there && i < sizeof names / sizeof *names; i++)
        if (strcmp(own_name(path), names[i]) == 0)
            whole = in_directory_of(path, "profile.pop");
    for (size_t i = 0; whole == NULL && i < NUM_PARTS; i++) {
        const size_t end = strlen(parts[i]);
        if (length > end && strcmp(path + length - end, parts[i]) == 0)
            whole = append(path, length - end, "");
    }
    popliner_status status = POPLINER_OK;
    if (whole != NULL && stat(whole, &info) == 0 && S_ISREG(info.st_mode))
        status =
            fail_usage(error, "--%s %s: would be taken for a part of %s, in the same directory",
                       t->of.option, t->of.value, whole);
    free(whole);
    return status;
}

/* Why a file cannot be written, as errno has it; 0 if it can. One that is stored is made anew in
 * its folder. */
static int fault_of_writing(const target *t) {
    const bool is_new = !t->is_there || t->of.is_stored;
    if (t->is_there && S_ISDIR(t->info.st_mode))
        return EISDIR;
    char *folder = in_directory_of(t->at, ".");
    const char *changed = is_new ? folder : t->of.path;
    const int fault = changed == NULL                                     ? ENOMEM
                      : access(changed, is_new ? W_OK | X_OK : W_OK) != 0 ? errno
                                                                          : 0;
    free(folder);
    return fault;
}

static popliner_status check_writable(const target *t, popliner_error *error) {
    if (strcmp(t->of.path, "-") == 0)
        return fail_usage(
            error, "--%s %s: is not standard output; give %s./- for a file of that name",
            t->of.option, t->of.value, t->of.is_stored ? "" : "/dev/stdout for that, or ");
    const int fault = fault_of_writing(t);
    if (fault == 0 && t->of.is_stored && !t->is_replaced)
        return fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: is not a regular file", t->of.option,
                    t->of.value);
    return fault == 0        ? POPLINER_OK
           : fault == ENOMEM ? fail_memory(error, "file names")
                             : fail(error, POPLINER_ERROR_OUTPUT,
                                    "--%s %s: %s cannot be written (%s)", t->of.option, t->of.value,
                                    t->of.what == NULL ? "the file" : t->of.what, strerror(fault));
}

/* ---- what is read ---- */

/* Refuses a target that is read, by an option or as `what`. */
static void compare_with(check *c, const char *option, const char *what, const struct stat *info) {
    for (const target *t = c->targets; c->status == POPLINER_OK && t < c->targets + c->count; t++) {
        /* what is loaded has been read when it is stored again */
        const bool is_stored_again = t->of.is_stored && c->o->load_from_file && option == NULL;
        const bool is_stream = t->of.option == NULL;
        const char *dashes = is_stream ? "" : "--";
        if (!t->is_there || is_stored_again || !is_same(&t->info, info))
            continue;
        c->status = fail_usage(
            c->error, "%s%s%s%s: would overwrite %s%s%s", dashes, is_stream ? "" : t->of.option,
            is_stream ? "" : " ", is_stream ? t->of.what : t->of.value,
            option == NULL ? "the " : "a file of --", option == NULL ? what : option,
            option == NULL ? " that is read" : "");
    }
}

/* A file that is read, if it is there. Takes `path` over; NULL is one that there was no memory
 * for. */
static void reads(check *c, const char *option, const char *what, char *path) {
    struct stat info;
    if (path == NULL && c->status == POPLINER_OK)
        c->status = fail_memory(c->error, "file names");
    if (path != NULL && stat(path, &info) == 0)
        compare_with(c, option, what, &info);
    free(path);
}

/* A database, and the files that SQLite writes next to it. */
static void reads_database(check *c, const char *option, const char *what, const char *path) {
    reads(c, option, what, strdup(path));
    for (size_t i = 0; i < NUM_PARTS; i++)
        reads(c, option, what, append(path, strlen(path), parts[i]));
}

/* All that is read of a report. `path` is as for popliner_analysis_locate. */
static void reads_report(check *c, const char *option, const char *path, const char *debug) {
    static const char *const notes[] = {POPLINER_NOTE_FILES};
    char *profile = NULL;
    char *found = NULL;
    /* what cannot be found is refused when it is to be read */
    if (popliner_analysis_locate(path, debug, &profile, &found, NULL) == POPLINER_ERROR_MEMORY)
        c->status = fail_memory(c->error, "file names");
    const char *base = profile == NULL ? path : profile;
    reads_database(c, option, "profile", base);
    reads(c, option, "debug information",
          found != NULL ? strdup(found) : in_directory_of(base, "debug.cbor"));
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        reads(c, option, notes[i], in_directory_of(base, notes[i]));
    free(profile);
    free(found);
}

/* A report, or a directory with some. */
static void reads_reports(check *c, const char *option, const char *path) {
    char **all = NULL;
    reads_report(c, option, path, NULL);
    if (popliner_reports_find(path, &all, NULL) == POPLINER_OK)
        for (size_t i = 0; c->status == POPLINER_OK && all[i] != NULL; i++) {
            char *report = path_join(path, all[i]);
            if (report != NULL)
                reads_report(c, option, report, NULL);
            else
                c->status = fail_memory(c->error, "file names");
            free(report);
        }
    free(all);
}

/* INPUT and DEBUG. */
static void reads_input(check *c) {
    const options *o = c->o;
    report_names names = {0};
    struct stat info;
    if (o->costs != NULL && strcmp(o->costs, "-") == 0) {
        if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode))
            compare_with(c, NULL, "file of costs", &info);
    } else if (o->costs != NULL)
        reads(c, NULL, "file of costs", strdup(o->costs));
    else if (o->reports.count > 0 && c->status == POPLINER_OK)
        c->status = report_names_find(o, &names, c->error);
    else if (o->load_from_file)
        reads_database(c, NULL, "stored analysis", o->profile);
    else
        reads_report(c, NULL, o->profile, o->debug);
    for (size_t i = 0; i < names.count; i++)
        reads_report(c, NULL, names.paths[i], o->debug);
    report_names_free(&names);
}

popliner_status check_run_files(const options *o, popliner_error *error) {
    check c = {.o = o, .error = error};
    option_path p;
    c.status = add_targets(&c, error);
    for (size_t i = 0; c.status == POPLINER_OK && i < c.count; i++)
        if (c.targets[i].of.option != NULL)
            c.status = check_apart(&c, &c.targets[i], error);
    reads_input(&c);
    for (size_t i = 0; c.status == POPLINER_OK && options_path_at(o, i, &p) != NULL; i++)
        if (p.use == PATH_READ)
            reads(&c, p.option, p.what, strdup(p.path));
        else if (p.use == PATH_READ_REPORT)
            reads_reports(&c, p.option, p.path);
    for (size_t i = 0; c.status == POPLINER_OK && i < c.count; i++) {
        const target *t = &c.targets[i];
        if (t->of.option == NULL)
            continue;
        c.status = check_new(t, error);
        if (c.status == POPLINER_OK)
            c.status = check_writable(t, error);
    }
    for (size_t i = 0; i < c.count; i++)
        free(c.targets[i].at);
    free(c.targets);
    return c.status;
}

/* ---- What INPUT is ---- */

static input_kind kind_of_file(const char *path) {
    static const struct {
        char magic[16];
        input_kind kind;
    } kinds[] = {{"SQLite format 3", INPUT_PROFILE}, {"popliner stored", INPUT_STORED}};
    char bytes[sizeof kinds->magic] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* takes no memory, which may be short */
    if (file < 0)
        return INPUT_PROFILE;
    const ssize_t count = read(file, bytes, sizeof bytes);
    (void)close(file); /* it was only read */
    for (size_t i = 0; count == sizeof bytes && i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(bytes, kinds[i].magic, sizeof bytes) == 0)
            return kinds[i].kind;
    return INPUT_COSTS;
}

input_kind input_kind_of(const char *path) {
    static const char end[] = ".pop";
    struct stat info;
    const size_t length = strlen(path);
    if (strcmp(path, "-") == 0)
        return INPUT_COSTS;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
        return INPUT_PROFILE;
    if (!S_ISREG(info.st_mode))
        return INPUT_COSTS;
    const bool is_named = length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0;
    const input_kind kind = kind_of_file(path);
    return is_named && kind == INPUT_COSTS ? INPUT_PROFILE : kind;
}
