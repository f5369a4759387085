/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/id_map.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/growth.h"

bool pl_id_map_add(pl_id_map *map, uint64_t id, size_t index) {
    const bool is_regular = map->entries == NULL;
    if (index >= PL_NONE)
        return false;
    if (map->count == 0 && is_regular)
        map->first_id = id;
    if (is_regular && id == map->first_id + map->count && index == map->count) {
        map->count++;
        return true;
    }
    if (!pl_grow(&map->entries, &map->capacity, map->count + 1, sizeof *map->entries))
        return false;
    for (size_t i = 0; is_regular && i < map->count; i++) /* those that were implied so far */
        map->entries[i] = (pl_id_entry){map->first_id + i, (uint32_t)i};
    map->entries[map->count++] = (pl_id_entry){id, (uint32_t)index};
    return true;
}

int pl_id_entry_compare(const void *left, const void *right) {
    const pl_id_entry *a = left;
    const pl_id_entry *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void pl_id_map_sort(pl_id_map *map) {
    bool sorted = true;
    for (size_t i = 1; map->entries != NULL && i < map->count && sorted; i++)
        sorted = map->entries[i - 1].id < map->entries[i].id;
    if (sorted)
        return;
    qsort(map->entries, map->count, sizeof *map->entries, pl_id_entry_compare);
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        if (kept == 0 || map->entries[kept - 1].id != map->entries[i].id)
            map->entries[kept++] = map->entries[i];
    }
    map->count = kept;
}

size_t pl_id_entries_place(const pl_id_entry *entries, size_t count, uint64_t id) {
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t pl_id_map_search(const pl_id_map *map, uint64_t id) {
    size_t place = pl_id_entries_place(map->entries, map->count, id);
    return place < map->count && map->entries[place].id == id ? map->entries[place].index : PL_NONE;
}

void pl_id_map_free(pl_id_map *map) {
    free(map->entries);
    *map = (pl_id_map){0};
}

/* ---- Names ----------------------------------------------------------------------------------- */

size_t pl_names_number(pl_names *names, const char *name) {
    pl_arrays *arrays = &names->arrays;
    /* of 128 bits, which no two names have in common */
    const XXH128_hash_t hash = XXH3_128bits(name, strlen(name));
    names->keys.arrays = arrays; /* the names may have moved */
    names->keys.key_size = sizeof hash;
    const size_t number = pl_keys_number(&names->keys, &hash);
    if (!arrays->failed && number == names->count &&
        pl_arrays_grow(arrays, &names->items, number + 1, sizeof *names->items)) {
        names->items[number] = pl_arrays_text(arrays, name);
        names->count += !arrays->failed;
    }
    return arrays->failed ? SIZE_MAX : number;
}

void pl_names_free(pl_names *names) {
    pl_arrays_free(&names->arrays);
    *names = (pl_names){0};
}
