/* Options: a command line and a file of arguments, up to where a profile would be read; then what
 * they ask of units with names that are hard to take apart.
 *
 *   1 byte: how many units there are, and whether there is a file; the file, NUL; the arguments,
 *   each with a NUL behind it. One that begins with a byte of 128 or more is "--NAME=", the option
 *   in that place, and the rest its value; another byte there makes it two arguments.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/option_table.h"
#include "model/regex.h"

enum { MOST_ARGUMENTS = 16, MOST_IPUS = 1000000, MOST_STAGES = 65536 };

static const char *const unit_names[] = {"Head", "0", "1", "a,b", "a=0", "", "x|y", "1", "Tail"};
static const uint8_t counted_units[] = {0, 1, 1, 1, 1, 1, 1, 1, 0};
enum { NUM_NAMES = sizeof counted_units };

/* ---- the arguments ---- */

typedef struct arguments {
    int count;
    char *texts[2 * MOST_ARGUMENTS + 4]; /* the first is the command; NULL behind the last */
} arguments;

static void add(arguments *a, const char *name, const char *sign, const char *value) {
    const size_t room = strlen(name) + strlen(sign) + strlen(value) + 1;
    char *text = malloc(room);
    FUZZ_CHECK(text != NULL);
    snprintf(text, room, "%s%s%s", name, sign, value);
    a->texts[a->count++] = text;
}

/* The option of a byte from 128 on, as "--name"; "" for a heading. */
static void name_option(uint8_t byte, char *name, size_t room, bool *is_flag) {
    const size_t place = byte - 128u;
    *name = '\0';
    *is_flag = false;
    if (place >= num_options || option_table[place].kind == NULL)
        return;
    *is_flag = option_table[place].value == NULL;
    snprintf(name, room, "--%s", option_table[place].name);
}

static void take_argument(arguments *a, fuzz_input *input) {
    char name[64];
    bool is_flag;
    char *text = fuzz_text(input);
    const uint8_t first = (uint8_t)text[0];
    if (first >= 128) {
        const bool is_two = (uint8_t)text[1] >= 128;
        const char *value = text + 1 + is_two;
        name_option(first, name, sizeof name, &is_flag);
        if (*name != '\0' && (is_two || (is_flag && *value == '\0'))) {
            add(a, name, "", "");
            if (is_two)
                add(a, value, "", "");
        } else if (*name != '\0') {
            add(a, name, "=", value);
        }
    } else if (*text != '@') { /* it might read whatever there is */
        add(a, text, "", "");
    }
    free(text);
}

/* ---- what comes of them ---- */

static void check_texts(const repeated *list) {
    FUZZ_CHECK((list->count == 0) == (list->texts == NULL));
    for (size_t i = 0; i < list->count; i++)
        FUZZ_CHECK(*list->texts[i] != '\0');
}

static void check_values(const by_ipu *values) {
    FUZZ_CHECK((values->count == 0) == (values->items == NULL));
    FUZZ_CHECK(values->range.last >= values->range.first);
    for (size_t i = 0; i < values->count; i++)
        FUZZ_CHECK(values->items[i].link.bytes <= INT64_MAX &&
                   values->items[i].link.first_ipu < MOST_STAGES);
}

static void check_within_limits(const options *o) {
    FUZZ_CHECK(o->num_ipus.number <= MOST_IPUS && o->require.max_layers <= MOST_IPUS);
    FUZZ_CHECK(o->device_map.interleaved <= MOST_IPUS && o->micro_batches <= MOST_IPUS);
    FUZZ_CHECK(o->total_ipus <= MOST_IPUS && o->batch.samples <= MOST_IPUS);
    FUZZ_CHECK(o->batch.of_micro_batch <= MOST_IPUS && o->reading.num_threads <= MOST_IPUS);
    const size_t least = o->require.min_layers;
    FUZZ_CHECK(least <= MOST_IPUS || least == MIN_LAYERS_USUAL);
    for (size_t i = 0; i < o->require.count; i++)
        FUZZ_CHECK(o->require.items[i].lengths[0] > 0 && o->require.items[i].ipu < MOST_STAGES);
    FUZZ_CHECK(o->reading.ipu <= MOST_IPUS || o->reading.ipu == SIZE_MAX);
    FUZZ_CHECK(o->slack_percent >= 0 && o->slack_percent <= 100);
    FUZZ_CHECK(o->fail_on.unexplained_percent >= 0 && o->fail_on.unexplained_percent <= 100);
    FUZZ_CHECK(o->time_limit_seconds >= 0);
    FUZZ_CHECK(o->lists[LIST_LIMITS].all.bytes <= INT64_MAX &&
               o->effects.mask <= POPLINER_EFFECTS_ALL);
    const popliner_ipu_link *reserve = &o->lists[LIST_RESERVES].all;
    FUZZ_CHECK(reserve->bytes <=
               (reserve->cycles == RESERVE_PERCENT ? UINT64_C(10000) : (uint64_t)INT64_MAX));
    for (size_t i = 0; i < POPLINER_NUM_GROWTHS; i++)
        FUZZ_CHECK(o->fail_on.growth_percent[i] == -1 ||
                   (o->fail_on.growth_percent[i] >= 0 && o->fail_on.growth_percent[i] <= 100));
    for (size_t i = 0; i < o->outputs.count; i++)
        FUZZ_CHECK(o->outputs.items[i].path == NULL || *o->outputs.items[i].path != '\0');
    FUZZ_CHECK(o->profile == NULL || *o->profile != '\0');
    check_texts(&o->reports);
    for (size_t i = 0; i < NUM_LISTS; i++)
        check_values(&o->lists[i]);
}

