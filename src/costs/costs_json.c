/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "pipeline/pipeline.h"

/* ---- Devices --------------------------------------------------------------------------------- */

enum { MAX_DEVICES = POPLINER_MAX_IPU + 1 };

/* Reads the number of a device, "0" or "17" but not "017", so that no device appears twice. Returns
 * what follows it; NULL if there is none. */
static const char *take_device(const char *key, size_t *device) {
    const char *at = key;
    *device = 0;
    for (; *at >= '0' && *at <= '9'; ++at) {
        if (*device >= MAX_DEVICES)
            return NULL;
        *device = *device * 10 + (size_t)(*at - '0');
    }
    bool is_number = at > key && (key[0] != '0' || at == key + 1);
    return is_number && *device < MAX_DEVICES ? at : NULL;
}

static int compare_devices(const void *left, const void *right) {
    const popliner_ipu_value *a = left;
    const popliner_ipu_value *b = right;
    return (a->ipu > b->ipu) - (a->ipu < b->ipu);
}

/* Returns the limit of device numbers (exclusive). */
static size_t end_of_devices(const pl_costs_json *r) {
    return r->file->info.num_ipus > 0 ? r->file->info.num_ipus : MAX_DEVICES;
}

/* Reads a device from a key of the object at `place`. */
static popliner_status read_device(const pl_costs_json *r, const pl_json_place *place,
                                   const char *key, size_t *device) {
    size_t end = end_of_devices(r);
    const char *rest = take_device(key, device);
    if (rest != NULL && *rest == '\0' && *device < end)
        return POPLINER_OK;
    return pl_json_refuse(&r->json, place,
                          "\"%.100s\" is not the number of a device, from 0 to %zu", key, end - 1);
}

typedef popliner_status value_reader(const pl_costs_json *r, const pl_json_place *place,
                                     const json_t *value, uint64_t *number);

static popliner_status read_limit(const pl_costs_json *r, const pl_json_place *place,
                                  const json_t *value, uint64_t *bytes) {
    return pl_json_whole(&r->json, place, value, 1, PL_MAX_BYTES, bytes);
}

static popliner_status read_speed(const pl_costs_json *r, const pl_json_place *place,
                                  const json_t *value, uint64_t *millionths) {
    double speed = json_number_value(value);
    if (!json_is_number(value) || !(speed >= 0.001 && speed <= 1000))
        return pl_json_refuse(&r->json, place, "expected a speed from 0.001 to 1000");
    return pl_json_scaled(&r->json, place, value, POPLINER_SPEED_ONE, POPLINER_MOST_SPEED,
                          millionths);
}

/* Reads the object with a value for each device, and sorts them by device. */
static popliner_status read_by_device(pl_costs_json *r, const char *name, const json_t *object,
                                      value_reader *read, popliner_ipu_value **items,
                                      size_t *count) {
    pl_json_place whole = pl_place("devices.%s", name);
    const char *key = NULL;
    json_t *value = NULL;
    popliner_status status = pl_json_object(&r->json, &whole, object);
    if (status != POPLINER_OK)
        return status;
    *items = pl_arrays_new(&r->file->arrays, json_object_size(object), sizeof **items);
    if (*items == NULL)
        return pl_costs_json_fail_memory(r);
    json_object_foreach((json_t *)object, key, value) {
        pl_json_place place = pl_place("devices.%s.%s", name, key);
        status = read_device(r, &whole, key, &(*items)[*count].ipu);
        if (status == POPLINER_OK)
            status = read(r, &place, value, &(*items)[*count].value);
        if (status != POPLINER_OK)
            return status;
        ++*count;
    }
    qsort(*items, *count, sizeof **items, compare_devices);
    return POPLINER_OK;
}

/* Reads bytes per unit of time: whole ones, or rounded to millionths. */
static popliner_status read_bandwidth(const pl_costs_json *r, const pl_json_place *place,
                                      const json_t *value, popliner_bandwidth *bandwidth) {
    enum { MILLION = 1000000 };
    double bytes = json_number_value(value);
    if (!json_is_number(value) || !(bytes >= 1.0 / MILLION && bytes <= (double)PL_MAX_BYTES))
        return pl_json_refuse(&r->json, place,
                              "expected bytes in a unit of time, from 0.000001 to %" PRIu64,
                              PL_MAX_BYTES);
    bool is_whole = bytes == floor(bytes);
    *bandwidth = (popliner_bandwidth){0, is_whole ? r->scale : r->scale * MILLION};
    return is_whole
               ? pl_json_whole(&r->json, place, value, 1, PL_MAX_BYTES, &bandwidth->bytes)
               : pl_json_scaled(&r->json, place, value, MILLION, PL_MAX_BYTES, &bandwidth->bytes);
}

