/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
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

/* Returns the limit of device numbers (exclusive). */
static size_t end_of_devices(const pl_costs_json *r) {
    return r->file->info.num_ipus > 0 ? r->file->info.num_ipus : MAX_DEVICES;
}

/* Reads a key of an object, like "0" or, for a link, "0-1"; sets the smaller device first. */
static void read_key(pl_costs_json *r, const pl_json_value *object, const char *key, bool is_link,
                     popliner_ipu_link *item) {
    const size_t end = end_of_devices(r);
    size_t one = 0;
    size_t other = end;
    const char *rest = take_device(key, &one);
    if (is_link && rest != NULL)
        rest = *rest == '-' ? take_device(rest + 1, &other) : NULL;
    const bool is_known = rest != NULL && *rest == '\0' && one < end;
    if (!is_link && !is_known)
        pl_json_refuse(&r->json, object, "\"%.100s\" is not the number of a device, from 0 to %zu",
                       key, end - 1);
    if (is_link && (!is_known || other >= end || one == other))
        pl_json_refuse(&r->json, object,
                       "\"%.100s\" is not a link of two devices from 0 to %zu, like \"0-1\"", key,
                       end - 1);
    item->first_ipu = pl_fewer(one, other);
    item->second_ipu = pl_more(one, other);
}

/* Reads what a device or a link has into the bytes and cycles of the item. */
typedef void value_reader(pl_costs_json *r, const pl_json_value *value, popliner_ipu_link *item);

static void read_limit(pl_costs_json *r, const pl_json_value *value, popliner_ipu_link *item) {
    item->bytes = pl_json_whole(&r->json, value, 1, PL_MAX_BYTES);
}

static void read_speed(pl_costs_json *r, const pl_json_value *value, popliner_ipu_link *item) {
    const double speed = json_number_value(value->json);
    if (!json_is_number(value->json) || !(speed >= 0.001 && speed <= 1000))
        pl_json_refuse(&r->json, value, "expected a speed from 0.001 to 1000");
    item->bytes = pl_json_scaled(&r->json, value, POPLINER_SPEED_ONE, POPLINER_MOST_SPEED);
}

/* Reads bytes per unit of time: whole ones, or rounded to millionths. */
static void read_bandwidth(pl_costs_json *r, const pl_json_value *value, popliner_ipu_link *item) {
    enum { MILLION = 1000000 };
    const double bytes = json_number_value(value->json);
    if (!json_is_number(value->json) ||
        !(bytes >= 1.0 / (double)MILLION && bytes <= (double)PL_MAX_BYTES))
        pl_json_refuse(&r->json, value,
                       "expected bytes in a unit of time, from 0.000001 to %" PRIu64, PL_MAX_BYTES);
    item->cycles = bytes == floor(bytes) ? 1 : MILLION;
    item->bytes = pl_json_scaled(&r->json, value, item->cycles, PL_MAX_BYTES);
}

static int compare_items(const void *left, const void *right) {
    const popliner_ipu_link *a = left;
    const popliner_ipu_link *b = right;
    if (a->first_ipu != b->first_ipu)
        return a->first_ipu < b->first_ipu ? -1 : 1;
    return (a->second_ipu > b->second_ipu) - (a->second_ipu < b->second_ipu);
}

/* Reads an optional object with a value for each device or link, and sorts them. Returns NULL
 * without it. */
static popliner_ipu_link *read_items(pl_costs_json *r, const pl_json_value *devices,
                                     const char *name, value_reader *read, size_t *count) {
    const pl_json_value object = pl_json_in(devices, name);
    const char *key = NULL;
    json_t *value = NULL;
    if (object.json == NULL)
        return NULL;
    pl_json_object(&r->json, &object);
    popliner_ipu_link *items =
        pl_arrays_new(&r->file->arrays, json_object_size(object.json), sizeof *items);
    if (!pl_costs_json_has(r, items != NULL))
        return NULL;
    /* iterating does not change the object, but jansson's iterators are not const */
    json_object_foreach((json_t *)object.json, key, value) {
        const pl_json_value own = pl_json_in(&object, key);
        read_key(r, &object, key, read == read_bandwidth, &items[*count]);
        read(r, &own, &items[(*count)++]);
    }
    qsort(items, *count, sizeof *items, compare_items);
    for (size_t i = 1; i < *count; ++i)
        if (compare_items(&items[i - 1], &items[i]) == 0)
            pl_json_refuse(&r->json, &object, "the link %zu-%zu appears twice", items[i].first_ipu,
                           items[i].second_ipu);
    return items;
}

