/* Reads units of popliner's own format of costs: their costs, variants, regions and shared data.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/costs_json.h"
#include "costs/triangle.h"
#include "costs/variants.h"
#include "pipeline/pipeline.h"

/* ---- Variants -------------------------------------------------------------------------------- */

/* Adds a variant of the unit that is read. */
static void add(pl_costs_json *r, pl_variant variant) {
    pl_variants *v = &r->file->variants;
    if (pl_costs_json_has(r, variant.name != NULL && pl_arrays_grow(&r->file->arrays, &v->items,
                                                                    v->count + 1, sizeof variant)))
        v->items[v->count++] = variant;
}

/* The variant with what the micro-batches under way store in its memory. It recomputes what else
 * stash_bytes would be. */
static pl_variant with_working_sets(const pl_costs_json *r, pl_variant variant,
                                    uint64_t stash_bytes) {
    variant.set_bytes = pl_pipeline_holds_recomputed(&r->pipeline)
                            ? pl_larger(variant.stash_bytes, stash_bytes)
                            : variant.stash_bytes;
    variant.running_bytes = variant.set_bytes;
    variant.memory_bytes += r->num_working_sets * variant.set_bytes;
    return variant;
}

/* Reads the bytes of an optional key, which are added to others of the same stage. */
static void additive_bytes(pl_costs_json *r, const pl_json_value *object, const char *key,
                           uint64_t *bytes) {
    const pl_json_value value = pl_json_in(object, key);
    if (value.json == NULL)
        return;
    pl_costs_json_bytes(r, &value, bytes);
    for (size_t i = 0; i < r->num_regions; ++i) {
        r->sum_bytes[i] += bytes[i];
        if (r->sum_bytes[i] > PL_MAX_BYTES)
            pl_json_refuse(&r->json, &value,
                           "with this, the bytes of %s add up to more than %" PRIu64,
                           r->regions.items[i], PL_MAX_BYTES);
    }
}

/* Reads a variant. It has the costs in `variant` except for the keys it gives. */
static void read_variant(pl_costs_json *r, const pl_json_value *value, pl_variant variant) {
    const pl_json_value name = pl_json_in(value, "name");
    const pl_json_value cycles = pl_json_in(value, "cycles");
    const uint64_t stash_bytes = variant.stash_bytes;
    pl_costs_json_check_keys(r, PL_COSTS_KEYS_VARIANT, value);
    variant.name = pl_arrays_text(&r->file->arrays, pl_json_text(&r->json, &name));
    additive_bytes(r, value, "memory", &variant.memory_bytes);
    if (json_object_get(value->json, "memory") != NULL)
        variant.memory_bytes += r->sharded_bytes;
    additive_bytes(r, value, "stash", &variant.stash_bytes);
    variant.cycles = pl_costs_json_cycles(r, &cycles, variant.cycles);
    pl_costs_json_add_up_cycles(r, &cycles, variant.cycles);
    if (pl_costs_json_is_well(r))
        add(r, with_working_sets(r, variant, stash_bytes));
}

/* Reads the "variants" of a unit. */
static void read_variants(pl_costs_json *r, const pl_json_value *value, pl_variant own) {
    const pl_json_value list = pl_json_in(value, "variants");
    if (list.json == NULL)
        return;
    pl_json_array(&r->json, &list);
    if (r->num_regions > 1)
        pl_json_refuse(&r->json, &list, "variants are known for one region, but there are %zu",
                       r->num_regions);
    for (size_t k = 0; pl_costs_json_is_well(r) && k < json_array_size(list.json); ++k) {
        const pl_json_value variant = pl_json_at(&list, k);
        read_variant(r, &variant, own);
    }
}

/* Adds times, one for each sample, or one number for all. */
static void add_times(pl_costs_json *r, const pl_json_value *value, uint64_t *times) {
    const bool is_list = json_is_array(value->json);
    const size_t count = is_list ? json_array_size(value->json) : r->num_samples;
    if (value->json == NULL)
        return;
    if (count != r->num_samples || count == 0)
        pl_json_refuse(&r->json, value,
                       "the list has %zu times, but others have %zu: expected one for each sample",
                       count, r->num_samples);
    for (size_t i = 0; pl_costs_json_is_well(r) && i < count; ++i) {
        const pl_json_value item = is_list ? pl_json_at(value, i) : *value;
        times[i] += pl_costs_json_cycles(r, &item, 0);
    }
}

