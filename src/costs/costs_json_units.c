/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "costs/costs.h"
#include "costs/costs_json.h"
#include "costs/triangle.h"
#include "costs/variants.h"

/* ---- Variants -------------------------------------------------------------------------------- */

static popliner_status add(pl_costs_json *r, size_t interval, pl_variant variant,
                           const char *name) {
    pl_variants *v = &r->file->variants;
    if (!pl_grow(&r->variant_interval, &r->variant_capacity, v->count + 1,
                 sizeof *r->variant_interval) ||
        !pl_variants_add(v, variant, name, strlen(name)))
        return pl_costs_json_fail_memory(r);
    r->variant_interval[v->count - 1] = interval;
    return POPLINER_OK;
}

/* The variant with what the micro-batches under way store in its memory. */
static pl_variant with_working_sets(const pl_costs_json *r, pl_variant variant) {
    variant.memory_bytes += r->num_working_sets * variant.stash_bytes;
    return variant;
}

/* Reads the bytes of an optional key, which are added to others of the same stage. */
static popliner_status additive_bytes(pl_costs_json *r, const pl_json_place *owner,
                                      const json_t *object, const char *key, uint64_t *bytes) {
    const json_t *value = json_object_get(object, key);
    pl_json_place place = pl_place("%s.%s", owner->text, key);
    if (value == NULL)
        return POPLINER_OK;
    popliner_status status = pl_costs_json_bytes(r, &place, value, bytes);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < r->num_regions; ++i) {
        r->sum_bytes[i] += bytes[i];
        if (r->sum_bytes[i] > PL_MAX_BYTES)
            return pl_json_refuse(&r->json, &place,
                                  "with this, the bytes of %s add up to more than %" PRIu64,
                                  r->regions.items[i], PL_MAX_BYTES);
    }
    return POPLINER_OK;
}

/* Reads a variant. It has the costs in `variant` except for the keys it gives. */
static popliner_status read_variant(pl_costs_json *r, const pl_json_place *place,
                                    const json_t *value, size_t interval, pl_variant variant) {
    static const char *const keys[] = {"memory", "stash"};
    uint64_t *const bytes[] = {&variant.memory_bytes, &variant.stash_bytes};
    const json_t *cycles = json_object_get(value, "cycles");
    pl_json_place name_place = pl_place("%s.name", place->text);
    pl_json_place cycles_place = pl_place("%s.cycles", place->text);
    const char *name = NULL;
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_VARIANT, place, value);
    if (status == POPLINER_OK)
        status = pl_json_text(&r->json, &name_place, json_object_get(value, "name"), &name);
    for (size_t k = 0; status == POPLINER_OK && k < 2; ++k)
        if (json_object_get(value, keys[k]) != NULL)
            status = additive_bytes(r, place, value, keys[k], bytes[k]);
    if (status == POPLINER_OK && cycles != NULL)
        status = pl_costs_json_cycles(r, &cycles_place, cycles, &variant.cycles);
    if (status == POPLINER_OK)
        status = pl_costs_json_add_up_cycles(r, &cycles_place, variant.cycles);
    return status == POPLINER_OK ? add(r, interval, with_working_sets(r, variant), name) : status;
}

/* Reads the "variants" of a unit or an interval. */
static popliner_status read_variants(pl_costs_json *r, const char *owner, size_t i,
                                     const json_t *value, size_t interval, pl_variant own) {
    const json_t *list = json_object_get(value, "variants");
    pl_json_place list_place = pl_place("%s[%zu].variants", owner, i);
    if (list == NULL)
        return POPLINER_OK;
    popliner_status status = pl_json_array(&r->json, &list_place, list);
    if (status == POPLINER_OK && r->num_regions > 1)
        status =
            pl_json_refuse(&r->json, &list_place,
                           "variants are known for one region, but there are %zu", r->num_regions);
    for (size_t k = 0; status == POPLINER_OK && k < json_array_size(list); ++k) {
        pl_json_place place = pl_place("%s[%zu].variants[%zu]", owner, i, k);
        status = read_variant(r, &place, json_array_get(list, k), interval, own);
    }
    return status;
}

