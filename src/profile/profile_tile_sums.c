/* Adds up the variables of each tile, for the checks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <assert.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "base/threads.h"

/* Addresses [first, end) that several variables use. */
typedef struct extent {
    uint64_t first;
    uint64_t end;
} extent;

/* Variables of a tile that are adjacent in the file and in memory, as most are. */
typedef struct run {
    uint64_t begin; /* address */
    uint64_t end;
    uint32_t first; /* position on the tile */
    uint32_t next;  /* position after the last */
} run;

/* The sums and scratch space of one thread; [variables] is the largest number of a tile. */
typedef struct worker {
    run *runs; /* [variables]: of the tile, by address */
    run *other_runs;
    size_t num_runs;
    extent *shared;             /* [variables + 1] */
    uint64_t *tile_class_bytes; /* [num_classes]: of one tile; 0 between tiles */
    uint32_t *tile_classes;     /* [num_classes]: classes of the tile */
    size_t num_tile_classes;
    int64_t *change_bytes; /* [num_steps + 1]; 0 between tiles */
    uint64_t *step_bytes;  /* [num_steps]: of all tiles of this thread */
} worker;

typedef struct adding {
    const popliner_profile *profile;
    pl_tile_sums *sums;
    worker *workers;
} adding;

static void close_run(run *runs, size_t num_runs, uint64_t end, uint32_t next) {
    if (num_runs > 0) {
        runs[num_runs - 1].end = end;
        runs[num_runs - 1].next = next;
    }
}

/* Lists the runs and the classes of a tile, and adds up the bytes of each category: of variables
 * that are not always live, then of those that are. */
static void find_runs(const popliner_profile *p, size_t tile, worker *w,
                      uint64_t *restrict category_bytes) {
    const size_t start = (size_t)p->tile_variables_start[tile];
    const uint32_t num_variables = (uint32_t)(p->tile_variables_start[tile + 1] - start);
    const uint32_t *restrict sizes = p->variable_size_bytes + start;
    const uint32_t *restrict classes = p->variable_class + start;
    const uint32_t *restrict offsets = p->variable_offset + start;
    const uint8_t *restrict categories = p->variable_category + start;
    const uint8_t *restrict always_live = p->class_always_live;
    uint64_t *restrict class_bytes = w->tile_class_bytes;
    uint32_t *restrict tile_classes = w->tile_classes;
    run *restrict runs = w->runs;
    size_t num_runs = 0;
    size_t num_classes = 0;
    uint64_t end = UINT64_MAX; /* of the current run */
    for (uint32_t i = 0; i < num_variables; i++) {
        const uint64_t size_bytes = sizes[i];
        if (size_bytes == 0)
            continue;
        const uint32_t c = classes[i];
        const uint64_t before_bytes = class_bytes[c];
        class_bytes[c] = before_bytes + size_bytes;
        if (before_bytes == 0)
            tile_classes[num_classes++] = c;
        category_bytes[2 * categories[i] + always_live[c]] += size_bytes;
        if (offsets[i] != end) {
            close_run(runs, num_runs, end, i);
            runs[num_runs++] = (run){.begin = offsets[i], .first = i};
            end = offsets[i];
        }
        end += size_bytes;
    }
    close_run(runs, num_runs, end, num_variables);
    w->num_runs = num_runs;
    w->num_tile_classes = num_classes;
}

/* ---- Addresses ---- */

/* Sorts the runs by address with a radix sort, whose time does not depend on the order of the
 * file. */
