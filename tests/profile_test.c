/* Reading profiles: the golden ones, altered copies of one of them, and damaged bytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"
#include "test_sql.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>
#include <sqlite3.h>

#include "popliner/profile.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* The smallest golden profile: 16 tiles, 323 steps. What is altered is a copy of it. */
static const char small_case[] = "popart-inf";

/* ---- Copies and expectations ---------------------------------------------------------------- */

/* A copy of the small profile in the test's directory, or NULL when there is none to copy. */
static char *copy_profile(const char *directory) {
    char *from = test_golden_file(small_case, "profile.pop");
    if (from == NULL)
        return NULL;
    size_t size;
    uint8_t *bytes = test_read_bytes(from, &size);
    char *path = test_path(directory, "profile.pop");
    test_write_bytes(path, bytes, size);
    free(bytes);
    free(from);
    return path;
}

/* A copy on which `sql` was run; NULL when there is none. */
static char *altered(const char *directory, const char *sql) {
    char *path = copy_profile(directory);
    if (path != NULL)
        test_alter(path, sql);
    return path;
}

/* Replaces a table by one of the same rows that has no constraints, so that anything fits in. */
#define RELAX(table)                                                                               \
    "CREATE TABLE relaxed AS SELECT * FROM " table "; DROP TABLE " table                           \
    "; ALTER TABLE relaxed RENAME TO " table ";"

/* Expects an INPUT error of one sentence that names the file and holds up to three words. */
static void expect_refused(const char *path, const char *const words[3], const char *context) {
    popliner_error error = {0};
    popliner_profile *profile = (popliner_profile *)&error;
    if (pl_read_files(path, NULL, NULL, &profile, NULL, &error) != POPLINER_ERROR_INPUT)
        fail_msg("not refused as input (%s): %s", context, error.message);
    assert_null(profile);
    assert_int_equal(error.status, POPLINER_ERROR_INPUT);
    test_assert_sentence(error.message);
    assert_true(strncmp(error.message, path, strlen(path)) == 0);
    for (size_t i = 0; i < 3 && words[i] != NULL; i++) {
        if (strstr(error.message + strlen(path), words[i]) == NULL)
            fail_msg("no \"%s\" in \"%s\" (%s)", words[i], error.message, context);
    }
}

/* Reads a profile that must be readable and consistent. */
static popliner_profile *expect_read(const char *path, const popliner_listener *listener,
                                     const char *context) {
    popliner_error error = {0};
    popliner_profile *profile = NULL;
    const pl_read_options options = {.listener = listener};
    if (pl_read_files(path, NULL, &options, &profile, NULL, &error) != POPLINER_OK)
        fail_msg("cannot be read (%s): %s", context, error.message);
    assert_int_equal(pl_profile_check(profile, path, &error), POPLINER_OK);
    return profile;
}

static popliner_profile_info info_of(const popliner_profile *profile) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    assert_int_equal(popliner_profile_get_info(profile, &info, NULL), POPLINER_OK);
    return info;
}

/* ---- Golden profiles ------------------------------------------------------------------------ */

static void check_counts(const char *path) {
    popliner_profile *profile = expect_read(path, NULL, path);
    popliner_profile_info info = info_of(profile);
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    assert_int_equal(info.num_programs, test_ask(sqlite, "SELECT count(*) FROM programs"));
    assert_int_equal(info.num_steps, test_ask(sqlite, "SELECT count(*) FROM depth_first_steps"));
    assert_int_equal(info.num_compute_sets,
                     test_ask(sqlite, "SELECT num_compute_sets FROM graph_info"));
    assert_int_equal(info.num_vertex_types, test_ask(sqlite, "SELECT count(*) FROM vertex_types"));
    assert_int_equal(info.num_variables, test_ask(sqlite, "SELECT num_vars FROM graph_info"));
    assert_int_equal(info.num_equivalence_classes,
                     test_ask(sqlite, "SELECT count(*) FROM eq_classes"));

    assert_int_equal(info.num_tiles, test_ask(sqlite, "SELECT num_tiles FROM target_info"));
    assert_int_equal(info.num_ipus, test_ask(sqlite, "SELECT num_ipus FROM target_info"));
    assert_int_equal(info.num_replicas, test_ask(sqlite, "SELECT num_replicas FROM target_info"));
    assert_int_equal(info.bytes_per_tile,
                     test_ask(sqlite, "SELECT bytes_per_tile FROM target_info"));
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT architecture = '%s' FROM target_info", info.architecture);
    assert_int_equal(test_ask(sqlite, sql), 1);
    sqlite3_close(sqlite);
    pl_profile_free(profile);
}

static uint64_t json_number(const json_t *values, const char *key) {
    const json_t *number = json_object_get(values, key);
    assert_true(json_is_integer(number));
    return (uint64_t)json_integer_value(number);
}

static void check_golden_profile(void *user, const test_golden_files *files) {
    (void)user;
    char *values_path = test_golden_file(files->name, "values.json");
    assert_non_null(values_path);
    check_counts(files->profile);
    json_t *values = json_load_file(values_path, 0, NULL);
    assert_non_null(values);
    popliner_profile *profile = expect_read(files->profile, NULL, files->name);
    popliner_profile_info info = info_of(profile);
    assert_int_equal(info.num_steps, json_number(values, "steps"));
    assert_int_equal(info.num_variables, json_number(values, "lowered_variables"));
    assert_int_equal(info.num_tiles, json_number(values, "tiles"));
    /* the original also counts the class 0 of unallocated variables */
    assert_int_equal(info.num_equivalence_classes + 1, json_number(values, "equivalence_classes"));
    pl_profile_free(profile);
    json_decref(values);
    free(values_path);
}

static void reads_every_golden_profile(void **state) {
    (void)state;
    test_each_golden_case(check_golden_profile, NULL);
}

static void reads_the_real_profile(void **state) {
    (void)state;
    char *path = test_firehose_file("profile.pop");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    check_counts(path);
    test_told told;
    popliner_listener listener = test_listen(&told);
    popliner_profile *profile = expect_read(path, &listener, path);
    popliner_profile_info info = info_of(profile);
    assert_int_equal(info.num_variables, 51880);
    assert_int_equal(info.num_programs, 111);
    assert_int_equal(info.num_steps, 111);
    assert_int_equal(info.num_tiles, 1472);
    assert_int_equal(info.num_ipus, 1);
    assert_int_equal(info.num_replicas, 1);
    assert_int_equal(info.bytes_per_tile, 638976);
    assert_string_equal(info.architecture, "ipu2");
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 0);
    assert_int_equal(told.messages[POPLINER_LEVEL_ERROR], 0);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_DEBUG], "3.8.0"));
    assert_int_equal(told.progress_done, told.progress_total);
    pl_profile_free(profile);
    free(path);
}

/* ---- What is needed and what is not --------------------------------------------------------- */

/* The tables and columns without which nothing can be computed; a table marked optional may be
 * missing as a whole. */
