/* From the ids that a file uses to indices 0 ... count-1.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_ID_MAP_H
#define PL_BASE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "No such thing" wherever an index is stored in 32 bits. */
#define PL_NONE UINT32_MAX

typedef struct pl_id_entry {
    uint64_t id;
    uint32_t index;
} pl_id_entry;

/* For qsort(): by id, those of one id by index. */
int pl_id_entry_compare(const void *left, const void *right);

/* Of entries in this order, the first of `id`, or what comes behind where it would be.
 * O(log count). */
size_t pl_id_entries_place(const pl_id_entry *entries, size_t count, uint64_t id);

/* Zero-initialise; add every id; sort once; then find. As long as the i-th id added is first_id + i
 * with index i, as in nearly every table, nothing is stored at all. */
typedef struct pl_id_map {
    uint64_t first_id;
    size_t count;
    pl_id_entry *entries; /* owned; NULL while regular as said above */
    size_t capacity;
} pl_id_map;

/* False when memory is short, or when the index is none that 32 bits can hold. */
bool pl_id_map_add(pl_id_map *map, uint64_t id, size_t index);

/* The same for `count` ids and indices that follow each other. O(1) when regular. */
bool pl_id_map_add_run(pl_id_map *map, uint64_t id, size_t index, size_t count);

/* Sorts by id, keeping the smallest index of equal ids. O(count log count), O(1) when regular. */
void pl_id_map_sort(pl_id_map *map);

/* The index of `id`, or PL_NONE. O(1) when regular, else O(log count). */
static inline uint32_t pl_id_map_find(const pl_id_map *map, uint64_t id);

/* The same for a map that is not regular. */
uint32_t pl_id_map_search(const pl_id_map *map, uint64_t id);

/* Replaces every index i by new_index[i]. False when memory is short. */
bool pl_id_map_renumber(pl_id_map *map, const uint32_t *new_index);

void pl_id_map_free(pl_id_map *map);

static inline uint32_t pl_id_map_find(const pl_id_map *map, uint64_t id) {
    if (map->entries != NULL)
        return pl_id_map_search(map, id);
    return id - map->first_id < map->count ? (uint32_t)(id - map->first_id) : PL_NONE;
}

#endif
