/* Options from a file are as good as those of the command line, and give way to them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define COSTS PROJECT_DIRECTORY "/data/costs/additive.json"

static command_run run;
static command_run other;

static const char *write_config(const char *text) {
    const char *path = in_scratch("options.json");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return path;
}

/* The text of a log behind its times. */
static void strip_times(const char *log, char *text) {
    while (*log != '\0') {
        const char *end = strchr(log, '\n');
        const size_t length = end == NULL ? strlen(log) : (size_t)(end - log) + 1;
        assert_true(length > 9);
        memcpy(text, log + 9, length - 9);
        text += length - 9;
        log += length;
    }
    *text = '\0';
}

/* Both said and printed the same. */
static void assert_same_run(void) {
    static char texts[2][sizeof run.err];
    assert_int_equal(run.status, other.status);
    assert_string_equal(run.out, other.out);
    strip_times(run.err, texts[0]);
    strip_times(other.err, texts[1]);
    assert_string_equal(texts[0], texts[1]);
}

/* Each file, and the same words on a command line. */
static void a_file_says_what_a_command_line_says(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *arguments[12];
    } cases[] = {
        {"{\"solve\": true, \"num-ipus\": 3}", {"--solve", "--num-ipus", "3"}},
        {"{\"solve\": true, \"num-ipus\": \"3\", \"quiet\": false, \"slack\": null}",
         {"--solve", "--num-ipus", "3"}},
        {"{\"solve\": true, \"objective\": [\"ipus\", \"memory\"], \"slack\": 2.5}",
         {"--solve", "--objective", "ipus,memory", "--slack", "2.5%"}},
        {"{\"solve\": true, \"require\": {\"cut\": [0, \"2\"]}, \"num-ipus\": 4, \"format\": "
         "\"json\"}",
         {"--solve", "--require", "cut:0,2", "--num-ipus", "4", "--format", "json"}},
        {"{\"output\": \"plan\", \"require\": [\"no-cut:1\", \"together:2,3\"], \"format\": "
         "\"csv\"}",
         {"--solve", "--require", "no-cut:1", "--require", "together:2,3", "--output", "plan",
          "--format", "csv"}},
        {"{\"solve\": true, \"mem-per-tile\": {\"0\": \"30K\", \"1\": 40000}}",
         {"--solve", "--mem-per-tile", "0=30K,1=40000"}},
        {"{\"solve\": true, \"device-map\": [0, 1, 0], \"mem-per-tile\": \"0=60K,1=50K\"}",
         {"--solve", "--device-map", "0,1,0", "--mem-per-tile", "0=60K,1=50K"}},
        {"{\"evaluate\": [0, \"2\"], \"format\": \"json\", \"effects\": [\"layout\", "
         "\"accumulators\"]}",
         {"--evaluate", "0,2", "--format", "json", "--effects", "layout,accumulators"}},
        {"{\"layer-breakdown\": true, \"format\": \"csv\", \"layer-name-regex\": \"ayer(\\\\d)\"}",
         {"--layer-breakdown", "--format", "csv", "--layer-name-regex", "ayer(\\d)"}},
        {"{}", {"--layer-breakdown", "--memory-totals"}},
        {"{\"diagnose\": true, \"fail-on\": {\"unexplained\": 0}}",
         {"--diagnose", "--fail-on", "unexplained=0%"}},
        {"{\"solve\": true, \"num-ipus\": 2, \"output\": [\"vllm\"]}",
         {"--solve", "--num-ipus", "2", "--output", "vllm"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *a = cases[i].arguments;
        const char *path = write_config(cases[i].text);
        if (strcmp(cases[i].text, "{}") == 0)
            RUN(&run, CASE_PROFILE, "--config", path, a[0], a[1]);
        else
            RUN(&run, CASE_PROFILE, "--config", path);
        RUN(&other, CASE_PROFILE, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
        assert_same_run();
    }
}

static void a_file_names_the_profile(void **state) {
    (void)state;
    RUN(&other, CASE_PROFILE, CASE_DEBUG, "--memory-totals");
    assert_int_equal(other.status, 0);
    const char *path = write_config("{\"memory-totals\": true, \"debug\": \"" CASE_DEBUG
                                    "\", \"input\": \"" CASE_PROFILE "\"}");
    RUN(&run, "--config", path);
    assert_same_run();
    /* that of the command line goes before */
    RUN(&run, CASE_DIRECTORY "/missing.pop", "--config", path);
    assert_refused(&run, 3, "missing.pop");
    path = write_config("{\"input\": \"missing.pop\", \"solve\": true}");
    RUN(&run, "--config", path, PROJECT_DIRECTORY "/data/costs/additive.json", "-q");
    RUN(&other, "--solve", PROJECT_DIRECTORY "/data/costs/additive.json", "-q");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, other.out);
}

/* The value of the command line counts, without a warning; lists add up, unless they are cleared,
 * and a flag is taken back. */
static void the_command_line_wins(void **state) {
    (void)state;
    const char *path =
        write_config("{\"solve\": true, \"num-ipus\": 3, \"require\": \"cut:0,1,2\", "
                     "\"format\": \"json\", \"quiet\": true}");
    RUN(&run, CASE_PROFILE, "--require=", "--require", "cut:1", "--config", path, "--num-ipus=2",
        "--format", "csv");
    RUN(&other, CASE_PROFILE, "--require", "cut:1", "--solve", "--num-ipus=2", "--format", "csv",
        "-q");
    assert_int_equal(run.status, 0);
    assert_same_run();
    RUN(&run, CASE_PROFILE, "--config", path, "--num-ipus", "4", "--require", "no-cut:0");
    assert_refused(&run, 2, "cut:0");
    RUN(&run, CASE_PROFILE, "--config", path, "--no-solve", "--require=", "--output", "checks");
    RUN(&other, CASE_PROFILE, "-q", "--output", "checks", "--format", "json");
    assert_same_run();
    RUN(&run, CASE_PROFILE, "--config", path, "-v", "--require=", "--require", "cut:1");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, " DEBUG ");
    RUN(&run, CASE_PROFILE, "--config", path, "--evaluate", "1");
    assert_refused(&run, 2, "--format json: each answer and table is a document of its own");
}