static const struct {
    const char *table;
    bool optional;
    const char *columns[5];
} needed[] = {
    {"version_info", false, {"major"}},
    {"target_info", false, {"num_tiles", "bytes_per_tile"}},
    {"eq_classes", false, {"id", "is_always_live"}},
    {"eq_class_step", false, {"eq_class_id", "step_id_from", "step_id_to"}},
    {"vars_info", false, {"var_id", "tile", "size_bytes", "equivalence_class", "bitset"}},
    {"vertex_types", false, {"id", "name", "size"}},
    {"compute_sets", false, {"compute_set"}},
    {"programs", false, {"id", "variant", "variant_index"}},
    {"program_types", false, {"id", "name"}},
    {"program_type_on_tile_execute", false, {"id", "compute_set"}},
    {"depth_first_steps", false, {"id", "program_id"}},
    {"unlowered_vars", true, {"id", "name"}},
    {"var_categories", true, {"id", "name"}},
    {"memory_by_vertex_type", true, {"vertex_type", "code_bytes"}},
    {"vertex_instances", true, {"compute_set", "vertex_type", "instances_by_tile"}},
    {"exchange_regions", true, {"id", "var_id"}},
    {"program_type_do_exchange", true, {"id"}},
    {"program_type_global_exchange", true, {"id"}},
    {"program_type_code_copy", true, {"id"}},
    {"host_exchange_from_host", true, {"stream_copy_mid_id"}},
    {"host_exchange_to_host", true, {"stream_copy_mid_id"}},
};

enum { NUM_NEEDED = sizeof needed / sizeof *needed };

static size_t find_needed(const char *table) {
    size_t i = 0;
    while (i < NUM_NEEDED && strcmp(needed[i].table, table) != 0)
        i++;
    return i;
}

/* The texts of a query's first column; the caller frees them. */
static size_t query_texts(sqlite3 *sqlite, const char *sql, char *texts[100]) {
    size_t count = 0;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        assert_true(count < 100);
        texts[count] = strdup(text);
        assert_non_null(texts[count++]);
    }
    sqlite3_finalize(statement);
    return count;
}

static void names_needed_tables_and_does_without_others(void **state) {
    char *path = copy_profile(*state);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    sqlite3 *sqlite = test_open_to_write(path);
    char *tables[100];
    size_t num_tables =
        query_texts(sqlite, "SELECT name FROM sqlite_master WHERE type = 'table'", tables);
    assert_true(num_tables > 60);
    for (size_t i = 0; i < num_tables; i++) {
        char sql[200];
        size_t place = find_needed(tables[i]);
        if (place == NUM_NEEDED && !test_takes_case(i, 13)) {
            free(tables[i]);
            continue;
        }
        snprintf(sql, sizeof sql, "ALTER TABLE \"%s\" RENAME TO away", tables[i]);
        test_run_sql(sqlite, sql);
        if (place < NUM_NEEDED && !needed[place].optional)
            expect_refused(path, (const char *const[3]){tables[i]}, tables[i]);
        else
            pl_profile_free(expect_read(path, NULL, tables[i]));
        snprintf(sql, sizeof sql, "ALTER TABLE away RENAME TO \"%s\"", tables[i]);
        test_run_sql(sqlite, sql);
        free(tables[i]);
    }
    sqlite3_close(sqlite);
    free(path);
}

static void names_needed_columns_and_does_without_others(void **state) {
    char *path = copy_profile(*state);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    sqlite3 *sqlite = test_open_to_write(path);
    for (size_t i = 0; i < NUM_NEEDED; i++) {
        char sql[200];
        char *columns[100];
        snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s')", needed[i].table);
        size_t num_columns = query_texts(sqlite, sql, columns);
        assert_true(num_columns > 0);
        for (size_t k = 0; k < num_columns; k++) {
            bool is_needed = false;
            for (size_t n = 0; n < 5 && needed[i].columns[n] != NULL; n++)
                is_needed = is_needed || strcmp(needed[i].columns[n], columns[k]) == 0;
            if (!test_takes_case(i + k, 13)) {
                free(columns[k]);
                continue;
            }
            snprintf(sql, sizeof sql, "ALTER TABLE %s RENAME COLUMN \"%s\" TO away",
                     needed[i].table, columns[k]);
            test_run_sql(sqlite, sql);
            snprintf(sql, sizeof sql, "%s.%s", needed[i].table, columns[k]);
            if (is_needed)
                expect_refused(path, (const char *const[3]){needed[i].table, columns[k]}, sql);
            else
                pl_profile_free(expect_read(path, NULL, sql));
            snprintf(sql, sizeof sql, "ALTER TABLE %s RENAME COLUMN away TO \"%s\"",
                     needed[i].table, columns[k]);
            test_run_sql(sqlite, sql);
            free(columns[k]);
        }
    }
    sqlite3_close(sqlite);
    free(path);
}

static void wants_lowered_variables(void **state) {
    static const char *const ways[] = {"DELETE FROM vars_info", "DROP TABLE vars_info"};
    for (size_t i = 0; i < 2; i++) {
        char *path = altered(*state, ways[i]);
        if (path == NULL)
            test_skip("its data is in ../shared alone");
        expect_refused(path, (const char *const[3]){"vars_info", "autoReport.outputLoweredVars"},
                       ways[i]);
        free(path);
    }
}

/* They may have been written into a file that nobody outside can read: that is reported, and no
 * more. */
static void names_a_file_of_lowered_variables(void **state) {
    char *path = altered(*state, "DELETE FROM vars_info");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    popliner_error error = {0};
    popliner_profile *profile;
    char *beside = test_path(*state, "vars.capnp");
    pl_read_files(path, NULL, NULL, &profile, NULL, &error);
    assert_null(strstr(error.message, "capnp"));
    test_write_bytes(beside, "x", 1);
    expect_refused(path,
                   (const char *const[3]){"vars_info", "autoReport.outputLoweredVars",
                                          "popliner does not read vars.capnp"},
                   "with vars.capnp");
    free(beside);
    free(path);
}

/* Without names everything else is as before. */
static void does_without_categories(void **state) {
    char *path = altered(*state, "DROP TABLE var_categories");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    popliner_profile *profile = expect_read(path, NULL, "no categories");
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    uint64_t bytes = 0;
    for (size_t i = 0; i < profile->num_variables; i++) {
        assert_true(profile->variable_category[i] < profile->num_categories);
        bytes += profile->variable_size_bytes[i];
    }
    assert_int_equal(bytes,
                     test_ask(sqlite, "SELECT sum(size_bytes) FROM vars_info WHERE bitset & 1"));
    sqlite3_close(sqlite);
    pl_profile_free(profile);
    free(path);
}

/* ---- Wrong values --------------------------------------------------------------------------- */

typedef struct bad_input {
    const char *sql;
    const char *words[3];
} bad_input;

static void expect_all_refused(const char *directory, const bad_input *inputs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *path = altered(directory, inputs[i].sql);
        if (path == NULL)
            test_skip("its data is in ../shared alone");
        expect_refused(path, inputs[i].words, inputs[i].sql);
        free(path);
    }
}

#define EXPECT_ALL_REFUSED(directory, inputs)                                                      \
    expect_all_refused(directory, inputs, sizeof(inputs) / sizeof *(inputs))

