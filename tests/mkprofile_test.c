/* popliner-mkprofile: its profiles agree with themselves, in every style; equal options give equal
 * files; parts of a model are like the whole; executions obey the definitions of their tables;
 * planted faults are those that were requested.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include "popliner/profile.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "test_sql.h"

#include <cbor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 500, COMMAND_BYTES = 4000 };

/* ---- Running the tool ----------------------------------------------------------------------- */

static char scratch[PATH_BYTES]; /* directory of the test run */

/* Runs the tool with these options; returns its exit status. */
static int run_tool(const char *options) {
    char command[COMMAND_BYTES];
    snprintf(command, sizeof command, "'%s' %s >'%s/output' 2>'%s/errors'", MKPROFILE_TOOL, options,
             scratch, scratch);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Makes a profile in the scratch directory under `name`. */
static void make(const char *name, const char *options) {
    char all[PATH_BYTES * 2];
    snprintf(all, sizeof all, "--output '%s/%s' --quiet %s", scratch, name, options);
    assert_int_equal(run_tool(all), 0);
}

static bool exists(const char *name) {
    char path[PATH_BYTES * 2];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return stat(path, &status) == 0;
}

static sqlite3 *open_made(const char *name) {
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/%s/profile.pop", scratch, name);
    return test_open_sql(path, SQLITE_OPEN_READWRITE);
}

/* The library reads it, and finds that it agrees with itself, as tests/profile_relations.py
 * does. */
static void assert_sound(sqlite3 *db) {
    popliner_profile *profile;
    popliner_error error = {.message = ""};
    if (pl_read_profile(sqlite3_db_filename(db, "main"), NULL, &profile, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    for (int i = 0; i < PL_NUM_RELATIONS; i++) {
        const pl_check_result check = pl_profile_check_of(profile, (popliner_relation)i);
        if (check.breached > 0 || (check.checked == 0 && i != POPLINER_RELATION_DEBUG_INFO))
            fail_msg("%s: %s, of %zu", check.name, check.where, check.checked);
    }
    pl_profile_free(profile);
    assert_int_equal(test_ask(db, "SELECT count(*) FROM vars_info WHERE name_base_id NOT IN "
                                  "(SELECT id FROM vars_string_table)"),
                     0);
}

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static bool equal_files(const char *left, const char *right) {
    char path[PATH_BYTES * 2];
    size_t left_size;
    size_t right_size;
    snprintf(path, sizeof path, "%s/%s", scratch, left);
    uint8_t *left_bytes = read_file(path, &left_size);
    snprintf(path, sizeof path, "%s/%s", scratch, right);
    uint8_t *right_bytes = read_file(path, &right_size);
    bool equal = left_size == right_size && memcmp(left_bytes, right_bytes, left_size) == 0;
    free(left_bytes);
    free(right_bytes);
    return equal;
}

/* ---- Debug information ---------------------------------------------------------------------- */

static cbor_item_t *value_of(const cbor_item_t *map, const char *key) {
    struct cbor_pair *pairs = cbor_map_handle(map);
    for (size_t i = 0; i < cbor_map_size(map); i++) {
        if (cbor_string_length(pairs[i].key) == strlen(key) &&
            memcmp(cbor_string_handle(pairs[i].key), key, strlen(key)) == 0)
            return pairs[i].value;
    }
    return NULL;
}

static bool has_text(const cbor_item_t *map, const char *key, const char *text) {
    const cbor_item_t *value = value_of(map, key);
    return value != NULL && cbor_isa_string(value) && cbor_string_length(value) == strlen(text) &&
           memcmp(cbor_string_handle(value), text, strlen(text)) == 0;
}

/* The contexts of a debug.cbor: which ids there are, and figures. */
typedef struct debug_information {
    bool *is_known; /* by id */
    bool *is_operation;
    uint64_t *parents;
    uint64_t limit; /* largest id + 1 */
    size_t count;
    size_t operations; /* records of the layer that operations have */
    size_t calls;      /* with the operations they replaced */
    bool is_in_order;  /* of ids: real files are not */
} debug_information;

static bool knows(const debug_information *debug, uint64_t id) {
    return id < debug->limit && debug->is_known[id];
}

static debug_information read_debug(const char *name) {
    char path[PATH_BYTES * 2];
    size_t size;
    snprintf(path, sizeof path, "%s/%s/debug.cbor", scratch, name);
    uint8_t *bytes = read_file(path, &size);
    struct cbor_load_result result;
    cbor_item_t *root = cbor_load(bytes, size, &result);
    assert_non_null(root);
    assert_int_equal(result.read, size);
    assert_true(cbor_isa_map(root) && cbor_map_size(root) == 2);
    const cbor_item_t *contexts = value_of(root, "contexts");
    const cbor_item_t *table = value_of(root, "stringTable");
    assert_non_null(contexts);
    assert_non_null(table);
    assert_true(cbor_array_is_indefinite(contexts));
    debug_information debug = {.count = cbor_array_size(contexts), .is_in_order = true};
    debug.limit = debug.count + 1;
    debug.is_known = calloc(debug.limit, sizeof *debug.is_known);
    debug.is_operation = calloc(debug.limit, sizeof *debug.is_operation);
    debug.parents = calloc(debug.limit, sizeof *debug.parents);
    assert_true(debug.is_known != NULL && debug.is_operation != NULL && debug.parents != NULL);
    cbor_item_t **items = cbor_array_handle(contexts);
    uint64_t last = 0;
    for (size_t i = 0; i < debug.count; i++) {
        uint64_t id = cbor_get_int(value_of(items[i], "id"));
        assert_true(id > 0 && id < debug.limit);
        assert_false(debug.is_known[id]);
        debug.is_known[id] = true;
        debug.is_in_order = debug.is_in_order && id > last;
        last = id;
        bool is_operation =
            has_text(items[i], "layer", "popart") || has_text(items[i], "layer", "xla_op");
        debug.operations += is_operation;
        debug.is_operation[id] = is_operation;
        const cbor_item_t *replaced = value_of(items[i], "replacedDebugContextIds");
        debug.calls += replaced != NULL && cbor_string_length(replaced) > 2;
    }
    for (size_t i = 0; i < debug.count; i++) {
        const cbor_item_t *parent = value_of(items[i], "parentId");
        assert_true(parent == NULL || knows(&debug, cbor_get_int(parent)));
        if (parent != NULL)
            debug.parents[cbor_get_int(value_of(items[i], "id"))] = cbor_get_int(parent);
        assert_true(cbor_get_int(value_of(items[i], "name")) < cbor_array_size(table));
        const cbor_item_t *location = value_of(items[i], "location");
        assert_true(cbor_get_int(value_of(location, "fileName")) < cbor_array_size(table));
        assert_true(cbor_get_int(value_of(location, "functionName")) < cbor_array_size(table));
    }
    cbor_decref(&root);
    free(bytes);
    return debug;
}

static void free_debug(debug_information *debug) {
    free(debug->is_known);
    free(debug->is_operation);
    free(debug->parents);
}

static void assert_debug_ids_known(sqlite3 *db, const debug_information *debug) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT debug_id FROM programs UNION ALL SELECT debug_id "
                                        "FROM compute_sets",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW)
        assert_true(knows(debug, (uint64_t)sqlite3_column_int64(statement, 0)));
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT ids FROM debug_ids", -1, &statement, NULL),
                     SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const uint8_t *cursor = sqlite3_column_blob(statement, 0);
        const uint8_t *end = cursor + sqlite3_column_bytes(statement, 0);
        uint64_t id = 0;
        while (cursor < end) {
            assert_true(pl_varint_read(&cursor, end, &id));
            assert_true(id == 0 || knows(debug, id));
        }
    }
    sqlite3_finalize(statement);
    /* as in the real file, made-up names also have a row */
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT count(*) FROM unlowered_vars WHERE id NOT IN "
                                        "(SELECT variable_id FROM debug_ids)",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(statement, 0), 0);
    sqlite3_finalize(statement);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void every_style_is_sound(void **state) {
    (void)state;
    static const char *const frameworks[] = {"popart", "poptorch", "tensorflow"};
    static const char *const modes[] = {"--inference", "--training"};
    static const char *const outlines[] = {"--no-outline", "--outline"};
    for (int i = 0; i < 12; i++) {
        char name[40];
        char options[200];
        if (!test_takes_case((size_t)i, 12))
            continue;
        bool is_tensorflow = i % 3 == 2;
        bool is_outlined = i / 6 == 1;
        snprintf(name, sizeof name, "style%d", i);
        snprintf(options, sizeof options,
                 "--framework %s %s %s --layers %d --tiles %d --pieces %d --debug-nesting %d "
                 "--seed %d",
                 frameworks[i % 3], modes[i / 3 % 2], outlines[i / 6], is_tensorflow ? 8 : 2,
                 i == 4 ? 1 : 9 + i, 1 + i % 2, i % 4, i);
        make(name, options);
        sqlite3 *db = open_made(name);
        assert_sound(db);
        debug_information debug = read_debug(name);
        assert_debug_ids_known(db, &debug);
        assert_false(debug.is_in_order);
        assert_true(debug.operations > 20);
        assert_true((debug.calls > 0) == (is_outlined && !is_tensorflow));
        uint64_t calls = test_ask(db, "SELECT count(*) FROM program_type_call");
        assert_true((calls > 0) == is_outlined);
        assert_true(test_ask(db, "SELECT count(*) FROM function_programs") <= calls);
        assert_int_equal(test_ask(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'"),
                         67);
        /* addresses are shared, and some class has several ranges */
        assert_true(test_ask(db, "SELECT count(*) FROM (SELECT 1 FROM eq_class_step GROUP BY "
                                 "eq_class_id HAVING count(*) > 1)") > 0);
        free_debug(&debug);
        sqlite3_close(db);
    }
}

/* Connections over many layers, and accumulators; what a pipeline is like is tested by
 * pipeline_profile.py. */
static void options_of_the_model_are_sound(void **state) {
    (void)state;
    static const char *const options[] = {
        "--framework popart --training --accumulate --skips 2 --outline",
        "--framework poptorch --training --skips 1 --pieces 2 --map-in-turn",
        "--framework tensorflow --training --accumulate --skips 2",
        "--framework tensorflow --inference --skips 2 --only-layers first-1",
        "--framework popart --training --accumulate --skips 2 --only-layers 2-last",
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char name[40];
        char all[200];
        if (!test_takes_case(i, 2))
            continue;
        snprintf(name, sizeof name, "model%zu", i);
        snprintf(all, sizeof all, "%s --layers 4 --tiles 7 --seed %zu", options[i], i);
        make(name, all);
        sqlite3 *db = open_made(name);
        assert_sound(db);
        debug_information debug = read_debug(name);
        assert_debug_ids_known(db, &debug);
        free_debug(&debug);
        sqlite3_close(db);
    }
}

static void pipelines_refer_to_what_is_there(void **state) {
    (void)state;
    make("pipeline", "--training --outline --skips 2 --layers 4 --tiles 7 --pipeline '0|2'");
    sqlite3 *db = open_made("pipeline");
    assert_sound(db);
    debug_information debug = read_debug("pipeline");
    assert_debug_ids_known(db, &debug);
    free_debug(&debug);
    assert_int_equal(test_ask(db, "SELECT num_ipus FROM target_info"), 3);
    sqlite3_close(db);
}

static void presets_are_sound_when_small(void **state) {
    (void)state;
    make("tiny", "--preset bert-tiny --tiles 8 --vocabulary 500 --hidden 64");
    sqlite3 *db = open_made("tiny");
    assert_sound(db);
    sqlite3_close(db);
    if (!test_takes_all())
        return;
    make("large", "--tiles 16 --preset bert-large --hidden 64 --vocabulary 500");
    db = open_made("large");
    assert_sound(db);
    assert_int_equal(test_ask(db, "SELECT num_tiles FROM target_info"), 16);
    sqlite3_close(db);
}

static void equal_options_give_equal_files(void **state) {
    (void)state;
    make("first", "--training --outline --seed 5");
    make("second", "--training --outline --seed 5");
    make("third", "--training --outline --seed 6");
    make("planned", "--training --outline --seed 5 --plan-seed 5");
    make("replanned", "--training --outline --seed 5 --plan-seed 6");
    assert_true(equal_files("first/profile.pop", "planned/profile.pop"));
    assert_false(equal_files("first/profile.pop", "replanned/profile.pop"));
    assert_true(equal_files("first/debug.cbor", "replanned/debug.cbor"));
    assert_true(equal_files("first/profile.pop", "second/profile.pop"));
    assert_true(equal_files("first/debug.cbor", "second/debug.cbor"));
    assert_false(equal_files("first/profile.pop", "third/profile.pop"));
}

static void refuses_bad_options(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "--output",
        "--output x --layers",
        "--output x --layers none",
        "--output x --layers 0",
        "--output x --layers ..1",
        "--output x --layers 99999999999999999999",
        "--output x --tiles 1000001",
        "--output x --framework caffe",
        "--output x --preset bert-huge",
        "--output x --colour",
        "--output x --only-layers",
        "--output x --only-layers 1",
        "--output x --only-layers first",
        "--output x --only-layers first-",
        "--output x --only-layers -last",
        "--output x --only-layers 0-first",
        "--output x --only-layers last-1",
        "--output x --only-layers 0-1-2",
        "--output x --only-layers 1-0",
        "--output x --only-layers 0-2",
        "--output x --only-layers 2-last",
        "--output x --only-layers first-2",
        "--output x --layers 3 --only-layers 0-99999999999999999999",
        "--output x --fault",
        "--output x --fault untouched",
        "--output x --fault untouched:",
        "--output x --fault untouched:-1",
        "--output x --fault untouched:100001",
        "--output x --fault no-debug:1",
        "--output x --fault :1",
        "--output x --pipeline",
        "--output x --pipeline ''",
        "--output x --pipeline '0|'",
        "--output x --pipeline '|0'",
        "--output x --pipeline Head",
        "--output x --layers 3 --pipeline '1|1'",
        "--output x --layers 3 --pipeline '1|0'",
        "--output x --layers 3 --pipeline 2",
        "--output x --pipeline 99999999999999999999",
        "--output x --pipeline 0 --only-layers 0-1",
        "--output x --pipeline 0 --execution",
        "--output x --pipeline 0 --fault untouched:1",
        "--output x --pipeline 0 --schedule interleaved",
        "--output x --framework tensorflow --schedule interleaved",
        "--output x --pipeline 0 --schedule gpipe",
        "--output x --layers 4 --skips 3",
        "--output x --plan-seed x",
        "x",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(run_tool(bad[i]), 2);
        char path[PATH_BYTES * 2];
        size_t size;
        snprintf(path, sizeof path, "%s/errors", scratch);
        uint8_t *text = read_file(path, &size);
        assert_true(size > 20 && text[size - 1] == '\n');
        assert_ptr_equal(memchr(text, '\n', size), text + size - 1); /* one line */
        free(text);
    }
    assert_int_equal(run_tool("--help"), 0);
    assert_int_equal(run_tool("--version"), 0);
}

