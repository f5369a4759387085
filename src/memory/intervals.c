/* The costs of every stage of a chain: rows, on several threads, each with the stages on all tiles
 * that begin with one unit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* The state of one thread. */
typedef struct worker {
    pl_arrays arrays;        /* own the others, and lines of stages */
    pl_row *row;             /* NULL in PopLiner's model */
    pl_need_spread *spreads; /* [num_units], by last unit, only if NEED_MOST is wanted */
} worker;

/* The stages to measure, and all that the threads share. */
typedef struct tile_work {
    pl_stage_meter *meter;
    const pl_interval_options *options;
    unsigned needs; /* bits; all of them: also sums over the tiles */
    pl_estimation estimation;
    worker *workers;
    size_t num_workers;
    pl_peak_lines *lines[POPLINER_NUM_NEEDS]; /* [intervals]; NULL: not wanted */
    pl_stage_details *made;                   /* the result */
} tile_work;

enum { ALL_NEEDS = (1 << POPLINER_NUM_NEEDS) - 1 };

/* True if there memory was short. */
static bool has_failed(const tile_work *t) {
    return t->made->arrays.failed || t->meter->arrays.failed;
}

/* ---- A tile ---------------------------------------------------------------------------------- */

/* Adds an estimate of a tile, or of all, to a stage. */
static void add_lines(const tile_work *t, worker *w, popliner_need need, size_t interval,
                      const pl_need_line lines[PL_NUM_LINES]) {
    const pl_need_line *with_copies = &lines[PL_LINE_WITH_COPIES];
    /* otherwise it is not above the other one */
    if (with_copies->freed_bytes > 0 || with_copies->bytes != lines[PL_LINE_WITHOUT_COPIES].bytes)
        pl_peak_lines_add(&t->lines[need][interval], &w->arrays, t->made->largest[need].max_copies,
                          &lines[PL_LINE_WITHOUT_COPIES]);
    pl_peak_lines_add(&t->lines[need][interval], &w->arrays, t->made->largest[need].max_copies,
                      with_copies);
}

/* Adds the parts of a tile, with these lines as its expected memory. */
static void add_sums(const pl_estimation *estimation, const pl_stage_tile *measured,
                     const pl_need_line lines[PL_NUM_LINES], uint64_t *bytes) {
    const pl_need_line *with_copies = &lines[PL_LINE_WITH_COPIES];
    const uint64_t layout_bytes = lines[PL_LINE_WITHOUT_COPIES].layout_bytes;
    pl_stage_tile_parts(measured, pl_stage_tile_peak(estimation, POPLINER_NEED_EXPECTED, measured),
                        bytes);
    bytes[POPLINER_PART_STASH] += with_copies->copy_bytes - with_copies->copy_layout_bytes;
    bytes[POPLINER_PART_LAYOUT] += layout_bytes;
    bytes[PL_SUM_COPY_LAYOUT] += with_copies->copy_layout_bytes;
    bytes[PL_SUM_FREED] += with_copies->freed_bytes;
    bytes[PL_SUM_FREED_LAYOUT] += layout_bytes - with_copies->layout_bytes;
}

/* Adds a tile to a stage. */
static void add_tile(const tile_work *t, worker *w, const popliner_interval *stage,
                     const pl_stage_tile *measured, const pl_tile_stash *stash) {
    const size_t interval =
        pl_triangle_place(t->made->num_units, stage->first_unit, stage->last_unit);
    for (int i = 0; i < POPLINER_NUM_NEEDS; i++) {
        const popliner_need need = (popliner_need)i;
        pl_need_line lines[PL_NUM_LINES];
        if (t->lines[need] == NULL)
            continue;
        pl_stage_tile_needs(&t->estimation, need, measured, stash, lines);
        add_lines(t, w, need, interval, lines);
        if (need == POPLINER_NEED_MOST)
            pl_need_spread_add(&w->spreads[stage->last_unit], lines);
        if (need == POPLINER_NEED_EXPECTED && t->made->sums != NULL)
            add_sums(&t->estimation, measured, lines, t->made->sums[interval].bytes);
    }
}

/* ---- A row ----------------------------------------------------------------------------------- */

/* Measures the stages of a row, tile after tile. */
static void measure_tiles(const tile_work *t, worker *w, size_t first) {
    const size_t num_units = t->made->num_units;
    for (size_t tile = 0; tile < t->meter->chain->profile->target.num_tiles; tile++) {
        const bool is_begun = !w->arrays.failed && pl_row_begin(w->row, tile, first);
        for (size_t last = first; is_begun && last < num_units; last++) {
            pl_stage_tile measured;
            pl_tile_stash stash;
            pl_row_extend(w->row, &measured, &stash);
            add_tile(t, w, &(popliner_interval){first, last, 1}, &measured, &stash);
        }
    }
}

