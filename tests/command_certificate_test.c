/* What --solve --format json prints, against docs/certificate.schema.json: every document that the
 * command can print is what the schema describes, and nothing else is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solving_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_schema.h"

#define SAMPLE PROJECT_DIRECTORY "/data/sample"
#define TRAINING GOLDEN_DIRECTORY "popart-train"
#define ADDITIVE PROJECT_DIRECTORY "/data/costs/additive.json"
#define REGIONS PROJECT_DIRECTORY "/data/costs/regions.json"
#define INTERVALS PROJECT_DIRECTORY "/data/costs/intervals.json"

static command_run run;

/* Runs with an exit status, and what is optional in their documents. */
static const struct {
    int status;
    const char *answer; /* the status in the document */
    const char *reason; /* of the infeasibility, or NULL */
    bool is_full;       /* a profile in the full memory model */
    bool has_stash;     /* of a schedule that trains and keeps something */
    const char *arguments[12];
} runs[] = {
    {0, "optimal", NULL, true, false, {SAMPLE}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--num-ipus", "2", "--slack", "2.5"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--objective", "cycles,balance,traffic"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--device-map", "0,1,0"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--effects", "accumulators", "--need", "at-least"}},
    {0,
     "optimal",
     NULL,
     true,
     false,
     {SAMPLE, "--effects", "passing,layout,accumulators", "--need", "at-most"}},
    {0,
     "optimal",
     NULL,
     true,
     true,
     {TRAINING, "--schedule", "tf-grouped", "--effects", "all,accumulators=fp32", "--num-ipus",
      "2"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--time-limit", "100", "--require", "layers:..2"}},
    {0,
     "optimal",
     NULL,
     true,
     false,
     {CASE_DIRECTORY, "--require", "together:0,1", "--require", "place:0=0"}},
    {0,
     "optimal",
     NULL,
     true,
     false,
     {SAMPLE, "--require", "cut:0", "--require", "no-cut:Head", "--mem-per-tile", "0=50000",
      "--ipu-speed", "1=0.3,0=2", "--bandwidth", "0-1=20"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--bandwidth", "40,1-0=20.5"}},
    {0, "optimal", NULL, false, false, {SAMPLE, "--memory-model", "popliner"}},
    {0, "feasible", NULL, false, false, {SAMPLE, "--solver", "popliner"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--solver", "dp", "--num-ipus", "3"}},
    {0, "optimal", NULL, true, false, {SAMPLE, "--solver", "ilp", "--num-ipus", "3"}},
    {1,
     "infeasible",
     NULL,
     false,
     false,
     {SAMPLE, "--solver", "popliner", "--num-ipus", "2", "--mem-per-tile", "25000"}},
    {0, "optimal", NULL, true, false, {TRAINING, "--schedule", "inference"}},
    {0, "optimal", NULL, true, true, {TRAINING, "--schedule", "popart"}},
    {0,
     "optimal",
     NULL,
     true,
     true,
     {TRAINING, "--schedule", "popart", "--recompute", "full", "--device-map", "0,1,2"}},
    {1, "infeasible", "layer", true, false, {SAMPLE, "--mem-per-tile", "20000"}},
    {1,
     "infeasible",
     "layer",
     true,
     true,
     {TRAINING, "--schedule", "popart", "--mem-per-tile", "20000", "--num-ipus", "2"}},
    {1, "infeasible", "layer", false, false, {REGIONS, "--mem-per-tile", "400"}},
    {1,
     "infeasible",
     "place",
     true,
     false,
     {SAMPLE, "--num-ipus", "3", "--mem-per-tile", "0=20000", "--require", "layers:..2"}},
    {1,
     "infeasible",
     "capacity",
     true,
     false,
     {SAMPLE, "--mem-per-tile", "28000", "--num-ipus", "2"}},
    {1, "infeasible", "capacity", false, false, {ADDITIVE, "--num-ipus", "2"}},
    {1,
     "infeasible",
     "capacity",
     true,
     false,
     {SAMPLE, "--mem-per-tile", "28000", "--device-map", "0,1"}},
    {1,
     "infeasible",
     "constraints",
     true,
     false,
     {SAMPLE, "--require", "cut:1", "--require", "together:0,2"}},
    {1, "infeasible", "constraints", false, false, {INTERVALS, "--require", "cut:a,b"}},
    {1, "infeasible", "unknown", false, false, {ADDITIVE, "--time-limit", "0.0000001"}},
    {0, "optimal", NULL, false, false, {ADDITIVE}},
    {0, "optimal", NULL, false, false, {ADDITIVE, "--objective", "cycles,balance"}},
    {0, "optimal", NULL, false, false, {REGIONS, "--schedule", "popart"}},
    {0, "optimal", NULL, false, false, {REGIONS, "--device-map", "0,1,0"}},
    {0, "optimal", NULL, false, false, {INTERVALS, "--objective", "balance,ipus"}},
};
enum { NUM_RUNS = sizeof runs / sizeof *runs };

static json_t *document_of(size_t i) {
    return run_json(&run, runs[i].status, runs[i].arguments);
}

/* Whether the command was built without what a run needs. */
static bool is_left_out(size_t i) {
    for (size_t k = 0; runs[i].arguments[k] != NULL; k++)
        if (strcmp(runs[i].arguments[k], "ilp") == 0)
            return !test_has_glpk();
    return false;
}

/* Whether an answer ought to say what proved it. */
static bool is_proven(size_t i) {
    for (size_t k = 0; runs[i].arguments[k] != NULL; k++)
        if (k > 0 && strcmp(runs[i].arguments[k - 1], "--solver") == 0 &&
            strcmp(runs[i].arguments[k], "popliner") == 0)
            return false;
    return strcmp(runs[i].answer, "feasible") != 0 &&
           (runs[i].reason == NULL || strcmp(runs[i].reason, "unknown") != 0);
}

static void every_answer_is_as_described(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_RUNS; i++) {
        if (is_left_out(i))
            continue;
        bool is_profile = strstr(runs[i].arguments[0], "/data/costs/") == NULL;
        json_t *answer = document_of(i);
        assert_string_equal(json_string_value(JSON_AT(answer, "status")), runs[i].answer);
        assert_int_equal(json_is_string(JSON_AT(answer, "proof")), is_proven(i));
        const json_t *why = JSON_AT(answer, "infeasibility");
        assert_int_equal(json_is_null(why), runs[i].reason == NULL);
        if (runs[i].reason != NULL)
            assert_string_equal(json_string_value(JSON_AT(why, "reason")), runs[i].reason);
        if (runs[i].reason != NULL &&
            (strcmp(runs[i].reason, "layer") == 0 || strcmp(runs[i].reason, "place") == 0))
            assert_int_equal(json_is_object(JSON_AT(why, "peak")), is_profile);
        /* what the description marks as "only" */
        const json_t *stages = JSON_AT(answer, "stages");
        for (size_t k = 0; k < json_array_size(stages); k++) {
            const json_t *stage = json_array_get(stages, k);
            const json_t *mem = JSON_AT(stage, "mem");
            assert_int_equal(json_object_get(stage, "head") != NULL, runs[i].is_full);
            assert_int_equal(json_object_get(stage, "tail") != NULL, runs[i].is_full);
            assert_int_equal(json_object_get(mem, "unexplained") != NULL, runs[i].is_full);
            assert_int_equal(json_object_get(mem, "layout") != NULL, runs[i].is_full);
            bool trains = runs[i].is_full && runs[i].has_stash;
            assert_int_equal(json_object_get(mem, "buffers") != NULL, trains);
            assert_int_equal(json_object_get(mem, "accumulators") != NULL, trains);
            assert_int_equal(json_object_get(mem, "stash") != NULL, runs[i].has_stash);
            assert_int_equal(json_is_object(JSON_AT(stage, "needs")), runs[i].is_full);
            assert_int_equal(json_object_get(mem, "total_mem") != NULL, is_profile);
            assert_int_equal(json_is_object(JSON_AT(stage, "peak")), is_profile);
            assert_int_equal(json_is_integer(JSON_AT(stage, "parameter_bytes")), is_profile);
        }
        const json_t *options = JSON_AT(answer, "options");
        static const char *const of_profiles[] = {"memory_model", "effects", "accumulators",
                                                  "need"};
        for (size_t k = 0; k < sizeof of_profiles / sizeof *of_profiles; k++)
            assert_int_equal(json_object_get(options, of_profiles[k]) != NULL, is_profile);
        assert_true(json_is_integer(JSON_AT(options, "num_ipus")));
        json_decref(answer);
    }
}

static void every_sweep_is_as_described(void **state) {
    (void)state;
    json_decref(RUN_JSON(&run, 0, SAMPLE, "--num-ipus", "1..3", "--require", "cut:0"));
    json_decref(RUN_JSON(&run, 0, SAMPLE, "--mem-per-tile", "20000..50000"));
    json_decref(RUN_JSON(&run, 0, SAMPLE, "--num-ipus", "1..3", "--memory-model", "popliner"));
    json_decref(RUN_JSON(&run, 0, ADDITIVE, "--num-ipus", "1..4", "--objective", "cycles,balance"));
    json_decref(RUN_JSON(&run, 0, INTERVALS, "--mem-per-tile", "30..70:10"));
}

static void all_best_compromises_are_as_described(void **state) {
    (void)state;
    json_decref(RUN_JSON(&run, 0, SAMPLE, "--pareto", "memory,traffic,cycles"));
    json_decref(RUN_JSON(&run, 0, ADDITIVE, "--pareto", "cycles,balance"));
    json_decref(RUN_JSON(&run, 1, SAMPLE, "--pareto", "ipus,memory", "--mem-per-tile", "9"));
    json_t *stopped =
        RUN_JSON(&run, 1, SAMPLE, "--pareto", "traffic,ipus", "--time-limit", "0.000001");
    char complaint[SCHEMA_COMPLAINT_SIZE];
    assert_true(json_is_false(JSON_AT(stopped, "complete")));
    assert_false(certificate_schema_accepts("answer", stopped, complaint));
    assert_false(certificate_schema_accepts("sweep", stopped, complaint));
    json_decref(stopped);
}

/* What --evaluate tells of a stage's needs is described, too, and says the same as --solve. */
static void evaluations_have_the_same_needs(void **state) {
    (void)state;
    static const char *const options[][2] = {
        {"--schedule=popart", "--need=at-most"},
        {"--schedule=tf-grouped", "--effects=layout,accumulators"},
        {"--schedule=sequential", "--effects=all,accumulators=fp32"},
        {"--schedule=none", "--mem-per-tile=1"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char complaint[SCHEMA_COMPLAINT_SIZE];
        RUN(&run, TRAINING, "--evaluate=0,1", "--format=json", "-q", options[i][0], options[i][1]);
        assert_true(run.status == 0 || run.status == 1);
        json_t *evaluated = json_loads(run.out, 0, NULL);
        assert_int_equal(json_array_size(evaluated), 3);
        RUN(&run, TRAINING, "--solve", "--device-map=0,1,2", "--require=cut:0,1", "--format=json",
            "-q", options[i][0], options[i][1]);
        json_t *solved = json_loads(run.out, 0, NULL);
        for (size_t k = 0; k < 3; k++) {
            const json_t *own = json_array_get(evaluated, k);
            const json_t *other = json_array_get(JSON_AT(solved, "stages"), k);
            if (!certificate_schema_describes("needs", JSON_AT(own, "needs"), complaint) ||
                !certificate_schema_describes("measured_memory", JSON_AT(own, "mem"), complaint))
                fail_msg("not as the schema says: %s", complaint);
            assert_true(json_equal(JSON_AT(own, "needs"), JSON_AT(other, "needs")));
            assert_true(json_equal(JSON_AT(own, "mem"), JSON_AT(other, "mem")));
            /* it adds up, and the margin is that of what is expected */
            uint64_t least = NUMBER_AT(own, "needs", "at_least_bytes");
            uint64_t expected = NUMBER_AT(own, "needs", "expected_bytes");
            assert_true(least <= expected);
            assert_true(expected <= NUMBER_AT(own, "needs", "at_most_bytes"));
            assert_int_equal(expected, NUMBER_AT(own, "tile_bytes"));
            assert_int_equal(expected, NUMBER_AT(own, "mem", "max_tile_mem"));
            /* what is left is that of the need that was asked for */
            const char *risk = options[i][1];
            uint64_t need = strcmp(risk, "--need=at-most") == 0
                                ? NUMBER_AT(own, "needs", "at_most_bytes")
                            : strcmp(risk, "--need=at-least") == 0 ? least
                                                                   : expected;
            assert_int_equal(json_integer_value(JSON_AT(own, "needs", "margin_bytes")) +
                                 (int64_t)expected,
                             json_integer_value(JSON_AT(own, "headroom_bytes")) + (int64_t)need);
            uint64_t parts = 0;
            const char *key;
            json_t *value;
            json_object_foreach(JSON_AT(own, "mem"), key, value) {
                bool is_part = strcmp(key, "total_mem") != 0 && strcmp(key, "max_tile_mem") != 0 &&
                               strcmp(key, "unexplained_always_live") != 0;
                parts += is_part ? number_of(value) : 0;
            }
            assert_int_equal(parts, NUMBER_AT(own, "mem", "total_mem"));
        }
        json_decref(evaluated);
        json_decref(solved);
    }
}

/* ---- Nothing else --------------------------------------------------------------------------- */

/* Keys that need not be there. */
static bool is_optional(const char *key) {
    static const char *const keys[] = {
        "head",         "tail",    "unexplained",  "unexplained_always_live",
        "layout",       "buffers", "accumulators", "stash",
        "memory_model", "effects", "need",         "link_cycles"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

/* Keys whose numbers may be below 0. */
static bool is_signed(const char *key) {
    return strcmp(key, "margin_bytes") == 0 || strcmp(key, "margin_spreads") == 0;
}

static void assert_not_accepted(const json_t *document, const char *what, const char *key) {
    char complaint[SCHEMA_COMPLAINT_SIZE];
    if (certificate_schema_accepts("answer", document, complaint))
        fail_msg("the schema accepts %s %s", what, key);
}

/* Changes one thing after another below `place`, a part of the document, and expects that to be
 * refused. */
static void spoil(json_t *document, json_t *place, bool is_map) {
    json_t *item;
    size_t index;
    if (json_is_array(place)) {
        json_array_foreach(place, index, item) {
            spoil(document, item, false);
        }
        json_array_append_new(place, json_true());
        assert_not_accepted(document, "a boolean in a list", "");
        json_array_remove(place, json_array_size(place) - 1);
    }
    if (!json_is_object(place))
        return;
    json_object_set_new(place, "surprise", json_string("x"));
    assert_not_accepted(document, "a key", "surprise");
    json_object_del(place, "surprise");
    const char *keys[40];
    size_t count = 0;
    const char *key;
    json_object_foreach(place, key, item) {
        assert_true(count < 40);
        keys[count++] = key;
    }
    for (size_t i = 0; i < count; i++) {
        char name[60];
        snprintf(name, sizeof name, "%s", keys[i]);
        item = json_incref(json_object_get(place, name));
        spoil(document, item,
              strcmp(name, "place") == 0 || strcmp(name, "ipu_mem_per_tile") == 0 ||
                  strcmp(name, "ipu_speed") == 0 || strcmp(name, "links") == 0);
        json_object_set_new(place, name, json_is_boolean(item) ? json_string("true") : json_true());
        assert_not_accepted(document, "a wrong type of", name);
        if (json_is_number(item)) {
            char complaint[SCHEMA_COMPLAINT_SIZE];
            json_object_set_new(place, name, json_integer(-1));
            if (!is_signed(name))
                assert_not_accepted(document, "a negative", name);
            else if (!certificate_schema_accepts("answer", document, complaint))
                fail_msg("a negative %s: %s", name, complaint);
        }
        if (!is_map && !is_optional(name)) {
            json_object_del(place, name);
            assert_not_accepted(document, "an answer without", name);
        }
        json_object_set_new(place, name, item);
    }
}

static void nothing_else_is_accepted(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_RUNS; i++) {
        if (is_left_out(i) || !test_takes_case(i, 3))
            continue;
        json_t *answer = document_of(i);
        char complaint[SCHEMA_COMPLAINT_SIZE];
        spoil(answer, answer, false);
        assert_true(certificate_schema_accepts("answer", answer, complaint));
        assert_false(certificate_schema_accepts("sweep", answer, complaint));
        assert_false(certificate_schema_accepts("pareto", answer, complaint));
        json_decref(answer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_as_described),
        cmocka_unit_test(every_sweep_is_as_described),
        cmocka_unit_test(all_best_compromises_are_as_described),
        cmocka_unit_test(evaluations_have_the_same_needs),
        cmocka_unit_test(nothing_else_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
