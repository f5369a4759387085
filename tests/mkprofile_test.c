/* popliner-mkprofile: its profiles agree with themselves, in every style; equal options give equal
 * files; and the checker of profiles is itself tried on real files and on damaged ones.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "ground_truth.h"
#include "read/blob_codec.h"

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
    snprintf(command, sizeof command, "'%s' %s >/dev/null 2>'%s/errors'", MKPROFILE_TOOL, options,
             scratch);
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

static sqlite3 *open_database(const char *path, bool is_immutable) {
    char uri[COMMAND_BYTES];
    sqlite3 *db = NULL;
    snprintf(uri, sizeof uri, "file:%s%s", path, is_immutable ? "?immutable=1" : "");
    int flags = SQLITE_OPEN_URI | (is_immutable ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    assert_int_equal(sqlite3_open_v2(uri, &db, flags, NULL), SQLITE_OK);
    return db;
}

static sqlite3 *open_made(const char *name) {
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/%s/profile.pop", scratch, name);
    return open_database(path, false);
}

static uint64_t ask(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    uint64_t value = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void assert_sound(sqlite3 *db) {
    char why[500] = "";
    if (!ground_truth_holds(db, why, sizeof why) || !lives_keep_apart(db, why, sizeof why) ||
        !references_exist(db, why, sizeof why))
        fail_msg("%s", why);
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
    assert_non_null(debug.is_known);
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
        const cbor_item_t *replaced = value_of(items[i], "replacedDebugContextIds");
        debug.calls += replaced != NULL && cbor_string_length(replaced) > 2;
    }
    for (size_t i = 0; i < debug.count; i++) {
        const cbor_item_t *parent = value_of(items[i], "parentId");
        assert_true(parent == NULL || knows(&debug, cbor_get_int(parent)));
        assert_true(cbor_get_int(value_of(items[i], "name")) < cbor_array_size(table));
        const cbor_item_t *location = value_of(items[i], "location");
        assert_true(cbor_get_int(value_of(location, "fileName")) < cbor_array_size(table));
        assert_true(cbor_get_int(value_of(location, "functionName")) < cbor_array_size(table));
    }
    cbor_decref(&root);
    free(bytes);
    return debug;
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
        uint64_t id;
        while (cursor < end) {
            assert_true(pl_varint_read(&cursor, end, &id));
            assert_true(id == 0 || knows(debug, id));
        }
    }
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
        uint64_t calls = ask(db, "SELECT count(*) FROM program_type_call");
        assert_true((calls > 0) == is_outlined);
        assert_true(ask(db, "SELECT count(*) FROM function_programs") <= calls);
        assert_int_equal(ask(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'"), 67);
        /* addresses are shared, and some class has several ranges */
        assert_true(ask(db, "SELECT count(*) FROM (SELECT 1 FROM eq_class_step GROUP BY "
                            "eq_class_id HAVING count(*) > 1)") > 0);
        free(debug.is_known);
        sqlite3_close(db);
    }
}

static void presets_are_sound_when_small(void **state) {
    (void)state;
    make("tiny", "--preset bert-tiny --tiles 8 --vocabulary 500 --hidden 64");
    make("large", "--tiles 16 --preset bert-large --hidden 64 --vocabulary 500");
    sqlite3 *db = open_made("tiny");
    assert_sound(db);
    sqlite3_close(db);
    db = open_made("large");
    assert_sound(db);
    assert_int_equal(ask(db, "SELECT num_tiles FROM target_info"), 16);
    sqlite3_close(db);
}