/* Reads such an object of devices. */
static popliner_ipu_value *read_by_device(pl_costs_json *r, const pl_json_value *devices,
                                          const char *name, value_reader *read, size_t *count) {
    const popliner_ipu_link *items = read_items(r, devices, name, read, count);
    popliner_ipu_value *values = pl_arrays_new(&r->file->arrays, *count, sizeof *values);
    pl_costs_json_has(r, values != NULL);
    for (size_t i = 0; values != NULL && i < *count; ++i)
        values[i] = (popliner_ipu_value){items[i].first_ipu, items[i].bytes};
    return values;
}

static void read_devices(pl_costs_json *r) {
    const pl_json_value devices = pl_json_in(&r->root, "devices");
    const pl_json_value count = pl_json_in(&devices, "count");
    const pl_json_value memory = pl_json_in(&devices, "memory");
    const pl_json_value bandwidth = pl_json_in(&devices, "bandwidth");
    popliner_costs_file *info = &r->file->info;
    if (devices.json == NULL)
        return;
    pl_costs_json_check_keys(r, PL_COSTS_KEYS_DEVICES, &devices);
    if (count.json != NULL)
        info->num_ipus = (size_t)pl_json_whole(&r->json, &count, 1, MAX_DEVICES);
    if (memory.json != NULL)
        info->bytes_per_tile = pl_json_whole(&r->json, &memory, 1, PL_MAX_BYTES);
    info->ipu_limits = read_by_device(r, &devices, "memories", read_limit, &info->num_ipu_limits);
    info->ipu_speeds = read_by_device(r, &devices, "speeds", read_speed, &info->num_ipu_speeds);
    if (bandwidth.json != NULL)
        read_bandwidth(r, &bandwidth, &info->link_bandwidth);
    info->ipu_links = read_items(r, &devices, "links", read_bandwidth, &info->num_ipu_links);
}

/* ---- The document ---------------------------------------------------------------------------- */

const char *const pl_estimate_keys[POPLINER_NUM_NEEDS] = {
    [POPLINER_NEED_LEAST] = "least", [POPLINER_NEED_MOST] = "most"};

const pl_known_keys pl_costs_json_keys[] = {
    [PL_COSTS_KEYS_FILE] = {"file",
                            3,
                            {"format", "version", "units", "$schema", "description", "time_unit",
                             "not_counted", "samples", "regions", "shared", "cuts", "cut_cycles",
                             "devices"}},
    [PL_COSTS_KEYS_REGION] = {"region", 1, {"name", "capacity"}},
    [PL_COSTS_KEYS_UNIT] = {"unit", 1, {"name",   "layer",      "kind",       "memory",
                                        "cycles", "forward",    "backward",   "stash",
                                        "inputs", "parameters", "kv",         "kv_tokens",
                                        "cache",  "workspace",  "recomputed", "sharded",
                                        "least",  "most",       "variants",   "recompute_cycles"}},
    [PL_COSTS_KEYS_SHARED] = {"shared", 2, {"units", "memory", "least", "most"}},
    [PL_COSTS_KEYS_DEVICES] = {"devices",
                               0,
                               {"count", "memory", "memories", "speeds", "bandwidth", "links"}},
    [PL_COSTS_KEYS_ESTIMATE] =
        {"estimate", 0, {"memory", "stash", "inputs", "workspace", "recomputed", "sharded"}},
    [PL_COSTS_KEYS_VARIANT] = {"variant", 1, {"name", "memory", "cycles", "stash"}},
};
const size_t pl_num_costs_json_keys = sizeof pl_costs_json_keys / sizeof *pl_costs_json_keys;

