/* Reading by several threads: the same bytes, the same errors, and a listener that only the
 * calling thread calls.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "made_profile.h"
#include "test_data.h"
#include "test_sql.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/operations.h"
#include "popliner/operations.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "stored.h"

static const size_t thread_counts[] = {1, 2, 4, 7};

enum { NUM_THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

/* ---- Messages to a listener ----------------------------------------------------------------- */

typedef struct told {
    pthread_t caller;
    bool other_thread;
    size_t calls;
    char last_task[64];
    uint64_t done;
    uint64_t total;
    bool went_back; /* progress of one task */
} told;

static void on_message(void *user, popliner_level level, const char *text) {
    told *t = user;
    (void)level;
    (void)text;
    t->other_thread = t->other_thread || !pthread_equal(t->caller, pthread_self());
    t->calls++;
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    told *t = user;
    on_message(user, POPLINER_LEVEL_DEBUG, task);
    if (strcmp(t->last_task, task) == 0 && done < t->done)
        t->went_back = true;
    snprintf(t->last_task, sizeof t->last_task, "%s", task);
    t->done = done;
    t->total = total;
}

/* ---- Reading and storing -------------------------------------------------------------------- */

/* The bytes of the stored analysis of two files (debug may be NULL), read by so many threads. */
static uint8_t *stored(const char *directory, const char *profile_path, const char *debug_path,
                       size_t num_threads, size_t *size) {
    popliner_error error = {.message = ""};
    popliner_profile *profile = NULL;
    pl_debug_info *info = NULL;
    pl_operations *operations = NULL;
    told t = {.caller = pthread_self()};
    popliner_listener listener = {.user = &t, .message = on_message, .progress = on_progress};
    pl_read_options options = {.listener = &listener, .num_threads = num_threads};
    char *path = test_path(directory, "stored.popliner");
    if (pl_read_files(profile_path, debug_path, &options, &profile, &info, &error) != POPLINER_OK ||
        pl_operations_find(profile, info, &operations, &error) != POPLINER_OK ||
        pl_profile_check(profile, profile_path, &error) != POPLINER_OK ||
        save_stored(profile, operations, path, &error) != POPLINER_OK)
        fail_msg("%s with %zu threads: %s", profile_path, num_threads, error.message);
    assert_true(t.calls > 1);
    assert_false(t.other_thread);
    assert_false(t.went_back);
    assert_string_equal(t.last_task, "Reading the profile");
    assert_true(t.done == t.total && t.total > 0);
    assert_true((info != NULL) == (debug_path != NULL));
    pl_operations_free(operations);
    pl_debug_info_free(info);
    pl_profile_free(profile);
    uint8_t *bytes = test_read_bytes(path, size);
    free(path);
    return bytes;
}

static void expect_same_bytes(const char *directory, const char *profile, const char *debug) {
    size_t first_size = 0;
    uint8_t *first = stored(directory, profile, debug, thread_counts[0], &first_size);
    for (size_t i = 1; i < NUM_THREAD_COUNTS; i++) {
        size_t size = 0;
        if (!test_takes_case(i, 6))
            continue;
        uint8_t *bytes = stored(directory, profile, debug, thread_counts[i], &size);
        if (size != first_size || memcmp(bytes, first, size) != 0)
            fail_msg("%s: other bytes with %zu threads", profile, thread_counts[i]);
        free(bytes);
    }
    free(first);
}