static void leaves_nothing_behind_when_it_fails(void **state) {
    (void)state;
    char options[PATH_BYTES * 2];
    make("there", "");
    snprintf(options, sizeof options, "--output '%s/there'", scratch);
    assert_int_equal(run_tool(options), 3); /* the files exist */
    snprintf(options, sizeof options, "--output '%s/there' --force --seed 2", scratch);
    assert_int_equal(run_tool(options), 0);
    snprintf(options, sizeof options, "--output '%s/errors/inside'", scratch);
    assert_int_equal(run_tool(options), 3); /* a file is in the way */
    /* a directory where a file should go: found out at the end */
    snprintf(options, sizeof options, "mkdir -p '%s/blocked/debug.cbor'", scratch);
    assert_int_equal(system(options), 0);
    snprintf(options, sizeof options, "--output '%s/blocked' --force", scratch);
    assert_int_equal(run_tool(options), 3);
    assert_false(exists("blocked/profile.pop"));
    assert_false(exists("blocked/.profile.pop.part"));
    assert_false(exists("blocked/.debug.cbor.part"));
}

/* ---- Parts of a model ----------------------------------------------------------------------- */

/* tail_of(NAME): what follows the number of the operation in the name of a variable or a compute
 * set. The names in the body of a function begin with the operation that is the first to call it,
 * which is another one in a part. */