/* --output config writes a file that stands for the same run. */
static void options_are_written(void **state) {
    (void)state;
    char *path = strdup(in_scratch("written.json"));
    RUN(&run, CASE_PROFILE, CASE_DEBUG, "--solve", "--num-ipus=3", "-q", "--require", "cut:0",
        "--require", "no-cut:1", "--objective", "memory,ipus", "--output",
        output_into("config", path));
    assert_int_equal(run.status, 0);
    RUN(&other, "--config", path);
    assert_same_run();
    json_t *written = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    json_t *expected = json_pack("{s:s, s:s, s:b, s:i, s:s, s:[s, s], s:b}", "input", CASE_PROFILE,
                                 "debug", CASE_DEBUG, "solve", 1, "num-ipus", 3, "objective",
                                 "memory,ipus", "require", "cut:0", "no-cut:1", "quiet", 1);
    assert_true(json_equal(written, expected));
    json_decref(written);
    json_decref(expected);
    /* printed, it is all that is done; the file of --config is in it, not named */
    RUN(&run, "--config", path, "--num-ipus=2", "--output", "config");
    assert_int_equal(run.status, 0);
    written = json_loads(run.out, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_integer_value(json_object_get(written, "num-ipus")), 2);
    assert_null(json_object_get(written, "config"));
    assert_null(json_object_get(written, "output"));
    json_decref(written);
    free(path);
}

