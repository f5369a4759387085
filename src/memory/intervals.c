/* The costs of every stage of a chain: the rows of all tiles, on several threads, whose sums and
 * fullest tiles are merged.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/intervals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/stage_meter.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* The sums of one thread. */
typedef struct worker {
    pl_arrays arrays; /* own all others, which are made with its first tile */
    bool is_begun;
    pl_digest_work *digest_work;
    pl_row *row;                                  /* NULL in PopLiner's model */
    pl_peak_envelope largest[POPLINER_NUM_NEEDS]; /* of the needs that are wanted; not packed */
    pl_detail_sums *sums;                         /* [intervals], only with details */
    pl_need_spread *spreads;                      /* [intervals], only if NEED_MOST is wanted */
} worker;

/* The stages to measure, and all that the threads share. */
typedef struct tile_work {
    pl_stage_meter *meter;
    const pl_interval_options *options;
    bool with_details; /* also sums over the tiles, all needs, and copies of any schedule */
    pl_estimation estimation;
    worker *workers;
    size_t num_workers;
    pl_stage_details *made; /* the result; the calling thread fills cuts */
} tile_work;

/* True if there memory was short. */
static bool has_failed(const tile_work *t) {
    return t->made->arrays.failed || t->meter->arrays.failed;
}

static bool wants(const tile_work *t, popliner_need need) {
    return t->with_details || need == t->options->need;
}

static void fill_cuts(void *user) {
    tile_work *t = user;
    pl_stage_meter_find_cuts(t->meter);
    if (!has_failed(t))
        memcpy(t->made->cuts_bytes, t->meter->cut_bytes,
               t->meter->chain->num_units * sizeof(uint64_t));
}

/* ---- A tile ---------------------------------------------------------------------------------- */

/* Returns the largest number of copies, 0 without training; with details, that of every
 * schedule. */
static size_t most_copies(const tile_work *t, popliner_need need) {
    const pl_estimation *estimation = &t->estimation;
    if (!estimation->is_training)
        return 0;
    const size_t own = pl_pipeline_copies_for(&estimation->pipeline, need, estimation->max_stages);
    return pl_more(own, t->with_details ? pl_most_copies(estimation->max_stages) : 0);
}

/* Makes a worker's state, unless it is made. */
static void begin_worker(const tile_work *t, worker *w) {
    const size_t num_intervals = pl_triangle_size(t->meter->chain->num_units);
    pl_arrays *arrays = &w->arrays;
    if (w->is_begun)
        return;
    w->is_begun = true;
    if (t->meter->popliner == NULL) {
        w->digest_work = pl_digest_work_new(arrays, t->estimation.digest);
        w->row = pl_row_new(arrays, &t->estimation);
    }
    if (wants(t, POPLINER_NEED_MOST))
        w->spreads = pl_arrays_new(arrays, num_intervals, sizeof *w->spreads);
    if (t->with_details)
        w->sums = pl_arrays_new(arrays, num_intervals, sizeof *w->sums);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        if (wants(t, (popliner_need)need))
            w->largest[need] =
                pl_peak_envelope_begin(arrays, num_intervals, most_copies(t, (popliner_need)need));
}

/* A stage on a tile. */
typedef struct entry {
    size_t interval;
    size_t tile;
    const pl_stage_tile *measured;
    const pl_tile_stash *stash;
} entry;

/* Adds an estimate of a tile to that of a stage. */
static void add_need(const tile_work *t, worker *w, popliner_need need, const entry *e,
                     const pl_need_line *line) {
    const pl_live_peak *peak = pl_stage_tile_peak(&t->estimation, need, e->measured);
    const pl_steady_bytes *steady = &e->measured->steady;
    pl_peak_piece piece = {
        .bytes = line->bytes,
        .stash_bytes = line->copy_bytes,
        .unexplained_bytes =
            steady->fixed_bytes + (need == POPLINER_NEED_LEAST ? 0 : peak->unexplained_bytes),
        .layout_bytes = line->bytes - line->live_bytes,
        .copy_layout_bytes = line->copy_bytes - line->live_copy_bytes,
        .freed_bytes = line->freed_bytes,
        .always_live_bytes = steady->data_bytes,
        .code_bytes = steady->all_code_bytes,
        .buffer_bytes = peak->buffer_bytes,
        .tile = e->tile,
        .step = peak->step,
    };
    memcpy(piece.added_bytes, steady->added_bytes, sizeof piece.added_bytes);
    pl_peak_piece level = piece;
    level.bytes = line->level_bytes;
    level.layout_bytes = line->level_bytes - line->level_live_bytes;
    level.stash_bytes = level.copy_layout_bytes = level.freed_bytes = 0;
    /* a separate line, below the other one with any copies */
    if (line->freed_bytes > 0)
        pl_peak_envelope_add(&w->largest[need], e->interval, &level);
    pl_peak_envelope_add(&w->largest[need], e->interval, &piece);
}