/* Adds times, one for each sample, or one number for all. */
static popliner_status add_times(const pl_costs_json *r, const pl_json_place *place,
                                 const json_t *value, uint64_t *times) {
    const size_t count = json_is_array(value) ? json_array_size(value) : r->num_samples;
    if (value == NULL)
        return POPLINER_OK;
    if (count != r->num_samples || count == 0)
        return pl_json_refuse(&r->json, place,
                              "the list has %zu times, but others have %zu: expected one for each "
                              "sample",
                              count, r->num_samples);
    for (size_t i = 0; i < count; ++i) {
        const pl_json_place item = pl_place("%s[%zu]", place->text, i);
        uint64_t own = 0;
        popliner_status status =
            json_is_array(value) ? pl_costs_json_cycles(r, &item, json_array_get(value, i), &own)
                                 : pl_costs_json_cycles(r, place, value, &own);
        if (status != POPLINER_OK)
            return status;
        times[i] += own;
    }
    return POPLINER_OK;
}

static uint64_t largest(const uint64_t *numbers, size_t count) {
    uint64_t result = 0;
    for (size_t i = 0; i < count; ++i)
        result = numbers[i] > result ? numbers[i] : result;
    return result;
}

/* Reads what a unit takes in each sample: its cycles, or those of its forward and backward pass,
 * without the latter in inference; recomputing it takes another forward pass. */
static popliner_status read_times(pl_costs_json *r, size_t unit, const json_t *value) {
    static const char *const keys[] = {"cycles", "forward", "backward"};
    uint64_t *own = &r->cycles[unit * r->num_samples];
    uint64_t *forward = &r->forward[unit * r->num_samples];
    const bool has_cycles = json_object_get(value, keys[0]) != NULL;
    const bool is_inference = r->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE;
    pl_json_place place = pl_place("units[%zu].%s", unit, keys[0]);
    if (has_cycles &&
        (json_object_get(value, keys[1]) != NULL || json_object_get(value, keys[2]) != NULL))
        return pl_json_refuse(&r->json, &place,
                              "are the sum of \"forward\" and \"backward\"; remove them or these");
    popliner_status status = POPLINER_OK;
    for (size_t k = 0; status == POPLINER_OK && k < 3; ++k) {
        place = pl_place("units[%zu].%s", unit, keys[k]);
        const json_t *times = json_object_get(value, keys[k]);
        status = add_times(r, &place, times, own);
        if (k == 1 && times != NULL && json_object_get(value, "inputs") != NULL)
            r->recompute_cycles[unit] = largest(own, r->num_samples);
        if (k > 0 && times != NULL)
            *(is_inference ? &r->has_pipeline : &r->has_passes) = true;
        for (size_t i = 0; k < 2 && i < r->num_samples; ++i)
            forward[i] = has_cycles ? pl_forward_third(own[i]) : own[i];
    }
    if (is_inference && !has_cycles)
        memcpy(own, forward, r->num_samples * sizeof *own);
    place = pl_place("units[%zu].%s", unit, keys[has_cycles ? 0 : 1]);
    return status == POPLINER_OK
               ? pl_costs_json_add_up_cycles(r, &place, largest(own, r->num_samples))
               : status;
}

/* Adds the unit unchanged, and its variants. Its costs must have been read. */
static popliner_status pl_costs_json_read_unit_variants(pl_costs_json *r, size_t unit,
                                                        const json_t *value) {
    pl_variants *v = &r->file->variants;
    const json_t *more = json_object_get(value, "recompute_cycles");
    pl_json_place more_place = pl_place("units[%zu].recompute_cycles", unit);
    size_t row = unit * r->num_regions;
    const pl_variant own = {r->memory[row], r->stash[row], r->cycles[unit * r->num_samples], NULL};
    popliner_status status = POPLINER_OK;
    if (more != NULL)
        status = pl_costs_json_cycles(r, &more_place, more, &r->recompute_cycles[unit]);
    if (status == POPLINER_OK)
        status = pl_costs_json_add_up_cycles(r, &more_place, r->recompute_cycles[unit]);
    if (status == POPLINER_OK)
        status = add(r, unit, with_working_sets(r, own), "none");
    if (status == POPLINER_OK)
        status = read_variants(r, "units", unit, value, unit, own);
    v->has_full = v->has_full || json_object_get(value, "inputs") != NULL;
    return status;
}

