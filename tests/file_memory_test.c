/* Reading and storing with too little memory: all of it, or an error that says so.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "model/operations.h"
#include "model/regex.h"
#include "popliner/costs.h"
#include "profile/profile_data.h"
#include "profile/profile_readers.h"
#include "profile/read.h"
#include "scarce_memory.h"
#include "stored.h"
#include "test_data.h"

/* ---- files of costs ------------------------------------------------------------------------- */

/* All that the file says, as text. */
static popliner_status read_costs(void *user, char **result, popliner_error *error) {
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                        .recompute = POPLINER_RECOMPUTE_NONE,
                                        .max_stages = 3};
    popliner_costs_file *file;
    pl_text text = {0};
    popliner_status status = popliner_costs_file_read(user, NULL, 0, &pipeline, &file, error);
    if (status != POPLINER_OK) {
        assert_null(file);
        return status;
    }
    const popliner_costs *costs = file->costs;
    size_t num_units = popliner_costs_num_units(costs);
    pl_text_format(&text, "%s %zu", file->time_unit, file->num_ipus);
    for (size_t first = 0; first < num_units; first++) {
        pl_text_format(&text, "\n%s", file->unit_names[first]);
        if (first > 0)
            pl_text_format(&text, " cut %" PRIu64, popliner_costs_cut(costs, first));
        for (size_t last = first; last < num_units; last++)
            pl_text_format(&text, " %" PRIu64 "/%" PRIu64,
                           popliner_costs_peak(costs, first, last, 2),
                           popliner_costs_cycles(costs, first, last));
    }
    popliner_costs_file_free(file);
    return pl_text_finish(&text, POPLINER_OK, result, error);
}

static const char json_graph[] =
    "{\"nodes\": [{\"id\": 9, \"fpgaLatency\": 1, \"colorClass\": 5},"
    "{\"id\": 3, \"name\": \"n\", \"fpgaLatency\": 1},"
    "{\"id\": 4, \"name\": \"n\", \"fpgaLatency\": 1, \"colorClass\": 5}],"
    "\"edges\": [{\"sourceId\": 9, \"destId\": 3, \"cost\": 1}]}";
static const char text_graph[] =
    "node7 -- Input -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
    "parameter_size=1\n"
    "node2 -- a -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
    "parameter_size=1\n"
    "\tnode7 -- node2\n";
/* A number and a name of which jansson would leave out bytes. */
static const char long_tokens[] =
    "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [{\"name\": "
    "\"a unit with a name of more than sixteen bytes\", \"memory\": 1, "
    "\"cycles\": 0.1234567890123456789012345678901}]}";

/* Wherever the longest text ends within jansson's buffer, whose sizes are powers of two. */
static void names_of_any_length(void **state) {
    enum { SHORTEST = 26, LONGEST = 32 };
    char *path = test_path(*state, "names.json");
    for (int length = SHORTEST; length <= LONGEST; length++) {
        char text[200];
        const int size = snprintf(text, sizeof text,
                                  "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": "
                                  "[{\"name\": \"%0*d\", \"memory\": 1}]}",
                                  length, 7);
        test_write_bytes(path, text, (size_t)size);
        assert_true(scarce_memory_check(path, read_costs, path) > 20);
        unlink(path);
    }
    free(path);
}

static void files_of_costs(void **state) {
    static const char *const examples[] = {"data/costs/additive.json", "data/costs/regions.json"};
    static const struct {
        const char *name;
        const char *text;
    } own[] = {{"graph.json", json_graph}, {"graph.txt", text_graph}, {"long.json", long_tokens}};
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char *path = test_project_file(examples[i]);
        assert_true(scarce_memory_check(path, read_costs, path) > 20);
        free(path);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char *path = test_path(*state, own[i].name);
        test_write_bytes(path, own[i].text, strlen(own[i].text));
        assert_true(scarce_memory_check(path, read_costs, path) > 20);
        free(path);
    }
}

/* ---- patterns ------------------------------------------------------------------------------- */

static bool add_match(void *user, const char *result) {
    pl_text *text = user;
    pl_text_format(text, "[%s]", result);
    return !text->failed;
}

static popliner_status find_all(void *user, char **result, popliner_error *error) {
    static const char name[] = "encoder/layer12/weight, decoder/layer_3/bias";
    pl_text text = {0};
    pl_regex *regex;
    popliner_status status = pl_regex_compile(user, "--pattern", &regex, error);
    if (status == POPLINER_OK)
        status = pl_regex_find_all(regex, name, strlen(name), add_match, &text, error);
    pl_regex_free(regex);
    return pl_text_finish(&text, status, result, error);
}

static void patterns(void **state) {
    (void)state;
    static char simple[] = "layer_?(\\d+)";
    /* too many groups for what the compiler has on the stack */
    static char nested[2000];
    size_t length = 0;
    for (size_t i = 0; i < 150; i++)
        length += (size_t)snprintf(nested + length, sizeof nested - length, "(?<g%zu>", i);
    length += (size_t)snprintf(nested + length, sizeof nested - length, "\\w");
    for (size_t i = 0; i < 150; i++)
        length += (size_t)snprintf(nested + length, sizeof nested - length, ")");
    assert_true(scarce_memory_check("a pattern", find_all, simple) >= 5);
    assert_true(scarce_memory_check("a pattern of many groups", find_all, nested) >= 6);
}

