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

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(options_are_written),
        SCRATCH_TEST(takes_more_constraints_than_a_line_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
