/* Regexes for layers: a pattern, and the names that it is to be found in; for some inputs also the
 * rules that make layers of it.
 *
 *   1 byte: what is asked of the rules; the pattern, NUL; texts, each with a NUL behind it
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "model/layers.h"
#include "model/operations.h"
#include "model/regex.h"
#include "profile/profile_data.h"

enum { MOST_TEXTS = 8 };

/* What one walk over the matches of a text has found. */
typedef struct matches {
    const char *text; /* in which all results are, if the pattern has no group; else NULL */
    size_t count;
    uint64_t hash; /* of all results in their order */
} matches;

static bool on_match(void *user, const char *result) {
    matches *m = user;
    FUZZ_CHECK(m->text == NULL || strstr(m->text, result) != NULL);
    for (; *result != '\0'; result++)
        m->hash = (m->hash ^ (unsigned char)*result) * UINT64_C(1099511628211);
    m->hash = (m->hash ^ 256) * UINT64_C(1099511628211);
    m->count++;
    return true;
}

static void check_text(pl_regex *regex, const char *pattern, const char *text) {
    const size_t length = strlen(text);
    popliner_error error = {.message = ""};
    bool is_found = false;
    const popliner_status matching = pl_regex_matches(regex, text, length, &is_found, NULL, &error);
    fuzz_check_status(matching, &error, 1u << POPLINER_ERROR_USAGE, "--regex");
    if (matching != POPLINER_OK)
        return; /* after a million steps; finding would take as many */
    matches m = {.text = strchr(pattern, '(') == NULL ? text : NULL};
    const popliner_status finding = pl_regex_find_all(regex, text, length, on_match, &m, &error);
    fuzz_check_status(finding, &error, 1u << POPLINER_ERROR_USAGE, "--regex");
    FUZZ_CHECK((m.count > 0) == is_found);
    FUZZ_CHECK(m.count <= 2 * (length + 1));
    if (finding != POPLINER_OK || length > 64)
        return;
    matches again = {.text = m.text};
    FUZZ_CHECK(pl_regex_find_all(regex, text, length, on_match, &again, &error) == POPLINER_OK);
    FUZZ_CHECK(again.count == m.count && again.hash == m.hash);
}

static void on_message(void *user, popliner_level level, const char *text) {
    (void)user;
    (void)level;
    FUZZ_CHECK(*text != '\0');
}

/* The rules, for operations that each have a text as name and the next one as inputs. */
static void check_layers(const char *pattern, char *const *texts, size_t count, unsigned how) {
    pl_operations operations = {.count = count, .of_framework = (how & 8) != 0};
    popliner_operation items[MOST_TEXTS];
    const uint32_t program = 0;
    uint32_t lists_start[2] = {0, 0};
    pl_operation_row rows[MOST_TEXTS + 1] = {{0}}; /* no operation touches a variable */
    popliner_profile *profile = calloc(1, sizeof *profile);
    pl_layers *layers = NULL;
    popliner_error error = {.message = ""};
    const popliner_listener listener = {.message = on_message};
    pl_layer_options options = {
        .name_regex = pattern,
        .first_layer_regex = count > 1 ? texts[1] : NULL,
        .order = (how & 16) != 0 ? POPLINER_LAYER_ORDER_NATURAL : POPLINER_LAYER_ORDER_STEPS,
        .listener = (how & 32) == 0 ? NULL : &listener,
        .name_regex_name = "--regex",
        .first_layer_regex_name = "--regex-2",
    };
    FUZZ_CHECK(profile != NULL);
    profile->num_programs = 1;
    profile->program_lists_start = lists_start;
    for (size_t i = 0; i < count; i++)
        items[i] = (popliner_operation){.name = texts[i],
                                        .inputs = i + 1 < count ? texts[i + 1] : "",
                                        .is_tensor = texts[i][0] == '!',
                                        .programs = &program,
                                        .num_programs = 1};
    operations.items = items;
    operations.rows = rows;
    const popliner_status status =
        pl_layers_assign(profile, &operations, &options, &layers, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_USAGE, "--regex");
    FUZZ_CHECK((status == POPLINER_OK) == (layers != NULL));
    for (size_t i = 0; layers != NULL && i < count; i++) {
        const popliner_layer_finding *it = pl_layer_at(layers, i);
        const bool has_rule =
            it->rule != POPLINER_LAYER_RULE_NONE && it->rule != POPLINER_LAYER_RULE_TENSOR;
        FUZZ_CHECK(it->unit < pl_layers_num_units(layers));
        FUZZ_CHECK((it->unit == 0) == (it->name == NULL));
        FUZZ_CHECK(it->unit == 0 || has_rule);
        FUZZ_CHECK(it->name == NULL || it->name == pl_layers_name(layers, it->unit));
        FUZZ_CHECK(items[i].is_tensor == (it->rule == POPLINER_LAYER_RULE_TENSOR));
        FUZZ_CHECK(it->num_named == 0 || it->rule == POPLINER_LAYER_RULE_NONE);
        FUZZ_CHECK(it->num_named != 1);
        FUZZ_CHECK((*it->note == '\0') == (it->rule == POPLINER_LAYER_RULE_NAME));
    }
    for (size_t unit = 1; layers != NULL && unit < pl_layers_num_units(layers); unit++)
        for (size_t other = 1; other < unit; other++)
            FUZZ_CHECK(strcmp(pl_layers_name(layers, unit), pl_layers_name(layers, other)) != 0);
    FUZZ_CHECK(layers == NULL || layers->num_operations == count);
    pl_layers_free(layers);
    free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    popliner_error error = {.message = ""};
    pl_regex *regex = NULL;
    char *texts[MOST_TEXTS];
    size_t count = 0;
    const unsigned how = fuzz_byte(&input);
    char *pattern = fuzz_text(&input);
    while (count < MOST_TEXTS && (input.left > 0 || count == 0))
        texts[count++] = fuzz_text(&input);
    if (how % 8 == 7) {
        check_layers(pattern, texts, count, how);
    } else {
        const popliner_status status = pl_regex_compile(pattern, "--regex", &regex, &error);
        fuzz_check_status(status, &error, 1u << POPLINER_ERROR_USAGE, "--regex");
        FUZZ_CHECK((status == POPLINER_OK) == (regex != NULL));
        for (size_t i = 0; regex != NULL && i < count; i++)
            check_text(regex, pattern, texts[i]);
        pl_regex_free(regex);
    }
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(pattern);
    return 0;
}
