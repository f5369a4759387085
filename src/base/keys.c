/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/keys.h"

#include <assert.h>
#include <string.h>

/* Mixes a word into a hash. */
static uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const unsigned char *key, size_t size) {
    uint64_t hash = 0;
    for (uint64_t word; size >= sizeof word; size -= sizeof word, key += sizeof word) {
        memcpy(&word, key, sizeof word);
        hash = mixed(hash, word);
    }
    for (uint32_t half; size >= sizeof half; size -= sizeof half, key += sizeof half) {
        memcpy(&half, key, sizeof half);
        hash = mixed(hash, half);
    }
    for (; size > 0; --size)
        hash = mixed(hash, *key++);
    return hash;
}

/* Returns the slot of a key, or the empty one for it. There is always an empty slot. */
static uint32_t *find_slot(const pl_keys *keys, const void *key) {
    const size_t mask = keys->num_slots - 1;
    size_t i = (size_t)hash_of(key, keys->key_size) & mask;
    while (keys->slots[i] != 0 &&
           memcmp(pl_key_at(keys, keys->slots[i] - 1), key, keys->key_size) != 0)
        i = (i + 1) & mask;
    return &keys->slots[i];
}

/* Doubles the slots, so that at most half of them are used. */
static void grow_slots(pl_keys *keys) {
    const size_t num_slots = keys->num_slots == 0 ? 64 : 2 * keys->num_slots;
    if (!pl_arrays_grow(keys->arrays, &keys->slots, num_slots, sizeof *keys->slots))
        return;
    keys->num_slots = num_slots;
    memset(keys->slots, 0, num_slots * sizeof *keys->slots);
    for (size_t i = 0; i < keys->count; i++)
        *find_slot(keys, pl_key_at(keys, i)) = (uint32_t)i + 1;
}

size_t pl_keys_number(pl_keys *keys, const void *key) {
    if (2 * (keys->count + 1) > keys->num_slots)
        grow_slots(keys);
    if (keys->arrays->failed)
        return 0;
    uint32_t *slot = find_slot(keys, key);
    if (*slot == 0) {
        if (!pl_arrays_grow(keys->arrays, &keys->keys, keys->count + 1, keys->key_size))
            return 0;
        memcpy(keys->keys + keys->count * keys->key_size, key, keys->key_size);
        *slot = (uint32_t)++keys->count;
    }
    return *slot - 1;
}

void pl_key_sums_add(pl_key_sums *tally, const void *key, uint64_t bytes) {
    const size_t count = tally->keys.count;
    const size_t number = pl_keys_number(&tally->keys, key);
    if (number < count && !tally->keys.arrays->failed)
        tally->bytes[number] += bytes;
    else if (pl_arrays_grow(tally->keys.arrays, &tally->bytes, tally->keys.count,
                            sizeof *tally->bytes))
        tally->bytes[number] = bytes;
}

void pl_keys_empty(pl_keys *keys) {
    keys->count = 0;
    if (keys->num_slots > 0)
        memset(keys->slots, 0, keys->num_slots * sizeof *keys->slots);
}
