/* The power goes while a file is written: of what had not reached the disk any part may be lost.
 * What was being replaced is there as it was, or as it was to be; and what SQLite left behind is
 * read as it was before or after the transaction, or refused.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"
#include "test_sql.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/numbers.h"
#include "faults/sqlite_vfs.h"
#include "popliner/utilities.h"
#include "profile/database.h"

/* ---- What happens to the files of a folder --------------------------------------------------- */

enum { MAX_FILES = 8, MAX_EVENTS = 4000, MAX_PATH = 300 };

typedef enum event_kind { WRITE, TRUNCATE, SYNC, MAKE, RENAME, REMOVE, SYNC_FOLDER } event_kind;

typedef struct event {
    event_kind kind;
    size_t file; /* index of the file that is written */
    char path[MAX_PATH];
    char new_path[MAX_PATH]; /* of RENAME */
    uint64_t offset;
    uint8_t *bytes; /* owned */
    size_t size;
} event;

/* A file as such, whatever it is called. */
typedef struct content {
    uint8_t *bytes; /* owned */
    size_t size;
} content;

/* Names, and which file each leads to. */
typedef struct names {
    char path[MAX_FILES][MAX_PATH];
    size_t file[MAX_FILES];
    size_t count;
} names;

/* What was done, from the state of the folder at the beginning on. */
static struct {
    bool is_recording;
    bool ignores_syncs; /* as if nobody had asked for them */
    event events[MAX_EVENTS];
    size_t num_events;
    content files[MAX_FILES]; /* as they were at the beginning */
    size_t num_files;
    names at_first;
    names now;
} disk;

static size_t find_name(const names *n, const char *path) {
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->path[i], path) == 0)
            return i;
    return SIZE_MAX;
}

static void remove_name(names *n, const char *path) {
    size_t i = find_name(n, path);
    if (i == SIZE_MAX)
        return;
    n->count--;
    if (i < n->count)
        strcpy(n->path[i], n->path[n->count]);
    n->file[i] = n->file[n->count];
}

static void set_name(names *n, const char *path, size_t file) {
    remove_name(n, path);
    assert_true(n->count < MAX_FILES);
    snprintf(n->path[n->count], MAX_PATH, "%s", path);
    n->file[n->count++] = file;
}

static void apply_to_names(names *n, const event *e) {
    size_t i = find_name(n, e->path);
    if (e->kind == MAKE) {
        set_name(n, e->path, e->file);
    } else if (e->kind == REMOVE) {
        remove_name(n, e->path);
    } else if (e->kind == RENAME && i != SIZE_MAX) {
        size_t file = n->file[i];
        remove_name(n, e->path);
        set_name(n, e->new_path, file);
    }
}

static void apply_to_content(content *c, const event *e, size_t size) {
    uint64_t end = e->kind == WRITE ? e->offset + size : e->offset;
    if (e->kind == TRUNCATE ? end != c->size : end > c->size) {
        c->bytes = realloc(c->bytes, (size_t)end + 1);
        assert_non_null(c->bytes);
        if (end > c->size)
            memset(c->bytes + c->size, 0, (size_t)end - c->size);
        c->size = (size_t)end;
    }
    if (e->kind == WRITE && size > 0)
        memcpy(c->bytes + e->offset, e->bytes, size);
}

static event *add_event(event_kind kind, const char *path) {
    assert_true(disk.num_events < MAX_EVENTS);
    event *e = &disk.events[disk.num_events++];
    *e = (event){.kind = kind};
    snprintf(e->path, sizeof e->path, "%s", path);
    return e;
}

/* The number of the file that is called so now. */
static size_t file_of(const char *path) {
    size_t i = find_name(&disk.now, path);
    assert_true(i != SIZE_MAX);
    return disk.now.file[i];
}

static void note_made(const char *path) {
    event *e = add_event(MAKE, path);
    assert_true(disk.num_files < MAX_FILES);
    e->file = disk.num_files++;
    apply_to_names(&disk.now, e);
}

/* Begins to record what becomes of the files at these paths; others are made later. */
static void start_recording(const char *const *paths, size_t count) {
    disk.num_events = disk.num_files = disk.at_first.count = 0;
    for (size_t i = 0; i < count; i++) {
        content *c = &disk.files[disk.num_files];
        c->bytes = test_read_bytes(paths[i], &c->size);
        set_name(&disk.at_first, paths[i], disk.num_files++);
    }
    disk.now = disk.at_first;
    disk.is_recording = true;
}

static void forget_recording(void) {
    for (size_t i = 0; i < disk.num_events; i++)
        free(disk.events[i].bytes);
    for (size_t i = 0; i < disk.at_first.count; i++)
        free(disk.files[i].bytes);
    memset(disk.files, 0, sizeof disk.files);
    disk.num_events = disk.num_files = disk.at_first.count = 0;
}

