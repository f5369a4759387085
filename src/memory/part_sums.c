/* Each step belongs to one share. So one row of places, first for the steps of share 0, then for
 * those of share 1, holds the live bytes of a tile in all shares, and one pass over the variables
 * of the tile, in the order of memory, fills it. The places where a variable begins and ends to be
 * live follow from its class and the set of shares that touch it; thousands of such pairs serve
 * millions of variables, so they are computed once for each pair.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/part_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage_meter.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* Consecutive steps of a share, and the place of the first. */
typedef struct step_run {
    size_t first_step;
    size_t end_step;
    size_t place;
} step_run;

/* The places where something begins and ends to be live; for always-live data: the share, and 0. */
typedef struct life {
    size_t first_place;
    size_t end_place;
} life;

/* A class of variables and a set of shares that touch them. Most classes have one such set. */
typedef struct pair {
    uint32_t set;
    uint32_t next; /* pair of the same list, or PL_NONE */
    size_t first_life;
    size_t num_lives;
} pair;

typedef struct work {
    const pl_stage_meter *meter;
    const pl_unit_usage *usage; /* by operation */
    size_t count;               /* of operations */
    pl_part_sums *sums;
    pl_arrays arrays;   /* own the arrays below */
    size_t *runs_start; /* [shares + 1] */
    step_run *runs;
    size_t *end_place;     /* [shares]: after the steps of each; its own place */
    int64_t *change_bytes; /* [steps + shares], by place; all 0 between two tiles */

    pair *pairs; /* pairs so far */
    size_t num_pairs;
    size_t pairs_capacity;
    uint32_t *first_pair; /* [classes + sets], or PL_NONE: see list_of_pair */
    life *lives;
    size_t num_lives;
    size_t lives_capacity;
    size_t *last_pair; /* [shares]: the last pair with the share, counted from 1 */

    /* For one tile. */
    uint64_t *always_live_bytes; /* [shares] */
    pl_curve unexplained;
    uint64_t *unexplained_bytes; /* [steps] */

    /* Code of one operation. */
    pl_code_counter code;
    uint64_t *groups[PL_NUM_CODE_GROUPS]; /* [tiles] */
} work;

