/* Adds up the variables of each tile, for the checks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "base/threads.h"

/* Addresses [first, end). */
typedef struct extent {
    uint64_t first;
    uint64_t end;
} extent;

/* Variables of a tile that are adjacent in the file and in memory, as most are. */
typedef struct run {
    uint64_t end;   /* address */
    uint32_t first; /* position on the tile */
    uint32_t next;  /* position after the last */
} run;

/* The sums and scratch space of one thread. */
typedef struct worker {
    run *runs;      /* [largest number of variables of a tile] */
    uint64_t *keys; /* [as runs]: address << 32 | index of `runs` */
    uint64_t *other_keys;
    extent *shared;
    uint64_t *tile_class_bytes; /* [num_classes]: of one tile; 0 between tiles */
    uint32_t *tile_classes;     /* [num_classes]: classes of the tile */
    int64_t *change_bytes;      /* [num_steps + 1]; 0 between tiles */
    uint64_t *class_bytes;      /* [num_classes]: of all tiles of this thread */
    pl_arrays arrays;           /* own all of these */
} worker;

typedef struct adding {
    const popliner_profile *profile;
    pl_tile_sums *sums;
    worker *workers;
} adding;

/* ---- Addresses ---- */

/* Sorts the keys by address with a radix sort, whose time does not depend on the order of the file.
 * Returns the sorted array, `keys` or `other`. */
static uint64_t *sort_keys(uint64_t *keys, uint64_t *other, size_t count) {
    enum { BITS = 8, NUM_DIGITS = 1 << BITS };
    uint64_t addresses = 0; /* all of their bits */
    bool is_sorted = true;
    for (size_t i = 0; i < count; i++) {
        addresses |= keys[i] >> 32;
        is_sorted = is_sorted && (i == 0 || keys[i] > keys[i - 1]);
    }
    for (unsigned shift = 32; !is_sorted && addresses > 0; shift += BITS, addresses >>= BITS) {
        uint32_t place[NUM_DIGITS + 1] = {0};
        for (size_t i = 0; i < count; i++)
            place[(keys[i] >> shift) % NUM_DIGITS + 1]++;
        for (size_t digit = 1; digit < NUM_DIGITS; digit++)
            place[digit] += place[digit - 1];
        for (size_t i = 0; i < count; i++)
            other[place[(keys[i] >> shift) % NUM_DIGITS]++] = keys[i];
        uint64_t *sorted = other;
        other = keys;
        keys = sorted;
    }
    return keys;
}

/* The runs of a tile by address; each key refers to one. */
typedef struct tile_layout {
    const uint32_t *size_bytes; /* of the tile's variables, like `category` */
    const uint8_t *category;
    const run *runs;
    const uint64_t *keys;
    size_t count;
    uint64_t *shared_bytes; /* [PL_MAX_CATEGORIES] */
} tile_layout;

static uint64_t begin_of(const tile_layout *l, size_t i) {
    return l->keys[i] >> 32;
}

static const run *run_of(const tile_layout *l, size_t i) {
    return &l->runs[(uint32_t)l->keys[i]];
}

/* Adds the bytes that variables of a run share to their categories. Between two extents there is
 * one run, so all iterations together are short. */
static void add_shared(const tile_layout *l, size_t i, const extent *shared,
                       const extent *shared_end) {
    const run *own = run_of(l, i);
    uint64_t from = begin_of(l, i);
    if (shared < shared_end && shared->first <= from && shared->end >= own->end) {
        for (uint32_t place = own->first; place < own->next; place++)
            l->shared_bytes[l->category[place]] += l->size_bytes[place];
        return;
    }
    for (uint32_t place = own->first; place < own->next && shared < shared_end; place++) {
        uint64_t to = from + l->size_bytes[place];
        uint64_t common = 0;
        while (shared < shared_end && shared->end <= from)
            shared++;
        for (const extent *e = shared; e < shared_end && e->first < to; e++)
            common += (e->end < to ? e->end : to) - (e->first > from ? e->first : from);
        l->shared_bytes[l->category[place]] += common;
        from = to;
    }
}

/* Finds the addresses that runs use, and those that several of them use; the extents of the latter
 * ascend and do not touch each other. */
