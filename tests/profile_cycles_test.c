/* Cycles of programs and repeats: against the tables read otherwise, and from executions made by
 * hand, since no real file with one is known.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"
#include "test_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* ---- Estimates ------------------------------------------------------------------------------ */

/* A second decoder: every number of a blob of varints. Returns how many. */
static size_t decode(const uint8_t *bytes, size_t size, uint64_t *values) {
    size_t count = 0;
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value = value * 128 + (bytes[i] & 127);
        if (bytes[i] & 128) {
            values[count++] = value;
            value = 0;
        }
    }
    return count;
}

/* The largest number that an RLE blob of so many varints stands for. */
static uint64_t largest_of_runs(const uint64_t *values, size_t count) {
    uint64_t largest = 0;
    for (size_t i = 0; i < count;) {
        uint64_t header = values[i++];
        for (uint64_t k = header % 2 == 1 ? header / 2 : 1; k > 0; k--, i++)
            largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
}

enum { MOST_NUMBERS = 10000 };

/* The cycles of the slowest tile in one row of compilation_cycles_by_tile. */
static uint64_t slowest_tile(sqlite3 *sqlite, uint64_t id) {
    static uint64_t values[MOST_NUMBERS];
    sqlite3_stmt *select = test_query(
        sqlite, "SELECT cycles_by_tile_rle FROM compilation_cycles_by_tile WHERE id = ?");
    sqlite3_bind_int64(select, 1, (sqlite3_int64)id);
    assert_int_equal(sqlite3_step(select), SQLITE_ROW);
    size_t size = (size_t)sqlite3_column_bytes(select, 0);
    assert_true(size < MOST_NUMBERS);
    uint64_t largest =
        largest_of_runs(values, decode(sqlite3_column_blob(select, 0), size, values));
    sqlite3_finalize(select);
    return largest;
}

/* Every program's row of its type's own table, joined by name. */
static const char all_programs[] =
    "SELECT t.name, r.repeat_count, coalesce(c.cycles_by_tile_ids, d.cycles_by_tile_ids, "
    "  s.estimated_cycles_by_tile_ids)"
    " FROM programs p JOIN program_types t ON t.id = p.variant"
    " LEFT JOIN program_type_repeat r ON t.name = 'Repeat' AND r.id = p.variant_index"
    " LEFT JOIN program_type_on_tile_execute e"
    "   ON t.name = 'OnTileExecute' AND e.id = p.variant_index"
    " LEFT JOIN compute_sets c ON c.compute_set = e.compute_set"
    " LEFT JOIN program_type_do_exchange d ON t.name = 'DoExchange' AND d.id = p.variant_index"
    " LEFT JOIN program_type_stream_copy_mid s"
    "   ON t.name = 'StreamCopyMid' AND s.id = p.variant_index"
    " ORDER BY p.rowid";

static popliner_cycles_source cycles_source_of(const popliner_profile *profile) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    assert_int_equal(popliner_profile_get_info(profile, &info, NULL), POPLINER_OK);
    return info.cycles_source;
}

