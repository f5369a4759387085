/* The walk over a profile: everything that it tells, against the tables read by SQL; executions
 * made by hand, since no real file with one is known; files without what is optional; wrong
 * arguments.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "test_data.h"
#include "test_sql.h"
#include "whole_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "profile/read.h"

#define ASK(...) assert_int_equal((__VA_ARGS__), POPLINER_OK)

/* One profile, read by the library and by SQL. */
typedef struct subject {
    popliner_profile *profile;
    popliner_profile_info info;
    size_t num_tiles;
    sqlite3 *sqlite;
} subject;

static subject begin(const char *path, const popliner_listener *listener) {
    subject s = {.info = POPLINER_PROFILE_INFO_INIT};
    popliner_error error = {.message = ""};
    const pl_read_options options = {.listener = listener};
    if (pl_read_files(path, NULL, &options, &s.profile, NULL, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    ASK(popliner_profile_get_info(s.profile, &s.info, &error));
    s.num_tiles = s.info.num_tiles;
    s.sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    return s;
}

static void end(subject *s) {
    pl_profile_free(s->profile);
    assert_int_equal(sqlite3_close(s->sqlite), SQLITE_OK);
}

static sqlite3_stmt *query(const subject *s, const char *sql) {
    return test_query(s->sqlite, sql);
}

static uint64_t number(sqlite3_stmt *row, int column) {
    return (uint64_t)sqlite3_column_int64(row, column);
}

/* A number, SIZE_MAX for NULL. */
static uint64_t index_of(sqlite3_stmt *row, int column) {
    return sqlite3_column_type(row, column) == SQLITE_NULL ? SIZE_MAX : number(row, column);
}

static const char *text(sqlite3_stmt *row, int column) {
    const char *told = (const char *)sqlite3_column_text(row, column);
    return told == NULL ? "" : told;
}

static void expect_end(sqlite3_stmt *rows) {
    assert_int_equal(sqlite3_step(rows), SQLITE_DONE);
    sqlite3_finalize(rows);
}

/* ---- A second decoder ----------------------------------------------------------------------- */

/* The numbers of a blob of varints; the caller frees them. */
static uint64_t *decode(sqlite3_stmt *row, int column, size_t *count) {
    const uint8_t *bytes = sqlite3_column_blob(row, column);
    size_t size = (size_t)sqlite3_column_bytes(row, column);
    uint64_t *values = calloc(size + 1, sizeof *values);
    assert_non_null(values);
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        values[*count] = values[*count] * 128 + (bytes[i] & 127);
        *count += bytes[i] >> 7;
    }
    return values;
}

/* The numbers by tile of an RLE blob, all 0 for NULL; the caller frees them. */
static uint64_t *decode_runs(const subject *s, sqlite3_stmt *row, int column) {
    size_t count;
    size_t tile = 0;
    uint64_t *values = decode(row, column, &count);
    uint64_t *by_tile = calloc(s->num_tiles, sizeof *by_tile);
    assert_non_null(by_tile);
    for (size_t i = 0; i < count;) {
        uint64_t header = values[i++];
        for (uint64_t k = 0; k < header / 2; k++) {
            assert_true(tile < s->num_tiles);
            by_tile[tile++] = values[i];
            i += header % 2;
        }
        i += 1 - header % 2;
    }
    assert_true(count == 0 || tile == s->num_tiles);
    free(values);
    return by_tile;
}

static void expect_by_tile(const subject *s, popliner_by_tile what, size_t index,
                           const uint64_t *expected) {
    uint64_t *by_tile = malloc(s->num_tiles * sizeof *by_tile);
    assert_non_null(by_tile);
    memset(by_tile, 0xff, s->num_tiles * sizeof *by_tile);
    ASK(popliner_profile_by_tile(s->profile, what, index, by_tile, NULL));
    assert_memory_equal(by_tile, expected, s->num_tiles * sizeof *by_tile);
    free(by_tile);
}

/* ---- What the profile is of ----------------------------------------------------------------- */

static void check_versions(const subject *s) {
    const popliner_profile_info *info = &s->info;
    sqlite3_stmt *row = query(s, "SELECT p.string, p.package_hash, p.major, p.minor, p.point, "
                                 "v.major, v.minor, v.point, v.is_unstable_format "
                                 "FROM poplar_version p, version_info v");
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal(info->poplar_version, text(row, 0));
    assert_string_equal(info->poplar_package_hash, text(row, 1));
    assert_int_equal(info->poplar_major_number, number(row, 2));
    assert_int_equal(info->poplar_minor_number, number(row, 3));
    assert_int_equal(info->poplar_point_number, number(row, 4));
    assert_int_equal(info->format_major_number, number(row, 5));
    assert_int_equal(info->format_minor_number, number(row, 6));
    assert_int_equal(info->format_point_number, number(row, 7));
    assert_int_equal(info->is_unstable_format, number(row, 8));
    expect_end(row);
}

static void check_target(const subject *s) {
    const popliner_profile_info *info = &s->info;
    sqlite3_stmt *row = query(s, "SELECT tiles_per_ipu, ipus_per_replica, type_, clock_frequency "
                                 "FROM target_info");
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(info->tiles_per_ipu, number(row, 0));
    assert_int_equal(info->ipus_per_replica, number(row, 1));
    assert_string_equal(info->target_type, text(row, 2));
    assert_int_equal(info->clock_hz, number(row, 3));
    expect_end(row);
}

static void check_graph(const subject *s) {
    const popliner_profile_info *g = &s->info;
    sqlite3_stmt *row = query(s, "SELECT num_compute_sets, num_vertices, num_edges, num_vars "
                                 "FROM graph_info");
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(g->num_compute_sets, number(row, 0));
    assert_int_equal(g->num_vertices, number(row, 1));
    assert_int_equal(g->num_edges, number(row, 2));
    assert_int_equal(g->num_variables, number(row, 3));
    expect_end(row);
    assert_int_equal(g->num_vertex_types, test_ask(s->sqlite, "SELECT count(*) FROM vertex_types"));
    assert_int_equal(g->num_unlowered_variables,
                     test_ask(s->sqlite, "SELECT count(*) FROM unlowered_vars"));
    assert_int_equal(g->num_equivalence_classes,
                     test_ask(s->sqlite, "SELECT count(*) FROM eq_classes"));
    assert_int_equal(g->num_categories, test_ask(s->sqlite, "SELECT count(*) FROM var_categories"));
    assert_int_equal(g->num_programs, test_ask(s->sqlite, "SELECT count(*) FROM programs"));
    assert_int_equal(g->num_steps, test_ask(s->sqlite, "SELECT count(*) FROM depth_first_steps"));
    assert_int_equal(g->num_runs, test_ask(s->sqlite, "SELECT count(*) FROM runs"));
    assert_int_equal(g->num_execution_steps, test_ask(s->sqlite, "SELECT count(*) FROM steps"));
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void check_tiles(const subject *s) {
    sqlite3_stmt *rows =
        query(s, "SELECT total, total_including_gaps, always_live_bytes, "
                 "not_always_live_max_bytes, interleaved, non_interleaved, overflowed "
                 "FROM memory_by_tile ORDER BY tile");
    for (size_t tile = 0; tile < s->num_tiles; tile++) {
        popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_TILE, tile, &memory, NULL));
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        assert_int_equal(memory.total_bytes, number(rows, 0));
        assert_int_equal(memory.total_including_gaps_bytes, number(rows, 1));
        assert_int_equal(memory.always_live_bytes, number(rows, 2));
        assert_int_equal(memory.not_always_live_peak_bytes, number(rows, 3));
        assert_int_equal(memory.interleaved_bytes, number(rows, 4));
        assert_int_equal(memory.non_interleaved_bytes, number(rows, 5));
        assert_int_equal(memory.overflowed_bytes, number(rows, 6));
    }
    expect_end(rows);
    assert_int_equal(s->info.layout_gap_bytes,
                     test_ask(s->sqlite, "SELECT max(0, coalesce(max(total_including_gaps - "
                                         "always_live_bytes - not_always_live_max_bytes), 0)) "
                                         "FROM memory_by_tile"));
}