static void tail_of(sqlite3_context *context, int count, sqlite3_value **values) {
    assert_int_equal(count, 1);
    const char *name = (const char *)sqlite3_value_text(values[0]);
    const char *tail = name;
    for (const char *at = name; at != NULL; at = strchr(at + 1, '/')) {
        size_t digits = *at == '/' ? strspn(at + 1, "0123456789") : 0;
        if (digits > 0 && at[1 + digits] == '/')
            tail = at + 1 + digits + 1;
    }
    sqlite3_result_text(context, tail, -1, SQLITE_TRANSIENT);
}

/* Opens a part; the whole model is attached as `whole`. */
static sqlite3 *open_part(const char *name, const char *whole) {
    char sql[COMMAND_BYTES];
    sqlite3 *db = open_made(name);
    snprintf(sql, sizeof sql, "ATTACH '%s/%s/profile.pop' AS whole", scratch, whole);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_create_function(db, "tail_of", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                             NULL, tail_of, NULL, NULL),
                     SQLITE_OK);
    return db;
}

/* The bytes of operations, tile by tile; %s is main or whole. */
static const char executes_sql[] =
    "SELECT c.name AS name, t.name AS type, t.size AS size, i.instances_by_tile AS instances, "
    "p.control_code_bytes_by_tile AS control FROM %s.programs p JOIN %s.program_types k ON k.id = "
    "p.variant AND k.name = 'OnTileExecute' JOIN %s.program_type_on_tile_execute e ON e.id = "
    "p.variant_index JOIN %s.compute_sets c ON c.compute_set = e.compute_set JOIN "
    "%s.vertex_instances i ON i.compute_set = c.compute_set JOIN %s.vertex_types t ON t.id = "
    "i.vertex_type";
static const char exchanges_sql[] =
    "SELECT p.name AS name, x.code_bytes_by_tile_rle AS code, p.control_code_bytes_by_tile AS "
    "control, x.bytes_sent_by_tile_rle AS sent, x.bytes_received_by_tile_rle AS received FROM "
    "%s.programs p JOIN %s.program_types k ON k.id = p.variant AND k.name = 'DoExchange' JOIN "
    "%s.program_type_do_exchange x ON x.id = p.variant_index";
static const char variables_sql[] =
    "SELECT s.string || v.name_suffix AS name, v.tile AS tile, v.size_bytes AS size, v.category AS "
    "category, count(*) AS count FROM %s.vars_info v JOIN %s.vars_string_table s ON s.id = "
    "v.name_base_id WHERE v.category IN (0, 2, 3, 6) GROUP BY 1, 2, 3, 4";

static void make_tables(sqlite3 *db) {
    static const struct {
        const char *table;
        const char *sql;
    } queries[] = {
        {"executes", executes_sql}, {"exchanges", exchanges_sql}, {"variables", variables_sql}};
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        for (int is_whole = 0; is_whole < 2; is_whole++) {
            const char *in = is_whole ? "whole" : "main";
            char sql[COMMAND_BYTES];
            int length =
                snprintf(sql, sizeof sql, "CREATE TEMP TABLE %s_%s AS ", in, queries[i].table);
            snprintf(sql + length, sizeof sql - (size_t)length, queries[i].sql, in, in, in, in, in,
                     in);
            test_run_sql(db, sql);
        }
    }
}

/* Whatever the part has, the whole has too, of the same size on every tile. */
static void assert_like_the_whole(sqlite3 *db, bool is_outlined) {
    make_tables(db);
    assert_true(test_ask(db, "SELECT count(*) FROM main_executes") > 10);
    assert_true(test_ask(db, "SELECT count(*) FROM main_exchanges") > 3);
    assert_true(test_ask(db, "SELECT count(*) FROM main_variables") > 100);
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM (SELECT * FROM main_exchanges EXCEPT SELECT * "
                              "FROM whole_exchanges)"),
                     0);
    test_run_sql(db,
                 "CREATE TEMP TABLE other_executes AS SELECT * FROM main_executes EXCEPT SELECT "
                 "* FROM whole_executes");
    test_run_sql(db, "CREATE TEMP TABLE other_variables AS SELECT * FROM main_variables EXCEPT "
                     "SELECT * FROM whole_variables");
    if (!is_outlined) {
        assert_int_equal(test_ask(db, "SELECT count(*) FROM other_executes"), 0);
        assert_int_equal(test_ask(db, "SELECT count(*) FROM other_variables"), 0);
        return;
    }
    /* Those of functions are like others of another name, and the whole has none of their own. */
    assert_int_equal(
        test_ask(db, "SELECT count(*) FROM (SELECT tail_of(name), type, size, instances, "
                     "control FROM other_executes EXCEPT SELECT tail_of(name), type, size, "
                     "instances, control FROM whole_executes)"),
        0);
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM other_executes WHERE name IN (SELECT name FROM "
                              "whole_executes)"),
                     0);
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM (SELECT tail_of(name), tile, size, category "
                              "FROM other_variables EXCEPT SELECT tail_of(name), tile, size, "
                              "category FROM whole_variables)"),
                     0);
    assert_int_equal(
        test_ask(db, "SELECT count(*) FROM other_variables WHERE name IN (SELECT name FROM "
                     "whole_variables)"),
        0);
}

