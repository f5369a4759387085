/* The costs of every stage of a chain: the rows of all tiles, on several threads, each with its own
 * table, whose largest peaks are merged.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/threads.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/stage_meter.h"
#include "profile/profile_data.h"

/* ---- Cuts and cycles ---- */

/* Returns the transfer time of the cuts of an interval on a link, in cycles. */
static uint64_t link_cycles(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                            double bytes_per_second, uint64_t clock_hz) {
    uint64_t bytes = popliner_costs_cut(costs, first_unit);
    bytes += popliner_costs_cut(costs, last_unit + 1);
    if (bytes_per_second <= 0)
        return 0;
    double cycles = ceil((double)bytes / bytes_per_second * (double)clock_hz);
    return cycles < (double)POPLINER_MAX_CYCLES ? (uint64_t)cycles : POPLINER_MAX_CYCLES;
}

/* Sets the cycles of all stages, if the profile has cycles; the cuts are set before. */
static bool fill_cycles(const pl_stage_meter *meter, double link_bytes_per_second,
                        popliner_costs *costs) {
    size_t num_units = meter->chain->num_units;
    if (pl_profile_cycles_source(meter->chain->profile) < POPLINER_CYCLES_ESTIMATED)
        return true;
    uint64_t *cycles = pl_new_array(num_units, sizeof *cycles);
    const bool memory = cycles != NULL && pl_costs_add_cycles(costs, NULL) == POPLINER_OK &&
                        pl_unit_cycles_find(meter->chain, &meter->pass_usage.passes, false, cycles);
    for (size_t first = 0; memory && first < num_units; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < num_units; last++) {
            uint64_t on_link = link_cycles(costs, first, last, link_bytes_per_second,
                                           meter->chain->profile->target.clock_hz);
            sum =
                cycles[last] > POPLINER_MAX_CYCLES - sum ? POPLINER_MAX_CYCLES : sum + cycles[last];
            pl_costs_set_cycles(costs, first, last,
                                on_link > POPLINER_MAX_CYCLES - sum ? POPLINER_MAX_CYCLES
                                                                    : sum + on_link);
        }
    }
    free(cycles);
    return memory;
}

/* ---- The tiles ------------------------------------------------------------------------------- */

/* The tiles of one thread. */
typedef struct worker {
    pl_digest_work *digest_work; /* like the next two made with its first tile */
    pl_row *row;
    pl_stage_table table;
    bool has_failed; /* memory was short */
} worker;

/* The stages to measure, and all that the threads share. */
typedef struct tile_work {
    pl_stage_meter *meter;
    const pl_interval_options *options;
    pl_estimation estimation;
    pl_digest *digest; /* of the estimation, to which tiles are added */
    pl_table_wishes wishes;
    pl_tile_need *tile_needs; /* or NULL */
    worker *workers;
    popliner_costs *costs; /* the calling thread fills cuts and cycles */
    bool has_cuts;         /* it has, with enough memory */
} tile_work;

static void fill_cuts_and_cycles(void *user) {
    tile_work *t = user;
    t->has_cuts = pl_stage_meter_find_cuts(t->meter);
    for (size_t unit = 1; t->has_cuts && unit < t->meter->chain->num_units; unit++)
        pl_costs_set_cut(t->costs, unit, t->meter->cut_bytes[unit]);
    t->has_cuts =
        t->has_cuts && (!t->options->with_cycles ||
                        fill_cycles(t->meter, t->options->link_bytes_per_second, t->costs));
}

/* Makes a worker's state, unless it is made. */
static bool begin_worker(const tile_work *t, worker *w) {
    if (w->row != NULL)
        return true;
    w->digest_work = pl_digest_work_new(t->digest);
    w->row = pl_row_new(&t->estimation.evaluation);
    return w->digest_work != NULL && w->row != NULL &&
           pl_stage_table_begin(&w->table, &t->estimation, t->meter->chain->num_units, &t->wishes);
}