/* The columns of memory_by_category in the order of popliner_by_tile. */
static const char category_columns[] =
    "m.non_interleaved_non_overlapped, m.non_interleaved_overlapped, "
    "m.interleaved_non_overlapped, m.interleaved_overlapped, m.overflowed_non_overlapped, "
    "m.overflowed_overlapped";

static void check_categories(const subject *s) {
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT c.name, %s FROM var_categories c LEFT JOIN memory_by_category m "
             "ON m.category_id = c.name ORDER BY c.rowid",
             category_columns);
    sqlite3_stmt *rows = query(s, sql);
    uint64_t *all = calloc(s->num_tiles, sizeof *all);
    assert_non_null(all);
    for (size_t i = 0; i < s->info.num_categories; i++) {
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        assert_string_equal(pl_profile_string(s->profile, s->profile->category_name[i]),
                            text(rows, 0));
        memset(all, 0, s->num_tiles * sizeof *all);
        for (int part = 0; part < 6; part++) {
            size_t count;
            uint64_t *values = decode(rows, part + 1, &count);
            assert_int_equal(count, s->num_tiles);
            expect_by_tile(s, (popliner_by_tile)(part + 1), i, values);
            for (size_t tile = 0; tile < s->num_tiles; tile++)
                all[tile] += values[tile];
            free(values);
        }
        expect_by_tile(s, POPLINER_BY_TILE_CATEGORY, i, all);
    }
    free(all);
    expect_end(rows);
}

/* ---- Programs ------------------------------------------------------------------------------- */

static const char all_programs[] =
    "SELECT t.name, coalesce(nullif(p.name, ''), c.name), e.compute_set, f.program, p.debug_id, "
    "  p.children, p.control_code_bytes_by_tile, x.code_bytes_by_tile_rle, r.repeat_count"
    " FROM programs p JOIN program_types t ON t.id = p.variant"
    " LEFT JOIN program_type_on_tile_execute e"
    "   ON t.name = 'OnTileExecute' AND e.id = p.variant_index"
    " LEFT JOIN compute_sets c ON c.compute_set = e.compute_set"
    " LEFT JOIN program_type_call l ON t.name = 'Call' AND l.id = p.variant_index"
    " LEFT JOIN function_programs f ON f.id = l.function_id"
    " LEFT JOIN program_type_do_exchange x ON t.name = 'DoExchange' AND x.id = p.variant_index"
    " LEFT JOIN program_type_repeat r ON t.name = 'Repeat' AND r.id = p.variant_index"
    " ORDER BY p.rowid";

/* The ids of these profiles are dense and begin with 0: they are the numbers of the walk. */
static void check_programs(const subject *s) {
    assert_int_equal(test_ask(s->sqlite, "SELECT max(id) FROM programs"), s->info.num_programs - 1);
    sqlite3_stmt *rows = query(s, all_programs);
    for (size_t i = 0; i < s->info.num_programs; i++) {
        popliner_program program = POPLINER_PROGRAM_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_PROGRAM, i, &program, NULL));
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        assert_string_equal(program.type_name, text(rows, 0));
        assert_string_equal(program.name, text(rows, 1));
        assert_int_equal(program.compute_set, index_of(rows, 2));
        assert_int_equal(program.called_program, index_of(rows, 3));
        assert_int_equal(program.debug_context, number(rows, 4));
        assert_int_equal(program.num_repeats,
                         sqlite3_column_type(rows, 8) == SQLITE_NULL ? 1 : number(rows, 8));
        size_t num_children;
        uint64_t *children = decode(rows, 5, &num_children);
        assert_int_equal(program.num_children, num_children);
        for (size_t k = 0; k < num_children; k++)
            assert_int_equal(program.children[k], children[k]);
        free(children);
        uint64_t *code = decode_runs(s, rows, 6);
        expect_by_tile(s, POPLINER_BY_TILE_CONTROL_CODE, i, code);
        free(code);
        code = decode_runs(s, rows, 7);
        expect_by_tile(s, POPLINER_BY_TILE_EXCHANGE_CODE, i, code);
        free(code);
    }
    expect_end(rows);
}