/* Every vertex type in use has its code, and the same as in the whole. */
static void assert_same_code(sqlite3 *db) {
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM (SELECT s.string, v.tile, v.size_bytes FROM "
                              "main.vars_info v JOIN main.vars_string_table s ON s.id = "
                              "v.name_base_id WHERE v.category IN (11, 18, 22, 8) EXCEPT SELECT "
                              "s.string, v.tile, v.size_bytes FROM whole.vars_info v JOIN "
                              "whole.vars_string_table s ON s.id = v.name_base_id)"),
                     0);
    /* once on each tile */
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM (SELECT 1 FROM vars_info WHERE category = 18 "
                              "GROUP BY tile, name_base_id HAVING count(*) > 1)"),
                     0);
    /* what every program has */
    assert_int_equal(test_ask(db, "SELECT count(*) FROM vars_info WHERE category = 11"),
                     test_ask(db, "SELECT count(*) FROM whole.vars_info WHERE category = 11"));
    assert_int_equal(test_ask(db, "SELECT count(*) FROM vars_info WHERE category = 22"),
                     test_ask(db, "SELECT count(*) FROM whole.vars_info WHERE category = 22"));
    assert_true(test_ask(db, "SELECT count(*) FROM vars_info WHERE category = 20") > 0);
}

/* No tile needs more than for the whole. One thing is kept longer in a part: what other parts use
 * is there to the end, where the whole has freed it long before; when nearly all of a training
 * model is in the part, its peak is higher by that. */
static void assert_within_the_whole(sqlite3 *db) {
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM main.memory_by_tile a JOIN "
                              "whole.memory_by_tile b USING (tile) WHERE a.always_live_bytes >= "
                              "b.always_live_bytes"),
                     0);
    test_run_sql(db, "CREATE TEMP TABLE kept AS SELECT v.tile AS tile, sum(v.size_bytes) AS bytes "
                     "FROM vars_info v JOIN eq_classes c ON c.id = v.equivalence_class WHERE NOT "
                     "c.is_always_live AND v.var_id IN (SELECT r.var_id FROM host_exchange_to_host "
                     "h JOIN exchange_regions r ON r.id = h.regions_id) GROUP BY 1");
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM main.memory_by_tile a JOIN "
                              "whole.memory_by_tile b USING (tile) LEFT JOIN kept USING (tile) "
                              "WHERE a.not_always_live_max_bytes > b.not_always_live_max_bytes + "
                              "ifnull(kept.bytes, 0)"),
                     0);
    assert_true(test_ask(db, "SELECT sum(total) FROM main.memory_by_tile") <
                test_ask(db, "SELECT sum(total) FROM whole.memory_by_tile"));
}

static const char layer_end[] = /* of the last layer of a part, as an activation */
    "SELECT e.step_id_%s FROM unlowered_vars u JOIN vars_info v ON v.unlowered_var_id = u.id JOIN "
    "eq_class_step e ON e.eq_class_id = v.equivalence_class WHERE u.name = "
    "'%sLayer%d/FF/GroupNormalization:0' ORDER BY 1 %s LIMIT 1";

static uint64_t ask_life(sqlite3 *db, const char *edge, const char *what, int layer) {
    char sql[500];
    snprintf(sql, sizeof sql, layer_end, edge, what, layer,
             strcmp(edge, "from") == 0 ? "ASC" : "DESC");
    return test_ask(db, sql);
}

/* Data from another part lives from its copy on; data that another part uses lives to the end. */
static void lives_reach_over_the_part(void **state) {
    (void)state;
    make("middle", "--training --layers 4 --tiles 10 --only-layers 1-2");
    sqlite3 *db = open_made("middle");
    static const char copies[] =
        "SELECT d.id FROM depth_first_steps d JOIN programs p ON p.id = d.program_id JOIN "
        "program_types t ON t.id = p.variant AND t.name = 'StreamCopyMid' JOIN "
        "host_exchange_%s_host h ON h.stream_copy_mid_id = p.variant_index WHERE h.stream = "
        "'%sLayer%d/FF/GroupNormalization:0'";
    static const struct {
        const char *direction;
        const char *what;
        int layer;
    } all[] = {
        {"from", "", 0}, {"from", "Gradient___", 2}, {"to", "", 2}, {"to", "Gradient___", 0}};
    uint64_t steps[4];
    for (size_t i = 0; i < 4; i++) {
        char sql[600];
        snprintf(sql, sizeof sql, copies, all[i].direction, all[i].what, all[i].layer);
        steps[i] = test_ask(db, sql);
        if (i < 2)
            assert_int_equal(ask_life(db, "from", all[i].what, all[i].layer), steps[i]);
        else
            assert_int_equal(ask_life(db, "to", all[i].what, all[i].layer), steps[i] + 1);
    }
    /* The gradient arrives between forward and backward; results leave together. */
    assert_true(steps[0] < steps[1] && steps[1] < steps[2] && steps[2] == steps[3]);
    /* activations of the part are not copied */
    assert_int_equal(test_ask(db, "SELECT count(*) FROM host_exchange_to_host WHERE stream LIKE "
                                  "'Layer1/FF/G%:0'"),
                     0);
    /* the mask of all layers comes again, the embedding does not */
    assert_int_equal(test_ask(db, "SELECT count(*) FROM host_exchange_from_host WHERE stream = "
                                  "'Layer0/Attention/Z/Mask/Mul:0'"),
                     1);
    assert_int_equal(
        test_ask(db, "SELECT count(*) FROM unlowered_vars WHERE name LIKE 'Embedding%'"), 0);
    assert_int_equal(test_ask(db,
                              "SELECT count(*) FROM unlowered_vars WHERE name LIKE 'Layer3%' OR "
                              "name LIKE 'Accl1___Layer0%'"),
                     0);
    assert_true(
        test_ask(db, "SELECT count(*) FROM unlowered_vars WHERE name LIKE 'Accl1___Layer2%'") > 0);
    sqlite3_close(db);
}

/* Counts the names of the whole that no part has had so far; forgets those of this part. */
static uint64_t cross_off(sqlite3 *missing, const char *part) {
    char sql[COMMAND_BYTES];
    snprintf(sql, sizeof sql, "ATTACH '%s/%s/profile.pop' AS part", scratch, part);
    test_run_sql(missing, sql);
    test_run_sql(missing,
                 "DELETE FROM names WHERE name IN (SELECT name FROM part.compute_sets UNION "
                 "SELECT name FROM part.programs UNION SELECT name FROM "
                 "part.unlowered_vars)");
    test_run_sql(missing, "DETACH part");
    return test_ask(missing, "SELECT count(*) FROM names");
}