popliner_status pl_costs_json_read_interval_variants(pl_costs_json *r, size_t i,
                                                     const json_t *value, size_t interval,
                                                     uint64_t cycles) {
    const json_t *more = json_object_get(value, "recompute_cycles");
    pl_json_place more_place = pl_place("intervals[%zu].recompute_cycles", i);
    const uint64_t *bytes = r->interval_bytes;
    const pl_variant own = {bytes[0], bytes[r->num_regions], cycles, NULL};
    pl_variant full = with_working_sets(r, own);
    uint64_t more_cycles = 0;
    popliner_status status = add(r, interval, full, "none");
    full.stash_bytes = bytes[2 * r->num_regions];
    if (status == POPLINER_OK && more != NULL)
        status = pl_costs_json_cycles(r, &more_place, more, &more_cycles);
    full.cycles += more_cycles;
    if (status == POPLINER_OK && full.cycles > POPLINER_MAX_CYCLES)
        status = pl_json_refuse(&r->json, &more_place, "too many, with the cycles of the interval");
    if (status == POPLINER_OK && json_object_get(value, "inputs") != NULL)
        status = add(r, interval, full, "full");
    /* the bytes of intervals are not added up */
    uint64_t *sums = r->sum_bytes;
    uint64_t sum_cycles = r->sum_cycles;
    memset(sums, 0, r->num_regions * sizeof *sums);
    if (status == POPLINER_OK)
        status = read_variants(r, "intervals", i, value, interval, own);
    r->sum_cycles = sum_cycles;
    return status;
}

static int compare_arrivals(const void *left, const void *right) {
    const pl_variant_arrival *a = left;
    const pl_variant_arrival *b = right;
    return (a->unit > b->unit) - (a->unit < b->unit);
}

/* Shared memory arrives with each of its units in a stage that begins after the previous one. */
static bool add_arrivals(pl_variants *v, const pl_additive_costs *a) {
    for (size_t i = 0; i < a->num_shared; ++i)
        for (size_t k = 0; k < a->shared[i].num_units; ++k) {
            if (!pl_grow(&v->arrivals, &v->arrivals_capacity, v->num_arrivals + 1,
                         sizeof *v->arrivals))
                return false;
            v->arrivals[v->num_arrivals++] = (pl_variant_arrival){
                a->shared[i].units[k], k == 0 ? SIZE_MAX : a->shared[i].units[k - 1],
                a->shared[i].bytes[0]};
        }
    if (v->num_arrivals > 0)
        qsort(v->arrivals, v->num_arrivals, sizeof *v->arrivals, compare_arrivals);
    return true;
}

/* Sorts the variants by unit or interval; stable. */
static bool order(pl_costs_json *r, pl_variants *v, size_t num_owners) {
    pl_variant *sorted = pl_new_array(v->count, sizeof *sorted);
    size_t *next = pl_new_array(num_owners + 1, sizeof *next);
    v->first = pl_arrays_new(&r->file->arrays, num_owners + 1, sizeof *v->first);
    bool memory = sorted != NULL && next != NULL && v->first != NULL;
    for (size_t i = 0; memory && i < v->count; ++i)
        ++v->first[r->variant_interval[i] + 1];
    for (size_t i = 0; memory && i < num_owners; ++i)
        v->first[i + 1] += v->first[i];
    if (memory) {
        memcpy(next, v->first, (num_owners + 1) * sizeof *next);
        for (size_t i = 0; i < v->count; ++i)
            sorted[next[r->variant_interval[i]]++] = v->items[i];
        free(v->items);
        v->items = sorted;
        v->capacity = v->count;
        sorted = NULL;
    }
    free(sorted);
    free(next);
    return memory;
}