/* Compares all programs of a file; returns how many have an estimate. */
static size_t check_estimates(const char *path) {
    popliner_profile *p;
    popliner_error error = {.message = ""};
    if (pl_read_files(path, NULL, NULL, &p, NULL, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    sqlite3_stmt *select = test_query(sqlite, all_programs);
    assert_int_equal(p->num_timed_programs, p->num_programs);
    size_t num_estimated = 0;
    popliner_cycles_source source = POPLINER_CYCLES_EXCHANGES;
    for (size_t i = 0; i < p->num_programs; i++) {
        assert_int_equal(sqlite3_step(select), SQLITE_ROW);
        bool is_known = sqlite3_column_type(select, 2) != SQLITE_NULL;
        bool repeats = sqlite3_column_type(select, 1) != SQLITE_NULL;
        uint64_t ids[16];
        uint64_t expected = 0;
        size_t count =
            decode(sqlite3_column_blob(select, 2), (size_t)sqlite3_column_bytes(select, 2), ids);
        for (size_t k = 0; k < count; k++) {
            uint64_t cycles = slowest_tile(sqlite, ids[k]);
            expected = cycles > expected ? cycles : expected;
        }
        assert_int_equal(p->program_cycles[i], expected);
        assert_int_equal(p->program_cycles_source[i],
                         is_known ? POPLINER_CYCLES_ESTIMATED : POPLINER_CYCLES_NONE);
        assert_int_equal(p->program_repeats[i], repeats ? sqlite3_column_int64(select, 1) : 1);
        num_estimated += is_known;
        if (is_known && strcmp((const char *)sqlite3_column_text(select, 0), "OnTileExecute") == 0)
            source = POPLINER_CYCLES_ESTIMATED;
    }
    assert_int_equal(sqlite3_step(select), SQLITE_DONE);
    assert_int_equal(cycles_source_of(p), source);
    sqlite3_finalize(select);
    sqlite3_close(sqlite);
    pl_profile_free(p);
    return num_estimated;
}

static void check_golden_profile(void *user, const test_golden_files *files) {
    (void)user;
    assert_true(check_estimates(files->profile) > 50);
}

static void reads_the_estimates_of_golden_profiles(void **state) {
    (void)state;
    test_each_golden_case(check_golden_profile, NULL);
}

/* In the sample the compute sets also have estimates. */
static void reads_the_estimates_of_the_sample(void **state) {
    (void)state;
    assert_true(check_estimates(PROJECT_DIRECTORY "/data/sample/profile.pop") > 500);
}

static void reads_the_estimates_of_the_real_profile(void **state) {
    (void)state;
    char *path = test_firehose_file("profile.pop");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    assert_int_equal(check_estimates(path), 21); /* 7 + 14 exchanges and host copies */
    free(path);
}

/* ---- Executions ----------------------------------------------------------------------------- */

/* A copy of the smallest golden profile on which `sql` was run; the caller frees its path. */
static char *alter(void **state, const char *sql) {
    char *from = test_golden_file("popart-inf", "profile.pop");
    if (from == NULL)
        test_skip("its data is in ../shared alone");
    char *path = test_altered_copy(from, *state, sql);
    free(from);
    return path;
}

/* Reads such a copy. */
static popliner_profile *read_altered(void **state, const char *sql,
                                      const popliner_listener *listener) {
    char *path = alter(state, sql);
    popliner_profile *profile;
    popliner_error error = {.message = ""};
    const pl_read_options options = {.listener = listener};
    if (pl_read_files(path, NULL, &options, &profile, NULL, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    free(path);
    return profile;
}

#define STEP "INSERT INTO steps(id, type, program) VALUES "
#define ON_IPU                                                                                     \
    "INSERT INTO steps_by_ipu(step_id, ipu, cycles, cycles_base, active_cycles_from_max, "         \
    "active_cycles_from_mean, active_cycles_from_min, active_cycles_to_max, "                      \
    "active_cycles_to_mean, active_cycles_to_min, all_cycles_to_max, all_cycles_to_mean, "         \
    "all_cycles_to_min, active_tiles, active_tile_balance, tile_balance) SELECT column1, "         \
    "column2, column3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM (VALUES "

static void prefers_what_was_measured(void **state) {
    test_told told;
    popliner_listener listener = test_listen(&told);
    /* program 20 ran three times, the second time on two IPUs; 21 once, 22 for no time; a sync
     * of no program comes between */
    popliner_profile *p = read_altered(state,
                                       STEP "(5, 'a', 20), (6, 'a', 21), (7, 'a', 20), "
                                            "(8, 'sync', NULL), (9, 'a', 20), (12, 'a', 22);" ON_IPU
                                            "(5, 0, 100), (6, 0, 7), (7, 0, 30), (7, 1, 201), "
                                            "(8, 0, 1000), (9, 0, 100), (12, 0, 0));",
                                       &listener);
    assert_int_equal(cycles_source_of(p), POPLINER_CYCLES_MEASURED);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 0);
    for (size_t i = 0; i < p->num_programs; i++) {
        uint64_t cycles = i == 20 ? 134 : i == 21 ? 7 : 0; /* 401 / 3 */
        assert_int_equal(p->program_cycles[i], cycles);
        assert_int_equal(p->program_cycles_source[i],
                         i >= 20 && i <= 22 ? POPLINER_CYCLES_MEASURED : POPLINER_CYCLES_NONE);
    }
    pl_profile_free(p);
}

static void leaves_out_steps_that_make_no_sense(void **state) {
    test_told told;
    popliner_listener listener = test_listen(&told);
    popliner_profile *p =
        read_altered(state,
                     STEP "(1, 'a', 20), (2, 'a', 100000), (3, 'a', 'x'), (4, 'a', 20);" ON_IPU
                          "(1, 0, 50), (2, 0, 7), (4, 0, -3), (77, 0, 5));",
                     &listener);
    assert_int_equal(p->program_cycles[20], 50);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "3 executed steps"));
    pl_profile_free(p);
}

static void keeps_estimates_while_nothing_ran(void **state) {
    static const char *const nothing[] = {STEP "(1, 'a', 20)", ON_IPU "(1, 0, 50))",
                                          STEP "(1, 'a', NULL);" ON_IPU "(1, 0, 50))",
                                          "DROP TABLE steps_by_ipu;" STEP "(1, 'a', 20)"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        popliner_profile *p = read_altered(state, nothing[i], NULL);
        assert_int_equal(cycles_source_of(p), POPLINER_CYCLES_EXCHANGES);
        pl_profile_free(p);
    }
}

static void knows_nothing_without_estimates(void **state) {
    static const char *const ways[] = {
        "DELETE FROM compilation_cycles_by_tile", "DROP TABLE compilation_cycles_by_tile",
        "UPDATE compilation_cycles_by_tile SET cycles_by_tile_rle = NULL",
        ("UPDATE program_type_do_exchange SET cycles_by_tile_ids = NULL;"
         "UPDATE program_type_stream_copy_mid SET estimated_cycles_by_tile_ids = x''")};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        popliner_profile *p = read_altered(state, ways[i], NULL);
        assert_int_equal(p->num_timed_programs, 0);
        assert_int_equal(cycles_source_of(p), POPLINER_CYCLES_NONE);
        pl_profile_free(p);
    }
}

