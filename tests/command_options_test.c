/* What the command says of options before and while it works with them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COSTS PROJECT_DIRECTORY "/data/costs/additive.json"
#define STASH PROJECT_DIRECTORY "/data/costs/regions.json"

static command_run run;

/* ---- What an action ignores ----------------------------------------------------------------- */

/* Every option that is not for every run, and the actions that use it. Whether a profile is there
 * does not matter. */
static const struct {
    const char *option;
    const char *value;
    const char *actions;    /* that use it */
    bool is_only_warned_of; /* by actions that PopLiner 1.0.0 had: it ignored the option there */
} uses[] = {
    {"--num-ipus", "2", "--solve --evaluate", true},
    {"--mem-per-tile", "600K", "--solve --evaluate", true},
    {"--reserve", "5%", "--solve --evaluate", false},
    {"--schedule", "popart", "--solve --evaluate", false},
    {"--recompute", "none", "--solve --evaluate", false},
    {"--schedule", "1f1b", "--solve --evaluate", false},
    {"--effects", "accumulators", "--solve --evaluate", false},
    {"--effects", "layout,passing,buffers", "--solve --evaluate", false},
    {"--need", "expected", "--solve --evaluate", false},
    {"--memory-model", "full",
     "--solve --evaluate --diagnose --memory-totals --operation-breakdown --layer-breakdown "
     "--save-to-file",
     false},
    {"--layers", "0..0", "--diagnose", false},
    {"--layers", "only:all", "--diagnose", false},
    {"--solver", "ilp", "--solve", false},
    {"--objective", "memory", "--solve", false},
    {"--slack", "1", "--solve", false},
    {"--device-map", "0", "--solve --evaluate", false},
    {"--device-map", "interleaved:1", "--solve --evaluate", false},
    {"--device-map", "v", "--solve --evaluate", false},
    {"--mem-per-tile", "0=1K", "--solve --evaluate", true},
    {"--ipu-speed", "0=2", "--solve", false},
    {"--bandwidth", "64", "--solve", false},
    {"--pareto", "memory,ipus", "--solve", false},
    {"--require", "layers:1..", "--solve", false},
    {"--require", "layers:..1", "--solve", false},
    {"--require", "cut:0", "--solve", false},
    {"--require", "no-cut:0", "--solve", false},
    {"--require", "together:0,1", "--solve", false},
    {"--require", "place:0=0", "--solve", false},
    /* how it is read, and what is for every run */
    {"--layer-name-regex", "x", NULL, false},
    {"--inputs-regex-layer-0", "x", NULL, false},
    {"--layer-order", "natural", NULL, false},
    {"--load-from-file", NULL, NULL, false},
    {"--threads", "1", NULL, false},
    {"--quiet", NULL, NULL, false},
    {"--verbose", NULL, NULL, false},
};

static void refuses_options_that_no_action_uses(void **state) {
    (void)state;
    const struct {
        const char *name;
        const char *value;
        bool is_new; /* PopLiner 1.0.0 did not have it */
    } actions[] = {
        {"--solve", NULL, false},
        {"--evaluate", "whole", true},
        {"--diagnose", NULL, true},
        {"--memory-totals", NULL, false},
        {"--operation-breakdown", NULL, false},
        {"--layer-breakdown", NULL, false},
        {"--memory-affinity", NULL, false},
        {"--interlayer-communication", NULL, false},
        {"--save-to-file", in_scratch("stored"), false},
    };
    enum { NUM_ACTIONS = sizeof actions / sizeof *actions };
    const char *missing = in_scratch("missing.pop");
    char message[100];
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        for (size_t k = 0; k < NUM_ACTIONS; k++) {
            if (!test_takes_case(i + k, 12))
                continue;
            const char *arguments[7] = {missing, uses[i].option};
            bool is_used =
                uses[i].actions == NULL || strstr(uses[i].actions, actions[k].name) != NULL;
            size_t count = 2;
            if (uses[i].value != NULL)
                arguments[count++] = uses[i].value;
            bool is_of_ipus = uses[i].value != NULL && (strncmp(uses[i].value, "inter", 5) == 0 ||
                                                        strcmp(uses[i].value, "v") == 0);
            if (is_used && is_of_ipus)
                arguments[count++] = "--num-ipus=2";
            arguments[count++] = actions[k].name;
            arguments[count] = actions[k].value;
            run_command(&run, arguments);
            if (is_used) {
                assert_int_equal(run.status, 3);
                assert_contains(run.err, "missing.pop: no such file");
            } else if (uses[i].is_only_warned_of && !actions[k].is_new) {
                assert_int_equal(run.status, 3);
                assert_contains(run.err, "missing.pop: no such file");
                /* a table of 1.0.0 has its log; to store prints none */
                const bool is_table = strcmp(actions[k].name, "--save-to-file") != 0;
                snprintf(message, sizeof message, "%s %s: does nothing here; ",
                         is_table ? "WARNING" : "warning:", uses[i].option);
                assert_contains(run.err, message);
            } else {
                snprintf(message, sizeof message, "%s: does nothing here; it is for --",
                         uses[i].option);
                assert_refused(&run, 2, message);
            }
        }
    /* one that uses it is enough */
    RUN(&run, missing, "--memory-totals", "--diagnose", "--layers=0..0");
    assert_refused(&run, 3, "missing.pop: no such file");
    RUN(&run, missing, "--layers=0", "--memory-totals", "--evaluate=0", "--layer-breakdown");
    assert_refused(&run, 2, "--layers: does nothing here; it is for --diagnose\n");
    RUN(&run, missing, "--memory-totals", "--format=json");
    assert_refused(&run, 2, "--format json: not for --output memory-totals, which has tsv and csv");
}