static void refuses_other_versions_and_targets(void **state) {
    static const bad_input inputs[] = {
        {"UPDATE version_info SET major = 2", {"version 2.8.0", "3.x"}},
        {"UPDATE version_info SET major = 4, minor = 1", {"version 4.1.0", "3.x"}},
        {"UPDATE version_info SET major = 'three'", {"version_info", "major"}},
        {"DELETE FROM version_info", {"version_info", "empty"}},
        {"DROP TABLE version_info", {"version_info", "not a Poplar profile"}},
        {"DELETE FROM target_info", {"target_info", "empty"}},
        {"UPDATE target_info SET num_tiles = 0", {"target_info", "num_tiles", "0"}},
        {"UPDATE target_info SET num_tiles = -16", {"target_info", "num_tiles", "-16"}},
        {"UPDATE target_info SET num_tiles = 'all'", {"target_info", "num_tiles"}},
        {"UPDATE target_info SET num_tiles = 1000000000000", {"target_info", "num_tiles"}},
        {"UPDATE target_info SET bytes_per_tile = -1", {"target_info", "bytes_per_tile", "-1"}},
        {RELAX("target_info") "UPDATE target_info SET bytes_per_tile = NULL",
         {"target_info", "bytes_per_tile", "NULL"}},
        /* fewer tiles than the variables are on */
        {"UPDATE target_info SET num_tiles = 8", {"vars_info", "tile"}},
        {"UPDATE target_info SET num_ipus = -1", {"target_info", "num_ipus", "-1"}},
    };
    EXPECT_ALL_REFUSED(*state, inputs);
}

static void refuses_wrong_variables(void **state) {
    static const bad_input inputs[] = {
        {"UPDATE vars_info SET size_bytes = -1 WHERE var_id = 100",
         {"vars_info, row 101", "size_bytes", "-1"}},
        {"UPDATE vars_info SET size_bytes = 'large' WHERE var_id = 100",
         {"vars_info, row 101", "size_bytes"}},
        {"UPDATE vars_info SET size_bytes = 4.5 WHERE var_id = 100",
         {"vars_info, row 101", "size_bytes"}},
        {"UPDATE vars_info SET size_bytes = 5000000000 WHERE var_id = 100",
         {"vars_info, row 101", "size_bytes", "5000000000"}},
        {RELAX("vars_info") "UPDATE vars_info SET size_bytes = NULL WHERE var_id = 100",
         {"vars_info, row 101", "size_bytes", "NULL"}},
        {"UPDATE vars_info SET tile = 16 WHERE var_id = 0", {"vars_info, row 1", "tile", "16"}},
        {"UPDATE vars_info SET tile = -1 WHERE var_id = 0", {"vars_info, row 1", "tile", "-1"}},
        {"UPDATE vars_info SET equivalence_class = 9999 WHERE var_id = 7",
         {"vars_info, row 8", "equivalence_class", "9999"}},
        {"UPDATE vars_info SET category = 999 WHERE var_id = 7",
         {"vars_info, row 8", "category", "999"}},
        {"UPDATE vars_info SET offset = -4 WHERE var_id = 7", {"vars_info, row 8", "offset", "-4"}},
        {"UPDATE vars_info SET unlowered_var_id = 'x' WHERE var_id = 7",
         {"vars_info, row 8", "unlowered_var_id"}},
        {"UPDATE vars_info SET bitset = 'all' WHERE var_id = 7", {"vars_info, row 8", "bitset"}},
        {"UPDATE vars_info SET var_id = -1 WHERE var_id = 7", {"vars_info", "var_id", "-1"}},
        {"DELETE FROM eq_classes", {"eq_classes"}},
        {"UPDATE eq_classes SET is_always_live = 2 WHERE id = 5",
         {"eq_classes, row 5", "is_always_live", "2"}},
        {"UPDATE eq_classes SET is_always_live = 'yes' WHERE id = 5",
         {"eq_classes, row 5", "is_always_live"}},
        {"UPDATE memory_by_tile SET tile = 16 WHERE tile = 3", {"memory_by_tile", "tile", "16"}},
        {"UPDATE memory_by_tile SET total = -1", {"memory_by_tile", "total", "-1"}},
        {"UPDATE memory_by_tile SET always_live_bytes = 'x'",
         {"memory_by_tile", "always_live_bytes"}},
    };
    EXPECT_ALL_REFUSED(*state, inputs);
}

static void refuses_wrong_steps_and_ranges(void **state) {
    static const bad_input inputs[] = {
        {"UPDATE eq_class_step SET step_id_to = 324 WHERE rowid = 4",
         {"eq_class_step, row 4", "step_id_to", "324"}},
        {"UPDATE eq_class_step SET step_id_from = -1 WHERE rowid = 4",
         {"eq_class_step, row 4", "step_id_from", "-1"}},
        {"UPDATE eq_class_step SET step_id_from = 20, step_id_to = 10 WHERE rowid = 4",
         {"eq_class_step, row 4", "10", "20"}},
        {"UPDATE eq_class_step SET step_id_to = 'end' WHERE rowid = 4",
         {"eq_class_step, row 4", "step_id_to"}},
        {RELAX("eq_class_step") "UPDATE eq_class_step SET step_id_to = NULL WHERE rowid = 4",
         {"eq_class_step, row 4", "step_id_to", "NULL"}},
        {"UPDATE eq_class_step SET eq_class_id = 9999 WHERE rowid = 4",
         {"eq_class_step, row 4", "eq_class_id", "9999"}},
        {"DELETE FROM depth_first_steps", {"eq_class_step", "step_id_"}},
        {"DELETE FROM depth_first_steps WHERE id = 50", {"depth_first_steps", "50", "gap"}},
        {"UPDATE depth_first_steps SET id = id + 100000", {"depth_first_steps", "100000"}},
        {"UPDATE depth_first_steps SET parent_step_id = 50 WHERE id = 50",
         {"depth_first_steps", "parent_step_id", "50"}},
        {"UPDATE depth_first_steps SET parent_step_id = 51 WHERE id = 50",
         {"depth_first_steps", "parent_step_id", "51"}},
        {"UPDATE depth_first_steps SET parent_step_id = -1 WHERE id = 50",
         {"depth_first_steps", "parent_step_id", "-1"}},
        {"UPDATE depth_first_steps SET program_id = 9999 WHERE id = 50",
         {"depth_first_steps, row 51", "program_id", "9999"}},
        {RELAX("depth_first_steps") "INSERT INTO depth_first_steps SELECT * FROM "
                                    "depth_first_steps WHERE id = 50",
         {"depth_first_steps", "50"}},
    };
    EXPECT_ALL_REFUSED(*state, inputs);
}

