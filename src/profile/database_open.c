/* Opens a database so that all reads see one state, even if other programs write it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* for realpath */

#include "profile/database.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"

#define EXPECTED "a Poplar profile (profile.pop)"

/* How long to wait for another program's lock. */
enum { BUSY_MILLISECONDS = 500 };

/* Longer than the clock resolution of file systems. */
enum { CLOCK_MILLISECONDS = 20 };

/* ---- The state of the file ------------------------------------------------------------------ */

/* Returns the size of the file `path` with `suffix`; -1 if there is none. */
static off_t size_beside(const char *path, const char *suffix) {
    char name[PATH_MAX + 16];
    struct stat info;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &info) == 0 ? info.st_size : -1;
}

static off_t log_bytes_of(const char *path) {
    const off_t size = size_beside(path, "-wal");
    return size > 0 ? size : 0;
}

typedef enum file_state { SAME, WRITTEN, REPLACED } file_state;

/* Returns what became of the file that was opened. SQLite's locks and snapshots keep other users of
 * SQLite from changing what a connection sees. */
static file_state look_again(const pl_database *database) {
    const struct stat *then = &database->state;
    struct stat now;
    if (stat(database->file_path, &now) != 0 || now.st_dev != then->st_dev ||
        now.st_ino != then->st_ino)
        return REPLACED;
    return now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
                   now.st_mtim.tv_nsec != then->st_mtim.tv_nsec ||
                   log_bytes_of(database->file_path) != database->log_bytes
               ? WRITTEN
               : SAME;
}

popliner_status pl_database_end_reading(const pl_database *database, popliner_status status,
                                        popliner_error *error) {
    /* the change may have caused an error in the contents */
    bool may_be_due = status == POPLINER_OK || status == POPLINER_ERROR_INPUT;
    if (database->sqlite == NULL || !may_be_due || look_again(database) != WRITTEN)
        return status;
    return pl_fail(error, POPLINER_ERROR_INPUT,
                   "%s: changed while it was being read; read it again when no program writes it "
                   "any more",
                   database->path);
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
static int make_wary(sqlite3 *sqlite, off_t file_bytes) {
    static const struct {
        int option;
        int value;
    } settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}};
    enum { LEAST_LENGTH = 1000000 }; /* also of queries */
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && i < sizeof settings / sizeof *settings; i++)
        code = sqlite3_db_config(sqlite, settings[i].option, settings[i].value, NULL);
    if (file_bytes < INT_MAX)
        sqlite3_limit(sqlite, SQLITE_LIMIT_LENGTH,
                      file_bytes < LEAST_LENGTH ? LEAST_LENGTH : (int)file_bytes);
    return code;
}

/* Opens a connection, and begins the transaction that lasts until it is closed; its first read
 * takes the lock. */
static int connect(const pl_database *database, sqlite3 **sqlite) {
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
        code = make_wary(*sqlite, database->state.st_size + database->log_bytes);
    if (code == SQLITE_OK)
        code = sqlite3_exec(*sqlite,
                            "PRAGMA cell_size_check = ON; BEGIN; "
                            "SELECT count(*) FROM sqlite_master",
                            NULL, NULL, NULL);
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

/* True if the header says that the file may have a write-ahead log. The file is closed before a
 * connection has a lock on it, which closing it would release. */
static bool is_logged(const pl_database *database) {
    enum { WRITE_VERSION = 18, READ_VERSION, LENGTH };
    uint8_t header[LENGTH] = {0};
    FILE *file = fopen(database->file_path, "rb");
    const size_t count = file == NULL ? 0 : fread(header, 1, LENGTH, file);
    if (file != NULL)
        (void)fclose(file); /* it was only read */
    return count == LENGTH && (header[WRITE_VERSION] == 2 || header[READ_VERSION] == 2);
}

/* True if a failure can be due to the directory, where a write-ahead log needs another file, or to
 * a file system without locks. */
static bool is_due_to_place(const pl_database *database, int code) {
    return code == SQLITE_CANTOPEN || code == SQLITE_IOERR ||
           (code == SQLITE_READONLY &&
            sqlite3_extended_errcode(database->sqlite) != SQLITE_READONLY_ROLLBACK);
}

/* For a file in write-ahead mode without a log SQLite would create a log and leave it there, so
 * such a file is opened without locks, as is one where there are none. */
static int connect_somehow(pl_database *database) {
    database->is_immutable = database->is_logged && size_beside(database->file_path, "-wal") < 0 &&
                             size_beside(database->file_path, "-shm") < 0;
    int code = connect(database, &database->sqlite);
    if (!is_due_to_place(database, code) || size_beside(database->file_path, "-wal") > 0 ||
        size_beside(database->file_path, "-journal") > 0)
        return code;
    sqlite3_close(database->sqlite);
    database->is_immutable = true;
    return connect(database, &database->sqlite);
}

/* Fails with the reason why the file cannot be opened, and the remedy. */
static popliner_status fail_opening(pl_database *database, int code, popliner_error *error) {
    const char *path = database->path;
    const char *message = sqlite3_errmsg(database->sqlite);
    const char *why = NULL;
    const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    /* SQLite needs space for the longest name of a companion file */
    const size_t length = strlen(database->file_path) + strlen("-journal");
    if (code == SQLITE_NOMEM)
        return pl_fail_memory(error, "the database");
    if (code == SQLITE_NOTADB)
        return pl_fail_because(error, POPLINER_REASON_NO_PROFILE,
                               "%s: is not an SQLite database, expected " EXPECTED, path);
    if (code == SQLITE_BUSY)
        why = "another program is writing it; try again when that has ended";
    else if (sqlite3_extended_errcode(database->sqlite) == SQLITE_READONLY_ROLLBACK)
        why = "its last transaction was not finished; open it with sqlite3 in a writable "
              "directory, or remove its -journal file if the database is newer";
    else if (is_due_to_place(database, code) && size_beside(database->file_path, "-wal") > 0)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: its write-ahead log cannot be read (%s); copy it with its -wal file to "
                       "a writable directory",
                       path, message);
    else if (code == SQLITE_CANTOPEN && vfs != NULL && length > (size_t)vfs->mxPathname)
        why = "cannot be opened: its absolute path is too long for SQLite; use a shorter one";
    if (why != NULL)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: %s", path, why);
    if (code == SQLITE_CANTOPEN)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be opened: %s", path, message);
    pl_database_fail(database, "opening it");
    return database->outcome.status;
}