/* Adds a tile to all stages. */
static bool measure_tile(void *user, size_t number, size_t tile) {
    const tile_work *t = user;
    worker *w = &t->workers[number];
    const size_t num_units = t->meter->chain->num_units;
    bool memory = begin_worker(t, w) && pl_digest_make_tile(t->digest, w->digest_work, tile);
    const pl_overhead layout = pl_account_overhead(&t->meter->account, tile);
    w->table.tile_needs = t->tile_needs;
    for (size_t first = 0; memory && first < num_units; first++) {
        if (w->table.allowed_end[first] == first)
            continue;
        memory = pl_row_begin(w->row, tile, first);
        for (size_t last = first; memory && last < w->table.allowed_end[first]; last++) {
            pl_stage_tile measured;
            pl_tile_stash stash;
            pl_row_extend(w->row, &measured, &stash);
            memory = pl_stage_table_add(&w->table, first, last, tile, &layout, &measured, &stash);
        }
    }
    if (memory)
        pl_stage_table_end_tile(&w->table);
    w->has_failed = !memory;
    /* only worker 0, the calling thread, may call the listener */
    if (number == 0 && tile % 16 == 15)
        pl_progress(t->options->listener, "Measuring all stages", tile,
                    t->meter->chain->profile->target.num_tiles);
    return memory;
}

/* Returns the number of threads, limited so that each has a few tiles. */
static size_t count_threads(const tile_work *t) {
    enum { MIN_TILES = 4 };
    const size_t max = t->meter->chain->profile->target.num_tiles / MIN_TILES;
    size_t wanted = t->options->num_threads;
    if (wanted == 0)
        wanted = pl_machine_processors();
    wanted = wanted < max ? wanted : max;
    return wanted > 0 ? wanted : 1;
}

/* Merges the tables of the workers. */
static bool merge_tables(const tile_work *t, size_t num_workers, pl_stage_table *table) {
    bool memory = true;
    for (size_t i = 0; memory && i < num_workers; i++) {
        worker *w = &t->workers[i];
        if (w->row == NULL)
            continue;
        if (table->estimation != NULL) {
            memory = pl_stage_table_merge(table, &w->table);
        } else {
            *table = w->table;
            w->table = (pl_stage_table){0};
        }
    }
    return memory && (table->estimation == NULL ||
                      pl_stage_table_finish(table, t->meter->chain->profile->target.num_tiles));
}

/* Measures all tiles on several threads, into a table that is zero before; and cuts and cycles. */
static popliner_status measure_tiles(tile_work *t, pl_stage_table *table, popliner_error *error) {
    const size_t num_tiles = t->meter->chain->profile->target.num_tiles;
    const size_t num_workers = count_threads(t);
    t->workers = pl_new_array(num_workers, sizeof *t->workers);
    if (t->workers == NULL)
        return pl_fail_memory(error, "the intervals");
    pl_parallel tasks = {num_workers,          num_tiles, measure_tile,
                         fill_cuts_and_cycles, t,         t->options->bounds};
    const size_t failed_tile = pl_parallel_run(&tasks);
    bool memory = t->has_cuts;
    for (size_t i = 0; i < num_workers; i++)
        memory = memory && !t->workers[i].has_failed;
    if (memory && failed_tile == num_tiles)
        memory = merge_tables(t, num_workers, table);
    for (size_t i = 0; i < num_workers; i++) {
        pl_digest_work_free(t->workers[i].digest_work);
        pl_row_free(t->workers[i].row);
        pl_stage_table_free(&t->workers[i].table);
    }
    free(t->workers);
    if (!memory)
        return pl_fail_memory(error, "the intervals");
    if (failed_tile < num_tiles)
        return pl_fail(error, POPLINER_ERROR_STOPPED,
                       "measuring all stages was stopped at tile %zu of %zu", failed_tile,
                       num_tiles);
    pl_digest_finish(t->digest);
    pl_progress(t->options->listener, "Measuring all stages", num_tiles, num_tiles);
    return POPLINER_OK;
}

/* ---- PopLiner's model ------------------------------------------------------------------------ */

/* Adds all tiles to a stage that PopLiner's meter computed. */
static bool add_stage(const tile_work *t, const popliner_interval *stage, pl_stage_table *table) {
    const pl_overhead none = {0};
    const bool has_stash = t->estimation.evaluation.has_stash;
    pl_question question = {0};
    bool memory = !has_stash || pl_question_begin(&question, &t->estimation.evaluation, stage, 1);
    for (size_t tile = 0; memory && tile < t->meter->chain->profile->target.num_tiles; tile++) {
        pl_stage_tile measured;
        pl_tile_stash stash = {0, 0};
        if (has_stash)
            pl_question_measure(&question, tile, &measured, &stash);
        measured = pl_popliner_meter_tile(t->meter->popliner, tile);
        memory = pl_stage_table_add(table, stage->first_unit, stage->last_unit, tile, &none,
                                    &measured, &stash);
    }
    pl_question_free(&question);
    return memory;
}

