/* --compare: its JSON by the schema, what is logged of which file, and exit statuses.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_schema.h"

#define OTHER GOLDEN_DIRECTORY "popart-inf"
/* Two models on as many tiles, with other layers; the second one needs more. */
#define TRAINING GOLDEN_DIRECTORY "popart-train"
#define INFERENCE GOLDEN_DIRECTORY "popart-inf-outline"

static command_run run;

static json_t *load(const char *path) {
    json_error_t error;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return json;
}

/* By the schema, and not with a member too many or too few. */
static void assert_by_schema(json_t *document) {
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *schema = load(PROJECT_DIRECTORY "/docs/compare.schema.json");
    if (!schema_accepts(schema, NULL, document, complaint))
        fail_msg("%s", complaint);
    json_t *stages = json_object_get(document, "stages");
    json_t *bounds = json_object_get(document, "bounds");
    json_t *parts[] = {document,
                       json_object_get(document, "before"),
                       json_object_get(document, "now"),
                       json_object_get(document, "growth"),
                       json_array_get(bounds, 0),
                       json_array_get(json_object_get(json_array_get(bounds, 0), "exceeded"), 0),
                       json_array_get(json_object_get(document, "settings"), 0),
                       json_array_get(json_object_get(document, "rows"), 0),
                       json_array_get(stages, 0),
                       json_object_get(json_array_get(stages, 0), "now")};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] == NULL) /* there is no plan */
            continue;
        json_object_set_new(parts[i], "another", json_string(""));
        assert_false(schema_accepts(schema, NULL, document, complaint));
        json_object_del(parts[i], "another");
        const char *key = json_object_iter_key(json_object_iter(parts[i]));
        json_t *value = json_incref(json_object_get(parts[i], key));
        json_t *kept = json_string(key);
        json_object_del(parts[i], key);
        assert_false(schema_accepts(schema, NULL, document, complaint));
        json_object_set_new(parts[i], json_string_value(kept), value);
        json_decref(kept);
        assert_true(schema_accepts(schema, NULL, document, complaint));
    }
    json_decref(schema);
}

static void json_is_as_the_schema_says(void **state) {
    (void)state;
    static const char *const options[][4] = {
        {NULL},
        {"--solve", "--num-ipus=2"},
        {"--solve", "--mem-per-tile=1"}, /* nothing fits */
        {"--solve", "--num-ipus=2", "--solver=popliner"},
        {"--evaluate=whole", "--device-map=3"},
        {"--memory-model=popliner"},
        {"--fail-on=growth=0%,growth.tiles=0%,growth.categories=0%,growth.layers=0%,growth.cycles="
         "0%"},
        {"--fail-on=growth.layers=0%,growth.stages=1%", "--evaluate=whole"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *const arguments[] = {TRAINING,      "-q",          "--format",    "json",
                                         "--compare",   INFERENCE,     options[i][0], options[i][1],
                                         options[i][2], options[i][3], NULL};
        const char *file = in_scratch("changes.json");
        test_write_bytes(file, "", 0);
        run_command_into(&run, file, arguments);
        assert_int_equal(run.status, i == 2 || i >= 6);
        json_t *document = load(file);
        assert_by_schema(document);
        const char *model = json_string_value(json_object_get(document, "memory_model"));
        assert_string_equal(model, i == 5 ? "popliner" : "full");
        assert_int_equal(json_is_null(json_object_get(document, "stages")),
                         i == 0 || i == 5 || i == 6);
        assert_int_equal(json_array_size(json_object_get(document, "bounds")), i == 6   ? 5
                                                                               : i == 7 ? 2
                                                                                        : 0);
        json_decref(document);
    }
}

static void nothing_changed_is_one_sentence(void **state) {
    (void)state;
    RUN(&run, OTHER, "-q", "--compare", CASE_PROFILE, "--fail-on=growth=0%");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.err, "");
    assert_true(strncmp(run.out, "No difference: ", 15) == 0);
    static const char end[] = "differ.\n";
    assert_string_equal(run.out + run.out_size - strlen(end), end);
    assert_contains(run.out, " on both sides; 0 of ");
}

/* Which file a message is about. */
static void log_names_the_other_file(void **state) {
    (void)state;
    const char *alone = in_scratch("alone.pop");
    copy_file(CASE_PROFILE, alone, SIZE_MAX);
    RUN(&run, OTHER, "--compare", alone);
    assert_int_equal(run.status, 0);
    assert_is_log(&run);
    char told[700];
    snprintf(told, sizeof told, "WARNING %s: No debug.cbor was found", alone);
    assert_contains(run.err, told);
    assert_lacks(run.err, "WARNING No debug.cbor");
    RUN(&run, alone, "--compare", OTHER);
    assert_int_equal(run.status, 0);
    assert_contains(run.err, "WARNING No debug.cbor was found");
    assert_lacks(run.err, told);
}

static void growth_is_told_with_what_grew(void **state) {
    (void)state;
    RUN(&run, INFERENCE, "-q", "--compare", TRAINING, "--fail-on=growth=0%");
    assert_int_equal(run.status, 1);
    assert_true(run.out_size > 0);
    assert_contains(run.err, "--fail-on growth=0%: the live memory of the fullest tile grew by ");
    assert_contains(run.err, ". Most grew: ");
    RUN(&run, TRAINING, "-q", "--compare", INFERENCE, "--fail-on=growth=0%");
    assert_int_equal(run.status, 0);
    assert_lacks(run.err, "--fail-on");
    RUN(&run, INFERENCE, "-q", "--compare", TRAINING, "--fail-on=growth=1%", "--evaluate=whole");
    assert_int_equal(run.status, 1);
    assert_contains(run.err, "the need of the fullest tile of all stages grew by ");
    /* without a bound growth is no failure */
    RUN(&run, INFERENCE, "-q", "--compare", TRAINING);
    assert_int_equal(run.status, 0);
    /* as without --compare */
    RUN(&run, OTHER, "-q", "--compare", OTHER, "--evaluate=whole", "--mem-per-tile=1");
    assert_int_equal(run.status, 1);
}