/* Checks that the path is a file that can be read; stores its state and its real path. */
static popliner_status find_file(pl_database *database, const char *path, popliner_error *error) {
    PL_TRY(pl_file_look(path, EXPECTED, POPLINER_REASON_OTHER, &database->state, error));
    /* its log and journal are in the directory of the file, not of a link to it */
    if (access(path, R_OK) != 0 || (database->file_path = realpath(path, NULL)) == NULL)
        return pl_fail_reading(error, path);
    database->path = strdup(path);
    database->log_bytes = log_bytes_of(database->file_path);
    return database->path != NULL ? POPLINER_OK : pl_fail_memory(error, "a file name");
}

static popliner_status connect_to_one_state(pl_database *database, popliner_error *error) {
    int64_t length = 0;
    database->is_logged = is_logged(database);
    if (!database->is_logged && database->log_bytes > 0) /* SQLite would read it */
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: its -wal file belongs to another database; remove the -wal file",
                       database->path);
    const int code = connect_somehow(database);
    if (code != SQLITE_OK)
        return fail_opening(database, code, error);
    if (database->is_immutable)
        sqlite3_sleep(CLOCK_MILLISECONDS); /* without locks only its time shows a change */
    /* SQLite itself reads zeros in a truncated last page */
    pl_database_ask(database,
                    "SELECT page_count * page_size FROM pragma_page_count, "
                    "pragma_page_size",
                    NULL, "reading its length", &length);
    if (!database->is_logged && length > database->state.st_size)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: was cut off in its last page; write it again", database->path);
    return pl_database_end_reading(database, database->outcome.status, error);
}

popliner_status pl_database_open(pl_database *database, const char *path, popliner_error *error) {
    *database = (pl_database){.outcome.error = error};
    popliner_status status = find_file(database, path, error);
    if (status == POPLINER_OK)
        status = connect_to_one_state(database, error);
    if (status != POPLINER_OK)
        pl_database_close(database);
    database->outcome = (pl_outcome){status, error};
    return status;
}

/* Opens one more connection to the file. */
static bool open_helper(const pl_database *database, pl_database *helper) {
    *helper = (pl_database){.path = strdup(database->path), .is_helper = true};
    if (helper->path != NULL && connect(database, &helper->sqlite) == SQLITE_OK) {
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
    const bool has_log = !database->is_immutable && database->is_logged;
    /* a library may be built for a single thread */
    if (sqlite3_threadsafe() == 0 || count == 0 || has_log)
        return;
    database->helpers = calloc(count, sizeof *database->helpers);
    while (database->helpers != NULL && database->num_helpers < count &&
           open_helper(database, &database->helpers[database->num_helpers]))
        database->num_helpers++;
    /* they might see a later state */
    if (look_again(database) != SAME)
        close_helpers(database);
}

void pl_database_close(pl_database *database) {
    close_helpers(database);
    sqlite3_close(database->sqlite);
    free(database->file_path);
    free(database->path);
    *database = (pl_database){0};
}
