/* The relations that hold in a profile, with one side from the structures that were read and the
 * other from the compiler's own tables: numbered as in the note on the format.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"
#include "test_sql.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/profile.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* One profile, read by the library and by SQL. */
typedef struct subject {
    const char *name;
    popliner_profile *profile;
    sqlite3 *sqlite;
} subject;

static sqlite3_stmt *query(const subject *s, const char *sql) {
    return test_query(s->sqlite, sql);
}

/* Adds the varint list in a column, one number per tile, to by_tile. */
static void add_list(const subject *s, sqlite3_stmt *statement, int column, uint64_t *by_tile) {
    size_t num_tiles = s->profile->target.num_tiles;
    const void *blob = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    uint64_t *values = test_new_array(num_tiles, sizeof *values);
    assert_true(pl_varint_list_read(blob, size, values, num_tiles));
    for (size_t tile = 0; tile < num_tiles; tile++)
        by_tile[tile] += values[tile];
    free(values);
}

/* Like add_list, for an RLE blob. */
static void add_rle(const subject *s, sqlite3_stmt *statement, int column, uint64_t *by_tile) {
    size_t num_tiles = s->profile->target.num_tiles;
    const void *blob = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    uint64_t *values = test_new_array(num_tiles, sizeof *values);
    assert_true(pl_rle_read(blob, size, values, num_tiles));
    for (size_t tile = 0; tile < num_tiles; tile++)
        by_tile[tile] += values[tile];
    free(values);
}

static void expect_same(const subject *s, const char *what, const uint64_t *actual,
                        const uint64_t *expected, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (actual[i] != expected[i])
            fail_msg("%s: %s [%zu]: %llu, expected %llu", s->name, what, i,
                     (unsigned long long)actual[i], (unsigned long long)expected[i]);
    }
}

static popliner_tile_memory account_of(const popliner_profile *p, size_t tile) {
    popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
    assert_int_equal(popliner_profile_get(p, POPLINER_ITEM_TILE, tile, &memory, NULL), POPLINER_OK);
    return memory;
}

/* ---- Relations 1 and 2: what is live -------------------------------------------------------- */

/* Adds the bytes of a class to the steps at which it is live. */
static void add_live(const popliner_profile *p, uint32_t class_index, uint64_t bytes,
                     uint64_t *by_step) {
    for (uint32_t range = p->class_ranges_start[class_index];
         range < p->class_ranges_start[class_index + 1]; range++) {
        for (uint32_t step = p->range_first_step[range]; step < p->range_end_step[range]; step++)
            by_step[step] += bytes;
    }
}

static void check_live_bytes_of_tiles(const subject *s) {
    const popliner_profile *p = s->profile;
    uint64_t *by_step = test_new_array(p->num_steps, sizeof *by_step);
    sqlite3_stmt *rows = query(s, "SELECT tile, always_live_bytes, not_always_live_max_bytes, "
                                  "total, total_including_gaps FROM memory_by_tile ORDER BY tile");
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        uint64_t always_live = 0;
        uint64_t peak = 0;
        memset(by_step, 0, p->num_steps * sizeof *by_step);
        for (size_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
            assert_int_equal(pl_profile_tile_of(p, i), tile);
            if (p->class_always_live[p->variable_class[i]])
                always_live += p->variable_size_bytes[i];
            else
                add_live(p, p->variable_class[i], p->variable_size_bytes[i], by_step);
        }
        for (size_t step = 0; step < p->num_steps; step++)
            peak = by_step[step] > peak ? by_step[step] : peak;
        assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
        const uint64_t actual[] = {tile, always_live, peak};
        const uint64_t expected[] = {(uint64_t)sqlite3_column_int64(rows, 0),
                                     (uint64_t)sqlite3_column_int64(rows, 1),
                                     (uint64_t)sqlite3_column_int64(rows, 2)};
        expect_same(s, "tile, always live, peak", actual, expected, 3);

        popliner_tile_memory memory = account_of(p, tile);
        const uint64_t account[] = {memory.always_live_bytes, memory.not_always_live_peak_bytes,
                                    memory.total_bytes, memory.total_including_gaps_bytes};
        const uint64_t expected_account[] = {expected[1], expected[2],
                                             (uint64_t)sqlite3_column_int64(rows, 3),
                                             (uint64_t)sqlite3_column_int64(rows, 4)};
        expect_same(s, "the compiler's account", account, expected_account, 4);
    }
    assert_int_equal(sqlite3_step(rows), SQLITE_DONE);
    sqlite3_finalize(rows);
    free(by_step);
}

