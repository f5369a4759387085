/* The costs of every stage of a chain: computes what all tiles have in common once, then measures
 * the tiles on several threads, each with its own table, and merges their largest peaks.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/threads.h"
#include "memory/tile_meter.h"

/* True if a unit of the set is in the stage. */
static bool counts(const pl_interval_inputs *inputs, const pl_unit_sets *sets, uint32_t set,
                   size_t first_unit, size_t last_unit) {
    set = pl_unit_sets_up_to(sets, set, (uint32_t)last_unit);
    return set != 0 && sets->last_unit[set] >= first_unit &&
           sets->last_unit[set] >= inputs->first_data_unit;
}

/* ---- Parameters ---- */

/* Adds up always-live variables of the category "variable" by set of units. */
static void sum_by_set(const pl_interval_inputs *inputs, uint64_t *set_bytes) {
    const popliner_profile *p = inputs->profile;
    for (size_t i = 0; i < p->num_variables; i++) {
        if (p->category[p->variable_category[i]] == PL_CATEGORY_VARIABLE &&
            p->class_always_live[p->variable_class[i]])
            set_bytes[pl_units_touching(inputs, i)] += p->variable_size_bytes[i];
    }
}

static bool find_parameters(const pl_interval_inputs *inputs, pl_stage_details *details) {
    const pl_unit_sets *sets = &inputs->passing.sets;
    size_t num_units = inputs->chain->num_units;
    pl_interval_sums sums = {0};
    uint64_t *set_bytes = pl_new_array(sets->count, sizeof *set_bytes);
    size_t *units = pl_new_array(num_units, sizeof *units);
    bool memory = set_bytes != NULL && units != NULL && pl_interval_sums_init(&sums, num_units, 1);
    if (memory)
        sum_by_set(inputs, set_bytes);
    for (uint32_t all = 1; memory && all < sets->count; all++) {
        size_t place = num_units; /* descending: filled from the end */
        if (set_bytes[all] == 0)
            continue;
        for (uint32_t set = all; set != 0 && sets->last_unit[set] >= inputs->first_data_unit;
             set = sets->rest[set])
            units[--place] = sets->last_unit[set];
        memory = pl_interval_sums_add(&sums, units + place, num_units - place, &set_bytes[all]);
    }
    for (size_t first = 0; memory && first < num_units; first++) {
        pl_interval_sums_begin(&sums);
        for (size_t last = first; last < num_units; last++)
            details->sums[pl_triangle_place(num_units, first, last)]
                .bytes[POPLINER_PART_PARAMETERS] = *pl_interval_sums_extend(&sums);
    }
    free(set_bytes);
    free(units);
    pl_interval_sums_free(&sums);
    return memory;
}

/* ---- The largest variables ---- */

/* A variable of the current tile. */
typedef struct tile_variable {
    uint32_t size_bytes;
    uint32_t variable;
} tile_variable;

static int compare_tile_variables(const void *left, const void *right) {
    const tile_variable *a = left;
    const tile_variable *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? 1 : -1;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

/* True if the variable counts as data in a stage, at a step, by the rules of pl_stage_measure. */
static bool is_of_stage(const pl_interval_inputs *inputs, uint32_t variable, size_t step,
                        size_t first_unit, size_t last_unit) {
    uint32_t set = pl_units_counting(inputs, variable, step < inputs->pass_usage->passes.turn_step);
    bool is_counted = counts(inputs, &inputs->passing.sets, set, first_unit, last_unit);
    return pl_account_is_data(inputs->account, inputs->profile, variable, is_counted);
}

/* Picks the first of these variables, largest first, that are in the stage. */
static void pick(const pl_interval_inputs *inputs, const tile_variable *variables, size_t count,
                 size_t step, size_t first_unit, size_t last_unit, pl_detail_variables *picked) {
    const popliner_profile *p = inputs->profile;
    for (size_t i = 0; i < count && picked->count < POPLINER_DETAIL_VARIABLES; i++) {
        uint32_t variable = variables[i].variable;
        if (!is_of_stage(inputs, variable, step, first_unit, last_unit))
            continue;
        uint32_t place = picked->count++;
        picked->variable[place] = variable;
        picked->size_bytes[place] = variables[i].size_bytes;
        picked->unlowered[place] = p->variable_unlowered[variable];
        picked->category[place] = p->variable_category[variable];
    }
}

/* A piece of details->largest, and its stage. */
typedef struct tile_piece {
    uint32_t tile;
    uint32_t step;
    uint32_t piece;
    uint32_t first_unit;
    uint32_t last_unit;
} tile_piece;

/* Sorts by tile and step, so that the live variables there are found once. */
static int compare_tile_pieces(const void *left, const void *right) {
    const tile_piece *a = left;
    const tile_piece *b = right;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->piece > b->piece) - (a->piece < b->piece);
}