static void refuses_wrong_programs(void **state) {
    static const bad_input inputs[] = {
        {"UPDATE exchange_regions SET var_id = 999999 WHERE rowid = 9",
         {"exchange_regions", "var_id", "999999"}},
        /* one literal: 999999 */
        {"UPDATE compute_sets SET var_ids_diff_rle = x'833d04bf' WHERE compute_set = 3",
         {"compute_sets, row 4", "var_ids_diff_rle", "999999"}},
        {"UPDATE program_type_on_tile_execute SET compute_set = 9999 WHERE rowid = 2",
         {"program_type_on_tile_execute", "compute_set", "9999"}},
        {"DELETE FROM program_type_on_tile_execute WHERE rowid = 2",
         {"programs", "variant_index", "program_type_on_tile_execute"}},
        {"DELETE FROM program_types WHERE id = (SELECT variant FROM programs WHERE id = 3)",
         {"table programs", "variant", "program_types"}},
        {RELAX("programs") "UPDATE programs SET variant = NULL WHERE id = 3",
         {"programs, row 4", "variant", "NULL"}},
        {"UPDATE programs SET variant = 'Call' WHERE id = 3", {"programs, row 4", "variant"}},
        {"UPDATE programs SET debug_id = -1 WHERE id = 3", {"programs, row 4", "debug_id", "-1"}},
        {"UPDATE programs SET id = -1 WHERE id = 3", {"programs", "id", "-1"}},
        {"UPDATE vertex_types SET size = -8 WHERE rowid = 1", {"vertex_types", "size", "-8"}},
        {"UPDATE vertex_types SET size = 'x' WHERE rowid = 1", {"vertex_types", "size"}},
        {"UPDATE vertex_instances SET vertex_type = 9999 WHERE rowid = 1",
         {"vertex_instances", "vertex_type", "9999"}},
        {"UPDATE vertex_instances SET compute_set = 9999 WHERE rowid = 1",
         {"vertex_instances", "compute_set", "9999"}},
        {"UPDATE memory_by_vertex_type SET vertex_type = 9999 WHERE rowid = 1",
         {"memory_by_vertex_type", "vertex_type", "9999"}},
        {"UPDATE program_type_do_exchange SET source_regions_id = -2",
         {"program_type_do_exchange", "source_regions_id", "-2"}},
        {"UPDATE host_exchange_from_host SET stream_copy_mid_id = 'x'",
         {"host_exchange_from_host", "stream_copy_mid_id"}},
    };
    EXPECT_ALL_REFUSED(*state, inputs);
}

/* Run-length blobs hold one number for each of the 16 tiles. */
static void refuses_blobs_of_wrong_length(void **state) {
    static const struct {
        const char *table;
        const char *column;
    } columns[] = {
        {"programs", "control_code_bytes_by_tile"},
        {"vertex_instances", "instances_by_tile"},
        {"program_type_do_exchange", "code_bytes_by_tile_rle"},
    };
    static const struct {
        const char *blob;
        const char *words;
    } blobs[] = {
        {"8680", "3 numbers"},                     /* 3 times 0 */
        {"9e80", "15 numbers"},                    /* 15 times 0: one too few */
        {"a280", "more numbers"},                  /* 17 times 0: one too many */
        {"a081838180", "more numbers"},            /* 16 times 1 and a literal */
        {"a0", "damaged"},                         /* 16 times nothing */
        {"a001", "damaged"},                       /* ends inside a number */
        {"a1818181", "damaged"},                   /* 16 literals, of which 3 are there */
        {"10", "damaged"},                         /* not even a header */
        {"a02000000080", "8589934592"},            /* 16 times 2^33 */
        {"7f7f7f7f7f7f7f7f7f7f7f7fff", "damaged"}, /* a header beyond 64 bits */
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        for (size_t k = 0; k < sizeof blobs / sizeof *blobs; k++) {
            char sql[300];
            if (!test_takes_case(i + k, 3))
                continue;
            snprintf(sql, sizeof sql,
                     "UPDATE %s SET %s = x'%s' WHERE rowid = (SELECT max(rowid) FROM %s)",
                     columns[i].table, columns[i].column, blobs[k].blob, columns[i].table);
            char *path = altered(*state, sql);
            if (path == NULL)
                test_skip("its data is in ../shared alone");
            expect_refused(
                path, (const char *const[3]){columns[i].table, columns[i].column, blobs[k].words},
                sql);
            free(path);
        }
    }
    static const bad_input lists[] = {
        /* one number, 17 numbers, and 16 of which the last does not end */
        {"UPDATE memory_by_vertex_type SET code_bytes = "
         "x'1000000080808080808080808080808080808080' WHERE rowid = 1", /* 2^32 on the first */
         {"memory_by_vertex_type", "code_bytes", "4294967296"}},
        {"UPDATE memory_by_vertex_type SET code_bytes = x'80' WHERE rowid = 1",
         {"memory_by_vertex_type", "code_bytes", "16 tiles"}},
        {"UPDATE memory_by_vertex_type SET code_bytes = x'8080808080808080808080808080808080' "
         "WHERE rowid = 1",
         {"memory_by_vertex_type", "code_bytes", "16 tiles"}},
        {"UPDATE memory_by_vertex_type SET code_bytes = x'80808080808080808080808080808000' "
         "WHERE rowid = 1",
         {"memory_by_vertex_type", "code_bytes", "16 tiles"}},
        {"UPDATE compute_sets SET var_ids_diff_rle = x'83' WHERE compute_set = 0",
         {"compute_sets, row 1", "var_ids_diff_rle", "damaged"}},
        {"UPDATE compute_sets SET var_ids_diff_rle = x'833d' WHERE compute_set = 0",
         {"compute_sets, row 1", "var_ids_diff_rle", "damaged"}},
        /* the variable 0 for 2^33 times */
        {"UPDATE compute_sets SET var_ids_diff_rle = x'400000008080' WHERE compute_set = 0",
         {"compute_sets, row 1", "var_ids_diff_rle", "more variables than there are"}},
        /* the variable 0 for twice 8192 times, of 8573 variables */
        {"UPDATE compute_sets SET var_ids_diff_rle = x'0100808001008080' WHERE compute_set = 0",
         {"compute_sets, row 1", "var_ids_diff_rle", "more variables than there are"}},
    };
    EXPECT_ALL_REFUSED(*state, lists);
}

/* ---- Surprises that are no errors ----------------------------------------------------------- */

/* Sum over the tiles. */
static uint64_t series_sum(const popliner_profile *profile, pl_series series) {
    uint64_t by_tile[2000] = {0};
    assert_true(profile->target.num_tiles <= 2000);
    pl_series_add(profile, series, 1, by_tile);
    uint64_t sum = 0;
    for (size_t tile = 0; tile < profile->target.num_tiles; tile++)
        sum += by_tile[tile];
    return sum;
}