static void check_steps(const subject *s) {
    sqlite3_stmt *rows =
        query(s, "SELECT program_id, parent_step_id FROM depth_first_steps ORDER BY id");
    for (size_t i = 0; i < s->info.num_steps; i++) {
        popliner_step step = POPLINER_STEP_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_STEP, i, &step, NULL));
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        assert_int_equal(step.program, number(rows, 0));
        assert_int_equal(step.parent_step, index_of(rows, 1));
    }
    expect_end(rows);
}

/* Which programs are visited, and when. */
typedef struct visits {
    const subject *s;
    sqlite3_stmt *expected; /* id and name of the type */
    size_t count;
} visits;

static popliner_status expect_visit(void *user, size_t index, popliner_program_type type) {
    visits *v = user;
    popliner_program program = POPLINER_PROGRAM_INIT;
    assert_int_equal(sqlite3_step(v->expected), SQLITE_ROW);
    assert_int_equal(index, number(v->expected, 0));
    ASK(popliner_profile_get(v->s->profile, POPLINER_ITEM_PROGRAM, index, &program, NULL));
    assert_int_equal(program.type, type);
    assert_string_equal(program.type_name, text(v->expected, 1));
    v->count++;
    return POPLINER_OK;
}

static void check_visits(const subject *s, popliner_program_type type, const char *type_name) {
    char sql[500];
    snprintf(sql, sizeof sql,
             "SELECT p.id, t.name FROM programs p JOIN program_types t ON t.id = p.variant "
             "LEFT JOIN (SELECT program_id, min(id) AS first FROM depth_first_steps GROUP BY 1) d "
             "ON d.program_id = p.id WHERE t.name LIKE '%s' "
             "ORDER BY d.first IS NULL, d.first, p.rowid",
             type_name);
    visits v = {.s = s, .expected = query(s, sql)};
    ASK(popliner_profile_visit(s->profile, type, expect_visit, &v, NULL));
    expect_end(v.expected);
    if (type == POPLINER_PROGRAM_ANY)
        assert_int_equal(v.count, s->info.num_programs);
}

static void check_all_visits(const subject *s) {
    static const struct {
        popliner_program_type type;
        const char *name;
    } types[] = {
        {POPLINER_PROGRAM_ANY, "%"},
        {POPLINER_PROGRAM_OTHER, "of no profile"},
        {POPLINER_PROGRAM_SEQUENCE, "Sequence"},
        {POPLINER_PROGRAM_ON_TILE_EXECUTE, "OnTileExecute"},
        {POPLINER_PROGRAM_REPEAT, "Repeat"},
        {POPLINER_PROGRAM_REPEAT_WHILE, "RepeatWhile"},
        {POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH, "OnEveryTileSwitch"},
        {POPLINER_PROGRAM_CALL, "Call"},
        {POPLINER_PROGRAM_DO_EXCHANGE, "DoExchange"},
        {POPLINER_PROGRAM_GLOBAL_EXCHANGE, "GlobalExchange"},
        {POPLINER_PROGRAM_STREAM_COPY_BEGIN, "StreamCopyBegin"},
        {POPLINER_PROGRAM_STREAM_COPY_MID, "StreamCopyMid"},
        {POPLINER_PROGRAM_STREAM_COPY_END, "StreamCopyEnd"},
        {POPLINER_PROGRAM_CODE_COPY, "CodeCopy"},
        {POPLINER_PROGRAM_WRITE_UNDEF, "WriteUndef"},
        {POPLINER_PROGRAM_SET_LOCAL_CONSENSUS_FROM_VAR, "SetLocalConsensusFromVar"},
        {POPLINER_PROGRAM_SYNC, "Sync"},
        {POPLINER_PROGRAM_SANS, "Sans"},
        {POPLINER_PROGRAM_SYNC_ANS, "SyncAns"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        check_visits(s, types[i].type, types[i].name);
}

/* ---- What programs execute ------------------------------------------------------------------ */

/* The vertices of one type in a set: `row` has their number by tile, and state and code of the
 * type. */
static void check_vertices(const subject *s, size_t index, sqlite3_stmt *row,
                           uint64_t expected_count) {
    popliner_vertices vertices = POPLINER_VERTICES_INIT;
    ASK(popliner_profile_get(s->profile, POPLINER_ITEM_VERTICES, index, &vertices, NULL));
    uint64_t *by_tile = decode_runs(s, row, 2);
    size_t count;
    uint64_t *code = decode(row, 5, &count);
    uint64_t code_bytes = 0;
    size_t num_tiles = 0;
    assert_int_equal(count, s->num_tiles);
    for (size_t tile = 0; tile < s->num_tiles; tile++) {
        num_tiles += by_tile[tile] > 0;
        code_bytes += by_tile[tile] > 0 ? code[tile] : 0;
    }
    assert_int_equal(vertices.vertex_type, number(row, 1));
    assert_string_equal(vertices.name, text(row, 3));
    assert_int_equal(vertices.num_vertices, expected_count);
    assert_int_equal(vertices.num_vertices, test_sum(by_tile, s->num_tiles));
    assert_int_equal(vertices.num_tiles, num_tiles);
    assert_int_equal(vertices.state_bytes, expected_count * number(row, 4));
    assert_int_equal(vertices.code_bytes, code_bytes);
    expect_by_tile(s, POPLINER_BY_TILE_VERTICES, vertices.index, by_tile);
    free(by_tile);
    free(code);
}

/* Also compares the number of vertices with the sets' own lists. */
static void check_compute_sets(const subject *s) {
    uint64_t total_vertices = 0;
    uint64_t total_edges = 0;
    sqlite3_stmt *sets = query(s, "SELECT name, debug_id, edge_count, vertex_types, vertex_counts "
                                  "FROM compute_sets ORDER BY compute_set");
    sqlite3_stmt *vertices =
        query(s, "SELECT i.compute_set, i.vertex_type, i.instances_by_tile, t.name, t.size, "
                 "m.code_bytes FROM vertex_instances i JOIN vertex_types t ON t.id = i.vertex_type "
                 "JOIN memory_by_vertex_type m ON m.vertex_type = t.id "
                 "ORDER BY i.compute_set, i.vertex_type");
    for (size_t i = 0; i < s->info.num_compute_sets; i++) {
        popliner_compute_set set = POPLINER_COMPUTE_SET_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_COMPUTE_SET, i, &set, NULL));
        assert_int_equal(sqlite3_step(sets), SQLITE_ROW);
        assert_string_equal(set.name, text(sets, 0));
        assert_int_equal(set.debug_context, number(sets, 1));
        assert_int_equal(set.num_edges, number(sets, 2));
        size_t num_types;
        size_t num_counts;
        uint64_t *types = decode(sets, 3, &num_types);
        uint64_t *counts = decode(sets, 4, &num_counts);
        assert_int_equal(set.num_vertex_types, num_types);
        assert_int_equal(num_counts, num_types);
        assert_int_equal(set.num_vertices, test_sum(counts, num_counts));
        for (size_t place = 0; place < num_types; place++) {
            assert_int_equal(sqlite3_step(vertices), SQLITE_ROW);
            assert_int_equal(number(vertices, 0), i);
            size_t k = 0;
            while (k < num_types && types[k] != number(vertices, 1))
                k++;
            assert_true(k < num_types);
            check_vertices(s, set.first_vertices + place, vertices, counts[k]);
        }
        free(types);
        free(counts);
        total_vertices += set.num_vertices;
        total_edges += set.num_edges;
    }
    expect_end(sets);
    expect_end(vertices);
    assert_int_equal(total_vertices, s->info.num_vertices);
    assert_int_equal(total_edges, s->info.num_edges);
}