static void sort_runs(worker *w) {
    enum { BITS = 8, NUM_DIGITS = 1 << BITS };
    uint64_t addresses = 0; /* all of their bits */
    bool is_sorted = true;
    for (size_t i = 0; i < w->num_runs; i++) {
        addresses |= w->runs[i].begin;
        is_sorted = is_sorted && (i == 0 || w->runs[i].begin >= w->runs[i - 1].begin);
    }
    for (unsigned shift = 0; !is_sorted && addresses >> shift > 0; shift += BITS) {
        uint32_t place[NUM_DIGITS + 1] = {0};
        for (size_t i = 0; i < w->num_runs; i++)
            place[(w->runs[i].begin >> shift) % NUM_DIGITS + 1]++;
        for (size_t digit = 1; digit < NUM_DIGITS; digit++)
            place[digit] += place[digit - 1];
        for (size_t i = 0; i < w->num_runs; i++)
            w->other_runs[place[(w->runs[i].begin >> shift) % NUM_DIGITS]++] = w->runs[i];
        run *sorted = w->other_runs;
        w->other_runs = w->runs;
        w->runs = sorted;
    }
}

/* Adds the bytes that variables of a run share to their categories; `shared` is the first extent
 * that ends after the run begins. Between two extents there is one run, so all iterations together
 * are short. */
static void add_shared(const run *own, const uint32_t *size_bytes, const uint8_t *category,
                       const extent *shared, uint64_t *shared_bytes) {
    uint64_t from = own->begin;
    for (uint32_t i = own->first; i < own->next; i++) {
        const uint64_t to = from + size_bytes[i];
        while (shared->end <= from)
            shared++;
        for (const extent *e = shared; e->first < to; e++)
            shared_bytes[category[i]] += pl_smaller(e->end, to) - pl_larger(e->first, from);
        from = to;
    }
}

/* Finds the addresses that runs use, and those that several of them use; the extents of the latter
 * ascend and do not touch each other. */
static void add_layout(const popliner_profile *p, size_t tile, worker *w, uint64_t *shared_bytes,
                       pl_tile_sums *sums) {
    const run *const end = w->runs + w->num_runs;
    const uint64_t start = p->tile_variables_start[tile];
    extent *shared = w->shared;
    size_t num_shared = 0;
    uint64_t covered = 0;
    for (const run *r = w->runs; r < end; r++) {
        const uint64_t to = pl_smaller(r->end, covered);
        if (num_shared > 0 && r->begin < to && r->begin <= shared[num_shared - 1].end)
            shared[num_shared - 1].end = pl_larger(to, shared[num_shared - 1].end);
        else if (r->begin < to)
            shared[num_shared++] = (extent){r->begin, to};
        sums->covered_bytes[tile] += r->end > covered ? r->end - pl_larger(r->begin, covered) : 0;
        covered = pl_larger(r->end, covered);
    }
    sums->end[tile] = covered;
    shared[num_shared] = (extent){UINT64_MAX, UINT64_MAX};
    for (const run *r = w->runs; r < end; r++) {
        while (shared->end <= r->begin)
            shared++;
        if (shared->first < r->end)
            add_shared(r, p->variable_size_bytes + start, p->variable_category + start, shared,
                       shared_bytes);
    }
}

/* ---- Liveness ---- */

