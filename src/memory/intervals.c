/* The costs of every stage of a chain: the rows of all tiles, on several threads, each with its own
 * table, whose largest peaks are merged.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/intervals.h"

#include <math.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/threads.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/stage_meter.h"
#include "profile/profile_data.h"

/* ---- Cuts and cycles ------------------------------------------------------------------------- */

static uint64_t add_cycles(uint64_t a, uint64_t b) {
    return b > POPLINER_MAX_CYCLES - a ? POPLINER_MAX_CYCLES : a + b;
}

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
static void fill_cycles(pl_stage_meter *meter, double link_bytes_per_second,
                        popliner_costs *costs) {
    const popliner_profile *p = meter->chain->profile;
    const size_t num_units = meter->chain->num_units;
    pl_arrays own = {0};
    if (pl_profile_cycles_source(p) < POPLINER_CYCLES_ESTIMATED)
        return;
    const uint64_t *cycles =
        pl_unit_cycles_find(&own, meter->chain, &meter->pass_usage.passes, false);
    own.failed = own.failed || pl_costs_add_cycles(costs, NULL) != POPLINER_OK;
    for (size_t first = 0; !own.failed && first < num_units; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < num_units; last++) {
            sum = add_cycles(sum, cycles[last]);
            pl_costs_set_cycles(
                costs, first, last,
                add_cycles(sum, link_cycles(costs, first, last, link_bytes_per_second,
                                            p->target.clock_hz)));
        }
    }
    pl_arrays_end(&own, &meter->arrays);
}

/* ---- The tiles ------------------------------------------------------------------------------- */

/* The tiles of one thread. */
typedef struct worker {
    pl_digest_work *digest_work; /* like the next two made with its first tile */
    pl_row *row;
    pl_stage_table table;
} worker;

/* The stages to measure, and all that the threads share. */
typedef struct tile_work {
    pl_stage_meter *meter;
    const pl_interval_options *options;
    pl_estimation estimation;
    pl_digest *digest; /* of the estimation, to which tiles are added */
    pl_table_request request;
    pl_tile_need *tile_needs; /* or NULL */
    worker *workers;
    popliner_costs *costs; /* the calling thread fills cuts and cycles */
} tile_work;

static void fill_cuts_and_cycles(void *user) {
    const tile_work *t = user;
    pl_stage_meter_find_cuts(t->meter);
    if (t->meter->arrays.failed)
        return;
    for (size_t unit = 1; unit < t->meter->chain->num_units; unit++)
        pl_costs_set_cut(t->costs, unit, t->meter->cut_bytes[unit]);
    if (t->options->with_cycles)
        fill_cycles(t->meter, t->options->link_bytes_per_second, t->costs);
}

/* Makes a worker's state, unless it is made. */
static void begin_worker(const tile_work *t, worker *w) {
    if (w->row != NULL)
        return;
    w->digest_work = pl_digest_work_new(t->digest);
    w->row = pl_row_new(&t->estimation.evaluation);
    pl_stage_table_begin(&w->table, &t->estimation, t->meter->chain->num_units, &t->request);
    w->table.tile_needs = t->tile_needs;
    w->table.arrays.failed = w->table.arrays.failed || w->digest_work == NULL || w->row == NULL;
}

