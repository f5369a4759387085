/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/keys.h"

#include <assert.h>
#include <string.h>

#include <xxhash.h>

/* Returns the slot of a key, or the empty one for it. There is always an empty slot. */
static uint32_t *find_slot(const pl_keys *keys, const void *key) {
    const size_t mask = keys->num_slots - 1;
    size_t i = (size_t)XXH3_64bits(key, keys->key_size) & mask;
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

void pl_tally_add(pl_tally *tally, const void *key, uint64_t bytes) {
    const size_t count = tally->keys.count;
    const size_t number = pl_keys_number(&tally->keys, key);
    if (number < count && !tally->keys.arrays->failed)
        tally->bytes[number] += bytes;
    else if (pl_arrays_grow(tally->keys.arrays, &tally->bytes, tally->keys.count,
                            sizeof *tally->bytes))
        tally->bytes[number] = bytes;
}

void pl_tally_empty(pl_tally *tally) {
    pl_keys *keys = &tally->keys;
    keys->count = 0;
    if (keys->num_slots > 0)
        memset(keys->slots, 0, keys->num_slots * sizeof *keys->slots);
}