static uint64_t largest(const uint64_t *numbers, size_t count) {
    uint64_t result = 0;
    for (size_t i = 0; i < count; ++i)
        result = numbers[i] > result ? numbers[i] : result;
    return result;
}

/* Reads what a unit takes in each sample: its cycles, or those of its forward and backward pass,
 * without the latter in inference; recomputing it takes another forward pass. */
static void read_times(pl_costs_json *r, size_t unit, const pl_json_value *value) {
    static const char *const keys[] = {"cycles", "forward", "backward"};
    uint64_t *own = &r->cycles[unit * r->num_samples];
    uint64_t *forward = &r->forward[unit * r->num_samples];
    const bool is_inference = r->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE;
    const pl_json_value times[] = {pl_json_in(value, keys[0]), pl_json_in(value, keys[1]),
                                   pl_json_in(value, keys[2])};
    const bool has_cycles = times[0].json != NULL;
    if (has_cycles && (times[1].json != NULL || times[2].json != NULL))
        pl_json_refuse(&r->json, &times[0],
                       "are the sum of \"forward\" and \"backward\"; remove them or these");
    for (size_t k = 0; k < 3; ++k) {
        add_times(r, &times[k], own);
        if (k == 1 && times[k].json != NULL && json_object_get(value->json, "inputs") != NULL)
            r->recompute_cycles[unit] = largest(own, r->num_samples);
        if (k > 0 && times[k].json != NULL)
            *(is_inference ? &r->has_pipeline : &r->has_passes) = true;
        for (size_t i = 0; k < 2 && i < r->num_samples; ++i)
            forward[i] = has_cycles ? pl_forward_third(own[i]) : own[i];
    }
    if (is_inference && !has_cycles)
        memcpy(own, forward, r->num_samples * sizeof *own);
    pl_costs_json_add_up_cycles(r, &times[has_cycles ? 0 : 1], largest(own, r->num_samples));
}

/* Adds the unit unchanged, and its variants. Its costs must have been read. */
static void read_unit_variants(pl_costs_json *r, size_t unit, const pl_json_value *value) {
    const pl_json_value more = pl_json_in(value, "recompute_cycles");
    const pl_variant own = {.memory_bytes = r->memory[0],
                            .stash_bytes = r->stash[0],
                            .cycles = r->cycles[unit * r->num_samples],
                            .name = "none"};
    r->recompute_cycles[unit] = pl_costs_json_cycles(r, &more, r->recompute_cycles[unit]);
    pl_costs_json_add_up_cycles(r, &more, r->recompute_cycles[unit]);
    add(r, with_working_sets(r, own, own.stash_bytes));
    read_variants(r, value, own);
    r->file->variants.first[unit + 1] = r->file->variants.count;
    if (json_object_get(value->json, "inputs") != NULL)
        r->file->variants.has_full = true;
}

static int compare_arrivals(const void *left, const void *right) {
    const pl_arrival *a = left;
    const pl_arrival *b = right;
    return (a->unit > b->unit) - (a->unit < b->unit);
}