static void parts_are_like_the_whole(void **state) {
    (void)state;
    static const char *const styles[] = {
        "--framework popart",
        "--framework popart --outline --pieces 2 --seed 3",
        "--framework popart --training --seed 1 --pieces 2",
        "--framework popart --training --outline",
        "--framework poptorch --seed 7",
        "--framework poptorch --training",
        "--framework poptorch --training --outline --seed 2",
        "--framework tensorflow --outline",
        "--framework tensorflow --training --seed 4",
        "--framework tensorflow --training --outline",
    };
    static const char *const parts[] = {"first-1", "2-2", "3-last"};
    static const char *const other_parts[] = {"0-last", "first-3", "0-3"};
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        char options[300];
        if (!test_takes_case(i, 10))
            continue;
        bool is_outlined = strstr(styles[i], "--outline") != NULL;
        snprintf(options, sizeof options, "%s --layers 4 --tiles 10 --force", styles[i]);
        make("whole", options);
        sqlite3 *missing = open_made("whole");
        test_run_sql(missing, "CREATE TEMP TABLE names AS SELECT name FROM compute_sets UNION "
                              "SELECT name FROM programs WHERE name IS NOT NULL UNION SELECT name "
                              "FROM unlowered_vars");
        for (size_t k = 0; k < (i % 3 == 2 ? 6 : 3); k++) {
            const char *part = k < 3 ? parts[k] : other_parts[k - 3];
            snprintf(options, sizeof options, "%s --layers 4 --tiles 10 --force --only-layers %s",
                     styles[i], part);
            make("part", options);
            sqlite3 *db = open_part("part", "whole");
            debug_information debug = read_debug("part");
            assert_sound(db);
            assert_debug_ids_known(db, &debug);
            assert_like_the_whole(db, is_outlined);
            assert_same_code(db);
            assert_within_the_whole(db);
            if (k < 3) /* parts that leave some layers out need not even that */
                assert_int_equal(test_ask(db, "SELECT count(*) FROM main.memory_by_tile a JOIN "
                                              "whole.memory_by_tile b USING (tile) WHERE "
                                              "a.not_always_live_max_bytes > "
                                              "b.not_always_live_max_bytes"),
                                 0);
            free_debug(&debug);
            sqlite3_close(db);
            if (k < 3) /* together they are the whole, and none can be spared */
                assert_true((cross_off(missing, "part") == 0) == (k == 2));
        }
        sqlite3_close(missing);
    }
}

static void all_layers_are_the_whole(void **state) {
    (void)state;
    static const char *const styles[] = {"--outline", "--training --framework poptorch",
                                         "--framework tensorflow --fault untouched:2"};
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        char options[300];
        if (!test_takes_case(i, 4))
            continue;
        snprintf(options, sizeof options, "%s --force", styles[i]);
        make("whole", options);
        snprintf(options, sizeof options, "%s --force --only-layers first-last", styles[i]);
        make("part", options);
        assert_true(equal_files("whole/profile.pop", "part/profile.pop"));
        assert_true(equal_files("whole/debug.cbor", "part/debug.cbor"));
    }
    make("one", "--layers 1");
    make("part", "--layers 1 --force --only-layers first-0");
    assert_false(equal_files("one/profile.pop", "part/profile.pop")); /* the tail is missing */
    make("part", "--layers 1 --force --only-layers 0-last --only-layers first-last");
    assert_true(equal_files("one/profile.pop", "part/profile.pop"));
}

/* ---- Executions ----------------------------------------------------------------------------- */

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return statement;
}

static uint64_t column(sqlite3_stmt *statement, int number) {
    assert_int_equal(sqlite3_column_type(statement, number), SQLITE_INTEGER);
    sqlite3_int64 value = sqlite3_column_int64(statement, number);
    assert_true(value >= 0);
    return (uint64_t)value;
}

/* The only number of a varint list. */
static uint64_t only_number(sqlite3_stmt *statement, int number) {
    uint64_t value;
    assert_true(pl_varint_list_read(sqlite3_column_blob(statement, number),
                                    (size_t)sqlite3_column_bytes(statement, number), &value, 1));
    return value;
}

enum { EXECUTION_TILES = 6, NUM_TOTALS = 8 };

/* Where every tile is, going by cycles_by_tile alone, and what a run adds up to. */
typedef struct replay {
    uint64_t clocks[EXECUTION_TILES];
    uint64_t totals[NUM_TOTALS];
} replay;

/* All steps in their order, each with its row of the one IPU and its cycles by tile. */
static const char all_steps[] =
    "SELECT s.id, s.type, c.cycles_by_tile_rle, i.cycles_base, i.active_cycles_from_max, "
    "i.active_cycles_from_mean, i.active_cycles_from_min, i.active_cycles_to_max, "
    "i.active_cycles_to_mean, i.active_cycles_to_min, i.all_cycles_to_max, i.all_cycles_to_mean, "
    "i.all_cycles_to_min, i.cycles, i.active_tiles, i.active_tile_balance, i.tile_balance "
    "FROM steps s JOIN steps_by_ipu i ON i.step_id = s.id JOIN cycles_by_tile c ON c.id = "
    "i.tile_cycles_id ORDER BY s.id";

/* Most, mean and least of the numbers of those tiles that count, against three columns. */
static void assert_spread(sqlite3_stmt *steps, int first_column, const uint64_t *values,
                          const bool *counts) {
    uint64_t max = 0;
    uint64_t min = UINT64_MAX;
    uint64_t sum = 0;
    uint64_t count = 0;
    for (size_t tile = 0; tile < EXECUTION_TILES; tile++) {
        if (!counts[tile])
            continue;
        max = values[tile] > max ? values[tile] : max;
        min = values[tile] < min ? values[tile] : min;
        sum += values[tile];
        count++;
    }
    assert_true(count > 0);
    assert_int_equal(column(steps, first_column), max);
    assert_int_equal(column(steps, first_column + 1), sum / count);
    assert_int_equal(column(steps, first_column + 2), min);
}

/* Which of the totals a step counts for. */
static size_t total_of(const char *type) {
    static const char *const types[NUM_TOTALS] = {
        "OnTileExecute", NULL, "DoExchange", NULL, "StreamCopyMid", "StreamCopyBegin",
        "StreamCopyEnd", NULL};
    for (size_t i = 0; i < NUM_TOTALS; i++) {
        if (types[i] != NULL && strcmp(types[i], type) == 0)
            return i;
    }
    assert_true(strcmp(type, "Sync") == 0 || strcmp(type, "SyncAns") == 0);
    return NUM_TOTALS - 1;
}

/* One step: its row is what its cycles by tile make it, and where all tiles were before. */
static void replay_step(replay *r, sqlite3_stmt *steps) {
    static const bool all[EXECUTION_TILES] = {true, true, true, true, true, true};
    const char *type = (const char *)sqlite3_column_text(steps, 1);
    uint64_t cycles[EXECUTION_TILES];
    uint64_t from[EXECUTION_TILES];
    uint64_t to[EXECUTION_TILES];
    bool is_active[EXECUTION_TILES];
    uint64_t base = UINT64_MAX;
    uint64_t max = 0;
    uint64_t sum = 0;
    uint64_t num_active = 0;
    assert_true(pl_rle_read(sqlite3_column_blob(steps, 2), (size_t)sqlite3_column_bytes(steps, 2),
                            cycles, EXECUTION_TILES));
    for (size_t tile = 0; tile < EXECUTION_TILES; tile++)
        base = r->clocks[tile] < base ? r->clocks[tile] : base;
    for (size_t tile = 0; tile < EXECUTION_TILES; tile++) {
        from[tile] = r->clocks[tile] - base;
        to[tile] = from[tile] + cycles[tile];
        is_active[tile] = cycles[tile] > 0;
        num_active += is_active[tile];
        max = cycles[tile] > max ? cycles[tile] : max;
        sum += cycles[tile];
        r->clocks[tile] += cycles[tile];
    }
    assert_int_equal(column(steps, 3), base);
    assert_spread(steps, 4, from, is_active);
    assert_spread(steps, 7, to, is_active);
    assert_spread(steps, 10, to, all);
    assert_int_equal(column(steps, 13), max);
    assert_int_equal(column(steps, 14), num_active);
    double active_balance = (double)sum / (double)num_active / (double)max;
    double balance = (double)sum / (double)EXECUTION_TILES / (double)max;
    assert_true(sqlite3_column_double(steps, 15) == active_balance && active_balance <= 1);
    assert_true(sqlite3_column_double(steps, 16) == balance && balance <= 1);
    if (strncmp(type, "Sync", 4) == 0) /* after it all tiles are together */
        for (size_t tile = 1; tile < EXECUTION_TILES; tile++)
            assert_int_equal(r->clocks[tile], r->clocks[0]);
    r->totals[total_of(type)] += sum;
    if (total_of(type) == 0)
        r->totals[1] += max * EXECUTION_TILES;
}