static void knows_no_count_of_a_repeat_that_does_not_tell(void **state) {
    popliner_profile *p =
        read_altered(state, "UPDATE program_type_repeat SET repeat_count = NULL", NULL);
    for (size_t i = 0; i < p->num_programs; i++)
        assert_int_equal(p->program_repeats[i], 1);
    pl_profile_free(p);
}

/* An exchange between IPUs and a copy of code, instead of two exchanges; of two IPUs the slower one
 * counts, and an id that is not there tells nothing. */
static void reads_the_estimates_of_other_programs(void **state) {
    popliner_profile *p = read_altered(
        state,
        "INSERT INTO program_types VALUES (112, 'GlobalExchange', 'x'), (113, 'CodeCopy', 'y');"
        "INSERT INTO compilation_cycles_by_tile VALUES (2000, x'a085'), (2001, x'a08a');"
        "INSERT INTO program_type_global_exchange(id, bytes_received_by_tile_rle, "
        "  bytes_sent_by_tile_rle, bytes_received_by_ipu_rle, bytes_sent_by_ipu_rle, "
        "  max_data_sent_and_received_by_ipu_rle, estimated_cycles_by_tile_ids, sync_type)"
        "  VALUES (7, x'', x'', x'', x'', x'', x'0fd10fd00fd2', '');"
        "INSERT INTO program_type_code_copy(id, cycles_by_tile_ids) VALUES (8, x'0fd0');"
        "UPDATE programs SET variant = 112, variant_index = 7 WHERE id = 20;"
        "UPDATE programs SET variant = 113, variant_index = 8 WHERE id = 21",
        NULL);
    assert_int_equal(p->program_cycles[20], 10);
    assert_int_equal(p->program_cycles[21], 5);
    pl_profile_free(p);
}

static void refuses_damaged_estimates(void **state) {
    static const char *const damages[][2] = {
        {"UPDATE compilation_cycles_by_tile SET cycles_by_tile_rle = x'a0' WHERE id = 3",
         "cycles_by_tile_rle"},
        {"UPDATE program_type_do_exchange SET cycles_by_tile_ids = x'01' WHERE id = 3",
         "cycles_by_tile_ids"},
        {"UPDATE program_type_stream_copy_mid SET estimated_cycles_by_tile_ids = x'01'",
         "estimated_cycles_by_tile_ids"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char *path = alter(state, damages[i][0]);
        popliner_profile *p;
        popliner_error error = {.message = ""};
        assert_int_equal(pl_read_files(path, NULL, NULL, &p, NULL, &error), POPLINER_ERROR_INPUT);
        test_assert_sentence(error.message);
        assert_non_null(strstr(error.message, damages[i][1]));
        free(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_estimates_of_golden_profiles),
        cmocka_unit_test(reads_the_estimates_of_the_sample),
        cmocka_unit_test(reads_the_estimates_of_the_real_profile),
        IN_DIRECTORY(prefers_what_was_measured),
        IN_DIRECTORY(leaves_out_steps_that_make_no_sense),
        IN_DIRECTORY(keeps_estimates_while_nothing_ran),
        IN_DIRECTORY(reads_the_estimates_of_other_programs),
        IN_DIRECTORY(refuses_damaged_estimates),
        IN_DIRECTORY(knows_nothing_without_estimates),
        IN_DIRECTORY(knows_no_count_of_a_repeat_that_does_not_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
