/* Bounds of work: when it ends, in which threads, and how much memory is counted.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/threads.h"
#include "popliner/analysis.h"
#include "profile/database.h"

/* Answers, and notes who asks. */
typedef struct asking {
    pthread_t caller;
    double wants_end_seconds; /* on the clock; before it the answer is no */
    int num_questions;
    bool wrong_thread;
} asking;

static bool should_stop(void *user) {
    asking *a = user;
    a->num_questions++;
    if (!pthread_equal(pthread_self(), a->caller))
        a->wrong_thread = true;
    return pl_clock_seconds() >= a->wants_end_seconds;
}

static asking ask_in(double seconds) {
    return (asking){.caller = pthread_self(), .wants_end_seconds = pl_clock_seconds() + seconds};
}

static void asks_now_and_then(void **state) {
    (void)state;
    asking a = ask_in(0.2);
    pl_bounds bounds = {.should_stop = should_stop, .user = &a};
    double start = pl_clock_seconds();
    assert_false(pl_bounds_are_over(&bounds));
    while (!pl_bounds_ask(&bounds))
        assert_true(pl_clock_seconds() - start < 60);
    assert_true(pl_clock_seconds() - start >= 0.2);
    assert_in_range(a.num_questions, 2, 12);
    assert_true(pl_bounds_are_over(&bounds));
    assert_true(pl_bounds_ask(&bounds)); /* it stays so, without another question */
    int num_questions = a.num_questions;
    assert_true(pl_bounds_ask(&bounds));
    assert_int_equal(a.num_questions, num_questions);
    /* until another call begins */
    a.wants_end_seconds += 1000;
    pl_bounds_begin(&bounds);
    assert_false(pl_bounds_are_over(&bounds));
    assert_false(pl_bounds_ask(&bounds));
    assert_int_equal(a.num_questions, num_questions + 1);
}

static void has_no_bounds_unless_told(void **state) {
    (void)state;
    pl_bounds bounds = {0};
    assert_false(pl_bounds_ask(NULL));
    assert_false(pl_bounds_ask(&bounds));
    assert_false(pl_bounds_are_over(NULL));
    assert_int_equal(pl_bounds_take(NULL, "x", "it", 10, 10, NULL), POPLINER_OK);
    assert_int_equal(pl_bounds_take(&bounds, "x", "it", 10, 10, NULL), POPLINER_OK);
    assert_int_equal(pl_bounds_take(&bounds, "x", "it", UINT64_MAX, 10, NULL),
                     POPLINER_ERROR_MEMORY);
}

static void counts_memory(void **state) {
    (void)state;
    popliner_error error = {0};
    pl_bounds bounds = {.max_bytes = 100 << 20};
    assert_int_equal(pl_bounds_take(&bounds, "a.pop", "the tiles", 1 << 20, 60, &error),
                     POPLINER_OK);
    assert_int_equal(pl_bounds_take(&bounds, "a.pop", "the steps", 1 << 20, 41, &error),
                     POPLINER_ERROR_MEMORY);
    assert_int_equal(error.status, POPLINER_ERROR_MEMORY);
    assert_string_equal(error.message, "a.pop: needs about 42 MiB of memory for the steps, but "
                                       "there are 100 MiB, 60 of them taken");
    /* what was refused does not count */
    assert_int_equal(pl_bounds_take(&bounds, "a.pop", "the steps", 1 << 20, 40, &error),
                     POPLINER_OK);
    assert_int_equal(pl_bounds_take(&bounds, "a.pop", "one byte", 1, 1, &error),
                     POPLINER_ERROR_MEMORY);
    assert_int_equal(pl_bounds_take(&bounds, "a.pop", "all", UINT64_MAX / 2, 4, &error),
                     POPLINER_ERROR_MEMORY);
}

/* ---- several threads ---- */

typedef struct slow_work {
    pl_bounds *bounds;
    bool is_slow_for_helpers; /* or for the calling thread */
} slow_work;

static bool work_slowly(void *user, size_t worker, size_t i) {
    const slow_work *w = user;
    const struct timespec pause = {0, 2000000};
    (void)i;
    double start = pl_clock_seconds();
    /* a helper's only task, which looks up now and then */
    while ((worker > 0) == w->is_slow_for_helpers && !pl_bounds_are_over(w->bounds) &&
           pl_clock_seconds() - start < 60)
        nanosleep(&pause, NULL);
    nanosleep(&pause, NULL);
    return true;
}