static bool add_layout(const tile_layout *l, worker *w, uint64_t *covered_bytes,
                       uint64_t *last_end) {
    size_t num_shared = 0;
    uint64_t covered = 0;
    if (!pl_arrays_grow(&w->arrays, &w->shared, l->count + 1, sizeof *w->shared))
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const uint64_t from = begin_of(l, i);
        const uint64_t end = run_of(l, i)->end;
        const uint64_t to = pl_smaller(end, covered);
        if (num_shared > 0 && from < to && from <= w->shared[num_shared - 1].end)
            w->shared[num_shared - 1].end = pl_larger(to, w->shared[num_shared - 1].end);
        else if (from < to)
            w->shared[num_shared++] = (extent){from, to};
        *covered_bytes += end > covered ? end - pl_larger(from, covered) : 0;
        covered = pl_larger(end, covered);
    }
    *last_end = covered;
    const extent *shared = w->shared;
    const extent *shared_end = w->shared + num_shared;
    for (size_t i = 0; shared < shared_end && i < l->count; i++) {
        while (shared < shared_end && shared->end <= begin_of(l, i))
            shared++;
        if (shared < shared_end && shared->first < run_of(l, i)->end)
            add_shared(l, i, shared, shared_end);
    }
    return true;
}

/* ---- Liveness ---- */

/* Adds the tile's bytes of each class, and resets the worker's sums of the tile. */
static void add_classes(const popliner_profile *p, worker *w, size_t count,
                        uint64_t *always_live_bytes, uint64_t *most_bytes, uint32_t *peak_step) {
    for (size_t i = 0; i < count; i++) {
        uint32_t c = w->tile_classes[i];
        uint64_t bytes = w->tile_class_bytes[c];
        assert(bytes > 0); /* each class of the tile is listed once */
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
        if (bytes > most) {
            most = bytes;
            *peak_step = (uint32_t)step;
        }
    }
    assert(bytes + w->change_bytes[p->num_steps] == 0); /* ranges end at the last step */
    memset(w->change_bytes, 0, (p->num_steps + 1) * sizeof *w->change_bytes);
    *most_bytes = (uint64_t)most;
}

/* The numbers of runs and classes of a tile. */
typedef struct tile_runs {
    size_t num_runs;
    size_t num_classes;
} tile_runs;

/* Lists the runs of a tile, and adds up the bytes of each category: of variables that are not
 * always live, then of those that are. */
static tile_runs find_runs(const popliner_profile *p, size_t tile, worker *w,
                           uint64_t *restrict category_bytes) {
    size_t start = (size_t)p->tile_variables_start[tile];
    uint32_t num_variables = (uint32_t)(p->tile_variables_start[tile + 1] - start);
    const uint32_t *restrict sizes = p->variable_size_bytes + start;
    const uint32_t *restrict classes = p->variable_class + start;
    const uint32_t *restrict offsets = p->variable_offset + start;
    const uint8_t *restrict categories = p->variable_category + start;
    const uint8_t *restrict always_live = p->class_always_live;
    uint64_t *restrict class_bytes = w->tile_class_bytes;
    uint32_t *restrict tile_classes = w->tile_classes;
    run *restrict runs = w->runs;
    uint64_t *restrict keys = w->keys;
    size_t num_runs = 0;
    size_t num_classes = 0;
    uint64_t end = UINT64_MAX; /* of the current run */
    for (uint32_t i = 0; i < num_variables; i++) {
        uint64_t size_bytes = sizes[i];
        if (size_bytes == 0)
            continue;
        uint32_t c = classes[i];
        uint64_t before_bytes = class_bytes[c];
        class_bytes[c] = before_bytes + size_bytes;
        if (before_bytes == 0)
            tile_classes[num_classes++] = c;
        category_bytes[2 * categories[i] + always_live[c]] += size_bytes;
        uint64_t offset = offsets[i];
        if (offset == end) {
            end += size_bytes;
            continue;
        }
        if (num_runs > 0) {
            runs[num_runs - 1].end = end;
            runs[num_runs - 1].next = i;
        }
        keys[num_runs] = offset << 32 | num_runs;
        runs[num_runs++].first = i;
        end = offset + size_bytes;
    }
    if (num_runs > 0) {
        runs[num_runs - 1].end = end;
        runs[num_runs - 1].next = num_variables;
    }
    return (tile_runs){num_runs, num_classes};
}