static int compare_links(const void *left, const void *right) {
    const popliner_ipu_link *a = left;
    const popliner_ipu_link *b = right;
    if (a->first_ipu != b->first_ipu)
        return a->first_ipu < b->first_ipu ? -1 : 1;
    return (a->second_ipu > b->second_ipu) - (a->second_ipu < b->second_ipu);
}

/* Reads a key like "0-1"; sets the smaller device first. */
static popliner_status read_pair(const pl_costs_json *r, const pl_json_place *place,
                                 const char *key, popliner_ipu_link *link) {
    size_t end = end_of_devices(r);
    size_t other = 0;
    const char *rest = take_device(key, &link->first_ipu);
    rest = rest != NULL && *rest == '-' ? take_device(rest + 1, &link->second_ipu) : NULL;
    if (rest == NULL || *rest != '\0' || link->first_ipu >= end || link->second_ipu >= end ||
        link->first_ipu == link->second_ipu)
        return pl_json_refuse(&r->json, place,
                              "\"%.100s\" is not a link of two devices from 0 to %zu, like "
                              "\"0-1\"",
                              key, end - 1);
    other = link->second_ipu;
    if (other < link->first_ipu) {
        link->second_ipu = link->first_ipu;
        link->first_ipu = other;
    }
    return POPLINER_OK;
}

static popliner_status read_links(pl_costs_json *r, const json_t *links) {
    pl_json_place links_place = pl_place("devices.links");
    pl_costs_file *file = r->file;
    const char *key = NULL;
    json_t *value = NULL;
    popliner_status status = pl_json_object(&r->json, &links_place, links);
    if (status != POPLINER_OK)
        return status;
    file->links = pl_arrays_new(&file->arrays, json_object_size(links), sizeof *file->links);
    if (file->links == NULL)
        return pl_costs_json_fail_memory(r);
    json_object_foreach((json_t *)links, key, value) {
        pl_json_place place = pl_place("devices.links.%s", key);
        popliner_ipu_link *link = &file->links[file->info.num_ipu_links];
        status = read_pair(r, &links_place, key, link);
        if (status == POPLINER_OK)
            status = read_bandwidth(r, &place, value, &link->bandwidth);
        if (status != POPLINER_OK)
            return status;
        ++file->info.num_ipu_links;
    }
    size_t count = file->info.num_ipu_links;
    qsort(file->links, count, sizeof *file->links, compare_links);
    for (size_t i = 1; i < count; ++i)
        if (compare_links(&file->links[i - 1], &file->links[i]) == 0)
            return pl_json_refuse(&r->json, &links_place, "the link %zu-%zu appears twice",
                                  file->links[i].first_ipu, file->links[i].second_ipu);
    return POPLINER_OK;
}

static popliner_status pl_costs_json_read_devices(pl_costs_json *r) {
    const json_t *devices = json_object_get(r->root, "devices");
    const json_t *count = json_object_get(devices, "count");
    const json_t *memory = json_object_get(devices, "memory");
    const json_t *memories = json_object_get(devices, "memories");
    const json_t *speeds = json_object_get(devices, "speeds");
    const json_t *bandwidth = json_object_get(devices, "bandwidth");
    const json_t *links = json_object_get(devices, "links");
    pl_json_place place = pl_place("devices");
    pl_json_place count_place = pl_place("devices.count");
    pl_json_place memory_place = pl_place("devices.memory");
    pl_json_place bandwidth_place = pl_place("devices.bandwidth");
    uint64_t num_ipus = 0;
    if (devices == NULL)
        return POPLINER_OK;
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_DEVICES, &place, devices);
    if (status == POPLINER_OK && count != NULL)
        status = pl_json_whole(&r->json, &count_place, count, 1, MAX_DEVICES, &num_ipus);
    r->file->info.num_ipus = (size_t)num_ipus;
    if (status == POPLINER_OK && memory != NULL)
        status = pl_json_whole(&r->json, &memory_place, memory, 1, PL_MAX_BYTES,
                               &r->file->info.bytes_per_tile);
    if (status == POPLINER_OK && memories != NULL)
        status = read_by_device(r, "memories", memories, read_limit, &r->file->limits,
                                &r->file->info.num_ipu_limits);
    if (status == POPLINER_OK && speeds != NULL)
        status = read_by_device(r, "speeds", speeds, read_speed, &r->file->speeds,
                                &r->file->info.num_ipu_speeds);
    if (status == POPLINER_OK && bandwidth != NULL)
        status = read_bandwidth(r, &bandwidth_place, bandwidth, &r->file->info.link_bandwidth);
    if (status == POPLINER_OK && links != NULL)
        status = read_links(r, links);
    return status;
}