/* ---- Values --------------------------------------------------------------------------------- */

bool pl_costs_json_has(pl_costs_json *r, bool memory) {
    return pl_outcome_has(&r->json.outcome, memory, "the costs of the file");
}

void pl_costs_json_check_keys(pl_costs_json *r, int keys, const pl_json_value *value) {
    const pl_known_keys *known = &pl_costs_json_keys[keys];
    const char *key = NULL;
    json_t *member = NULL;
    pl_json_object(&r->json, value);
    json_object_foreach((json_t *)value->json, key, member) {
        size_t i = 0;
        while (known->keys[i] != NULL && strcmp(known->keys[i], key) != 0)
            ++i;
        if (known->keys[i] != NULL || (r->json.has_lines && strcmp(key, "line") == 0))
            continue;
        pl_text names = {0};
        for (i = 0; known->keys[i] != NULL; ++i)
            pl_text_format(&names, "%s%s", i == 0 ? "" : ", ", known->keys[i]);
        if (pl_costs_json_has(r, !names.failed))
            pl_json_refuse(&r->json, value, "unknown key \"%.100s\"; expected %s", key, names.data);
        free(names.data);
        return;
    }
    for (size_t i = 0; i < known->num_required; ++i)
        if (json_object_get(value->json, known->keys[i]) == NULL)
            pl_json_refuse(&r->json, value, "\"%s\" is missing", known->keys[i]);
}

void pl_costs_json_bytes(pl_costs_json *r, const pl_json_value *value, uint64_t *bytes) {
    const bool is_list = json_is_array(value->json);
    if (!is_list && !json_is_number(value->json))
        pl_json_refuse(&r->json, value,
                       "expected a number of bytes, or a list of one for each region");
    if (is_list && json_array_size(value->json) != r->num_regions)
        pl_json_refuse(&r->json, value, "expected a list of %zu number%s, one for each region",
                       r->num_regions, r->num_regions == 1 ? "" : "s");
    for (size_t i = 0; i < r->num_regions; ++i) {
        const pl_json_value item = is_list ? pl_json_at(value, i) : *value;
        bytes[i] = pl_json_whole(&r->json, &item, 0, PL_MAX_BYTES);
    }
}

uint64_t pl_costs_json_cycles(pl_costs_json *r, const pl_json_value *value, uint64_t otherwise) {
    return value->json == NULL ? otherwise
                               : pl_json_scaled(&r->json, value, r->scale, POPLINER_MAX_CYCLES);
}

void pl_costs_json_add_up_cycles(pl_costs_json *r, const pl_json_value *value, uint64_t cycles) {
    r->sum_cycles += cycles;
    if (r->sum_cycles > POPLINER_MAX_CYCLES)
        pl_json_refuse(&r->json, value,
                       "with this, the cycles add up to more than %.17g; use a larger unit of time",
                       (double)POPLINER_MAX_CYCLES / (double)r->scale);
}

size_t pl_costs_json_find_unit(pl_costs_json *r, const pl_json_value *value) {
    const char *name = pl_json_text(&r->json, value);
    const size_t unit = pl_costs_json_is_well(r) ? pl_names_number(&r->units, name) : 0;
    if (!pl_costs_json_has(r, unit != SIZE_MAX))
        return 0;
    if (unit >= r->num_units)
        pl_json_refuse(&r->json, value, "no unit is called \"%.100s\"", name);
    return unit < r->num_units ? unit : 0;
}

/* ---- The document --------------------------------------------------------------------------- */

/* True for a time that is a fraction, or several of which one is. */
static bool has_fraction(const json_t *times) {
    bool has_any = json_is_real(times) && json_real_value(times) != floor(json_real_value(times));
    if (json_is_object(times)) /* a variant */
        has_any = has_fraction(json_object_get(times, "cycles"));
    for (size_t i = 0; !has_any && i < json_array_size(times); ++i)
        has_any = has_fraction(json_array_get(times, i));
    return has_any;
}

/* Finds whether the units depend on the pipeline and have times, whether some times are fractions,
 * and the number of samples. */