/* ---- Relations 3 and 4: addresses ----------------------------------------------------------- */

/* Fills by category and tile, [category * num_tiles + tile], the bytes that share their address
 * with another variable, and those that do not; and by tile the union and the largest end. */
static void measure_addresses(const popliner_profile *p, uint64_t *overlapped, uint64_t *alone,
                              uint64_t *total, uint64_t *end) {
    size_t num_tiles = p->target.num_tiles;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        size_t first = p->tile_variables_start[tile];
        size_t last = p->tile_variables_start[tile + 1];
        for (size_t i = first; i < last; i++) {
            uint64_t variable_end = (uint64_t)p->variable_offset[i] + p->variable_size_bytes[i];
            if (p->variable_size_bytes[i] > 0 && variable_end > end[tile])
                end[tile] = variable_end;
        }
        uint8_t *users = test_new_array(end[tile], 1); /* of each address: none, one, more */
        for (size_t i = first; i < last; i++) {
            for (uint32_t byte = 0; byte < p->variable_size_bytes[i]; byte++) {
                uint8_t *user = &users[p->variable_offset[i] + byte];
                *user = *user < 2 ? (uint8_t)(*user + 1) : 2;
            }
        }
        for (size_t i = first; i < last; i++) {
            size_t place = p->variable_category[i] * num_tiles + tile;
            for (uint32_t byte = 0; byte < p->variable_size_bytes[i]; byte++) {
                if (users[p->variable_offset[i] + byte] > 1)
                    overlapped[place]++;
                else
                    alone[place]++;
            }
        }
        for (size_t address = 0; address < end[tile]; address++)
            total[tile] += users[address] > 0;
        free(users);
    }
}

static void check_addresses(const subject *s) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    size_t num_places = p->num_categories * num_tiles;
    uint64_t *overlapped = test_new_array(num_places, sizeof *overlapped);
    uint64_t *alone = test_new_array(num_places, sizeof *alone);
    uint64_t *total = test_new_array(num_tiles, sizeof *total);
    uint64_t *end = test_new_array(num_tiles, sizeof *end);
    measure_addresses(p, overlapped, alone, total, end);

    uint64_t *expected_total = test_new_array(num_tiles, sizeof *expected_total);
    uint64_t *expected_end = test_new_array(num_tiles, sizeof *expected_end);
    sqlite3_stmt *rows = query(s, "SELECT total, total_including_gaps, tile FROM memory_by_tile");
    while (sqlite3_step(rows) == SQLITE_ROW) {
        expected_total[sqlite3_column_int64(rows, 2)] = (uint64_t)sqlite3_column_int64(rows, 0);
        expected_end[sqlite3_column_int64(rows, 2)] = (uint64_t)sqlite3_column_int64(rows, 1);
    }
    sqlite3_finalize(rows);
    expect_same(s, "total", total, expected_total, num_tiles);
    expect_same(s, "total including gaps", end, expected_end, num_tiles);

    uint64_t *expected_overlapped = test_new_array(num_places, sizeof *expected_overlapped);
    uint64_t *expected_alone = test_new_array(num_places, sizeof *expected_alone);
    rows = query(s, "SELECT category_id, interleaved_overlapped, non_interleaved_overlapped, "
                    "overflowed_overlapped, interleaved_non_overlapped, "
                    "non_interleaved_non_overlapped, overflowed_non_overlapped "
                    "FROM memory_by_category");
    while (sqlite3_step(rows) == SQLITE_ROW) {
        size_t category = 0;
        while (category < p->num_categories &&
               strcmp(pl_profile_string(p, p->category_name[category]),
                      (const char *)sqlite3_column_text(rows, 0)) != 0)
            category++;
        assert_true(category < p->num_categories);
        for (int column = 1; column <= 3; column++) {
            add_list(s, rows, column, expected_overlapped + category * num_tiles);
            add_list(s, rows, column + 3, expected_alone + category * num_tiles);
        }
    }
    sqlite3_finalize(rows);
    expect_same(s, "overlapped, by category and tile", overlapped, expected_overlapped, num_places);
    expect_same(s, "non-overlapped, by category and tile", alone, expected_alone, num_places);
    free(overlapped);
    free(alone);
    free(total);
    free(end);
    free(expected_total);
    free(expected_end);
    free(expected_overlapped);
    free(expected_alone);
}

