/* Whose the code is that no operation explains, a program's or the compiler's: a diagnosis against
 * what SQL finds in the profile, tile by tile, from the programs that are missing alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/diagnosis.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "test_data.h"
#include "test_sql.h"

enum { VERTEX, INSTANCES, FIELDS, DESCRIPTORS, EXCHANGE, CONTROL, NUM_CODES };

static const char *const code_names[NUM_CODES] = {"vertexCode",           "vertexInstanceState",
                                                  "vertexFieldData",      "copyDescriptor",
                                                  "internalExchangeCode", "controlCode"};

/* Bytes by owner and tile: item owner * num_tiles + tile. */
typedef uint64_t *by_owner;

/* The results of SQL; owners are in the order of their tables. */
typedef struct found {
    size_t num_tiles;
    size_t num_programs;
    size_t num_sets;
    size_t num_types;
    uint64_t *program_id;
    uint64_t *set_id;
    uint64_t *type_id;
    char (*type_name)[200];
    bool *is_parent;    /* [num_programs]: has children */
    size_t *set_of;     /* [num_programs]: SIZE_MAX for none */
    by_owner control;   /* of programs, without that of their children */
    by_owner exchange;  /* of programs */
    by_owner type_code; /* of types */
    by_owner instances; /* of sets: instances times size */
    by_owner told;      /* of sets: all state but descriptors */
    by_owner descriptors;
    bool *type_is_used;         /* (set * num_types + type) * num_tiles + tile */
    uint64_t *truth[NUM_CODES]; /* by tile */
    bool is_touched[NUM_CODES]; /* lists of programs have variables of the category */
} found;

/* ---- The profile, by SQL -------------------------------------------------------------------- */

static size_t place_of(const uint64_t *ids, size_t count, uint64_t id) {
    size_t place = 0;
    while (place < count && ids[place] != id)
        place++;
    assert_true(place < count);
    return place;
}