static void reads_null_as_nothing(void **state) {
    char *path = altered(
        *state,
        RELAX("vertex_instances") RELAX("memory_by_vertex_type") RELAX("program_type_do_exchange")
            RELAX("memory_by_tile") RELAX("vars_info") RELAX("target_info") RELAX("version_info")
                RELAX("unlowered_vars")
                    RELAX("compute_sets") "UPDATE vertex_instances SET instances_by_tile = NULL;"
                                          "UPDATE memory_by_vertex_type SET code_bytes = NULL;"
                                          "UPDATE program_type_do_exchange SET "
                                          "code_bytes_by_tile_rle = NULL, source_regions_id = NULL,"
                                          " destination_regions_id = NULL;"
                                          "UPDATE programs SET control_code_bytes_by_tile = NULL,"
                                          " children = NULL, name = NULL, debug_id = NULL;"
                                          "UPDATE compute_sets SET var_ids_diff_rle = NULL,"
                                          " name = NULL, debug_id = NULL;"
                                          "UPDATE memory_by_tile SET total = NULL,"
                                          " not_always_live_max_bytes = NULL;"
                                          "UPDATE vars_info SET unlowered_var_id = NULL,"
                                          " offset = NULL, category = NULL;"
                                          "UPDATE unlowered_vars SET name = NULL;"
                                          "UPDATE target_info SET num_ipus = NULL,"
                                          " num_replicas = NULL, architecture = NULL;"
                                          "UPDATE version_info SET minor = NULL, point = NULL");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    test_told told;
    popliner_listener listener = test_listen(&told);
    popliner_profile *profile = expect_read(path, &listener, "NULL everywhere");
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 0);
    for (size_t i = 0; i < profile->num_compute_set_vertices; i++)
        assert_int_equal(series_sum(profile, profile->compute_set_vertex_instances[i]), 0);
    for (size_t i = 0; i < profile->num_vertex_types; i++)
        assert_int_equal(series_sum(profile, profile->vertex_type_code[i]), 0);
    for (size_t i = 0; i < profile->num_programs; i++) {
        assert_int_equal(series_sum(profile, profile->program_control_code[i]), 0);
        assert_int_equal(series_sum(profile, profile->program_exchange_code[i]), 0);
        assert_int_equal(profile->program_debug_context[i], 0);
        assert_int_equal(pl_profile_num_children(profile, i), 0);
        assert_string_equal(pl_profile_string(profile, profile->program_name[i]), "");
    }
    for (size_t i = 0; i < profile->num_compute_sets; i++) {
        assert_int_equal(profile->list_start[i], profile->list_start[i + 1]);
        assert_int_equal(profile->compute_set_debug_context[i], 0);
    }
    for (size_t i = 0; i < profile->num_variables; i++)
        assert_int_equal(profile->variable_unlowered[i], PL_NONE);
    popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
    assert_int_equal(popliner_profile_get(profile, POPLINER_ITEM_TILE, 1, &memory, NULL),
                     POPLINER_OK);
    assert_int_equal(memory.total_bytes, 0);
    assert_int_equal(memory.not_always_live_peak_bytes, 0);
    assert_int_not_equal(memory.always_live_bytes, 0);
    assert_int_equal(info_of(profile).num_ipus, 1);
    assert_int_equal(info_of(profile).num_replicas, 1);
    assert_string_equal(info_of(profile).architecture, "");
    pl_profile_free(profile);
    free(path);
}

static void reads_another_minor_version(void **state) {
    char *path = altered(*state, "UPDATE version_info SET minor = 99, point = 7;"
                                 "UPDATE target_info SET num_ipus = 1;"
                                 "CREATE TABLE of_the_future (x); ALTER TABLE programs ADD COLUMN "
                                 "of_the_future TEXT");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    test_told told;
    popliner_listener listener = test_listen(&told);
    pl_profile_free(expect_read(path, &listener, "3.99"));
    assert_non_null(strstr(told.last[POPLINER_LEVEL_DEBUG], "3.99.7"));
    free(path);
}

static void warns_of_replicas_and_ipus(void **state) {
    static const struct {
        const char *sql;
        size_t warnings;
        const char *words;
    } targets[] = {
        {"UPDATE target_info SET num_replicas = 4", 1, "4 replicas"},
        {"UPDATE target_info SET num_ipus = 2", 1, "2 IPUs"},
        {"UPDATE target_info SET num_ipus = 8, num_replicas = 2", 2, "8 IPUs"},
        {"UPDATE target_info SET num_ipus = 1, num_replicas = 1", 0, ""},
    };
    for (size_t i = 0; i < 4; i++) {
        char *path = altered(*state, targets[i].sql);
        if (path == NULL)
            test_skip("its data is in ../shared alone");
        test_told told;
        popliner_listener listener = test_listen(&told);
        popliner_profile *profile = expect_read(path, &listener, targets[i].sql);
        assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], targets[i].warnings);
        assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], targets[i].words));
        pl_profile_free(profile);
        pl_profile_free(expect_read(path, NULL, "nobody listens"));
        free(path);
    }
}

static void ignores_what_was_not_allocated(void **state) {
    char *path = altered(*state, RELAX("vars_info") "UPDATE vars_info SET size_bytes = -5, offset "
                                                    "= 'x', category = 999, equivalence_class = "
                                                    "NULL, unlowered_var_id = -1 WHERE bitset & 1 "
                                                    "= 0");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    popliner_profile *profile = expect_read(path, NULL, "not allocated");
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    sqlite3_stmt *statement;
    size_t seen = 0;
    sqlite3_prepare_v2(sqlite, "SELECT var_id, tile FROM vars_info WHERE bitset & 1 = 0", -1,
                       &statement, NULL);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        /* this file is in the order of ids and of tiles, and its ids begin with 0 */
        size_t i = (size_t)sqlite3_column_int64(statement, 0);
        assert_int_equal(pl_profile_tile_of(profile, i), sqlite3_column_int64(statement, 1));
        assert_int_equal(profile->variable_size_bytes[i], 0);
        assert_int_equal(profile->variable_unlowered[i], PL_NONE);
        seen++;
    }
    assert_true(seen > 10);
    sqlite3_finalize(statement);
    sqlite3_close(sqlite);
    pl_profile_free(profile);
    free(path);
}

/* Every class lives at the steps where the file says so in any of its ranges, and counts once
 * there; its ranges stand in order. */
static void expect_ranges(const char *path) {
    popliner_profile *profile = expect_read(path, NULL, "ranges");
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    sqlite3_stmt *classes;
    sqlite3_stmt *ranges;
    sqlite3_prepare_v2(sqlite, "SELECT id, is_always_live FROM eq_classes ORDER BY rowid", -1,
                       &classes, NULL);
    sqlite3_prepare_v2(sqlite,
                       "SELECT step_id_from, step_id_to FROM eq_class_step WHERE eq_class_id = ?1",
                       -1, &ranges, NULL);
    uint8_t *expected = calloc(profile->num_steps, 1);
    uint8_t *found = calloc(profile->num_steps, 1);
    assert_true(expected != NULL && found != NULL);
    size_t most = 0;
    for (size_t i = 0; i < profile->num_classes; i++) {
        assert_int_equal(sqlite3_step(classes), SQLITE_ROW);
        assert_int_equal(profile->class_always_live[i], sqlite3_column_int(classes, 1));
        sqlite3_reset(ranges);
        sqlite3_bind_int64(ranges, 1, sqlite3_column_int64(classes, 0));
        size_t start = profile->class_ranges_start[i];
        size_t end = profile->class_ranges_start[i + 1];
        most = end - start > most ? end - start : most;
        memset(expected, 0, profile->num_steps);
        memset(found, 0, profile->num_steps);
        while (sqlite3_step(ranges) == SQLITE_ROW) {
            sqlite3_int64 to = sqlite3_column_int64(ranges, 1);
            for (sqlite3_int64 step = sqlite3_column_int64(ranges, 0); step < to; step++)
                expected[step] = 1;
        }
        for (size_t range = start; range < end; range++) {
            assert_true(range == start ||
                        profile->range_first_step[range] > profile->range_end_step[range - 1]);
            assert_true(profile->range_first_step[range] < profile->range_end_step[range]);
            for (uint32_t step = profile->range_first_step[range];
                 step < profile->range_end_step[range]; step++)
                found[step]++;
        }
        assert_memory_equal(found, expected, profile->num_steps);
    }
    free(expected);
    free(found);
    assert_int_equal(sqlite3_step(classes), SQLITE_DONE);
    assert_true(most > 1);
    sqlite3_finalize(classes);
    sqlite3_finalize(ranges);
    sqlite3_close(sqlite);
    pl_profile_free(profile);
}