static void look_at_units(pl_costs_json *r, const json_t *units) {
    static const char *const of_pipeline[] = {"stash", "inputs", "recomputed", "recompute_cycles",
                                              "variants"};
    static const char *const of_time[] = {"cycles", "forward", "backward", "recompute_cycles",
                                          "variants"};
    for (size_t i = 0; i < json_array_size(units); ++i)
        for (size_t k = 0; k < sizeof of_time / sizeof *of_time; ++k) {
            const json_t *unit = json_array_get(units, i);
            const json_t *times = json_object_get(unit, of_time[k]);
            r->has_pipeline = r->has_pipeline || json_object_get(unit, of_pipeline[k]) != NULL;
            r->has_cycles = r->has_cycles || (times != NULL && k < 3);
            if (has_fraction(times))
                r->scale = PL_TIME_SCALE;
            if (k < 4)
                r->num_samples = pl_more(r->num_samples, json_array_size(times));
        }
}

static void read_head(pl_costs_json *r) {
    const pl_json_value format = pl_json_in(&r->root, "format");
    const pl_json_value version = pl_json_in(&r->root, "version");
    const pl_json_value units = pl_json_in(&r->root, "units");
    const pl_json_value time_unit = pl_json_in(&r->root, "time_unit");
    const json_t *cut_cycles = json_object_get(r->root.json, "cut_cycles");
    const char *text = pl_json_text(&r->json, &format);
    if (strcmp(text, "popliner-costs") != 0)
        pl_json_refuse(&r->json, &format, "expected \"popliner-costs\", found \"%.100s\"", text);
    /* before the keys, which may differ in other versions */
    if (version.json != NULL)
        pl_json_whole(&r->json, &version, 1, 1);
    pl_costs_json_check_keys(r, PL_COSTS_KEYS_FILE, &r->root);
    pl_json_array(&r->json, &units);
    r->num_units = json_array_size(units.json);
    if (r->num_units == 0 || r->num_units > PL_MAX_UNITS)
        pl_json_refuse(&r->json, &units, "expected from 1 to %d units, found %zu", PL_MAX_UNITS,
                       r->num_units);
    text = time_unit.json != NULL ? pl_json_text(&r->json, &time_unit) : "cycles";
    r->file->info.time_unit = pl_arrays_text(&r->file->arrays, text);
    if (!pl_costs_json_has(r, r->file->info.time_unit != NULL))
        return;

    r->scale = has_fraction(cut_cycles) ? PL_TIME_SCALE : 1;
    r->num_samples = 1;
    r->has_cycles = cut_cycles != NULL;
    look_at_units(r, units.json);
    r->file->info.cycles_per_time_unit = r->scale;
}

/* Returns an optional list with one number for each cut. */
static pl_json_value find_cut_list(pl_costs_json *r, const char *key) {
    const pl_json_value list = pl_json_in(&r->root, key);
    if (list.json == NULL)
        return list;
    pl_json_array(&r->json, &list);
    if (json_array_size(list.json) != r->num_units - 1)
        pl_json_refuse(&r->json, &list,
                       "expected a list of %zu number%s, one for each cut between the %zu units",
                       r->num_units - 1, r->num_units == 2 ? "" : "s", r->num_units);
    return list;
}

static void read_cuts(pl_costs_json *r) {
    const pl_json_value cuts = find_cut_list(r, "cuts");
    const pl_json_value cut_cycles = find_cut_list(r, "cut_cycles");
    for (size_t i = 0; pl_costs_json_is_well(r) && i < json_array_size(cuts.json); ++i) {
        const pl_json_value cut = pl_json_at(&cuts, i);
        pl_costs_set_cut(r->file->costs, i + 1, pl_json_whole(&r->json, &cut, 0, PL_MAX_BYTES));
    }
    for (size_t i = 0; pl_costs_json_is_well(r) && i < json_array_size(cut_cycles.json); ++i) {
        const pl_json_value cut = pl_json_at(&cut_cycles, i);
        r->cut_cycles[i + 1] = pl_costs_json_cycles(r, &cut, 0);
        pl_costs_json_add_up_cycles(r, &cut, r->cut_cycles[i + 1]);
    }
}

