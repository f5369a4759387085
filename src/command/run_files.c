/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* readlink */
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

/* ---- names ---- */

/* The directory of a file; NULL without memory. The caller frees it. */
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    return length == 0 ? strdup(".") : strndup(path, length);
}

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

/* The path of what a path leads to if it is a link, be it there or not; NULL without memory. The
 * caller frees it. */
static char *follow_links(const char *path) {
    enum { MOST_LINKS = 40, ROOM = 4096 };
    char link[ROOM];
    char *at = strdup(path);
    for (int i = 0; at != NULL && i < MOST_LINKS; i++) {
        const ssize_t length = readlink(at, link, sizeof link - 1);
        if (length <= 0 || length == ROOM - 1)
            break;
        link[length] = '\0';
        char *next = append(at, link[0] == '/' ? 0 : (size_t)(own_name(at) - at), link);
        free(at);
        at = next;
    }
    return at;
}

/* Where a file is, or would be made, as a text: by device and inode, of the folder where it is not
 * there; its path where there is no folder. NULL without memory. The caller frees it. */
static char *place_of(const struct stat *info, const char *name) {
    char place[64];
    snprintf(place, sizeof place, "%ju:%ju", (uintmax_t)info->st_dev, (uintmax_t)info->st_ino);
    return append(place, strlen(place), name);
}

static char *find_place(const char *path, bool *is_replaced) {
    struct stat info;
    *is_replaced = true;
    if (stat(path, &info) == 0) {
        *is_replaced = S_ISREG(info.st_mode);
        return place_of(&info, "");
    }
    char *at = follow_links(path);
    char *folder = at == NULL ? NULL : directory_of(at);
    char *place = NULL;
    if (folder != NULL && stat(folder, &info) == 0) {
        char *name = append("/", 1, own_name(at));
        place = name == NULL ? NULL : place_of(&info, name);
        free(name);
    } else if (folder != NULL) {
        place = strdup(at);
    }
    free(folder);
    free(at);
    return place;
}

/* ---- the list ---- */

typedef enum file_kind { FILE_READ, FILE_WRITTEN, FILE_STREAM } file_kind;

typedef struct run_file {
    file_kind kind;     /* a stream is also written */
    const char *option; /* NULL: none gave it */
    const char *value;  /* of the option; NULL: the path */
    bool is_stored;     /* it replaces the file of that name, whatever it is */
    const char *what;   /* without an option: as messages call it */
    char *path;         /* owned, like its place */
    char *place;
    bool is_replaced; /* writing it leaves nothing of what was there: it is no device */
} run_file;

typedef struct file_list {
    run_file *files;
    size_t count;
    bool failed; /* without memory */
} file_list;

static void free_list(file_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->files[i].path);
        free(list->files[i].place);
    }
    free(list->files);
}

/* Takes `path` over; NULL is one that there was no memory for. */
static void add(file_list *list, file_kind kind, const char *option, const char *what, char *path) {
    run_file f = {.kind = kind, .option = option, .what = what, .path = path};
    f.place = path == NULL ? NULL : find_place(path, &f.is_replaced);
    run_file *files =
        f.place == NULL ? NULL : realloc(list->files, (list->count + 1) * sizeof *files);
    list->failed = list->failed || files == NULL;
    if (files == NULL) {
        free(f.place);
        free(path);
        return;
    }
    list->files = files;
    list->files[list->count++] = f;
}

