/* The devices that a file of costs tells of, their memories and speeds.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <stdlib.h>

#include "base/growth.h"

enum { MAX_DEVICES = 65536 };

/* "0", "17", but not "017": so that no device can be there twice. False if it is none. */
static bool parse_device(const char *key, size_t *device) {
    *device = 0;
    if (key[0] == '\0' || (key[0] == '0' && key[1] != '\0'))
        return false;
    for (; *key != '\0'; ++key) {
        if (*key < '0' || *key > '9' || *device >= MAX_DEVICES)
            return false;
        *device = *device * 10 + (size_t)(*key - '0');
    }
    return *device < MAX_DEVICES;
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

/* The device that a key of the object at `place` names. */
static popliner_status read_device(const pl_costs_json *r, const pl_json_place *place,
                                   const char *key, size_t *device) {
    size_t end = r->file->info.num_ipus > 0 ? r->file->info.num_ipus : MAX_DEVICES;
    if (parse_device(key, device) && *device < end)
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

popliner_status pl_costs_json_read_devices(pl_costs_json *r) {
    const json_t *devices = json_object_get(r->root, "devices");
    const json_t *count = json_object_get(devices, "count");
    const json_t *memory = json_object_get(devices, "memory");
    const json_t *memories = json_object_get(devices, "memories");
    const json_t *speeds = json_object_get(devices, "speeds");
    pl_json_place place = pl_place("devices");
    pl_json_place count_place = pl_place("devices.count");
    pl_json_place memory_place = pl_place("devices.memory");
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
    return status;
}