/* Adds a tile with its expected memory to the sums of a stage. */
static void add_sums(const tile_work *t, worker *w, const entry *e, const pl_need_line *line) {
    const pl_live_peak *peak =
        pl_stage_tile_peak(&t->estimation, POPLINER_NEED_EXPECTED, e->measured);
    const uint64_t layout_bytes = line->level_bytes - line->level_live_bytes;
    pl_detail_sums own = {{
        [POPLINER_PART_STASH] = e->stash->bytes,
        [POPLINER_PART_LAYOUT] = layout_bytes,
        [PL_SUM_COPY_LAYOUT] = line->copy_bytes - line->live_copy_bytes,
        [PL_SUM_FREED] = line->freed_bytes,
        [PL_SUM_FREED_LAYOUT] = layout_bytes - (line->bytes - line->live_bytes),
    }};
    pl_stage_tile_parts(e->measured, peak, own.bytes);
    pl_detail_sums_add(&w->sums[e->interval], &own, 1);
}

/* Adds a tile to a stage. */
static void add_tile(const tile_work *t, worker *w, const entry *e) {
    const pl_overhead *layout = &t->meter->account.overheads[e->tile];
    for (int i = 0; i < POPLINER_NUM_NEEDS; i++) {
        const popliner_need need = (popliner_need)i;
        if (!wants(t, need))
            continue;
        const pl_need_line line =
            pl_stage_tile_need(&t->estimation, need, layout, e->measured, e->stash);
        add_need(t, w, need, e, &line);
        if (need == POPLINER_NEED_MOST && w->spreads != NULL)
            pl_need_spread_add(&w->spreads[e->interval], &line);
        if (need == POPLINER_NEED_EXPECTED && w->sums != NULL)
            add_sums(t, w, e, &line);
    }
}

/* Adds a tile to all stages. */
static bool measure_tile(void *user, size_t number, size_t tile) {
    const tile_work *t = user;
    worker *w = &t->workers[number];
    const size_t num_units = t->meter->chain->num_units;
    begin_worker(t, w);
    pl_arrays *arrays = &w->arrays;
    arrays->failed = arrays->failed || !pl_digest_make_tile(t->estimation.digest, w->digest_work,
                                                            tile, t->estimation.live);
    for (size_t first = 0; !arrays->failed && first < num_units; first++) {
        bool is_begun = pl_row_begin(w->row, tile, first);
        for (size_t last = first; is_begun && last < num_units; last++) {
            pl_stage_tile measured;
            pl_tile_stash stash;
            pl_row_extend(w->row, &measured, &stash);
            add_tile(t, w,
                     &(entry){pl_triangle_place(num_units, first, last), tile, &measured, &stash});
        }
    }
    /* only worker 0, the calling thread, may call the listener */
    if (number == 0 && tile % 16 == 15)
        pl_progress(t->options->listener, "Measuring all stages", tile,
                    t->meter->chain->profile->target.num_tiles);
    return !arrays->failed;
}

/* ---- All tiles ------------------------------------------------------------------------------- */

/* Returns the number of threads, limited so that each has a few tiles. */
static size_t count_threads(const tile_work *t) {
    enum { MIN_TILES = 4 };
    const size_t max = t->meter->chain->profile->target.num_tiles / MIN_TILES;
    const size_t wanted =
        t->options->num_threads > 0 ? t->options->num_threads : pl_machine_processors();
    return pl_more(pl_fewer(wanted, max), 1);
}

/* Adds what other workers have to the first one's. */
static void merge_worker(const tile_work *t, worker *w, const worker *other) {
    const size_t num_intervals = pl_triangle_size(t->made->num_units);
    if (w->sums != NULL)
        pl_detail_sums_add(w->sums, other->sums, num_intervals);
    for (size_t i = 0; w->spreads != NULL && i < num_intervals; i++)
        pl_need_spread_join(&w->spreads[i], &other->spreads[i]);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        if (wants(t, (popliner_need)need))
            pl_peak_envelope_merge(&w->largest[need], &other->largest[need]);
}

/* Adds what all tiles together need at most. */
static void add_spreads(const tile_work *t, worker *w) {
    pl_peak_envelope *largest = &w->largest[POPLINER_NEED_MOST];
    for (size_t i = 0; w->spreads != NULL && i < pl_triangle_size(t->made->num_units); i++) {
        const pl_need_line any = pl_need_spread_line(&w->spreads[i], &t->estimation.rule,
                                                     t->meter->chain->profile->target.num_tiles);
        const pl_peak_piece level = {.bytes = any.level_bytes};
        const pl_peak_piece piece = {.bytes = any.bytes, .stash_bytes = any.copy_bytes};
        if (any.level_bytes != any.bytes)
            pl_peak_envelope_add(largest, i, &level);
        pl_peak_envelope_add(largest, i, &piece);
    }
}

