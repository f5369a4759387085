/* Regions, units, and the memory that units share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

/* Adds a name to those of its kind, in which it must be new. */
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
                            : pl_json_refuse(&r->json, place, "\"%.100s\" is there twice", name);
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
    uint64_t *capacities = pl_new_array(r->num_regions, sizeof *capacities);
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

/* Room for what the units say. */
static popliner_status make_room(pl_costs_json *r) {
    pl_additive_costs *additive = &r->file->additive;
    if (r->num_regions > SIZE_MAX / sizeof(uint64_t) / (r->num_units + 1))
        return pl_costs_json_fail_memory(r);
    size_t count = r->num_units * r->num_regions;
    r->sum_bytes = pl_new_array(r->num_regions, sizeof *r->sum_bytes);
    r->memory = pl_new_array(count, sizeof *r->memory);
    r->stash = pl_new_array(count, sizeof *r->stash);
    r->cycles = pl_new_array(r->num_units, sizeof *r->cycles);
    r->cut_cycles = pl_new_array(r->num_units + 1, sizeof *r->cut_cycles);
    r->interval_bytes = pl_new_array(3 * r->num_regions, sizeof *r->interval_bytes);
    r->recompute_cycles = pl_new_array(r->num_units, sizeof *r->recompute_cycles);
    additive->inputs = pl_new_array(count, sizeof *additive->inputs);
    additive->memory_before = pl_new_array(count + r->num_regions, sizeof *additive->memory_before);
    additive->stash_before = pl_new_array(count + r->num_regions, sizeof *additive->stash_before);
    r->file->counted_units = pl_new_array(r->num_units, 1);
    r->file->names = pl_new_array(r->num_units, sizeof *r->file->names);
    bool has_room = r->sum_bytes != NULL && r->memory != NULL && r->stash != NULL &&
                    r->cycles != NULL && r->cut_cycles != NULL && r->recompute_cycles != NULL &&
                    r->interval_bytes != NULL && additive->inputs != NULL &&
                    additive->memory_before != NULL && additive->stash_before != NULL &&
                    r->file->counted_units != NULL && r->file->names != NULL &&
                    pl_interval_sums_init(&r->sums, r->num_units, r->num_regions);
    return has_room ? POPLINER_OK : pl_costs_json_fail_memory(r);
}

/* The first unit that has some makes room for those of all. */
static popliner_status read_parameters(pl_costs_json *r, size_t unit, const json_t *value) {
    pl_json_place place = pl_place("units[%zu].parameters", unit);
    popliner_costs_file *file = r->file;
    if (value == NULL)
        return POPLINER_OK;
    if (file->parameters == NULL)
        file->parameters = pl_new_array(r->num_units, sizeof *file->parameters);
    return file->parameters == NULL
               ? pl_costs_json_fail_memory(r)
               : pl_json_whole(&r->json, &place, value, 0, PL_MAX_BYTES, &file->parameters[unit]);
}