/* The calling thread asks, also while it only waits, and the others hear of it. */
static void ends_the_work_of_all_threads(void **state) {
    (void)state;
    for (size_t num_threads = 1; num_threads < 5; num_threads++) {
        if (!test_takes_case(num_threads, 2))
            continue;
        asking a = ask_in(0.1);
        pl_bounds bounds = {.should_stop = should_stop, .user = &a};
        slow_work w = {&bounds, true};
        pl_parallel work = {.num_threads = num_threads,
                            .count = 1000000,
                            .task = work_slowly,
                            .user = &w,
                            .bounds = &bounds};
        double start = pl_clock_seconds();
        assert_true(pl_parallel_run(&work) < 1000000);
        assert_true(pl_clock_seconds() - start < 30);
        assert_true(pl_bounds_are_over(&bounds));
        assert_false(a.wrong_thread);
        /* all tasks begun, the helpers at work: the calling thread has nothing but to wait */
        pl_bounds_begin(&bounds);
        a.wants_end_seconds = pl_clock_seconds() + 0.1;
        work.count = num_threads;
        start = pl_clock_seconds();
        pl_parallel_run(&work);
        assert_true(pl_clock_seconds() - start < 30);
        assert_false(a.wrong_thread);
    }
}

/* ---- the database ---- */

static void take_nothing(void *user, pl_rows *rows) {
    (void)user;
    (void)rows;
}

static void ends_an_endless_query(void **state) {
    char *path = test_path(*state, "x.pop");
    static const pl_table table = {.name = "t", .columns = {{.name = "n"}}};
    asking a = ask_in(0.1);
    pl_bounds bounds = {.should_stop = should_stop, .user = &a};
    popliner_error error = {0};
    pl_database database = {0};
    sqlite3 *sqlite;
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(sqlite, "CREATE TABLE t (n); INSERT INTO t VALUES (1)", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(sqlite);
    assert_int_equal(pl_database_open(&database, path, &error), POPLINER_OK);
    pl_database_bind(&database, &bounds);
    pl_rows rows = {.database = &database, .table = &table};
    double start = pl_clock_seconds();
    pl_rows_each(&rows,
                 "CROSS JOIN (WITH RECURSIVE r(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM r) "
                 "SELECT k FROM r)",
                 take_nothing, NULL);
    assert_int_equal(database.outcome.status, POPLINER_ERROR_STOPPED);
    assert_true(pl_clock_seconds() - start < 30);
    assert_non_null(strstr(error.message, ": reading table t, row "));
    assert_non_null(strstr(error.message, ", was stopped"));
    assert_non_null(strstr(error.message, path));
    pl_database_close(&database);
    free(path);
}

/* ---- an analysis ---- */

/* Stops at the n-th question. */
typedef struct countdown {
    int left;
    bool once;
} countdown;

static bool stop_at_zero(void *user) {
    countdown *c = user;
    c->left -= c->left >= 0;
    return c->left == 0 || (c->left < 0 && !c->once);
}

/* Whatever the question at which it ends, nothing is lost, and the same call works afterwards. */
static void ends_reading_and_what_comes_after(void **state) {
    (void)state;
    for (int is_once = 0; is_once < 2; is_once++) {
        for (int n = 1; n < 40; n++) {
            if (!test_takes_case((size_t)n - 1, 5))
                continue;
            countdown c = {n, is_once == 1};
            popliner_error error = {0};
            popliner_analysis *analysis = NULL;
            popliner_certificate *answer = NULL;
            popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
            options.should_stop = stop_at_zero;
            options.should_stop_user = &c;
            popliner_status status = popliner_analysis_read(PROJECT_DIRECTORY "/data/sample", NULL,
                                                            &options, &analysis, &error);
            if (status == POPLINER_OK)
                status = popliner_analysis_solve(analysis, NULL, &answer, &error);
            assert_true(status == POPLINER_OK || status == POPLINER_ERROR_STOPPED);
            if (n == 1) {
                assert_int_equal(status, POPLINER_ERROR_STOPPED);
                assert_null(analysis);
                assert_non_null(strstr(error.message, "stopped"));
            }
            if (status == POPLINER_ERROR_STOPPED && analysis != NULL) {
                c = (countdown){-1, true};
                assert_int_equal(popliner_analysis_solve(analysis, NULL, &answer, &error),
                                 POPLINER_OK);
            }
            popliner_certificate_free(answer);
            popliner_analysis_free(analysis);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_now_and_then), cmocka_unit_test(has_no_bounds_unless_told),
        cmocka_unit_test(counts_memory),     cmocka_unit_test(ends_the_work_of_all_threads),
        IN_DIRECTORY(ends_an_endless_query), cmocka_unit_test(ends_reading_and_what_comes_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