/* Takes what the workers measured into the result. */
static void take_measured(tile_work *t) {
    pl_stage_details *made = t->made;
    worker *all = NULL;
    for (size_t i = 0; i < t->num_workers; i++) {
        worker *w = &t->workers[i];
        if (w->is_begun && all != NULL)
            merge_worker(t, all, w);
        else if (w->is_begun)
            all = w;
    }
    if (all == NULL)
        return;
    if (t->estimation.rule.has_needs)
        add_spreads(t, all);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        if (wants(t, (popliner_need)need))
            made->largest[need] = pl_peak_envelope_pack(&all->largest[need], &made->arrays);
    made->sums = pl_arrays_copy(&made->arrays, all->sums, pl_triangle_size(made->num_units),
                                sizeof *made->sums);
}

/* Measures the tiles on several threads; and cuts. */
static popliner_status measure_tiles(tile_work *t, popliner_error *error) {
    const size_t num_tiles = t->meter->chain->profile->target.num_tiles;
    pl_digest *digest = t->estimation.digest;
    pl_parallel tasks = {t->num_workers, num_tiles, measure_tile, fill_cuts, t, t->options->bounds};
    t->made->arrays.failed = !digest->is_made[t->estimation.live] && !pl_digest_prepare(digest);
    if (has_failed(t))
        return POPLINER_OK;
    const size_t failed_tile = pl_parallel_run(&tasks);
    for (size_t i = 0; i < t->num_workers; i++)
        t->made->arrays.failed = t->made->arrays.failed || t->workers[i].arrays.failed;
    if (!has_failed(t) && failed_tile < num_tiles)
        return pl_fail(error, POPLINER_ERROR_STOPPED,
                       "measuring all stages was stopped at tile %zu of %zu", failed_tile,
                       num_tiles);
    digest->is_made[t->estimation.live] = !has_failed(t);
    pl_digest_finish(digest);
    return POPLINER_OK;
}

/* Adds all tiles to a stage that PopLiner's meter computed. */
static void add_stage(const tile_work *t, worker *w, const popliner_interval *stage) {
    const size_t num_units = t->meter->chain->num_units;
    const size_t interval = pl_triangle_place(num_units, stage->first_unit, stage->last_unit);
    const bool has_stash = t->estimation.has_stash;
    pl_question question;
    pl_arrays own = {0};
    if (has_stash)
        pl_question_begin(&question, &own, &t->estimation, stage, 1);
    for (size_t tile = 0; !own.failed && tile < t->meter->chain->profile->target.num_tiles;
         tile++) {
        pl_stage_tile measured;
        pl_tile_stash stash = {0, 0};
        if (has_stash)
            pl_question_measure(&question, tile, &measured, &stash);
        measured = pl_popliner_meter_tile(t->meter->popliner, tile);
        add_tile(t, w, &(entry){interval, tile, &measured, &stash});
    }
    pl_arrays_end(&own, &w->arrays);
}

