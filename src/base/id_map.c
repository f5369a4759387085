/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/id_map.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/growth.h"

/* Stores the entries that were implied so far. */
static bool store_entries(pl_id_map *map) {
    if (map->entries != NULL)
        return true;
    if (!pl_grow(&map->entries, &map->capacity, map->count + 1, sizeof *map->entries))
        return false;
    for (size_t i = 0; i < map->count; i++)
        map->entries[i] = (pl_id_entry){map->first_id + i, (uint32_t)i};
    return true;
}

bool pl_id_map_add(pl_id_map *map, uint64_t id, size_t index) {
    if (index >= PL_NONE)
        return false;
    if (map->count == 0 && map->entries == NULL)
        map->first_id = id;
    if (map->entries == NULL && id == map->first_id + map->count && index == map->count) {
        map->count++;
        return true;
    }
    if (!store_entries(map))
        return false;
    if (!pl_grow(&map->entries, &map->capacity, map->count + 1, sizeof *map->entries))
        return false;
    map->entries[map->count++] = (pl_id_entry){id, (uint32_t)index};
    return true;
}

bool pl_id_map_add_run(pl_id_map *map, uint64_t id, size_t index, size_t count) {
    if (count > PL_NONE || index > PL_NONE - count)
        return false;
    if (count > 0 && !pl_id_map_add(map, id, index))
        return false;
    if (count > 0 && map->entries == NULL) {
        map->count += count - 1;
        return true;
    }
    for (size_t i = 1; i < count; i++) {
        if (!pl_id_map_add(map, id + i, index + i))
            return false;
    }
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

bool pl_id_map_renumber(pl_id_map *map, const uint32_t *new_index) {
    if (map->count > 0 && !store_entries(map))
        return false;
    for (size_t i = 0; i < map->count; i++)
        map->entries[i].index = new_index[map->entries[i].index];
    return true;
}

void pl_id_map_free(pl_id_map *map) {
    free(map->entries);
    *map = (pl_id_map){0};
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Returns the slot that holds the name, or the empty slot for it. */
static size_t find_slot(const pl_names *names, const char *name) {
    size_t slot = (size_t)XXH3_64bits(name, strlen(name)) & (names->num_slots - 1);
    while (names->slots[slot] != 0 && strcmp(names->items[names->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & (names->num_slots - 1);
    return slot;
}

static bool grow_slots(pl_names *names) {
    size_t num_slots = names->num_slots == 0 ? 64 : names->num_slots * 4;
    uint32_t *slots = pl_new_array(num_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    free(names->slots);
    names->slots = slots;
    names->num_slots = num_slots;
    for (size_t i = 0; i < names->count; i++)
        names->slots[find_slot(names, names->items[i])] = (uint32_t)i + 1;
    return true;
}

size_t pl_names_number(pl_names *names, const char *name) {
    if (names->count * 2 >= names->num_slots && !grow_slots(names))
        return SIZE_MAX;
    size_t slot = find_slot(names, name);
    if (names->slots[slot] != 0)
        return names->slots[slot] - 1;
    if (names->count >= UINT32_MAX - 1 ||
        !pl_grow(&names->items, &names->capacity, names->count + 1, sizeof *names->items))
        return SIZE_MAX;
    char *copy = pl_copy_string(name, strlen(name));
    if (copy == NULL)
        return SIZE_MAX;
    names->items[names->count++] = copy;
    names->slots[slot] = (uint32_t)names->count;
    return names->count - 1;
}

void pl_names_free(pl_names *names) {
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    free(names->slots);
    *names = (pl_names){0};
}