/* ---- Relation 5: live bytes by step --------------------------------------------------------- */

static void check_live_bytes_of_steps(const subject *s) {
    const popliner_profile *p = s->profile;
    uint64_t *actual = test_new_array(p->num_steps, sizeof *actual);
    for (size_t i = 0; i < p->num_variables; i++) {
        if (!p->class_always_live[p->variable_class[i]])
            add_live(p, p->variable_class[i], p->variable_size_bytes[i], actual);
    }
    /* of all IPUs, and of the only one */
    static const char *const queries[] = {
        "SELECT step_id, delta_bytes FROM memory_not_always_live_by_step_and_ipu WHERE ipu IS NULL",
        "SELECT step_id, delta_bytes FROM memory_not_always_live_by_step_and_ipu WHERE ipu = 0",
    };
    for (size_t k = 0; k < 2; k++) {
        uint64_t *expected = test_new_array(p->num_steps, sizeof *expected);
        sqlite3_stmt *rows = query(s, queries[k]);
        size_t num_rows = 0;
        while (sqlite3_step(rows) == SQLITE_ROW) {
            uint64_t step = (uint64_t)sqlite3_column_int64(rows, 0);
            /* a change after the last step has nothing left to change */
            if (step < p->num_steps)
                expected[step] += (uint64_t)sqlite3_column_int64(rows, 1);
            num_rows++;
        }
        sqlite3_finalize(rows);
        assert_true(num_rows > 0);
        for (size_t step = 1; step < p->num_steps; step++)
            expected[step] += expected[step - 1];
        expect_same(s, "live bytes by step", actual, expected, p->num_steps);
        free(expected);
    }
    free(actual);
}

/* ---- Relations 6 and 7: vertices ------------------------------------------------------------ */

/* The vertices of every compute set by type, in the order of compute_sets and its two lists. */
static void check_vertices(const subject *s) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    uint64_t *by_tile = test_new_array(num_tiles, sizeof *by_tile);
    uint64_t *expected_by_tile = test_new_array(num_tiles, sizeof *expected_by_tile);
    uint64_t vertices = 0;
    sqlite3_stmt *sets = query(s, "SELECT vertex_types, vertex_counts, name, debug_id, compute_set "
                                  "FROM compute_sets ORDER BY compute_set");
    sqlite3_stmt *instances = query(s, "SELECT instances_by_tile FROM vertex_instances WHERE "
                                       "compute_set = ?1 AND vertex_type = ?2");
    for (size_t set = 0; set < p->num_compute_sets; set++) {
        assert_int_equal(sqlite3_step(sets), SQLITE_ROW);
        assert_string_equal(pl_profile_string(p, p->compute_set_name[set]),
                            (const char *)sqlite3_column_text(sets, 2));
        assert_int_equal(p->compute_set_debug_context[set], sqlite3_column_int64(sets, 3));
        uint64_t *types = test_new_array(p->num_vertex_types, sizeof *types);
        uint64_t *counts = test_new_array(p->num_vertex_types, sizeof *counts);
        size_t num_types =
            p->compute_set_vertices_start[set + 1] - (size_t)p->compute_set_vertices_start[set];
        assert_true(num_types <= p->num_vertex_types);
        assert_true(pl_varint_list_read(sqlite3_column_blob(sets, 0),
                                        (size_t)sqlite3_column_bytes(sets, 0), types, num_types));
        assert_true(pl_varint_list_read(sqlite3_column_blob(sets, 1),
                                        (size_t)sqlite3_column_bytes(sets, 1), counts, num_types));
        for (size_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            uint32_t type = p->compute_set_vertex_type[i];
            memset(by_tile, 0, num_tiles * sizeof *by_tile);
            pl_series_add(p, p->compute_set_vertex_instances[i], 1, by_tile);
            vertices += test_sum(by_tile, num_tiles);
            /* type ids are their places in all files available; the list may have any order */
            size_t place = 0;
            while (place < num_types && types[place] != type)
                place++;
            assert_true(place < num_types);
            assert_int_equal(test_sum(by_tile, num_tiles), counts[place]);

            memset(expected_by_tile, 0, num_tiles * sizeof *expected_by_tile);
            sqlite3_reset(instances);
            sqlite3_bind_int64(instances, 1, sqlite3_column_int64(sets, 4));
            sqlite3_bind_int64(instances, 2, (sqlite3_int64)type);
            assert_int_equal(sqlite3_step(instances), SQLITE_ROW);
            add_rle(s, instances, 0, expected_by_tile);
            expect_same(s, "vertices by tile", by_tile, expected_by_tile, num_tiles);

            /* added twice more */
            pl_series_add(p, p->compute_set_vertex_instances[i], 2, by_tile);
            add_rle(s, instances, 0, expected_by_tile);
            add_rle(s, instances, 0, expected_by_tile);
            expect_same(s, "three times the vertices", by_tile, expected_by_tile, num_tiles);
        }
        free(types);
        free(counts);
    }
    assert_int_equal(sqlite3_step(sets), SQLITE_DONE);
    sqlite3_finalize(sets);
    sqlite3_finalize(instances);
    assert_int_equal(vertices, test_ask(s->sqlite, "SELECT num_vertices FROM graph_info"));
    assert_int_equal(p->num_variables, test_ask(s->sqlite, "SELECT num_vars FROM graph_info"));
    free(by_tile);
    free(expected_by_tile);
}