/* A page of costs is refused before anything is solved or written. */
static void refuses_pages_of_costs(void **state) {
    (void)state;
    static const char *const page = "--output=page=page.html";
    char text[401 * 8 + 32] = "name,memory\n";
    for (size_t i = 0; i < 401; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "l%zu,1\n", i);
    const char *file = in_scratch("costs");
    test_write_bytes(file, text, strlen(text));
    RUN_FROM(&run, in_scratch(""), file, "--solve", page);
    assert_refused(
        &run, 2, "--output page: a page has at most 400 units, but the costs have 401; join some");
    RUN_FROM(&run, in_scratch(""), STASH, "--solve", page);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_contains(run.err,
                    "--output page: a page has no number for the stage a to d, which the ");
    RUN_FROM(&run, in_scratch(""), STASH, "--solve", page, "--total-ipus=4", "--micro-batches=2");
    assert_refused(&run, 2, "--output page: not with --total-ipus of a file of costs");
    RUN_FROM(&run, in_scratch(""), COSTS, "--solve", page, "--recompute=auto");
    assert_refused(&run, 2, "--recompute auto: not with --output page");
    static const char graph[] =
        "{\"nodes\": [{\"id\": 0, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"size\": 1}, "
        "{\"id\": 1, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"size\": 1}, "
        "{\"id\": 2, \"cpuLatency\": 1, \"fpgaLatency\": 1, \"size\": 1}], "
        "\"edges\": [{\"sourceId\": 0, \"destId\": 2, \"cost\": 1}]}";
    test_write_bytes(file, graph, strlen(graph));
    RUN_FROM(&run, in_scratch(""), file, "--solve", page);
    assert_refused(&run, 2, "--output page: the graph is no chain with bytes on its cuts; give a ");
    assert_int_equal(access(in_scratch("page.html"), F_OK), -1);
}

/* ---- Formats -------------------------------------------------------------------------------- */

/* The table of a split has the numbers of the same answer as JSON. */
static void prints_splits_as_tables(void **state) {
    (void)state;
    static const struct {
        const char *format;
        char delimiter;
    } formats[] = {{"csv", ','}, {"tsv", '\t'}};
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=3", "--format=json", "-q");
    assert_int_equal(run.status, 0);
    json_t *answer = json_loads(run.out, 0, NULL);
    json_t *stages = json_object_get(answer, "stages");
    assert_int_equal(json_array_size(stages), 3);
    for (size_t f = 0; f < 2; f++) {
        char header[] = "stage,ipu,from,to,memory,cycles,cut,";
        for (char *c = header; *c != '\0'; c++)
            *c = *c == ',' ? formats[f].delimiter : *c;
        RUN(&run, CASE_PROFILE, "--output=plan", "--num-ipus=3", "--format", formats[f].format,
            "-q");
        assert_int_equal(run.status, 0);
        assert_int_equal(strncmp(run.out, header, strlen(header)), 0);
        const char *line = strchr(run.out, '\n') + 1;
        size_t place;
        json_t *stage;
        json_array_foreach(stages, place, stage) {
            const json_t *from = json_object_get(stage, "layer_from");
            const json_t *memory = json_object_get(stage, "mem");
            bool is_last = place + 1 == json_array_size(stages);
            char expected[200];
            const char d = formats[f].delimiter;
            /* the profile tells no cycles, so that column is empty */
            assert_true(json_is_null(json_object_get(stage, "cycles")));
            snprintf(expected, sizeof expected, "%zu%c%zu%c%s%c%s%c%lld%c%c%lld%c", place, d, place,
                     d, json_is_null(from) ? "Head" : json_string_value(from), d,
                     is_last ? "Tail" : json_string_value(json_object_get(stage, "layer_to")), d,
                     (long long)json_integer_value(json_object_get(memory, "max_tile_mem")), d, d,
                     (long long)json_integer_value(json_object_get(stage, "cut_bytes")), d);
            assert_int_equal(strncmp(line, expected, strlen(expected)), 0);
            line = strchr(line, '\n') + 1;
        }
        assert_string_equal(line, "");
    }
    json_decref(answer);
    /* what was not calculated is empty, not 0 */
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus=1", "--solver=popliner", "--output=plan",
        "--format=csv", "-q");
    assert_contains(run.out, "\n0,0,None,3,");
    assert_contains(run.out, ",,,638976,");
}

/* Of a value that is longer than a message the middle is left out. */
static void says_what_helps_behind_a_long_value(void **state) {
    (void)state;
    char value[1500];
    char path[1600];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    RUN(&run, CASE_PROFILE, "-q", "--evaluate", value);
    assert_refused(&run, 2, "; there are Head, 0, 1, 2, 3, Tail\n");
    assert_non_null(strstr(run.err, " [...] xxx"));
    RUN(&run, CASE_PROFILE, "--solve", "--num-ipus", value);
    assert_refused(&run, 2, "xxx: expected a number, like 4");
    snprintf(path, sizeof path, "@/tmp/%s", value);
    RUN(&run, path);
    assert_refused(&run, 3, "xxx: cannot be read: File name too long\n");
    /* what the command adds to a message of the library */
    memset(value, '\0', sizeof value);
    snprintf(value, sizeof value, "%s", in_scratch(""));
    for (size_t length = strlen(value); length < 990; length += 2)
        strcat(value, "./");
    strcat(value, "stored");
    copy_file(CASE_PROFILE, in_scratch("stored"), SIZE_MAX);
    RUN(&run, value, "--load-from-file", "--solve");
    assert_refused(&run, 3, "; only files written by --output analysis=FILE can be loaded\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(refuses_options_that_no_action_uses),
        SCRATCH_TEST(refuses_pages_of_costs),
        SCRATCH_TEST(says_what_helps_behind_a_long_value),
        SCRATCH_TEST(prints_splits_as_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
