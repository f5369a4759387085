/* --solve that is stopped, and what stages of a given split recompute. What it answers is compared
 * in relations_test.py, option_pairs_test.py and memory_model_test.py, and told in tests/cli.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "json_schema.h"

#define TRAINING_DIRECTORY GOLDEN_DIRECTORY "popart-train"

static command_run run;

/* An item of an item of ... a document: keys, or numbers as text; ends with NULL. */
static json_t *json_at(const json_t *document, const char *const *keys) {
    const json_t *place = document;
    for (size_t i = 0; keys[i] != NULL; i++) {
        place = json_is_array(place) ? json_array_get(place, strtoul(keys[i], NULL, 10))
                                     : json_object_get(place, keys[i]);
        if (place == NULL)
            fail_msg("the document has no %s", keys[i]);
    }
    return (json_t *)place;
}
#define JSON_AT(document, ...) json_at(document, (const char *const[]){__VA_ARGS__, NULL})

static uint64_t number_of(const json_t *number) {
    assert_true(json_is_integer(number));
    return (uint64_t)json_integer_value(number);
}
#define NUMBER_AT(document, ...) number_of(JSON_AT(document, __VA_ARGS__))

/* What the run printed, which is what docs/certificate.schema.json calls `name`. */
static json_t *printed(int status, const char *name) {
    char complaint[SCHEMA_COMPLAINT_SIZE];
    char *path = test_project_file("docs/certificate.schema.json");
    json_t *schema = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    json_t *document = json_loads(run.out, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    if (run.status != status || document == NULL)
        fail_msg("exit status %d instead of %d: %s", run.status, status, run.err);
    if (!schema_accepts(schema, NULL, document, complaint) ||
        !schema_accepts(schema, name, document, complaint))
        fail_msg("not as the schema says: %s", complaint);
    json_decref(schema);
    free(path);
    return document;
}

/* Each stage of a given split may be told what it recomputes: it needs what it needs with that. */
static void given_stages_recompute_what_is_said(void **state) {
    static const char *const ways[] = {"none", "full", "none,full", "full,none"};
    json_t *answers[4];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        RUN(&run, TRAINING_DIRECTORY, "-q", "--evaluate", "0", "--schedule", "popart:1,2",
            "--recompute", ways[i], "--format", "json");
        assert_int_equal(run.status, 0);
        answers[i] = json_loads(run.out, 0, NULL);
        assert_non_null(answers[i]);
    }
    assert_null(json_object_get(JSON_AT(answers[0], "stages", "0"), "recompute"));
    assert_string_equal(json_string_value(JSON_AT(answers[2], "stages", "1", "recompute")), "full");
    for (size_t stage = 0; stage < 2; stage++)
        for (size_t i = 2; i < 4; i++) {
            const char *place = stage == 0 ? "0" : "1";
            const json_t *same = answers[(i == 2) == (stage == 0) ? 0 : 1];
            const json_t *other = answers[(i == 2) == (stage == 0) ? 1 : 0];
            assert_true(NUMBER_AT(answers[i], "stages", place, "need_bytes") ==
                        NUMBER_AT(same, "stages", place, "need_bytes"));
            assert_true(NUMBER_AT(answers[i], "stages", place, "need_bytes") !=
                        NUMBER_AT(other, "stages", place, "need_bytes"));
        }
    for (size_t i = 0; i < 4; i++)
        json_decref(answers[i]);
}

/* ---- Stopping ------------------------------------------------------------------------------- */

static uint64_t random_state = 20;

/* A number below `count`. */
static size_t draw(size_t count) {
    random_state = test_random(random_state);
    return (size_t)((random_state >> 33) % count);
}

enum { NUM_BIG_UNITS = 6000, NUM_LONG_UNITS = 100, MOST_BIG_IPUS = 12 };

/* Writes a file of costs that takes long to be solved: a longer stage may have fewer cycles. */
static void write_big(const char *path, size_t num_units, uint64_t memory[NUM_BIG_UNITS]) {
    json_t *units = json_array();
    json_t *cut_cycles = json_array();
    for (size_t i = 0; i < num_units; i++) {
        char name[30];
        snprintf(name, sizeof name, "u%zu", i);
        memory[i] = 100 + draw(99900);
        json_array_append_new(
            units, json_pack("{s:s, s:I}", "name", name, "memory", (json_int_t)memory[i]));
        if (i > 0)
            json_array_append_new(cut_cycles, json_integer((json_int_t)draw(1000)));
    }
    json_t *file = json_pack("{s:s, s:i, s:o, s:o}", "format", "popliner-costs", "version", 1,
                             "units", units, "cut_cycles", cut_cycles);
    assert_int_equal(json_dump_file(file, path, 0), 0);
    json_decref(file);
}

