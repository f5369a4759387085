/* One IPU of a pipeline's profile: what programs touch there and what they take. What the command
 * tells of an IPU is tested by pipeline_ipus_test.py.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "made_profile.h"
#include "test_data.h"
#include "test_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/analysis.h"
#include "popliner/popliner.h"
#include "profile/profile_data.h"
#include "profile/read.h"

enum { TILES = 8, IPUS = 3 };

static void *pipelines; /* the directory of the one that is copied */

static int begin_pipelines(void **state) {
    int failed = test_begin_directory(&pipelines);
    (void)state;
    if (failed == 0)
        make_profile(pipelines,
                     "--layers 3 --hidden 16 --sequence 8 --vocabulary 60 --training --tiles %d "
                     "--pipeline '0|1'",
                     TILES);
    return failed;
}

static int end_pipelines(void **state) {
    (void)state;
    return test_end_directory(&pipelines);
}

/* The profile of a pipeline, in the test's directory; the caller frees its path. */
static char *make_pipeline(const char *directory) {
    char *from = test_path(pipelines, "profile.pop");
    char *path = test_altered_copy(from, directory, "");
    free(from);
    return path;
}

/* Reads the part of this IPU, or of all for SIZE_MAX. */
static popliner_profile *read_part(const char *path, size_t ipu) {
    const pl_read_options options = {.is_one_ipu = ipu != SIZE_MAX, .ipu = ipu};
    popliner_profile *profile = NULL;
    popliner_error error = {.message = ""};
    if (pl_read_files(path, NULL, &options, &profile, NULL, &error) != POPLINER_OK ||
        pl_profile_check(profile, path, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return profile;
}

/* The program of this row of its type's own table; ids of programs are their places here. */
static size_t program_of(sqlite3 *sqlite, const char *type, uint64_t row) {
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT p.id FROM programs p JOIN program_types t ON t.id = p.variant "
             "WHERE t.name = '%s' AND p.variant_index = %llu",
             type, (unsigned long long)row);
    return (size_t)test_ask(sqlite, sql);
}

static void expect_touched(const popliner_profile *p, sqlite3 *sqlite, size_t program, uint64_t row,
                           size_t first_tile, size_t end_tile) {
    pl_touches touches = pl_touches_of(p, (uint32_t)program);
    uint32_t variable;
    uint64_t size_bytes = 0;
    uint64_t count = 0;
    char sql[500];
    while (pl_touches_next(&touches, &variable)) {
        size_bytes += p->variable_size_bytes[variable];
        count++;
    }
    for (int is_count = 0; is_count < 2; is_count++) {
        snprintf(sql, sizeof sql,
                 "SELECT %s FROM program_type_global_exchange g JOIN exchange_regions r "
                 "ON r.id = g.source_regions_id OR r.id = g.destination_regions_id "
                 "JOIN vars_info v ON v.var_id = r.var_id "
                 "WHERE g.id = %llu AND v.tile >= %zu AND v.tile < %zu",
                 is_count ? "count(*)" : "sum(v.size_bytes)", (unsigned long long)row, first_tile,
                 end_tile);
        assert_int_equal(is_count ? count : size_bytes, test_ask(sqlite, sql));
    }
    assert_true(count > 0);
}

/* Tensors are as large as their pieces on these tiles. */
static void expect_pieces(const popliner_profile *p, sqlite3 *sqlite, size_t first_tile,
                          size_t end_tile) {
    uint64_t sums[2] = {test_sum(p->unlowered_size_bytes, p->num_unlowered), 0};
    for (size_t i = 0; i < p->num_unlowered; i++)
        sums[1] += p->unlowered_num_pieces[i];
    for (int is_count = 0; is_count < 2; is_count++) {
        char sql[300];
        snprintf(sql, sizeof sql,
                 "SELECT %s FROM vars_info v JOIN unlowered_vars u ON u.id = v.unlowered_var_id "
                 "WHERE v.bitset & 1 AND v.tile >= %zu AND v.tile < %zu",
                 is_count ? "count(*)" : "sum(v.size_bytes)", first_tile, end_tile);
        assert_int_equal(sums[is_count], test_ask(sqlite, sql));
    }
}

static void global_exchanges_touch_both_sides(void **state) {
    char *path = make_pipeline(*state);
    sqlite3 *sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    uint64_t num_exchanges = test_ask(sqlite, "SELECT count(*) FROM program_type_global_exchange");
    assert_true(num_exchanges > 1);
    for (size_t ipu = 0; ipu <= IPUS; ipu++) {
        bool is_one = ipu < IPUS;
        popliner_profile *p = read_part(path, is_one ? ipu : SIZE_MAX);
        expect_pieces(p, sqlite, is_one ? ipu * TILES : 0,
                      is_one ? (ipu + 1) * TILES : IPUS * TILES);
        for (uint64_t row = 0; row < num_exchanges; row++) {
            size_t program = program_of(sqlite, "GlobalExchange", row);
            assert_int_equal(p->program_type[program], POPLINER_PROGRAM_GLOBAL_EXCHANGE);
            assert_int_equal(p->program_exchange_code[program].size_bytes, 0); /* not told */
            expect_touched(p, sqlite, program, row, is_one ? ipu * TILES : 0,
                           is_one ? (ipu + 1) * TILES : IPUS * TILES);
        }
        pl_profile_free(p);
    }
    sqlite3_close(sqlite);
    free(path);
}

/* Lists of 100001 = 6 * 128^2 + 13 * 128 + 33 and the next numbers. */
#define FIRST "060da1"
#define SECOND "060da2"
#define THIRD "060da3"
#define OF_ALL_TILES "060da4"

static void estimates_are_of_the_ipu(void **state) {
    static const struct {
        const char *table;
        const char *type;
        const char *ids;
        uint64_t expected[IPUS + 1]; /* the last: of all IPUs */
    } cases[] = {
        {"do_exchange", "DoExchange", FIRST SECOND THIRD, {5, 9, 7, 9}},
        {"do_exchange", "DoExchange", THIRD FIRST SECOND, {7, 5, 9, 9}},
        {"do_exchange", "DoExchange", OF_ALL_TILES, {20, 21, 40, 40}},
        {"do_exchange", "DoExchange", SECOND THIRD, {9, 9, 9, 9}}, /* not one for each IPU */
        {"global_exchange", "GlobalExchange", SECOND FIRST THIRD, {9, 5, 7, 9}},
        {"stream_copy_mid", "StreamCopyMid", FIRST FIRST SECOND, {5, 5, 9, 9}},
    };
    char *path = make_pipeline(*state);
    sqlite3 *sqlite = test_open_to_write(path);
    /* 0x90: the next number stands 8 times; 0x83: it stands alone; 0x8e: it stands 7 times */
    test_run_sql(sqlite, "INSERT INTO compilation_cycles_by_tile (id, cycles_by_tile_rle) VALUES "
                         "(100001, x'9085'), (100002, x'83898e83'), (100003, x'9087'), "
                         "(100004, x'8e81839483958e83838b8c8283a8')");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[300];
        snprintf(sql, sizeof sql,
                 "UPDATE program_type_%s SET %scycles_by_tile_ids = x'%s' "
                 "WHERE id = 1",
                 cases[i].table, strcmp(cases[i].table, "do_exchange") == 0 ? "" : "estimated_",
                 cases[i].ids);
        test_run_sql(sqlite, sql);
        size_t program = program_of(sqlite, cases[i].type, 1);
        for (size_t ipu = 0; ipu <= IPUS; ipu++) {
            popliner_profile *p = read_part(path, ipu < IPUS ? ipu : SIZE_MAX);
            assert_int_equal(p->program_cycles[program], cases[i].expected[ipu]);
            pl_profile_free(p);
        }
    }
    sqlite3_close(sqlite);
    free(path);
}

