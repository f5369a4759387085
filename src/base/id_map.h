/* Maps the ids in a file, and distinct names, to indices 0 ... count-1.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_ID_MAP_H
#define PL_BASE_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/keys.h"

/* No item, wherever an index is stored in 32 bits. */
#define PL_NONE UINT32_MAX

typedef struct pl_id_entry {
    uint64_t id;
    uint32_t index;
} pl_id_entry;

/* Compares for qsort(): by id, then by index. */
int pl_id_entry_compare(const void *left, const void *right);

/* Returns the position of the first entry of `id` in sorted entries, or the position of the first
 * larger id. O(log count). */
size_t pl_id_entries_place(const pl_id_entry *entries, size_t count, uint64_t id);

/* Zero-initialise; add every id; sort once; then find. While the i-th added id is first_id + i and
 * has index i (regular), as in nearly every table, no entries are stored. */
typedef struct pl_id_map {
    uint64_t first_id;
    size_t count;
    pl_id_entry *entries; /* owned; NULL while the map is regular */
    size_t capacity;
} pl_id_map;

/* False if memory is short, or the index does not fit into 32 bits. */
bool pl_id_map_add(pl_id_map *map, uint64_t id, size_t index);

/* Sorts by id, keeping the smallest index of equal ids. O(count log count), O(1) when regular. */
void pl_id_map_sort(pl_id_map *map);

/* Returns the index of `id`, or PL_NONE. O(1) if regular, else O(log count). */
static inline uint32_t pl_id_map_find(const pl_id_map *map, uint64_t id);

/* Like pl_id_map_find, for a map that is not regular. */
uint32_t pl_id_map_search(const pl_id_map *map, uint64_t id);

void pl_id_map_free(pl_id_map *map);

static inline uint32_t pl_id_map_find(const pl_id_map *map, uint64_t id) {
    if (map->entries != NULL)
        return pl_id_map_search(map, id);
    return id - map->first_id < map->count ? (uint32_t)(id - map->first_id) : PL_NONE;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Zero-initialise; free with pl_names_free. */
typedef struct pl_names {
    const char **items; /* [count] */
    size_t count;
    pl_keys keys;     /* their hashes */
    pl_arrays arrays; /* own all of these; failed: no further name is added */
} pl_names;

/* Returns the number of a name, and adds the name if it is new; SIZE_MAX if memory is or was short.
 * O(length). */
size_t pl_names_number(pl_names *names, const char *name);

void pl_names_free(pl_names *names);

#endif