/* ---- The document ---------------------------------------------------------------------------- */

const pl_known_keys pl_costs_json_keys[] = {
    [PL_COSTS_KEYS_FILE] = {"file",
                            3,
                            {"format", "version", "units", "$schema", "description", "time_unit",
                             "regions", "shared", "cuts", "cut_cycles", "intervals", "devices"}},
    [PL_COSTS_KEYS_REGION] = {"region", 1, {"name", "capacity"}},
    [PL_COSTS_KEYS_UNIT] = {"unit",
                            1,
                            {"name", "layer", "kind", "memory", "cycles", "forward", "backward",
                             "stash", "inputs", "parameters", "kv", "variants",
                             "recompute_cycles"}},
    [PL_COSTS_KEYS_SHARED] = {"shared", 2, {"units", "memory"}},
    [PL_COSTS_KEYS_INTERVAL] = {"interval",
                                3,
                                {"first", "last", "memory", "cycles", "stash", "inputs", "variants",
                                 "recompute_cycles"}},
    [PL_COSTS_KEYS_DEVICES] = {"devices",
                               0,
                               {"count", "memory", "memories", "speeds", "bandwidth", "links"}},
    [PL_COSTS_KEYS_VARIANT] = {"variant", 1, {"name", "memory", "cycles", "stash"}},
};
const size_t pl_num_costs_json_keys = sizeof pl_costs_json_keys / sizeof *pl_costs_json_keys;

/* ---- Values --------------------------------------------------------------------------------- */

popliner_status pl_costs_json_fail_memory(const pl_costs_json *r) {
    return pl_fail_memory(r->json.error, "the costs of the file");
}

popliner_status pl_costs_json_check_keys(const pl_costs_json *r, int keys,
                                         const pl_json_place *place, const json_t *value) {
    const pl_known_keys *known = &pl_costs_json_keys[keys];
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
                     ? pl_costs_json_fail_memory(r)
                     : pl_json_refuse(&r->json, place, "unknown key \"%.100s\"; expected %s", key,
                                      names.data);
        free(names.data);
        return status;
    }
    for (size_t i = 0; i < known->num_required; ++i)
        if (json_object_get(value, known->keys[i]) == NULL)
            return pl_json_refuse(&r->json, place, "\"%s\" is missing", known->keys[i]);
    return POPLINER_OK;
}

