/* Opens a database so that all reads see one state, even if other programs write it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath */

#include "profile/database.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/growth.h"

/* How long to wait for another program's lock. */
enum { BUSY_MILLISECONDS = 500 };

/* Longer than the clock resolution of file systems. */
enum { FRESH_MILLISECONDS = 20 };

/* ---- The state of the file ------------------------------------------------------------------ */

/* Returns the size of the file `path` with `suffix`; -1 if there is none. */
static off_t size_beside(const char *path, const char *suffix) {
    char name[PATH_MAX + 16];
    struct stat info;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &info) == 0 ? info.st_size : -1;
}

static bool look_at(const char *path, pl_file_state *state) {
    struct stat info;
    off_t log_bytes = size_beside(path, "-wal");
    if (stat(path, &info) != 0)
        return false;
    *state = (pl_file_state){
        .device = info.st_dev,
        .inode = info.st_ino,
        .size_bytes = info.st_size,
        .time = info.st_mtim,
        .log_bytes = log_bytes > 0 ? log_bytes : 0,
    };
    return true;
}

/* Reads the first bytes of the file and its size through SQLite: opening and closing the file
 * separately would drop the locks that the process has on it. */
static int read_header(sqlite3 *sqlite, uint8_t header[PL_DATABASE_HEADER],
                       sqlite3_int64 *size_bytes) {
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code == SQLITE_OK && (file == NULL || file->pMethods == NULL))
        code = SQLITE_CANTOPEN;
    if (code == SQLITE_OK)
        code = file->pMethods->xFileSize(file, size_bytes);
    return code == SQLITE_OK ? file->pMethods->xRead(file, header, PL_DATABASE_HEADER, 0) : code;
}

static popliner_status fail_at_header(const pl_database *database, int code,
                                      popliner_error *error) {
    if (code == SQLITE_NOMEM)
        return pl_fail_memory(error, "the database");
    if (code == SQLITE_IOERR_SHORT_READ)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is too short for an SQLite database",
                       database->path);
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: its header cannot be read: %s", database->path,
                   sqlite3_errstr(code));
}

/* True if the path now leads to another file, or to none. */
static bool is_replaced(const pl_database *database) {
    pl_file_state now;
    return !look_at(database->file_path, &now) || now.device != database->state.device ||
           now.inode != database->state.inode;
}

/* Sets *changed to whether the file itself differs from when it was opened; returns SQLite's code.
 * Checks more than the file's time, which may stay the same for some milliseconds. SQLite's locks
 * and snapshots keep other users of SQLite from changing what a connection sees. */
static int find_changes(const pl_database *database, bool *changed) {
    const pl_file_state *then = &database->state;
    pl_file_state now;
    uint8_t header[PL_DATABASE_HEADER] = {0};
    sqlite3_int64 size_bytes = 0;
    /* fails if another program truncates the file */
    int code = read_header(database->sqlite, header, &size_bytes);
    *changed = true;
    if (code != SQLITE_OK || size_bytes != then->size_bytes ||
        memcmp(header, database->header, sizeof header) != 0)
        return code;
    *changed = !is_replaced(database) && look_at(database->file_path, &now) &&
               (now.size_bytes != then->size_bytes || now.time.tv_sec != then->time.tv_sec ||
                now.time.tv_nsec != then->time.tv_nsec || now.log_bytes != then->log_bytes);
    return SQLITE_OK;
}

static bool is_changed(const pl_database *database) {
    bool changed;
    return find_changes(database, &changed) != SQLITE_OK || changed;
}

/* `code` is the result of find_changes. */
static popliner_status fail_changed(const pl_database *database, int code, popliner_error *error) {
    if (code == SQLITE_NOMEM)
        return pl_fail_memory(error, "the database");
    return pl_fail(error, POPLINER_ERROR_INPUT,
                   "%s: changed while it was being read; read it again when no program writes it "
                   "any more",
                   database->path);
}

popliner_status pl_database_end_reading(const pl_database *database, popliner_status status,
                                        popliner_error *error) {
    /* the change may have caused an error in the contents */
    bool may_be_due = status == POPLINER_OK || status == POPLINER_ERROR_INPUT;
    if (database->sqlite == NULL || !may_be_due)
        return status;
    bool changed;
    int code = find_changes(database, &changed);
    return changed ? fail_changed(database, code, error) : status;
}

/* True if the file was written so recently that another change may leave its time the same. */
static bool is_fresh(const pl_file_state *state) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    int64_t age = (int64_t)(now.tv_sec - state->time.tv_sec) * 1000 +
                  (now.tv_nsec - state->time.tv_nsec) / 1000000;
    return age >= 0 && age < FRESH_MILLISECONDS;
}

/* ---- Connections ---------------------------------------------------------------------------- */