static tile_piece *sort_pieces(const pl_stage_details *details) {
    const pl_peak_envelope *largest = &details->largest[POPLINER_NEED_EXPECTED];
    tile_piece *sorted = pl_new_array(largest->num_pieces, sizeof *sorted);
    if (sorted == NULL)
        return NULL;
    for (uint32_t first = 0; first < details->num_units; first++)
        for (uint32_t last = first; last < details->num_units; last++)
            for (uint32_t i = largest->first[pl_triangle_place(details->num_units, first, last)];
                 i != PL_NONE; i = largest->pieces[i].next)
                sorted[i] =
                    (tile_piece){largest->pieces[i].tile, largest->pieces[i].step, i, first, last};
    if (largest->num_pieces > 0)
        qsort(sorted, largest->num_pieces, sizeof *sorted, compare_tile_pieces);
    return sorted;
}

/* Lists the variables of a tile, largest first; returns their number. */
static size_t list_of_tile(const popliner_profile *p, size_t tile, tile_variable *variables) {
    size_t count = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
        if (p->variable_size_bytes[i] > 0)
            variables[count++] = (tile_variable){p->variable_size_bytes[i], (uint32_t)i};
    if (count > 0)
        qsort(variables, count, sizeof *variables, compare_tile_variables);
    return count;
}

/* Lists those of variables[count] that are live at a step, in the same order; returns their
 * number. */
static size_t list_live(const pl_interval_inputs *inputs, const tile_variable *variables,
                        size_t count, size_t step, tile_variable *live) {
    size_t num_live = 0;
    for (size_t i = 0; i < count; i++)
        if (pl_gradients_is_live(inputs->accumulated, inputs->profile, variables[i].variable, step))
            live[num_live++] = variables[i];
    return num_live;
}

static bool find_largest(const pl_interval_inputs *inputs, pl_stage_details *details) {
    const popliner_profile *p = inputs->profile;
    size_t max_variables = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        size_t count = (size_t)(p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
        max_variables = count > max_variables ? count : max_variables;
    }
    tile_piece *pieces = sort_pieces(details);
    tile_variable *variables = pl_new_array(max_variables, sizeof *variables); /* of one tile */
    /* live at one step */
    tile_variable *live = pl_new_array(max_variables, sizeof *live);
    const bool memory = pieces != NULL && variables != NULL && live != NULL;
    size_t count = 0;
    size_t num_live = 0;
    for (size_t i = 0; memory && i < details->largest[POPLINER_NEED_EXPECTED].num_pieces; i++) {
        const tile_piece *piece = &pieces[i];
        bool is_new = i == 0 || piece->tile != pieces[i - 1].tile;
        if (is_new)
            count = list_of_tile(p, piece->tile, variables);
        if (is_new || piece->step != pieces[i - 1].step)
            num_live = list_live(inputs, variables, count, piece->step, live);
        pick(inputs, live, num_live, piece->step, piece->first_unit, piece->last_unit,
             &details->variables[piece->piece]);
    }
    free(pieces);
    free(variables);
    free(live);
    return memory;
}

/* ---- Cuts and cycles ---- */