popliner_status pl_costs_json_finish_variants(pl_costs_json *r, bool is_listed) {
    pl_variants *v = &r->file->variants;
    pl_json_place place = pl_place("regions");
    size_t n = r->num_units;
    if (r->num_regions > 1)
        return pl_json_refuse(&r->json, &place,
                              "stages choose how they recompute for one region, but there are %zu",
                              r->num_regions);
    v->num_units = n;
    v->is_listed = is_listed;
    v->pipeline = r->pipeline;
    v->max_stages = r->file->costs->max_stages_to_end;
    v->capacity_bytes = r->file->additive.capacity_bytes[0];
    if (!add_arrivals(v, &r->file->additive) || !order(r, v, is_listed ? pl_triangle_size(n) : n))
        return pl_costs_json_fail_memory(r);
    v->inputs_bytes = r->file->additive.inputs;
    v->recompute_cycles = r->recompute_cycles;
    v->cut_cycles = r->cut_cycles;
    v->shared_bytes = r->file->additive.num_shared > 0 ? pl_costs_json_shared_bytes : NULL;
    v->user = &r->file->additive;
    r->file->choices =
        (pl_choices){.variants = v, .unit_names = (const char *const *)r->file->names};
    r->file->costs->choices = &r->file->choices;
    return POPLINER_OK;
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* Reads a name and adds it to its kind, where it must be new. */
static popliner_status read_name(const pl_costs_json *r, const pl_json_place *place,
                                 const json_t *value, pl_names *names) {
    const char *name = NULL;
    size_t before = names->count;
    popliner_status status = pl_json_text(&r->json, place, value, &name);
    if (status != POPLINER_OK)
        return status;
    size_t number = pl_names_number(names, name);
    if (number == SIZE_MAX)
        return pl_costs_json_fail_memory(r);
    return number == before ? POPLINER_OK
                            : pl_json_refuse(&r->json, place, "\"%.100s\" appears twice", name);
}

static popliner_status read_region(pl_costs_json *r, size_t i, const json_t *region,
                                   uint64_t *capacity_bytes) {
    const json_t *capacity = json_object_get(region, "capacity");
    pl_json_place place = pl_place("regions[%zu]", i);
    pl_json_place name_place = pl_place("regions[%zu].name", i);
    pl_json_place capacity_place = pl_place("regions[%zu].capacity", i);
    *capacity_bytes = UINT64_MAX;
    if (json_is_string(region))
        return read_name(r, &place, region, &r->regions);
    if (!json_is_object(region))
        return pl_json_refuse(&r->json, &place,
                              "expected a name, or an object with name and capacity");
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_REGION, &place, region);
    if (status == POPLINER_OK)
        status = read_name(r, &name_place, json_object_get(region, "name"), &r->regions);
    if (status == POPLINER_OK && capacity != NULL)
        status =
            pl_json_whole(&r->json, &capacity_place, capacity, 0, PL_MAX_BYTES, capacity_bytes);
    return status;
}