/* Gives the table what of the units' cycles is forward: a third where the file does not say it. */
static void add_passes(pl_costs_json *r) {
    const pl_passes_source source = {r->num_samples, r->cycles, r->has_passes ? r->forward : NULL,
                                     r->cut_cycles, !r->has_passes};
    if (!r->has_passes && (!r->has_cycles || r->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE))
        return;
    pl_costs_json_has(r, pl_costs_add_passes(r->file->costs, &source));
}

static void create_costs(pl_costs_json *r) {
    popliner_costs **costs = &r->file->costs;
    const pl_json_value samples = pl_json_in(&r->root, "samples");
    if (!pl_costs_json_is_well(r))
        return;
    r->json.outcome.status = popliner_costs_create(r->num_units, 1, costs, r->json.outcome.error);
    if (*costs != NULL)
        (*costs)->cycles_per_time_unit = r->scale;
    if (samples.json != NULL)
        r->file->info.samples = pl_json_whole(&r->json, &samples, 1, INT64_MAX);
}

bool pl_costs_json_any_has(const json_t *list, const char *key) {
    bool has_any = false;
    for (size_t i = 0; !has_any && i < json_array_size(list); ++i) {
        const json_t *own = json_object_get(json_array_get(list, i), key);
        has_any = own != NULL && (!json_is_integer(own) || json_integer_value(own) != 0);
    }
    return has_any;
}

/* True if stages keep inputs, of which the file has none, instead of a stash that it has. */
static bool lacks_inputs(const pl_costs_json *r) {
    const json_t *list = json_object_get(r->root.json, "units");
    return r->pipeline.recompute == POPLINER_RECOMPUTE_FULL && !r->recomputes_units &&
           pl_pipeline_keeps(&r->pipeline) && pl_costs_json_any_has(list, "stash") &&
           !pl_costs_json_any_has(list, "inputs");
}

/* Takes what the file leaves out by its own words, and what it does for this pipeline. */
static void take_left_out(pl_costs_json *r, bool lacks_inputs) {
    const pl_json_value own = pl_json_in(&r->root, "not_counted");
    pl_text text = {0};
    if (own.json != NULL)
        pl_text_add(&text, pl_json_text(&r->json, &own));
    if (lacks_inputs)
        pl_text_format(&text, "%sInputs, which stages keep that recompute all: no unit has any.",
                       own.json != NULL ? " " : "");
    pl_costs_json_has(r, !text.failed);
    /* NULL: nothing was said */
    r->file->info.not_counted = pl_arrays_text(&r->file->costs->arrays, text.data);
    r->file->costs->not_counted = r->file->info.not_counted;
    free(text.data);
    r->file->info.has_kept = lacks_inputs;
}