/* Adds a tile to all stages. */
static bool measure_tile(void *user, size_t number, size_t tile) {
    const tile_work *t = user;
    worker *w = &t->workers[number];
    pl_stage_table *table = &w->table;
    bool *failed = &table->arrays.failed;
    begin_worker(t, w);
    *failed = *failed || !pl_digest_make_tile(t->digest, w->digest_work, tile);
    const pl_overhead layout = pl_account_overhead(&t->meter->account, tile);
    for (size_t first = 0; !*failed && first < table->num_units; first++) {
        if (table->allowed_end[first] == first)
            continue;
        *failed = !pl_row_begin(w->row, tile, first);
        for (size_t last = first; !*failed && last < table->allowed_end[first]; last++) {
            pl_stage_tile measured;
            pl_tile_stash stash;
            pl_row_extend(w->row, &measured, &stash);
            pl_stage_table_add(table, first, last, tile, &layout, &measured, &stash);
        }
    }
    if (*failed)
        return false;
    pl_stage_table_end_tile(table);
    /* only worker 0, the calling thread, may call the listener */
    if (number == 0 && tile % 16 == 15)
        pl_progress(t->options->listener, "Measuring all stages", tile,
                    t->meter->chain->profile->target.num_tiles);
    return true;
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
static void merge_tables(const tile_work *t, size_t num_workers, pl_stage_table *table) {
    for (size_t i = 0; i < num_workers; i++) {
        worker *w = &t->workers[i];
        if (w->row == NULL)
            continue;
        if (table->estimation != NULL) {
            pl_stage_table_merge(table, &w->table);
        } else {
            *table = w->table;
            w->table = (pl_stage_table){0};
        }
    }
    if (table->estimation != NULL)
        pl_stage_table_finish(table, t->meter->chain->profile->target.num_tiles);
}

/* Measures all tiles on several threads, into a table that is zero before; and cuts and cycles. */
static popliner_status measure_tiles(tile_work *t, pl_stage_table *table, popliner_error *error) {
    const size_t num_tiles = t->meter->chain->profile->target.num_tiles;
    const size_t num_workers = count_threads(t);
    pl_arrays own = {0};
    t->workers = pl_arrays_new(&own, num_workers, sizeof *t->workers);
    if (own.failed)
        return pl_fail_memory(error, "the intervals");
    pl_parallel tasks = {num_workers,          num_tiles, measure_tile,
                         fill_cuts_and_cycles, t,         t->options->bounds};
    const size_t failed_tile = pl_parallel_run(&tasks);
    bool has_failed = t->meter->arrays.failed;
    for (size_t i = 0; i < num_workers; i++)
        has_failed = has_failed || t->workers[i].table.arrays.failed;
    if (!has_failed && failed_tile == num_tiles)
        merge_tables(t, num_workers, table);
    for (size_t i = 0; i < num_workers; i++) {
        pl_digest_work_free(t->workers[i].digest_work);
        pl_row_free(t->workers[i].row);
        pl_stage_table_free(&t->workers[i].table);
    }
    pl_arrays_free(&own);
    if (has_failed || table->arrays.failed)
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
static void add_stage(const tile_work *t, const popliner_interval *stage, pl_stage_table *table) {
    const pl_overhead none = {0};
    const bool has_stash = t->estimation.evaluation.has_stash;
    pl_question question = {0};
    if (has_stash && !pl_question_begin(&question, &t->estimation.evaluation, stage, 1))
        table->arrays.failed = true;
    for (size_t tile = 0;
         !table->arrays.failed && tile < t->meter->chain->profile->target.num_tiles; tile++) {
        pl_stage_tile measured;
        pl_tile_stash stash = {0, 0};
        if (has_stash)
            pl_question_measure(&question, tile, &measured, &stash);
        measured = pl_popliner_meter_tile(t->meter->popliner, tile);
        pl_stage_table_add(table, stage->first_unit, stage->last_unit, tile, &none, &measured,
                           &stash);
    }
    pl_question_free(&question);
}

/* Measures one stage after another: a longer one may need less. */
static popliner_status measure_stages(tile_work *t, pl_stage_table *table, popliner_error *error) {
    const pl_chain *chain = t->meter->chain;
    const size_t *start = chain->unit_operations_start;
    const size_t num_tiles = chain->profile->target.num_tiles;
    bool *failed = &t->meter->arrays.failed;
    pl_stage_table_begin(table, &t->estimation, chain->num_units, &t->request);
    table->tile_needs = t->tile_needs;
    pl_estimation_complete(t->meter, &t->estimation);
    for (size_t first = 0; !*failed && first < chain->num_units; first++) {
        if (t->options->bounds != NULL && pl_bounds_ask(t->options->bounds))
            return pl_fail(error, POPLINER_ERROR_STOPPED,
                           "measuring all stages was stopped at unit %zu of %zu", first,
                           chain->num_units);
        pl_progress(t->options->listener, "Measuring all stages",
                    first * num_tiles / chain->num_units, num_tiles);
        pl_popliner_meter_begin(t->meter->popliner);
        for (size_t last = first; !*failed && last < chain->num_units; last++) {
            const popliner_interval stage = {first, last, 1};
            pl_popliner_meter_add(t->meter->popliner, chain->unit_operation + start[last],
                                  start[last + 1] - start[last]);
            pl_popliner_meter_finish(t->meter->popliner, false);
            add_stage(t, &stage, table);
            *failed = *failed || table->arrays.failed;
        }
    }
    fill_cuts_and_cycles(t);
    if (*failed)
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

/* Finds the largest variables of each piece of the expected need. */
static void find_largest(const tile_work *t, pl_stage_details *details) {
    const pl_peak_envelope *largest = &details->largest[POPLINER_NEED_EXPECTED];
    pl_arrays *arrays = &t->meter->arrays;
    pl_arrays own = {0};
    pl_largest_query *queries = pl_arrays_new(&own, largest->num_pieces, sizeof *queries);
    for (uint32_t first = 0; !own.failed && first < details->num_units; first++)
        for (uint32_t last = first; last < details->num_units; last++)
            for (uint32_t i = largest->first[pl_triangle_place(details->num_units, first, last)];
                 i != PL_NONE; i = largest->pieces[i].next)
                queries[i] = (pl_largest_query){largest->pieces[i].tile, largest->pieces[i].step,
                                                first, last, i};
    if (!own.failed)
        pl_largest_find(t->meter, &t->estimation, queries, largest->num_pieces, NULL, 0,
                        details->variables);
    pl_arrays_end(&own, arrays);
}

/* Moves what was measured into details; NULL if memory is short. */
static pl_stage_details *make_details(const tile_work *t, pl_stage_table *table) {
    const pl_stage_meter *meter = t->meter;
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
    pl_arrays own = {0};
    const uint64_t *parameter_bytes =
        pl_sum_sets(&own, &meter->pass_usage.usage, meter->parameters.touched_bytes,
                    pl_chain_first_data_unit(meter->chain));
    for (size_t i = 0; !own.failed && i < pl_triangle_size(details->num_units); i++)
        details->sums[i].bytes[POPLINER_PART_PARAMETERS] = parameter_bytes[i];
    pl_arrays_end(&own, &t->meter->arrays);
    find_largest(t, details);
    if (!meter->arrays.failed)
        return details;
    pl_stage_details_free(details);
    return NULL;
}

/* Fills cuts and cycles alone. */
static popliner_status measure_work(const tile_work *t, popliner_error *error) {
    fill_cuts_and_cycles((void *)t);
    return t->meter->arrays.failed ? pl_fail_memory(error, "the intervals") : POPLINER_OK;
}

/* Begins measuring with a meter. */
static void begin_work(tile_work *t, bool with_details) {
    const bool is_full = t->meter->popliner == NULL;
    t->request = (pl_table_request){
        .with_details = with_details,
        .need = t->options->need,
        .max_bytes = with_details || !is_full ? UINT64_MAX : t->options->max_bytes,
    };
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        t->request.needs[need] = with_details || need == (int)t->options->need;
    /* details are of pipelines of any length */
    pl_estimation_find(t->meter, &t->options->pipeline,
                       with_details ? SIZE_MAX : t->options->pipeline.max_stages, &t->estimation);
    if (t->meter->arrays.failed)
        return;
    t->digest = t->estimation.evaluation.digest;
    if (!with_details || !t->options->with_tile_needs)
        return;
    t->tile_needs = pl_new_array(t->meter->chain->profile->target.num_tiles *
                                     pl_triangle_size(t->meter->chain->num_units),
                                 sizeof *t->tile_needs);
    t->meter->arrays.failed = t->tile_needs == NULL;
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
    if (status == POPLINER_OK) {
        t.meter->arrays.failed = false;
        begin_work(&t, details != NULL);
        if (t.meter->arrays.failed)
            status = pl_fail_memory(error, "the intervals");
    }
    const bool has_peaks = !t.options->without_peaks;
    if (status == POPLINER_OK && has_peaks)
        status = (t.meter->popliner == NULL ? measure_tiles : measure_stages)(&t, &table, error);
    else if (status == POPLINER_OK)
        status = measure_work(&t, error);
    if (status == POPLINER_OK && has_peaks && costs != NULL && !fill_peaks(&t, &table, t.costs))
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
    pl_arrays own = {0};
    pl_passes_find(&passes, &own, chain);
    const bool has_failed = own.failed;
    *train = !has_failed && passes.is_training;
    pl_arrays_free(&own);
    return has_failed ? pl_fail_memory(error, "the passes of the training") : POPLINER_OK;
}