/* A stopped answer is a split within the limits whose numbers are its own, with a bound. */
static void check_stopped(const json_t *answer, size_t num_ipus, size_t num_units,
                          const uint64_t *memory) {
    const json_t *stages = JSON_AT(answer, "stages");
    uint64_t bytes[MOST_BIG_IPUS] = {0};
    size_t unit = 0;
    uint64_t most = 0;
    uint64_t least = UINT64_MAX;
    assert_string_equal(json_string_value(JSON_AT(answer, "status")), "feasible");
    assert_true(json_is_true(JSON_AT(answer, "stopped")));
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);
        uint64_t *sum = &bytes[NUMBER_AT(stage, "ipu")];
        for (size_t k = 0; k < json_array_size(JSON_AT(stage, "layers")); k++)
            *sum += memory[unit++];
    }
    assert_int_equal(unit, num_units);
    for (size_t i = 0; i < json_array_size(stages); i++)
        assert_int_equal(NUMBER_AT(json_array_get(stages, i), "mem", "max_tile_mem"),
                         bytes[NUMBER_AT(json_array_get(stages, i), "ipu")]);
    for (size_t ipu = 0; ipu < num_ipus; ipu++) {
        most = bytes[ipu] > most ? bytes[ipu] : most;
        least = bytes[ipu] < least ? bytes[ipu] : least;
    }
    assert_int_equal(NUMBER_AT(answer, "totals", "memory"), most);
    assert_int_equal(NUMBER_AT(answer, "totals", "balance"), most - least);
    const json_t *objective = JSON_AT(answer, "objectives", "0");
    const char *name = json_string_value(JSON_AT(objective, "name"));
    assert_int_equal(NUMBER_AT(objective, "value"),
                     strcmp(name, "balance") == 0 ? most - least : most);
    assert_true(NUMBER_AT(objective, "bound") <= NUMBER_AT(objective, "value"));
}

/* Interrupts the command after a second of work, or later where a machine or a build is too slow to
 * have a split by then. */
static void interrupt_with_split(int signal_number, double seconds, const char *const *arguments) {
    run_command_interrupted(&run, signal_number, "Reading the costs", seconds, arguments);
    for (int tries = 0; run.status == 1 && tries < 6; tries++) {
        assert_contains(run.err, "before a split that fits was found; none is ruled out.");
        seconds *= 2;
        run_command_interrupted(&run, signal_number, "Reading the costs", seconds, arguments);
    }
}

static void stops_when_interrupted(void **state) {
    (void)state;
    /* the spread by the dynamic program, window by window; shared IPUs by sweeps */
    static const struct {
        const char *objective;
        const char *map;
        size_t num_ipus;
        size_t num_units;
        int signal_number;
    } cases[] = {{"balance,cycles", "0,1,2,3,4,5,6,7,8,9,10,11", 12, NUM_BIG_UNITS, SIGINT},
                 {"memory", "0,1,2,3,0,1,2,3,0,1,2,3", 4, NUM_LONG_UNITS, SIGTERM}};
    static uint64_t memory[NUM_BIG_UNITS];
    char *path = strdup(in_scratch("big.json"));
    for (size_t i = 0; i < 2; i++) {
        if (!test_takes_case(i, 2))
            continue;
        write_big(path, cases[i].num_units, memory);
        const char *const arguments[] = {
            path,           "--solve",    "--objective", cases[i].objective,
            "--device-map", cases[i].map, "--format",    "json",
            "-v",           NULL};
        interrupt_with_split(cases[i].signal_number, 1, arguments);
        json_t *answer = printed(0, "answer");
        check_stopped(answer, cases[i].num_ipus, cases[i].num_units, memory);
        assert_contains(run.err, "Not proven: stopped; at best another split has ");
        json_decref(answer);
    }
    free(path);
}

/* What is known of the best compromises by then: those of the fewest IPUs. */
static void tells_the_compromises_that_are_known(void **state) {
    (void)state;
    static uint64_t memory[NUM_BIG_UNITS];
    const char *path = in_scratch("big.json");
    write_big(path, NUM_BIG_UNITS, memory);
    const char *const arguments[] = {path,   "--solve",  "--pareto", "ipus,memory", "--num-ipus",
                                     "1500", "--format", "json",     "-v",          NULL};
    interrupt_with_split(SIGINT, 0.1, arguments);
    json_t *answer = printed(0, "pareto");
    assert_contains(run.err, "warning: Stopped: there may be more than these ");
    assert_true(json_is_false(JSON_AT(answer, "complete")));
    const json_t *rows = JSON_AT(answer, "results");
    uint64_t most_bytes = UINT64_MAX;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        bool is_last = i + 1 == json_array_size(rows);
        uint64_t bytes = NUMBER_AT(row, "objectives", "1", "value");
        if (!is_last)
            assert_string_equal(json_string_value(JSON_AT(row, "status")), "optimal");
        assert_true(bytes < most_bytes);
        assert_true(NUMBER_AT(row, "totals", "ipus") >= i + 1);
        most_bytes = bytes;
    }
    json_decref(answer);
}

static void stops_when_time_is_up(void **state) {
    (void)state;
    static uint64_t memory[NUM_BIG_UNITS];
    const char *path = in_scratch("big.json");
    write_big(path, NUM_LONG_UNITS, memory);
    RUN(&run, path, "--objective", "memory,traffic", "--device-map=interleaved:3", "--num-ipus=4",
        "--time-limit=0.5", "--solve", "--format", "json");
    assert_is_log(&run);
    json_t *answer = printed(0, "answer");
    check_stopped(answer, 4, NUM_LONG_UNITS, memory);
    assert_true(json_real_value(JSON_AT(answer, "options", "time_limit_seconds")) == 0.5);
    json_decref(answer);
    RUN(&run, path, "--num-ipus", "12", "--time-limit", "0.000001", "--solve", "--format", "json");
    assert_is_log(&run);
    answer = printed(1, "answer");
    assert_string_equal(json_string_value(JSON_AT(answer, "infeasibility", "reason")), "unknown");
    assert_int_equal(json_array_size(JSON_AT(answer, "stages")), 0);
    assert_contains(run.err, "before a split that fits was found; none is ruled out.\n");
    json_decref(answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_stages_recompute_what_is_said),
        SCRATCH_TEST(stops_when_interrupted),
        SCRATCH_TEST(tells_the_compromises_that_are_known),
        SCRATCH_TEST(stops_when_time_is_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