static void check_request(const request *r) {
    const popliner_solver_options *o = &r->solver;
    for (size_t i = 0; i < o->num_pairs; i++)
        FUZZ_CHECK(r->pairs[i].unit < r->num_units && r->pairs[i].second_unit < r->num_units);
    for (size_t i = 0; i < o->num_placements; i++)
        FUZZ_CHECK(r->placements[i].unit < r->num_units && r->placements[i].ipu < MOST_STAGES);
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        FUZZ_CHECK(o->ipu_limits[i].ipu < MOST_STAGES && o->ipu_limits[i].value <= INT64_MAX);
    for (size_t i = 0; i < o->num_ipu_speeds; i++)
        FUZZ_CHECK(o->ipu_speeds[i].value >= POPLINER_LEAST_SPEED &&
                   o->ipu_speeds[i].value <= POPLINER_MOST_SPEED);
    for (size_t i = 0; i < o->num_ipu_links; i++)
        FUZZ_CHECK(o->ipu_links[i].first_ipu != o->ipu_links[i].second_ipu &&
                   o->ipu_links[i].bytes > 0 && o->ipu_links[i].cycles > 0);
    for (size_t i = 0; i < o->num_mapped_stages; i++)
        FUZZ_CHECK(o->device_map[i] < MOST_STAGES);
    FUZZ_CHECK(o->num_mapped_stages <= MOST_STAGES && o->num_objectives <= POPLINER_NUM_OBJECTIVES);
    FUZZ_CHECK(popliner_copies_check(&r->asked.copies, NULL) == POPLINER_OK);
}

/* What there is to do without a profile; `num_units` at least 1. */
static void check_meaning(session *s, size_t num_units) {
    const unsigned usage = 1u << POPLINER_ERROR_USAGE;
    const popliner_group units = {
        .unit_names = unit_names, .counted_units = counted_units, .num_units = num_units};
    popliner_error error = {.message = ""};
    request r = {0};
    options *o = &s->options;
    popliner_status status = request_check(s, &error);
    if (status == POPLINER_OK)
        status = outputs_check(s, &error);
    fuzz_check_status(status, &error, usage, "--");
    request_free(&s->request);
    s->request = (request){0};
    if (status != POPLINER_OK)
        return;
    /* what else would be asked of the profile */
    o->lists[LIST_LIMITS].all.bytes =
        o->lists[LIST_LIMITS].all.bytes == 0 ? 638976 : o->lists[LIST_LIMITS].all.bytes;
    if (o->lists[LIST_RESERVES].all.cycles == RESERVE_GAPS)
        o->lists[LIST_RESERVES].all.cycles = RESERVE_NOTHING;
    const char *split = o->evaluate;
    for (int i = 0; i < 2; i++) {
        o->evaluate = i == 0 ? NULL : split;
        if (i == 0 ? !o->solve : split == NULL)
            continue;
        status = request_make(&r, s, POPLINER_MEMORY_MODEL_FULL, NULL, &units, &error);
        fuzz_check_status(status, &error, usage, NULL);
        if (status == POPLINER_OK && i == 0)
            check_request(&r);
        for (size_t k = 0; status == POPLINER_OK && k < r.num_cuts; k++)
            FUZZ_CHECK(r.first_units[k] < num_units &&
                       (k == 0 || r.first_units[k] > r.first_units[k - 1]));
    }
    request_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static pl_regex *kept; /* so that the room for compiled regexes is not given back each time */
    fuzz_input input = {data, size};
    popliner_error error = {.message = ""};
    session s = {.log = {.least_level = (popliner_level)(POPLINER_LEVEL_ERROR + 1)}};
    arguments a = {0};
    const char *path = NULL;
    if (kept == NULL)
        FUZZ_CHECK(pl_regex_compile("x", "", &kept, &error) == POPLINER_OK);
    const uint8_t first = fuzz_byte(&input);
    add(&a, "popliner", "", "");
    if (first >= 128) {
        char *text = fuzz_text(&input);
        path = fuzz_file(text, strlen(text));
        add(&a, "@", path, "");
        free(text);
    }
    for (size_t i = 0; i < MOST_ARGUMENTS && input.left > 0; i++)
        take_argument(&a, &input);

    popliner_status status = options_parse(a.count, a.texts, &s.options, &error);
    fuzz_check_status(status, &error,
                      1u << POPLINER_ERROR_USAGE | (path == NULL ? 0u : 1u << POPLINER_ERROR_INPUT),
                      status == POPLINER_ERROR_INPUT ? path : NULL);
    if (status == POPLINER_OK) {
        check_within_limits(&s.options);
        if (!s.options.help && !s.options.version)
            check_meaning(&s, 1 + first % NUM_NAMES);
    }
    options_free(&s.options);
    free(s.warnings.text);
    for (int i = 0; i < a.count; i++)
        free(a.texts[i]);
    return 0;
}