static void reads_several_ranges_of_a_class(void **state) {
    static const char *const ways[] = {
        "SELECT 1",
        /* scattered over the table, empty ones, and up to the very end */
        "INSERT INTO eq_class_step VALUES (7, 5, 9), (3, 0, 1), (7, 20, 30), (250, 323, 323),"
        "(7, 11, 11), (3, 322, 323), (7, 300, 323), (1, 0, 323), (7, 0, 0)",
        /* overlapping, one within another, and touching */
        "INSERT INTO eq_class_step VALUES (9, 40, 60), (9, 50, 70), (9, 70, 80), (9, 45, 46),"
        "(9, 10, 300), (11, 100, 200), (11, 100, 200), (11, 199, 201), (11, 201, 210)",
        /* in another order */
        "CREATE TABLE other AS SELECT * FROM eq_class_step ORDER BY eq_class_id * 7919 % 251, "
        "step_id_from DESC; DROP TABLE eq_class_step; ALTER TABLE other RENAME TO eq_class_step",
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *path = altered(*state, ways[i]);
        if (path == NULL)
            test_skip("its data is in ../shared alone");
        expect_ranges(path);
        free(path);
    }
}

/* ---- Lowered variables in any order --------------------------------------------------------- */

static uint64_t shuffled_id(uint64_t id) {
    return id * 7919 % 1000003; /* both prime: no two ids below the latter become one */
}