/* Bytes of the variables of a category, on all tiles. */
static uint64_t category_bytes(const popliner_profile *p, const char *name) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->num_variables; i++) {
        pl_string category = p->category_name[p->variable_category[i]];
        if (strcmp(pl_profile_string(p, category), name) == 0)
            bytes += p->variable_size_bytes[i];
    }
    return bytes;
}

static void check_vertex_memory(const subject *s) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    uint64_t *pointers_and_data = test_new_array(num_tiles, sizeof *pointers_and_data);
    uint64_t *descriptors = test_new_array(num_tiles, sizeof *descriptors);
    uint64_t *of_sets = test_new_array(num_tiles, sizeof *of_sets);
    uint64_t *code = test_new_array(num_tiles, sizeof *code);
    uint64_t *expected_code = test_new_array(num_tiles, sizeof *expected_code);

    sqlite3_stmt *rows = query(s, "SELECT copy_ptr_bytes, edge_ptr_bytes, vertex_data_bytes, "
                                  "descriptor_bytes, code_bytes, vertex_type "
                                  "FROM memory_by_vertex_type");
    while (sqlite3_step(rows) == SQLITE_ROW) {
        for (int column = 0; column < 3; column++)
            add_list(s, rows, column, pointers_and_data);
        add_list(s, rows, 3, descriptors);
        memset(expected_code, 0, num_tiles * sizeof *expected_code);
        memset(code, 0, num_tiles * sizeof *code);
        add_list(s, rows, 4, expected_code);
        pl_series_add(p, p->vertex_type_code[sqlite3_column_int64(rows, 5)], 1, code);
        expect_same(s, "vertex code by tile", code, expected_code, num_tiles);
    }
    sqlite3_finalize(rows);
    rows = query(s, "SELECT copy_ptr_bytes, edge_ptr_bytes, vertex_data_bytes "
                    "FROM memory_by_compute_set");
    while (sqlite3_step(rows) == SQLITE_ROW) {
        for (int column = 0; column < 3; column++)
            add_rle(s, rows, column, of_sets);
    }
    sqlite3_finalize(rows);
    uint64_t held = category_bytes(p, "vertexInstanceState") + category_bytes(p, "vertexFieldData");
    assert_int_equal(held, test_sum(pointers_and_data, num_tiles));
    assert_int_equal(held, test_sum(of_sets, num_tiles));
    assert_int_equal(category_bytes(p, "copyDescriptor"), test_sum(descriptors, num_tiles));
    free(pointers_and_data);
    free(descriptors);
    free(of_sets);
    free(code);
    free(expected_code);
}

/* ---- Relation 8: the steps ------------------------------------------------------------------ */

typedef struct walk {
    const subject *s;
    size_t step;
    sqlite3_stmt *program; /* children, function body, place among the rows, by id */
} walk;