/* ---- a table of a profile ------------------------------------------------------------------- */

/* Ids with gaps, so that the map of them grows whenever the arrays do. */
enum { NUM_TENSORS = 40 };

static uint64_t tensor_id(size_t i) {
    return 7 + 3 * (uint64_t)i;
}

static popliner_status read_table(void *user, char **result, popliner_error *error) {
    popliner_profile *profile = calloc(1, sizeof *profile);
    pl_reading r = {.profile = profile, .database = {.path = user, .outcome.error = error}};
    const pl_id_map *ids = &r.ids[PL_TABLE_UNLOWERED];
    pl_text text = {0};
    pl_text_add(&text, "as they are");
    /* a connection of its own: SQLite keeps memory until it is closed */
    if (sqlite3_open_v2(user, &r.database.sqlite, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        pl_database_fail(&r.database, "opening it");
    if (pl_outcome_has(&r.database.outcome, profile != NULL, "the profile"))
        pl_table_read(&r, PL_TABLE_UNLOWERED);
    const popliner_status status = r.database.outcome.status;
    for (size_t i = 0; status == POPLINER_OK && i < NUM_TENSORS; i++) {
        char name[20];
        snprintf(name, sizeof name, "tensor %zu", i);
        assert_int_equal(pl_id_map_find(ids, tensor_id(i)), i);
        assert_string_equal(pl_profile_string(profile, profile->unlowered_name[i]), name);
    }
    pl_id_map_free(&r.ids[PL_TABLE_UNLOWERED]);
    pl_profile_free(profile);
    sqlite3_close(r.database.sqlite);
    return pl_text_finish(&text, status, result, error);
}

static void table(void **state) {
    char *path = test_path(*state, "table");
    sqlite3 *sqlite = NULL;
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(sqlite, "CREATE TABLE unlowered_vars (id, name)", NULL, NULL, NULL),
        SQLITE_OK);
    for (size_t i = 0; i < NUM_TENSORS; i++) {
        char sql[120];
        snprintf(sql, sizeof sql, "INSERT INTO unlowered_vars VALUES (%" PRIu64 ", 'tensor %zu')",
                 tensor_id(i), i);
        assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    sqlite3_close(sqlite);
    assert_true(scarce_memory_check("a table", read_table, path) > 20);
    free(path);
}

/* ---- stored analyses ------------------------------------------------------------------------ */

static golden_case c;
static char *stored_path;

static uint64_t hash(uint64_t hash, const void *bytes, size_t size) {
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

static popliner_status tell_hash(uint64_t hash, char **result, popliner_error *error) {
    pl_text text = {0};
    pl_text_format(&text, "%" PRIx64, hash);
    return pl_text_finish(&text, POPLINER_OK, result, error);
}

static popliner_status save(void *user, char **result, popliner_error *error) {
    (void)user;
    static char piece[1 << 16];
    uint64_t sum = 0;
    remove(stored_path);
    popliner_status status = save_stored(c.profile, c.operations, stored_path, error);
    int file = open(stored_path, O_RDONLY);
    assert_int_equal(file >= 0, status == POPLINER_OK);
    if (status != POPLINER_OK)
        return status;
    for (ssize_t size; (size = read(file, piece, sizeof piece)) > 0;)
        sum = hash(sum, piece, (size_t)size);
    close(file);
    return tell_hash(sum, result, error);
}

static popliner_status load(void *user, char **result, popliner_error *error) {
    (void)user;
    popliner_profile *profile;
    pl_operations *operations;
    pl_field fields[2 * PL_MAX_FIELDS];
    uint64_t sum = 0;
    popliner_status status = load_stored(stored_path, &profile, &operations, error);
    if (status != POPLINER_OK)
        return status;
    size_t count = pl_profile_fields(profile, PL_FIELDS_ALL, NULL, fields);
    count += pl_operations_fields(operations, fields + count);
    for (size_t i = 0; i < count; i++)
        sum = hash(sum, pl_field_items(&fields[i]),
                   (*fields[i].count + fields[i].extra_items) * fields[i].item_size);
    pl_profile_free(profile);
    pl_operations_free(operations);
    return tell_hash(sum, result, error);
}

static void stored_analyses(void **state) {
    size_t num_files = 0;
    c = made_whole_case();
    stored_path = test_path(*state, "stored");
    assert_true(scarce_memory_check("storing", save, NULL) > 15);
    DIR *directory = opendir(*state);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        num_files += entry->d_name[0] != '.';
    closedir(directory);
    assert_int_equal(num_files, 1);
    assert_true(scarce_memory_check("loading", load, NULL) > 20);
    free(stored_path);
}

int main(void) {
    scarce_memory_prepare();
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(names_of_any_length), IN_DIRECTORY(files_of_costs),
        cmocka_unit_test(patterns),        IN_DIRECTORY(table),
        IN_DIRECTORY(stored_analyses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
