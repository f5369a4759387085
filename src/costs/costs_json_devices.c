/* The devices that a file of costs tells of, their memories, speeds and links.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/growth.h"

enum { MAX_DEVICES = POPLINER_MAX_IPU + 1 };

/* "0", "17", but not "017": so that no device can be there twice. NULL if it is none, else what
 * follows. */
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

static int compare_limits(const void *left, const void *right) {
    const popliner_ipu_limit *a = left;
    const popliner_ipu_limit *b = right;
    return (a->ipu > b->ipu) - (a->ipu < b->ipu);
}

static int compare_speeds(const void *left, const void *right) {
    const popliner_ipu_speed *a = left;
    const popliner_ipu_speed *b = right;
    return (a->ipu > b->ipu) - (a->ipu < b->ipu);
}

/* What no device's number reaches. */
static size_t end_of_devices(const pl_costs_json *r) {
    return r->file->info.num_ipus > 0 ? r->file->info.num_ipus : MAX_DEVICES;
}

/* The device that a key of the object at `place` names. */
static popliner_status read_device(const pl_costs_json *r, const pl_json_place *place,
                                   const char *key, size_t *device) {
    size_t end = end_of_devices(r);
    const char *rest = take_device(key, device);
    if (rest != NULL && *rest == '\0' && *device < end)
        return POPLINER_OK;
    return pl_json_refuse(&r->json, place,
                          "\"%.100s\" is not the number of a device, from 0 to %zu", key, end - 1);
}

static popliner_status read_limits(pl_costs_json *r, const json_t *memories) {
    pl_json_place memories_place = pl_place("devices.memories");
    popliner_costs_file *file = r->file;
    const char *key = NULL;
    json_t *value = NULL;
    popliner_status status = pl_json_object(&r->json, &memories_place, memories);
    if (status != POPLINER_OK)
        return status;
    file->limits = pl_new_array(json_object_size(memories), sizeof *file->limits);
    if (file->limits == NULL)
        return pl_costs_json_fail_memory(r);
    json_object_foreach((json_t *)memories, key, value) {
        pl_json_place place = pl_place("devices.memories.%s", key);
        popliner_ipu_limit *limit = &file->limits[file->info.num_ipu_limits];
        status = read_device(r, &memories_place, key, &limit->ipu);
        if (status == POPLINER_OK)
            status = pl_json_whole(&r->json, &place, value, 1, PL_MAX_BYTES, &limit->bytes);
        if (status != POPLINER_OK)
            return status;
        ++file->info.num_ipu_limits;
    }
    qsort(file->limits, file->info.num_ipu_limits, sizeof *file->limits, compare_limits);
    return POPLINER_OK;
}

static popliner_status read_speed(const pl_costs_json *r, const pl_json_place *place,
                                  const json_t *value, uint64_t *millionths) {
    double speed = json_number_value(value);
    if (!json_is_number(value) || !(speed >= 0.001 && speed <= 1000))
        return pl_json_refuse(&r->json, place, "expected a speed from 0.001 to 1000");
    return pl_json_scaled(&r->json, place, value, POPLINER_SPEED_ONE, POPLINER_MOST_SPEED,
                          millionths);
}

static popliner_status read_speeds(pl_costs_json *r, const json_t *speeds) {
    pl_json_place speeds_place = pl_place("devices.speeds");
    popliner_costs_file *file = r->file;
    const char *key = NULL;
    json_t *value = NULL;
    popliner_status status = pl_json_object(&r->json, &speeds_place, speeds);
    if (status != POPLINER_OK)
        return status;
    file->speeds = pl_new_array(json_object_size(speeds), sizeof *file->speeds);
    if (file->speeds == NULL)
        return pl_costs_json_fail_memory(r);
    json_object_foreach((json_t *)speeds, key, value) {
        pl_json_place place = pl_place("devices.speeds.%s", key);
        popliner_ipu_speed *speed = &file->speeds[file->info.num_ipu_speeds];
        status = read_device(r, &speeds_place, key, &speed->ipu);
        if (status == POPLINER_OK)
            status = read_speed(r, &place, value, &speed->millionths);
        if (status != POPLINER_OK)
            return status;
        ++file->info.num_ipu_speeds;
    }
    qsort(file->speeds, file->info.num_ipu_speeds, sizeof *file->speeds, compare_speeds);
    return POPLINER_OK;
}

/* Bytes in a unit of time: whole ones, or rounded to millionths. */
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

/* The two devices that a key like "0-1" names, the smaller one first. */
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
    popliner_costs_file *file = r->file;
    const char *key = NULL;
    json_t *value = NULL;
    popliner_status status = pl_json_object(&r->json, &links_place, links);
    if (status != POPLINER_OK)
        return status;
    file->links = pl_new_array(json_object_size(links), sizeof *file->links);
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
            return pl_json_refuse(&r->json, &links_place, "the link %zu-%zu is there twice",
                                  file->links[i].first_ipu, file->links[i].second_ipu);
    return POPLINER_OK;
}

popliner_status pl_costs_json_read_devices(pl_costs_json *r) {
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
        status = read_limits(r, memories);
    if (status == POPLINER_OK && speeds != NULL)
        status = read_speeds(r, speeds);
    if (status == POPLINER_OK && bandwidth != NULL)
        status = read_bandwidth(r, &bandwidth_place, bandwidth, &r->file->info.link_bandwidth);
    if (status == POPLINER_OK && links != NULL)
        status = read_links(r, links);
    return status;
}
