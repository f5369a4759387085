/* popliner's own format of costs: docs/costs.md says what it means.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_file_data.h"
#include "costs/interval_sums.h"
#include "costs/json_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "base/names.h"
#include "costs/costs.h"
#include "costs/pipeline.h"

enum { MOST_DEVICES = 65536 };

enum { KEYS_FILE, KEYS_REGION, KEYS_UNIT, KEYS_SHARED, KEYS_INTERVAL, KEYS_DEVICES };
const pl_known_keys pl_costs_json_keys[] = {
    [KEYS_FILE] = {"file",
                   3,
                   {"format", "version", "units", "$schema", "description", "time_unit", "regions",
                    "shared", "cuts", "cut_cycles", "intervals", "devices"}},
    [KEYS_REGION] = {"region", 1, {"name", "capacity"}},
    [KEYS_UNIT] = {"unit", 1, {"name", "layer", "memory", "cycles", "stash", "inputs"}},
    [KEYS_SHARED] = {"shared", 2, {"units", "memory"}},
    [KEYS_INTERVAL] = {"interval", 3, {"first", "last", "memory", "cycles", "stash", "inputs"}},
    [KEYS_DEVICES] = {"devices", 0, {"count", "memory", "memories"}},
};
const size_t pl_num_costs_json_keys = sizeof pl_costs_json_keys / sizeof *pl_costs_json_keys;

typedef struct reader {
    pl_json json;
    const json_t *root;
    popliner_costs_file *file;
    popliner_pipeline pipeline;
    size_t num_units;
    size_t num_regions;
    pl_names units;
    pl_names regions;
    bool has_cycles;
    bool has_kept; /* something that the pipeline's stages keep copies of */
    uint64_t scale;
    uint64_t sum_cycles;
    uint64_t *sum_bytes;      /* [num_regions], of all that can add up */
    uint64_t *memory;         /* [num_units * num_regions] */
    uint64_t *stash;          /* the same */
    uint64_t *cycles;         /* [num_units] */
    uint64_t *cut_cycles;     /* [num_units + 1], by the unit behind the cut */
    pl_interval_sums sums;    /* bytes by region */
    pl_id_map listed;         /* intervals, by first_unit * num_units + last_unit */
    uint64_t *interval_bytes; /* [3 * num_regions]: memory, stash, inputs */
} reader;

static popliner_status fail_memory(const reader *r) {
    return pl_fail_memory(r->json.error, "the costs of the file");
}

/* ---- Values --------------------------------------------------------------------------------- */

static popliner_status check_keys(const reader *r, const pl_known_keys *known,
                                  const pl_json_place *place, const json_t *value) {
    const char *key = NULL;
    json_t *member = NULL;
    popliner_status status = pl_json_object(&r->json, place, value);
    if (status != POPLINER_OK)
        return status;
    /* iterating does not change the object, but jansson's iterators are not const */
    json_object_foreach((json_t *)value, key, member) {
        size_t i = 0;
        while (known->keys[i] != NULL && strcmp(known->keys[i], key) != 0)
            ++i;
        if (known->keys[i] != NULL)
            continue;
        pl_text names = {0};
        for (i = 0; known->keys[i] != NULL; ++i)
            pl_text_format(&names, "%s%s", i == 0 ? "" : ", ", known->keys[i]);
        status = names.failed
                     ? fail_memory(r)
                     : pl_json_refuse(&r->json, place, "unknown key \"%.100s\"; known are %s", key,
                                      names.data);
        free(names.data);
        return status;
    }
    for (size_t i = 0; i < known->num_required; ++i)
        if (json_object_get(value, known->keys[i]) == NULL)
            return pl_json_refuse(&r->json, place, "\"%s\" is missing", known->keys[i]);
    return POPLINER_OK;
}