void pl_costs_json_finish_variants(pl_costs_json *r) {
    pl_variants *v = &r->file->variants;
    pl_additive_costs *a = &r->file->additive;
    const pl_json_value regions = pl_json_in(&r->root, "regions");
    size_t n = r->num_units;
    if (r->num_regions > 1)
        pl_json_refuse(&r->json, &regions,
                       "stages choose how they recompute for one region, but there are %zu",
                       r->num_regions);
    v->num_units = n;
    v->pipeline = r->pipeline;
    v->max_stages = r->file->costs->max_stages_to_end;
    v->capacity_bytes = a->capacity_bytes[0];
    if (a->num_arrivals > 0)
        qsort(a->arrivals, a->num_arrivals, sizeof *a->arrivals, compare_arrivals);
    v->arrivals = a->arrivals;
    v->num_arrivals = a->num_arrivals;
    v->inputs_bytes = a->inputs;
    v->recompute_cycles = r->recompute_cycles;
    v->cut_cycles = r->cut_cycles;
    v->shared_bytes = v->num_arrivals > 0 ? pl_costs_json_shared_bytes : NULL;
    v->user = a;
    v->moments = a->moments.first != NULL ? &a->moments : NULL;
    v->has_working_set = a->has_working_set;
    r->file->choices =
        (pl_choices){.variants = v, .unit_names = (const char *const *)r->file->names};
    r->file->costs->choices = &r->file->choices;
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* Reads a name and adds it to its kind, where it must be new. */
static void read_name(pl_costs_json *r, const pl_json_value *value, pl_names *names) {
    size_t before = names->count;
    const char *name = pl_json_text(&r->json, value);
    const size_t number = pl_costs_json_is_well(r) ? pl_names_number(names, name) : before;
    if (pl_costs_json_has(r, number != SIZE_MAX) && number != before)
        pl_json_refuse(&r->json, value, "\"%.100s\" appears twice", name);
}

/* Reads a region; returns its capacity. */
static uint64_t read_region(pl_costs_json *r, const pl_json_value *region) {
    const pl_json_value name = pl_json_in(region, "name");
    const pl_json_value capacity = pl_json_in(region, "capacity");
    if (json_is_string(region->json)) {
        read_name(r, region, &r->regions);
        return UINT64_MAX;
    }
    if (!json_is_object(region->json))
        pl_json_refuse(&r->json, region, "expected a name, or an object with name and capacity");
    pl_costs_json_check_keys(r, PL_COSTS_KEYS_REGION, region);
    read_name(r, &name, &r->regions);
    return capacity.json == NULL ? UINT64_MAX : pl_json_whole(&r->json, &capacity, 0, PL_MAX_BYTES);
}

void pl_costs_json_read_regions(pl_costs_json *r) {
    static const char only_region[] = "the memory";
    const pl_json_value regions = pl_json_in(&r->root, "regions");
    const bool is_listed = regions.json != NULL;
    if (is_listed)
        pl_json_array(&r->json, &regions);
    if (is_listed && json_array_size(regions.json) == 0)
        pl_json_refuse(&r->json, &regions,
                       "the list is empty; leave it out if there is only one region");
    r->num_regions = is_listed ? json_array_size(regions.json) : 1;
    r->file->additive.num_regions = r->num_regions;
    uint64_t *capacities = pl_arrays_new(&r->file->arrays, r->num_regions, sizeof *capacities);
    r->file->additive.capacity_bytes = capacities;
    if (!pl_costs_json_has(r, capacities != NULL))
        return;
    for (size_t i = 0; is_listed && i < r->num_regions; ++i) {
        const pl_json_value region = pl_json_at(&regions, i);
        capacities[i] = read_region(r, &region);
    }
    if (!is_listed) {
        capacities[0] = UINT64_MAX;
        pl_costs_json_has(r, pl_names_number(&r->regions, only_region) == 0);
    }
}

/* Allocates the arrays by unit and region. */
static bool make_room(pl_costs_json *r) {
    pl_additive_costs *additive = &r->file->additive;
    if (r->num_regions > SIZE_MAX / sizeof(uint64_t) / (r->num_units + 1))
        return false;
    pl_arrays *own = &r->arrays;
    pl_arrays *of_file = &r->file->arrays;
    const size_t count = r->num_units * r->num_regions;
    const size_t count_before = count + r->num_regions;
    const size_t num_times = r->num_units * r->num_samples;
    r->sum_bytes = pl_arrays_new(own, r->num_regions, sizeof *r->sum_bytes);
    r->cycles = pl_arrays_new(own, num_times, sizeof *r->cycles);
    r->forward = pl_arrays_new(own, num_times, sizeof *r->forward);
    r->region_bytes = pl_arrays_new(own, r->num_regions, sizeof *r->region_bytes);
    r->cut_cycles = pl_arrays_new(of_file, r->num_units + 1, sizeof *r->cut_cycles);
    r->recompute_cycles = pl_arrays_new(of_file, r->num_units, sizeof *r->recompute_cycles);
    additive->inputs = pl_arrays_new(of_file, count, sizeof *additive->inputs);
    additive->memory_before = pl_arrays_new(of_file, count_before, sizeof(uint64_t));
    additive->stash_before = pl_arrays_new(of_file, count_before, sizeof(uint64_t));
    if (r->recomputes_units)
        additive->inputs_before = pl_arrays_new(of_file, count_before, sizeof(uint64_t));
    r->file->counted_units = pl_arrays_new(of_file, r->num_units, 1);
    r->file->names = pl_arrays_new(of_file, r->num_units, sizeof *r->file->names);
    r->file->variants.first = pl_arrays_new(of_file, r->num_units + 1, sizeof(size_t));
    pl_interval_sums_init(&r->sums, r->num_units, r->num_regions);
    return !own->failed && !of_file->failed && !r->sums.arrays.failed;
}

/* Reads bytes that count once for all regions. Allocates those of all units for the first unit that
 * has any, which have `otherwise`. */
static void read_numbers(pl_costs_json *r, size_t unit, const pl_json_value *object,
                         const char *key, uint64_t **numbers, uint64_t otherwise) {
    const popliner_costs *costs = r->file->costs;
    const pl_json_value value = pl_json_in(object, key);
    if (value.json == NULL)
        return;
    if (numbers != &r->file->parameters && numbers != &costs->workspace &&
        json_object_get(r->root.json, "regions") != NULL)
        pl_json_refuse(&r->json, &value,
                       "is known for a device without regions; remove \"regions\"");
    if (*numbers == NULL) {
        *numbers = pl_arrays_new(&r->file->costs->arrays, r->num_units, sizeof **numbers);
        for (size_t i = 0; *numbers != NULL && i < r->num_units; ++i)
            (*numbers)[i] = otherwise;
    }
    if (pl_costs_json_has(r, *numbers != NULL))
        (*numbers)[unit] = pl_json_whole(&r->json, &value, 0, PL_MAX_BYTES);
}

/* Adds the part of the memory that data-parallel replicas divide. */
static void add_sharded(pl_costs_json *r, const pl_json_value *object) {
    const uint64_t ranks = r->pipeline.num_replicas > 0 ? r->pipeline.num_replicas : 1;
    uint64_t *bytes = r->region_bytes;
    memset(bytes, 0, r->num_regions * sizeof *bytes);
    additive_bytes(r, object, "sharded", bytes);
    for (size_t i = 0; i < r->num_regions; ++i) {
        bytes[i] = bytes[i] / ranks + (bytes[i] % ranks > 0);
        r->memory[i] += bytes[i];
    }
    r->sharded_bytes = bytes[0];
    if (json_object_get(object->json, "sharded") != NULL)
        r->file->info.has_sharded = true;
}

/* Reads the part of the workspace that the unit recomputes: it stays until the pass of the weights,
 * if there is one. */
static void read_recomputed(pl_costs_json *r, size_t unit, const pl_json_value *object) {
    const pl_json_value value = pl_json_in(object, "recomputed");
    uint64_t *workspace = r->file->costs->workspace;
    uint64_t *bytes = r->region_bytes;
    memset(bytes, 0, r->num_regions * sizeof *bytes);
    additive_bytes(r, object, "recomputed", bytes);
    if (bytes[0] > (workspace == NULL ? 0 : workspace[unit]))
        pl_json_refuse(&r->json, &value, "is more than \"workspace\", of which it is a part");
    if (!pl_pipeline_holds_recomputed(&r->pipeline) || !pl_costs_json_is_well(r))
        return;
    if (value.json != NULL && r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        pl_json_refuse(&r->json, &value,
                       "stays until a pass of the weights, and stages that choose how they "
                       "recompute do not count that; choose none or full");
    for (size_t i = 0; i < r->num_regions; ++i) {
        if (r->recomputes_units)
            r->inputs[i] = r->stash[i];
        r->stash[i] += bytes[i];
        if (r->num_working_sets == 0) /* else the memory has stashes, which also have it */
            r->memory[i] += bytes[i];
    }
    if (workspace != NULL)
        workspace[unit] -= bytes[0];
}

/* Reads what a unit is; returns whether it is a layer. */
static bool read_kind(pl_costs_json *r, size_t unit, const pl_json_value *value) {
    static const char *const kinds[PL_NUM_UNIT_KINDS] = {[PL_UNIT_KIND_OTHER] = "other",
                                                         [PL_UNIT_KIND_LAYER] = "layer",
                                                         [PL_UNIT_KIND_EMBEDDING] = "embedding",
                                                         [PL_UNIT_KIND_MTP] = "mtp",
                                                         [PL_UNIT_KIND_LOSS] = "loss"};
    popliner_costs *costs = r->file->costs;
    const pl_json_value layer = pl_json_in(value, "layer");
    const pl_json_value kind = pl_json_in(value, "kind");
    if (layer.json != NULL && !json_is_boolean(layer.json))
        pl_json_refuse(&r->json, &layer, "expected true or false");
    if (kind.json == NULL)
        return !json_is_false(layer.json);
    if (layer.json != NULL)
        pl_json_refuse(&r->json, &kind, "says whether it is a layer; remove \"layer\"");
    const char *name = pl_json_text(&r->json, &kind);
    if (costs->unit_kinds == NULL) {
        costs->unit_kinds = pl_arrays_new(&costs->arrays, r->num_units, 1);
        if (!pl_costs_json_has(r, costs->unit_kinds != NULL))
            return false;
        memset(costs->unit_kinds, PL_UNIT_KIND_LAYER, r->num_units);
    }
    uint8_t i = 0;
    while (i < PL_NUM_UNIT_KINDS && strcmp(name, kinds[i]) != 0)
        ++i;
    if (i == PL_NUM_UNIT_KINDS)
        pl_json_refuse(&r->json, &kind,
                       "expected layer, embedding, mtp, loss or other, found \"%.100s\"", name);
    costs->unit_kinds[unit] = i;
    return i == PL_UNIT_KIND_LAYER;
}

/* Checks what sizes may be at least and at most, which are read as further costs. */
static void check_estimates(pl_costs_json *r, const pl_json_value *owner) {
    const char *const *keys = pl_costs_json_keys[PL_COSTS_KEYS_ESTIMATE].keys;
    for (popliner_need need = POPLINER_NEED_LEAST; need <= POPLINER_NEED_MOST; need++) {
        const pl_json_value own = pl_json_in(owner, pl_estimate_keys[need]);
        if (own.json != NULL)
            pl_costs_json_check_keys(r, PL_COSTS_KEYS_ESTIMATE, &own);
        for (size_t i = 0; json_is_object(own.json) && keys[i] != NULL; ++i) {
            const pl_json_value value = pl_json_in(&own, keys[i]);
            if (value.json != NULL)
                pl_costs_json_bytes(r, &value, r->region_bytes);
        }
    }
}

static void read_unit(pl_costs_json *r, size_t unit, const pl_json_value *value) {
    const pl_json_value name = pl_json_in(value, "name");
    popliner_costs *costs = r->file->costs;
    const pl_additive_costs *a = &r->file->additive;
    const size_t width = r->num_regions;
    r->memory = a->memory_before + (unit + 1) * width;
    r->stash = a->stash_before + (unit + 1) * width;
    r->inputs = a->inputs + unit * width;
    check_estimates(r, value);
    pl_costs_json_check_keys(r, PL_COSTS_KEYS_UNIT, value);
    read_name(r, &name, &r->units);
    r->file->counted_units[unit] = read_kind(r, unit, value);
    additive_bytes(r, value, "memory", r->memory);
    add_sharded(r, value);
    additive_bytes(r, value, "stash", r->stash);
    additive_bytes(r, value, "inputs", r->inputs);
    read_numbers(r, unit, value, "parameters", &r->file->parameters, 0);
    read_numbers(r, unit, value, "kv", &costs->kv_bytes, 0);
    read_numbers(r, unit, value, "kv_tokens", &costs->kv_tokens, UINT64_MAX);
    read_numbers(r, unit, value, "cache", &costs->cache_bytes, 0);
    read_numbers(r, unit, value, "workspace", &costs->workspace, 0);
    read_recomputed(r, unit, value);
    read_times(r, unit, value);
    read_unit_variants(r, unit, value);
    if (!pl_costs_json_is_well(r))
        return;
    for (size_t i = 0; i < width; ++i)
        r->memory[i] += r->num_working_sets * r->stash[i];
    r->file->names[unit] = pl_arrays_text(&r->file->arrays, r->units.items[unit]);
    pl_interval_sums_add(&r->sums, &unit, 1, r->memory);
    pl_costs_json_has(r, r->file->names[unit] != NULL && !r->sums.arrays.failed);
    for (size_t i = 0; i < width; ++i) {
        r->memory[i] += a->memory_before[unit * width + i];
        r->stash[i] += a->stash_before[unit * width + i];
        if (a->inputs_before != NULL)
            a->inputs_before[(unit + 1) * width + i] =
                a->inputs_before[unit * width + i] + r->inputs[i];
    }
}

void pl_costs_json_read_units(pl_costs_json *r) {
    const pl_json_value units = pl_json_in(&r->root, "units");
    bool all_layers = true;
    if (r->num_samples > PL_MAX_SAMPLES)
        pl_json_refuse(&r->json, &units, "expected at most %d samples of times, found %zu",
                       (int)PL_MAX_SAMPLES, r->num_samples);
    if (r->num_samples > 1 && r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        pl_json_refuse(&r->json, &units,
                       "stages choose how they recompute for one time of each unit, but there are "
                       "%zu samples",
                       r->num_samples);
    if (pl_costs_json_is_well(r))
        pl_costs_json_has(r, make_room(r));
    for (size_t i = 0; pl_costs_json_is_well(r) && i < r->num_units; ++i) {
        const pl_json_value unit = pl_json_at(&units, i);
        read_unit(r, i, &unit);
        all_layers = all_layers && r->file->counted_units[i] == 1;
    }
    if (all_layers)
        r->file->counted_units = NULL;
}

void pl_costs_json_add_workspaces(pl_costs_json *r) {
    pl_additive_costs *a = &r->file->additive;
    const size_t n = r->num_units;
    if (!pl_costs_json_is_well(r) || r->file->costs->workspace == NULL)
        return;
    size_t *open = pl_arrays_new(&r->arrays, n, sizeof *open);
    size_t i = a->num_arrivals;
    if (!pl_costs_json_has(r, open != NULL && pl_arrays_grow(&r->file->arrays, &a->arrivals,
                                                             i + 2 * n, sizeof *a->arrivals)))
        return;
    a->workspace = r->file->costs->workspace;
    a->num_arrivals += pl_arrivals_of_largest(a->workspace, n, a->arrivals + i, open);
    for (; i < a->num_arrivals; ++i)
        pl_interval_sums_add_arrival(&r->sums, &a->arrivals[i]);
    pl_costs_json_has(r, !r->sums.arrays.failed);
}

/* Shared memory arrives with each of its units in a stage that begins after the previous one. */
static void add_shared(pl_costs_json *r, const pl_shared_memory *shared) {
    pl_additive_costs *a = &r->file->additive;
    const size_t count = a->num_arrivals + shared->num_units;
    pl_interval_sums_add(&r->sums, shared->units, shared->num_units, shared->bytes);
    if (!pl_costs_json_has(r,
                           !r->sums.arrays.failed && pl_arrays_grow(&r->file->arrays, &a->arrivals,
                                                                    count, sizeof *a->arrivals)))
        return;
    for (size_t k = 0; a->num_arrivals < count; ++k)
        a->arrivals[a->num_arrivals++] = (pl_arrival){
            shared->units[k], k == 0 ? SIZE_MAX : shared->units[k - 1], shared->bytes[0]};
}

static void read_shared_units(pl_costs_json *r, const pl_json_value *names,
                              pl_shared_memory *shared) {
    pl_json_array(&r->json, names);
    if (json_array_size(names->json) == 0)
        pl_json_refuse(&r->json, names, "the list is empty");
    shared->num_units = json_array_size(names->json);
    shared->units = pl_arrays_new(&r->file->arrays, shared->num_units, sizeof *shared->units);
    if (!pl_costs_json_has(r, shared->units != NULL))
        return;
    for (size_t k = 0; k < shared->num_units; ++k) {
        const pl_json_value name = pl_json_at(names, k);
        shared->units[k] = pl_costs_json_find_unit(r, &name);
    }
    qsort(shared->units, shared->num_units, sizeof *shared->units, pl_compare_counts);
    for (size_t k = 1; k < shared->num_units; ++k)
        if (shared->units[k] == shared->units[k - 1])
            pl_json_refuse(&r->json, names, "\"%.100s\" appears twice",
                           r->units.items[shared->units[k]]);
}

void pl_costs_json_read_shared(pl_costs_json *r) {
    const pl_json_value list = pl_json_in(&r->root, "shared");
    const size_t count = json_array_size(list.json);
    pl_additive_costs *additive = &r->file->additive;
    pl_arrays *arrays = &r->file->arrays;
    if (list.json == NULL)
        return;
    pl_json_array(&r->json, &list);
    additive->shared = pl_arrays_new(arrays, count, sizeof *additive->shared);
    pl_costs_json_has(r, additive->shared != NULL);
    for (size_t i = 0; pl_costs_json_is_well(r) && i < count; ++i) {
        const pl_json_value value = pl_json_at(&list, i);
        const pl_json_value names = pl_json_in(&value, "units");
        pl_shared_memory *shared = &additive->shared[additive->num_shared++];
        shared->bytes = pl_arrays_new(arrays, r->num_regions, sizeof *shared->bytes);
        if (!pl_costs_json_has(r, shared->bytes != NULL))
            return;
        pl_costs_json_check_keys(r, PL_COSTS_KEYS_SHARED, &value);
        check_estimates(r, &value);
        read_shared_units(r, &names, shared);
        additive_bytes(r, &value, "memory", shared->bytes);
        if (pl_costs_json_is_well(r))
            add_shared(r, shared);
    }
}