popliner_status pl_costs_json_bytes(const pl_costs_json *r, const pl_json_place *place,
                                    const json_t *value, uint64_t *bytes) {
    if (!json_is_array(value)) {
        if (!json_is_number(value))
            return pl_json_refuse(&r->json, place,
                                  "expected a number of bytes, or a list of one for each region");
        popliner_status status = pl_json_whole(&r->json, place, value, 0, PL_MAX_BYTES, &bytes[0]);
        if (status != POPLINER_OK)
            return status;
        for (size_t i = 1; i < r->num_regions; ++i)
            bytes[i] = bytes[0];
        return POPLINER_OK;
    }
    if (json_array_size(value) != r->num_regions)
        return pl_json_refuse(&r->json, place,
                              "the list has %zu numbers, but there are %zu regions",
                              json_array_size(value), r->num_regions);
    for (size_t i = 0; i < r->num_regions; ++i) {
        pl_json_place item = pl_place("%s[%zu]", place->text, i);
        popliner_status status =
            pl_json_whole(&r->json, &item, json_array_get(value, i), 0, PL_MAX_BYTES, &bytes[i]);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

popliner_status pl_costs_json_cycles(const pl_costs_json *r, const pl_json_place *place,
                                     const json_t *value, uint64_t *cycles) {
    return pl_json_scaled(&r->json, place, value, r->scale, POPLINER_MAX_CYCLES, cycles);
}

popliner_status pl_costs_json_add_up_cycles(pl_costs_json *r, const pl_json_place *place,
                                            uint64_t cycles) {
    r->sum_cycles += cycles;
    if (r->sum_cycles <= POPLINER_MAX_CYCLES)
        return POPLINER_OK;
    return pl_json_refuse(&r->json, place,
                          "with this, the cycles add up to more than %.17g; use a larger unit of "
                          "time",
                          (double)POPLINER_MAX_CYCLES / (double)r->scale);
}

popliner_status pl_costs_json_find_unit(pl_costs_json *r, const pl_json_place *place,
                                        const json_t *value, size_t *unit) {
    const char *name = NULL;
    popliner_status status = pl_json_text(&r->json, place, value, &name);
    if (status != POPLINER_OK)
        return status;
    *unit = pl_names_number(&r->units, name);
    if (*unit == SIZE_MAX)
        return pl_costs_json_fail_memory(r);
    return *unit < r->num_units
               ? POPLINER_OK
               : pl_json_refuse(&r->json, place, "no unit is called \"%.100s\"", name);
}

/* ---- The document --------------------------------------------------------------------------- */

static bool is_fraction(const json_t *value) {
    return json_is_real(value) && json_real_value(value) != floor(json_real_value(value));
}

/* Sets has_pipeline if one of the objects has a key that depends on the pipeline. */
static void look_for_pipeline(pl_costs_json *r, const json_t *objects) {
    static const char *const keys[] = {"stash", "inputs", "recompute_cycles", "variants"};
    for (size_t i = 0; i < json_array_size(objects); ++i)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k)
            r->has_pipeline =
                r->has_pipeline || json_object_get(json_array_get(objects, i), keys[k]) != NULL;
}

/* Sets has_cycles if one of the objects has times, the scale if some are fractions, and the number
 * of samples. */
static void look_for_cycles(pl_costs_json *r, const json_t *objects) {
    static const char *const keys[] = {"cycles", "forward", "backward", "recompute_cycles"};
    for (size_t i = 0; i < json_array_size(objects); ++i) {
        const json_t *variants = json_object_get(json_array_get(objects, i), "variants");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; ++k) {
            const json_t *times = json_object_get(json_array_get(objects, i), keys[k]);
            r->has_cycles = r->has_cycles || (times != NULL && k < 3);
            if (is_fraction(times))
                r->scale = PL_TIME_SCALE;
            for (size_t s = 0; s < json_array_size(times); ++s)
                if (is_fraction(json_array_get(times, s)))
                    r->scale = PL_TIME_SCALE;
            if (json_array_size(times) > r->num_samples)
                r->num_samples = json_array_size(times);
        }
        for (size_t k = 0; k < json_array_size(variants); ++k)
            if (is_fraction(json_object_get(json_array_get(variants, k), "cycles")))
                r->scale = PL_TIME_SCALE;
    }
}

static popliner_status read_head(pl_costs_json *r) {
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
    /* before the keys, which may differ in other versions */
    if (status == POPLINER_OK && json_object_get(r->root, "version") != NULL)
        status = pl_json_whole(&r->json, &version_place, json_object_get(r->root, "version"), 1, 1,
                               &version);
    if (status == POPLINER_OK)
        status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_FILE, &root_place, r->root);
    if (status == POPLINER_OK)
        status = pl_json_array(&r->json, &units_place, units);
    r->num_units = json_array_size(units);
    if (status == POPLINER_OK && (r->num_units == 0 || r->num_units > PL_MAX_UNITS))
        status = pl_json_refuse(&r->json, &units_place, "expected from 1 to %d units, found %zu",
                                PL_MAX_UNITS, r->num_units);
    text = "cycles";
    if (status == POPLINER_OK && time_unit != NULL) {
        pl_json_place place = pl_place("time_unit");
        status = pl_json_text(&r->json, &place, time_unit, &text);
    }
    if (status != POPLINER_OK)
        return status;
    r->file->time_unit = pl_arrays_text(&r->file->arrays, text);

    r->scale = 1;
    r->num_samples = 1;
    r->has_cycles = cut_cycles != NULL;
    for (size_t i = 0; i < json_array_size(cut_cycles); ++i)
        if (is_fraction(json_array_get(cut_cycles, i)))
            r->scale = PL_TIME_SCALE;
    look_for_cycles(r, units);
    look_for_cycles(r, json_object_get(r->root, "intervals"));
    look_for_pipeline(r, units);
    look_for_pipeline(r, json_object_get(r->root, "intervals"));
    r->file->info.cycles_per_time_unit = r->scale;
    return r->file->time_unit != NULL ? POPLINER_OK : pl_costs_json_fail_memory(r);
}