/* One file for many runs: what a run has no use for is left out, but not of its own arguments. */
static void a_file_serves_many_runs(void **state) {
    (void)state;
    const char *path = write_config(
        "{\"solve\": true, \"num-ipus\": 3, \"objective\": \"memory\", \"quiet\": true, "
        "\"modules\": [\"layers.{}\", \"norm\"], \"fail-on\": "
        "[\"growth=2%\", \"unexplained=1%\"]}");
    RUN(&run, CASE_PROFILE, "--config", path);
    RUN(&other, CASE_PROFILE, "--solve", "--num-ipus", "3", "--objective", "memory", "-q");
    assert_int_equal(run.status, 0);
    assert_same_run();
    RUN(&run, CASE_PROFILE, "--config", path, "--output", "torch");
    RUN(&other, CASE_PROFILE, "--solve", "--num-ipus", "3", "--objective", "memory", "-q",
        "--modules", "layers.{},norm", "--output", "torch");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "layers.");
    assert_same_run();
    RUN(&run, CASE_PROFILE, "--config", path, "--modules", "embed,{}");
    assert_refused(&run, 2, "--modules: not used by --solve; it is for plans for frameworks");
    RUN(&run, CASE_PROFILE, "--config", path, "--fail-on", "growth=3%");
    assert_refused(&run, 2, "--fail-on growth: needs --compare");
    /* a profile's tolerance is no use for costs; of its own arguments that is refused */
    RUN(&run, COSTS, "--config", path);
    RUN(&other, COSTS, "--solve", "--num-ipus", "3", "--objective", "memory", "-q");
    assert_int_equal(run.status, 0);
    assert_same_run();
    RUN(&run, COSTS, "--config", path, "--fail-on", "unexplained=2%");
    assert_refused(&run, 2, "--fail-on unexplained: needs --diagnose");
    /* outputs wait, too */
    path = write_config("{\"solve\": true, \"quiet\": true, \"output\": [\"trace=no/trace.json\", "
                        "\"comparison=no/changes.csv\"], \"memory-totals\": true}");
    RUN(&run, COSTS, "--config", path);
    RUN(&other, COSTS, "--solve", "-q");
    assert_int_equal(run.status, 0);
    assert_same_run();
    RUN(&run, COSTS, "--config", path, "--memory-totals");
    assert_refused(&run, 2, "--memory-totals: is for profiles, not for a file of costs");
    path = write_config("{\"solve\": true, \"num-ipus\": 3, \"objective\": \"memory\", "
                        "\"quiet\": true}");
    /* what goes through the values of an option takes its place */
    RUN(&run, CASE_PROFILE, "--config", path, "--num-ipus", "1..2");
    RUN(&other, CASE_PROFILE, "--solve", "--objective", "memory", "-q", "--num-ipus", "1..2");
    assert_int_equal(run.status, 0);
    assert_same_run();
    RUN(&run, CASE_PROFILE, "--config", path, "--pareto", "memory,traffic");
    RUN(&other, CASE_PROFILE, "--solve", "--num-ipus", "3", "-q", "--pareto", "memory,traffic");
    assert_int_equal(run.status, 0);
    assert_same_run();
    path = write_config("{\"solve\": true, \"mem-per-tile\": \"600K\"}");
    RUN(&run, CASE_PROFILE, "--config", path, "--mem-per-tile", "600K..700K:100K");
    RUN(&other, CASE_PROFILE, "--solve", "--mem-per-tile", "600K..700K:100K");
    assert_int_equal(run.status, 0);
    assert_same_run();
}

