/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_tile_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/parallel.h"

/* Addresses [first, end) that several variables have. */
typedef struct extent {
    uint64_t first;
    uint64_t end;
} extent;

/* What one thread adds up in. */
typedef struct worker {
    uint64_t *keys; /* [most variables of a tile]: address << 32 | place on the tile */
    uint64_t *other_keys;
    extent *shared;
    size_t shared_capacity;
    uint64_t *tile_class_bytes; /* [num_classes]: of one tile; 0 between tiles */
    uint32_t *tile_classes;     /* [num_classes]: those that the tile has */
    int64_t *change_bytes;      /* [num_steps + 1]; 0 between tiles */
    uint64_t *class_bytes;      /* [num_classes]: of all tiles of this thread */
} worker;

typedef struct adding {
    const popliner_profile *profile;
    pl_tile_sums *sums;
    worker *workers;
} adding;

/* ---- addresses ---- */

static void sort_few(uint64_t *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t key = keys[i];
        size_t k = i;
        for (; k > 0 && keys[k - 1] > key; k--)
            keys[k] = keys[k - 1];
        keys[k] = key;
    }
}

/* Sorts the keys by address, by digits from the lowest: time that no order of the file can stretch.
 * Returns where they are then, in `keys` or in `other`. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *other, size_t count, uint64_t highest) {
    enum { FEW = 48, MANY = 1024, MOST_DIGITS = 1 << 11 };
    if (count <= FEW) {
        sort_few(keys, count);
        return keys;
    }
    unsigned bits = count < MANY ? 8 : 11;
    uint64_t mask = (1u << bits) - 1;
    for (unsigned shift = 32; shift < 64 && highest >> (shift - 32) > 0; shift += bits) {
        uint32_t place[MOST_DIGITS] = {0};
        uint32_t next = 0;
        for (size_t i = 0; i < count; i++)
            place[keys[i] >> shift & mask]++;
        for (size_t digit = 0; digit <= mask; digit++) {
            uint32_t number = place[digit];
            place[digit] = next;
            next += number;
        }
        for (size_t i = 0; i < count; i++)
            other[place[keys[i] >> shift & mask]++] = keys[i];
        uint64_t *sorted = other;
        other = keys;
        keys = sorted;
    }
    return keys;
}

/* The variables of a tile by address: each key leads to one. */
typedef struct tile_layout {
    const uint32_t *size_bytes; /* of the tile's variables, like the next */
    const uint8_t *category;
    const uint64_t *keys;
    size_t count;
    uint64_t *alone_bytes; /* [category * num_tiles] is that of the tile, like the next */
    uint64_t *shared_bytes;
    size_t num_tiles;
} tile_layout;

static uint64_t begin_of(const tile_layout *l, size_t i) {
    return l->keys[i] >> 32;
}

static uint64_t end_of(const tile_layout *l, size_t i) {
    return begin_of(l, i) + l->size_bytes[(uint32_t)l->keys[i]];
}

/* The addresses that several of the variables [first, end) have, whose addresses are without a gap.
 * They come out in order, and none touches the next. */
static bool find_shared(const tile_layout *l, size_t first, size_t end, worker *w, size_t *count) {
    *count = 0;
    if (!pl_grow(&w->shared, &w->shared_capacity, end - first, sizeof *w->shared))
        return false;
    uint64_t covered = end_of(l, first);
    for (size_t i = first + 1; i < end; i++) {
        uint64_t from = begin_of(l, i);
        uint64_t own_end = end_of(l, i);
        uint64_t to = own_end < covered ? own_end : covered;
        if (*count > 0 && from <= w->shared[*count - 1].end) {
            if (to > w->shared[*count - 1].end)
                w->shared[*count - 1].end = to;
        } else {
            w->shared[(*count)++] = (extent){from, to};
        }
        covered = own_end > covered ? own_end : covered;
    }
    return true;
}

/* Adds the variables [first, end) to their categories. What lies between two extents belongs to one
 * variable alone, so all walks over them together are short. */