/* Measures one stage after another: a longer one may need less. */
static popliner_status measure_stages(tile_work *t, pl_stage_table *table, popliner_error *error) {
    const pl_chain *chain = t->meter->chain;
    const size_t *start = chain->unit_operations_start;
    const size_t num_tiles = chain->profile->target.num_tiles;
    bool memory = pl_stage_table_begin(table, &t->estimation, chain->num_units, &t->wishes) &&
                  pl_estimation_complete(t->meter, &t->estimation);
    table->tile_needs = t->tile_needs;
    for (size_t first = 0; memory && first < chain->num_units; first++) {
        if (t->options->bounds != NULL && pl_bounds_ask(t->options->bounds))
            return pl_fail(error, POPLINER_ERROR_STOPPED,
                           "measuring all stages was stopped at unit %zu of %zu", first,
                           chain->num_units);
        pl_progress(t->options->listener, "Measuring all stages",
                    first * num_tiles / chain->num_units, num_tiles);
        pl_popliner_meter_begin(t->meter->popliner);
        for (size_t last = first; memory && last < chain->num_units; last++) {
            const popliner_interval stage = {first, last, 1};
            pl_popliner_meter_add(t->meter->popliner, chain->unit_operation + start[last],
                                  start[last + 1] - start[last]);
            memory =
                pl_popliner_meter_finish(t->meter->popliner, false) && add_stage(t, &stage, table);
        }
    }
    fill_cuts_and_cycles(t);
    if (!memory || !t->has_cuts)
        return pl_fail_memory(error, "the intervals");
    pl_progress(t->options->listener, "Measuring all stages", num_tiles, num_tiles);
    return POPLINER_OK;
}

/* ---- Results --------------------------------------------------------------------------------- */

void pl_intervals_leave_out_links(popliner_costs *costs, uint64_t clock_hz) {
    size_t num_units = popliner_costs_num_units(costs);
    if (!popliner_costs_has_cycles(costs))
        return;
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            uint64_t cycles = popliner_costs_cycles(costs, first, last);
            uint64_t on_link = link_cycles(costs, first, last, PL_LINK_BYTES_PER_SECOND, clock_hz);
            pl_costs_set_cycles(costs, first, last, cycles > on_link ? cycles - on_link : 0);
        }
}

/* Sets the measured peaks of the pipeline. */
static bool fill_peaks(const tile_work *t, const pl_stage_table *table, popliner_costs *costs) {
    const pl_interval_options *options = t->options;
    if (!pl_peak_envelope_fill(&table->largest[options->need], t->meter->chain, &options->pipeline,
                               options->need, costs))
        return false;
    for (size_t first = 0; first < table->num_units; first++)
        for (size_t last = table->allowed_end[first]; last < table->num_units; last++)
            pl_costs_forbid(costs, first, last);
    return true;
}

static bool find_parameters(const tile_work *t, pl_stage_details *details) {
    const size_t num_intervals = pl_triangle_size(details->num_units);
    uint64_t *bytes = pl_new_array(num_intervals, sizeof *bytes);
    const bool memory = bytes != NULL &&
                        pl_sum_sets(&t->meter->pass_usage.usage, t->meter->parameters.touched_bytes,
                                    pl_chain_first_data_unit(t->meter->chain), bytes);
    for (size_t i = 0; memory && i < num_intervals; i++)
        details->sums[i].bytes[POPLINER_PART_PARAMETERS] = bytes[i];
    free(bytes);
    return memory;
}

/* Finds the largest variables of each piece of the expected need. */
static bool find_largest(const tile_work *t, pl_stage_details *details) {
    const pl_peak_envelope *largest = &details->largest[POPLINER_NEED_EXPECTED];
    pl_largest_wish *wishes = pl_new_array(largest->num_pieces, sizeof *wishes);
    if (wishes == NULL)
        return false;
    for (uint32_t first = 0; first < details->num_units; first++)
        for (uint32_t last = first; last < details->num_units; last++)
            for (uint32_t i = largest->first[pl_triangle_place(details->num_units, first, last)];
                 i != PL_NONE; i = largest->pieces[i].next)
                wishes[i] = (pl_largest_wish){largest->pieces[i].tile, largest->pieces[i].step,
                                              first, last, i};
    const bool memory = pl_largest_find(t->meter, &t->estimation, wishes, largest->num_pieces, NULL,
                                        0, details->variables);
    free(wishes);
    return memory;
}

