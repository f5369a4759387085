/* The JSON of every table by its schema; tests/cli/sections.cli has the rest of --output.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <jansson.h>

#include "answer/certificate_data.h"
#include "json_schema.h"

#define SAMPLE PROJECT_DIRECTORY "/data/sample"

static command_run run;

static const char *const sections[] = {
    "summary",   "tiles",  "categories", "liveness",  "variables", "operations",
    "programs",  "layers", "pairs",      "execution", "checks",    "vertices",
    "exchanges", "advice", "diagnosis",  "missing",   "addresses"};
enum { NUM_SECTIONS = sizeof sections / sizeof *sections };

/* Runs with standard output in a new file. */
#define PRINT(result, path, ...)                                                                   \
    (test_write_bytes(path, "", 0), RUN_INTO(result, path, __VA_ARGS__))

/* Files of costs whose plans have a part of memory, another unit of time, or no limit. */
static void plans_of_costs_are_as_the_schema_says(void **state) {
    (void)state;
    static const char *const files[] = {"additive", "regions"};
    json_error_t error;
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *schema = json_load_file(PROJECT_DIRECTORY "/docs/sections.schema.json", 0, &error);
    assert_non_null(schema);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char costs[200];
        const char *file = in_scratch("section.json");
        snprintf(costs, sizeof costs, PROJECT_DIRECTORY "/data/costs/%s.json", files[i]);
        PRINT(&run, file, costs, "-q", "--format", "json", "--output", "plan", "--schedule", "1f1b",
              "-n", "3");
        assert_int_equal(run.status, 0);
        json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
        assert_non_null(document);
        if (!schema_accepts(schema, "plan", document, complaint))
            fail_msg("%s: %s", files[i], complaint);
        json_decref(document);
    }
    json_decref(schema);
}

/* Every section, by the schema, and only by its own part of it. */
static void json_is_as_the_schema_says(void **state) {
    (void)state;
    json_error_t error;
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *schema = json_load_file(PROJECT_DIRECTORY "/docs/sections.schema.json", 0, &error);
    assert_non_null(schema);
    for (size_t i = 0; i <= NUM_SECTIONS; i++) {
        const char *name = i < NUM_SECTIONS ? sections[i] : "plan";
        const char *file = in_scratch("section.json");
        PRINT(&run, file, SAMPLE, "-q", "--format", "json", "--output", name,
              i < NUM_SECTIONS ? NULL : "--solve");
        assert_int_equal(run.status, 0);
        json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
        assert_non_null(document);
        if (!schema_accepts(schema, NULL, document, complaint) ||
            !schema_accepts(schema, name, document, complaint))
            fail_msg("%s: %s", name, complaint);
        for (int verdict = 0; i == NUM_SECTIONS && verdict <= POPLINER_FITS_NOT; verdict++) {
            json_t *row = json_array_get(json_object_get(document, "rows"), 0);
            json_object_set_new(row, "verdict",
                                json_string(pl_verdict_text((popliner_verdict)verdict)));
            assert_true(schema_accepts(schema, NULL, document, complaint));
        }
        /* a column too many, and one too few; a table without rows has neither */
        json_t *row = json_array_get(json_object_get(document, "rows"), 0);
        if (row != NULL) {
            json_object_set_new(row, "another", json_string(""));
            assert_false(schema_accepts(schema, NULL, document, complaint));
            json_object_del(row, "another");
            json_object_del(row, json_object_iter_key(json_object_iter(row)));
            assert_false(schema_accepts(schema, NULL, document, complaint));
        }
        json_decref(document);
    }
    json_decref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(json_is_as_the_schema_says),
        SCRATCH_TEST(plans_of_costs_are_as_the_schema_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