/* Expects the same failure for every number of threads, with these words in it. */
static void expect_same_error(const char *profile, const char *debug, popliner_status expected,
                              const char *words) {
    popliner_error first = {.message = ""};
    for (size_t i = 0; i < NUM_THREAD_COUNTS; i++) {
        if (!test_takes_case(i, 6))
            continue;
        popliner_error error = {.message = ""};
        popliner_profile *read = (popliner_profile *)&error;
        pl_debug_info *info = (pl_debug_info *)&error;
        told t = {.caller = pthread_self()};
        popliner_listener listener = {.user = &t, .message = on_message, .progress = on_progress};
        pl_read_options options = {.listener = &listener, .num_threads = thread_counts[i]};
        if (pl_read_files(profile, debug, &options, &read, &info, &error) != expected)
            fail_msg("not refused: %s", error.message);
        assert_null(read);
        assert_null(info);
        assert_false(t.other_thread);
        if (i == 0)
            first = error;
        assert_string_equal(error.message, first.message);
    }
    test_assert_sentence(first.message);
    if (strstr(first.message, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, first.message);
}

/* ---- Samples -------------------------------------------------------------------------------- */

static void *samples; /* the directory of the one that is copied */

/* A generated profile with enough rows for dozens of pieces. */
static int begin_samples(void **state) {
    int failed = test_begin_directory(&samples);
    (void)state;
    if (failed == 0)
        make_profile(samples, "--layers 4 --tiles 24 --training");
    return failed;
}

static int end_samples(void **state) {
    (void)state;
    return test_end_directory(&samples);
}

static char *copy_sample(const char *directory, const char *name) {
    char *from = test_path(samples, name);
    char *to = test_path(directory, name);
    size_t size;
    uint8_t *bytes = test_read_bytes(from, &size);
    test_write_bytes(to, bytes, size);
    free(bytes);
    free(from);
    return to;
}

static void make_sample(const char *directory, char **profile, char **debug) {
    *profile = copy_sample(directory, "profile.pop");
    *debug = copy_sample(directory, "debug.cbor");
}

/* Replaces a table by one of the same rows in the order of `order`. */
#define REMAKE(table, order)                                                                       \
    "CREATE TABLE remade AS SELECT * FROM " table " ORDER BY " order "; DROP TABLE " table         \
    "; ALTER TABLE remade RENAME TO " table ";"

/* ---- Tests ---------------------------------------------------------------------------------- */

static void check_golden_case(void *user, const test_golden_files *files) {
    const char *directory = user;
    expect_same_bytes(directory, files->profile, files->debug);
    expect_same_bytes(directory, files->profile, NULL);
}

static void golden_cases_are_the_same(void **state) {
    test_each_golden_case(check_golden_case, *state);
}

static void a_sample_is_the_same(void **state) {
    char *profile;
    char *debug;
    make_sample(*state, &profile, &debug);
    expect_same_bytes(*state, profile, debug);
    free(profile);
    free(debug);
}

/* Every way in which the table of variables can be other than a plain one gives the analysis that
 * the plain one gives. */
static void odd_tables_are_the_same(void **state) {
    static const char *const odd[] = {
        /* the numbers of the rows are not the ids of the variables */
        REMAKE("vars_info", "var_id"),
        /* they are far apart: first a little, then too much for arrays */
        REMAKE("vars_info", "var_id") "UPDATE vars_info SET rowid = rowid * 3 + 1000000",
        REMAKE("vars_info", "var_id") "UPDATE vars_info SET rowid = rowid * 1000000000",
        /* and below 0 */
        REMAKE("vars_info", "var_id") "UPDATE vars_info SET rowid = rowid - 1000000",
        /* no index leads to the exchanges */
        REMAKE("exchange_regions", "regions, var_id DESC"),
    };
    char *profile;
    char *debug;
    make_sample(*state, &profile, &debug);
    size_t plain_size = 0;
    uint8_t *plain = stored(*state, profile, debug, 1, &plain_size);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        if (!test_takes_case(i, 5))
            continue;
        free(profile);
        free(debug);
        make_sample(*state, &profile, &debug);
        test_alter(profile, odd[i]);
        size_t size = 0;
        uint8_t *bytes = stored(*state, profile, debug, 1, &size);
        if (size != plain_size || memcmp(bytes, plain, size) != 0)
            fail_msg("other bytes after %s", odd[i]);
        free(bytes);
        expect_same_bytes(*state, profile, debug);
    }
    free(plain);
    free(profile);
    free(debug);
}

/* Other analyses than that of the plain table, but the same for any number of threads. */
static void gaps_and_disorder_are_the_same(void **state) {
    static const char *const odd[] = {
        /* every third variable is missing, where no list names one */
        "DELETE FROM exchange_regions; UPDATE compute_sets SET var_ids_diff_rle = NULL;"
        "DELETE FROM vars_info WHERE var_id % 3 = 1",
        /* whole pieces are */
        "DELETE FROM exchange_regions; UPDATE compute_sets SET var_ids_diff_rle = NULL;"
        "DELETE FROM vars_info WHERE var_id BETWEEN 5000 AND 20000",
        /* tiles and ids in no order */
        REMAKE("vars_info", "size_bytes, var_id DESC"),
        /* some rows are not as most are: NULL where it may be, not allocated */
        REMAKE("vars_info", "var_id") "UPDATE vars_info SET bitset = 0 WHERE var_id % 7 = 0;"
                                      "UPDATE vars_info SET category = NULL WHERE var_id % 5 = 0;"
                                      "UPDATE vars_info SET offset = NULL WHERE var_id % 11 = 0",
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char *profile;
        if (!test_takes_case(i, 6))
            continue;
        char *debug;
        make_sample(*state, &profile, &debug);
        test_alter(profile, odd[i]);
        expect_same_bytes(*state, profile, debug);
        free(profile);
        free(debug);
    }
}