static popliner_status read_unit(pl_costs_json *r, size_t unit, const json_t *value,
                                 bool is_listed) {
    static const char *const own_costs[] = {"memory", "cycles",   "stash",
                                            "inputs", "variants", "recompute_cycles"};
    pl_json_place place = pl_place("units[%zu]", unit);
    pl_json_place name_place = pl_place("units[%zu].name", unit);
    pl_json_place layer_place = pl_place("units[%zu].layer", unit);
    pl_json_place cycles_place = pl_place("units[%zu].cycles", unit);
    const json_t *cycles = json_object_get(value, "cycles");
    const json_t *layer = json_object_get(value, "layer");
    size_t row = unit * r->num_regions;
    bool is_layer = true;
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_UNIT, &place, value);
    if (status == POPLINER_OK)
        status = read_name(r, &name_place, json_object_get(value, "name"), &r->units);
    if (status == POPLINER_OK && layer != NULL) {
        status = json_is_boolean(layer)
                     ? pl_json_flag(&r->json, &layer_place, layer, &is_layer)
                     : pl_json_refuse(&r->json, &layer_place, "expected true or false");
    }
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; is_listed && i < sizeof own_costs / sizeof *own_costs; ++i)
        if (json_object_get(value, own_costs[i]) != NULL)
            return pl_json_refuse(&r->json, &place,
                                  "\"%s\" of a unit and \"intervals\" exclude each other: the "
                                  "costs are those of the intervals",
                                  own_costs[i]);
    status = pl_costs_json_additive_bytes(r, &place, value, "memory", r->memory + row);
    if (status == POPLINER_OK)
        status = pl_costs_json_additive_bytes(r, &place, value, "stash", r->stash + row);
    if (status == POPLINER_OK)
        status = pl_costs_json_additive_bytes(r, &place, value, "inputs",
                                              r->file->additive.inputs + row);
    if (status == POPLINER_OK)
        status = read_parameters(r, unit, json_object_get(value, "parameters"));
    if (status == POPLINER_OK && cycles != NULL)
        status = pl_costs_json_cycles(r, &cycles_place, cycles, &r->cycles[unit]);
    if (status == POPLINER_OK)
        status = pl_costs_json_add_up_cycles(r, &cycles_place, r->cycles[unit]);
    if (status != POPLINER_OK)
        return status;
    status = is_listed ? POPLINER_OK : pl_costs_json_read_unit_variants(r, unit, value);
    if (status != POPLINER_OK)
        return status;
    const char *name = r->units.items[unit];
    r->file->names[unit] = pl_copy_string(name, strlen(name));
    r->file->num_names = unit + 1;
    r->file->counted_units[unit] = is_layer;
    if (r->file->names[unit] == NULL || !pl_interval_sums_add(&r->sums, &unit, 1, r->memory + row))
        return pl_costs_json_fail_memory(r);
    return POPLINER_OK;
}

popliner_status pl_costs_json_read_units(pl_costs_json *r, bool is_listed) {
    const json_t *units = json_object_get(r->root, "units");
    bool all_layers = true;
    popliner_status status = make_room(r);
    if (status != POPLINER_OK)
        return status;
    for (size_t unit = 0; unit < r->num_units; ++unit) {
        status = read_unit(r, unit, json_array_get(units, unit), is_listed);
        if (status != POPLINER_OK)
            return status;
        all_layers = all_layers && r->file->counted_units[unit] == 1;
    }
    if (all_layers) {
        free(r->file->counted_units);
        r->file->counted_units = NULL;
    }
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
    shared->units = pl_new_array(shared->num_units, sizeof *shared->units);
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
            return pl_json_refuse(&r->json, &place, "\"%.100s\" is there twice",
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
    additive->shared = pl_new_array(json_array_size(list), sizeof *additive->shared);
    if (additive->shared == NULL)
        return pl_costs_json_fail_memory(r);
    for (size_t i = 0; i < json_array_size(list); ++i) {
        pl_shared_memory *shared = &additive->shared[additive->num_shared++];
        const json_t *value = json_array_get(list, i);
        pl_json_place place = pl_place("shared[%zu]", i);
        shared->bytes = pl_new_array(r->num_regions, sizeof *shared->bytes);
        if (shared->bytes == NULL)
            return pl_costs_json_fail_memory(r);
        status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_SHARED, &place, value);
        if (status == POPLINER_OK)
            status = read_shared_units(r, i, json_object_get(value, "units"), shared);
        if (status == POPLINER_OK)
            status = pl_costs_json_additive_bytes(r, &place, value, "memory", shared->bytes);
        if (status != POPLINER_OK)
            return status;
        if (!pl_interval_sums_add(&r->sums, shared->units, shared->num_units, shared->bytes))
            return pl_costs_json_fail_memory(r);
    }
    return POPLINER_OK;
}