static void add_shared(const tile_layout *l, size_t first, size_t end, const extent *shared,
                       size_t count) {
    size_t begin = 0; /* the first extent that ends behind the variable's begin */
    for (size_t i = first; i < end; i++) {
        uint64_t from = begin_of(l, i);
        uint64_t to = end_of(l, i);
        uint64_t common = 0;
        size_t item = l->category[(uint32_t)l->keys[i]] * l->num_tiles;
        while (begin < count && shared[begin].end <= from)
            begin++;
        for (size_t k = begin; k < count && shared[k].first < to; k++) {
            uint64_t low = shared[k].first > from ? shared[k].first : from;
            common += (shared[k].end < to ? shared[k].end : to) - low;
        }
        l->shared_bytes[item] += common;
        l->alone_bytes[item] += to - from - common;
    }
}

/* Goes over the variables in the order of their addresses. */
static bool add_layout(const tile_layout *l, worker *w, uint64_t *covered_bytes,
                       uint64_t *last_end) {
    size_t i = 0;
    while (i < l->count) {
        uint64_t from = begin_of(l, i);
        uint64_t covered = end_of(l, i);
        size_t next = i + 1;
        for (; next < l->count && begin_of(l, next) < covered; next++) {
            uint64_t own_end = end_of(l, next);
            covered = own_end > covered ? own_end : covered;
        }
        if (next == i + 1) {
            l->alone_bytes[l->category[(uint32_t)l->keys[i]] * l->num_tiles] += covered - from;
        } else {
            size_t count;
            if (!find_shared(l, i, next, w, &count))
                return false;
            add_shared(l, i, next, w->shared, count);
        }
        *covered_bytes += covered - from;
        *last_end = covered;
        i = next;
    }
    return true;
}

/* ---- liveness ---- */

/* Adds what the tile has of each class, and leaves the worker's sums of the tile 0. */
static void add_classes(const popliner_profile *p, worker *w, size_t count,
                        uint64_t *always_live_bytes, uint64_t *most_bytes) {
    for (size_t i = 0; i < count; i++) {
        uint32_t c = w->tile_classes[i];
        uint64_t bytes = w->tile_class_bytes[c];
        w->tile_class_bytes[c] = 0;
        w->class_bytes[c] += bytes;
        if (p->class_always_live[c]) {
            *always_live_bytes += bytes;
            continue;
        }
        for (uint32_t k = p->class_ranges_start[c]; k < p->class_ranges_start[c + 1]; k++) {
            w->change_bytes[p->range_first_step[k]] += (int64_t)bytes;
            w->change_bytes[p->range_end_step[k]] -= (int64_t)bytes;
        }
    }
    int64_t bytes = 0;
    int64_t most = 0;
    for (size_t step = 0; step < p->num_steps; step++) {
        bytes += w->change_bytes[step];
        w->change_bytes[step] = 0;
        most = bytes > most ? bytes : most;
    }
    w->change_bytes[p->num_steps] = 0;
    *most_bytes = (uint64_t)most;
}

static bool add_tile(void *user, size_t worker_number, size_t tile) {
    const adding *a = user;
    const popliner_profile *p = a->profile;
    worker *w = &a->workers[worker_number];
    size_t start = (size_t)p->tile_variables_start[tile];
    size_t num_variables = (size_t)p->tile_variables_start[tile + 1] - start;
    size_t num_keys = 0;
    size_t num_classes = 0;
    uint64_t last_key = 0;
    uint64_t highest = 0;
    bool sorted = true;
    for (size_t i = 0; i < num_variables; i++) {
        uint64_t size_bytes = p->variable_size_bytes[start + i];
        uint32_t c = p->variable_class[start + i];
        if (size_bytes == 0)
            continue;
        if (w->tile_class_bytes[c] == 0)
            w->tile_classes[num_classes++] = c;
        w->tile_class_bytes[c] += size_bytes;
        uint64_t key = (uint64_t)p->variable_offset[start + i] << 32 | i;
        sorted = sorted && key > last_key;
        last_key = key;
        highest |= key;
        w->keys[num_keys++] = key;
    }
    add_classes(p, w, num_classes, &a->sums->always_live_bytes[tile],
                &a->sums->not_always_live_bytes[tile]);
    const tile_layout layout = {
        .size_bytes = p->variable_size_bytes + start,
        .category = p->variable_category + start,
        .keys = sorted ? w->keys : sort_keys(w->keys, w->other_keys, num_keys, highest >> 32),
        .count = num_keys,
        .alone_bytes = a->sums->alone_bytes + tile,
        .shared_bytes = a->sums->shared_bytes + tile,
        .num_tiles = p->target.num_tiles,
    };
    return add_layout(&layout, w, &a->sums->covered_bytes[tile], &a->sums->end[tile]);
}