/* Runs one after another, with their steps and totals. */
static void assert_runs(sqlite3 *db) {
    sqlite3_stmt *runs =
        prepare(db, "SELECT id, start_epoch_time_microseconds, "
                    "elapsed_microseconds, num_programs, num_steps, "
                    "start_cycles_by_ipu, end_cycles_by_ipu FROM runs ORDER BY id");
    sqlite3_stmt *totals = prepare(db, "SELECT * FROM execution_cycle_totals ORDER BY run_id");
    sqlite3_stmt *steps = prepare(db, all_steps);
    /* of steps that have one */
    sqlite3_stmt *num_programs =
        prepare(db, "SELECT count(program) FROM steps WHERE id >= ? AND id < ?");
    uint64_t frequency = test_ask(db, "SELECT clock_frequency FROM target_info");
    uint64_t num_runs = 0;
    uint64_t num_steps = 0;
    uint64_t last_end = 0;
    uint64_t last_epoch = 0;
    for (; sqlite3_step(runs) == SQLITE_ROW; num_runs++) {
        replay r = {.totals = {0}};
        uint64_t start = only_number(runs, 5);
        uint64_t end = only_number(runs, 6);
        assert_int_equal(column(runs, 0), num_runs);
        assert_true(start >= last_end && end > start && (num_runs > 0 || start == 0));
        assert_true(column(runs, 1) > last_epoch);
        last_epoch = column(runs, 1) + column(runs, 2);
        assert_true((end - start) <= column(runs, 2) * (frequency / 1000000));
        sqlite3_bind_int64(num_programs, 1, (sqlite3_int64)num_steps);
        sqlite3_bind_int64(num_programs, 2, (sqlite3_int64)(num_steps + column(runs, 4)));
        assert_int_equal(sqlite3_step(num_programs), SQLITE_ROW);
        assert_int_equal(column(num_programs, 0), column(runs, 3));
        sqlite3_reset(num_programs);
        for (size_t tile = 0; tile < EXECUTION_TILES; tile++)
            r.clocks[tile] = start;
        for (uint64_t i = 0; i < column(runs, 4); i++) {
            assert_int_equal(sqlite3_step(steps), SQLITE_ROW);
            assert_int_equal(column(steps, 0), num_steps++);
            replay_step(&r, steps);
        }
        last_end = 0;
        for (size_t tile = 0; tile < EXECUTION_TILES; tile++)
            last_end = r.clocks[tile] > last_end ? r.clocks[tile] : last_end;
        assert_int_equal(last_end, end);
        assert_int_equal(sqlite3_step(totals), SQLITE_ROW);
        assert_int_equal(column(totals, 0), num_runs);
        assert_int_equal(column(totals, 1), end - start);
        for (int i = 0; i < NUM_TOTALS; i++) {
            assert_int_equal(column(totals, 2 + i), r.totals[i]);
            assert_int_equal(column(totals, 2 + NUM_TOTALS + i), 0);
        }
    }
    assert_int_equal(sqlite3_step(steps), SQLITE_DONE); /* every step belongs to a run */
    assert_int_equal(sqlite3_step(totals), SQLITE_DONE);
    assert_int_equal(num_runs, 4);
    assert_true(num_steps > 300);
    sqlite3_finalize(runs);
    sqlite3_finalize(totals);
    sqlite3_finalize(steps);
    sqlite3_finalize(num_programs);
}

/* So often each program must run, going by the steps of liveness: once in each run, but those below
 * a Repeat so many times more, and below the switch only in the runs that choose them. */
static const char expected_executions[] =
    "CREATE TEMP TABLE expected AS WITH RECURSIVE walk(step, program, times) AS (SELECT id, "
    "program_id, 4 FROM depth_first_steps WHERE parent_step_id IS NULL UNION ALL SELECT d.id, "
    "d.program_id, CASE t.name WHEN 'Repeat' THEN w.times * r.repeat_count WHEN "
    "'OnEveryTileSwitch' THEN CASE (SELECT count(*) FROM depth_first_steps b WHERE "
    "b.parent_step_id = d.parent_step_id AND b.id < d.id) WHEN 1 THEN 2 ELSE 1 END ELSE w.times "
    "END FROM walk w JOIN depth_first_steps d ON d.parent_step_id = w.step JOIN programs p ON p.id "
    "= w.program JOIN program_types t ON t.id = p.variant LEFT JOIN program_type_repeat r ON "
    "t.name = 'Repeat' AND r.id = p.variant_index) SELECT program, sum(times) AS times FROM walk "
    "JOIN programs p ON p.id = program JOIN program_types t ON t.id = p.variant WHERE t.name NOT "
    "IN ('Sequence', 'Repeat', 'Call', 'OnEveryTileSwitch', 'WriteUndef', 'Sans') GROUP BY program";

/* Steps are of programs, and tell of them what the programs' tables tell. */
static void assert_steps_of_programs(sqlite3 *db) {
    static const char *const nothing[] = {
        "SELECT count(*) FROM steps s LEFT JOIN steps_by_ipu i ON i.step_id = s.id WHERE i.ipu IS "
        "NOT 0",
        "SELECT count(*) FROM steps_by_ipu WHERE step_id NOT IN (SELECT id FROM steps)",
        "SELECT count(*) - count(DISTINCT tile_cycles_id) FROM steps_by_ipu",
        "SELECT count(*) FROM cycles_by_tile WHERE id NOT IN (SELECT tile_cycles_id FROM "
        "steps_by_ipu)",
        "SELECT count(*) FROM steps s LEFT JOIN programs p ON p.id = s.program LEFT JOIN "
        "program_types t ON t.id = p.variant WHERE s.type IS NOT ifnull(t.name, 'Sync')",
        "SELECT count(*) FROM steps WHERE program IS NULL AND type <> 'Sync'",
        "SELECT count(*) FROM steps WHERE (type = 'Sync') <> (sync_type IS 'Internal')",
        "SELECT count(*) FROM steps s JOIN programs p ON p.id = s.program LEFT JOIN "
        "program_type_on_tile_execute e ON s.type = 'OnTileExecute' AND e.id = p.variant_index "
        "WHERE s.compute_set IS NOT e.compute_set",
        "SELECT count(*) FROM steps s JOIN programs p ON p.id = s.program WHERE s.exchange IS NOT "
        "CASE s.type WHEN 'DoExchange' THEN p.variant_index END OR s.host_exchange IS NOT CASE "
        "s.type WHEN 'StreamCopyMid' THEN p.variant_index END OR s.inter_ipu_exchange IS NOT NULL",
        "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY id) - 1 AS place, program FROM "
        "steps WHERE program IS NOT NULL) s LEFT JOIN program_trace t ON t.id = s.place WHERE "
        "t.program_id IS NOT s.program",
        "SELECT count(*) - (SELECT count(program) FROM steps) FROM program_trace",
        "SELECT count(*) FROM (SELECT program, times FROM expected EXCEPT SELECT program, count(*) "
        "FROM steps GROUP BY program)",
        "SELECT count(*) FROM steps WHERE program NOT IN (SELECT program FROM expected)",
        "SELECT count(*) FROM execution_info WHERE compilation_id NOT IN (SELECT compilation_id "
        "FROM compilation_info)",
    };
    test_run_sql(db, expected_executions);
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        if (test_ask(db, nothing[i]) != 0)
            fail_msg("found: %s", nothing[i]);
    }
    assert_int_equal(test_ask(db, "SELECT count(*) FROM execution_info"), 1);
}

