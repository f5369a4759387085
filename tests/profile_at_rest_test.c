/* Files that others write, or have left half written: what is read is of one state, or refused.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"
#include "test_sql.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/operations.h"
#include "profile/database.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* ---- Databases and their writers ------------------------------------------------------------ */

static sqlite3 *open_to_write(const char *path) {
    sqlite3 *sqlite = NULL;
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    return sqlite;
}

/* directory/x.pop, whose `a` is 1 in each of 3000 rows on some 60 pages; `mode` is that of the
 * journal. The caller frees the path. */
static char *make_database(const char *directory, const char *mode) {
    char sql[100];
    char *path = test_path(directory, "x.pop");
    sqlite3 *sqlite = open_to_write(path);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s; PRAGMA synchronous = OFF", mode);
    test_run_sql(sqlite, sql);
    test_run_sql(sqlite,
                 "CREATE TABLE t (a, b); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                 "FROM n WHERE i < 3000) INSERT INTO t SELECT 1, hex(randomblob(40)) FROM n");
    assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
    return path;
}

/* Returns the value of all rows of `a` in the connection's state; 0 when they differ. */
static int value_of(const pl_database *database) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(database->sqlite, "SELECT min(a), max(a) FROM t", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int low = sqlite3_column_int(statement, 0);
    int high = sqlite3_column_int(statement, 1);
    sqlite3_finalize(statement);
    return low == high ? low : 0;
}