/* Expects the program and all below it at the next steps. */
static void walk_program(walk *w, uint64_t program_id, uint32_t parent) {
    const popliner_profile *p = w->s->profile;
    assert_true(w->step < p->num_steps);
    uint32_t step = (uint32_t)w->step++;
    sqlite3_reset(w->program);
    sqlite3_bind_int64(w->program, 1, (sqlite3_int64)program_id);
    assert_int_equal(sqlite3_step(w->program), SQLITE_ROW);
    assert_int_equal(p->step_program[step], sqlite3_column_int64(w->program, 2));
    assert_int_equal(p->step_parent[step], parent);

    size_t num_children;
    const void *blob = sqlite3_column_blob(w->program, 0);
    size_t size = (size_t)sqlite3_column_bytes(w->program, 0);
    assert_true(pl_varint_list_count(blob, size, &num_children));
    assert_int_equal(pl_profile_num_children(p, p->step_program[step]), num_children);
    uint64_t *children = test_new_array(num_children + 1, sizeof *children);
    assert_true(pl_varint_list_read(blob, size, children, num_children));
    if (sqlite3_column_type(w->program, 1) != SQLITE_NULL) {
        assert_int_equal(p->program_type[p->step_program[step]], POPLINER_PROGRAM_CALL);
        children[num_children++] = (uint64_t)sqlite3_column_int64(w->program, 1);
    }
    for (size_t i = 0; i < num_children; i++)
        walk_program(w, children[i], step);
    free(children);
}

static void check_steps(const subject *s) {
    walk w = {.s = s};
    w.program = query(s, "SELECT p.children, f.program, (SELECT count(*) FROM programs b WHERE "
                         "b.rowid < p.rowid) FROM programs p "
                         "JOIN program_types t ON t.id = p.variant "
                         "LEFT JOIN program_type_call c ON t.name = 'Call' AND "
                         "c.id = p.variant_index "
                         "LEFT JOIN function_programs f ON f.id = c.function_id WHERE p.id = ?1");
    sqlite3_stmt *roots = query(s, "SELECT program FROM control_programs ORDER BY id");
    while (sqlite3_step(roots) == SQLITE_ROW)
        walk_program(&w, (uint64_t)sqlite3_column_int64(roots, 0), PL_NONE);
    assert_int_equal(w.step, s->profile->num_steps);
    sqlite3_finalize(roots);
    sqlite3_finalize(w.program);
}

/* ---- The variables of programs, which the note describes without a relation ------------------ */

static int compare_numbers(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Adds the ids of a compute set's variables. */
static size_t add_set(const subject *s, uint64_t set, uint64_t *ids, size_t count) {
    sqlite3_stmt *rows =
        query(s, "SELECT var_ids_diff_rle FROM compute_sets WHERE compute_set = ?1");
    sqlite3_bind_int64(rows, 1, (sqlite3_int64)set);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    pl_runs runs =
        pl_runs_begin(sqlite3_column_blob(rows, 0), (size_t)sqlite3_column_bytes(rows, 0));
    uint64_t id = 0;
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&runs, &value, &length) > 0) {
        for (uint64_t i = 0; i < length; i++)
            ids[count++] = id += value;
    }
    sqlite3_finalize(rows);
    return count;
}

static size_t add_query(const subject *s, const char *sql, uint64_t variant, uint64_t *ids,
                        size_t count) {
    sqlite3_stmt *rows = query(s, sql);
    sqlite3_bind_int64(rows, 1, (sqlite3_int64)variant);
    while (sqlite3_step(rows) == SQLITE_ROW)
        ids[count++] = (uint64_t)sqlite3_column_int64(rows, 0);
    sqlite3_finalize(rows);
    return count;
}