static void check_vertex_types(const subject *s) {
    sqlite3_stmt *rows = query(s, "SELECT m.code_bytes FROM vertex_types t "
                                  "JOIN memory_by_vertex_type m ON m.vertex_type = t.id "
                                  "ORDER BY t.id");
    for (size_t i = 0; i < s->info.num_vertex_types; i++) {
        size_t count;
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        uint64_t *code = decode(rows, 0, &count);
        assert_int_equal(count, s->num_tiles);
        expect_by_tile(s, POPLINER_BY_TILE_VERTEX_CODE, i, code);
        free(code);
    }
    expect_end(rows);
}

/* ---- Variables ------------------------------------------------------------------------------ */

/* These profiles have their variables in the order of the tiles. */
static void check_variables(const subject *s) {
    sqlite3_stmt *rows = query(
        s, "SELECT v.tile, CASE WHEN v.bitset & 1 THEN v.size_bytes ELSE 0 END, "
           "u.name, c.name, CASE WHEN v.bitset & 1 THEN "
           "(SELECT count(*) FROM unlowered_vars b WHERE b.rowid < u.rowid) END, v.bitset & 1 "
           "FROM vars_info v LEFT JOIN unlowered_vars u ON u.id = v.unlowered_var_id "
           "JOIN var_categories c ON c.id = v.category "
           "WHERE v.var_id % 7 = 0 ORDER BY v.var_id"); /* counting is slow */
    for (size_t i = 0; i < s->info.num_variables; i += 7) {
        popliner_variable variable = POPLINER_VARIABLE_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_VARIABLE, i, &variable, NULL));
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        assert_int_equal(variable.tile, number(rows, 0));
        assert_int_equal(variable.size_bytes, number(rows, 1));
        if (number(rows, 5) == 0)
            continue; /* not allocated: the rest means nothing */
        assert_string_equal(variable.name, text(rows, 2));
        assert_string_equal(variable.category, text(rows, 3));
        assert_int_equal(variable.unlowered_variable,
                         sqlite3_column_type(rows, 2) == SQLITE_NULL ? SIZE_MAX : number(rows, 4));
        assert_string_equal(
            pl_profile_string(s->profile, s->profile->category_name[variable.category_index]),
            variable.category);
    }
    expect_end(rows);
}

static void check_unlowered_variables(const subject *s) {
    sqlite3_stmt *rows =
        query(s, "SELECT u.name, d.ids, coalesce(sum(v.size_bytes), 0), count(v.var_id) "
                 "FROM unlowered_vars u LEFT JOIN debug_ids d ON d.variable_id = u.id "
                 "LEFT JOIN vars_info v ON v.unlowered_var_id = u.id AND v.bitset & 1 "
                 "GROUP BY u.rowid ORDER BY u.rowid");
    for (size_t i = 0; i < s->info.num_unlowered_variables; i++) {
        popliner_unlowered_variable variable = POPLINER_UNLOWERED_VARIABLE_INIT;
        size_t num_contexts;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_UNLOWERED_VARIABLE, i, &variable, NULL));
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        uint64_t *contexts = decode(rows, 1, &num_contexts);
        assert_string_equal(variable.name, text(rows, 0));
        assert_int_equal(variable.debug_context, num_contexts > 0 ? contexts[0] : 0);
        assert_int_equal(variable.size_bytes, number(rows, 2));
        assert_int_equal(variable.num_pieces, number(rows, 3));
        free(contexts);
    }
    expect_end(rows);
}

/* ---- The execution, where there is one ------------------------------------------------------ */

static void check_runs(const subject *s) {
    sqlite3_stmt *rows = query(s, "SELECT name, start_epoch_time_microseconds, "
                                  "elapsed_microseconds, num_programs, num_steps, "
                                  "sum(num_steps) OVER (ORDER BY id) - num_steps FROM runs "
                                  "ORDER BY id");
    for (size_t i = 0; i < s->info.num_runs; i++) {
        popliner_run run = POPLINER_RUN_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_RUN, i, &run, NULL));
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        assert_string_equal(run.name, text(rows, 0));
        assert_int_equal(run.start_microseconds, number(rows, 1));
        assert_int_equal(run.elapsed_microseconds, number(rows, 2));
        assert_int_equal(run.num_programs, number(rows, 3));
        assert_int_equal(run.num_steps, number(rows, 4));
        assert_int_equal(run.first_step, number(rows, 5));
        for (size_t k = 0; k < run.num_steps; k++) {
            popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
            ASK(popliner_profile_get(s->profile, POPLINER_ITEM_EXECUTION_STEP, run.first_step + k,
                                     &step, NULL));
            assert_int_equal(step.run, i);
        }
    }
    expect_end(rows);
}