popliner_status pl_costs_json_read_regions(pl_costs_json *r) {
    static const char only_region[] = "the memory";
    const json_t *regions = json_object_get(r->root, "regions");
    pl_json_place regions_place = pl_place("regions");
    popliner_status status = POPLINER_OK;
    if (regions != NULL)
        status = pl_json_array(&r->json, &regions_place, regions);
    if (status == POPLINER_OK && regions != NULL && json_array_size(regions) == 0)
        status = pl_json_refuse(&r->json, &regions_place,
                                "the list is empty; leave it out if there is only one region");
    if (status != POPLINER_OK)
        return status;
    r->num_regions = regions == NULL ? 1 : json_array_size(regions);
    r->file->additive.num_regions = r->num_regions;
    uint64_t *capacities = pl_arrays_new(&r->file->arrays, r->num_regions, sizeof *capacities);
    r->file->additive.capacity_bytes = capacities;
    if (capacities == NULL)
        return pl_costs_json_fail_memory(r);
    if (regions == NULL) {
        capacities[0] = UINT64_MAX;
        return pl_names_number(&r->regions, only_region) == 0 ? POPLINER_OK
                                                              : pl_costs_json_fail_memory(r);
    }
    for (size_t i = 0; i < r->num_regions; ++i) {
        status = read_region(r, i, json_array_get(regions, i), &capacities[i]);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

/* Allocates the arrays by unit and region. */
static popliner_status make_room(pl_costs_json *r) {
    pl_additive_costs *additive = &r->file->additive;
    if (r->num_regions > SIZE_MAX / sizeof(uint64_t) / (r->num_units + 1))
        return pl_costs_json_fail_memory(r);
    pl_arrays *own = &r->arrays;
    pl_arrays *of_file = &r->file->arrays;
    const size_t count = r->num_units * r->num_regions;
    const size_t count_before = count + r->num_regions;
    const size_t num_times = r->num_units * r->num_samples;
    r->sum_bytes = pl_arrays_new(own, r->num_regions, sizeof *r->sum_bytes);
    r->memory = pl_arrays_new(own, count, sizeof *r->memory);
    r->stash = pl_arrays_new(own, count, sizeof *r->stash);
    r->cycles = pl_arrays_new(own, num_times, sizeof *r->cycles);
    r->forward = pl_arrays_new(own, num_times, sizeof *r->forward);
    r->interval_bytes = pl_arrays_new(own, 3 * r->num_regions, sizeof *r->interval_bytes);
    r->cut_cycles = pl_arrays_new(of_file, r->num_units + 1, sizeof *r->cut_cycles);
    r->recompute_cycles = pl_arrays_new(of_file, r->num_units, sizeof *r->recompute_cycles);
    additive->inputs = pl_arrays_new(of_file, count, sizeof *additive->inputs);
    additive->memory_before = pl_arrays_new(of_file, count_before, sizeof(uint64_t));
    additive->stash_before = pl_arrays_new(of_file, count_before, sizeof(uint64_t));
    r->file->counted_units = pl_arrays_new(of_file, r->num_units, 1);
    r->file->names = pl_arrays_new(of_file, r->num_units, sizeof *r->file->names);
    return !own->failed && !of_file->failed &&
                   pl_interval_sums_init(&r->sums, r->num_units, r->num_regions)
               ? POPLINER_OK
               : pl_costs_json_fail_memory(r);
}

/* Reads bytes that count once for all regions. Allocates those of all units for the first unit that
 * has any. */
static popliner_status read_numbers(pl_costs_json *r, size_t unit, const char *key,
                                    const json_t *object, uint64_t **numbers) {
    const json_t *value = json_object_get(object, key);
    pl_json_place place = pl_place("units[%zu].%s", unit, key);
    if (value == NULL)
        return POPLINER_OK;
    if (numbers == &r->kv_bytes && json_object_get(r->root, "regions") != NULL)
        return pl_json_refuse(&r->json, &place,
                              "is known for a device without regions; remove \"regions\"");
    if (*numbers == NULL)
        *numbers = pl_new_array(r->num_units, sizeof **numbers);
    return *numbers == NULL
               ? pl_costs_json_fail_memory(r)
               : pl_json_whole(&r->json, &place, value, 0, PL_MAX_BYTES, &(*numbers)[unit]);
}

/* Reads what a unit is. */
static popliner_status read_kind(pl_costs_json *r, size_t unit, const json_t *value,
                                 bool *is_layer) {
    static const char *const kinds[PL_NUM_UNIT_KINDS] = {[PL_UNIT_KIND_OTHER] = "other",
                                                         [PL_UNIT_KIND_LAYER] = "layer",
                                                         [PL_UNIT_KIND_EMBEDDING] = "embedding",
                                                         [PL_UNIT_KIND_MTP] = "mtp",
                                                         [PL_UNIT_KIND_LOSS] = "loss"};
    const json_t *layer = json_object_get(value, "layer");
    const json_t *kind = json_object_get(value, "kind");
    pl_json_place layer_place = pl_place("units[%zu].layer", unit);
    pl_json_place kind_place = pl_place("units[%zu].kind", unit);
    const char *name = NULL;
    if (layer != NULL && !json_is_boolean(layer))
        return pl_json_refuse(&r->json, &layer_place, "expected true or false");
    *is_layer = !json_is_false(layer);
    if (kind == NULL)
        return POPLINER_OK;
    if (layer != NULL)
        return pl_json_refuse(&r->json, &kind_place,
                              "says whether it is a layer; remove \"layer\"");
    popliner_status status = pl_json_text(&r->json, &kind_place, kind, &name);
    if (status != POPLINER_OK)
        return status;
    if (r->unit_kinds == NULL) {
        r->unit_kinds = pl_new_array(r->num_units, 1);
        if (r->unit_kinds == NULL)
            return pl_costs_json_fail_memory(r);
        memset(r->unit_kinds, PL_UNIT_KIND_LAYER, r->num_units);
    }
    size_t i = 0;
    while (i < PL_NUM_UNIT_KINDS && strcmp(name, kinds[i]) != 0)
        ++i;
    if (i == PL_NUM_UNIT_KINDS)
        return pl_json_refuse(&r->json, &kind_place,
                              "expected layer, embedding, mtp, loss or other, found \"%.100s\"",
                              name);
    r->unit_kinds[unit] = (uint8_t)i;
    *is_layer = i == PL_UNIT_KIND_LAYER;
    return POPLINER_OK;
}

static popliner_status read_unit(pl_costs_json *r, size_t unit, const json_t *value,
                                 bool is_listed) {
    static const char *const own_costs[] = {"memory", "cycles", "forward",  "backward",
                                            "stash",  "inputs", "variants", "recompute_cycles"};
    pl_json_place place = pl_place("units[%zu]", unit);
    pl_json_place name_place = pl_place("units[%zu].name", unit);
    size_t row = unit * r->num_regions;
    bool is_layer = true;
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_UNIT, &place, value);
    if (status == POPLINER_OK)
        status = read_name(r, &name_place, json_object_get(value, "name"), &r->units);
    if (status == POPLINER_OK)
        status = read_kind(r, unit, value, &is_layer);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; is_listed && i < sizeof own_costs / sizeof *own_costs; ++i)
        if (json_object_get(value, own_costs[i]) != NULL)
            return pl_json_refuse(&r->json, &place,
                                  "\"%s\" conflicts with \"intervals\"; remove one of them",
                                  own_costs[i]);
    status = additive_bytes(r, &place, value, "memory", r->memory + row);
    if (status == POPLINER_OK)
        status = additive_bytes(r, &place, value, "stash", r->stash + row);
    if (status == POPLINER_OK)
        status = additive_bytes(r, &place, value, "inputs", r->file->additive.inputs + row);
    if (status == POPLINER_OK)
        status = read_numbers(r, unit, "parameters", value, &r->file->parameters);
    if (status == POPLINER_OK)
        status = read_numbers(r, unit, "kv", value, &r->kv_bytes);
    if (status == POPLINER_OK)
        status = read_times(r, unit, value);
    if (status != POPLINER_OK)
        return status;
    status = is_listed ? POPLINER_OK : pl_costs_json_read_unit_variants(r, unit, value);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = row; i < row + r->num_regions; ++i)
        r->memory[i] += r->num_working_sets * r->stash[i];
    r->file->names[unit] = pl_arrays_text(&r->file->arrays, r->units.items[unit]);
    r->file->counted_units[unit] = is_layer;
    if (r->file->names[unit] == NULL || !pl_interval_sums_add(&r->sums, &unit, 1, r->memory + row))
        return pl_costs_json_fail_memory(r);
    return POPLINER_OK;
}