static popliner_profile *read_made(const char *name) {
    char path[PATH_BYTES * 2];
    popliner_profile *profile;
    popliner_error error = {.message = ""};
    snprintf(path, sizeof path, "%s/%s/profile.pop", scratch, name);
    if (pl_read_profile(path, NULL, &profile, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    return profile;
}

static popliner_cycles_source cycles_source_of(const popliner_profile *profile) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    assert_int_equal(popliner_profile_get_info(profile, &info, NULL), POPLINER_OK);
    return info.cycles_source;
}

/* popliner reads the mean of each program's steps, rounded half up, and nothing for others; where
 * there was an estimate, it is not far. */
static void assert_read_as_measured(sqlite3 *db, const char *executed, const char *compiled) {
    popliner_profile *measured = read_made(executed);
    popliner_profile *estimated = read_made(compiled);
    assert_int_equal(cycles_source_of(measured), POPLINER_CYCLES_MEASURED);
    assert_int_equal(cycles_source_of(estimated), POPLINER_CYCLES_ESTIMATED);
    assert_int_equal(measured->num_programs, estimated->num_programs);
    sqlite3_stmt *means = prepare(
        db, "SELECT m.cycles FROM programs p LEFT JOIN (SELECT program, (2 * sum(c) + count(*)) / "
            "(2 * count(*)) AS cycles FROM (SELECT s.program AS program, max(i.cycles) AS c FROM "
            "steps s JOIN steps_by_ipu i ON i.step_id = s.id GROUP BY s.id) GROUP BY program) m ON "
            "m.program = p.id ORDER BY p.rowid");
    size_t num_measured = 0;
    size_t num_estimated = 0;
    for (size_t i = 0; i < measured->num_programs; i++) {
        assert_int_equal(sqlite3_step(means), SQLITE_ROW);
        bool ran = sqlite3_column_type(means, 0) != SQLITE_NULL;
        uint64_t cycles = measured->program_cycles[i];
        assert_int_equal(measured->program_cycles_source[i],
                         ran ? POPLINER_CYCLES_MEASURED : POPLINER_CYCLES_NONE);
        assert_int_equal(cycles, ran ? column(means, 0) : 0);
        num_measured += ran;
        if (estimated->program_cycles_source[i] == POPLINER_CYCLES_ESTIMATED) {
            uint64_t estimate = estimated->program_cycles[i];
            num_estimated++;
            assert_true(ran && cycles + 2 >= estimate * 9 / 10 && cycles <= estimate * 5 / 4 + 2);
        }
    }
    assert_true(num_estimated > 100 && num_measured > num_estimated);
    sqlite3_finalize(means);
    pl_profile_free(measured);
    pl_profile_free(estimated);
}

/* All else is as if nothing had run. */
static void assert_compiled_alike(const char *executed, const char *compiled) {
    static const char *const executions[] = {"runs",          "steps",
                                             "steps_by_ipu",  "cycles_by_tile",
                                             "program_trace", "execution_cycle_totals",
                                             "execution_info"};
    sqlite3 *db = open_part(executed, compiled);
    sqlite3_stmt *tables = prepare(db, "SELECT name FROM sqlite_master WHERE type = 'table'");
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        bool is_of_execution = false;
        char sql[COMMAND_BYTES];
        for (size_t i = 0; i < sizeof executions / sizeof executions[0]; i++)
            is_of_execution = is_of_execution || strcmp(executions[i], name) == 0;
        snprintf(sql, sizeof sql,
                 "SELECT (SELECT count(*) FROM main.'%s') - (SELECT count(*) FROM whole.'%s') + "
                 "(SELECT count(*) FROM (SELECT * FROM main.'%s' EXCEPT SELECT * FROM whole.'%s'))",
                 name, name, name, name);
        if (!is_of_execution)
            assert_int_equal(test_ask(db, sql), 0);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.'%s'",
                 is_of_execution ? "whole" : "main", name);
        if (is_of_execution)
            assert_int_equal(test_ask(db, sql), 0);
    }
    sqlite3_finalize(tables);
    sqlite3_close(db);
}

static void executions_obey_the_tables(void **state) {
    (void)state;
    static const char *const styles[] = {
        "--framework popart --outline --layers 1 --seed 3",
        "--framework popart --training --outline --layers 1 --seed 8",
        "--framework tensorflow --layers 3 --fault no-debug-id:5 --only-layers 1-last",
    };
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
        char options[300];
        snprintf(options, sizeof options, "%s --tiles %d --force", styles[i], EXECUTION_TILES);
        make("compiled", options);
        snprintf(options, sizeof options, "%s --tiles %d --force --execution", styles[i],
                 EXECUTION_TILES);
        make("executed", options);
        assert_true(equal_files("executed/debug.cbor", "compiled/debug.cbor"));
        sqlite3 *db = open_made("executed");
        assert_runs(db);
        assert_steps_of_programs(db);
        assert_read_as_measured(db, "executed", "compiled");
        sqlite3_close(db);
        assert_compiled_alike("executed", "compiled");
    }
}

static void equal_seeds_give_equal_executions(void **state) {
    (void)state;
    static const char *const names[] = {"executed", "other", "compiled", "other-compiled"};
    popliner_profile *profiles[4];
    make("again", "--execution --layers 1 --tiles 4 --seed 5");
    for (int i = 0; i < 4; i++) {
        char options[100];
        snprintf(options, sizeof options, "--layers 1 --tiles 4 --force --seed %d %s", 5 + i % 2,
                 i < 2 ? "--execution" : "");
        make(names[i], options);
        profiles[i] = read_made(names[i]);
    }
    assert_true(equal_files("executed/profile.pop", "again/profile.pop"));
    /* Another seed does not only make other estimates, it measures otherwise, too, and by more than
     * another tile would. */
    size_t num_other = 0;
    assert_int_equal(profiles[0]->num_programs, profiles[1]->num_programs);
    for (size_t i = 0; i < profiles[0]->num_programs; i++) {
        uint64_t estimate = profiles[2]->program_cycles[i];
        int64_t difference =
            (int64_t)profiles[0]->program_cycles[i] - (int64_t)profiles[1]->program_cycles[i];
        num_other += profiles[2]->program_cycles_source[i] == POPLINER_CYCLES_ESTIMATED &&
                     estimate == profiles[3]->program_cycles[i] &&
                     (uint64_t)llabs(difference) > estimate / 16 + 1;
    }
    assert_true(num_other > 20);
    for (int i = 0; i < 4; i++)
        pl_profile_free(profiles[i]);
}

/* ---- Planted faults ------------------------------------------------------------------------- */

static uint64_t ask_number(sqlite3 *db, const char *sql, uint64_t number) {
    char text[COMMAND_BYTES];
    snprintf(text, sizeof text, sql, (unsigned long long)number);
    return test_ask(db, text);
}