/* Measures one stage after another in PopLiner's model: a longer one may need less. */
static void measure_stages(const tile_work *t, worker *w, size_t first) {
    for (size_t last = first; !w->arrays.failed && last < t->made->num_units; last++) {
        const popliner_interval stage = {first, last, 1};
        pl_question question;
        pl_arrays own = {0};
        pl_question_begin(&question, &own, &t->estimation, &stage, 1);
        for (size_t tile = 0; !own.failed && tile < t->meter->chain->profile->target.num_tiles;
             tile++) {
            pl_stage_tile measured;
            pl_tile_stash stash;
            pl_question_measure(&question, tile, &measured, &stash);
            add_tile(t, w, &stage, &measured, &stash);
        }
        pl_arrays_end(&own, &w->arrays);
    }
}

/* Adds what all tiles together need at most. */
static void end_row(const tile_work *t, worker *w, size_t first) {
    const bool is_wanted = w->spreads != NULL && t->estimation.rule.has_needs;
    for (size_t last = first; is_wanted && last < t->made->num_units; last++) {
        pl_need_line any[PL_NUM_LINES];
        pl_need_spread_lines(&w->spreads[last], &t->estimation.rule,
                             t->meter->chain->profile->target.num_tiles, any);
        add_lines(t, w, POPLINER_NEED_MOST, pl_triangle_place(t->made->num_units, first, last),
                  any);
        w->spreads[last] = (pl_need_spread){0};
    }
}

static bool measure_row(void *user, size_t number, size_t first) {
    const tile_work *t = user;
    const size_t num_tiles = t->meter->chain->profile->target.num_tiles;
    worker *w = &t->workers[number];
    /* only worker 0, the calling thread, may call the listener */
    if (number == 0)
        pl_progress(t->options->listener, "Measuring all stages",
                    first * num_tiles / t->made->num_units, num_tiles);
    if (!w->arrays.failed)
        (t->meter->popliner == NULL ? measure_tiles : measure_stages)(t, w, first);
    if (!w->arrays.failed)
        end_row(t, w, first);
    return !w->arrays.failed;
}

/* ---- All rows -------------------------------------------------------------------------------- */

/* Returns the largest number of copies in any schedule, and in the pipeline; 0 without training. */
static size_t most_copies(const pl_estimation *estimation, popliner_need need) {
    return !estimation->digest->pass_usage->passes.is_training
               ? 0
               : pl_more(
                     pl_pipeline_copies_for(&estimation->pipeline, need, estimation->max_stages),
                     pl_most_copies(estimation->max_stages));
}

/* Begins measuring with a meter. */
static void begin_work(tile_work *t, pl_arrays *own) {
    const size_t num_units = t->meter->chain->num_units;
    pl_stage_details *made = t->made;
    pl_estimation_find(t->meter, &t->options->pipeline, SIZE_MAX, &t->estimation);
    /* PopLiner's meter is one */
    t->num_workers = t->meter->popliner == NULL ? pl_fewer(t->meter->num_threads, num_units) : 1;
    t->workers = pl_arrays_new(own, t->num_workers, sizeof *t->workers);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        made->largest[need].max_copies = most_copies(&t->estimation, (popliner_need)need);
        if ((t->needs >> need & 1) != 0)
            t->lines[need] =
                pl_arrays_new(own, pl_triangle_size(num_units), sizeof *t->lines[need]);
    }
    t->meter->arrays.failed = own->failed;
    made->key = pl_details_key_of(&t->options->pipeline, t->meter->pass_usage.passes.is_training);
    made->key.max_stages = t->estimation.max_stages;
    made->key.max_copies = made->largest[POPLINER_NEED_EXPECTED].max_copies;
    made->key.live = t->estimation.live;
    made->key.has_accumulators = t->meter->has_accumulators;
    if (t->needs == ALL_NEEDS)
        made->sums = pl_arrays_new(&made->arrays, pl_triangle_size(num_units), sizeof *made->sums);
}

/* Measures the rows on several threads. Returns the number of rows before the first that
 * was not measured. */