/* A standard stream, if it is a regular file: others take whatever comes. */
static void add_stream(file_list *list, file_kind kind, int number, const char *option,
                       const char *what) {
    static const char *const paths[] = {"/dev/fd/0", "/dev/fd/1", "/dev/fd/2"};
    struct stat info;
    if (fstat(number, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    add(list, kind, option, what, strdup(paths[number]));
    if (!list->failed) {
        /* whatever the name leads to, where there is no such folder */
        run_file *f = &list->files[list->count - 1];
        free(f->place);
        f->place = place_of(&info, "");
        list->failed = f->place == NULL;
    }
}

/* A database, and the files that SQLite writes next to it. */
static void add_database(file_list *list, const char *option, const char *what, const char *path) {
    add(list, FILE_READ, option, what, strdup(path));
    for (size_t i = 0; i < NUM_PARTS; i++)
        add(list, FILE_READ, option, what, append(path, strlen(path), parts[i]));
}

/* All that is read of a report, or would be if it were there. `path` is as for
 * popliner_analysis_locate. */
static void add_report(file_list *list, const char *option, const char *path, const char *debug) {
    static const char *const notes[] = {POPLINER_NOTE_FILES};
    char *profile = NULL;
    char *found = NULL;
    /* what cannot be found is refused when it is to be read */
    list->failed = list->failed || popliner_analysis_locate(path, debug, &profile, &found, NULL) ==
                                       POPLINER_ERROR_MEMORY;
    const char *base = profile == NULL ? path : profile;
    const size_t folder_length = (size_t)(own_name(base) - base);
    add_database(list, option, "profile", base);
    add(list, FILE_READ, option, "debug information",
        found != NULL ? strdup(found) : append(base, folder_length, "debug.cbor"));
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        add(list, FILE_READ, option, notes[i], append(base, folder_length, notes[i]));
    free(profile);
    free(found);
}

/* A report, or a directory with some. */
static void add_reports(file_list *list, const char *option, const char *path) {
    char **all = NULL;
    add_report(list, option, path, NULL);
    if (popliner_reports_find(path, &all, NULL) == POPLINER_OK)
        for (size_t i = 0; all[i] != NULL; i++) {
            char *report = path_join(path, all[i]);
            if (report != NULL)
                add_report(list, option, report, NULL);
            list->failed = list->failed || report == NULL;
            free(report);
        }
    free(all);
}

/* INPUT and DEBUG. */
static popliner_status add_input(file_list *list, const options *o, popliner_error *error) {
    report_names names = {0};
    popliner_status status = POPLINER_OK;
    if (o->costs != NULL && strcmp(o->costs, "-") == 0)
        add_stream(list, FILE_READ, STDIN_FILENO, NULL, "file of costs");
    else if (o->costs != NULL)
        add(list, FILE_READ, NULL, "file of costs", strdup(o->costs));
    else if (o->reports.count > 0)
        status = report_names_find(o, &names, error);
    else if (o->load_from_file)
        add_database(list, NULL, "stored analysis", o->profile);
    else
        add_report(list, NULL, o->profile, o->debug);
    for (size_t i = 0; status == POPLINER_OK && i < names.count; i++)
        add_report(list, NULL, names.paths[i], o->debug);
    report_names_free(&names);
    return status;
}

static void add_option(file_list *list, const option_path *p) {
    switch (p->use) {
    case PATH_WRITTEN:
        add(list, FILE_WRITTEN, p->option, p->what, strdup(p->path));
        if (!list->failed) {
            list->files[list->count - 1].value = p->value;
            list->files[list->count - 1].is_stored = p->is_stored;
        }
        break;
    case PATH_READ:
        add(list, FILE_READ, p->option, NULL, strdup(p->path));
        break;
    case PATH_READ_REPORT:
        add_reports(list, p->option, p->path);
        break;
    }
}

static popliner_status make_list(file_list *list, const options *o, popliner_error *error) {
    option_path p;
    popliner_status status = POPLINER_OK;
    add_stream(list, FILE_STREAM, STDOUT_FILENO, NULL, "standard output");
    add_stream(list, FILE_STREAM, STDERR_FILENO, NULL, "standard error");
    for (size_t i = 0; options_path_at(o, i, &p) != NULL; i++)
        add_option(list, &p);
    status = add_input(list, o, error);
    return status == POPLINER_OK && list->failed ? fail_memory(error, "file names") : status;
}

/* ---- what is refused ---- */

/* The value of the option that names a file. */
static const char *value_of(const run_file *f) {
    return f->value == NULL ? f->path : f->value;
}

/* Refuses a file that is read. */
static popliner_status check_not_read(const file_list *list, const options *o, const run_file *f,
                                      popliner_error *error) {
    const char *option = f->option == NULL ? "" : f->option;
    const char *name = f->kind == FILE_STREAM ? f->what : value_of(f);
    const char *dashes = f->option == NULL ? "" : "--";
    const char *blank = f->option == NULL ? "" : " ";
    for (size_t i = 0; i < list->count; i++) {
        const run_file *read = &list->files[i];
        /* what is loaded has been read when it is stored again */
        const bool is_stored_again = f->is_stored && o->load_from_file && read->option == NULL;
        if (read->kind != FILE_READ || is_stored_again || strcmp(f->place, read->place) != 0)
            continue;
        return read->option == NULL
                   ? fail_usage(error, "%s%s%s%s: would overwrite the %s that is read", dashes,
                                option, blank, name, read->what)
                   : fail_usage(error, "%s%s%s%s: would overwrite a file of --%s", dashes, option,
                                blank, name, read->option);
    }
    return POPLINER_OK;
}

/* Rejects a file that SQLite would take for a part of a database in the same directory. */
static popliner_status check_not_part(const run_file *f, popliner_error *error) {
    struct stat info;
    char *at = follow_links(f->path);
    popliner_status status = at == NULL ? fail_memory(error, "file names") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < NUM_PARTS; i++) {
        const size_t length = strlen(at);
        const size_t own_length = strlen(parts[i]);
        if (length <= own_length || strcmp(at + length - own_length, parts[i]) != 0)
            continue;
        at[length - own_length] = '\0';
        if (stat(at, &info) == 0 && S_ISREG(info.st_mode))
            status =
                fail_usage(error, "--%s %s: would be taken for a part of %s, in the same directory",
                           f->option, value_of(f), at);
        at[length - own_length] = parts[i][0];
    }
    free(at);
    return status;
}

/* Whether two are one file, of which the second would be all that is left. Devices take all that is
 * written. */
static bool is_one_file(const run_file *f, const run_file *other) {
    const bool is_same = strcmp(f->place, other->place) == 0;
    if (f->kind == FILE_STREAM)
        return false;
    if (other->kind != FILE_STREAM)
        return strcmp(f->path, other->path) == 0 || (f->is_replaced && is_same);
    /* who names the device means it, unless the file is replaced */
    return (f->is_stored || strncmp(f->path, "/dev/", 5) != 0) && is_same;
}

/* Refuses two that are one. */
static popliner_status check_apart(const file_list *list, size_t i, popliner_error *error) {
    const run_file *f = &list->files[i];
    for (size_t k = 0; k < i; k++) {
        const run_file *other = &list->files[k];
        if (other->kind == FILE_READ || !is_one_file(f, other))
            continue;
        if (other->kind == FILE_STREAM)
            return fail_usage(error, "--%s %s: is %s, too", f->option, value_of(f), other->what);
        return fail_usage(error, "--%s %s: is the file of --%s %s, too", f->option, value_of(f),
                          other->option, value_of(other));
    }
    return POPLINER_OK;
}

/* Why a file cannot be written, as errno has it; 0 if it can. One that is replaced is made anew in
 * its folder. */
static int fault_of_writing(const run_file *f) {
    struct stat info;
    int fault = 0;
    const bool is_there = stat(f->path, &info) == 0;
    if (is_there && S_ISDIR(info.st_mode))
        return EISDIR;
    if (is_there && !f->is_stored)
        return access(f->path, W_OK) != 0 ? errno : 0;
    if (!is_there && errno != ENOENT)
        return errno;
    char *directory = directory_of(f->path);
    if (directory == NULL)
        fault = ENOMEM;
    else if (access(directory, W_OK | X_OK) != 0)
        fault = errno;
    free(directory);
    return fault;
}

static popliner_status check_writable(const run_file *f, popliner_error *error) {
    if (strcmp(f->path, "-") == 0)
        return fail_usage(error,
                          "--%s %s: is not standard output; give %s./- for a file of that name",
                          f->option, value_of(f), f->is_stored ? "" : "/dev/stdout for that, or ");
    const int fault = fault_of_writing(f);
    if (fault == ENOMEM)
        return fail_memory(error, "file names");
    if (fault == 0 && f->is_stored && !f->is_replaced)
        return fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: is not a regular file", f->option,
                    value_of(f));
    return fault == 0
               ? POPLINER_OK
               : fail(error, POPLINER_ERROR_OUTPUT, "--%s %s: %s cannot be written (%s)", f->option,
                      value_of(f), f->what == NULL ? "the file" : f->what, strerror(fault));
}

popliner_status check_run_files(const options *o, popliner_error *error) {
    file_list list = {0};
    popliner_status status = make_list(&list, o, error);
    for (size_t i = 0; status == POPLINER_OK && i < list.count; i++)
        if (list.files[i].kind == FILE_WRITTEN)
            status = check_apart(&list, i, error);
    for (size_t i = 0; status == POPLINER_OK && i < list.count; i++) {
        const run_file *f = &list.files[i];
        if (f->kind == FILE_READ)
            continue;
        status = f->kind == FILE_WRITTEN ? check_not_part(f, error) : POPLINER_OK;
        if (status == POPLINER_OK)
            status = check_not_read(&list, o, f, error);
        if (status == POPLINER_OK && f->kind == FILE_WRITTEN)
            status = check_writable(f, error);
    }
    free_list(&list);
    return status;
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