static uint64_t *read_ids(sqlite3 *db, const char *sql, size_t *count) {
    uint64_t *ids = NULL;
    sqlite3_stmt *statement = test_query(db, sql);
    for (*count = 0; sqlite3_step(statement) == SQLITE_ROW; ++*count) {
        ids = realloc(ids, (*count + 1) * sizeof *ids);
        assert_non_null(ids);
        ids[*count] = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    sqlite3_finalize(statement);
    return ids;
}

/* Adds `factor` times the numbers of a column, RLE or a list, to by_tile. */
static void add_column(const found *f, sqlite3_stmt *statement, int column, bool is_list,
                       uint64_t factor, uint64_t *by_tile) {
    const void *blob = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    uint64_t *values = test_new_array(f->num_tiles, sizeof *values);
    if (size > 0)
        assert_true(is_list ? pl_varint_list_read(blob, size, values, f->num_tiles)
                            : pl_rle_read(blob, size, values, f->num_tiles));
    for (size_t tile = 0; tile < f->num_tiles; tile++)
        by_tile[tile] += factor * values[tile];
    free(values);
}

/* All control code of the programs, then that of the children is taken away from their parents. */
static void read_control(sqlite3 *db, found *f) {
    sqlite3_stmt *statement =
        test_query(db, "SELECT control_code_bytes_by_tile, children FROM programs ORDER BY rowid");
    by_owner all = test_new_array(f->num_programs * f->num_tiles, sizeof *all);
    f->control = test_new_array(f->num_programs * f->num_tiles, sizeof *f->control);
    f->is_parent = test_new_array(f->num_programs, sizeof *f->is_parent);
    for (size_t i = 0; sqlite3_step(statement) == SQLITE_ROW; i++)
        add_column(f, statement, 0, false, 1, all + i * f->num_tiles);
    memcpy(f->control, all, f->num_programs * f->num_tiles * sizeof *all);
    sqlite3_reset(statement);
    for (size_t i = 0; sqlite3_step(statement) == SQLITE_ROW; i++) {
        const uint8_t *blob = sqlite3_column_blob(statement, 1);
        size_t size = (size_t)sqlite3_column_bytes(statement, 1);
        const uint8_t *end = blob + size;
        uint64_t id = 0;
        for (const uint8_t *c = blob; size > 0 && c < end;) {
            assert_true(pl_varint_read(&c, end, &id));
            size_t child = place_of(f->program_id, f->num_programs, id);
            f->is_parent[i] = true;
            for (size_t tile = 0; tile < f->num_tiles; tile++)
                f->control[i * f->num_tiles + tile] -= all[child * f->num_tiles + tile];
        }
    }
    sqlite3_finalize(statement);
    free(all);
}

static void read_programs(sqlite3 *db, found *f) {
    f->exchange = test_new_array(f->num_programs * f->num_tiles, sizeof *f->exchange);
    f->set_of = test_new_array(f->num_programs, sizeof *f->set_of);
    memset(f->set_of, 0xff, f->num_programs * sizeof *f->set_of);
    sqlite3_stmt *statement =
        test_query(db, "SELECT programs.id, code_bytes_by_tile_rle FROM programs"
                       " JOIN program_types ON variant = program_types.id"
                       " JOIN program_type_do_exchange AS t ON t.id = variant_index"
                       " WHERE program_types.name = 'DoExchange'");
    while (sqlite3_step(statement) == SQLITE_ROW) {
        size_t program =
            place_of(f->program_id, f->num_programs, (uint64_t)sqlite3_column_int64(statement, 0));
        add_column(f, statement, 1, false, 1, f->exchange + program * f->num_tiles);
    }
    sqlite3_finalize(statement);
    statement = test_query(db, "SELECT programs.id, compute_set FROM programs"
                               " JOIN program_types ON variant = program_types.id"
                               " JOIN program_type_on_tile_execute AS t ON t.id = variant_index"
                               " WHERE program_types.name = 'OnTileExecute'");
    while (sqlite3_step(statement) == SQLITE_ROW)
        f->set_of[place_of(f->program_id, f->num_programs,
                           (uint64_t)sqlite3_column_int64(statement, 0))] =
            place_of(f->set_id, f->num_sets, (uint64_t)sqlite3_column_int64(statement, 1));
    sqlite3_finalize(statement);
}

static void read_vertices(sqlite3 *db, found *f) {
    size_t n = f->num_tiles;
    f->type_code = test_new_array(f->num_types * n, sizeof *f->type_code);
    f->type_name = test_new_array(f->num_types, sizeof *f->type_name);
    f->instances = test_new_array(f->num_sets * n, sizeof *f->instances);
    f->told = test_new_array(f->num_sets * n, sizeof *f->told);
    f->descriptors = test_new_array(f->num_sets * n, sizeof *f->descriptors);
    f->type_is_used = test_new_array(f->num_sets * f->num_types * n, sizeof *f->type_is_used);
    sqlite3_stmt *statement = test_query(db, "SELECT id, name, code_bytes FROM vertex_types"
                                             " JOIN memory_by_vertex_type ON vertex_type = id");
    while (sqlite3_step(statement) == SQLITE_ROW) {
        size_t type =
            place_of(f->type_id, f->num_types, (uint64_t)sqlite3_column_int64(statement, 0));
        snprintf(f->type_name[type], sizeof f->type_name[type], "%s",
                 (const char *)sqlite3_column_text(statement, 1));
        add_column(f, statement, 2, true, 1, f->type_code + type * n);
    }
    sqlite3_finalize(statement);
    statement = test_query(db, "SELECT compute_set, vertex_type, instances_by_tile, size"
                               " FROM vertex_instances JOIN vertex_types ON vertex_type = id");
    while (sqlite3_step(statement) == SQLITE_ROW) {
        size_t set = place_of(f->set_id, f->num_sets, (uint64_t)sqlite3_column_int64(statement, 0));
        size_t type =
            place_of(f->type_id, f->num_types, (uint64_t)sqlite3_column_int64(statement, 1));
        uint64_t *numbers = test_new_array(n, sizeof *numbers);
        add_column(f, statement, 2, false, 1, numbers);
        for (size_t tile = 0; tile < n; tile++) {
            f->instances[set * n + tile] +=
                numbers[tile] * (uint64_t)sqlite3_column_int64(statement, 3);
            f->type_is_used[(set * f->num_types + type) * n + tile] = numbers[tile] > 0;
        }
        free(numbers);
    }
    sqlite3_finalize(statement);
    statement = test_query(db, "SELECT compute_set, vertex_data_bytes, copy_ptr_bytes,"
                               " edge_ptr_bytes, descriptor_bytes FROM memory_by_compute_set");
    while (sqlite3_step(statement) == SQLITE_ROW) {
        size_t set = place_of(f->set_id, f->num_sets, (uint64_t)sqlite3_column_int64(statement, 0));
        for (int column = 1; column < 4; column++)
            add_column(f, statement, column, false, 1, f->told + set * n);
        add_column(f, statement, 4, false, 1, f->descriptors + set * n);
    }
    sqlite3_finalize(statement);
}

static found find(sqlite3 *db) {
    found f = {.num_tiles = (size_t)test_ask(db, "SELECT num_tiles FROM target_info")};
    f.program_id = read_ids(db, "SELECT id FROM programs ORDER BY rowid", &f.num_programs);
    f.set_id =
        read_ids(db, "SELECT compute_set FROM compute_sets ORDER BY compute_set", &f.num_sets);
    f.type_id = read_ids(db, "SELECT id FROM vertex_types ORDER BY id", &f.num_types);
    read_control(db, &f);
    read_programs(db, &f);
    read_vertices(db, &f);
    for (int code = 0; code < NUM_CODES; code++) {
        f.truth[code] = test_new_array(f.num_tiles, sizeof(uint64_t));
        assert_true(test_category_bytes(db, code_names[code], f.num_tiles, f.truth[code]));
    }
    return f;
}

static void find_touched(found *f, const popliner_profile *p) {
    for (size_t i = 0; i < p->num_list_variables; i++) {
        const uint8_t category = p->variable_category[p->list_variable[i]];
        for (int code = 0; code < NUM_CODES; code++)
            f->is_touched[code] |=
                strcmp(pl_profile_string(p, p->category_name[category]), code_names[code]) == 0;
    }
}

static void free_found(found *f) {
    void *const arrays[] = {f->program_id,  f->set_id,    f->type_id, f->type_name,
                            f->is_parent,   f->set_of,    f->control, f->exchange,
                            f->type_code,   f->instances, f->told,    f->descriptors,
                            f->type_is_used};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    for (int code = 0; code < NUM_CODES; code++)
        free(f->truth[code]);
}

/* ---- Who has it ----------------------------------------------------------------------------- */

static bool set_is_seen(const found *f, const bool *program_seen, size_t set) {
    for (size_t i = 0; i < f->num_programs; i++) {
        if (f->set_of[i] == set && program_seen[i])
            return true;
    }
    return false;
}

/* Whether programs that are seen, or else missing ones, have vertices of a type on a tile. */
static bool type_is_had(const found *f, const bool *program_seen, size_t type, size_t tile,
                        bool is_seen) {
    for (size_t i = 0; i < f->num_programs; i++) {
        if (f->set_of[i] != SIZE_MAX && program_seen[i] == is_seen &&
            f->type_is_used[(f->set_of[i] * f->num_types + type) * f->num_tiles + tile])
            return true;
    }
    return false;
}

static uint64_t state_of(const found *f, int code, size_t set, size_t tile) {
    uint64_t told = f->told[set * f->num_tiles + tile];
    uint64_t instances = f->instances[set * f->num_tiles + tile];
    assert_true(instances <= told);
    return code == INSTANCES ? instances
           : code == FIELDS  ? told - instances
                             : f->descriptors[set * f->num_tiles + tile];
}

/* How many owners a code may have: types, compute sets or programs. */
static size_t num_owners(const found *f, int code) {
    return code == VERTEX ? f->num_types : code >= EXCHANGE ? f->num_programs : f->num_sets;
}

/* The bytes of an owner on a tile, and whether programs that count explain them. */
static uint64_t bytes_of(const found *f, const bool *program_seen, int code, size_t owner,
                         size_t tile, bool *is_explained) {
    size_t item = owner * f->num_tiles + tile;
    switch (code) {
    case VERTEX:
        *is_explained = type_is_had(f, program_seen, owner, tile, true);
        return *is_explained || type_is_had(f, program_seen, owner, tile, false)
                   ? f->type_code[item]
                   : 0;
    case EXCHANGE:
        *is_explained = program_seen[owner];
        return f->exchange[item];
    case CONTROL:
        *is_explained = program_seen[owner] && !f->is_parent[owner];
        return f->control[item];
    default:
        *is_explained = set_is_seen(f, program_seen, owner);
        return state_of(f, code, owner, tile);
    }
}

/* Whether a program that does not count has some of a code on a tile. */
static bool owns(const found *f, const bool *program_seen, int code, size_t program, size_t tile) {
    const size_t set = f->set_of[program];
    if (program_seen[program])
        return false;
    if (code == EXCHANGE)
        return f->exchange[program * f->num_tiles + tile] > 0;
    if (code == CONTROL)
        return !f->is_parent[program] && f->control[program * f->num_tiles + tile] > 0;
    if (code == DESCRIPTORS)
        return set != SIZE_MAX && f->descriptors[set * f->num_tiles + tile] > 0;
    for (size_t type = 0; set != SIZE_MAX && type < f->num_types; type++)
        if (f->type_is_used[(set * f->num_types + type) * f->num_tiles + tile])
            return true;
    return false;
}

/* ---- The comparison ------------------------------------------------------------------------- */

static void check_programs(const found *f, const bool *program_seen, int code, size_t first_tile,
                           size_t end_tile, const pl_missing_variable *item) {
    size_t num_programs = 0;
    for (uint32_t program = 0; program < f->num_programs; program++) {
        bool is_owner = false;
        for (size_t t = first_tile; t < end_tile; t++)
            is_owner = is_owner || owns(f, program_seen, code, program, t);
        if (is_owner && num_programs < 3)
            assert_int_equal(item->programs[num_programs], program);
        num_programs += is_owner;
    }
    assert_int_equal(item->num_programs, num_programs);
    assert_true(num_programs > 0);
}

/* One code on tiles; `num_named` counts those of which programs have some, and `num_others` those
 * of which the compiler has. */
static void check_code(const found *f, const bool *program_seen, int code,
                       const pl_missing_variables *list, size_t tile, size_t *num_named,
                       size_t *num_others) {
    size_t first_tile = tile == SIZE_MAX ? 0 : tile;
    size_t end_tile = tile == SIZE_MAX ? f->num_tiles : tile + 1;
    const pl_missing_variable none = {.name = ""};
    const pl_missing_variable *item = &none;
    for (size_t i = 0; i < list->count; i++) {
        if (*list->items[i].name == '\0' && strcmp(list->items[i].category, code_names[code]) == 0)
            item = &list->items[i];
    }
    uint64_t missing = 0;
    uint64_t named = 0; /* but not a parent's own control code, which is the compiler's */
    for (size_t t = first_tile; t < end_tile; t++) {
        missing += f->truth[code][t];
        for (size_t owner = 0; owner < num_owners(f, code); owner++) {
            bool is_explained;
            uint64_t bytes = bytes_of(f, program_seen, code, owner, t, &is_explained);
            missing -= is_explained ? bytes : 0;
            if (!is_explained && (code != CONTROL || !f->is_parent[owner]))
                named += bytes;
        }
    }
    assert_int_equal(item->size_bytes, missing);
    assert_int_equal(item->compiler_bytes, missing - named);
    if (f->is_touched[code]) /* those that touch it are another test's */
        assert_true(named == 0 || item->num_programs > 0);
    else if (named > 0)
        check_programs(f, program_seen, code, first_tile, end_tile, item);
    else
        assert_int_equal(item->num_programs, 0);
    *num_named += named > 0 && !f->is_touched[code];
    *num_others += missing > named;
}

/* How often programs, and the compiler, had some of each code, over all cases. */
static size_t num_named[NUM_CODES];
static size_t num_others[NUM_CODES];

static void check_model(const golden_case *c, const found *f, const char *regex,
                        popliner_memory_model model, bool layers_only) {
    pl_layers *layers = assign_layers(c, regex, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, model);
    pl_stage_meter *meter;
    pl_diagnosis d = {0};
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    const popliner_interval all = {0, SIZE_MAX, 1};
    assert_int_equal(pl_diagnose(meter, layers_only, &all, &d, NULL), POPLINER_OK);
    bool *program_seen = test_new_array(f->num_programs, sizeof *program_seen);
    for (size_t i = 0; i < pl_operations_count(c->operations); i++) {
        const popliner_operation *operation = pl_operation_at(c->operations, i);
        if (!layers_only || pl_layers_unit_of(layers, i) > 0)
            for (size_t k = 0; k < operation->num_programs; k++)
                program_seen[operation->programs[k]] = true;
    }
    /* PopLiner's model counts vertices by rules of its own */
    for (int code = model == POPLINER_MEMORY_MODEL_FULL ? 0 : EXCHANGE; code < NUM_CODES; code++) {
        check_code(f, program_seen, code, &d.missing_here, d.told.tile, &num_named[code],
                   &num_others[code]);
        check_code(f, program_seen, code, &d.missing_everywhere, SIZE_MAX, &num_named[code],
                   &num_others[code]);
    }
    free(program_seen);
    pl_diagnosis_clear(&d);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

/* `path` is that of the profile, and freed. */
static void check_case(const golden_case *c, char *path) {
    char uri[1000];
    assert_non_null(path);
    snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
    free(path);
    sqlite3 *db = test_open_sql(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    found f = find(db);
    sqlite3_close(db);
    assert_int_equal(f.num_programs, c->profile->num_programs);
    find_touched(&f, c->profile);
    for (popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
         model <= POPLINER_MEMORY_MODEL_FULL; model++) {
        check_model(c, &f, NULL, model, false);
        check_model(c, &f, NULL, model, true);
        check_model(c, &f, "(Layer1|layer_1|encoder/1)", model, true); /* little but one layer */
        check_model(c, &f, golden_no_layers, model, true);             /* nothing at all */
    }
    free_found(&f);
}

static void check_golden(const golden_case *c) {
    check_case(c, test_golden_file(c->name, "profile.pop"));
}

static void names_the_programs_that_sql_finds(void **state) {
    (void)state;
    memset(num_named, 0, sizeof num_named);
    golden_for_each(check_golden);
    for (int code = 0; code < NUM_CODES; code++) {
        if (num_named[code] == 0)
            fail_msg("the golden cases miss no %s of anybody", code_names[code]);
    }
    assert_true(num_others[VERTEX] > 0);
    assert_true(num_others[CONTROL] > 0);
}

static void names_those_of_the_real_profile(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    check_case(&c, test_firehose_file("profile.pop"));
    golden_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_programs_that_sql_finds),
        cmocka_unit_test(names_those_of_the_real_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