static void measurements_are_of_the_ipu(void **state) {
    char *path = make_pipeline(*state);
    sqlite3 *sqlite = test_open_to_write(path);
    test_run_sql(sqlite, "INSERT INTO steps (id, type, program) VALUES (0, 'OnTileExecute', 7), "
                         "(1, 'OnTileExecute', 7), (2, 'OnTileExecute', 8)");
    test_run_sql(sqlite,
                 "WITH measured(step, ipu, cycles) AS (VALUES (0, 0, 100), (0, 1, 300), "
                 "(1, 1, 500), (2, 2, 60)) INSERT INTO steps_by_ipu (step_id, ipu, cycles, "
                 "cycles_base, active_cycles_from_max, active_cycles_from_mean, "
                 "active_cycles_from_min, active_cycles_to_max, active_cycles_to_mean, "
                 "active_cycles_to_min, all_cycles_to_max, all_cycles_to_mean, all_cycles_to_min, "
                 "active_tiles, active_tile_balance, tile_balance) "
                 "SELECT step, ipu, cycles, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1 FROM measured");
    static const uint64_t expected[IPUS + 1][2] = {{100, 0}, {400, 0}, {0, 60}, {400, 60}};
    static const size_t num_measured[IPUS + 1] = {1, 2, 1, 4};
    for (size_t ipu = 0; ipu <= IPUS; ipu++) {
        popliner_profile *p = read_part(path, ipu < IPUS ? ipu : SIZE_MAX);
        assert_int_equal(p->num_execution_ipus, num_measured[ipu]);
        for (size_t i = 0; ipu < IPUS && i < p->num_execution_ipus; i++)
            assert_int_equal(p->execution_ipu[i], ipu);
        assert_int_equal(p->program_cycles[7], expected[ipu][0]);
        assert_int_equal(p->program_cycles[8], expected[ipu][1]);
        pl_profile_free(p);
    }
    sqlite3_close(sqlite);
    free(path);
}