/* ---- all tiles ---- */

static bool begin_worker(const popliner_profile *p, size_t most_variables, worker *w) {
    w->keys = pl_new_array(most_variables, sizeof *w->keys);
    w->other_keys = pl_new_array(most_variables, sizeof *w->other_keys);
    w->tile_class_bytes = pl_new_array(p->num_classes, sizeof *w->tile_class_bytes);
    w->tile_classes = pl_new_array(p->num_classes, sizeof *w->tile_classes);
    w->change_bytes = pl_new_array(p->num_steps + 1, sizeof *w->change_bytes);
    w->class_bytes = pl_new_array(p->num_classes, sizeof *w->class_bytes);
    return w->keys != NULL && w->other_keys != NULL && w->tile_class_bytes != NULL &&
           w->tile_classes != NULL && w->change_bytes != NULL && w->class_bytes != NULL;
}

static void end_worker(worker *w) {
    free(w->keys);
    free(w->other_keys);
    free(w->shared);
    free(w->tile_class_bytes);
    free(w->tile_classes);
    free(w->change_bytes);
    free(w->class_bytes);
}

static bool allocate(const popliner_profile *p, pl_tile_sums *sums) {
    size_t num_tiles = p->target.num_tiles;
    sums->always_live_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    sums->not_always_live_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    sums->covered_bytes = pl_new_array(num_tiles, sizeof(uint64_t));
    sums->end = pl_new_array(num_tiles, sizeof(uint64_t));
    sums->alone_bytes = pl_new_array(p->num_categories * num_tiles, sizeof(uint64_t));
    sums->shared_bytes = pl_new_array(p->num_categories * num_tiles, sizeof(uint64_t));
    sums->class_bytes = pl_new_array(p->num_classes, sizeof(uint64_t));
    return sums->always_live_bytes != NULL && sums->not_always_live_bytes != NULL &&
           sums->covered_bytes != NULL && sums->end != NULL && sums->alone_bytes != NULL &&
           sums->shared_bytes != NULL && sums->class_bytes != NULL;
}

void pl_tile_sums_free(pl_tile_sums *sums) {
    free(sums->always_live_bytes);
    free(sums->not_always_live_bytes);
    free(sums->covered_bytes);
    free(sums->end);
    free(sums->alone_bytes);
    free(sums->shared_bytes);
    free(sums->class_bytes);
    *sums = (pl_tile_sums){0};
}

popliner_status pl_tile_sums_find(const popliner_profile *p, size_t num_threads, pl_tile_sums *sums,
                                  popliner_error *error) {
    size_t num_tiles = p->target.num_tiles;
    size_t most_variables = 0;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        size_t count = (size_t)(p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
        most_variables = count > most_variables ? count : most_variables;
    }
    size_t num_workers = num_threads < num_tiles ? num_threads : num_tiles;
    adding a = {.profile = p, .sums = sums};
    a.workers = pl_new_array(num_workers, sizeof *a.workers);
    bool memory = a.workers != NULL && allocate(p, sums);
    for (size_t i = 0; memory && i < num_workers; i++)
        memory = begin_worker(p, most_variables, &a.workers[i]);
    const pl_parallel work = {
        .num_threads = num_workers, .count = num_tiles, .task = add_tile, .user = &a};
    memory = memory && pl_parallel_run(&work) == num_tiles;
    for (size_t i = 0; a.workers != NULL && i < num_workers; i++) {
        for (size_t c = 0; memory && c < p->num_classes; c++)
            sums->class_bytes[c] += a.workers[i].class_bytes[c];
        end_worker(&a.workers[i]);
    }
    free(a.workers);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the checks of the profile");
}