static bool add_tile(void *user, size_t worker_number, size_t tile) {
    const adding *a = user;
    const popliner_profile *p = a->profile;
    worker *w = &a->workers[worker_number];
    pl_tile_sums *sums = a->sums;
    uint64_t category_bytes[2 * PL_MAX_CATEGORIES] = {0};
    uint64_t shared_bytes[PL_MAX_CATEGORIES] = {0};
    tile_runs found = find_runs(p, tile, w, category_bytes);
    add_classes(p, w, found.num_classes, &sums->always_live_bytes[tile],
                &sums->not_always_live_bytes[tile], &sums->peak_step[tile]);
    const tile_layout layout = {
        .size_bytes = p->variable_size_bytes + p->tile_variables_start[tile],
        .category = p->variable_category + p->tile_variables_start[tile],
        .runs = w->runs,
        .keys = sort_keys(w->keys, w->other_keys, found.num_runs),
        .count = found.num_runs,
        .shared_bytes = shared_bytes,
    };
    if (!add_layout(&layout, w, &sums->covered_bytes[tile], &sums->end[tile]))
        return false;
    for (size_t category = 0; category < p->num_categories; category++) {
        size_t item = category * p->target.num_tiles + tile;
        sums->shared_bytes[item] = shared_bytes[category];
        sums->category_always_bytes[item] = category_bytes[2 * category + 1];
        sums->category_bytes[item] =
            category_bytes[2 * category] + category_bytes[2 * category + 1];
    }
    return true;
}

/* ---- All tiles ---- */

static void begin_worker(const popliner_profile *p, size_t most_variables, worker *w) {
    pl_arrays *arrays = &w->arrays;
    w->runs = pl_arrays_new(arrays, most_variables, sizeof *w->runs);
    w->keys = pl_arrays_new(arrays, most_variables, sizeof *w->keys);
    w->other_keys = pl_arrays_new(arrays, most_variables, sizeof *w->other_keys);
    w->tile_class_bytes = pl_arrays_new(arrays, p->num_classes, sizeof *w->tile_class_bytes);
    w->tile_classes = pl_arrays_new(arrays, p->num_classes, sizeof *w->tile_classes);
    w->change_bytes = pl_arrays_new(arrays, p->num_steps + 1, sizeof *w->change_bytes);
    w->class_bytes = pl_arrays_new(arrays, p->num_classes, sizeof *w->class_bytes);
}

static void allocate(const popliner_profile *p, pl_tile_sums *sums) {
    size_t num_tiles = p->target.num_tiles;
    pl_arrays *arrays = &sums->arrays;
    sums->always_live_bytes = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    sums->not_always_live_bytes = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    sums->peak_step = pl_arrays_new(arrays, num_tiles, sizeof *sums->peak_step);
    sums->covered_bytes = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    sums->end = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    sums->category_bytes = pl_arrays_new(arrays, p->num_categories * num_tiles, sizeof(uint64_t));
    sums->shared_bytes = pl_arrays_new(arrays, p->num_categories * num_tiles, sizeof(uint64_t));
    sums->category_always_bytes =
        pl_arrays_new(arrays, p->num_categories * num_tiles, sizeof(uint64_t));
    sums->class_bytes = pl_arrays_new(arrays, p->num_classes, sizeof(uint64_t));
}

void pl_tile_sums_find(const popliner_profile *p, size_t num_threads, pl_tile_sums *sums) {
    size_t num_tiles = p->target.num_tiles;
    size_t most_variables = 0;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        size_t count = (size_t)(p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
        most_variables = count > most_variables ? count : most_variables;
    }
    size_t num_workers = num_threads < num_tiles ? num_threads : num_tiles;
    pl_arrays own = {0};
    adding a = {p, sums, pl_arrays_new(&own, num_workers, sizeof *a.workers)};
    for (size_t i = 0; a.workers != NULL && i < num_workers; i++) {
        begin_worker(p, most_variables, &a.workers[i]);
        own.failed = own.failed || a.workers[i].arrays.failed;
    }
    const pl_parallel work = {
        .num_threads = num_workers, .count = num_tiles, .task = add_tile, .user = &a};
    allocate(p, sums);
    own.failed = own.failed || sums->arrays.failed || pl_parallel_run(&work) < num_tiles;
    for (size_t i = 0; a.workers != NULL && i < num_workers; i++) {
        for (size_t c = 0; !own.failed && c < p->num_classes; c++)
            sums->class_bytes[c] += a.workers[i].class_bytes[c];
        pl_arrays_free(&a.workers[i].arrays);
    }
    pl_arrays_end(&own, &sums->arrays);
}
