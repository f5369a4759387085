/* A small profile that claims to be large must not take much memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bounds.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "test_sql.h"

#define SAMPLE PROJECT_DIRECTORY "/data/sample/profile.pop"

/* Reads a copy of the sample after the statements, within so many bytes. */
static popliner_status read_altered(const char *directory, const char *sql, uint64_t max_bytes,
                                    popliner_profile **profile, popliner_error *error) {
    pl_bounds bounds = {.max_bytes = max_bytes};
    const pl_read_options options = {.bounds = &bounds};
    char *path = test_altered_copy(SAMPLE, directory, sql);
    *error = (popliner_error){0};
    popliner_status status = pl_read_files(path, NULL, &options, profile, NULL, error);
    if (status != POPLINER_OK) {
        test_assert_sentence(error->message);
        assert_non_null(strstr(error->message, path));
    }
    free(path);
    return status;
}

static void tiles(void **state) {
    popliner_error error;
    popliner_profile *profile = NULL;
    assert_int_equal(read_altered(*state,
                                  "UPDATE target_info SET num_tiles = 16000000,"
                                  " tiles_per_ipu = 16000000",
                                  0, &profile, &error),
                     POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, "has 16000000 tiles, too many for a file of"));
    assert_null(profile);
}

/* A run of a few bytes names all variables, in each of many compute sets. */
static void variables_of_compute_sets(void **state) {
    enum { NUM_SETS = 5000, LIMIT = 32 << 20 };
    popliner_error error;
    popliner_profile *profile = NULL;
    pl_blob all = {0};
    pl_text sql = {0};
    sqlite3 *sqlite = test_open_sql(SAMPLE, SQLITE_OPEN_READONLY);
    uint64_t first = test_ask(sqlite, "SELECT min(var_id) FROM vars_info");
    uint64_t count = test_ask(sqlite, "SELECT count(*) FROM vars_info");
    assert_int_equal(test_ask(sqlite, "SELECT max(var_id) FROM vars_info"), first + count - 1);
    sqlite3_close(sqlite);
    pl_varint_write(&all, 3); /* one literal, then a repeated difference */
    pl_varint_write(&all, first);
    pl_varint_write(&all, 2 * (count - 1));
    pl_varint_write(&all, 1);
    pl_text_add(&sql, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) "
                      "INSERT INTO compute_sets (compute_set, name, vertex_types, vertex_counts, "
                      "var_ids_diff_rle) SELECT 1000000 + i, '', x'', x'', x'");
    for (size_t i = 0; i < all.size; i++)
        pl_text_format(&sql, "%02x", all.data[i]);
    pl_text_add(&sql, "' FROM n");
    assert_true(NUM_SETS * count * sizeof(uint32_t) > 2 * LIMIT);
    assert_int_equal(read_altered(*state, sql.data, LIMIT, &profile, &error),
                     POPLINER_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "of memory for the variables of compute sets, but there "
                                          "are 32 MiB"));
    assert_null(profile);
    /* it is not refused where there is room */
    assert_int_equal(read_altered(*state, sql.data, (uint64_t)1 << 40, &profile, &error),
                     POPLINER_OK);
    assert_true(profile->num_list_variables > NUM_SETS * count);
    pl_profile_free(profile);
    free(all.data);
    free(sql.data);
}

/* One row of a host exchange for each of many streams, and as many programs that all are of it. */
static void host_exchanges(void **state) {
    enum { NUM_ROWS = 3000, LIMIT = 32 << 20 };
    popliner_error error;
    popliner_profile *profile = NULL;
    assert_true((uint64_t)NUM_ROWS * NUM_ROWS * sizeof(uint32_t) > LIMIT);
    assert_int_equal(
        read_altered(*state,
                     "PRAGMA foreign_keys = OFF;"
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) "
                     "INSERT INTO host_exchange_from_host SELECT h.stream_copy_mid_id, h.stream,"
                     " h.regions, 0, h.regions_id FROM n, (SELECT * FROM host_exchange_from_host"
                     " WHERE regions_id IS NOT NULL LIMIT 1) h;"
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) "
                     "INSERT INTO programs (compilation_step_id, id, variant, variant_index, name)"
                     " SELECT 0, 1000000 + i, (SELECT id FROM program_types WHERE name ="
                     " 'StreamCopyMid'), (SELECT stream_copy_mid_id FROM host_exchange_from_host"
                     " WHERE regions_id IS NOT NULL LIMIT 1), '' FROM n",
                     LIMIT, &profile, &error),
        POPLINER_ERROR_MEMORY);
    assert_non_null(strstr(error.message, "of memory for the host exchanges of programs, but"));
    assert_null(profile);
}

/* Ranges of one class in any order, as many as fit into some megabytes. */
static void live_ranges(void **state) {
    enum { NUM_RANGES = 200000, MOST_SECONDS = 30 };
    popliner_error error;
    popliner_profile *profile = NULL;
    char sql[500];
    snprintf(sql, sizeof sql,
             "DELETE FROM eq_class_step WHERE eq_class_id = (SELECT min(id) FROM eq_classes); "
             "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT %d) "
             "INSERT INTO eq_class_step SELECT (SELECT min(id) FROM eq_classes), "
             "600 - i * 2 %% 600, 601 - i * 2 %% 600 FROM n",
             NUM_RANGES);
    clock_t start = clock();
    assert_int_equal(read_altered(*state, sql, 0, &profile, &error), POPLINER_OK);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < (double)MOST_SECONDS);
    for (uint32_t i = profile->class_ranges_start[0] + 1; i < profile->class_ranges_start[1]; i++)
        assert_true(profile->range_first_step[i] > profile->range_end_step[i - 1]);
    /* every second step from 2 to 600 */
    assert_int_equal(profile->class_ranges_start[1] - profile->class_ranges_start[0], 300);
    pl_profile_free(profile);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(tiles),
        IN_DIRECTORY(variables_of_compute_sets),
        IN_DIRECTORY(host_exchanges),
        IN_DIRECTORY(live_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