popliner_status pl_costs_json_read_units(pl_costs_json *r, bool is_listed) {
    const json_t *units = json_object_get(r->root, "units");
    bool all_layers = true;
    pl_json_place place = pl_place("units");
    popliner_status status = POPLINER_OK;
    if (r->num_samples > PL_MAX_SAMPLES)
        return pl_json_refuse(&r->json, &place, "expected at most %d samples of times, found %zu",
                              (int)PL_MAX_SAMPLES, r->num_samples);
    if (status == POPLINER_OK && r->num_samples > 1 &&
        r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        status = pl_json_refuse(&r->json, &place,
                                "stages choose how they recompute for one time of each unit, but "
                                "there are %zu samples",
                                r->num_samples);
    if (status == POPLINER_OK)
        status = make_room(r);
    if (status != POPLINER_OK)
        return status;
    for (size_t unit = 0; unit < r->num_units; ++unit) {
        status = read_unit(r, unit, json_array_get(units, unit), is_listed);
        if (status != POPLINER_OK)
            return status;
        all_layers = all_layers && r->file->counted_units[unit] == 1;
    }
    if (all_layers)
        r->file->counted_units = NULL;
    return POPLINER_OK;
}

static int compare_units(const void *left, const void *right) {
    const size_t *a = left;
    const size_t *b = right;
    return (*a > *b) - (*a < *b);
}

static popliner_status read_shared_units(pl_costs_json *r, size_t i, const json_t *names,
                                         pl_shared_memory *shared) {
    pl_json_place place = pl_place("shared[%zu].units", i);
    popliner_status status = pl_json_array(&r->json, &place, names);
    if (status == POPLINER_OK && json_array_size(names) == 0)
        status = pl_json_refuse(&r->json, &place, "the list is empty");
    if (status != POPLINER_OK)
        return status;
    shared->num_units = json_array_size(names);
    shared->units = pl_arrays_new(&r->file->arrays, shared->num_units, sizeof *shared->units);
    if (shared->units == NULL)
        return pl_costs_json_fail_memory(r);
    for (size_t k = 0; k < shared->num_units; ++k) {
        pl_json_place name_place = pl_place("%s[%zu]", place.text, k);
        status =
            pl_costs_json_find_unit(r, &name_place, json_array_get(names, k), &shared->units[k]);
        if (status != POPLINER_OK)
            return status;
    }
    qsort(shared->units, shared->num_units, sizeof *shared->units, compare_units);
    for (size_t k = 1; k < shared->num_units; ++k)
        if (shared->units[k] == shared->units[k - 1])
            return pl_json_refuse(&r->json, &place, "\"%.100s\" appears twice",
                                  r->units.items[shared->units[k]]);
    return POPLINER_OK;
}

popliner_status pl_costs_json_read_shared(pl_costs_json *r) {
    const json_t *list = json_object_get(r->root, "shared");
    pl_json_place list_place = pl_place("shared");
    pl_additive_costs *additive = &r->file->additive;
    popliner_status status = POPLINER_OK;
    if (list == NULL)
        return POPLINER_OK;
    status = pl_json_array(&r->json, &list_place, list);
    if (status != POPLINER_OK)
        return status;
    pl_arrays *arrays = &r->file->arrays;
    additive->shared = pl_arrays_new(arrays, json_array_size(list), sizeof *additive->shared);
    if (additive->shared == NULL)
        return pl_costs_json_fail_memory(r);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        pl_shared_memory *shared = &additive->shared[additive->num_shared++];
        const json_t *value = json_array_get(list, i);
        pl_json_place place = pl_place("shared[%zu]", i);
        shared->bytes = pl_arrays_new(arrays, r->num_regions, sizeof *shared->bytes);
        if (shared->bytes == NULL)
            return pl_costs_json_fail_memory(r);
        status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_SHARED, &place, value);
        if (status == POPLINER_OK)
            status = read_shared_units(r, i, json_object_get(value, "units"), shared);
        if (status == POPLINER_OK)
            status = additive_bytes(r, &place, value, "memory", shared->bytes);
        if (status != POPLINER_OK)
            return status;
        if (!pl_interval_sums_add(&r->sums, shared->units, shared->num_units, shared->bytes))
            return pl_costs_json_fail_memory(r);
    }
    return POPLINER_OK;
}
