/* What stages of a given split recompute, and what replicas cost, against other answers; the rest is
 * in tests/cli/choices.cli.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solving_run.h"

#include <stdio.h>
#include <string.h>

#include "json_schema.h"

#define SAMPLE_DIRECTORY PROJECT_DIRECTORY "/data/sample"
#define TRAINING_DIRECTORY GOLDEN_DIRECTORY "popart-train"

static command_run run;

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
    assert_null(json_object_get(JSON_AT(answers[0], "0"), "recompute"));
    assert_string_equal(json_string_value(JSON_AT(answers[2], "1", "recompute")), "full");
    for (size_t stage = 0; stage < 2; stage++)
        for (size_t i = 2; i < 4; i++) {
            const char *place = stage == 0 ? "0" : "1";
            const json_t *same = answers[(i == 2) == (stage == 0) ? 0 : 1];
            const json_t *other = answers[(i == 2) == (stage == 0) ? 1 : 0];
            assert_true(NUMBER_AT(answers[i], place, "tile_bytes") ==
                        NUMBER_AT(same, place, "tile_bytes"));
            assert_true(NUMBER_AT(answers[i], place, "tile_bytes") !=
                        NUMBER_AT(other, place, "tile_bytes"));
        }
    for (size_t i = 0; i < 4; i++)
        json_decref(answers[i]);
}

/* The sample does not train: nothing is added up. */
static void replicas_of_a_profile_are_chosen(void **state) {
    (void)state;
    RUN(&run, SAMPLE_DIRECTORY, "--solve", "--total-ipus", "3", "--batch", "6", "--bandwidth",
        "replicas=8", "--format", "json");
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "the profile trains no parameters, so the all-reduce takes no time.");
    assert_contains(run.err, "SUCCESS: 3 pipelines on 1 IPU each: 6 micro-batches in ");
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *answer = json_loads(run.out, 0, NULL);
    if (!certificate_schema_accepts("replicas", answer, complaint))
        fail_msg("%s", complaint);
    /* each split costs what it costs by itself */
    for (size_t i = 0; i < 3; i++) {
        json_t *alone = RUN_JSON(&run, 0, SAMPLE_DIRECTORY, "--device-map",
                                 i == 0   ? "0"
                                 : i == 1 ? "0,1"
                                          : "0,1,2",
                                 "--objective", "cycles,memory,traffic");
        const json_t *candidate = json_array_get(json_object_get(answer, "candidates"), i);
        const json_t *stages = json_object_get(alone, "stages");
        for (size_t k = 0; k <= i; k++) {
            const json_t *own = json_array_get(json_object_get(candidate, "split"), k);
            const json_t *stage = json_array_get(stages, k);
            assert_int_equal(json_integer_value(json_object_get(own, "cycles")),
                             json_integer_value(json_object_get(stage, "cycles")));
            assert_int_equal(
                json_integer_value(json_object_get(own, "max_tile_mem")),
                json_integer_value(json_object_get(json_object_get(stage, "mem"), "max_tile_mem")));
        }
        json_decref(alone);
    }
    json_decref(answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_stages_recompute_what_is_said),
        cmocka_unit_test(replicas_of_a_profile_are_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