static void open_database(pl_database *database, const char *path) {
    popliner_error error = {.message = ""};
    if (pl_database_open(database, path, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
}

/* Expects that the file opens, and holds `value`. */
static void expect_state(const char *path, int value) {
    pl_database database;
    popliner_error error = {.message = ""};
    open_database(&database, path);
    assert_int_equal(value_of(&database), value);
    if (pl_database_end_reading(&database, POPLINER_OK, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    pl_database_close(&database);
}

static void expect_message(const popliner_error *error, const char *path, const char *words) {
    assert_int_equal(error->status, POPLINER_ERROR_INPUT);
    test_assert_sentence(error->message);
    assert_non_null(strstr(error->message, path));
    if (strstr(error->message, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error->message);
}

static void expect_refused(const char *path, const char *words) {
    pl_database database;
    popliner_error error = {.message = ""};
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_ERROR_INPUT);
    expect_message(&error, path, words);
}

static void expect_changed(const pl_database *database) {
    popliner_error error = {.message = ""};
    assert_int_equal(pl_database_end_reading(database, POPLINER_OK, &error), POPLINER_ERROR_INPUT);
    expect_message(&error, database->path, "changed while it was being read; read it again when");
    /* damage may come of the change, a lack of memory does not */
    assert_int_equal(pl_database_end_reading(database, POPLINER_ERROR_MEMORY, NULL),
                     POPLINER_ERROR_MEMORY);
    assert_int_equal(pl_database_end_reading(database, POPLINER_ERROR_INPUT, &error),
                     POPLINER_ERROR_INPUT);
    expect_message(&error, database->path, "changed while it was being read");
}

static void copy(const char *from, const char *from_suffix, const char *to, const char *to_suffix) {
    char name[300];
    size_t size;
    snprintf(name, sizeof name, "%s%s", from, from_suffix);
    uint8_t *bytes = test_read_bytes(name, &size);
    snprintf(name, sizeof name, "%s%s", to, to_suffix);
    test_write_bytes(name, bytes, size);
    free(bytes);
}

static bool exists(const char *path, const char *suffix) {
    char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return access(name, F_OK) == 0;
}

/* Sets the time of the file's last change to a second long ago. */
static void set_time(const char *path, time_t second) {
    const struct timespec times[] = {{.tv_sec = second}, {.tv_sec = second}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Returns the result of a write by another process. */
static int write_in_other_process(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *sqlite = NULL;
        int code = sqlite3_open(path, &sqlite);
        if (code == SQLITE_OK)
            code = sqlite3_exec(sqlite, "UPDATE t SET a = 2", NULL, NULL, NULL);
        _exit(code);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- Journals and logs ---------------------------------------------------------------------- */

/* directory/died.pop and its journal, as a writer leaves them that dies within a transaction. */
static char *make_died(const char *directory) {
    char *path = make_database(directory, "DELETE");
    char *died = test_path(directory, "died.pop");
    sqlite3 *sqlite = open_to_write(path);
    /* so little room that it must write before the end */
    test_run_sql(sqlite, "PRAGMA cache_size = 5; BEGIN; UPDATE t SET a = 2");
    copy(path, "", died, "");
    copy(path, "-journal", died, "-journal");
    test_run_sql(sqlite, "ROLLBACK");
    sqlite3_close(sqlite);
    free(path);
    return died;
}

static void refuses_half_a_transaction(void **state) {
    char *path = make_died(*state);
    char *link = test_path(*state, "link.pop");
    expect_refused(path, "its last transaction was not finished; open it with sqlite3");
    assert_int_equal(symlink("died.pop", link), 0);
    expect_refused(link, "its last transaction was not finished; open it with sqlite3");
    /* nothing was done to it; then what the message says is done */
    assert_true(exists(path, "-journal"));
    sqlite3 *sqlite = open_to_write(path);
    test_run_sql(sqlite, "SELECT count(*) FROM t");
    sqlite3_close(sqlite);
    expect_state(path, 1);
    expect_state(link, 1);
    free(link);
    free(path);
}

/* One that is empty, and one whose header was zeroed, as other modes of the journal leave them. */
static void passes_over_a_journal_that_is_done(void **state) {
    static const char *const modes[] = {"TRUNCATE", "PERSIST"};
    for (size_t i = 0; i < 2; i++) {
        char sql[100];
        char *path = make_database(*state, "DELETE");
        sqlite3 *sqlite = open_to_write(path);
        snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s; UPDATE t SET a = 3", modes[i]);
        test_run_sql(sqlite, sql);
        sqlite3_close(sqlite);
        assert_true(exists(path, "-journal"));
        expect_state(path, 3);
        unlink(path);
        free(path);
    }
}

static void finds_the_log_beside_the_target_of_a_link(void **state) {
    char *path = make_database(*state, "WAL");
    char *folder = test_path(*state, "other");
    char *link = test_path(*state, "other/link.pop");
    sqlite3 *sqlite = open_to_write(path);
    test_run_sql(sqlite, "PRAGMA wal_autocheckpoint = 0; UPDATE t SET a = 2");
    mkdir(folder, 0700);
    assert_int_equal(symlink("../x.pop", link), 0);
    expect_state(path, 2);
    expect_state(link, 2);
    sqlite3_close(sqlite);
    free(link);
    free(folder);
    free(path);
}

/* A file may be replaced by another, and what belonged to it stay. */
static void refuses_the_log_of_another_file(void **state) {
    char *path = make_database(*state, "WAL");
    char *other = test_path(*state, "other.pop");
    sqlite3 *sqlite = open_to_write(path);
    test_run_sql(sqlite, "PRAGMA wal_autocheckpoint = 0; UPDATE t SET a = 2");
    copy(path, "-wal", other, "-wal");
    sqlite3_close(sqlite);
    assert_int_equal(unlink(path), 0);
    free(path);
    path = make_database(*state, "DELETE");
    copy(path, "", other, "");
    expect_refused(other, "-wal file belongs to another database");
    free(path);
    path = test_path(*state, "other.pop-wal");
    assert_int_equal(unlink(path), 0);
    expect_state(other, 1);
    free(path);
    free(other);
}

/* ---- Writers at work ------------------------------------------------------------------------ */

static void keeps_writers_out_while_it_reads(void **state) {
    char *path = make_database(*state, "DELETE");
    pl_database database;
    open_database(&database, path);
    pl_database_open_helpers(&database, 2);
    assert_int_equal(database.num_helpers, 2);
    assert_int_equal(write_in_other_process(path), SQLITE_BUSY);
    /* what else the process reads of the file takes no lock away */
    expect_state(path, 1);
    assert_int_equal(write_in_other_process(path), SQLITE_BUSY);
    assert_int_equal(value_of(&database), 1);
    assert_int_equal(pl_database_end_reading(&database, POPLINER_OK, NULL), POPLINER_OK);
    pl_database_close(&database);
    assert_int_equal(write_in_other_process(path), SQLITE_OK);
    expect_state(path, 2);
    free(path);
}

static void does_not_wait_long_for_a_writer(void **state) {
    static const char *const modes[] = {"DELETE", "WAL"};
    for (size_t i = 0; i < 2; i++) {
        char *path = make_database(*state, modes[i]);
        sqlite3 *sqlite = open_to_write(path);
        /* what has begun but not reached the file does not matter */
        test_run_sql(sqlite, "BEGIN IMMEDIATE; UPDATE t SET a = 2 WHERE rowid = 1");
        expect_state(path, 1);
        test_run_sql(sqlite, "ROLLBACK; PRAGMA locking_mode = EXCLUSIVE");
        sqlite3_close(sqlite);
        sqlite = open_to_write(path);
        test_run_sql(sqlite,
                     "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE t SET a = 2");
        time_t begin = time(NULL);
        expect_refused(path, "another program is writing it; try again when that has ended");
        assert_true(time(NULL) - begin < 10);
        test_run_sql(sqlite, "COMMIT");
        sqlite3_close(sqlite);
        expect_state(path, 2);
        unlink(path);
        free(path);
    }
}

static void all_connections_see_one_state(void **state) {
    char *path = make_database(*state, "WAL");
    sqlite3 *sqlite = open_to_write(path);
    pl_database database;
    test_run_sql(sqlite, "UPDATE t SET a = 1");
    /* nothing happens; a log is read through one connection */
    open_database(&database, path);
    pl_database_open_helpers(&database, 3);
    assert_int_equal(database.num_helpers, 0);
    assert_int_equal(pl_database_end_reading(&database, POPLINER_OK, NULL), POPLINER_OK);
    pl_database_close(&database);
    for (int value = 2; value <= 3; value++) {
        char sql[100];
        snprintf(sql, sizeof sql, "UPDATE t SET a = %d", value);
        open_database(&database, path);
        test_run_sql(sqlite, sql);
        assert_int_equal(value_of(&database), value - 1);
        expect_changed(&database);
        pl_database_close(&database);
        expect_state(path, value);
    }
    /* a log that begins anew, in which nothing grows */
    test_run_sql(sqlite, "PRAGMA wal_checkpoint(RESTART); UPDATE t SET a = 6");
    open_database(&database, path);
    test_run_sql(sqlite, "UPDATE t SET a = 7");
    assert_int_equal(value_of(&database), 6);
    pl_database_close(&database);
    sqlite3_close(sqlite);
    free(path);
}

/* Such a file is read without locks, so that no log is left next to it. */
static void tells_of_a_log_that_appears(void **state) {
    char *path = make_database(*state, "WAL");
    pl_database database;
    for (int value = 2; value <= 5; value++) {
        char sql[100];
        snprintf(sql, sizeof sql, "UPDATE t SET a = %d", value);
        expect_state(path, value - 1);
        assert_false(exists(path, "-wal"));
        assert_false(exists(path, "-shm"));
        open_database(&database, path);
        /* the writer is gone when the change is looked for, or is still there */
        sqlite3 *sqlite = open_to_write(path);
        test_run_sql(sqlite, sql);
        if (value < 4)
            sqlite3_close(sqlite);
        pl_database_open_helpers(&database, 2);
        assert_int_equal(database.num_helpers, 0);
        expect_changed(&database);
        pl_database_close(&database);
        if (value >= 4)
            sqlite3_close(sqlite);
    }
    free(path);
}

/* Who copies onto the file asks for no lock. */
static void tells_of_a_copy_onto_the_file(void **state) {
    char *path = make_database(*state, "DELETE");
    char *other = test_path(*state, "other.pop");
    pl_database database;
    copy(path, "", other, "");
    assert_int_equal(write_in_other_process(other), SQLITE_OK);
    set_time(path, 1000000000);
    open_database(&database, path);
    copy(other, "", path, "");
    pl_database_open_helpers(&database, 2);
    assert_int_equal(database.num_helpers, 0);
    expect_changed(&database);
    /* even where the time was set back, its header tells */
    set_time(path, 1000000000);
    expect_changed(&database);
    pl_database_close(&database);

    open_database(&database, path);
    set_time(path, 1000000001);
    expect_changed(&database);
    pl_database_close(&database);
    assert_int_equal(truncate(path, 8192), 0);
    expect_refused(path, "was cut off");
    free(other);
    free(path);
}

/* The connections keep to the old file; one that is opened later would not. */
static void reads_on_in_a_file_that_is_replaced(void **state) {
    char *path = make_database(*state, "DELETE");
    char *other = test_path(*state, "other.pop");
    pl_database database;
    copy(path, "", other, "");
    assert_int_equal(write_in_other_process(other), SQLITE_OK);
    open_database(&database, path);
    assert_int_equal(rename(other, path), 0);
    pl_database_open_helpers(&database, 2);
    assert_int_equal(database.num_helpers, 0);
    assert_int_equal(value_of(&database), 1);
    assert_int_equal(pl_database_end_reading(&database, POPLINER_OK, NULL), POPLINER_OK);
    pl_database_close(&database);
    expect_state(path, 2);
    free(other);
    free(path);
}

/* ---- Folders that cannot be written --------------------------------------------------------- */

/* Does `check` where `directory` cannot be written; root may write anywhere, so another does it. */
static void without_write_access(const char *directory, void (*check)(const char *path),
                                 const char *path) {
    assert_int_equal(chmod(directory, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        enum { NOBODY = 65534 };
        if (geteuid() == 0 && setuid(NOBODY) != 0)
            _exit(2);
        check(path);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(directory, 0755), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* In the child: a failed assertion would run the parent's tests on. */
static void check_value_1(const char *path) {
    pl_database database;
    popliner_error error = {.message = ""};
    if (pl_database_open(&database, path, &error) != POPLINER_OK) {
        fprintf(stderr, "%s\n", error.message);
        _exit(3);
    }
    pl_database_open_helpers(&database, 2);
    sqlite3_stmt *statement = NULL;
    for (size_t i = 0; i <= database.num_helpers; i++) {
        sqlite3 *sqlite = i == 0 ? database.sqlite : database.helpers[i - 1].sqlite;
        if (sqlite3_prepare_v2(sqlite, "SELECT max(a) FROM t", -1, &statement, NULL) != SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_int(statement, 0) != 1)
            _exit(4);
        sqlite3_finalize(statement);
    }
    if (pl_database_end_reading(&database, POPLINER_OK, &error) != POPLINER_OK) {
        fprintf(stderr, "%s\n", error.message);
        _exit(6);
    }
    pl_database_close(&database);
}

static void check_refused(const char *path) {
    pl_database database;
    popliner_error error = {.message = ""};
    if (pl_database_open(&database, path, &error) != POPLINER_ERROR_INPUT)
        _exit(3);
    if (strstr(error.message, "copy it with its -wal file to a writable directory") == NULL) {
        fprintf(stderr, "%s\n", error.message);
        _exit(4);
    }
}

static void reads_in_a_folder_that_cannot_be_written(void **state) {
    char *path = make_database(*state, "DELETE");
    without_write_access(*state, check_value_1, path);
    sqlite3 *sqlite = open_to_write(path);
    test_run_sql(sqlite, "PRAGMA journal_mode = WAL");
    sqlite3_close(sqlite);
    assert_false(exists(path, "-wal"));
    without_write_access(*state, check_value_1, path);
    assert_false(exists(path, "-wal"));
    assert_false(exists(path, "-shm"));

    /* what the log holds cannot be left out */
    char *copied = test_path(*state, "copied.pop");
    sqlite = open_to_write(path);
    test_run_sql(sqlite, "PRAGMA wal_autocheckpoint = 0; UPDATE t SET a = 2; UPDATE t SET a = 1");
    copy(path, "", copied, "");
    copy(path, "-wal", copied, "-wal");
    without_write_access(*state, check_refused, copied);
    /* with all three files it can be read */
    copy(path, "-shm", copied, "-shm");
    without_write_access(*state, check_value_1, copied);
    without_write_access(*state, check_value_1, path);
    sqlite3_close(sqlite);
    free(copied);
    free(path);
}

/* ---- Whole profiles ------------------------------------------------------------------------- */

/* A copy of the sample whose variables are all of `bytes`. */
static char *make_profile(const char *directory, const char *mode) {
    char sql[100];
    char *from = test_project_file("data/sample/profile.pop");
    char *path = test_path(directory, "profile.pop");
    copy(from, "", path, "");
    sqlite3 *sqlite = open_to_write(path);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s; UPDATE vars_info SET size_bytes = 4",
             mode);
    test_run_sql(sqlite, sql);
    sqlite3_close(sqlite);
    free(from);
    return path;
}

/* The bytes of each variable if they are the same; 0 when they differ. One that was not allocated
 * has none. */
static uint32_t common_size(const popliner_profile *profile) {
    uint32_t common = 0;
    for (size_t i = 0; i < profile->num_variables; i++) {
        uint32_t size_bytes = profile->variable_size_bytes[i];
        if (size_bytes != 0 && common != 0 && size_bytes != common)
            return 0;
        common = size_bytes != 0 ? size_bytes : common;
    }
    return common;
}

static sqlite3 *connect_writer(const char *path) {
    sqlite3 *sqlite = NULL;
    if (sqlite3_open(path, &sqlite) != SQLITE_OK || sqlite3_busy_timeout(sqlite, 1000) != SQLITE_OK)
        _exit(1);
    sqlite3_exec(sqlite, "PRAGMA synchronous = OFF; PRAGMA cache_size = 20", NULL, NULL, NULL);
    return sqlite;
}

/* Gives all variables another size, again and again, for at most `seconds`; through one connection,
 * or through a new one each time. */
static pid_t start_writer(const char *path, bool comes_and_goes, int seconds) {
    pid_t child = fork();
    if (child != 0)
        return child;
    time_t end = time(NULL) + seconds;
    sqlite3 *sqlite = connect_writer(path);
    for (unsigned i = 0; time(NULL) < end; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "UPDATE vars_info SET size_bytes = %u", 4 * (i % 50 + 1));
        sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
        if (comes_and_goes)
            sqlite3_close(sqlite);
        /* mostly shorter than a reading, sometimes several readings long */
        const struct timespec pause = {.tv_nsec = (long)(test_random(i) >> (i % 8 == 0 ? 36 : 40))};
        nanosleep(&pause, NULL);
        if (comes_and_goes)
            sqlite = connect_writer(path);
    }
    _exit(0);
}

static void expect_one_state_or_refusal(const char *directory, const char *mode,
                                        bool comes_and_goes) {
    const size_t num_runs = test_chosen(6, 15, 40);
    char *path = make_profile(directory, mode);
    pl_read_options options = {.num_threads = 4};
    popliner_profile *profile = NULL;
    popliner_error error = {.message = ""};
    pid_t writer = start_writer(path, comes_and_goes, 60);
    size_t num_read = 0;
    for (size_t i = 0; i < num_runs; i++) {
        popliner_status status = pl_read_files(path, NULL, &options, &profile, NULL, &error);
        if (status == POPLINER_OK) {
            num_read++;
            assert_int_not_equal(common_size(profile), 0);
            assert_int_equal(common_size(profile) % 4, 0);
            pl_profile_free(profile);
        } else {
            assert_int_equal(status, POPLINER_ERROR_INPUT);
            expect_message(&error, path, "writ");
            assert_null(profile);
        }
    }
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    print_message("%s: %zu of %zu read\n", mode, num_read, num_runs);
    /* what a killed writer leaves, SQLite fixes */
    sqlite3 *sqlite = open_to_write(path);
    test_run_sql(sqlite, "SELECT count(*) FROM vars_info");
    sqlite3_close(sqlite);
    assert_int_equal(pl_read_files(path, NULL, &options, &profile, NULL, &error), POPLINER_OK);
    assert_int_not_equal(common_size(profile), 0);
    pl_profile_free(profile);
    free(path);
}

static void reads_beside_a_writer_with_a_journal(void **state) {
    expect_one_state_or_refusal(*state, "DELETE", false);
}

static void reads_beside_a_writer_with_a_log(void **state) {
    expect_one_state_or_refusal(*state, "WAL", false);
}

static void reads_beside_writers_that_come_and_go(void **state) {
    expect_one_state_or_refusal(*state, "WAL", true);
}

/* A progress callback that changes the file while it is being read. */
static void touch(void *user, const char *task, uint64_t done, uint64_t total) {
    (void)task;
    (void)done;
    (void)total;
    set_time(user, 1000000001);
}

/* The file changes between the opening and the end of a reading, at any time of its threads. */
static void tells_of_a_profile_that_changes(void **state) {
    char *path = make_profile(*state, "DELETE");
    popliner_error error = {.message = ""};
    popliner_profile *profile = NULL;
    popliner_listener listener = POPLINER_LISTENER_INIT;
    pl_read_options options = {.num_threads = 2, .listener = &listener};
    set_time(path, 1000000000);
    assert_int_equal(pl_read_files(path, NULL, &options, &profile, NULL, &error), POPLINER_OK);
    pl_profile_free(profile);
    listener.user = path;
    listener.progress = touch;
    assert_int_equal(pl_read_files(path, NULL, &options, &profile, NULL, &error),
                     POPLINER_ERROR_INPUT);
    expect_message(&error, path, "changed while it was being read; read it again when");
    assert_null(profile);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(refuses_half_a_transaction),
        IN_DIRECTORY(passes_over_a_journal_that_is_done),
        IN_DIRECTORY(finds_the_log_beside_the_target_of_a_link),
        IN_DIRECTORY(refuses_the_log_of_another_file),
        IN_DIRECTORY(keeps_writers_out_while_it_reads),
        IN_DIRECTORY(does_not_wait_long_for_a_writer),
        IN_DIRECTORY(all_connections_see_one_state),
        IN_DIRECTORY(tells_of_a_log_that_appears),
        IN_DIRECTORY(tells_of_a_copy_onto_the_file),
        IN_DIRECTORY(reads_on_in_a_file_that_is_replaced),
        IN_DIRECTORY(reads_in_a_folder_that_cannot_be_written),
        IN_DIRECTORY(reads_beside_a_writer_with_a_journal),
        IN_DIRECTORY(reads_beside_a_writer_with_a_log),
        IN_DIRECTORY(reads_beside_writers_that_come_and_go),
        IN_DIRECTORY(tells_of_a_profile_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