/* ---- What SQLite and the library do, which the linker leads here ----------------------------- */

/* The shared memory of a log is none of the disk's business. */
static bool is_of_disk(const char *path) {
    size_t length = strlen(path);
    return length < 4 || strcmp(path + length - 4, "-shm") != 0;
}

static void add_write(event_kind kind, const char *path, uint64_t offset, const void *bytes,
                      size_t size) {
    event *e = add_event(kind, path);
    e->file = file_of(path);
    e->offset = offset;
    e->size = size;
    e->bytes = test_new_array(size + 1, 1);
    if (size > 0)
        memcpy(e->bytes, bytes, size);
}

static void note_change(void *user, const vfs_change *change) {
    event *e;
    (void)user;
    if (!disk.is_recording || !is_of_disk(change->path))
        return;
    switch (change->call) {
    case VFS_OPEN:
        note_made(change->path);
        break;
    case VFS_DELETE: /* SQLite syncs the folder with it, or does not need to */
        if (find_name(&disk.now, change->path) == SIZE_MAX)
            break;
        e = add_event(REMOVE, change->path);
        apply_to_names(&disk.now, e);
        add_event(SYNC_FOLDER, "");
        break;
    case VFS_WRITE:
    case VFS_TRUNCATE:
        add_write(change->call == VFS_WRITE ? WRITE : TRUNCATE, change->path, change->offset,
                  change->bytes, change->size);
        break;
    case VFS_SYNC: /* the first one of a new file syncs its name, too */
        e = add_event(SYNC, change->path);
        e->file = file_of(change->path);
        add_event(SYNC_FOLDER, "");
        break;
    default:
        break;
    }
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_fsync(int file);
int __wrap_fsync(int file);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);

int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    int file = __real_open(path, flags, mode);
    if (disk.is_recording && file >= 0 && (flags & O_CREAT) != 0)
        note_made(path);
    return file;
}

static void find_path(int file, char *path) {
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, MAX_PATH - 1);
    assert_true(length > 0);
    path[length] = '\0';
}

/* In pieces, as a disk may get them. */
ssize_t __wrap_write(int file, const void *bytes, size_t size) {
    enum { PIECE = 3000 };
    char path[MAX_PATH];
    if (!disk.is_recording)
        return __real_write(file, bytes, size);
    find_path(file, path);
    const size_t own = size < PIECE ? size : PIECE;
    add_write(WRITE, path, (uint64_t)lseek(file, 0, SEEK_CUR), bytes, own);
    return __real_write(file, bytes, own);
}

int __wrap_fsync(int file) {
    char path[MAX_PATH];
    struct stat info;
    if (disk.is_recording && !disk.ignores_syncs && fstat(file, &info) == 0) {
        find_path(file, path);
        event *e = add_event(S_ISDIR(info.st_mode) ? SYNC_FOLDER : SYNC, path);
        if (e->kind == SYNC)
            e->file = file_of(path);
    }
    return __real_fsync(file);
}

int __wrap_rename(const char *from, const char *to) {
    if (disk.is_recording) {
        event *e = add_event(RENAME, from);
        snprintf(e->new_path, sizeof e->new_path, "%s", to);
        apply_to_names(&disk.now, e);
    }
    return __real_rename(from, to);
}

/* ---- The power goes -------------------------------------------------------------------------- */

/* What is lost of what had not reached the disk. */
typedef enum loss { ALL_IS_LOST, NOTHING_IS_LOST, SOME_IS_LOST, NUM_LOSSES } loss;

/* How much of a write arrives; disks write sectors. */
static size_t arrives(const event *e, loss how, uint64_t *random) {
    enum { SECTOR = 512 };
    if (how != SOME_IS_LOST)
        return how == NOTHING_IS_LOST ? e->size : 0;
    uint64_t choice = pl_random_below(random, 4);
    if (choice == 3 && e->size > SECTOR)
        return pl_random_below(random, e->size / SECTOR) * SECTOR;
    return choice % 2 == 0 ? e->size : 0;
}

/* Whether a later one of the first `count` events has what this one did reach the disk. */
static bool is_safe(size_t i, size_t count) {
    const event *e = &disk.events[i];
    bool is_content = e->kind == WRITE || e->kind == TRUNCATE;
    for (size_t k = i + 1; k < count; k++) {
        const event *later = &disk.events[k];
        if (is_content ? later->kind == SYNC && later->file == e->file : later->kind == SYNC_FOLDER)
            return true;
    }
    return false;
}

/* Makes in `directory` what the disk holds when the power goes behind `count` events, under the
 * same names as in the folder that was recorded. It was written long ago: who reads a file that
 * cannot be locked waits until it is not new any more. */