static void begin_work(work *w) {
    const popliner_profile *p = w->meter->chain->profile;
    const size_t count = w->count;
    const size_t num_lists = p->num_classes + w->usage->sets.count;
    pl_arrays *own = &w->arrays;
    w->runs_start = pl_arrays_new(own, count + 1, sizeof *w->runs_start);
    w->runs = pl_arrays_new(own, p->num_steps, sizeof *w->runs);
    w->end_place = pl_arrays_new(own, count, sizeof *w->end_place);
    w->change_bytes = pl_arrays_new(own, p->num_steps + count, sizeof *w->change_bytes);
    w->always_live_bytes = pl_arrays_new(own, count, sizeof *w->always_live_bytes);
    w->first_pair = pl_arrays_new(own, num_lists, sizeof *w->first_pair);
    w->last_pair = pl_arrays_new(own, count, sizeof *w->last_pair);
    w->unexplained_bytes = pl_arrays_new(own, p->num_steps, sizeof *w->unexplained_bytes);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        w->groups[group] = pl_arrays_new(own, p->target.num_tiles, sizeof(uint64_t));
    for (size_t i = 0; !own->failed && i < num_lists; i++)
        w->first_pair[i] = PL_NONE;
    pl_curve_begin(&w->unexplained, own, 0, p->num_steps);
    pl_code_counter_begin(&w->code, own, w->meter->chain->model, p);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint32_t owner_of(const work *w, size_t step) {
    return w->meter->chain->operation_of_step[step];
}

/* Lists the runs of each share. */
static void find_runs(work *w) {
    const size_t num_steps = w->meter->chain->profile->num_steps;
    size_t *next = w->end_place; /* the next run of each share, until the end places are known */
    for (size_t step = 0; step < num_steps; step++)
        if (step == 0 || owner_of(w, step) != owner_of(w, step - 1))
            w->runs_start[owner_of(w, step) + 1]++;
    for (size_t share = 0; share < w->count; share++) {
        next[share] = w->runs_start[share];
        w->runs_start[share + 1] += w->runs_start[share];
    }
    for (size_t step = 0, end = 0; step < num_steps; step = end) {
        uint32_t share = owner_of(w, step);
        for (end = step + 1; end < num_steps && owner_of(w, end) == share;)
            end++;
        w->runs[next[share]++] = (step_run){step, end, 0};
    }
    size_t place = 0;
    for (size_t share = 0; share < w->count; share++) {
        for (size_t i = w->runs_start[share]; i < w->runs_start[share + 1]; i++) {
            w->runs[i].place = place;
            place += w->runs[i].end_step - w->runs[i].first_step;
        }
        w->end_place[share] = place++;
    }
}

/* Returns the place of the first step in the runs of a share that is not before `step`, or the end
 * of the runs. */
static size_t place_from(const step_run *runs, size_t num_runs, size_t step) {
    const step_run *run = runs;
    for (size_t left = num_runs - 1; left > 0;) { /* finds the first run that ends after the step */
        size_t half = (left + 1) / 2;
        bool is_behind = run[half - 1].end_step <= step;
        run += is_behind ? half : 0;
        left = is_behind ? left - half : half - 1;
    }
    size_t within = step < run->end_step ? step : run->end_step;
    return run->place + (within > run->first_step ? within - run->first_step : 0);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static void add_life(work *w, size_t first_place, size_t end_place) {
    if (pl_arrays_grow(&w->arrays, &w->lives, &w->lives_capacity, w->num_lives + 1,
                       sizeof *w->lives))
        w->lives[w->num_lives++] = (life){first_place, end_place};
}

/* Adds the live ranges of a class in a share. */
static void add_lives(work *w, uint32_t class_index, size_t share) {
    const popliner_profile *p = w->meter->chain->profile;
    const step_run *run = &w->runs[w->runs_start[share]];
    const size_t num_runs = w->runs_start[share + 1] - w->runs_start[share];
    if (p->class_always_live[class_index])
        add_life(w, share, 0);
    for (uint32_t i = p->class_ranges_start[class_index];
         !p->class_always_live[class_index] && num_runs > 0 &&
         i < p->class_ranges_start[class_index + 1];
         i++) {
        const size_t first = p->range_first_step[i];
        const size_t end = p->range_end_step[i];
        if (end <= run->first_step || first >= run[num_runs - 1].end_step)
            continue;
        const size_t first_place = place_from(run, num_runs, first);
        const size_t end_place = place_from(run, num_runs, end);
        if (first_place < end_place)
            add_life(w, first_place, end_place);
    }
}

/* Returns the head of a pair's list: one list for each class or, for always-live data, which many
 * sets of shares touch, for each set. */
static uint32_t *list_of_pair(const work *w, uint32_t class_index, uint32_t set) {
    const popliner_profile *p = w->meter->chain->profile;
    return &w->first_pair[p->class_always_live[class_index] ? p->num_classes + set : class_index];
}

/* Makes a pair, the first of its list. */
static pair make_pair(work *w, uint32_t class_index, uint32_t set) {
    const pl_unit_sets *sets = &w->usage->sets;
    uint32_t *first = list_of_pair(w, class_index, set);
    pair made = {set, *first, w->num_lives, 0};
    assert(w->num_pairs < PL_NONE);
    if (!pl_arrays_grow(&w->arrays, &w->pairs, &w->pairs_capacity, w->num_pairs + 1,
                        sizeof *w->pairs))
        return made;
    *first = (uint32_t)w->num_pairs++;
    for (uint32_t s = set; s != 0; s = sets->rest[s]) {
        const size_t share = sets->last_unit[s] % w->count;
        if (w->last_pair[share] != w->num_pairs)
            add_lives(w, class_index, share);
        w->last_pair[share] = w->num_pairs;
    }
    made.num_lives = w->num_lives - made.first_life;
    return w->pairs[*first] = made;
}

/* Returns the pair, and makes it if it is new. */
static pair find_pair(work *w, uint32_t class_index, uint32_t set) {
    uint32_t found = *list_of_pair(w, class_index, set);
    while (found != PL_NONE && w->pairs[found].set != set)
        found = w->pairs[found].next;
    return found != PL_NONE ? w->pairs[found] : make_pair(w, class_index, set);
}

/* ---- Data ------------------------------------------------------------------------------------ */

/* Adds an always-live variable to the shares that touch it. */
static void add_always_live(work *w, const pair *of, uint32_t variable) {
    const popliner_profile *p = w->meter->chain->profile;
    const uint64_t bytes = p->variable_size_bytes[variable];
    const bool is_code = pl_account_is_code(&w->meter->account, variable);
    const bool is_parameter = p->category[p->variable_category[variable]] == PL_CATEGORY_VARIABLE;
    for (size_t i = 0; i < of->num_lives; i++) {
        size_t share = w->lives[of->first_life + i].first_place;
        w->always_live_bytes[share] += is_code ? 0 : bytes;
        w->sums[share].part_bytes[POPLINER_PART_PARAMETERS] += is_parameter ? bytes : 0;
    }
}

/* Adds the variables of a tile to the shares that touch them. */
static void add_variables(work *w, size_t tile) {
    const popliner_profile *p = w->meter->chain->profile;
    const pl_unit_usage *usage = w->usage;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        uint32_t set = pl_unit_usage_of(usage, i);
        if (set == 0)
            continue;
        const uint32_t class_index = p->variable_class[i];
        const pair of = find_pair(w, class_index, set);
        if (p->class_always_live[class_index]) {
            add_always_live(w, &of, (uint32_t)i);
            continue;
        }
        const int64_t bytes = p->variable_size_bytes[i];
        for (size_t k = 0; k < of.num_lives; k++) {
            const life *it = &w->lives[of.first_life + k];
            w->change_bytes[it->first_place] += bytes;
            w->change_bytes[it->end_place] -= bytes;
        }
    }
}

/* Computes what no operation touches on a tile, at each step. */
static void find_unexplained(work *w, size_t tile) {
    const popliner_profile *p = w->meter->chain->profile;
    const uint32_t *variables;
    size_t count = pl_account_unexplained(&w->meter->account, tile, &variables);
    pl_curve_begin(&w->unexplained, &w->arrays, 0, p->num_steps);
    for (size_t i = 0; i < count; i++)
        pl_curve_add(&w->unexplained, p, p->variable_class[variables[i]],
                     p->variable_size_bytes[variables[i]]);
    pl_curve_read(&w->unexplained, w->unexplained_bytes);
}

/* Adds the peak of a share on a tile over its steps, the first of equals, and clears its places. */
static void add_peak(work *w, size_t share, size_t tile) {
    int64_t live_bytes = 0;
    uint64_t peak_bytes = 0;
    uint64_t unexplained_bytes = 0; /* at the peak */
    for (size_t i = w->runs_start[share]; i < w->runs_start[share + 1]; i++) {
        const step_run *run = &w->runs[i];
        for (size_t step = run->first_step; step < run->end_step; step++) {
            int64_t *change_bytes = &w->change_bytes[run->place + step - run->first_step];
            live_bytes += *change_bytes;
            *change_bytes = 0;
            uint64_t bytes = (uint64_t)live_bytes + w->unexplained_bytes[step];
            if (bytes > peak_bytes) {
                peak_bytes = bytes;
                unexplained_bytes = w->unexplained_bytes[step];
            }
        }
    }
    w->change_bytes[w->end_place[share]] = 0;
    uint64_t *sums = w->sums[share].part_bytes;
    const uint64_t fixed_bytes = pl_account_fixed(&w->meter->account, tile);
    sums[POPLINER_PART_VARIABLES] += w->always_live_bytes[share] + peak_bytes - unexplained_bytes;
    sums[POPLINER_PART_UNEXPLAINED] += unexplained_bytes + fixed_bytes;
    sums[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] += fixed_bytes;
    w->always_live_bytes[share] = 0;
}

/* ---- Code ------------------------------------------------------------------------------------ */

static void add_code(work *w, size_t operation) {
    const size_t num_tiles = w->meter->chain->profile->target.num_tiles;
    const popliner_operation *of = pl_operation_at(w->meter->chain->operations, operation);
    pl_part_sums *own = &w->sums[operation];
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        memset(w->groups[group], 0, num_tiles * sizeof(uint64_t));
    pl_code_counter_reset(&w->code);
    for (size_t k = 0; k < of->num_programs; k++)
        pl_code_counter_add(&w->code, of->programs[k], w->groups);
    pl_code_counter_finish(&w->code, w->groups);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        for (size_t tile = 0; tile < num_tiles; tile++)
            own->part_bytes[PL_FIRST_CODE + group] +=
                pl_account_limit(&w->meter->account, group, tile, w->groups[group][tile]);
    own->total_bytes = pl_parts_sum(own->part_bytes);
}

/* ---- All operations -------------------------------------------------------------------------- */

pl_part_sums pl_part_sums_of(pl_stage_meter *meter, const popliner_interval *stage,
                             const popliner_stage_memory *memory) {
    const uint64_t *bytes = memory->need_bytes[POPLINER_NEED_EXPECTED];
    pl_part_sums own = {.total_bytes = pl_tiles_sum(bytes, memory->num_tiles)};
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        if (part != POPLINER_PART_PARAMETERS)
            own.part_bytes[part] = pl_tiles_sum(memory->part_bytes[part], memory->num_tiles);
    if (stage != NULL)
        own.part_bytes[POPLINER_PART_PARAMETERS] = pl_stage_parameter_bytes(meter, stage, 1);
    for (size_t tile = 0; tile < memory->num_tiles; tile++)
        if (tile == 0 || bytes[tile] > own.largest_tile_bytes) {
            own.largest_tile = tile;
            own.largest_tile_bytes = bytes[tile];
        }
    return own;
}

/* True if all operations can be measured at once: if the steps of a stage are only those of its
 * operations, and there are operations. */
static bool are_at_once(const pl_stage_meter *meter) {
    return meter->popliner == NULL && pl_operations_count(meter->chain->operations) > 0 &&
           (meter->chain->profile->num_steps == 0 || meter->chain->operation_of_step[0] != PL_NONE);
}

/* Measures all operations at once, each like pl_stage_measure_units, for its own steps. Cost:
 * O(variables * live ranges of each that are in an operation + tiles * steps), and for each
 * operation that of counting its code on all tiles. */
static void measure_at_once(pl_stage_meter *meter, const pl_unit_usage *usage, pl_part_sums *sums) {
    const size_t count = pl_operations_count(meter->chain->operations);
    work w = {.meter = meter, .usage = usage, .count = count, .sums = sums};
    begin_work(&w);
    if (!w.arrays.failed)
        find_runs(&w);
    for (size_t tile = 0; !w.arrays.failed && tile < meter->chain->profile->target.num_tiles;
         tile++) {
        add_variables(&w, tile);
        find_unexplained(&w, tile);
        for (size_t i = 0; !w.arrays.failed && i < count; i++)
            add_peak(&w, i, tile);
    }
    for (size_t i = 0; !w.arrays.failed && i < count; i++)
        add_code(&w, i);
    pl_arrays_end(&w.arrays, &meter->arrays);
}

/* An operation, for sorting by context, then by index. */
typedef struct context_of {
    uint64_t debug_context;
    size_t operation;
} context_of;

static int compare_contexts(const void *left, const void *right) {
    const context_of *a = left;
    const context_of *b = right;
    if (a->debug_context != b->debug_context)
        return a->debug_context < b->debug_context ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

/* Finds which operations touch what, and measures them at once. */
static void measure_all(pl_stage_meter *meter, pl_part_sums *sums) {
    const size_t count = pl_operations_count(meter->chain->operations);
    pl_arrays own = {0};
    pl_unit_usage usage = {0};
    uint32_t *numbers = pl_arrays_new(&own, count, sizeof *numbers);
    for (size_t i = 0; !own.failed && i < count; i++)
        numbers[i] = (uint32_t)i;
    if (!own.failed)
        pl_unit_usage_find(&usage, &own, meter->chain->usage,
                           &(pl_unit_map){numbers, count, meter->account.touched != NULL});
    if (!own.failed)
        measure_at_once(meter, &usage, sums);
    pl_arrays_end(&own, &meter->arrays);
}

popliner_status pl_operation_sums_measure(const pl_operations *operations, pl_stage_meter *meter,
                                          const popliner_listener *listener, pl_part_sums **sums,
                                          popliner_error *error) {
    size_t count = pl_operations_count(operations);
    const bool is_at_once = are_at_once(meter);
    context_of *contexts = pl_new_array(count, sizeof *contexts);
    popliner_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    *sums = pl_new_array(count, sizeof **sums);
    meter->arrays.failed = contexts == NULL || *sums == NULL;
    if (!meter->arrays.failed && is_at_once)
        measure_all(meter, *sums);
    if (meter->arrays.failed) {
        status = pl_fail_memory(error, "a report");
        goto done;
    }
    for (size_t i = 0; i < count; i++)
        contexts[i] = (context_of){pl_operation_at(operations, i)->debug_context, i};
    qsort(contexts, count, sizeof *contexts, compare_contexts);
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        size_t operation = contexts[i].operation;
        pl_progress(listener, "Measuring the operations", i, count);
        if (i > 0 && contexts[i].debug_context == contexts[i - 1].debug_context) {
            (*sums)[operation] = (*sums)[contexts[i - 1].operation];
        } else if (!is_at_once) {
            status = pl_stage_measure_operations(meter, &operation, 1, &memory, error);
            if (status == POPLINER_OK)
                (*sums)[operation] = pl_part_sums_of(meter, NULL, &memory);
        }
    }
    pl_progress(listener, "Measuring the operations", count, count);
done:
    pl_stage_memory_clear(&memory);
    free(contexts);
    if (status != POPLINER_OK) {
        free(*sums);
        *sums = NULL;
    }
    return status;
}