static void analyses_of_one_ipu_are_compared_with_such(void **state) {
    (void)state;
    const char *stored = in_scratch("stored");
    RUN(&run, OTHER, "-q", "--save-to-file", stored, "--ipu=0");
    assert_int_equal(run.status, 0);
    RUN(&run, OTHER, "-q", "--compare", stored, "--ipu=0");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "No difference: ");
    RUN(&run, OTHER, "-q", "--compare", stored);
    assert_refused(&run, 3, "different IPUs");
    RUN(&run, stored, "-q", "--load-from-file", "--compare", OTHER);
    assert_refused(&run, 3, "different IPUs");
}

/* The name of a file says the format, whatever is printed. */
static void tables_are_written_besides_the_report(void **state) {
    (void)state;
    static const char *const begins[] = {"what,name,quantity,", "what\tname\tquantity\t",
                                         "{\"before\"", "No difference"};
    static const char *const ends[] = {".csv", ".tsv", ".json", ".txt"};
    for (size_t i = 0; i < 4; i++) {
        char name[40];
        snprintf(name, sizeof name, "changes%s", ends[i]);
        const char *path = in_scratch(name);
        RUN(&run, OTHER, "-q", "--compare", OTHER, "--color=always", "--output",
            output_into("comparison", path));
        assert_int_equal(run.status, 0);
        assert_contains(run.out, "\x1b[1;32mNo difference:");
        size_t size = 0;
        uint8_t *bytes = test_read_bytes(path, &size);
        assert_true(size > strlen(begins[i]));
        assert_memory_equal(bytes, begins[i], strlen(begins[i]));
        free(bytes);
    }
}

/* Nothing that is to be compared is overwritten before. */
static void files_of_the_other_side_stay(void **state) {
    (void)state;
    const char *directory = in_scratch("other");
    const char *stored = in_scratch("stored");
    make_directory(directory);
    copy_file(CASE_PROFILE, in_scratch("other/profile.pop"), SIZE_MAX);
    copy_file(CASE_DEBUG, in_scratch("other/debug.cbor"), SIZE_MAX);
    RUN(&run, OTHER, "-q", "--save-to-file", stored);
    assert_int_equal(run.status, 0);
    const uint64_t before = hash_file(stored);
    const char *const read[] = {stored, in_scratch("other/profile.pop"),
                                in_scratch("other/debug.cbor")};
    for (size_t i = 0; i < 3; i++) {
        char output[600];
        const char *compared = i == 0 ? stored : directory;
        snprintf(output, sizeof output, "tiles=%s", read[i]);
        RUN(&run, OTHER, "--compare", compared, "--save-to-file", read[i]);
        assert_refused(&run, 2, "would overwrite a file of --compare");
        RUN(&run, OTHER, "--compare", compared, "--output", output_into("trace", read[i]));
        assert_refused(&run, 2, "would overwrite a file of --compare");
        RUN(&run, OTHER, "--compare", compared, "--output", output_into("page", read[i]));
        assert_refused(&run, 2, "would overwrite a file of --compare");
        RUN(&run, OTHER, "--compare", compared, "--output", output);
        assert_refused(&run, 2, "would overwrite a file of --compare");
    }
    assert_true(hash_file(stored) == before);
    assert_true(hash_file(read[1]) == hash_file(CASE_PROFILE));
    RUN(&run, OTHER, "-q", "--compare", stored, "--save-to-file", in_scratch("another"));
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "No difference: ");
}

static void other_actions_are_refused(void **state) {
    (void)state;
    static const char *const others[] = {"--diagnose",        "--memory-totals",
                                         "--layer-breakdown", "--operation-breakdown",
                                         "--memory-affinity", "--interlayer-communication"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        RUN(&run, OTHER, "--compare", OTHER, others[i]);
        assert_refused(&run, 2, "all that is printed");
    }
    static const char *const several[] = {"--pareto=memory,traffic", "--num-ipus=1..2",
                                          "--output=lp=x", "--output=mps=x"};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        RUN(&run, OTHER, "--compare", OTHER, "--solve", several[i]);
        assert_refused(&run, 2, "compares one split");
    }
    RUN(&run, OTHER, "--compare", OTHER, "--num-ipus=2", "--fail-on=growth=101%");
    assert_refused(&run, 2, "--fail-on growth=101%");
    RUN(&run, OTHER, "--compare", OTHER, "--num-ipus=2");
    assert_refused(&run, 2,
                   "--num-ipus: not used by --compare; it is for --solve, --evaluate and "
                   "--output page");
    RUN(&run, PROJECT_DIRECTORY "/data/costs/additive.json", "--solve", "--compare", OTHER);
    assert_refused(&run, 2, "--compare: is for profiles, not for a file of costs");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(json_is_as_the_schema_says),
        SCRATCH_TEST(nothing_changed_is_one_sentence),
        SCRATCH_TEST(log_names_the_other_file),
        SCRATCH_TEST(growth_is_told_with_what_grew),
        SCRATCH_TEST(analyses_of_one_ipu_are_compared_with_such),
        SCRATCH_TEST(tables_are_written_besides_the_report),
        SCRATCH_TEST(files_of_the_other_side_stay),
        SCRATCH_TEST(other_actions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
