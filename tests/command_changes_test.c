/* The JSON of --compare by its schema; tests/cli/changes.cli has the rest.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(json_is_as_the_schema_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
