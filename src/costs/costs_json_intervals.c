/* Intervals that a file of costs lists one by one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <inttypes.h>
#include <string.h>

#include "costs/costs.h"
#include "costs/triangle.h"
#include "pipeline/pipeline.h"

/* With full recomputation an interval takes longer. */
static popliner_status add_recomputing(pl_costs_json *r, size_t i, const json_t *interval,
                                       uint64_t *cycles) {
    const json_t *value = json_object_get(interval, "recompute_cycles");
    pl_json_place place = pl_place("intervals[%zu].recompute_cycles", i);
    uint64_t more = 0;
    popliner_status status =
        value == NULL ? POPLINER_OK : pl_costs_json_cycles(r, &place, value, &more);
    if (status == POPLINER_OK && more > POPLINER_MAX_CYCLES - *cycles)
        status = pl_json_refuse(&r->json, &place, "too many, with the cycles of the interval");
    *cycles += status == POPLINER_OK ? more : 0;
    return status;
}

static popliner_status read_interval(pl_costs_json *r, size_t i, const json_t *value) {
    static const char *const keys[] = {"memory", "stash", "inputs"};
    pl_json_place place = pl_place("intervals[%zu]", i);
    pl_json_place first_place = pl_place("intervals[%zu].first", i);
    pl_json_place last_place = pl_place("intervals[%zu].last", i);
    pl_json_place cycles_place = pl_place("intervals[%zu].cycles", i);
    const json_t *cycles_value = json_object_get(value, "cycles");
    size_t width = r->num_regions;
    size_t first = 0;
    size_t last = 0;
    uint64_t cycles = 0;
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_INTERVAL, &place, value);
    if (status == POPLINER_OK)
        status = pl_costs_json_find_unit(r, &first_place, json_object_get(value, "first"), &first);
    if (status == POPLINER_OK)
        status = pl_costs_json_find_unit(r, &last_place, json_object_get(value, "last"), &last);
    if (status == POPLINER_OK && first > last)
        status = pl_json_refuse(&r->json, &place, "\"%.100s\" comes after \"%.100s\"",
                                r->units.items[first], r->units.items[last]);
    if (status != POPLINER_OK)
        return status;
    memset(r->interval_bytes, 0, 3 * width * sizeof *r->interval_bytes);
    for (size_t k = 0; k < 3; ++k) {
        const json_t *bytes = json_object_get(value, keys[k]);
        pl_json_place bytes_place = pl_place("intervals[%zu].%s", i, keys[k]);
        if (bytes != NULL)
            status = pl_costs_json_bytes(r, &bytes_place, bytes, r->interval_bytes + k * width);
        if (status != POPLINER_OK)
            return status;
    }
    if (r->has_cycles && cycles_value == NULL)
        return pl_json_refuse(&r->json, &place,
                              "\"cycles\" is missing, which other intervals have");
    if (cycles_value != NULL)
        status = pl_costs_json_cycles(r, &cycles_place, cycles_value, &cycles);
    if (status != POPLINER_OK)
        return status;
    bool recomputes = r->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
    status = pl_costs_json_read_interval_variants(
        r, i, value, pl_triangle_place(r->num_units, first, last), cycles);
    if (status == POPLINER_OK &&
        pl_pipeline_recomputes(&r->pipeline, first == 0, last + 1 == r->num_units))
        status = add_recomputing(r, i, value, &cycles);
    if (status == POPLINER_OK)
        status = pl_costs_json_set_peaks(r, first, last, r->interval_bytes,
                                         r->interval_bytes + (recomputes ? 2 : 1) * width);
    if (status != POPLINER_OK)
        return status;
    if (r->has_cycles)
        pl_costs_set_cycles(r->file->costs, first, last, cycles);
    return pl_id_map_add(&r->listed, first * r->num_units + last, i) ? POPLINER_OK
                                                                     : pl_costs_json_fail_memory(r);
}

static popliner_status check_listed_once(pl_costs_json *r, const json_t *list) {
    pl_id_map_sort(&r->listed);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *interval = json_array_get(list, i);
        const char *names[] = {json_string_value(json_object_get(interval, "first")),
                               json_string_value(json_object_get(interval, "last"))};
        size_t first = pl_names_number(&r->units, names[0]);
        size_t last = pl_names_number(&r->units, names[1]);
        uint32_t same = pl_id_map_find(&r->listed, first * r->num_units + last);
        pl_json_place place = pl_place("intervals[%zu]", i);
        if (same != i)
            return pl_json_refuse(&r->json, &place,
                                  "intervals[%" PRIu32 "] has the same units, \"%.100s\" to "
                                  "\"%.100s\"",
                                  same, names[0], names[1]);
    }
    return POPLINER_OK;
}

popliner_status pl_costs_json_fill_listed(pl_costs_json *r, const json_t *list) {
    static const char *const additive_keys[] = {"shared", "cut_cycles"};
    pl_json_place list_place = pl_place("intervals");
    for (size_t i = 0; i < 2; ++i) {
        pl_json_place place = pl_place("%s", additive_keys[i]);
        if (json_object_get(r->root, additive_keys[i]) != NULL)
            return pl_json_refuse(&r->json, &place,
                                  "this and \"intervals\" exclude each other: the costs are those "
                                  "of the intervals");
    }
    popliner_status status = pl_json_array(&r->json, &list_place, list);
    if (status == POPLINER_OK && json_array_size(list) == 0)
        status = pl_json_refuse(&r->json, &list_place,
                                "the list is empty, so that nothing could be a stage");
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const json_t *interval = json_array_get(list, i);
        bool recomputes = r->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
        if (json_object_get(interval, recomputes ? "inputs" : "stash") != NULL ||
            r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
            r->has_kept = true;
    }
    if (status == POPLINER_OK)
        status = pl_costs_json_add_pipeline(r);
    if (status != POPLINER_OK)
        return status;
    for (size_t first = 0; status == POPLINER_OK && first < r->num_units; ++first) {
        status = pl_costs_file_ask(r->file, r->json.path, r->json.error);
        for (size_t last = first; last < r->num_units; ++last)
            pl_costs_forbid(r->file->costs, first, last);
    }
    for (size_t i = 0; status == POPLINER_OK && i < json_array_size(list); ++i) {
        status = read_interval(r, i, json_array_get(list, i));
        if (status == POPLINER_OK)
            status = pl_costs_file_ask(r->file, r->json.path, r->json.error);
    }
    return status == POPLINER_OK ? check_listed_once(r, list) : status;
}