static void read_all(pl_costs_json *r) {
    read_head(r);
    pl_costs_json_read_regions(r);
    create_costs(r);
    pl_costs_json_read_units(r);
    if (pl_costs_json_is_well(r))
        take_left_out(r, lacks_inputs(r));
    if (!pl_costs_json_is_well(r) ||
        !pl_costs_json_has(r, pl_costs_set_counted_units(r->file->costs, r->file->counted_units)))
        return;
    pl_costs_json_read_shared(r);
    pl_costs_json_add_workspaces(r);
    read_cuts(r);
    read_devices(r);
    if (!pl_costs_json_is_well(r))
        return;
    pl_costs_json_fill_additive(r);
    if (pl_costs_json_is_well(r))
        add_passes(r);
    if (pl_costs_json_is_well(r) && r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        pl_costs_json_finish_variants(r);
}

/* Stages whose units recompute alone, and whose passes of the weights come later, hold
 * micro-batches as if they recomputed all, but the inputs of every unit. */
static void take_units(pl_costs_json *r) {
    const json_t *units = json_object_get(r->root.json, "units");
    r->recomputes_units = pl_costs_json_any_has(units, "recomputed") &&
                          pl_copies_have_weights(&r->pipeline.copies) &&
                          r->pipeline.recompute != POPLINER_RECOMPUTE_FULL &&
                          r->pipeline.recompute != POPLINER_RECOMPUTE_AUTO;
    if (r->recomputes_units)
        r->pipeline.recompute = POPLINER_RECOMPUTE_FULL;
}

/* The micro-batches of "+N" are under way: what they recompute is there, so their whole stash is
 * part of the memory, and only the other copies are inputs. At most so many that sums have 64
 * bits. */
static void take_working_sets(pl_costs_json *r) {
    enum { MOST = POPLINER_MAX_COPIES / 2 };
    size_t *more = &r->pipeline.copies.more;
    if (r->pipeline.recompute != POPLINER_RECOMPUTE_FULL &&
        r->pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        return;
    r->num_working_sets = *more < MOST ? *more : MOST;
    *more = 0;
}

/* Returns the costs with another estimate of sizes; NULL if none says that, or without memory. */
static json_t *with_estimate(const json_t *root, const char *key) {
    static const char *const lists[] = {"units", "shared"};
    const bool has_any = pl_costs_json_any_has(json_object_get(root, lists[0]), key) ||
                         pl_costs_json_any_has(json_object_get(root, lists[1]), key);
    json_t *copy = has_any ? json_deep_copy(root) : NULL;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        size_t place;
        json_t *own;
        json_array_foreach(json_object_get(copy, lists[i]), place, own) {
            json_object_update(own, json_object_get(own, key));
            json_object_del(own, pl_estimate_keys[POPLINER_NEED_LEAST]);
            json_object_del(own, pl_estimate_keys[POPLINER_NEED_MOST]);
        }
    }
    return copy;
}

/* Reads the costs with another estimate of sizes, too, where units say that. */
static popliner_status read_estimate(const pl_costs_json *r, popliner_need need,
                                     const popliner_pipeline *pipeline, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    pl_costs_file *file = r->file;
    json_t *own = with_estimate(r->root.json, pl_estimate_keys[need]);
    if (own == NULL)
        return status;
    pl_costs_file *estimate = file->estimates[need] = calloc(1, sizeof *estimate);
    if (estimate == NULL)
        status = pl_fail_memory(error, "the costs of the file");
    else {
        estimate->info.cuts_per_unit = file->info.cuts_per_unit;
        status =
            pl_read_costs_json(own, r->json.has_lines, r->json.path, pipeline, estimate, error);
    }
    if (status == POPLINER_OK && need == POPLINER_NEED_MOST)
        file->costs->most = estimate->costs;
    json_decref(own);
    return status;
}

popliner_status pl_read_costs_json(const json_t *root, bool has_lines, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error) {
    pl_costs_json r = {.json = {path, {POPLINER_OK, error}, has_lines},
                       .root.json = root,
                       .file = file,
                       .pipeline = {.max_stages = 1}};
    if (pipeline != NULL)
        r.pipeline = pl_pipeline_of_any_split(pipeline);
    r.pipeline.effects = 0; /* the file has all that its stages store */
    r.pipeline.should_stop = NULL;
    r.pipeline.should_stop_user = NULL;
    const popliner_pipeline told = r.pipeline;
    r.has_pipeline = pl_copies_take_turns(&told.copies); /* they need their map */
    take_units(&r);
    take_working_sets(&r);
    file->additive.pipeline = r.pipeline;
    read_all(&r);
    popliner_status status = r.json.outcome.status;
    if (status == POPLINER_OK && r.has_pipeline)
        status = popliner_costs_set_pipeline(file->costs, &told, error);
    if (status == POPLINER_OK)
        status = read_estimate(&r, POPLINER_NEED_MOST, pipeline, error);
    if (status == POPLINER_OK && r.pipeline.need == POPLINER_NEED_LEAST)
        status = read_estimate(&r, POPLINER_NEED_LEAST, pipeline, error);
    file->info.has_kept = file->info.has_kept || r.has_kept;
    pl_names_free(&r.units);
    pl_names_free(&r.regions);
    pl_arrays_free(&r.sums.arrays);
    pl_arrays_free(&r.arrays);
    return status;
}