/* Adds the tile's bytes of each class, and resets the worker's sums of the tile. */
static void add_classes(const popliner_profile *p, size_t tile, worker *w, pl_tile_sums *sums) {
    for (size_t i = 0; i < w->num_tile_classes; i++) {
        const uint32_t c = w->tile_classes[i];
        const uint64_t bytes = w->tile_class_bytes[c];
        assert(bytes > 0); /* each class of the tile is listed once */
        w->tile_class_bytes[c] = 0;
        if (p->class_always_live[c]) {
            sums->always_live_bytes[tile] += bytes;
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
        w->step_bytes[step] += (uint64_t)bytes;
        most = bytes > most ? bytes : most;
    }
    assert(bytes + w->change_bytes[p->num_steps] == 0); /* ranges end at the last step */
    memset(w->change_bytes, 0, (p->num_steps + 1) * sizeof *w->change_bytes);
    sums->not_always_live_bytes[tile] = (uint64_t)most;
}

/* ---- All tiles ---- */

static bool add_tile(void *user, size_t worker_number, size_t tile) {
    const adding *a = user;
    const popliner_profile *p = a->profile;
    worker *w = &a->workers[worker_number];
    uint64_t category_bytes[2 * PL_MAX_CATEGORIES] = {0};
    uint64_t shared_bytes[PL_MAX_CATEGORIES] = {0};
    find_runs(p, tile, w, category_bytes);
    add_classes(p, tile, w, a->sums);
    sort_runs(w);
    add_layout(p, tile, w, shared_bytes, a->sums);
    for (size_t i = 0; i < p->num_categories; i++) {
        const size_t item = i * p->target.num_tiles + tile;
        a->sums->category_bytes[item] = category_bytes[2 * i] + category_bytes[2 * i + 1];
        a->sums->category_always_bytes[item] = category_bytes[2 * i + 1];
        a->sums->shared_bytes[item] = shared_bytes[i];
    }
    return true;
}

static void begin_worker(const popliner_profile *p, size_t most_variables, pl_arrays *arrays,
                         worker *w) {
    w->runs = pl_arrays_new(arrays, most_variables, sizeof *w->runs);
    w->other_runs = pl_arrays_new(arrays, most_variables, sizeof *w->runs);
    w->shared = pl_arrays_new(arrays, most_variables + 1, sizeof *w->shared);
    w->tile_class_bytes = pl_arrays_new(arrays, p->num_classes, sizeof *w->tile_class_bytes);
    w->tile_classes = pl_arrays_new(arrays, p->num_classes, sizeof *w->tile_classes);
    w->change_bytes = pl_arrays_new(arrays, p->num_steps + 1, sizeof *w->change_bytes);
    w->step_bytes = pl_arrays_new(arrays, p->num_steps, sizeof *w->step_bytes);
}

void pl_tile_sums_find(const popliner_profile *p, size_t num_threads, pl_tile_sums *sums) {
    const size_t num_tiles = p->target.num_tiles;
    const size_t num_numbers = p->num_categories * num_tiles;
    const size_t num_workers = pl_fewer(num_threads, num_tiles);
    size_t most_variables = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        most_variables = pl_more(most_variables, (size_t)(p->tile_variables_start[tile + 1] -
                                                          p->tile_variables_start[tile]));
    pl_arrays own = {0};
    adding a = {p, sums, pl_arrays_new(&own, num_workers, sizeof *a.workers)};
    for (size_t i = 0; a.workers != NULL && i < num_workers; i++)
        begin_worker(p, most_variables, &own, &a.workers[i]);
    sums->always_live_bytes = pl_arrays_new(&sums->arrays, num_tiles, sizeof(uint64_t));
    sums->not_always_live_bytes = pl_arrays_new(&sums->arrays, num_tiles, sizeof(uint64_t));
    sums->covered_bytes = pl_arrays_new(&sums->arrays, num_tiles, sizeof(uint64_t));
    sums->end = pl_arrays_new(&sums->arrays, num_tiles, sizeof(uint64_t));
    sums->category_bytes = pl_arrays_new(&sums->arrays, num_numbers, sizeof(uint64_t));
    sums->category_always_bytes = pl_arrays_new(&sums->arrays, num_numbers, sizeof(uint64_t));
    sums->shared_bytes = pl_arrays_new(&sums->arrays, num_numbers, sizeof(uint64_t));
    sums->step_bytes = pl_arrays_new(&sums->arrays, p->num_steps, sizeof(uint64_t));
    const pl_parallel work = {
        .num_threads = num_workers, .count = num_tiles, .task = add_tile, .user = &a};
    own.failed = own.failed || sums->arrays.failed || pl_parallel_run(&work) < num_tiles;
    for (size_t i = 0; !own.failed && i < num_workers; i++)
        for (size_t step = 0; step < p->num_steps; step++)
            sums->step_bytes[step] += a.workers[i].step_bytes[step];
    pl_arrays_end(&own, &sums->arrays);
}