/* The ids in the files available are the places of the variables, see the check. */
static void check_variables_of_programs(const subject *s) {
    const popliner_profile *p = s->profile;
    assert_int_equal(test_ask(s->sqlite, "SELECT min(var_id) FROM vars_info"), 0);
    assert_int_equal(test_ask(s->sqlite, "SELECT max(var_id) FROM vars_info"),
                     p->num_variables - 1);
    assert_int_equal(test_ask(s->sqlite, "SELECT count(*) FROM vars_info a JOIN vars_info b ON "
                                         "b.var_id = a.var_id + 1 WHERE b.tile < a.tile"),
                     0);
    /* a variable may be on both sides of an exchange */
    uint64_t *expected = test_new_array(p->num_variables * 4, sizeof *expected);
    uint64_t *actual = test_new_array(p->num_variables * 4, sizeof *actual);
    uint64_t *code = test_new_array(p->target.num_tiles, sizeof *code);
    uint64_t *expected_code = test_new_array(p->target.num_tiles, sizeof *expected_code);
    sqlite3_stmt *programs = query(s, "SELECT t.name, p.variant_index, p.debug_id, p.name, "
                                      "p.control_code_bytes_by_tile, e.code_bytes_by_tile_rle "
                                      "FROM programs p JOIN program_types t ON t.id = p.variant "
                                      "LEFT JOIN program_type_do_exchange e ON t.name = "
                                      "'DoExchange' AND e.id = p.variant_index ORDER BY p.rowid");
    size_t with_variables = 0;
    for (size_t program = 0; program < p->num_programs; program++) {
        assert_int_equal(sqlite3_step(programs), SQLITE_ROW);
        const char *type = (const char *)sqlite3_column_text(programs, 0);
        uint64_t variant = (uint64_t)sqlite3_column_int64(programs, 1);
        size_t num_expected = 0;
        if (strcmp(type, "OnTileExecute") == 0) {
            sqlite3_stmt *set = query(s, "SELECT compute_set FROM program_type_on_tile_execute "
                                         "WHERE id = ?1");
            sqlite3_bind_int64(set, 1, (sqlite3_int64)variant);
            assert_int_equal(sqlite3_step(set), SQLITE_ROW);
            num_expected = add_set(s, (uint64_t)sqlite3_column_int64(set, 0), expected, 0);
            sqlite3_finalize(set);
        } else if (strcmp(type, "DoExchange") == 0) {
            num_expected =
                add_query(s,
                          "SELECT r.var_id FROM program_type_do_exchange e JOIN exchange_regions r "
                          "ON r.id = e.source_regions_id WHERE e.id = ?1 UNION ALL "
                          "SELECT r.var_id FROM program_type_do_exchange e JOIN exchange_regions r "
                          "ON r.id = e.destination_regions_id WHERE e.id = ?1",
                          variant, expected, 0);
        } else if (strcmp(type, "StreamCopyMid") == 0) {
            num_expected = add_query(
                s,
                "SELECT r.var_id FROM host_exchange_from_host h JOIN exchange_regions r ON "
                "r.id = h.regions_id WHERE h.stream_copy_mid_id = ?1 UNION ALL "
                "SELECT r.var_id FROM host_exchange_to_host h JOIN exchange_regions r ON "
                "r.id = h.regions_id WHERE h.stream_copy_mid_id = ?1",
                variant, expected, 0);
        }
        size_t num_actual = 0;
        for (size_t i = p->program_lists_start[program]; i < p->program_lists_start[program + 1];
             i++) {
            uint32_t list = p->program_list[i];
            for (size_t k = p->list_start[list]; k < p->list_start[list + 1]; k++)
                actual[num_actual++] = p->list_variable[k];
        }
        with_variables += num_actual > 0;
        qsort(expected, num_expected, sizeof *expected, compare_numbers);
        qsort(actual, num_actual, sizeof *actual, compare_numbers);
        if (num_actual != num_expected)
            fail_msg("%s: program %zu (%s) has %zu variables, expected %zu", s->name, program, type,
                     num_actual, num_expected);
        expect_same(s, "variables of a program", actual, expected, num_actual);

        assert_int_equal(p->program_debug_context[program], sqlite3_column_int64(programs, 2));
        const char *name = (const char *)sqlite3_column_text(programs, 3);
        assert_string_equal(pl_profile_string(p, p->program_name[program]), name ? name : "");
        const pl_series series[] = {p->program_control_code[program],
                                    p->program_exchange_code[program]};
        for (int column = 4; column < 6; column++) {
            memset(code, 0, p->target.num_tiles * sizeof *code);
            memset(expected_code, 0, p->target.num_tiles * sizeof *expected_code);
            pl_series_add(p, series[column - 4], 1, code);
            if (sqlite3_column_type(programs, column) != SQLITE_NULL)
                add_rle(s, programs, column, expected_code);
            expect_same(s, "code of a program by tile", code, expected_code, p->target.num_tiles);
        }
    }
    assert_true(with_variables > 10);
    sqlite3_finalize(programs);
    free(expected);
    free(actual);
    free(code);
    free(expected_code);
}