static void check_executed_steps(const subject *s) {
    sqlite3_stmt *steps =
        query(s, "SELECT program, type, coalesce(max(cycles), 0), count(step_id) FROM steps "
                 "LEFT JOIN steps_by_ipu ON step_id = id GROUP BY id ORDER BY id");
    sqlite3_stmt *ipus =
        query(s, "SELECT ipu, cycles, cycles_base, active_cycles_from_min, active_cycles_to_max, "
                 "active_tiles, tile_balance FROM steps_by_ipu ORDER BY step_id, ipu");
    for (size_t i = 0; i < s->info.num_execution_steps; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        ASK(popliner_profile_get(s->profile, POPLINER_ITEM_EXECUTION_STEP, i, &step, NULL));
        assert_int_equal(sqlite3_step(steps), SQLITE_ROW);
        assert_int_equal(step.program, index_of(steps, 0));
        assert_string_equal(step.type_name, text(steps, 1));
        assert_int_equal(step.cycles, number(steps, 2));
        assert_int_equal(step.num_ipus, number(steps, 3));
        for (size_t k = 0; k < step.num_ipus; k++) {
            popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
            ASK(popliner_profile_get(s->profile, POPLINER_ITEM_IPU_STEP, step.first_ipu_step + k,
                                     &ipu, NULL));
            assert_int_equal(sqlite3_step(ipus), SQLITE_ROW);
            assert_int_equal(ipu.ipu, number(ipus, 0));
            assert_int_equal(ipu.cycles, number(ipus, 1));
            assert_int_equal(ipu.first_cycle, number(ipus, 2));
            assert_int_equal(ipu.active_from_cycles, number(ipus, 3));
            assert_int_equal(ipu.active_to_cycles, number(ipus, 4));
            assert_int_equal(ipu.num_active_tiles, number(ipus, 5));
            assert_true(ipu.tile_balance == sqlite3_column_double(ipus, 6));
        }
    }
    expect_end(steps);
    expect_end(ipus);
}

static void check_profile(const char *path) {
    subject s = begin(path, NULL);
    check_versions(&s);
    check_target(&s);
    check_graph(&s);
    check_tiles(&s);
    check_categories(&s);
    check_programs(&s);
    check_steps(&s);
    check_all_visits(&s);
    check_compute_sets(&s);
    check_vertex_types(&s);
    check_variables(&s);
    check_unlowered_variables(&s);
    check_runs(&s);
    check_executed_steps(&s);
    end(&s);
}

static void tells_of_the_sample_what_its_tables_hold(void **state) {
    (void)state;
    check_profile(PROJECT_DIRECTORY "/data/sample/profile.pop");
}

static void check_golden_profile(void *user, const test_golden_files *files) {
    (void)user;
    check_profile(files->profile);
}

static void tells_of_golden_profiles_what_their_tables_hold(void **state) {
    (void)state;
    test_each_golden_case(check_golden_profile, NULL);
}

static void tells_of_the_real_profile_what_its_tables_hold(void **state) {
    (void)state;
    char *path = test_firehose_file("profile.pop");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    check_profile(path);
    subject s = begin(path, NULL);
    assert_string_equal(s.info.poplar_version, "3.3.0 (de1f8de2a7)");
    assert_int_equal(s.info.num_vertices, 2990);
    assert_int_equal(s.info.num_execution_steps, 0);
    assert_int_equal(s.info.tiles_per_ipu, 1472);
    end(&s);
    free(path);
}

/* ---- Executions ----------------------------------------------------------------------------- */

/* A copy of the sample on which `sql` was run; the caller frees its path. */
static char *altered(void **state, const char *sql) {
    return test_altered_copy(PROJECT_DIRECTORY "/data/sample/profile.pop", *state, sql);
}

static subject begin_altered(void **state, const char *sql, const popliner_listener *listener) {
    char *path = altered(state, sql);
    subject s = begin(path, listener);
    free(path);
    return s;
}

/* Two runs of two steps each, after which a step of no run comes; the ids have gaps, and the rows
 * are not in order. The second step is a sync that no program requested, the fourth was not
 * measured. */
static const char execution[] =
    "INSERT INTO runs(id, start_epoch_time_microseconds, elapsed_microseconds, name, num_programs,"
    "  num_steps) VALUES (8, 2000, NULL, 'second', 2, 2), (3, 1000, 70, 'first', 1, 2);"
    "INSERT INTO steps(id, type, program) VALUES (30, 'DoExchange', 21), (10, 'OnTileExecute', 20),"
    "  (11, 'Sync', NULL), (40, 'OnTileExecute', 22), (41, 'OnTileExecute', 20);"
    "INSERT INTO steps_by_ipu(step_id, ipu, cycles_base, active_cycles_from_max,"
    "  active_cycles_from_mean, active_cycles_from_min, active_cycles_to_max,"
    "  active_cycles_to_mean, active_cycles_to_min, all_cycles_to_max, all_cycles_to_mean,"
    "  all_cycles_to_min, cycles, active_tiles, active_tile_balance, tile_balance) VALUES"
    "  (30, 1, 900, 9, 8, 7, 60, 50, 40, 66, 55, 44, 53, 3, 0.5, 0.25),"
    "  (30, 0, 800, 9, 8, 7, 60, 50, 40, 66, 55, 44, 50, 4, 0.5, 0.75),"
    "  (10, 0, 100, 9, 8, 5, 60, 50, 40, 66, 55, 44, 55, 5, 0.5, 1),"
    "  (11, 0, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0),"
    "  (41, 0, 300, 0, 0, 0, 0, 0, 0, 0, 0, 0, 65, 0, 0, 0);";