static void takes_more_constraints_than_a_line_has_room_for(void **state) {
    (void)state;
    enum { NUM_UNITS = 3000 };
    char *costs = malloc((size_t)NUM_UNITS * 64);
    char *text = malloc((size_t)NUM_UNITS * 32);
    char *c = costs + sprintf(costs, "{\"format\": \"popliner-costs\", \"version\": 1, "
                                     "\"units\": [");
    char *t =
        text + sprintf(text, "{\"solve\": true, \"num-ipus\": 2, \"require\": {\"no-cut\": [");
    for (int i = 0; i < NUM_UNITS; i++) {
        c += sprintf(c, "%s{\"name\": \"u%d\", \"memory\": 1}", i == 0 ? "" : ", ", i);
        if (i != 1000 && i + 1 < NUM_UNITS)
            t += sprintf(t, "%s\"u%d\"", i == 0 ? "" : ", ", i);
    }
    strcpy(c, "]}");
    strcpy(t, "]}}");
    char *path = strdup(write_config(text));
    const char *costs_path = in_scratch("costs.json");
    FILE *file = fopen(costs_path, "wb");
    assert_non_null(file);
    fputs(costs, file);
    assert_int_equal(fclose(file), 0);
    RUN(&run, costs_path, "--config", path, "--format", "csv");
    assert_int_equal(run.status, 0);
    /* all units but one may not be cut after: 1001 before that cut, and the rest */
    assert_contains(run.out, "0,0,u0,u1000,1001,");
    assert_contains(run.out, "1,1,u1001,u2999,1999,");
    free(path);
    free(costs);
    free(text);
}

static void refuses_what_is_no_such_file(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int status;
        const char *part;
    } cases[] = {
        {"{\"num-ipu\": 3}", 2, "options.json: \"num-ipu\": no option; did you mean num-ipus?"},
        {"{\"solvr\": true}", 2, "\"solvr\": no option; did you mean solve?"},
        {"{\"inputs\": \"a\"}", 2, "\"inputs\": no option; did you mean input?"},
        {"{\"--solve\": true}", 2, "\"--solve\": no option"},
        {"{\"q\": true}", 2, "\"q\": no option; popliner --help lists them"},
        {"{\"config\": \"a\"}", 2, "\"config\": no option"},
        {"[\"solve\"]", 3, "options.json: expected an object with the names of options as keys"},
        {"{\"solve\": true", 3, "options.json: no JSON: "},
        {"", 3, "options.json: no JSON: "},
        {"{\"solve\": true, \"solve\": true}", 3, "duplicate object key"},
        {"{\"objective\": \"a\\u0000b\"}", 3, "no JSON: "},
        {"{\"num-ipus\": [2, [3]]}", 3, "\"num-ipus\": expected true or false, a text, a number"},
        {"{\"num-ipus\": {\"0\": true}}", 3, "\"num-ipus\": expected true or false, a text"},
        {"{\"debug\": \"a\"}", 3, "\"debug\" belongs to an \"input\": give both"},
        {"{\"input\": true}", 3, "\"input\": expected the name of a file"},
        {"{\"num-ipus\": true}", 2, "options.json: --num-ipus needs a value: N"},
        {"{\"num-ipus\": \"\"}", 2, "options.json: --num-ipus needs a value: N"},
        {"{\"num-ipus\": [2, 3]}", 2, "options.json: --num-ipus 2,3: expected a number, like 4"},
        {"{\"num-ipus\": -1}", 2, "options.json: --num-ipus -1: expected a number, like 4"},
        {"{\"solve\": \"yes\"}", 2, "options.json: --solve takes no value"},
        {"{\"format\": \"cvs\"}", 2,
         "options.json: --format cvs: cvs is unknown; did you mean csv?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_config(cases[i].text);
        RUN(&run, CASE_PROFILE, "--config", path);
        assert_refused(&run, cases[i].status, cases[i].part);
    }
    RUN(&run, CASE_PROFILE, "--config", in_scratch("missing.json"));
    assert_refused(&run, 3, "missing.json: cannot be read: No such file or directory");
    RUN(&run, CASE_PROFILE, "--config", PROJECT_DIRECTORY);
    assert_refused(&run, 3, ": cannot be read: Is a directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_file_says_what_a_command_line_says),
        SCRATCH_TEST(a_file_names_the_profile),
        SCRATCH_TEST(the_command_line_wins),
        SCRATCH_TEST(options_are_written),
        SCRATCH_TEST(a_file_serves_many_runs),
        SCRATCH_TEST(takes_more_constraints_than_a_line_has_room_for),
        SCRATCH_TEST(refuses_what_is_no_such_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