/* Measures one stage after another in PopLiner's model: a longer one may need less. */
static popliner_status measure_stages(tile_work *t, popliner_error *error) {
    const pl_chain *chain = t->meter->chain;
    const size_t *start = chain->unit_operations_start;
    const size_t num_tiles = chain->profile->target.num_tiles;
    worker *w = &t->workers[0];
    begin_worker(t, w);
    pl_estimation_complete(t->meter, &t->estimation);
    t->made->arrays.failed = w->arrays.failed;
    for (size_t first = 0; !has_failed(t) && first < chain->num_units; first++) {
        if (t->options->bounds != NULL && pl_bounds_ask(t->options->bounds))
            return pl_fail(error, POPLINER_ERROR_STOPPED,
                           "measuring all stages was stopped at unit %zu of %zu", first,
                           chain->num_units);
        pl_progress(t->options->listener, "Measuring all stages",
                    first * num_tiles / chain->num_units, num_tiles);
        pl_popliner_meter_begin(t->meter->popliner);
        for (size_t last = first; !has_failed(t) && last < chain->num_units; last++) {
            const popliner_interval stage = {first, last, 1};
            pl_popliner_meter_add(t->meter->popliner, chain->unit_operation + start[last],
                                  start[last + 1] - start[last]);
            pl_popliner_meter_finish(t->meter->popliner, false);
            add_stage(t, w, &stage);
            t->made->arrays.failed = w->arrays.failed;
        }
    }
    fill_cuts(t);
    return POPLINER_OK;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Finds the largest variables of each piece of the expected need. */
static void find_largest(tile_work *t) {
    pl_stage_details *made = t->made;
    const pl_peak_envelope *largest = &made->largest[POPLINER_NEED_EXPECTED];
    pl_arrays own = {0};
    pl_largest_query *queries = pl_arrays_new(&own, largest->num_pieces, sizeof *queries);
    made->variables = pl_arrays_new(&made->arrays, largest->num_pieces, sizeof *made->variables);
    own.failed = own.failed || made->arrays.failed;
    for (uint32_t first = 0; !own.failed && first < made->num_units; first++)
        for (uint32_t last = first; last < made->num_units; last++)
            for (uint64_t i = largest->first[pl_triangle_place(made->num_units, first, last)];
                 i != PL_NONE; i = largest->pieces[i].next)
                queries[i] = (pl_largest_query){(uint32_t)largest->pieces[i].tile,
                                                (uint32_t)largest->pieces[i].step, first, last, i};
    if (!own.failed)
        pl_largest_find(t->meter, &t->estimation, queries, largest->num_pieces, NULL, 0,
                        made->variables);
    pl_arrays_end(&own, &t->meter->arrays);
}

/* Adds what sums over tiles lack. */
static void add_details(tile_work *t) {
    const pl_stage_meter *meter = t->meter;
    pl_arrays own = {0};
    const uint64_t *parameter_bytes =
        pl_sum_sets(&own, &meter->pass_usage, meter->parameters.touched_bytes,
                    pl_chain_first_data_unit(meter->chain));
    for (size_t i = 0; !own.failed && i < pl_triangle_size(t->made->num_units); i++)
        t->made->sums[i].bytes[POPLINER_PART_PARAMETERS] = parameter_bytes[i];
    pl_arrays_end(&own, &t->meter->arrays);
    if (!meter->arrays.failed)
        find_largest(t);
}

/* Begins measuring with a meter. */
static void begin_work(tile_work *t, pl_arrays *own) {
    const size_t num_units = t->meter->chain->num_units;
    t->meter->arrays.failed = false;
    /* details are of pipelines of any length */
    pl_estimation_find(t->meter, &t->options->pipeline,
                       t->with_details ? SIZE_MAX : t->options->pipeline.max_stages,
                       &t->estimation);
    t->num_workers = t->meter->popliner == NULL ? count_threads(t) : 1;
    t->workers = pl_arrays_new(own, t->num_workers, sizeof *t->workers);
    t->made = pl_details_new(num_units);
    t->meter->arrays.failed = t->meter->arrays.failed || own->failed || t->made == NULL;
    if (t->meter->arrays.failed)
        return;
    t->made->key = (pl_details_key){.pipeline = t->options->pipeline,
                                    .is_training = t->estimation.is_training,
                                    .has_accumulators = t->estimation.has_accumulators};
    t->made->key.pipeline.max_stages = t->estimation.max_stages;
}

static popliner_status measure(tile_work *t, popliner_error *error) {
    const size_t num_tiles = t->meter->chain->profile->target.num_tiles;
    popliner_status status = POPLINER_OK;
    pl_arrays own = {0};
    begin_work(t, &own);
    bool failed = t->made == NULL || has_failed(t);
    if (!failed)
        status = (t->meter->popliner == NULL ? measure_tiles : measure_stages)(t, error);
    failed = failed || has_failed(t);
    if (!failed && status == POPLINER_OK) {
        take_measured(t);
        pl_progress(t->options->listener, "Measuring all stages", num_tiles, num_tiles);
    }
    if (!failed && !t->made->arrays.failed && status == POPLINER_OK && t->with_details)
        add_details(t);
    for (size_t i = 0; t->workers != NULL && i < t->num_workers; i++)
        pl_arrays_free(&t->workers[i].arrays);
    pl_arrays_free(&own);
    return failed || has_failed(t) ? pl_fail_memory(error, "the intervals") : status;
}

popliner_status pl_intervals_measure(const pl_chain *chain, const pl_interval_options *options,
                                     popliner_costs **costs, pl_stage_details **details,
                                     popliner_error *error) {
    static const pl_interval_options usual = {0};
    tile_work t = {.options = options == NULL ? &usual : options, .with_details = details != NULL};
    pl_stage_meter *own = NULL;
    popliner_status status = POPLINER_OK;
    if (costs != NULL)
        *costs = NULL;
    if (details != NULL)
        *details = NULL;
    t.meter = t.options->meter;
    if (t.meter == NULL) {
        status = pl_stage_meter_create(chain, t.options->num_threads, &own, error);
        t.meter = own;
    }
    if (status == POPLINER_OK)
        status = measure(&t, error);
    if (status == POPLINER_OK && costs != NULL)
        status = pl_stage_details_costs(t.made, chain, &t.options->pipeline, t.options->need, costs,
                                        error);
    if (status == POPLINER_OK && details != NULL) {
        *details = t.made;
        t.made = NULL;
    }
    pl_stage_details_free(t.made);
    pl_stage_meter_free(own);
    return status;
}
