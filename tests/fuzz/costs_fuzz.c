/* Files of costs: any text, as popliner's own format, a graph or a table of layers, for any
 * pipeline. A table that comes of it keeps its promises; the same document in another layout says
 * the same.
 *
 *   1 byte: the pipeline; the text
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/costs.h"

enum { MOST_UNITS = 24 }; /* of which every interval is looked at */

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) ^ (hash >> 29);
}

/* Checks every number of a small table, and mixes them. */
static uint64_t check_table(const popliner_costs *costs, size_t max_stages) {
    const size_t num_units = popliner_costs_num_units(costs);
    uint64_t hash = num_units;
    for (size_t first = 0; first < num_units; first++) {
        hash = mix(hash, popliner_costs_cut(costs, first));
        for (size_t last = first; last < num_units; last++) {
            uint64_t before = 0;
            const uint64_t cycles = popliner_costs_cycles(costs, first, last);
            FUZZ_CHECK(cycles <= POPLINER_MAX_CYCLES);
            hash = mix(hash, cycles);
            for (size_t place = 1; place <= max_stages; place++) {
                const uint64_t peak = popliner_costs_peak(costs, first, last, place);
                FUZZ_CHECK(peak >= before); /* further from the end, never less */
                hash = mix(hash, before = peak);
            }
        }
    }
    FUZZ_CHECK(popliner_costs_peak(costs, 0, num_units, 1) == POPLINER_PEAK_FORBIDDEN);
    return hash;
}

static void check_devices(const popliner_costs_file *info) {
    for (size_t i = 0; i < info->num_ipu_limits; i++)
        FUZZ_CHECK(i == 0 || info->ipu_limits[i].ipu > info->ipu_limits[i - 1].ipu);
    for (size_t i = 0; i < info->num_ipu_speeds; i++) {
        FUZZ_CHECK(i == 0 || info->ipu_speeds[i].ipu > info->ipu_speeds[i - 1].ipu);
        FUZZ_CHECK(info->ipu_speeds[i].value >= POPLINER_LEAST_SPEED &&
                   info->ipu_speeds[i].value <= POPLINER_MOST_SPEED);
    }
    for (size_t i = 0; i < info->num_ipu_links; i++) {
        FUZZ_CHECK(info->ipu_links[i].first_ipu != info->ipu_links[i].second_ipu);
        FUZZ_CHECK(info->ipu_links[i].bytes > 0 && info->ipu_links[i].cycles > 0);
    }
}

/* Reads the text. Returns a number that differs where the costs do, 0 if they were refused; *can is
 * whether they were not. */
static uint64_t read(const char *text, size_t length, const popliner_pipeline *pipeline,
                     bool *can) {
    popliner_costs_file *file = NULL;
    popliner_error error = {.message = ""};
    const popliner_status status =
        popliner_costs_file_read("FILE", text, length, pipeline, &file, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT, "FILE: ");
    *can = status == POPLINER_OK;
    FUZZ_CHECK(*can == (file != NULL));
    if (!*can)
        return 0;
    const size_t num_units = popliner_costs_num_units(file->costs);
    FUZZ_CHECK(num_units >= 1 && num_units <= 16384 && num_units <= length);
    FUZZ_CHECK(file->cycles_per_time_unit == 1 || file->cycles_per_time_unit == 1000000000);
    FUZZ_CHECK(file->cuts_per_unit == 1 || file->is_graph);
    FUZZ_CHECK(file->time_unit != NULL);
    uint64_t hash = 0;
    for (size_t i = 0; i < num_units; i++)
        for (const char *c = file->unit_names[i]; *c != '\0'; c++)
            hash = mix(hash, (unsigned char)*c);
    for (size_t i = 0; file->counted_units != NULL && i < num_units; i++)
        FUZZ_CHECK(file->counted_units[i] <= 1);
    for (size_t i = 0; file->parameter_bytes != NULL && i < num_units; i++)
        hash = mix(hash, file->parameter_bytes[i]);
    check_devices(file);
    if (num_units <= MOST_UNITS)
        hash = mix(hash, check_table(file->costs, pipeline == NULL ? 1 : 3));
    popliner_costs_file_free(file);
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const popliner_schedule schedules[] = {
        POPLINER_SCHEDULE_NONE,           POPLINER_SCHEDULE_INFERENCE,
        POPLINER_SCHEDULE_POPART,         POPLINER_SCHEDULE_TF_GROUPED,
        POPLINER_SCHEDULE_TF_INTERLEAVED, POPLINER_SCHEDULE_SEQUENTIAL};
    static const popliner_recompute recomputes[] = {
        POPLINER_RECOMPUTE_NONE, POPLINER_RECOMPUTE_STANDARD, POPLINER_RECOMPUTE_FULL,
        POPLINER_RECOMPUTE_AUTO};
    fuzz_input input = {data, size};
    const uint8_t how = fuzz_byte(&input);
    const popliner_pipeline pipeline = {
        .schedule = schedules[how % (sizeof schedules / sizeof *schedules)],
        .recompute = recomputes[how >> 4 & 3],
        .max_stages = (size_t)(how >> 6) * 2,
    };
    const popliner_pipeline *asked = how == 0 ? NULL : &pipeline;
    size_t length;
    bool can;
    bool can_again = false;
    char *text = fuzz_copy(&input, SIZE_MAX, true, &length);
    const uint64_t hash = read(text, length, asked, &can);
    json_t *root = can && how % 4 == 1 ? json_loadb(text, length, 0, NULL) : NULL;
    char *other = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    if (other != NULL &&
        strchr(text, '.') == NULL) { /* fractions may be written with more digits */
        FUZZ_CHECK(read(other, strlen(other), asked, &can_again) == hash && can_again);
    }
    free(other);
    json_decref(root);
    free(text);
    return 0;
}