static size_t measure_rows(tile_work *t) {
    const size_t num_units = t->made->num_units;
    const pl_parallel tasks = {.num_threads = t->num_workers,
                               .count = num_units,
                               .task = measure_row,
                               .user = t,
                               .bounds = t->options->bounds};
    size_t end = 0;
    const bool is_complete =
        pl_stage_meter_complete(t->meter, t->options->listener, t->options->bounds);
    if (is_complete && !has_failed(t)) {
        for (worker *w = t->workers; w < t->workers + t->num_workers; w++) {
            if (t->meter->popliner == NULL)
                w->row = pl_row_new(&w->arrays, &t->estimation);
            if (t->lines[POPLINER_NEED_MOST] != NULL)
                w->spreads = pl_arrays_new(&w->arrays, num_units, sizeof *w->spreads);
        }
        end = pl_parallel_run(&tasks);
    }
    for (size_t i = 0; i < t->num_workers; i++)
        t->made->arrays.failed = t->made->arrays.failed || t->workers[i].arrays.failed;
    for (int need = 0; end == num_units && need < POPLINER_NUM_NEEDS; need++)
        if (t->lines[need] != NULL)
            pl_peak_envelope_list(&t->made->largest[need], &t->made->arrays, t->lines[need],
                                  pl_triangle_size(num_units));
    for (size_t i = 0; i < t->num_workers; i++)
        pl_arrays_free(&t->workers[i].arrays);
    return end;
}

popliner_status pl_intervals_measure(pl_stage_meter *meter, const pl_interval_options *options,
                                     pl_stage_details **details, popliner_error *error) {
    static const pl_interval_options usual = {0};
    const size_t num_units = meter->chain->num_units;
    const size_t num_tiles = meter->chain->profile->target.num_tiles;
    tile_work t = {.meter = meter, .options = options == NULL ? &usual : options};
    pl_arrays own = {0};
    size_t end = 0;
    t.made = pl_details_new(num_units);
    t.needs = t.options->needs != 0 ? t.options->needs : ALL_NEEDS;
    *details = NULL;
    if (t.made == NULL)
        return pl_fail_memory(error, "the intervals");
    begin_work(&t, &own);
    if (!meter->arrays.failed)
        end = measure_rows(&t);
    if (end == num_units && !has_failed(&t) && pl_stage_meter_find_sums(meter))
        memcpy(t.made->cuts_bytes, meter->cut_bytes, num_units * sizeof *meter->cut_bytes);
    pl_arrays_free(&own);
    if (has_failed(&t) || end < num_units) {
        const bool is_short = has_failed(&t);
        pl_stage_details_free(t.made);
        return is_short
                   ? pl_fail_memory(error, "the intervals")
                   : pl_fail(error, POPLINER_ERROR_STOPPED,
                             "measuring all stages was stopped at unit %zu of %zu", end, num_units);
    }
    pl_progress(t.options->listener, "Measuring all stages", num_tiles, num_tiles);
    *details = t.made;
    return POPLINER_OK;
}

/* ---- The largest variables ------------------------------------------------------------------- */

popliner_status pl_stage_details_find_variables(pl_stage_details *details, pl_stage_meter *meter,
                                                popliner_error *error) {
    const pl_peak_envelope *largest = &details->largest[POPLINER_NEED_EXPECTED];
    pl_arrays own = {0};
    if (details->variables != NULL)
        return POPLINER_OK;
    meter->arrays.failed = false;
    popliner_interval *stages = pl_arrays_new(&own, largest->num_intervals, sizeof *stages);
    pl_largest_query *queries = pl_arrays_new(&own, largest->num_pieces, sizeof *queries);
    pl_detail_variables *variables =
        pl_arrays_new(&details->arrays, largest->num_pieces, sizeof *variables);
    meter->arrays.failed = meter->arrays.failed || own.failed || variables == NULL;
    for (size_t first = 0; !meter->arrays.failed && first < details->num_units; first++)
        for (size_t last = first; last < details->num_units; last++) {
            const size_t place = pl_triangle_place(details->num_units, first, last);
            stages[place] = (popliner_interval){first, last, 1};
            for (uint64_t i = largest->start[place]; i < largest->start[place + 1]; i++)
                queries[i] = (pl_largest_query){(uint32_t)largest->pieces[i].tile,
                                                (uint32_t)largest->pieces[i].step, &stages[place],
                                                1, &variables[i]};
        }
    pl_largest_find(meter, (size_t)details->key.live, queries, largest->num_pieces);
    pl_arrays_free(&own);
    details->arrays.failed = false;
    if (meter->arrays.failed)
        return pl_fail_memory(error, "the largest variables of the stages");
    details->variables = variables;
    return POPLINER_OK;
}
