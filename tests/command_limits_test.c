/* What a run may take in time and memory, and what it says when that is not enough.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "profile/blob_codec.h"
#include "test_sql.h"

#define SAMPLE PROJECT_DIRECTORY "/data/sample/profile.pop"

enum { NUM_SETS = 20000, MOST_SECONDS = 60 };

static command_run run;

/* A small profile whose compute sets name every variable: it takes long, and much memory. */
static const char *write_large_profile(void) {
    const char *path = in_scratch("profile.pop");
    pl_blob all = {0};
    char sql[1000];
    char digits[100] = "";
    copy_file(SAMPLE, path, SIZE_MAX);
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    uint64_t first = test_ask(sqlite, "SELECT min(var_id) FROM vars_info");
    uint64_t count = test_ask(sqlite, "SELECT count(*) FROM vars_info");
    sqlite3_close(sqlite);
    pl_varint_write(&all, 3); /* one literal, then a repeated difference */
    pl_varint_write(&all, first);
    pl_varint_write(&all, 2 * (count - 1));
    pl_varint_write(&all, 1);
    for (size_t i = 0; i < all.size; i++)
        snprintf(digits + 2 * i, sizeof digits - 2 * i, "%02x", all.data[i]);
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) "
             "INSERT INTO compute_sets (compute_set, name, vertex_types, vertex_counts, "
             "var_ids_diff_rle) SELECT 1000000 + i, '', x'', x'', x'%s' FROM n",
             NUM_SETS, digits);
    test_alter(path, sql);
    free(all.data);
    return path;
}

/* The run was refused with the two words, one after the other, or with a number of rows between
 * them if a table was open: "was stopped after 3 rows: --time-limit ...". */
static void assert_stopped(const char *first, const char *second) {
    size_t num_rows;
    int length = 0;
    assert_refused(&run, 1, first);
    const char *rest = strstr(run.err, first) + strlen(first);
    if (sscanf(rest, " after %zu rows%n", &num_rows, &length) == 1)
        rest += length;
    if (strncmp(rest, second, strlen(second)) != 0)
        fail_msg("'%s' does not begin with '%s'", rest, second);
}

static void reading_has_a_limit_of_time(void **state) {
    (void)state;
    const char *path = write_large_profile();
    time_t start = time(NULL);
    RUN(&run, path, "-q", "--memory-totals", "--time-limit", "0.2");
    assert_stopped("was stopped", ": --time-limit, 0.2 s, is over; give it more time");
    assert_contains(run.err, path);
    assert_true(time(NULL) - start < MOST_SECONDS);
    RUN(&run, SAMPLE, "-q", "--memory-totals", "--time-limit", "600");
    assert_int_equal(run.status, 0);
}

/* Limits that were made for the solver alone are short; it is to have something to solve. */
static void a_short_limit_still_has_an_answer(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "--solve", "--num-ipus", "2", "--time-limit", "0.000001");
    assert_int_equal(run.status, 1);
    assert_contains(run.out, "No answer: stopped after");
}

/* Nobody writes into the pipe. The library does not ask there; the run ends nevertheless. */
static void waiting_has_a_limit_of_time(void **state) {
    (void)state;
    if (!test_takes_all())
        return; /* it waits for seven seconds */
    const char *path = in_scratch("costs.csv");
    assert_int_equal(mkfifo(path, 0600), 0);
    time_t start = time(NULL);
    RUN(&run, path, "-q", "--solve", "--time-limit", "0.1");
    assert_refused(&run, 1, "--time-limit: the work was not done after 5 s; give it more time");
    assert_true(time(NULL) - start < MOST_SECONDS);
}

static void claims_have_a_limit_of_memory(void **state) {
    (void)state;
    const char *path = write_large_profile();
    RUN(&run, path, "-q", "--memory-totals", "--max-memory", "32M");
    assert_refused(&run, 4, "; --max-memory allows 32000000 bytes");
    RUN(&run, SAMPLE, "-q", "--memory-totals", "--max-memory", "2G");
    assert_int_equal(run.status, 0);
    RUN(&run, SAMPLE, "-q", "--memory-totals", "--max-memory", "0");
    assert_refused(&run, 2, "--max-memory 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(reading_has_a_limit_of_time),
        SCRATCH_TEST(a_short_limit_still_has_an_answer),
        SCRATCH_TEST(waiting_has_a_limit_of_time),
        SCRATCH_TEST(claims_have_a_limit_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
