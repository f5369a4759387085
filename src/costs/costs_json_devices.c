/* The devices that a file of costs tells of, and their memories.
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

static popliner_status read_limits(pl_costs_json *r, const json_t *memories) {
    pl_json_place memories_place = pl_place("devices.memories");
    popliner_costs_file *file = r->file;
    size_t end = file->info.num_ipus > 0 ? file->info.num_ipus : MAX_DEVICES;
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
        if (!parse_device(key, &limit->ipu) || limit->ipu >= end)
            return pl_json_refuse(&r->json, &memories_place,
                                  "\"%.100s\" is not the number of a device, from 0 to %zu", key,
                                  end - 1);
        status = pl_json_whole(&r->json, &place, value, 1, PL_MAX_BYTES, &limit->bytes);
        if (status != POPLINER_OK)
            return status;
        ++file->info.num_ipu_limits;
    }
    qsort(file->limits, file->info.num_ipu_limits, sizeof *file->limits, compare_limits);
    return POPLINER_OK;
}

popliner_status pl_costs_json_read_devices(pl_costs_json *r) {
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
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_DEVICES, &place, devices);
    if (status == POPLINER_OK && count != NULL)
        status = pl_json_whole(&r->json, &count_place, count, 1, MAX_DEVICES, &num_ipus);
    r->file->info.num_ipus = (size_t)num_ipus;
    if (status == POPLINER_OK && memory != NULL)
        status = pl_json_whole(&r->json, &memory_place, memory, 1, PL_MAX_BYTES,
                               &r->file->info.bytes_per_tile);
    if (status == POPLINER_OK && memories != NULL)
        status = read_limits(r, memories);
    return status;
}