static void check_execution(const popliner_profile *profile) {
    static const struct {
        size_t program;
        const char *type_name;
        size_t run;
        size_t num_ipus;
        uint64_t cycles;
    } steps[] = {
        {20, "OnTileExecute", 0, 1, 55},        {SIZE_MAX, "Sync", 0, 1, 17},
        {21, "DoExchange", 1, 2, 53},           {22, "OnTileExecute", 1, 0, 0},
        {20, "OnTileExecute", SIZE_MAX, 1, 65},
    };
    static const popliner_run runs[] = {
        {sizeof(popliner_run), "first", 1000, 70, 1, 0, 2},
        {sizeof(popliner_run), "second", 2000, 0, 2, 2, 2},
    };
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    ASK(popliner_profile_get_info(profile, &info, NULL));
    assert_int_equal(info.num_runs, 2);
    assert_int_equal(info.num_execution_steps, 5);
    for (size_t i = 0; i < 2; i++) {
        popliner_run run = POPLINER_RUN_INIT;
        ASK(popliner_profile_get(profile, POPLINER_ITEM_RUN, i, &run, NULL));
        assert_string_equal(run.name, runs[i].name);
        assert_int_equal(run.start_microseconds, runs[i].start_microseconds);
        assert_int_equal(run.elapsed_microseconds, runs[i].elapsed_microseconds);
        assert_int_equal(run.num_programs, runs[i].num_programs);
        assert_int_equal(run.first_step, runs[i].first_step);
        assert_int_equal(run.num_steps, runs[i].num_steps);
    }
    for (size_t i = 0; i < 5; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        ASK(popliner_profile_get(profile, POPLINER_ITEM_EXECUTION_STEP, i, &step, NULL));
        assert_int_equal(step.program, steps[i].program);
        assert_string_equal(step.type_name, steps[i].type_name);
        assert_int_equal(step.run, steps[i].run);
        assert_int_equal(step.num_ipus, steps[i].num_ipus);
        assert_int_equal(step.cycles, steps[i].cycles);
    }
    popliner_execution_step last = POPLINER_EXECUTION_STEP_INIT;
    popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
    ASK(popliner_profile_get(profile, POPLINER_ITEM_EXECUTION_STEP, 2, &last, NULL));
    ASK(popliner_profile_get(profile, POPLINER_ITEM_IPU_STEP, last.first_ipu_step + 1, &ipu, NULL));
    assert_int_equal(ipu.ipu, 1);
    assert_int_equal(ipu.cycles, 53);
    assert_int_equal(ipu.first_cycle, 900);
    assert_int_equal(ipu.active_from_cycles, 7);
    assert_int_equal(ipu.active_to_cycles, 60);
    assert_int_equal(ipu.num_active_tiles, 3);
    assert_true(ipu.tile_balance == 0.25);
    ASK(popliner_profile_get(profile, POPLINER_ITEM_IPU_STEP, last.first_ipu_step, &ipu, NULL));
    assert_int_equal(ipu.ipu, 0);
    assert_int_equal(ipu.first_cycle, 800);
    /* 20 ran twice: 55 and 65 */
    popliner_program program = POPLINER_PROGRAM_INIT;
    ASK(popliner_profile_get(profile, POPLINER_ITEM_PROGRAM, 20, &program, NULL));
    assert_int_equal(program.cycles, 60);
    assert_int_equal(program.cycles_source, POPLINER_CYCLES_MEASURED);
}

static void tells_what_was_executed(void **state) {
    test_told told;
    popliner_listener listener = test_listen(&told);
    subject s = begin_altered(state, execution, &listener);
    check_execution(s.profile);
    end(&s);
    /* of five steps the runs have four */
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "4 steps in total, but 5"));
}

static void leaves_runs_no_more_steps_than_there_are(void **state) {
    char sql[3000];
    snprintf(sql, sizeof sql, "%s UPDATE runs SET num_steps = 9000000000000000000", execution);
    subject s = begin_altered(state, sql, NULL);
    popliner_run run = POPLINER_RUN_INIT;
    popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
    ASK(popliner_profile_get(s.profile, POPLINER_ITEM_RUN, 0, &run, NULL));
    assert_int_equal(run.num_steps, 5);
    ASK(popliner_profile_get(s.profile, POPLINER_ITEM_RUN, 1, &run, NULL));
    assert_int_equal(run.first_step, 5);
    assert_int_equal(run.num_steps, 0);
    ASK(popliner_profile_get(s.profile, POPLINER_ITEM_EXECUTION_STEP, 4, &step, NULL));
    assert_int_equal(step.run, 0);
    end(&s);
}

/* Steps without sense stay where they are, so that the runs keep their steps. */
static void tells_steps_of_no_known_program(void **state) {
    char sql[3000];
    test_told told;
    popliner_listener listener = test_listen(&told);
    snprintf(sql, sizeof sql,
             "%s DELETE FROM steps WHERE id = 41; UPDATE steps SET program = 'x' WHERE id = 10; "
             "UPDATE steps SET program = 123456 WHERE id = 30",
             execution);
    subject s = begin_altered(state, sql, &listener);
    popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
    assert_int_equal(s.info.num_execution_steps, 4);
    ASK(popliner_profile_get(s.profile, POPLINER_ITEM_EXECUTION_STEP, 0, &step, NULL));
    assert_int_equal(step.program, SIZE_MAX);
    assert_int_equal(step.cycles, 55);
    ASK(popliner_profile_get(s.profile, POPLINER_ITEM_EXECUTION_STEP, 2, &step, NULL));
    assert_int_equal(step.program, SIZE_MAX);
    assert_int_equal(step.run, 1);
    end(&s);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "2 executed steps: unknown program"));
}

/* ---- What may be missing -------------------------------------------------------------------- */

static void execute(sqlite3 *sqlite, const char *format, const char *table, const char *column) {
    char sql[500];
    snprintf(sql, sizeof sql, format, table, column);
    test_run_sql(sqlite, sql);
}

/* Sets `name` to that of the table's column in this place; false if there is none. */
static bool name_column(sqlite3 *sqlite, const char *table, int place, char name[100]) {
    char sql[200];
    sqlite3_stmt *row = NULL;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s') WHERE cid = %d", table,
             place);
    assert_int_equal(sqlite3_prepare_v2(sqlite, sql, -1, &row, NULL), SQLITE_OK);
    bool found = sqlite3_step(row) == SQLITE_ROW;
    snprintf(name, 100, "%s", found ? text(row, 0) : "");
    sqlite3_finalize(row);
    return found;
}