static void the_first_bad_row_is_told(void **state) {
    static const struct {
        const char *sql;
        const char *words;
    } bad[] = {
        {"UPDATE vars_info SET tile = 999 WHERE var_id IN (123, 9000, 17000, 33000)",
         "table vars_info, row 124: column tile is 999"},
        {"UPDATE vars_info SET size_bytes = 'x' WHERE var_id = 30000;"
         "UPDATE vars_info SET equivalence_class = 99999 WHERE var_id = 20000;"
         "UPDATE vars_info SET offset = -4 WHERE var_id = 25000",
         "table vars_info, row 20001: column equivalence_class is 99999"},
        /* what is missing before it counts */
        {"DELETE FROM vars_info WHERE var_id BETWEEN 10 AND 9999;"
         "UPDATE vars_info SET size_bytes = -1 WHERE var_id > 30000",
         "table vars_info, row 20012: column size_bytes is -1"},
        /* in the order by exchange and variable */
        {REMAKE("exchange_regions", "id, var_id")
             REMAKE("exchange_regions", "random()") "UPDATE exchange_regions SET var_id = 9999999 "
                                                    "WHERE id IN (SELECT max(id) FROM "
                                                    "exchange_regions)",
         ": column var_id is 9999999, which table vars_info does not have"},
        {REMAKE("exchange_regions", "id, var_id") "UPDATE exchange_regions SET id = NULL "
                                                  "WHERE rowid = 40",
         "table exchange_regions, row 1: column id is NULL"},
        {REMAKE("exchange_regions", "id, var_id") "UPDATE exchange_regions SET id = 'last' "
                                                  "WHERE rowid = 40",
         ": column id is not a whole number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *profile;
        char *debug;
        if (!test_takes_case(i, 6))
            continue;
        make_sample(*state, &profile, &debug);
        test_alter(profile, bad[i].sql);
        expect_same_error(profile, debug, POPLINER_ERROR_INPUT, bad[i].words);
        free(profile);
        free(debug);
    }
}

static void overwrite(const char *path, long at, size_t count) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    for (size_t i = 0; i < count; i++)
        fputc(0xff, file);
    assert_int_equal(fclose(file), 0);
}

static void damage_is_told_alike(void **state) {
    char *profile;
    char *debug;
    make_sample(*state, &profile, &debug);
    sqlite3 *sqlite = NULL;
    sqlite3_stmt *statement = NULL;
    long pages[3] = {0};
    /* leaves of the table, if SQLite was built to tell where they are; else any pages */
    assert_int_equal(sqlite3_open_v2(profile, &sqlite, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (int i = 0; i < 3; i++)
        pages[i] = 100 + 150 * i;
    if (sqlite3_prepare_v2(sqlite,
                           "SELECT pageno FROM dbstat WHERE name = 'vars_info' AND pagetype = "
                           "'leaf' ORDER BY path LIMIT 3 OFFSET 100",
                           -1, &statement, NULL) == SQLITE_OK) {
        for (int i = 0; i < 3 && sqlite3_step(statement) == SQLITE_ROW; i++)
            pages[i] = (long)sqlite3_column_int64(statement, 0) - 1;
    }
    sqlite3_finalize(statement);
    sqlite3_close(sqlite);
    for (int i = 0; i < 3; i++)
        overwrite(profile, pages[i] * 4096, 4096);
    expect_same_error(profile, debug, POPLINER_ERROR_INPUT, "profile.pop");
    free(profile);
    free(debug);
}

static void errors_of_the_debug_information_come_second(void **state) {
    char *profile;
    char *debug;
    make_sample(*state, &profile, &debug);
    test_write_bytes(debug, "no CBOR", 7);
    expect_same_error(profile, debug, POPLINER_ERROR_INPUT, "debug.cbor: is not debug information");
    test_alter(profile, "UPDATE vars_info SET tile = 999 WHERE var_id = 123");
    expect_same_error(profile, debug, POPLINER_ERROR_INPUT, "table vars_info, row 124");
    free(profile);
    free(debug);
}

static void warnings_of_the_debug_information_are_told(void **state) {
    char *profile;
    char *debug;
    make_sample(*state, &profile, &debug);
    size_t size = 0;
    uint8_t *bytes = test_read_bytes(debug, &size);
    test_write_bytes(debug, bytes, size / 2);
    free(bytes);
    for (size_t i = 0; i < NUM_THREAD_COUNTS; i++) {
        if (!test_takes_case(i, 3))
            continue;
        popliner_error error = {.message = ""};
        popliner_profile *read = NULL;
        pl_debug_info *info = NULL;
        test_told t;
        popliner_listener listener = test_listen(&t);
        pl_read_options options = {.listener = &listener, .num_threads = thread_counts[i]};
        assert_int_equal(pl_read_files(profile, debug, &options, &read, &info, &error),
                         POPLINER_OK);
        assert_int_equal(t.messages[POPLINER_LEVEL_WARNING], 1);
        assert_non_null(strstr(t.last[POPLINER_LEVEL_WARNING], "was cut off"));
        assert_true(info->truncated);
        pl_debug_info_free(info);
        pl_profile_free(read);
    }
    free(profile);
    free(debug);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(golden_cases_are_the_same),
        IN_DIRECTORY(a_sample_is_the_same),
        IN_DIRECTORY(odd_tables_are_the_same),
        IN_DIRECTORY(gaps_and_disorder_are_the_same),
        IN_DIRECTORY(the_first_bad_row_is_told),
        IN_DIRECTORY(damage_is_told_alike),
        IN_DIRECTORY(errors_of_the_debug_information_come_second),
        IN_DIRECTORY(warnings_of_the_debug_information_are_told),
    };
    return cmocka_run_group_tests(tests, begin_samples, end_samples);
}