static void make_remains(const char *directory, size_t count, loss how, uint64_t seed) {
    static const struct timespec long_ago[2] = {{1, 0}, {1, 0}};
    names n = disk.at_first;
    content files[MAX_FILES] = {{NULL, 0}};
    uint64_t random = seed;
    bool names_arrive = true; /* one after another, as in a journal of the file system */
    for (size_t i = 0; i < disk.at_first.count; i++) {
        files[i].size = disk.files[i].size;
        files[i].bytes = test_new_array(files[i].size + 1, 1);
        memcpy(files[i].bytes, disk.files[i].bytes, files[i].size);
    }
    for (size_t i = 0; i < count; i++) {
        const event *e = &disk.events[i];
        bool safe = is_safe(i, count);
        if (e->kind == WRITE || e->kind == TRUNCATE) {
            size_t size = safe ? e->size : arrives(e, how, &random);
            bool truncates = safe || how == NOTHING_IS_LOST ||
                             (how == SOME_IS_LOST && pl_random_below(&random, 2) == 0);
            if (e->kind == WRITE ? size > 0 || e->size == 0 : truncates)
                apply_to_content(&files[e->file], e, size);
        } else if (e->kind != SYNC && e->kind != SYNC_FOLDER) {
            if (!safe && how != NOTHING_IS_LOST)
                names_arrive =
                    names_arrive && how == SOME_IS_LOST && pl_random_below(&random, 2) == 0;
            if (safe || names_arrive)
                apply_to_names(&n, e);
        }
    }
    for (size_t i = 0; i < n.count; i++) {
        char *path = test_path(directory, strrchr(n.path[i], '/') + 1);
        test_write_bytes(path, files[n.file[i]].bytes, files[n.file[i]].size);
        assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
        free(path);
    }
    for (size_t i = 0; i < MAX_FILES; i++)
        free(files[i].bytes);
}