/* Bytes by region: a list with one number for each, or one number that holds for all. */
static popliner_status read_bytes(const reader *r, const pl_json_place *place, const json_t *value,
                                  uint64_t *bytes) {
    if (!json_is_array(value)) {
        popliner_status status =
            json_is_number(value)
                ? pl_json_whole(&r->json, place, value, 0, PL_MOST_BYTES, &bytes[0])
                : pl_json_refuse(&r->json, place,
                                 "expected a number of bytes, or a list of one for each region");
        for (size_t i = 1; status == POPLINER_OK && i < r->num_regions; ++i)
            bytes[i] = bytes[0];
        return status;
    }
    if (json_array_size(value) != r->num_regions)
        return pl_json_refuse(&r->json, place,
                              "the list has %zu numbers, but there are %zu regions",
                              json_array_size(value), r->num_regions);
    for (size_t i = 0; i < r->num_regions; ++i) {
        pl_json_place item = pl_place("%s[%zu]", place->text, i);
        popliner_status status =
            pl_json_whole(&r->json, &item, json_array_get(value, i), 0, PL_MOST_BYTES, &bytes[i]);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

/* Bytes of an object's key if it has it, which can add up with others to the same stage. */
static popliner_status read_additive_bytes(reader *r, const pl_json_place *owner,
                                           const json_t *object, const char *key, uint64_t *bytes) {
    const json_t *value = json_object_get(object, key);
    pl_json_place place = pl_place("%s.%s", owner->text, key);
    if (value == NULL)
        return POPLINER_OK;
    popliner_status status = read_bytes(r, &place, value, bytes);
    for (size_t i = 0; status == POPLINER_OK && i < r->num_regions; ++i) {
        r->sum_bytes[i] += bytes[i];
        if (r->sum_bytes[i] > PL_MOST_BYTES)
            return pl_json_refuse(&r->json, &place,
                                  "with this, the bytes of %s add up to more than %" PRIu64,
                                  r->regions.items[i], PL_MOST_BYTES);
    }
    return status;
}

static popliner_status read_cycles(const reader *r, const pl_json_place *place, const json_t *value,
                                   uint64_t *cycles) {
    return pl_json_scaled(&r->json, place, value, r->scale, POPLINER_MAX_CYCLES, cycles);
}

static popliner_status add_up_cycles(reader *r, const pl_json_place *place, uint64_t cycles) {
    r->sum_cycles += cycles;
    if (r->sum_cycles <= POPLINER_MAX_CYCLES)
        return POPLINER_OK;
    return pl_json_refuse(&r->json, place,
                          "with this, the cycles add up to more than %.17g; use a larger unit of "
                          "time",
                          (double)POPLINER_MAX_CYCLES / (double)r->scale);
}

static popliner_status find_unit(reader *r, const pl_json_place *place, const json_t *value,
                                 size_t *unit) {
    const char *name = NULL;
    popliner_status status = pl_json_text(&r->json, place, value, &name);
    if (status != POPLINER_OK)
        return status;
    *unit = pl_names_number(&r->units, name);
    if (*unit == SIZE_MAX)
        return fail_memory(r);
    return *unit < r->num_units
               ? POPLINER_OK
               : pl_json_refuse(&r->json, place, "no unit is called \"%.100s\"", name);
}

/* ---- The parts of the file ------------------------------------------------------------------ */

static bool is_fraction(const json_t *value) {
    return json_is_real(value) && json_real_value(value) != floor(json_real_value(value));
}

/* Whether one of the objects has cycles, and whether they are all whole. */
static void look_for_cycles(reader *r, const json_t *objects) {
    for (size_t i = 0; i < json_array_size(objects); ++i) {
        const json_t *cycles = json_object_get(json_array_get(objects, i), "cycles");
        r->has_cycles = r->has_cycles || cycles != NULL;
        if (is_fraction(cycles))
            r->scale = PL_TIME_SCALE;
    }
}

static popliner_status read_head(reader *r) {
    const json_t *units = json_object_get(r->root, "units");
    const json_t *cut_cycles = json_object_get(r->root, "cut_cycles");
    const json_t *time_unit = json_object_get(r->root, "time_unit");
    pl_json_place root_place = pl_place("");
    pl_json_place format_place = pl_place("format");
    pl_json_place version_place = pl_place("version");
    pl_json_place units_place = pl_place("units");
    const char *text = NULL;
    uint64_t version = 0;
    popliner_status status =
        pl_json_text(&r->json, &format_place, json_object_get(r->root, "format"), &text);
    if (status == POPLINER_OK && strcmp(text, "popliner-costs") != 0)
        status = pl_json_refuse(&r->json, &format_place,
                                "expected \"popliner-costs\", found \"%.100s\"", text);
    /* before the keys: those of another version may be others */
    if (status == POPLINER_OK && json_object_get(r->root, "version") != NULL)
        status = pl_json_whole(&r->json, &version_place, json_object_get(r->root, "version"), 1, 1,
                               &version);
    if (status == POPLINER_OK)
        status = check_keys(r, &pl_costs_json_keys[KEYS_FILE], &root_place, r->root);
    if (status == POPLINER_OK)
        status = pl_json_array(&r->json, &units_place, units);
    r->num_units = json_array_size(units);
    if (status == POPLINER_OK && (r->num_units == 0 || r->num_units > PL_MOST_UNITS))
        status = pl_json_refuse(&r->json, &units_place, "expected from 1 to %d units, found %zu",
                                PL_MOST_UNITS, r->num_units);
    text = "cycles";
    if (status == POPLINER_OK && time_unit != NULL) {
        pl_json_place place = pl_place("time_unit");
        status = pl_json_text(&r->json, &place, time_unit, &text);
    }
    if (status != POPLINER_OK)
        return status;
    r->file->time_unit = pl_copy_string(text, strlen(text));

    r->scale = 1;
    r->has_cycles = cut_cycles != NULL;
    for (size_t i = 0; i < json_array_size(cut_cycles); ++i)
        if (is_fraction(json_array_get(cut_cycles, i)))
            r->scale = PL_TIME_SCALE;
    look_for_cycles(r, units);
    look_for_cycles(r, json_object_get(r->root, "intervals"));
    r->file->cycles_per_time_unit = r->scale;
    return r->file->time_unit != NULL ? POPLINER_OK : fail_memory(r);
}

/* Adds a name to those of its kind, in which it must be new. */
static popliner_status read_name(const reader *r, const pl_json_place *place, const json_t *value,
                                 pl_names *names) {
    const char *name = NULL;
    size_t before = names->count;
    popliner_status status = pl_json_text(&r->json, place, value, &name);
    if (status != POPLINER_OK)
        return status;
    size_t number = pl_names_number(names, name);
    if (number == SIZE_MAX)
        return fail_memory(r);
    return number == before ? POPLINER_OK
                            : pl_json_refuse(&r->json, place, "\"%.100s\" is there twice", name);
}

static popliner_status read_regions(reader *r) {
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
        return fail_memory(r);
    if (regions == NULL) {
        capacities[0] = UINT64_MAX;
        return pl_names_number(&r->regions, only_region) == 0 ? POPLINER_OK : fail_memory(r);
    }
    for (size_t i = 0; status == POPLINER_OK && i < r->num_regions; ++i) {
        const json_t *region = json_array_get(regions, i);
        const json_t *capacity = json_object_get(region, "capacity");
        pl_json_place place = pl_place("regions[%zu]", i);
        pl_json_place name_place = pl_place("regions[%zu].name", i);
        pl_json_place capacity_place = pl_place("regions[%zu].capacity", i);
        capacities[i] = UINT64_MAX;
        if (json_is_string(region)) {
            status = read_name(r, &place, region, &r->regions);
            continue;
        }
        if (!json_is_object(region))
            return pl_json_refuse(&r->json, &place,
                                  "expected a name, or an object with name and capacity");
        status = check_keys(r, &pl_costs_json_keys[KEYS_REGION], &place, region);
        if (status == POPLINER_OK)
            status = read_name(r, &name_place, json_object_get(region, "name"), &r->regions);
        if (status == POPLINER_OK && capacity != NULL)
            status = pl_json_whole(&r->json, &capacity_place, capacity, 0, PL_MOST_BYTES,
                                   &capacities[i]);
    }
    return status;
}

/* Room for what the units say. */
static popliner_status make_room(reader *r) {
    pl_additive_costs *additive = &r->file->additive;
    if (r->num_regions > SIZE_MAX / sizeof(uint64_t) / (r->num_units + 1))
        return fail_memory(r);
    size_t count = r->num_units * r->num_regions;
    r->sum_bytes = pl_new_array(r->num_regions, sizeof *r->sum_bytes);
    r->memory = pl_new_array(count, sizeof *r->memory);
    r->stash = pl_new_array(count, sizeof *r->stash);
    r->cycles = pl_new_array(r->num_units, sizeof *r->cycles);
    r->cut_cycles = pl_new_array(r->num_units + 1, sizeof *r->cut_cycles);
    r->interval_bytes = pl_new_array(3 * r->num_regions, sizeof *r->interval_bytes);
    additive->inputs = pl_new_array(count, sizeof *additive->inputs);
    additive->memory_before = pl_new_array(count + r->num_regions, sizeof *additive->memory_before);
    additive->stash_before = pl_new_array(count + r->num_regions, sizeof *additive->stash_before);
    r->file->counted_units = pl_new_array(r->num_units, 1);
    r->file->names = pl_new_array(r->num_units, sizeof *r->file->names);
    bool has_room = r->sum_bytes != NULL && r->memory != NULL && r->stash != NULL &&
                    r->cycles != NULL && r->cut_cycles != NULL && r->interval_bytes != NULL &&
                    additive->inputs != NULL && additive->memory_before != NULL &&
                    additive->stash_before != NULL && r->file->counted_units != NULL &&
                    r->file->names != NULL &&
                    pl_interval_sums_init(&r->sums, r->num_units, r->num_regions);
    return has_room ? POPLINER_OK : fail_memory(r);
}

static popliner_status read_unit(reader *r, size_t unit, const json_t *value, bool is_listed) {
    static const char *const own_costs[] = {"memory", "cycles", "stash", "inputs"};
    pl_json_place place = pl_place("units[%zu]", unit);
    pl_json_place name_place = pl_place("units[%zu].name", unit);
    pl_json_place layer_place = pl_place("units[%zu].layer", unit);
    pl_json_place cycles_place = pl_place("units[%zu].cycles", unit);
    const json_t *cycles = json_object_get(value, "cycles");
    const json_t *layer = json_object_get(value, "layer");
    size_t row = unit * r->num_regions;
    bool is_layer = true;
    popliner_status status = check_keys(r, &pl_costs_json_keys[KEYS_UNIT], &place, value);
    if (status == POPLINER_OK)
        status = read_name(r, &name_place, json_object_get(value, "name"), &r->units);
    if (status == POPLINER_OK && layer != NULL) {
        status = json_is_boolean(layer)
                     ? pl_json_flag(&r->json, &layer_place, layer, &is_layer)
                     : pl_json_refuse(&r->json, &layer_place, "expected true or false");
    }
    for (size_t i = 0; status == POPLINER_OK && is_listed && i < 4; ++i)
        if (json_object_get(value, own_costs[i]) != NULL)
            return pl_json_refuse(&r->json, &place,
                                  "\"%s\" of a unit and \"intervals\" exclude each other: the "
                                  "costs are those of the intervals",
                                  own_costs[i]);
    if (status == POPLINER_OK)
        status = read_additive_bytes(r, &place, value, "memory", r->memory + row);
    if (status == POPLINER_OK)
        status = read_additive_bytes(r, &place, value, "stash", r->stash + row);
    if (status == POPLINER_OK)
        status = read_additive_bytes(r, &place, value, "inputs", r->file->additive.inputs + row);
    if (status == POPLINER_OK && cycles != NULL)
        status = read_cycles(r, &cycles_place, cycles, &r->cycles[unit]);
    if (status == POPLINER_OK)
        status = add_up_cycles(r, &cycles_place, r->cycles[unit]);
    if (status != POPLINER_OK)
        return status;
    const char *name = r->units.items[unit];
    r->file->names[unit] = pl_copy_string(name, strlen(name));
    r->file->num_names = unit + 1;
    r->file->counted_units[unit] = is_layer;
    if (r->file->names[unit] == NULL || !pl_interval_sums_add(&r->sums, &unit, 1, r->memory + row))
        return fail_memory(r);
    return POPLINER_OK;
}

static popliner_status read_units(reader *r, bool is_listed) {
    const json_t *units = json_object_get(r->root, "units");
    bool all_layers = true;
    popliner_status status = make_room(r);
    for (size_t unit = 0; status == POPLINER_OK && unit < r->num_units; ++unit) {
        status = read_unit(r, unit, json_array_get(units, unit), is_listed);
        all_layers = all_layers && r->file->counted_units[unit] == 1;
    }
    if (status == POPLINER_OK && all_layers) {
        free(r->file->counted_units);
        r->file->counted_units = NULL;
    }
    return status;
}

static int compare_units(const void *left, const void *right) {
    const size_t *a = left;
    const size_t *b = right;
    return (*a > *b) - (*a < *b);
}

static popliner_status read_shared_units(reader *r, size_t i, const json_t *names,
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
        return fail_memory(r);
    for (size_t k = 0; status == POPLINER_OK && k < shared->num_units; ++k) {
        pl_json_place name_place = pl_place("%s[%zu]", place.text, k);
        status = find_unit(r, &name_place, json_array_get(names, k), &shared->units[k]);
    }
    if (status != POPLINER_OK)
        return status;
    qsort(shared->units, shared->num_units, sizeof *shared->units, compare_units);
    for (size_t k = 1; k < shared->num_units; ++k)
        if (shared->units[k] == shared->units[k - 1])
            return pl_json_refuse(&r->json, &place, "\"%.100s\" is there twice",
                                  r->units.items[shared->units[k]]);
    return POPLINER_OK;
}

static popliner_status read_shared(reader *r) {
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
        return fail_memory(r);
    for (size_t i = 0; status == POPLINER_OK && i < json_array_size(list); ++i) {
        pl_shared_memory *shared = &additive->shared[additive->num_shared++];
        const json_t *value = json_array_get(list, i);
        pl_json_place place = pl_place("shared[%zu]", i);
        shared->bytes = pl_new_array(r->num_regions, sizeof *shared->bytes);
        if (shared->bytes == NULL)
            return fail_memory(r);
        status = check_keys(r, &pl_costs_json_keys[KEYS_SHARED], &place, value);
        if (status == POPLINER_OK)
            status = read_shared_units(r, i, json_object_get(value, "units"), shared);
        if (status == POPLINER_OK)
            status = read_additive_bytes(r, &place, value, "memory", shared->bytes);
        if (status == POPLINER_OK &&
            !pl_interval_sums_add(&r->sums, shared->units, shared->num_units, shared->bytes))
            status = fail_memory(r);
    }
    return status;
}

/* A list with one number for each cut; *list is NULL without it. */
static popliner_status find_cut_list(const reader *r, const char *key, const json_t **list) {
    pl_json_place place = pl_place("%s", key);
    *list = json_object_get(r->root, key);
    if (*list == NULL)
        return POPLINER_OK;
    popliner_status status = pl_json_array(&r->json, &place, *list);
    if (status == POPLINER_OK && json_array_size(*list) != r->num_units - 1)
        status = pl_json_refuse(&r->json, &place,
                                "the list has %zu numbers, but there are %zu cuts between %zu "
                                "units",
                                json_array_size(*list), r->num_units - 1, r->num_units);
    return status;
}

static popliner_status read_cuts(reader *r) {
    const json_t *cuts = NULL;
    const json_t *cut_cycles = NULL;
    popliner_status status = find_cut_list(r, "cuts", &cuts);
    if (status == POPLINER_OK)
        status = find_cut_list(r, "cut_cycles", &cut_cycles);
    for (size_t i = 0; status == POPLINER_OK && i < json_array_size(cuts); ++i) {
        pl_json_place place = pl_place("cuts[%zu]", i);
        uint64_t bytes = 0;
        status = pl_json_whole(&r->json, &place, json_array_get(cuts, i), 0, PL_MOST_BYTES, &bytes);
        popliner_costs_set_cut(r->file->costs, i + 1, bytes);
    }
    for (size_t i = 0; status == POPLINER_OK && i < json_array_size(cut_cycles); ++i) {
        pl_json_place place = pl_place("cut_cycles[%zu]", i);
        status = read_cycles(r, &place, json_array_get(cut_cycles, i), &r->cut_cycles[i + 1]);
        if (status == POPLINER_OK)
            status = add_up_cycles(r, &place, r->cut_cycles[i + 1]);
    }
    return status;
}

/* "0", "17", but not "017": so that no device can be there twice. False if it is none. */
static bool parse_device(const char *key, size_t *device) {
    *device = 0;
    if (key[0] == '\0' || (key[0] == '0' && key[1] != '\0'))
        return false;
    for (; *key != '\0'; ++key) {
        if (*key < '0' || *key > '9' || *device >= MOST_DEVICES)
            return false;
        *device = *device * 10 + (size_t)(*key - '0');
    }
    return *device < MOST_DEVICES;
}

static int compare_limits(const void *left, const void *right) {
    const popliner_ipu_limit *a = left;
    const popliner_ipu_limit *b = right;
    return (a->ipu > b->ipu) - (a->ipu < b->ipu);
}

static popliner_status read_limits(reader *r, const json_t *memories) {
    pl_json_place memories_place = pl_place("devices.memories");
    popliner_costs_file *file = r->file;
    const char *key = NULL;
    json_t *value = NULL;
    popliner_status status = pl_json_object(&r->json, &memories_place, memories);
    if (status != POPLINER_OK)
        return status;
    file->limits = pl_new_array(json_object_size(memories), sizeof *file->limits);
    if (file->limits == NULL)
        return fail_memory(r);
    json_object_foreach((json_t *)memories, key, value) {
        pl_json_place place = pl_place("devices.memories.%s", key);
        popliner_ipu_limit *limit = &file->limits[file->num_limits];
        if (!parse_device(key, &limit->ipu) || (file->num_ipus > 0 && limit->ipu >= file->num_ipus))
            return pl_json_refuse(&r->json, &memories_place,
                                  "\"%.100s\" is not the number of a device, from 0 to %zu", key,
                                  (file->num_ipus > 0 ? file->num_ipus : MOST_DEVICES) - 1);
        status = pl_json_whole(&r->json, &place, value, 1, PL_MOST_BYTES, &limit->bytes);
        if (status != POPLINER_OK)
            return status;
        ++file->num_limits;
    }
    qsort(file->limits, file->num_limits, sizeof *file->limits, compare_limits);
    return POPLINER_OK;
}

static popliner_status read_devices(reader *r) {
    const json_t *devices = json_object_get(r->root, "devices");
    const json_t *count = json_object_get(devices, "count");
    const json_t *memory = json_object_get(devices, "memory");
    const json_t *memories = json_object_get(devices, "memories");
    pl_json_place place = pl_place("devices");
    pl_json_place count_place = pl_place("devices.count");
    pl_json_place memory_place = pl_place("devices.memory");
    uint64_t num_ipus = 0;
    if (devices == NULL)
        return POPLINER_OK;
    popliner_status status = check_keys(r, &pl_costs_json_keys[KEYS_DEVICES], &place, devices);
    if (status == POPLINER_OK && count != NULL)
        status = pl_json_whole(&r->json, &count_place, count, 1, MOST_DEVICES, &num_ipus);
    r->file->num_ipus = (size_t)num_ipus;
    if (status == POPLINER_OK && memory != NULL)
        status = pl_json_whole(&r->json, &memory_place, memory, 1, PL_MOST_BYTES,
                               &r->file->bytes_per_tile);
    if (status == POPLINER_OK && memories != NULL)
        status = read_limits(r, memories);
    return status;
}

/* ---- The table ------------------------------------------------------------------------------ */

/* The peak of a stage that needs memory[] and so many copies of kept[]. */
static uint64_t peak_of(const pl_additive_costs *additive, const uint64_t *memory,
                        const uint64_t *kept, size_t copies) {
    uint64_t peak_bytes = 0;
    for (size_t i = 0; i < additive->num_regions; ++i) {
        uint64_t bytes = memory[i] + copies * kept[i];
        if (bytes > additive->capacity_bytes[i])
            return POPLINER_PEAK_FORBIDDEN;
        peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
    }
    return peak_bytes;
}

/* Gives the table the peaks of the pipeline if they differ from the plain ones. */
static popliner_status add_pipeline(reader *r) {
    size_t max_stages =
        r->pipeline.max_stages < r->num_units ? r->pipeline.max_stages : r->num_units;
    if (!r->has_kept || r->pipeline.schedule != POPLINER_SCHEDULE_TRAINING || max_stages < 2)
        return POPLINER_OK;
    return popliner_costs_add_pipeline(r->file->costs, max_stages, r->json.error);
}

/* Sets the peaks of an interval wherever it stands. */
static void set_peaks(const reader *r, size_t first, size_t last, const uint64_t *memory,
                      const uint64_t *kept) {
    popliner_costs *costs = r->file->costs;
    for (size_t stages = 1; stages <= pl_costs_max_stages_to_end(costs); ++stages)
        popliner_costs_set_peak_at(
            costs, stages, first, last,
            peak_of(&r->file->additive, memory, kept, pl_pipeline_copies(&r->pipeline, stages)));
}

/* What stages on one IPU need together: each unit's memory, what units share once, and the copies
 * that each of the stages keeps. */
static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const popliner_costs_file *file = user;
    const pl_additive_costs *a = &file->additive;
    size_t width = a->num_regions;
    uint64_t *bytes = pl_new_array(width, sizeof *bytes);
    if (bytes == NULL)
        return pl_fail_memory(error, "the memory of stages on one IPU");
    for (size_t s = 0; s < num_stages; ++s) {
        size_t from = stages[s].first_unit * width;
        size_t to = (stages[s].last_unit + 1) * width;
        size_t copies = pl_pipeline_copies(&a->pipeline, stages[s].stages_to_end);
        bool recomputes = a->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
        for (size_t i = 0; i < width; ++i) {
            uint64_t kept = recomputes ? a->inputs[from + i]
                                       : a->stash_before[to + i] - a->stash_before[from + i];
            bytes[i] += a->memory_before[to + i] - a->memory_before[from + i] + copies * kept;
        }
    }
    for (size_t k = 0; k < a->num_shared; ++k) {
        const pl_shared_memory *shared = &a->shared[k];
        bool is_used = false;
        for (size_t s = 0, u = 0; !is_used && s < num_stages; ++s) {
            while (u < shared->num_units && shared->units[u] < stages[s].first_unit)
                ++u;
            is_used = u < shared->num_units && shared->units[u] <= stages[s].last_unit;
        }
        for (size_t i = 0; is_used && i < width; ++i)
            bytes[i] += shared->bytes[i];
    }
    *peak_bytes = peak_of(a, bytes, bytes, 0);
    free(bytes);
    return POPLINER_OK;
}

static popliner_status fill_additive(reader *r) {
    pl_additive_costs *a = &r->file->additive;
    popliner_costs *costs = r->file->costs;
    size_t width = r->num_regions;
    bool recomputes = r->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
    const uint64_t *kept_bytes = recomputes ? a->inputs : r->stash;
    for (size_t i = 0; i < r->num_units * width; ++i) {
        a->memory_before[i + width] = a->memory_before[i] + r->memory[i];
        a->stash_before[i + width] = a->stash_before[i] + r->stash[i];
        r->has_kept = r->has_kept || kept_bytes[i] > 0;
    }
    popliner_status status = add_pipeline(r);
    if (status != POPLINER_OK)
        return status;
    uint64_t *kept = r->interval_bytes;
    for (size_t first = 0; first < r->num_units; ++first) {
        uint64_t cycles = 0;
        pl_interval_sums_begin(&r->sums);
        for (size_t last = first; last < r->num_units; ++last) {
            for (size_t i = 0; i < width; ++i)
                kept[i] = recomputes ? a->inputs[first * width + i]
                                     : a->stash_before[(last + 1) * width + i] -
                                           a->stash_before[first * width + i];
            set_peaks(r, first, last, pl_interval_sums_extend(&r->sums), kept);
            cycles += r->cycles[last];
            if (r->has_cycles)
                popliner_costs_set_cycles(costs, first, last,
                                          cycles + r->cut_cycles[first] + r->cut_cycles[last + 1]);
        }
    }
    /* the inputs of a stage that begins earlier may be smaller */
    popliner_costs_set_shared_peak(costs, shared_peak, r->file, !recomputes);
    return POPLINER_OK;
}

static popliner_status read_interval(reader *r, size_t i, const json_t *value) {
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
    popliner_status status = check_keys(r, &pl_costs_json_keys[KEYS_INTERVAL], &place, value);
    if (status == POPLINER_OK)
        status = find_unit(r, &first_place, json_object_get(value, "first"), &first);
    if (status == POPLINER_OK)
        status = find_unit(r, &last_place, json_object_get(value, "last"), &last);
    if (status == POPLINER_OK && first > last)
        status = pl_json_refuse(&r->json, &place, "\"%.100s\" comes after \"%.100s\"",
                                r->units.items[first], r->units.items[last]);
    memset(r->interval_bytes, 0, 3 * width * sizeof *r->interval_bytes);
    for (size_t k = 0; status == POPLINER_OK && k < 3; ++k) {
        const json_t *bytes = json_object_get(value, keys[k]);
        pl_json_place bytes_place = pl_place("intervals[%zu].%s", i, keys[k]);
        if (bytes != NULL)
            status = read_bytes(r, &bytes_place, bytes, r->interval_bytes + k * width);
    }
    if (status == POPLINER_OK && r->has_cycles && cycles_value == NULL)
        status =
            pl_json_refuse(&r->json, &place, "\"cycles\" is missing, which other intervals have");
    if (status == POPLINER_OK && cycles_value != NULL)
        status = read_cycles(r, &cycles_place, cycles_value, &cycles);
    if (status != POPLINER_OK)
        return status;
    bool recomputes = r->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
    set_peaks(r, first, last, r->interval_bytes, r->interval_bytes + (recomputes ? 2 : 1) * width);
    if (r->has_cycles)
        popliner_costs_set_cycles(r->file->costs, first, last, cycles);
    return pl_id_map_add(&r->listed, first * r->num_units + last, (uint32_t)i) ? POPLINER_OK
                                                                               : fail_memory(r);
}

static popliner_status check_listed_once(reader *r, const json_t *list) {
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

static popliner_status fill_listed(reader *r, const json_t *list) {
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
        if (json_object_get(interval, recomputes ? "inputs" : "stash") != NULL)
            r->has_kept = true;
    }
    if (status == POPLINER_OK)
        status = add_pipeline(r);
    if (status != POPLINER_OK)
        return status;
    popliner_costs *costs = r->file->costs;
    for (size_t stages = 1; stages <= pl_costs_max_stages_to_end(costs); ++stages)
        for (size_t first = 0; first < r->num_units; ++first)
            for (size_t last = first; last < r->num_units; ++last)
                popliner_costs_set_peak_at(costs, stages, first, last, POPLINER_PEAK_FORBIDDEN);
    for (size_t i = 0; status == POPLINER_OK && i < json_array_size(list); ++i)
        status = read_interval(r, i, json_array_get(list, i));
    return status == POPLINER_OK ? check_listed_once(r, list) : status;
}

static popliner_status read_all(reader *r) {
    const json_t *intervals = json_object_get(r->root, "intervals");
    popliner_status status = read_head(r);
    if (status == POPLINER_OK)
        status = read_regions(r);
    if (status == POPLINER_OK)
        status = read_units(r, intervals != NULL);
    if (status == POPLINER_OK)
        status = popliner_costs_create(r->num_units, &r->file->costs, r->json.error);
    if (status == POPLINER_OK && r->has_cycles)
        status = popliner_costs_add_cycles(r->file->costs, r->json.error);
    if (status == POPLINER_OK)
        status = read_shared(r);
    if (status == POPLINER_OK)
        status = read_cuts(r);
    if (status == POPLINER_OK)
        status = read_devices(r);
    if (status == POPLINER_OK)
        status = intervals != NULL ? fill_listed(r, intervals) : fill_additive(r);
    return status;
}

popliner_status pl_read_costs_json(const json_t *root, const char *path,
                                   const popliner_pipeline *pipeline, popliner_costs_file *file,
                                   popliner_error *error) {
    reader r = {.json = {path, error}, .root = root, .file = file, .pipeline = {.max_stages = 1}};
    if (pipeline != NULL)
        r.pipeline = *pipeline;
    file->additive.pipeline = r.pipeline;
    popliner_status status = read_all(&r);
    pl_names_free(&r.units);
    pl_names_free(&r.regions);
    pl_interval_sums_free(&r.sums);
    pl_id_map_free(&r.listed);
    free(r.sum_bytes);
    free(r.memory);
    free(r.stash);
    free(r.cycles);
    free(r.cut_cycles);
    free(r.interval_bytes);
    return status;
}