static bool has_operation(const debug_information *debug, uint64_t id) {
    while (id != 0 && !debug->is_operation[id])
        id = debug->parents[id];
    return id != 0;
}

/* Whether any compute set or exchange lists a lowered variable of this unlowered one. */
static bool is_touched(sqlite3 *db, const char *name) {
    char sql[COMMAND_BYTES];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM exchange_regions r JOIN vars_info v USING (var_id) JOIN "
             "unlowered_vars u ON u.id = v.unlowered_var_id WHERE u.name = '%s'",
             name);
    if (test_ask(db, sql) > 0)
        return true;
    uint64_t variables = test_ask(db, "SELECT max(var_id) + 1 FROM vars_info");
    bool *is_wanted = calloc(variables, sizeof *is_wanted);
    assert_non_null(is_wanted);
    sqlite3_stmt *statement = NULL;
    snprintf(sql, sizeof sql,
             "SELECT var_id FROM vars_info v JOIN unlowered_vars u ON u.id = v.unlowered_var_id "
             "WHERE u.name = '%s'",
             name);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW)
        is_wanted[sqlite3_column_int64(statement, 0)] = true;
    sqlite3_finalize(statement);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT var_ids_diff_rle FROM compute_sets", -1, &statement, NULL),
        SQLITE_OK);
    bool found = false;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        pl_runs runs = pl_runs_begin(sqlite3_column_blob(statement, 0),
                                     (size_t)sqlite3_column_bytes(statement, 0));
        uint64_t difference;
        uint64_t length;
        uint64_t id = 0;
        while (pl_runs_next(&runs, &difference, &length) == 1) {
            for (uint64_t i = 0; i < length; i++) {
                id += difference;
                assert_true(id < variables);
                found = found || is_wanted[id];
            }
        }
    }
    sqlite3_finalize(statement);
    free(is_wanted);
    return found;
}

/* Checks what was printed after the first line against the profile. */
static void assert_planted(const char *name, const uint64_t wanted[3]) {
    sqlite3 *db = open_made(name);
    debug_information debug = read_debug(name);
    uint64_t met[3] = {0, 0, 0};
    uint64_t last[3] = {0, 0, 0};
    char path[PATH_BYTES * 2];
    char line[500];
    snprintf(path, sizeof path, "%s/output", scratch);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* the summary */
    uint64_t steps = test_ask(db, "SELECT count(*) FROM depth_first_steps");
    while (fgets(line, sizeof line, file) != NULL) {
        char kind[50];
        char subject[200];
        assert_int_equal(sscanf(line, "%49s %199s", kind, subject), 2);
        uint64_t id = strtoull(subject, NULL, 10);
        if (strcmp(kind, "untouched") == 0) {
            char sql[COMMAND_BYTES];
            met[2]++;
            assert_non_null(strstr(subject, "untouched"));
            assert_false(is_touched(db, subject));
            snprintf(sql, sizeof sql,
                     "SELECT count(DISTINCT v.tile) FROM unlowered_vars u JOIN vars_info v ON "
                     "v.unlowered_var_id = u.id JOIN eq_classes c ON c.id = v.equivalence_class "
                     "JOIN eq_class_step e ON e.eq_class_id = c.id WHERE u.name = '%s' AND NOT "
                     "c.is_always_live AND v.category = 0 AND v.size_bytes > 1000 AND "
                     "e.step_id_from <= %llu AND e.step_id_to > %llu",
                     subject, (unsigned long long)steps / 2, (unsigned long long)steps / 2);
            assert_int_equal(test_ask(db, sql), test_ask(db, "SELECT num_tiles FROM target_info"));
            continue;
        }
        size_t which = strcmp(kind, "no-operation") == 0;
        assert_true(which == 1 || strcmp(kind, "no-debug-id") == 0);
        assert_true(met[which] == 0 || id > last[which]); /* each once */
        last[which] = id;
        met[which]++;
        assert_int_equal(ask_number(db,
                                    "SELECT count(*) FROM programs p JOIN program_types t ON t.id "
                                    "= p.variant WHERE p.id = %llu AND t.name IN "
                                    "('OnTileExecute', 'DoExchange')",
                                    id),
                         1);
        uint64_t debug_id =
            ask_number(db, "SELECT ifnull(debug_id, 0) FROM programs WHERE id = %llu", id);
        assert_true((debug_id == 0) == (which == 0));
        if (which == 1)
            assert_true(knows(&debug, debug_id) && !has_operation(&debug, debug_id));
    }
    fclose(file);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(met[i], wanted[i]);
    assert_int_equal(test_ask(db, "SELECT count(*) FROM programs WHERE ifnull(debug_id, 0) = 0"),
                     wanted[0]);
    assert_int_equal(test_ask(db, "SELECT count(*) FROM unlowered_vars WHERE name LIKE 'fault%'"),
                     wanted[2]);
    assert_sound(db);
    free_debug(&debug);
    sqlite3_close(db);
}

static void planted_faults_are_those_told(void **state) {
    (void)state;
    static const struct {
        const char *options;
        uint64_t wanted[3];
    } cases[] = {
        {"", {0, 0, 0}},
        {"--fault no-debug-id:7", {7, 0, 0}},
        {"--fault no-operation:6", {0, 6, 0}},
        {"--fault untouched:3 --pieces 2", {0, 0, 3}},
        {"--fault untouched:9 --fault untouched:1 --framework tensorflow", {0, 0, 1}},
        {"--fault no-operation:9 --fault untouched:4 --fault no-debug-id:8 --outline --training "
         "--framework poptorch",
         {8, 9, 4}},
        {"--fault no-operation:5 --fault no-debug-id:5 --fault untouched:2 --layers 4 "
         "--only-layers 1-2 --framework tensorflow",
         {5, 5, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char options[PATH_BYTES * 2];
        if (!test_takes_case(i, 6))
            continue;
        snprintf(options, sizeof options, "--output '%s/faulty' --force %s", scratch,
                 cases[i].options);
        assert_int_equal(run_tool(options), 0);
        assert_planted("faulty", cases[i].wanted);
    }
    /* More faults than programs. */
    char options[PATH_BYTES * 2];
    snprintf(options, sizeof options, "--output '%s/none' --fault no-operation:99999", scratch);
    assert_int_equal(run_tool(options), 2);
    assert_false(exists("none/profile.pop"));
    assert_false(exists("none/.profile.pop.part"));
}

static int make_scratch(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(scratch, sizeof scratch, "%s/mkprofile-test-XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

static int remove_scratch(void **state) {
    (void)state;
    char command[PATH_BYTES * 2];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_style_is_sound),
        cmocka_unit_test(options_of_the_model_are_sound),
        cmocka_unit_test(pipelines_refer_to_what_is_there),
        cmocka_unit_test(presets_are_sound_when_small),
        cmocka_unit_test(equal_options_give_equal_files),
        cmocka_unit_test(all_layers_are_the_whole),
        cmocka_unit_test(parts_are_like_the_whole),
        cmocka_unit_test(lives_reach_over_the_part),
        cmocka_unit_test(executions_obey_the_tables),
        cmocka_unit_test(equal_seeds_give_equal_executions),
        cmocka_unit_test(planted_faults_are_those_told),
        cmocka_unit_test(refuses_bad_options),
        cmocka_unit_test(leaves_nothing_behind_when_it_fails),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