/* Finds a list with one number for each cut; *list is NULL if there is none. */
static popliner_status find_cut_list(const pl_costs_json *r, const char *key, const json_t **list) {
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

static popliner_status read_cuts(pl_costs_json *r) {
    const json_t *cuts = NULL;
    const json_t *cut_cycles = NULL;
    popliner_status status = find_cut_list(r, "cuts", &cuts);
    if (status == POPLINER_OK)
        status = find_cut_list(r, "cut_cycles", &cut_cycles);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < json_array_size(cuts); ++i) {
        pl_json_place place = pl_place("cuts[%zu]", i);
        uint64_t bytes = 0;
        status = pl_json_whole(&r->json, &place, json_array_get(cuts, i), 0, PL_MAX_BYTES, &bytes);
        if (status != POPLINER_OK)
            return status;
        pl_costs_set_cut(r->file->costs, i + 1, bytes);
    }
    for (size_t i = 0; i < json_array_size(cut_cycles); ++i) {
        pl_json_place place = pl_place("cut_cycles[%zu]", i);
        status =
            pl_costs_json_cycles(r, &place, json_array_get(cut_cycles, i), &r->cut_cycles[i + 1]);
        if (status == POPLINER_OK)
            status = pl_costs_json_add_up_cycles(r, &place, r->cut_cycles[i + 1]);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

/* Gives the table what of the units' cycles is forward, if the file has it, or if a stage may take
 * other cycles than those of its units. */
static popliner_status add_passes(const pl_costs_json *r) {
    const pl_passes_source source = {r->num_samples, r->cycles, r->has_passes ? r->forward : NULL,
                                     r->cut_cycles, !r->has_passes};
    const bool has_others = r->pipeline.recompute != POPLINER_RECOMPUTE_NONE ||
                            json_object_get(r->root, "cut_cycles") != NULL;
    if (!r->has_passes &&
        (!r->has_cycles || !has_others || r->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE))
        return POPLINER_OK;
    return pl_costs_add_passes(r->file->costs, &source, r->json.error);
}

static popliner_status read_all(pl_costs_json *r) {
    const json_t *intervals = json_object_get(r->root, "intervals");
    popliner_status status = read_head(r);
    if (status == POPLINER_OK)
        status = pl_costs_json_read_regions(r);
    if (status == POPLINER_OK)
        status = pl_costs_json_read_units(r, intervals != NULL);
    if (status == POPLINER_OK)
        status = popliner_costs_create(r->num_units, 1, &r->file->costs, r->json.error);
    if (status == POPLINER_OK)
        status = pl_costs_set_counted_units(r->file->costs, r->file->counted_units, r->json.error);
    if (status == POPLINER_OK) {
        r->file->costs->kv_bytes = r->kv_bytes;
        r->file->costs->unit_kinds = r->unit_kinds;
        r->kv_bytes = NULL;
        r->unit_kinds = NULL;
    }
    if (status == POPLINER_OK)
        status = pl_costs_json_read_shared(r);
    if (status == POPLINER_OK)
        status = read_cuts(r);
    if (status == POPLINER_OK)
        status = pl_costs_json_read_devices(r);
    if (status == POPLINER_OK)
        status = intervals != NULL ? pl_costs_json_fill_listed(r, intervals)
                                   : pl_costs_json_fill_additive(r);
    if (status == POPLINER_OK && intervals == NULL)
        status = add_passes(r);
    if (status == POPLINER_OK && r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        status = pl_costs_json_finish_variants(r, intervals != NULL);
    return status;
}

/* The micro-batches of "+N" are under way: what they recompute is there, so their whole stash is
 * part of the memory, and only the other copies are inputs. At most so many that sums of a listed
 * stage have 64 bits. */
static void take_working_sets(pl_costs_json *r) {
    enum { MOST = POPLINER_MAX_COPIES / 2 };
    size_t *more = &r->pipeline.copies.more;
    if (r->pipeline.recompute != POPLINER_RECOMPUTE_FULL &&
        r->pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        return;
    r->num_working_sets = *more < MOST ? *more : MOST;
    *more = 0;
}

popliner_status pl_read_costs_json(const json_t *root, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error) {
    pl_costs_json r = {
        .json = {path, error}, .root = root, .file = file, .pipeline = {.max_stages = 1}};
    if (pipeline != NULL)
        r.pipeline = pl_pipeline_of_any_split(pipeline);
    r.pipeline.effects = 0; /* the file has all that its stages store */
    r.pipeline.should_stop = NULL;
    r.pipeline.should_stop_user = NULL;
    const popliner_pipeline told = r.pipeline;
    take_working_sets(&r);
    file->additive.pipeline = r.pipeline;
    popliner_status status = read_all(&r);
    if (status == POPLINER_OK && r.has_pipeline)
        status = popliner_costs_set_pipeline(file->costs, &told, error);
    file->info.has_kept = r.has_kept;
    pl_names_free(&r.units);
    pl_names_free(&r.regions);
    pl_interval_sums_free(&r.sums);
    pl_id_map_free(&r.listed);
    pl_arrays_free(&r.arrays);
    free(r.kv_bytes);
    free(r.unit_kinds);
    free(r.variant_interval);
    return status;
}
