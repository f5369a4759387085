/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "model/operations_data.h"
#include "test_data.h"

const char golden_regex[] =
    "(Embedding|Layer\\d+/(?:Attention|FF)|CLS|embeddings|encoder/(?:layer_)?\\d+/"
    "(?:attention|intermediate|output)|cls)";
const char golden_two_groups[] = "(Layer|layer_|encoder/)(\\d+)";
const char golden_every_op[] = "^(.)";
const char golden_no_layers[] = "nothing(\\d+)";

static void load(golden_case *c, const char *name, char *profile, char *debug) {
    popliner_error error = {.message = ""};
    *c = (golden_case){.name = name};
    if (popliner_profile_read(profile, NULL, &c->profile, &error) != POPLINER_OK ||
        popliner_debug_info_read(debug, NULL, &c->info, &error) != POPLINER_OK ||
        popliner_operations_find(c->profile, c->info, &c->operations, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    free(profile);
    free(debug);
}

void golden_load(golden_case *c, const char *name) {
    char *profile = test_golden_file(name, "profile.pop");
    char *debug = test_golden_file(name, "debug.cbor");
    assert_true(profile != NULL && debug != NULL);
    load(c, name, profile, debug);
}

void golden_free(golden_case *c) {
    popliner_operations_free(c->operations);
    popliner_debug_info_free(c->info);
    popliner_profile_free(c->profile);
    *c = (golden_case){0};
}

void golden_for_each(void (*check)(const golden_case *c)) {
    char names[TEST_MOST_CASES][TEST_CASE_NAME];
    size_t count = test_golden_cases(names);
    if (count == 0)
        skip();
    for (size_t i = 0; i < count; i++) {
        golden_case c;
        golden_load(&c, names[i]);
        check(&c);
        golden_free(&c);
    }
}

bool golden_has_calls(const golden_case *c) {
    return strstr(c->name, "outline") != NULL;
}

void real_load(golden_case *c) {
    char *profile = test_firehose_file("profile.pop");
    char *debug = test_firehose_file("debug.cbor");
    if (profile == NULL || debug == NULL) {
        free(profile);
        free(debug);
        skip();
    }
    load(c, "firehose", profile, debug);
}

json_t *golden_json(const golden_case *c, const char *file) {
    char *path = test_golden_file(c->name, file);
    assert_non_null(path);
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (json == NULL)
        fail_msg("%s: %s", path, error.text);
    free(path);
    return json;
}

char *golden_text(const golden_case *c, const char *file) {
    char *path = test_golden_file(c->name, file);
    assert_non_null(path);
    size_t size;
    char *text = (char *)test_read_bytes(path, &size); /* has room for one byte more */
    text[size] = '\0';
    free(path);
    return text;
}

popliner_layers *assign_layers(const golden_case *c, const char *regex,
                               popliner_layer_order order) {
    popliner_error error = {.message = ""};
    popliner_layers *layers = NULL;
    const popliner_layer_options options = {.name_regex = regex, .order = order};
    if (popliner_layers_assign(c->profile, c->operations, &options, &layers, &error) != POPLINER_OK)
        fail_msg("%s: %s", c->name, error.message);
    return layers;
}

size_t unit_of_name(const popliner_layers *layers, const char *name) {
    if (name == NULL)
        return 0;
    for (size_t unit = 1; unit < popliner_layers_num_units(layers); unit++) {
        if (strcmp(popliner_layers_name(layers, unit), name) == 0)
            return unit;
    }
    fail_msg("no layer is called %s", name);
    return 0;
}

popliner_layers *assign_at_random(const golden_case *c, size_t num_layers, uint64_t *random) {
    /* the same operations with names that say the layer, and without inputs */
    popliner_operations renamed = *c->operations;
    pl_text strings = {0};
    renamed.name = calloc(renamed.count, sizeof *renamed.name);
    renamed.inputs = calloc(renamed.count, sizeof *renamed.inputs);
    renamed.is_tensor = calloc(renamed.count, 1);
    assert_true(renamed.name != NULL && renamed.inputs != NULL && renamed.is_tensor != NULL);
    pl_text_append(&strings, "", 1);
    for (size_t i = 0; i < renamed.count; i++) {
        *random = test_random(*random);
        size_t unit = (size_t)(*random >> 33) % (num_layers + 1);
        renamed.name[i] = (uint32_t)strings.length;
        if (unit > 0)
            pl_text_format(&strings, "%zu", unit);
        pl_text_append(&strings, "", 1);
    }
    renamed.strings = strings.data;
    renamed.strings_length = strings.length;
    const golden_case other = {c->name, c->profile, c->info, &renamed};
    popliner_layers *layers = assign_layers(&other, "\\d+", POPLINER_LAYER_ORDER_STEPS);
    free(strings.data);
    free(renamed.name);
    free(renamed.inputs);
    free(renamed.is_tensor);
    return layers;
}

bool same_numbers(const char *what, const uint64_t *actual, const uint64_t *expected,
                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (actual[i] != expected[i]) {
            print_error("%s: place %zu is %llu instead of %llu\n", what, i,
                        (unsigned long long)actual[i], (unsigned long long)expected[i]);
            return false;
        }
    }
    return true;
}