/* Those that every program's own table needs may be refused. */
static void expect_walk(const char *path, const char *table, const char *column) {
    popliner_profile *profile = NULL;
    popliner_error error = {.message = ""};
    bool may_refuse = strstr(table, "program") != NULL && *column != '\0';
    popliner_status status = pl_read_files(path, NULL, NULL, &profile, NULL, &error);
    if (status == POPLINER_OK)
        whole_walk(profile);
    else if (!may_refuse)
        fail_msg("%s.%s: %s", table, column, error.message);
    pl_profile_free(profile);
}

/* Each table that is optional here, and each of its columns, is away once, and full of NULLs. */
static void does_without_optional_columns(void **state) {
    static const char *const tables[] = {"steps",
                                         "steps_by_ipu",
                                         "runs",
                                         "compilation_parameters",
                                         "poplar_version",
                                         "graph_info",
                                         "memory_by_category",
                                         "program_type_call",
                                         "function_programs"};
    char *path = altered(state, execution);
    sqlite3 *sqlite = test_open_to_write(path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char name[100];
        for (int place = 0; name_column(sqlite, tables[i], place, name); place++) {
            if (!test_takes_case((size_t)place, 9))
                continue;
            execute(sqlite, "ALTER TABLE %s RENAME TO away", tables[i], "");
            execute(sqlite, "CREATE TABLE %s AS SELECT * FROM away", tables[i], "");
            execute(sqlite, "UPDATE %s SET \"%s\" = NULL", tables[i], name);
            expect_walk(path, tables[i], name);
            execute(sqlite, "ALTER TABLE %s DROP COLUMN \"%s\"", tables[i], name);
            expect_walk(path, tables[i], name);
            execute(sqlite, "DROP TABLE %s", tables[i], "");
            if (place == 0)
                expect_walk(path, tables[i], "");
            execute(sqlite, "ALTER TABLE away RENAME TO %s", tables[i], "");
        }
    }
    sqlite3_close(sqlite);
    subject s = begin(path, NULL);
    check_execution(s.profile); /* everything is back */
    end(&s);
    free(path);
}

static void leaves_unknown_categories_out(void **state) {
    test_told told;
    popliner_listener listener = test_listen(&told);
    subject s = begin_altered(
        state, "UPDATE memory_by_category SET category_id = 'new' WHERE category_id = 'message'",
        &listener);
    uint64_t *by_tile = calloc(s.num_tiles, sizeof *by_tile);
    for (size_t i = 0; i < s.info.num_categories; i++) {
        if (strcmp(pl_profile_string(s.profile, s.profile->category_name[i]), "message") == 0)
            expect_by_tile(&s, POPLINER_BY_TILE_CATEGORY, i, by_tile);
    }
    free(by_tile);
    end(&s);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "1 categories"));
}

static void refuses_children_that_are_no_programs(void **state) {
    static const char *const damages[][2] = {
        {"UPDATE programs SET children = x'7fff' WHERE id = 0", "16383"},
        {"UPDATE programs SET children = x'01' WHERE id = 0", "ends inside a number"},
        {"UPDATE memory_by_category SET interleaved_overlapped = x'8080'", "one number for each"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char *path = altered(state, damages[i][0]);
        popliner_profile *profile;
        popliner_error error = {.message = ""};
        assert_int_equal(pl_read_files(path, NULL, NULL, &profile, NULL, &error),
                         POPLINER_ERROR_INPUT);
        test_assert_sentence(error.message);
        assert_non_null(strstr(error.message, damages[i][1]));
        free(path);
    }
}

/* ---- Wrong arguments ------------------------------------------------------------------------ */

/* Calls that lead nowhere are refused with a sentence, and leave the structure as it was. */
#define REFUSES(type, init, call)                                                                  \
    do {                                                                                           \
        type told = init;                                                                          \
        const type before = told;                                                                  \
        popliner_error error = {.message = ""};                                                    \
        assert_int_equal((call), POPLINER_ERROR_USAGE);                                            \
        assert_int_equal(error.status, POPLINER_ERROR_USAGE);                                      \
        test_assert_sentence(error.message);                                                       \
        assert_memory_equal(&told, &before, sizeof told);                                          \
    } while (0)

static void refuses_numbers_beyond_the_last(void **state) {
    subject s = begin_altered(state, execution, NULL);
    const popliner_profile *p = s.profile;
    const popliner_profile_info *g = &s.info;
    popliner_compute_set set = POPLINER_COMPUTE_SET_INIT;
    popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
    ASK(popliner_profile_get(p, POPLINER_ITEM_COMPUTE_SET, g->num_compute_sets - 1, &set, NULL));
    ASK(popliner_profile_get(p, POPLINER_ITEM_EXECUTION_STEP, g->num_execution_steps - 1, &step,
                             NULL));
    const size_t beyond[] = {0, 1, SIZE_MAX / 2};
    for (size_t i = 0; i < 3; i++) {
        size_t more = beyond[i];
        REFUSES(popliner_tile_memory, POPLINER_TILE_MEMORY_INIT,
                popliner_profile_get(p, POPLINER_ITEM_TILE, s.num_tiles + more, &told, &error));
        REFUSES(
            popliner_program, POPLINER_PROGRAM_INIT,
            popliner_profile_get(p, POPLINER_ITEM_PROGRAM, g->num_programs + more, &told, &error));
        REFUSES(popliner_step, POPLINER_STEP_INIT,
                popliner_profile_get(p, POPLINER_ITEM_STEP, g->num_steps + more, &told, &error));
        REFUSES(popliner_compute_set, POPLINER_COMPUTE_SET_INIT,
                popliner_profile_get(p, POPLINER_ITEM_COMPUTE_SET, g->num_compute_sets + more,
                                     &told, &error));
        REFUSES(popliner_vertices, POPLINER_VERTICES_INIT,
                popliner_profile_get(p, POPLINER_ITEM_VERTICES,
                                     set.first_vertices + set.num_vertex_types + more, &told,
                                     &error));
        REFUSES(popliner_run, POPLINER_RUN_INIT,
                popliner_profile_get(p, POPLINER_ITEM_RUN, g->num_runs + more, &told, &error));
        REFUSES(popliner_execution_step, POPLINER_EXECUTION_STEP_INIT,
                popliner_profile_get(p, POPLINER_ITEM_EXECUTION_STEP, g->num_execution_steps + more,
                                     &told, &error));
        REFUSES(popliner_ipu_step, POPLINER_IPU_STEP_INIT,
                popliner_profile_get(p, POPLINER_ITEM_IPU_STEP,
                                     step.first_ipu_step + step.num_ipus + more, &told, &error));
        REFUSES(popliner_variable, POPLINER_VARIABLE_INIT,
                popliner_profile_get(p, POPLINER_ITEM_VARIABLE, g->num_variables + more, &told,
                                     &error));
        REFUSES(popliner_unlowered_variable, POPLINER_UNLOWERED_VARIABLE_INIT,
                popliner_profile_get(p, POPLINER_ITEM_UNLOWERED_VARIABLE,
                                     g->num_unlowered_variables + more, &told, &error));
        REFUSES(uint64_t, 7,
                popliner_profile_get(p, POPLINER_NUM_ITEMS + (popliner_item)i, 0, &told, &error));
        for (int what = -1; what <= POPLINER_BY_TILE_EXCHANGE_CODE + 1; what++)
            REFUSES(uint64_t, 7,
                    popliner_profile_by_tile(p, (popliner_by_tile)what,
                                             g->num_programs + g->num_variables + more, &told,
                                             &error));
        assert_false(popliner_liveness_is_live(p, g->num_variables + more, 0));
        assert_false(popliner_liveness_is_live(p, 0, g->num_steps + more));
        REFUSES(uint64_t, 7,
                popliner_liveness_by_step(p, s.num_tiles + more, NULL, 0, 1, &told, &error));
        REFUSES(uint64_t, 7,
                popliner_liveness_by_step(p, 0, NULL, 0, g->num_steps + 1 + more, &told, &error));
        REFUSES(uint64_t, 7, popliner_liveness_by_step(p, 0, NULL, 2, 1, &told, &error));
        REFUSES(uint64_t, 7,
                popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 2, 1, &told, &error));
    }
    /* an error need not be wanted */
    assert_int_equal(popliner_profile_get(p, POPLINER_ITEM_STEP, SIZE_MAX,
                                          &(popliner_step)POPLINER_STEP_INIT, NULL),
                     POPLINER_ERROR_USAGE);
    end(&s);
}