/* ---- The profiles --------------------------------------------------------------------------- */

static bool begin(subject *s, char *path, const char *name) {
    if (path == NULL)
        return false;
    *s = (subject){.name = name};
    popliner_error error = {0};
    if (pl_read_profile(path, NULL, &s->profile, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    s->sqlite = test_open_sql(path, SQLITE_OPEN_READONLY);
    free(path);
    return true;
}

static void end(subject *s) {
    sqlite3_close(s->sqlite);
    pl_profile_free(s->profile);
}

/* Checks the real profile and every golden one; skips if there are none. */
static void check_all(void (*check)(const subject *)) {
    static char names[TEST_MOST_CASES][TEST_CASE_NAME];
    size_t num_cases = test_golden_cases(names);
    size_t checked = 0;
    subject s;
    for (size_t i = 0; i < num_cases; i++) {
        if (begin(&s, test_golden_file(names[i], "profile.pop"), names[i])) {
            check(&s);
            end(&s);
            checked++;
        }
    }
    if (begin(&s, test_firehose_file("profile.pop"), "real")) {
        check(&s);
        end(&s);
        checked++;
    }
    if (checked == 0)
        test_skip("its data is in ../shared alone");
}

static void tells_the_live_bytes_of_every_tile(void **state) {
    (void)state;
    check_all(check_live_bytes_of_tiles);
}

static void tells_what_every_address_holds(void **state) {
    (void)state;
    check_all(check_addresses);
}

static void tells_the_live_bytes_of_every_step(void **state) {
    (void)state;
    check_all(check_live_bytes_of_steps);
}

static void counts_the_vertices(void **state) {
    (void)state;
    check_all(check_vertices);
}

static void tells_the_memory_of_vertices(void **state) {
    (void)state;
    check_all(check_vertex_memory);
}

static void walks_the_programs_in_the_order_of_the_steps(void **state) {
    (void)state;
    check_all(check_steps);
}

static void gives_programs_their_variables_and_code(void **state) {
    (void)state;
    check_all(check_variables_of_programs);
}

/* The facts that the note lists. */
static void agrees_with_what_is_known_of_the_real_profile(void **state) {
    (void)state;
    subject s;
    if (!begin(&s, test_firehose_file("profile.pop"), "real"))
        test_skip("its data is in ../shared alone");
    const popliner_profile *p = s.profile;
    static const struct {
        const char *name;
        uint64_t bytes;
        bool always_live;
    } categories[] = {
        {"vertexCode", 979192, true},
        {"controlCode", 772760, true},
        {"stack", 486176, true},
        {"hostExchangeCode", 213704, true},
        {"internalExchangeCode", 33532, true},
    };
    for (size_t k = 0; k < sizeof categories / sizeof *categories; k++)
        assert_int_equal(category_bytes(p, categories[k].name), categories[k].bytes);
    uint64_t not_always_live = 0;
    for (size_t i = 0; i < p->num_variables; i++) {
        const char *category = pl_profile_string(p, p->category_name[p->variable_category[i]]);
        bool always_live = p->class_always_live[p->variable_class[i]] != 0;
        if (p->variable_size_bytes[i] == 0)
            continue;
        for (size_t k = 0; k < sizeof categories / sizeof *categories; k++) {
            if (strcmp(category, categories[k].name) == 0)
                assert_true(always_live);
        }
        if (strcmp(category, "variable") == 0 && !always_live)
            not_always_live += p->variable_size_bytes[i];
    }
    assert_int_equal(not_always_live, 760012);
    assert_int_equal(p->num_categories, 27);

    uint64_t largest = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        popliner_tile_memory memory = account_of(p, tile);
        largest = memory.total_bytes > largest ? memory.total_bytes : largest;
    }
    assert_int_equal(largest, 8281);
    assert_int_equal(account_of(p, 0).total_bytes, 8281);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_live_bytes_of_every_tile),
        cmocka_unit_test(tells_what_every_address_holds),
        cmocka_unit_test(tells_the_live_bytes_of_every_step),
        cmocka_unit_test(counts_the_vertices),
        cmocka_unit_test(tells_the_memory_of_vertices),
        cmocka_unit_test(walks_the_programs_in_the_order_of_the_steps),
        cmocka_unit_test(gives_programs_their_variables_and_code),
        cmocka_unit_test(agrees_with_what_is_known_of_the_real_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