static void programs_of_users_choose_an_ipu(void **state) {
    char *path = make_pipeline(*state);
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_analysis *analysis = NULL;
    popliner_error error = {.message = ""};
    assert_int_equal(options.ipu, SIZE_MAX);
    size_t num_variables = 0;
    for (size_t i = 0; i <= IPUS; i++) {
        options.ipu = i < IPUS ? i : SIZE_MAX;
        assert_int_equal(popliner_analysis_read(path, NULL, &options, &analysis, &error),
                         POPLINER_OK);
        popliner_profile_get_info(popliner_analysis_profile(analysis), &info, NULL);
        assert_int_equal(info.ipu, options.ipu);
        assert_int_equal(info.num_tiles, i < IPUS ? TILES : IPUS * TILES);
        assert_int_equal(info.num_ipus, i < IPUS ? 1 : IPUS);
        assert_int_equal(info.ipus_per_replica, IPUS);
        if (i < IPUS)
            num_variables += info.num_variables;
        else
            assert_int_equal(info.num_variables, num_variables);
        popliner_analysis_free(analysis);
    }
    options.ipu = IPUS;
    assert_int_equal(popliner_analysis_read(path, NULL, &options, &analysis, &error),
                     POPLINER_ERROR_USAGE);
    assert_string_equal(error.message, "ipu 3: the profile has 3 IPUs; use 0 to 2");
    assert_null(analysis);
    options.ipu = 0;
    assert_int_equal(popliner_analysis_load(path, &options, &analysis, &error),
                     POPLINER_ERROR_USAGE);
    assert_null(analysis);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(global_exchanges_touch_both_sides),
        IN_DIRECTORY(estimates_are_of_the_ipu),
        IN_DIRECTORY(measurements_are_of_the_ipu),
        IN_DIRECTORY(programs_of_users_choose_an_ipu),
    };
    return cmocka_run_group_tests(tests, begin_pipelines, end_pipelines);
}