static void fills_structures_of_older_programs(void **state) {
    (void)state;
    subject s = begin(PROJECT_DIRECTORY "/data/sample/profile.pop", NULL);
    popliner_error error = {.message = ""};
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    info.struct_size = offsetof(popliner_profile_info, num_vertices);
    info.num_vertices = 77; /* which the caller does not have */
    ASK(popliner_profile_get_info(s.profile, &info, &error));
    assert_int_equal(info.num_compute_sets, s.info.num_compute_sets);
    assert_int_equal(info.num_vertices, 77);
    assert_int_equal(info.struct_size, offsetof(popliner_profile_info, num_vertices));
    const size_t wrong[] = {0, 1, sizeof(size_t) - 1, sizeof info + 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        info.struct_size = wrong[i];
        assert_int_equal(popliner_profile_get_info(s.profile, &info, &error), POPLINER_ERROR_USAGE);
        assert_non_null(strstr(error.message, "begin with POPLINER_PROFILE_INFO_INIT"));
        assert_int_equal(info.num_vertices, 77);
    }
    end(&s);
}

/* ---- Visitors ------------------------------------------------------------------------------- */

typedef struct stopper {
    size_t left;
    int status;
} stopper;

static popliner_status stop_after(void *user, size_t program, popliner_program_type type) {
    stopper *s = user;
    (void)program;
    (void)type;
    return s->left-- > 1 ? POPLINER_OK : (popliner_status)s->status;
}

static void stops_a_visit_with_the_visitors_status(void **state) {
    (void)state;
    static const struct {
        int returned;
        popliner_status told;
    } cases[] = {
        {POPLINER_ERROR_USAGE, POPLINER_ERROR_USAGE},
        {POPLINER_ERROR_INTERNAL, POPLINER_ERROR_INTERNAL},
        {POPLINER_ERROR_MEMORY, POPLINER_ERROR_MEMORY},
        {-1, POPLINER_ERROR_USAGE},
        {POPLINER_ERROR_STOPPED, POPLINER_ERROR_STOPPED},
        {POPLINER_ERROR_STOPPED + 1, POPLINER_ERROR_USAGE},
        {12345, POPLINER_ERROR_USAGE},
    };
    subject s = begin(PROJECT_DIRECTORY "/data/sample/profile.pop", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stopper stop = {.left = 3, .status = cases[i].returned};
        popliner_error error = {.message = ""};
        assert_int_equal(
            popliner_profile_visit(s.profile, POPLINER_PROGRAM_ANY, stop_after, &stop, &error),
            cases[i].told);
        assert_int_equal(stop.left, 0);
        assert_int_equal(error.status, cases[i].told);
        test_assert_sentence(error.message);
    }
    popliner_error error = {.message = ""};
    assert_int_equal(popliner_profile_visit(s.profile, POPLINER_PROGRAM_ANY, NULL, NULL, &error),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(
        popliner_profile_visit(s.profile, (popliner_program_type)99, stop_after, NULL, &error),
        POPLINER_ERROR_USAGE);
    assert_int_equal(
        popliner_profile_visit(s.profile, (popliner_program_type)-2, stop_after, NULL, NULL),
        POPLINER_ERROR_USAGE);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_of_the_sample_what_its_tables_hold),
        cmocka_unit_test(tells_of_golden_profiles_what_their_tables_hold),
        cmocka_unit_test(tells_of_the_real_profile_what_its_tables_hold),
        IN_DIRECTORY(tells_what_was_executed),
        IN_DIRECTORY(leaves_runs_no_more_steps_than_there_are),
        IN_DIRECTORY(tells_steps_of_no_known_program),
        IN_DIRECTORY(does_without_optional_columns),
        IN_DIRECTORY(leaves_unknown_categories_out),
        IN_DIRECTORY(refuses_children_that_are_no_programs),
        IN_DIRECTORY(refuses_numbers_beyond_the_last),
        cmocka_unit_test(fills_structures_of_older_programs),
        cmocka_unit_test(stops_a_visit_with_the_visitors_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