/* Calls `check` with what is left in a folder for each time that the power may go. */
static size_t lose_power(const char *directory,
                         void (*check)(void *user, const char *folder, const char *when),
                         void *user) {
    const size_t num_seeds = test_takes_all() ? 15 : 1;
    const size_t every = 1 + disk.num_events / (test_takes_all() ? 120 : 15);
    size_t num_losses = 0;
    char *folder = test_path(directory, "remains");
    disk.is_recording = false;
    for (size_t i = 0; i <= disk.num_events; i++) {
        bool is_last = i + 8 >= disk.num_events; /* names are changed at the end */
        for (size_t k = 0;
             k < (size_t)SOME_IS_LOST + num_seeds * (is_last ? (test_takes_all() ? 10 : 5) : 1) &&
             (is_last || i % every == 0);
             k++) {
            char when[100];
            void *state = folder;
            loss how = k < SOME_IS_LOST ? (loss)k : SOME_IS_LOST;
            snprintf(when, sizeof when, "behind event %zu of %zu, loss %d, seed %zu", i,
                     disk.num_events, (int)how, k);
            assert_int_equal(mkdir(folder, 0700), 0);
            make_remains(folder, i, how, k * 7919 + i);
            check(user, folder, when);
            num_losses++;
            state = strcpy(malloc(strlen(folder) + 1), folder);
            test_end_directory(&state);
        }
    }
    free(folder);
    return num_losses;
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* The two files that may be found, and how often each was, or neither. */
typedef struct two_files {
    content old;
    content new;
    size_t num_old;
    size_t num_new;
    size_t num_mixed;
} two_files;

static void check_saved(void *user, const char *folder, const char *when) {
    two_files *files = user;
    char *path = test_path(folder, "stored");
    content found;
    (void)when;
    found.bytes = test_read_bytes(path, &found.size);
    if (found.size == files->old.size && memcmp(found.bytes, files->old.bytes, found.size) == 0)
        files->num_old++;
    else if (found.size == files->new.size &&
             memcmp(found.bytes, files->new.bytes, found.size) == 0)
        files->num_new++;
    else
        files->num_mixed++;
    free(found.bytes);
    free(path);
}

/* Writes over an old file, with the power going all the while. */
static two_files save_without_power(const char *directory, bool ignores_syncs) {
    char *path = test_path(directory, "stored");
    const char *const paths[] = {path};
    static char old[9000];
    static char new[20000];
    two_files files = {.old = {(uint8_t *)old, sizeof old}, .new = {(uint8_t *)new, sizeof new}};
    popliner_error error = {.message = ""};
    memset(old, 'o', sizeof old);
    memset(new, 'n', sizeof new);
    test_write_bytes(path, old, sizeof old);
    disk.ignores_syncs = ignores_syncs;
    start_recording(paths, 1);
    if (popliner_file_write(path, new, sizeof new, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    size_t num_losses = lose_power(directory, check_saved, &files);
    print_message("saving%s: %zu events, %zu losses of power: %zu old, %zu new, %zu mixed\n",
                  ignores_syncs ? " without syncs" : "", disk.num_events, num_losses, files.num_old,
                  files.num_new, files.num_mixed);
    forget_recording();
    free(path);
    return files;
}

static void a_saved_file_is_the_old_or_the_new_one(void **state) {
    two_files files = save_without_power(*state, false);
    assert_int_equal(files.num_mixed, 0);
    assert_true(files.num_old > 0 && files.num_new > 0);
}

/* So much for what is simulated here. */
static void that_needs_the_syncs(void **state) {
    two_files files = save_without_power(*state, true);
    assert_true(files.num_mixed > 0);
}

/* ---- Journals and logs ----------------------------------------------------------------------- */

/* How what was left was read. */
typedef struct readings {
    size_t num_old;
    size_t num_new;
    size_t num_refused;
} readings;

/* What all rows of `a` are; 0 when they differ. */
static int value_of(const pl_database *database) {
    sqlite3_stmt *statement = test_query(database->sqlite, "SELECT min(a), max(a) FROM t");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int low = sqlite3_column_int(statement, 0);
    int high = sqlite3_column_int(statement, 1);
    sqlite3_finalize(statement);
    return low == high ? low : 0;
}

static void check_read(void *user, const char *folder, const char *when) {
    readings *r = user;
    char *path = test_path(folder, "x.pop");
    pl_database database;
    popliner_error error = {.message = ""};
    int value = -1;
    popliner_status status = pl_database_open(&database, path, &error);
    if (status == POPLINER_OK) {
        value = value_of(&database);
        status = pl_database_end_reading(&database, POPLINER_OK, &error);
        pl_database_close(&database);
    }
    if (status != POPLINER_OK) {
        assert_int_equal(status, POPLINER_ERROR_INPUT);
        test_assert_sentence(error.message);
        r->num_refused++;
    } else if (value != 1 && value != 2) {
        fail_msg("%s: reads a mix", when);
    }
    r->num_old += status == POPLINER_OK && value == 1;
    r->num_new += status == POPLINER_OK && value == 2;
    /* what the message says helps */
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READWRITE);
    test_run_sql(sqlite, "PRAGMA synchronous = OFF; SELECT count(*) FROM t");
    sqlite3_close(sqlite);
    if (pl_database_open(&database, path, &error) != POPLINER_OK)
        fail_msg("%s: %s", when, error.message);
    value = value_of(&database);
    assert_true(value == 1 || value == 2);
    pl_database_close(&database);
    free(path);
}

/* A transaction, with the power going all the while. */
static readings write_without_power(const char *directory, const char *mode) {
    char sql[100];
    char *path = test_path(directory, "x.pop");
    const char *const paths[] = {path};
    vfs_plan plan = {.note = note_change};
    readings r = {0};
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    snprintf(sql, sizeof sql, "PRAGMA page_size = 1024; PRAGMA journal_mode = %s", mode);
    test_run_sql(sqlite, sql);
    test_run_sql(sqlite,
                 "CREATE TABLE t (a, b); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT "
                 "i + 1 FROM n WHERE i < 600) INSERT INTO t SELECT 1, hex(randomblob(40)) "
                 "FROM n");
    sqlite3_close(sqlite);
    start_recording(paths, 1);
    sqlite_vfs_follow(&plan);
    sqlite = test_open_sql(path, SQLITE_OPEN_READWRITE);
    /* so little room that it must write before the end */
    test_run_sql(sqlite, "PRAGMA synchronous = FULL; PRAGMA cache_size = 5; UPDATE t SET a = 2");
    sqlite3_close(sqlite);
    sqlite_vfs_follow(NULL);
    size_t num_losses = lose_power(directory, check_read, &r);
    print_message("%s: %zu events, %zu losses of power: %zu old, %zu new, %zu refused\n", mode,
                  disk.num_events, num_losses, r.num_old, r.num_new, r.num_refused);
    forget_recording();
    free(path);
    return r;
}

static void a_journal_is_undone_or_refused(void **state) {
    readings r = write_without_power(*state, "DELETE");
    assert_true(r.num_old > 0 && r.num_new > 0 && r.num_refused > 0);
}

static void a_log_is_read_as_far_as_it_is_whole(void **state) {
    readings r = write_without_power(*state, "WAL");
    assert_true(r.num_old > 0 && r.num_new > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(a_saved_file_is_the_old_or_the_new_one),
        IN_DIRECTORY(that_needs_the_syncs),
        IN_DIRECTORY(a_journal_is_undone_or_refused),
        IN_DIRECTORY(a_log_is_read_as_far_as_it_is_whole),
    };
    sqlite_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