static void equal_options_give_equal_files(void **state) {
    (void)state;
    make("first", "--training --outline --seed 5");
    make("second", "--training --outline --seed 5");
    make("third", "--training --outline --seed 6");
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
        "--output x --layers -1",
        "--output x --layers 99999999999999999999",
        "--output x --tiles 1000001",
        "--output x --framework caffe",
        "--output x --preset bert-huge",
        "--output x --colour",
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

/* A changed profile must be found out. */
static void the_checker_notices_changes(void **state) {
    (void)state;
    static const char *const changes[] = {
        "UPDATE vars_info SET size_bytes = size_bytes + 4 WHERE var_id = 300",
        "UPDATE vars_info SET offset = offset + 4 WHERE var_id = (SELECT var_id FROM vars_info "
        "WHERE tile = 0 ORDER BY offset DESC LIMIT 1)",
        "UPDATE vars_info SET category = 6 WHERE var_id = (SELECT min(var_id) FROM vars_info "
        "WHERE category = 3)",
        "UPDATE eq_class_step SET step_id_to = step_id_to + 1 WHERE eq_class_id = 20",
        "UPDATE eq_classes SET is_always_live = 0 WHERE id = 1",
        "UPDATE memory_not_always_live_by_step_and_ipu SET delta_bytes = delta_bytes + 1 WHERE "
        "rowid = 40",
        "UPDATE compute_sets SET edge_count = edge_count + 1 WHERE compute_set = 3",
        "DELETE FROM vertex_instances WHERE compute_set = 4",
        "UPDATE memory_by_vertex_type SET edge_ptr_bytes = vertex_data_bytes WHERE vertex_type = 0",
        "UPDATE depth_first_steps SET parent_step_id = 0 WHERE id = 60",
        "UPDATE depth_first_steps SET program_id = program_id + 1 WHERE id = 60",
    };
    make("changed", "--outline");
    sqlite3 *db = open_made("changed");
    assert_sound(db);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char why[500] = "";
        assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_changes(db), 1);
        if (ground_truth_holds(db, why, sizeof why))
            fail_msg("not noticed: %s", changes[i]);
        assert_true(strlen(why) > 10);
        assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    }
    char why[500] = "";
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE vars_info SET offset = (SELECT offset FROM vars_info "
                                  "WHERE var_id = 1), alignment = 4 WHERE var_id = 0",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_false(lives_keep_apart(db, why, sizeof why));
    assert_int_equal(sqlite3_exec(db, "DELETE FROM vars_info WHERE var_id = 400", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_false(references_exist(db, why, sizeof why));
    sqlite3_close(db);
}

/* Profiles that this project did not make. */
static void the_checker_accepts_other_profiles(void **state) {
    (void)state;
    static const char *const others[] = {
        REAL_DIRECTORY "/firehose",
        GOLDEN_DIRECTORY "/popart-inf",
        GOLDEN_DIRECTORY "/popart-inf-outline",
        GOLDEN_DIRECTORY "/popart-train",
        GOLDEN_DIRECTORY "/popart-train-outline",
        GOLDEN_DIRECTORY "/popart-wide",
        GOLDEN_DIRECTORY "/poptorch-inf",
        GOLDEN_DIRECTORY "/poptorch-train-outline",
        GOLDEN_DIRECTORY "/tensorflow-inf",
        GOLDEN_DIRECTORY "/tensorflow-train",
    };
    bool found = false;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char path[COMMAND_BYTES / 2];
        struct stat status;
        snprintf(path, sizeof path, "%s/profile.pop", others[i]);
        if (stat(path, &status) != 0) {
            print_message("%s is not there: left out\n", path);
            continue;
        }
        found = true;
        char why[500] = "";
        sqlite3 *db = open_database(path, true);
        if (!ground_truth_holds(db, why, sizeof why) || !lives_keep_apart(db, why, sizeof why))
            fail_msg("%s: %s", path, why);
        sqlite3_close(db);
    }
    if (!found)
        skip();
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
        cmocka_unit_test(the_checker_accepts_other_profiles),
        cmocka_unit_test(every_style_is_sound),
        cmocka_unit_test(presets_are_sound_when_small),
        cmocka_unit_test(equal_options_give_equal_files),
        cmocka_unit_test(refuses_bad_options),
        cmocka_unit_test(leaves_nothing_behind_when_it_fails),
        cmocka_unit_test(the_checker_notices_changes),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