static int compare_numbers(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void sql_shuffled_id(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    sqlite3_result_int64(context,
                         (sqlite3_int64)shuffled_id((uint64_t)sqlite3_value_int64(values[0])));
}

/* shuffled_list(blob): the same variables by their new ids, ascending again. */
static void sql_shuffled_list(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    uint64_t *ids = calloc(20000, sizeof *ids);
    size_t num_ids = 0;
    uint64_t id = 0;
    uint64_t value;
    uint64_t length;
    pl_runs runs =
        pl_runs_begin(sqlite3_value_blob(values[0]), (size_t)sqlite3_value_bytes(values[0]));
    while (pl_runs_next(&runs, &value, &length) > 0) {
        for (uint64_t i = 0; i < length && num_ids < 20000; i++) {
            id += value;
            ids[num_ids++] = shuffled_id(id);
        }
    }
    qsort(ids, num_ids, sizeof *ids, compare_numbers);
    pl_blob blob = {0};
    for (size_t i = num_ids; i-- > 1;)
        ids[i] -= ids[i - 1];
    pl_rle_write(&blob, ids, num_ids);
    sqlite3_result_blob(context, blob.data, (int)blob.size, SQLITE_TRANSIENT);
    free(blob.data);
    free(ids);
}

/* All that is known of a lowered variable but its place. */
typedef struct variable_key {
    uint32_t parts[6];
} variable_key;

static variable_key key_of(const popliner_profile *p, size_t i) {
    return (variable_key){{(uint32_t)pl_profile_tile_of(p, i), p->variable_offset[i],
                           p->variable_class[i], p->variable_size_bytes[i],
                           p->variable_unlowered[i], p->variable_category[i]}};
}

static int compare_keys(const void *left, const void *right) {
    const variable_key *a = left;
    const variable_key *b = right;
    for (size_t i = 0; i < 6; i++) {
        if (a->parts[i] != b->parts[i])
            return a->parts[i] < b->parts[i] ? -1 : 1;
    }
    return 0;
}

/* Sorted keys of `count` variables, or of all when `variables` is NULL. */
static variable_key *sorted_keys(const popliner_profile *p, const uint32_t *variables,
                                 size_t count) {
    variable_key *keys = calloc(count + 1, sizeof *keys);
    assert_non_null(keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(p, variables == NULL ? i : variables[i]);
    qsort(keys, count, sizeof *keys, compare_keys);
    return keys;
}

static void expect_same_variables(const popliner_profile *a, const popliner_profile *b) {
    assert_int_equal(a->num_variables, b->num_variables);
    assert_memory_equal(a->tile_variables_start, b->tile_variables_start,
                        (a->target.num_tiles + 1) * sizeof(uint64_t));
    for (size_t i = 1; i < b->num_variables; i++)
        assert_true(pl_profile_tile_of(b, i - 1) <= pl_profile_tile_of(b, i));
    variable_key *left = sorted_keys(a, NULL, a->num_variables);
    variable_key *right = sorted_keys(b, NULL, b->num_variables);
    assert_memory_equal(left, right, a->num_variables * sizeof *left);
    free(left);
    free(right);

    assert_int_equal(a->num_lists, b->num_lists);
    assert_memory_equal(a->list_start, b->list_start, (a->num_lists + 1) * sizeof(uint64_t));
    for (size_t list = 0; list < a->num_lists; list++) {
        size_t start = a->list_start[list];
        size_t count = a->list_start[list + 1] - start;
        left = sorted_keys(a, a->list_variable + start, count);
        right = sorted_keys(b, b->list_variable + start, count);
        assert_memory_equal(left, right, count * sizeof *left);
        free(left);
        free(right);
    }
    assert_int_equal(a->num_program_lists, b->num_program_lists);
    assert_memory_equal(a->program_list, b->program_list,
                        a->num_program_lists * sizeof *a->program_list);
    assert_memory_equal(a->program_lists_start, b->program_lists_start,
                        (a->num_programs + 1) * sizeof *a->program_lists_start);
}

static void sorts_variables_by_tile(void **state) {
    /* rows in the order of the new ids, and in one of no id's */
    static const char *const ways[] = {"ORDER BY var_id", "ORDER BY size_bytes, var_id % 101"};
    for (size_t i = 0; i < 2; i++) {
        char *path = copy_profile(*state);
        if (path == NULL)
            test_skip("its data is in ../shared alone");
        popliner_profile *before = expect_read(path, NULL, "before");
        sqlite3 *sqlite = test_open_to_write(path);
        assert_int_equal(sqlite3_create_function(sqlite, "shuffled_id", 1, SQLITE_UTF8, NULL,
                                                 sql_shuffled_id, NULL, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_create_function(sqlite, "shuffled_list", 1, SQLITE_UTF8, NULL,
                                                 sql_shuffled_list, NULL, NULL),
                         SQLITE_OK);
        test_run_sql(sqlite, RELAX("vars_info") RELAX("exchange_regions"));
        test_run_sql(sqlite,
                     "UPDATE vars_info SET var_id = shuffled_id(var_id);"
                     "UPDATE exchange_regions SET var_id = shuffled_id(var_id);"
                     "UPDATE compute_sets SET var_ids_diff_rle = shuffled_list(var_ids_diff_rle) "
                     "WHERE var_ids_diff_rle IS NOT NULL");
        char sql[300];
        snprintf(sql, sizeof sql,
                 "CREATE TABLE other AS SELECT * FROM vars_info %s; DROP TABLE vars_info; "
                 "ALTER TABLE other RENAME TO vars_info",
                 ways[i]);
        test_run_sql(sqlite, sql);
        sqlite3_close(sqlite);
        popliner_profile *after = expect_read(path, NULL, ways[i]);
        expect_same_variables(before, after);
        pl_profile_free(before);
        pl_profile_free(after);
        free(path);
    }
}

/* moved_children(blob): the list of programs by the ids that they get below. */
static void sql_moved_children(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    pl_blob blob = {0};
    const uint8_t *cursor = sqlite3_value_blob(values[0]);
    const uint8_t *end = cursor + sqlite3_value_bytes(values[0]);
    uint64_t id;
    while (cursor < end && pl_varint_read(&cursor, end, &id))
        pl_varint_write(&blob, id * 3 + 100000);
    sqlite3_result_blob(context, blob.data, (int)blob.size, SQLITE_TRANSIENT);
    free(blob.data);
}

/* Ids of tables that need not begin at 0 or have no gaps, and rows in any order. */
static void follows_ids_not_places(void **state) {
    char *path = copy_profile(*state);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    popliner_profile *before = expect_read(path, NULL, "before");
    sqlite3 *sqlite = test_open_to_write(path);
    assert_int_equal(sqlite3_create_function(sqlite, "moved_children", 1, SQLITE_UTF8, NULL,
                                             sql_moved_children, NULL, NULL),
                     SQLITE_OK);
    test_run_sql(
        sqlite,
        "UPDATE eq_classes SET id = id * 10 + 100000; UPDATE eq_class_step SET eq_class_id = "
        "eq_class_id * 10 + 100000; UPDATE vars_info SET equivalence_class = equivalence_class * "
        "10 + 100000 WHERE bitset & 1;"
        "UPDATE var_categories SET id = id * 3 + 1000; UPDATE vars_info SET category = category * "
        "3 + 1000;"
        "UPDATE unlowered_vars SET id = id * 2 + 100000; UPDATE vars_info SET unlowered_var_id = "
        "unlowered_var_id * 2 + 100000;"
        "UPDATE compute_sets SET compute_set = compute_set * 2 + 100000; UPDATE "
        "program_type_on_tile_execute SET compute_set = compute_set * 2 + 100000; UPDATE "
        "vertex_instances SET compute_set = compute_set * 2 + 100000; UPDATE "
        "memory_by_compute_set SET compute_set = compute_set * 2 + 100000;"
        "UPDATE vertex_types SET id = id * 5 + 1000; UPDATE vertex_instances SET vertex_type = "
        "vertex_type * 5 + 1000; UPDATE memory_by_vertex_type SET vertex_type = vertex_type * 5 + "
        "1000;"
        "UPDATE program_types SET id = id + 1000; UPDATE programs SET variant = variant + 1000;"
        "UPDATE programs SET id = id * 3 + 100000, children = moved_children(children); "
        "UPDATE depth_first_steps SET program_id = program_id * 3 + 100000; "
        "UPDATE function_programs SET program = program * 3 + 100000, id = id * 7 + 100000; "
        "UPDATE program_type_call SET function_id = function_id * 7 + 100000;"
        "UPDATE exchange_regions SET id = id * 2 + 100000; UPDATE program_type_do_exchange SET "
        "source_regions_id = source_regions_id * 2 + 100000, destination_regions_id = "
        "destination_regions_id * 2 + 100000; UPDATE host_exchange_from_host SET regions_id = "
        "regions_id * 2 + 100000; UPDATE host_exchange_to_host SET regions_id = regions_id * 2 + "
        "100000;");
    sqlite3_close(sqlite);
    popliner_profile *after = expect_read(path, NULL, "other ids");
    expect_same_variables(before, after);
    assert_memory_equal(before->step_program, after->step_program,
                        before->num_steps * sizeof *before->step_program);
    assert_memory_equal(before->program_type, after->program_type, before->num_programs);
    assert_memory_equal(before->program_child, after->program_child,
                        before->num_program_children * sizeof *before->program_child);
    assert_memory_equal(before->program_called, after->program_called,
                        before->num_programs * sizeof *before->program_called);
    assert_memory_equal(before->program_compute_set, after->program_compute_set,
                        before->num_programs * sizeof *before->program_compute_set);
    assert_memory_equal(before->compute_set_vertex_type, after->compute_set_vertex_type,
                        before->num_compute_set_vertices * sizeof(uint32_t));
    assert_int_equal(before->series_length, after->series_length);
    assert_memory_equal(before->series_bytes, after->series_bytes, before->series_length);
    pl_profile_free(before);
    pl_profile_free(after);
    free(path);
}

/* The other exchanges are like the one within an IPU; no file available has any of them. */
static void gives_every_exchange_its_variables(void **state) {
    static const struct {
        const char *sql;
        bool has_sources;
    } ways[] = {
        {"UPDATE program_types SET name = 'GlobalExchange' WHERE name = 'DoExchange'; INSERT INTO "
         "program_type_global_exchange (id, bytes_received_by_tile_rle, bytes_sent_by_tile_rle, "
         "bytes_received_by_ipu_rle, bytes_sent_by_ipu_rle, max_data_sent_and_received_by_ipu_rle, "
         "source_regions_id, destination_regions_id, sync_type) SELECT id, x'', x'', x'', x'', "
         "x'', source_regions_id, destination_regions_id, '' FROM program_type_do_exchange; DELETE "
         "FROM program_type_do_exchange",
         true},
        {"UPDATE program_types SET name = 'CodeCopy' WHERE name = 'DoExchange'; INSERT INTO "
         "program_type_code_copy (id, destination_regions_id) SELECT id, destination_regions_id "
         "FROM program_type_do_exchange; DELETE FROM program_type_do_exchange",
         false},
    };
    for (size_t i = 0; i < 2; i++) {
        char *path = copy_profile(*state);
        if (path == NULL)
            test_skip("its data is in ../shared alone");
        popliner_profile *before = expect_read(path, NULL, "before");
        sqlite3 *sqlite = test_open_to_write(path);
        test_run_sql(sqlite, ways[i].sql);
        sqlite3_close(sqlite);
        popliner_profile *after = expect_read(path, NULL, ways[i].sql);
        assert_int_equal(before->num_programs, after->num_programs);
        size_t exchanges = 0;
        for (size_t program = 0; program < before->num_programs; program++) {
            uint32_t start = before->program_lists_start[program];
            uint32_t end = before->program_lists_start[program + 1];
            bool is_exchange = before->program_type[program] == POPLINER_PROGRAM_DO_EXCHANGE;
            if (is_exchange && !ways[i].has_sources && end - start == 2)
                start++; /* the destination is the second */
            uint32_t new_start = after->program_lists_start[program];
            assert_int_equal(after->program_lists_start[program + 1] - new_start, end - start);
            assert_memory_equal(before->program_list + start, after->program_list + new_start,
                                (end - start) * sizeof *before->program_list);
            if (is_exchange)
                assert_int_equal(series_sum(after, after->program_exchange_code[program]), 0);
            exchanges += is_exchange && end > start;
        }
        assert_true(exchanges > 10);
        pl_profile_free(before);
        pl_profile_free(after);
        free(path);
    }
}

/* ---- Damaged files -------------------------------------------------------------------------- */

static void refuses_what_is_no_profile(void **state) {
    char *path = test_path(*state, "profile.pop");
    expect_refused(path, (const char *const[3]){"no such file"}, "missing");
    mkdir(path, 0700);
    expect_refused(path, (const char *const[3]){"directory", "profile.pop"}, "directory");
    free(path);
    path = test_path(*state, "other.pop");
    test_write_bytes(path, "{\"contexts\": []}", 16);
    expect_refused(path, (const char *const[3]){"profile.pop"}, "text");
    remove(path);
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    test_run_sql(sqlite, "CREATE TABLE moz_places (id INTEGER)");
    sqlite3_close(sqlite);
    expect_refused(path, (const char *const[3]){"not a Poplar profile"}, "another database");
    free(path);
}

static void refuses_a_file_cut_anywhere(void **state) {
    char *path = copy_profile(*state);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    size_t size;
    uint8_t *bytes = test_read_bytes(path, &size);
    enum { CUTS = 60 };
    static const size_t special[] = {0, 1, 15, 16, 99, 100, 101, 512, 4095, 4096, 4097, 8192};
    size_t num_special = sizeof special / sizeof *special;
    for (size_t i = 0; i < CUTS + 2 * num_special; i++) {
        size_t length = i < CUTS                 ? size * (i + 1) / (CUTS + 1)
                        : i < CUTS + num_special ? special[i - CUTS]
                                                 : size - 1 - special[i - CUTS - num_special];
        if (!test_takes_case(i, 3))
            continue;
        test_write_bytes(path, bytes, length);
        char context[40];
        snprintf(context, sizeof context, "cut at %zu of %zu", length, size);
        expect_refused(path, (const char *const[3]){NULL}, context);
    }
    free(bytes);
    free(path);
}

/* Whatever the bytes, the profile is refused or agrees with itself. */
static void survives_changed_bytes(void **state) {
    char *path = copy_profile(*state);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    size_t size;
    uint8_t *bytes = test_read_bytes(path, &size);
    uint64_t random = 11;
    size_t refused = 0;
    for (size_t round = 0; round < 150; round++) {
        if (!test_takes_case(round, 4))
            continue;
        uint8_t *changed = malloc(size);
        assert_non_null(changed);
        memcpy(changed, bytes, size);
        for (size_t i = 0; i < 40; i++) {
            random = test_random(random);
            size_t place = (size_t)(random >> 20) % size;
            random = test_random(random);
            changed[place] = (uint8_t)(random >> 40);
        }
        test_write_bytes(path, changed, size);
        free(changed);
        popliner_error error = {0};
        popliner_profile *profile = NULL;
        popliner_status status = pl_read_files(path, NULL, NULL, &profile, NULL, &error);
        if (status == POPLINER_OK) {
            assert_int_equal(pl_profile_check(profile, path, &error), POPLINER_OK);
        } else {
            assert_int_equal(status, POPLINER_ERROR_INPUT);
            assert_null(profile);
            refused++;
        }
        pl_profile_free(profile);
    }
    assert_true(refused > 0);
    free(bytes);
    free(path);
}

static size_t count_files(const char *directory) {
    DIR *entries = opendir(directory);
    assert_non_null(entries);
    size_t count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

/* Reads a copy, in SQLite's usual mode or in the one that keeps a log, and expects that neither it
 * nor its directory changes. */
static void expect_untouched(char *directory, bool log_mode) {
    char *path = copy_profile(directory);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    sqlite3 *sqlite = test_open_to_write(path);
    if (log_mode)
        test_run_sql(sqlite, "PRAGMA journal_mode = WAL");
    sqlite3_close(sqlite);
    size_t size;
    uint8_t *before = test_read_bytes(path, &size);
    for (int read_only = 0; read_only < 2; read_only++) {
        if (read_only) {
            chmod(path, 0444);
            chmod(directory, 0555);
        }
        struct stat old;
        struct stat new;
        assert_int_equal(stat(path, &old), 0);
        size_t files = count_files(directory);
        pl_profile_free(expect_read(path, NULL, read_only ? "read-only" : "writable"));
        assert_int_equal(stat(path, &new), 0);
        assert_int_equal(count_files(directory), files);
        assert_int_equal(old.st_mtim.tv_sec, new.st_mtim.tv_sec);
        assert_int_equal(old.st_mtim.tv_nsec, new.st_mtim.tv_nsec);
        size_t size_after;
        uint8_t *after = test_read_bytes(path, &size_after);
        assert_int_equal(size_after, size);
        assert_memory_equal(after, before, size);
        free(after);
    }
    chmod(directory, 0700);
    free(before);
    free(path);
}

static void never_writes(void **state) {
    expect_untouched(*state, false);
}

static void never_writes_beside_a_profile_with_a_log(void **state) {
    expect_untouched(*state, true);
}

/* Before anything large is allocated, with the figure that is needed. */
static void refuses_what_memory_cannot_hold(void **state) {
    char *path = copy_profile(*state);
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    popliner_error error = {0};
    popliner_profile *profile = NULL;
    pl_bounds bounds = {.max_bytes = 1 << 17};
    pl_read_options options = {.bounds = &bounds};
    assert_int_equal(pl_read_files(path, NULL, &options, &profile, NULL, &error),
                     POPLINER_ERROR_MEMORY);
    assert_null(profile);
    test_assert_sentence(error.message);
    assert_non_null(
        strstr(error.message, "needs about 1 MiB of memory for 8573 lowered variables"));
    assert_non_null(strstr(error.message, "there are 0 MiB"));
    bounds = (pl_bounds){.max_bytes = 1 << 20};
    assert_int_equal(pl_read_files(path, NULL, &options, &profile, NULL, &error), POPLINER_OK);
    pl_profile_free(profile);
    free(path);
}

static void frees_nothing(void **state) {
    (void)state;
    pl_profile_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_golden_profile),
        cmocka_unit_test(reads_the_real_profile),
        IN_DIRECTORY(names_needed_tables_and_does_without_others),
        IN_DIRECTORY(names_needed_columns_and_does_without_others),
        IN_DIRECTORY(wants_lowered_variables),
        IN_DIRECTORY(names_a_file_of_lowered_variables),
        IN_DIRECTORY(does_without_categories),
        IN_DIRECTORY(refuses_other_versions_and_targets),
        IN_DIRECTORY(refuses_wrong_variables),
        IN_DIRECTORY(refuses_wrong_steps_and_ranges),
        IN_DIRECTORY(refuses_wrong_programs),
        IN_DIRECTORY(refuses_blobs_of_wrong_length),
        IN_DIRECTORY(reads_null_as_nothing),
        IN_DIRECTORY(reads_another_minor_version),
        IN_DIRECTORY(warns_of_replicas_and_ipus),
        IN_DIRECTORY(ignores_what_was_not_allocated),
        IN_DIRECTORY(reads_several_ranges_of_a_class),
        IN_DIRECTORY(sorts_variables_by_tile),
        IN_DIRECTORY(follows_ids_not_places),
        IN_DIRECTORY(gives_every_exchange_its_variables),
        IN_DIRECTORY(refuses_what_is_no_profile),
        IN_DIRECTORY(refuses_a_file_cut_anywhere),
        IN_DIRECTORY(survives_changed_bytes),
        IN_DIRECTORY(never_writes),
        IN_DIRECTORY(never_writes_beside_a_profile_with_a_log),
        IN_DIRECTORY(refuses_what_memory_cannot_hold),
        cmocka_unit_test(frees_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