/* Writes the file as SQLite's URI, read-only. */
static void write_uri(pl_text *uri, const char *path, bool is_immutable) {
    pl_text_add(uri, "file://");
    for (const char *c = path; *c != '\0'; c++) {
        if (strchr("?#%", *c) != NULL)
            pl_text_format(uri, "%%%02X", (unsigned)(unsigned char)*c);
        else
            pl_text_append(uri, c, 1);
    }
    pl_text_add(uri, is_immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

/* Keeps SQLite from running code in the file (views, triggers and functions of the schema), and
 * from values that are longer than the file. */
static int make_wary(sqlite3 *sqlite, const pl_file_state *state) {
    static const struct {
        int option;
        int value;
    } settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
    enum { LEAST_LENGTH = 1000000 }; /* also of queries */
    off_t length = state->size_bytes + state->log_bytes;
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof settings / sizeof *settings; i++)
        code = sqlite3_db_config(sqlite, settings[i].option, settings[i].value, NULL);
    if (length < INT_MAX)
        sqlite3_limit(sqlite, SQLITE_LIMIT_LENGTH,
                      length < LEAST_LENGTH ? LEAST_LENGTH : (int)length);
    return code;
}

static int open_connection(const pl_database *database, sqlite3 **sqlite) {
    pl_text uri = {0};
    write_uri(&uri, database->file_path, database->is_immutable);
    /* Not memory-mapped: that is no faster for a file that is read once and in order, and every
     * page would count as memory of the process. */
    int code =
        uri.failed
            ? SQLITE_NOMEM
            : sqlite3_open_v2(uri.data, sqlite,
                              SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    free(uri.data);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(*sqlite, BUSY_MILLISECONDS);
    if (code == SQLITE_OK)
        code = make_wary(*sqlite, &database->state);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*sqlite, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    return code;
}

/* SQLite's progress handler: true ends a query. */
static int is_over(void *user) {
    const pl_database *database = user;
    return database->is_helper ? pl_bounds_are_over(database->bounds)
                               : pl_bounds_ask(database->bounds);
}

void pl_database_bind(pl_database *database, pl_bounds *bounds) {
    enum { INSTRUCTIONS = 4096 }; /* of SQLite's machine, between two calls: some 20 us */
    database->bounds = bounds;
    if (bounds != NULL)
        sqlite3_progress_handler(database->sqlite, INSTRUCTIONS, is_over, database);
}

/* Begins the transaction that lasts until the connection is closed; its first read takes the
 * lock. */
static int begin_reading(sqlite3 *sqlite) {
    return sqlite3_exec(sqlite, "BEGIN; SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
}

static void disconnect(pl_database *database) {
    sqlite3_close(database->sqlite);
    database->sqlite = NULL;
}

/* Opens the connection, and begins to read. For a file in write-ahead mode without a log SQLite
 * would create a log and leave it there, so such a file is opened without locks. */
static int connect(pl_database *database) {
    uint8_t header[PL_DATABASE_HEADER];
    sqlite3_int64 size_bytes = 0;
    int code = open_connection(database, &database->sqlite);
    if (code == SQLITE_OK && !database->is_immutable &&
        read_header(database->sqlite, header, &size_bytes) == SQLITE_OK && header[19] == 2 &&
        size_beside(database->file_path, "-wal") < 0 &&
        size_beside(database->file_path, "-shm") < 0) {
        disconnect(database);
        database->is_immutable = true;
        code = open_connection(database, &database->sqlite);
    }
    return code == SQLITE_OK ? begin_reading(database->sqlite) : code;
}

/* True if a failure can be due to the directory, where a write-ahead log needs another file, or to
 * a file system without locks. */
static bool is_due_to_place(const pl_database *database, int code) {
    return code == SQLITE_CANTOPEN || code == SQLITE_IOERR ||
           (code == SQLITE_READONLY &&
            sqlite3_extended_errcode(database->sqlite) != SQLITE_READONLY_ROLLBACK);
}

static int connect_somehow(pl_database *database) {
    database->is_immutable = false;
    int code = connect(database);
    if (!is_due_to_place(database, code) || size_beside(database->file_path, "-wal") > 0 ||
        size_beside(database->file_path, "-journal") > 0)
        return code;
    disconnect(database);
    database->is_immutable = true;
    return connect(database);
}

/* Fails with the reason why the file cannot be opened, and the remedy. */
static popliner_status fail_opening(pl_database *database, int code, const char *expected,
                                    popliner_error *error) {
    const char *path = database->path;
    if (code == SQLITE_NOMEM)
        return pl_fail_memory(error, "the database");
    if (code == SQLITE_NOTADB)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is not an SQLite database, expected %s",
                       path, expected);
    if (code == SQLITE_BUSY)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: another program is writing it; try again when that has ended", path);
    if (sqlite3_extended_errcode(database->sqlite) == SQLITE_READONLY_ROLLBACK)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: its last transaction was not finished; open it with sqlite3 in a "
                       "writable directory, or remove its -journal file if the database is newer",
                       path);
    if (is_due_to_place(database, code) && size_beside(database->file_path, "-wal") > 0)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: its write-ahead log cannot be read (%s); copy it with its -wal file to "
                       "a writable directory",
                       path, sqlite3_errmsg(database->sqlite));
    if (code == SQLITE_CANTOPEN)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be opened: %s", path,
                       pl_database_why_not_opened(database->sqlite, database->file_path));
    pl_database_fail(database, "opening it");
    return database->outcome.status;
}