/* Sets the bytes that are carried over the cuts. */
static bool fill_cuts(const pl_interval_inputs *inputs, popliner_costs *costs) {
    size_t num_units = inputs->chain->num_units;
    uint64_t *forward_bytes = pl_new_array(num_units, sizeof *forward_bytes);
    uint64_t *backward_bytes = pl_new_array(num_units, sizeof *backward_bytes);
    const bool memory =
        forward_bytes != NULL && backward_bytes != NULL &&
        pl_passes_measure_cuts(inputs->pass_usage, inputs->profile, forward_bytes, backward_bytes);
    for (size_t unit = 1; memory && unit < num_units; unit++)
        pl_costs_set_cut(costs, unit, forward_bytes[unit] + backward_bytes[unit]);
    free(forward_bytes);
    free(backward_bytes);
    return memory;
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
static bool fill_cycles(const pl_interval_inputs *inputs, popliner_costs *costs) {
    size_t num_units = inputs->chain->num_units;
    if (pl_profile_cycles_source(inputs->profile) < POPLINER_CYCLES_ESTIMATED)
        return true;
    uint64_t *cycles = pl_new_array(num_units, sizeof *cycles);
    const bool memory =
        cycles != NULL && pl_costs_add_cycles(costs, NULL) == POPLINER_OK &&
        pl_unit_cycles_find(inputs->chain, &inputs->pass_usage->passes, false, cycles);
    for (size_t first = 0; memory && first < num_units; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < num_units; last++) {
            uint64_t on_link =
                link_cycles(costs, first, last, inputs->options->link_bytes_per_second,
                            inputs->profile->target.clock_hz);
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

/* ---- The tiles, on several threads ---- */

/* The tiles of one thread. */
typedef struct worker {
    pl_tile_meter meter; /* begun with its first tile */
    bool has_begun;
    bool has_failed; /* memory was short */
} worker;

/* Shared by the threads. */
typedef struct tile_work {
    const pl_interval_inputs *inputs;
    const popliner_listener *listener;
    bool with_details;
    pl_tile_need *tile_needs; /* or NULL */
    worker *workers;
    popliner_costs *costs; /* the calling thread fills cuts and cycles */
    bool has_cuts;         /* it has, with enough memory */
} tile_work;

static void fill_cuts_and_cycles(void *user) {
    tile_work *t = user;
    t->has_cuts = fill_cuts(t->inputs, t->costs) &&
                  (!t->inputs->options->with_cycles || fill_cycles(t->inputs, t->costs));
}

static bool measure_tile(void *user, size_t number, size_t tile) {
    const tile_work *t = user;
    worker *w = &t->workers[number];
    if (!w->has_begun)
        w->has_failed = !pl_tile_meter_begin(&w->meter, t->inputs, t->with_details);
    w->has_begun = true;
    w->meter.tile_needs = t->tile_needs;
    w->has_failed = w->has_failed || !pl_tile_meter_measure(&w->meter, tile);
    /* only worker 0, the calling thread, may call the listener */
    if (number == 0 && tile % 16 == 15)
        pl_progress(t->listener, "Measuring all stages", tile,
                    t->inputs->profile->target.num_tiles);
    return !w->has_failed;
}

/* Returns the number of threads, limited so that each has a few tiles. */
static size_t count_threads(const pl_interval_inputs *inputs) {
    enum { MIN_TILES = 4 };
    size_t max = inputs->profile->target.num_tiles / MIN_TILES;
    size_t wanted = inputs->options->num_threads;
    if (wanted == 0)
        wanted = pl_machine_processors();
    wanted = wanted < max ? wanted : max;
    return wanted > 0 ? wanted : 1;
}

/* Measures all tiles on several threads, into one meter, which is zero before, and into tile_needs
 * unless NULL; and cuts and cycles into the costs. */
static popliner_status measure_tiles(const pl_interval_inputs *inputs,
                                     const popliner_listener *listener, bool with_details,
                                     pl_tile_need *tile_needs, pl_tile_meter *meter,
                                     popliner_costs *costs, popliner_error *error) {
    size_t num_tiles = inputs->profile->target.num_tiles;
    size_t num_workers = count_threads(inputs);
    worker *workers = pl_new_array(num_workers, sizeof *workers);
    tile_work shared = {inputs, listener, with_details, tile_needs, workers, costs, false};
    pl_parallel tasks = {num_workers,          num_tiles, measure_tile,
                         fill_cuts_and_cycles, &shared,   inputs->options->bounds};
    if (workers == NULL)
        return pl_fail_memory(error, "the intervals");
    size_t failed_tile = pl_parallel_run(&tasks);
    bool memory = shared.has_cuts;
    bool is_begun = false;
    for (size_t i = 0; i < num_workers; i++) {
        worker *w = &workers[i];
        memory = memory && !w->has_failed;
        if (memory && failed_tile == num_tiles && w->has_begun && !is_begun) {
            *meter = w->meter;
            w->meter = (pl_tile_meter){0};
            is_begun = true;
        } else if (memory && failed_tile == num_tiles && w->has_begun) {
            memory = pl_tile_meter_merge(meter, &w->meter);
        }
    }
    for (size_t i = 0; i < num_workers; i++)
        pl_tile_meter_free(&workers[i].meter);
    free(workers);
    if (memory && failed_tile < num_tiles)
        return pl_fail(error, POPLINER_ERROR_STOPPED,
                       "measuring all stages was stopped at tile %zu of %zu", failed_tile,
                       num_tiles);
    if (!memory || (is_begun && !pl_tile_meter_finish(meter)))
        return pl_fail_memory(error, "the intervals");
    pl_progress(listener, "Measuring all stages", num_tiles, num_tiles);
    return POPLINER_OK;
}

/* ---- Results ---- */

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
static bool fill_peaks(const pl_tile_meter *meter, popliner_costs *costs) {
    const pl_chain *chain = meter->inputs->chain;
    const pl_interval_options *options = meter->inputs->options;
    if (!pl_peak_envelope_fill(&meter->largest[options->need], chain, &options->pipeline,
                               options->need, costs))
        return false;
    for (size_t first = 0; first < chain->num_units; first++)
        for (size_t last = meter->allowed_end[first]; last < chain->num_units; last++)
            pl_costs_forbid(costs, first, last);
    return true;
}

/* Moves what was measured into details; NULL if memory is short. The parameters and the variables
 * of the fullest tiles cost O(variables + sets of units * units + units^2), and for each tile that
 * is some stage's fullest one sorting its variables, and a pass over them for each step of such a
 * stage's peak. */
static pl_stage_details *make_details(pl_tile_meter *meter, const popliner_costs *costs) {
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        if (!pl_peak_envelope_pack(&meter->largest[need]))
            return NULL;
    pl_details_key key = {
        .pipeline = meter->inputs->options->pipeline,
        .is_training = meter->inputs->pass_usage->passes.is_training,
        .has_accumulators = meter->inputs->has_accumulators,
    };
    key.pipeline.max_stages = meter->inputs->max_stages;
    pl_stage_details *details = pl_details_create(meter->sums, meter->largest, &key, costs);
    if (details == NULL)
        return NULL;
    meter->sums = NULL;
    if (find_parameters(meter->inputs, details) && find_largest(meter->inputs, details))
        return details;
    pl_stage_details_free(details);
    return NULL;
}

popliner_status pl_intervals_measure(const pl_chain *chain, const pl_interval_options *options,
                                     popliner_costs **costs, pl_stage_details **details,
                                     popliner_error *error) {
    static const pl_interval_options usual = PL_INTERVAL_OPTIONS_INIT;
    options = options == NULL ? &usual : options;
    pl_interval_inputs inputs = {.chain = chain, .options = options};
    pl_tile_meter meter = {0};
    popliner_costs *made = NULL;
    pl_tile_need *tile_needs = NULL;
    bool memory = true;
    if (costs != NULL)
        *costs = NULL;
    if (details != NULL)
        *details = NULL;
    popliner_status status = pl_profile_require_variables(chain->profile, error);
    if (status == POPLINER_OK)
        status = popliner_costs_create(chain->num_units, 1, &made, error);
    if (status == POPLINER_OK) /* details are of pipelines of any length */
        memory = pl_interval_inputs_find(
            &inputs, details == NULL ? options->pipeline.max_stages : SIZE_MAX, details != NULL);
    if (status == POPLINER_OK && memory && details != NULL && options->with_tile_needs)
        memory = (tile_needs = pl_new_array(chain->profile->target.num_tiles *
                                                pl_triangle_size(chain->num_units),
                                            sizeof *tile_needs)) != NULL;
    if (status == POPLINER_OK && memory)
        status = measure_tiles(&inputs, options->listener, details != NULL, tile_needs, &meter,
                               made, error);
    if (status == POPLINER_OK && memory && costs != NULL)
        memory = fill_peaks(&meter, made);
    if (status == POPLINER_OK && memory && details != NULL)
        memory = (*details = make_details(&meter, made)) != NULL;
    pl_tile_meter_free(&meter);
    pl_interval_inputs_free(&inputs);
    if (!memory)
        status = pl_fail_memory(error, "the intervals");
    if (status == POPLINER_OK && details != NULL) {
        (*details)->tile_needs = tile_needs;
        tile_needs = NULL;
    }
    if (status == POPLINER_OK && costs != NULL)
        *costs = made;
    else
        popliner_costs_free(made);
    free(tile_needs);
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

popliner_status pl_intervals_shared_peak(void *user, const popliner_interval *stages,
                                         size_t num_stages, uint64_t *peak_bytes,
                                         popliner_error *error) {
    pl_shared_stages *shared = user;
    popliner_stage_memory memory = {0};
    popliner_status status =
        pl_stage_measure_ipu(shared->meter, &shared->pipeline, stages, num_stages, &memory, error);
    if (status == POPLINER_OK)
        *peak_bytes = pl_tiles_max(memory.need_bytes[shared->need], memory.num_tiles);
    pl_stage_memory_clear(&memory);
    return status;
}