/* Moves what was measured into details; NULL if memory is short. */
static pl_stage_details *make_details(const tile_work *t, pl_stage_table *table) {
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        if (!pl_peak_envelope_pack(&table->largest[need]))
            return NULL;
    pl_details_key key = {
        .pipeline = t->options->pipeline,
        .is_training = t->estimation.is_training,
        .has_accumulators = t->estimation.has_accumulators,
    };
    key.pipeline.max_stages = t->estimation.max_stages;
    pl_stage_details *details = pl_details_create(table->sums, table->largest, &key, t->costs);
    if (details == NULL)
        return NULL;
    table->sums = NULL;
    if (find_parameters(t, details) && find_largest(t, details))
        return details;
    pl_stage_details_free(details);
    return NULL;
}

/* Begins measuring with a meter. */
static bool begin_work(tile_work *t, bool with_details) {
    const bool is_full = t->meter->popliner == NULL;
    t->wishes = (pl_table_wishes){
        .with_details = with_details,
        .need = t->options->need,
        .max_bytes = with_details || !is_full ? UINT64_MAX : t->options->max_bytes,
    };
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        t->wishes.needs[need] = with_details || need == (int)t->options->need;
    /* details are of pipelines of any length */
    if (!pl_estimation_find(t->meter, &t->options->pipeline,
                            with_details ? SIZE_MAX : t->options->pipeline.max_stages,
                            &t->estimation))
        return false;
    t->digest = pl_estimation_digest(t->meter, &t->estimation);
    if (with_details && t->options->with_tile_needs)
        t->tile_needs = pl_new_array(t->meter->chain->profile->target.num_tiles *
                                         pl_triangle_size(t->meter->chain->num_units),
                                     sizeof *t->tile_needs);
    return !with_details || !t->options->with_tile_needs || t->tile_needs != NULL;
}

popliner_status pl_intervals_measure(const pl_chain *chain, const pl_interval_options *options,
                                     popliner_costs **costs, pl_stage_details **details,
                                     popliner_error *error) {
    static const pl_interval_options usual = PL_INTERVAL_OPTIONS_INIT;
    tile_work t = {.options = options == NULL ? &usual : options};
    pl_stage_table table = {0};
    pl_stage_meter *own = NULL;
    popliner_status status = POPLINER_OK;
    if (costs != NULL)
        *costs = NULL;
    if (details != NULL)
        *details = NULL;
    t.meter = t.options->meter;
    if (t.meter == NULL)
        status = pl_stage_meter_create(chain, t.options->num_threads, &own, error);
    if (own != NULL)
        t.meter = own;
    if (status == POPLINER_OK)
        status = popliner_costs_create(chain->num_units, 1, &t.costs, error);
    if (status == POPLINER_OK && !begin_work(&t, details != NULL))
        status = pl_fail_memory(error, "the intervals");
    if (status == POPLINER_OK)
        status = (t.meter->popliner == NULL ? measure_tiles : measure_stages)(&t, &table, error);
    if (status == POPLINER_OK && costs != NULL && !fill_peaks(&t, &table, t.costs))
        status = pl_fail_memory(error, "the intervals");
    if (status == POPLINER_OK && details != NULL) {
        *details = make_details(&t, &table);
        if (*details == NULL)
            status = pl_fail_memory(error, "the intervals");
    }
    if (status == POPLINER_OK && details != NULL) {
        (*details)->tile_needs = t.tile_needs;
        t.tile_needs = NULL;
    }
    pl_stage_table_free(&table);
    pl_stage_meter_free(own);
    free(t.tile_needs);
    if (status == POPLINER_OK && costs != NULL)
        *costs = t.costs;
    else
        popliner_costs_free(t.costs);
    return status;
}

popliner_status pl_intervals_are_training(const pl_chain *chain, bool *train,
                                          popliner_error *error) {
    pl_passes passes = {0};
    const bool memory = pl_passes_find(&passes, chain);
    *train = memory && passes.is_training;
    pl_passes_free(&passes);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the passes of the training");
}