/* Returns the length that a database file must have according to its header; 0 if unknown. */
static uint64_t length_by_header(const uint8_t header[PL_DATABASE_HEADER]) {
    /* the number of pages is valid if the last writer set it, and no log holds other pages */
    if (memcmp(header, "SQLite format 3", 16) != 0 || memcmp(header + 24, header + 92, 4) != 0 ||
        header[18] != 1)
        return 0;
    uint64_t page_size = (uint64_t)header[16] << 8 | header[17];
    uint64_t pages = (uint64_t)header[28] << 24 | (uint64_t)header[29] << 16 |
                     (uint64_t)header[30] << 8 | header[31];
    return (page_size == 1 ? 65536 : page_size) * pages;
}

/* Checks that the path is a file that can be read, and stores its real path. */
static popliner_status find_file(pl_database *database, const char *path, const char *expected,
                                 popliner_error *error) {
    struct stat info;
    if (stat(path, &info) != 0)
        return pl_fail_reading(error, path);
    if (S_ISDIR(info.st_mode))
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is a directory, expected %s", path,
                       expected);
    if (!S_ISREG(info.st_mode))
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is not a regular file, expected %s", path,
                       expected);
    if (info.st_size == 0)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is empty, expected %s", path, expected);
    /* its log and journal are in the directory of the file, not of a link to it */
    if (access(path, R_OK) != 0 || (database->file_path = realpath(path, NULL)) == NULL)
        return errno == ENOMEM ? pl_fail_memory(error, "a file name")
                               : pl_fail_reading(error, path);
    database->path = pl_copy_string(path, strlen(path));
    return database->path != NULL ? POPLINER_OK : pl_fail_memory(error, "a file name");
}

/* Rejects a write-ahead log of another file, which SQLite would read. */
static popliner_status check_log(const pl_database *database, popliner_error *error) {
    bool may_have_log = database->header[18] == 2 || database->header[19] == 2;
    if (may_have_log || database->state.log_bytes == 0)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_INPUT,
                   "%s: its -wal file belongs to another database; remove the -wal file",
                   database->path);
}

static popliner_status connect_to_one_state(pl_database *database, const char *expected,
                                            sqlite3_int64 *size_bytes, popliner_error *error) {
    bool changed = false;
    if (!look_at(database->file_path, &database->state))
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", database->path,
                       strerror(errno));
    int code = connect_somehow(database);
    if (code != SQLITE_OK)
        return fail_opening(database, code, expected, error);
    code = read_header(database->sqlite, database->header, size_bytes);
    if (code != SQLITE_OK)
        return fail_at_header(database, code, error);
    if (database->is_immutable && is_fresh(&database->state))
        sqlite3_sleep(FRESH_MILLISECONDS); /* without locks only its time shows a change */
    code = find_changes(database, &changed);
    return changed ? fail_changed(database, code, error) : check_log(database, error);
}

popliner_status pl_database_open(pl_database *database, const char *path, const char *expected,
                                 popliner_error *error) {
    *database = (pl_database){.outcome.error = error};
    sqlite3_int64 size_bytes = 0;
    popliner_status status = find_file(database, path, expected, error);
    if (status == POPLINER_OK)
        status = connect_to_one_state(database, expected, &size_bytes, error);
    if (status == POPLINER_OK && (uint64_t)size_bytes < length_by_header(database->header))
        /* SQLite itself reads zeros in a truncated last page */
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: was cut off in its last page; write it again", path);
    if (status != POPLINER_OK)
        pl_database_close(database);
    database->outcome = (pl_outcome){status, error};
    return status;
}

/* Opens one more connection to the file. */
static bool open_helper(const pl_database *database, pl_database *helper) {
    *helper = (pl_database){.path = pl_copy_string(database->path, strlen(database->path)),
                            .is_helper = true};
    if (helper->path != NULL && open_connection(database, &helper->sqlite) == SQLITE_OK &&
        begin_reading(helper->sqlite) == SQLITE_OK) {
        pl_database_bind(helper, database->bounds);
        return true;
    }
    pl_database_close(helper);
    return false;
}

static void close_helpers(pl_database *database) {
    for (size_t i = 0; i < database->num_helpers; i++)
        pl_database_close(&database->helpers[i]);
    free(database->helpers);
    database->helpers = NULL;
    database->num_helpers = 0;
}

void pl_database_open_helpers(pl_database *database, size_t count) {
    /* another connection may see more of a log */
    const bool has_log = !database->is_immutable && database->header[19] == 2;
    /* a library may be built for a single thread */
    if (sqlite3_threadsafe() == 0 || count == 0 || has_log)
        return;
    database->helpers = calloc(count, sizeof *database->helpers);
    while (database->helpers != NULL && database->num_helpers < count &&
           open_helper(database, &database->helpers[database->num_helpers]))
        database->num_helpers++;
    /* they might see a later state */
    if (is_replaced(database) || is_changed(database))
        close_helpers(database);
}

void pl_database_close(pl_database *database) {
    close_helpers(database);
    disconnect(database);
    free(database->file_path);
    free(database->path);
    *database = (pl_database){0};
}
