/* What every stage of a chain would cost: what is the same for all tiles is found once, then the
 * tiles are measured by several threads, each with a table of its own, and the largest peaks count.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "intervals/interval_variables.h"
#include "intervals/tile_meter.h"
#include "intervals/unit_cycles.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"

static void free_ground(pl_interval_inputs *s) {
    pl_full_model_free(&s->full);
    pl_unit_usage_free(&s->usage);
    pl_unit_usage_free(&s->pass_usage);
    pl_passes_free(&s->passes);
    pl_stash_free(&s->stash);
    pl_vertex_kinds_free(&s->kinds);
    pl_unit_sets_free(&s->kind_sets);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        free(s->set_bytes[group]);
    free(s->kind_set);
    free(s->kind_code_bytes);
    free(s->unit_runs_start);
    free(s->unit_run);
    free(s->run_of_step);
    free(s->is_break);
    free(s->set_bits);
}

/* Sums control code, exchange code and vertex state of the programs by their set of units. */
static popliner_status sum_programs(pl_interval_inputs *s, popliner_error *error) {
    const popliner_profile *p = s->profile;
    popliner_memory_model model = s->chain->model;
    size_t num_tiles = p->target.num_tiles;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        s->set_bytes[group] = pl_new_array(s->usage.sets.count * num_tiles, sizeof(uint64_t));
        if (s->set_bytes[group] == NULL)
            return pl_fail_memory(error, "the memory of the layers");
    }
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = s->usage.program_set[program];
        uint32_t compute_set = p->program_compute_set[program];
        if (set == 0)
            continue;
        if (pl_profile_num_children(p, program) == 0)
            pl_series_add(p, p->program_control_code[program], 1,
                          s->set_bytes[PL_CONTROL_CODE] + set * num_tiles);
        pl_series_add(p, p->program_exchange_code[program], 1,
                      s->set_bytes[PL_EXCHANGE_CODE] + set * num_tiles);
        /* PopLiner counts the state of a compute set for each program that executes it */
        if (!s->is_full && compute_set != PL_NONE)
            pl_add_vertex_state(p, model, compute_set,
                                s->set_bytes[PL_VERTEX_STATE] + set * num_tiles);
    }
    for (uint32_t compute_set = 0; s->is_full && compute_set < p->num_compute_sets; compute_set++) {
        uint32_t set = s->usage.compute_set_set[compute_set];
        if (set != 0)
            pl_add_vertex_state(p, model, compute_set,
                                s->set_bytes[PL_VERTEX_STATE] + set * num_tiles);
    }
    return POPLINER_OK;
}

/* Adds the current unit to the kinds that a compute set has instances of, on their tiles. */
static bool add_compute_set(pl_interval_inputs *s, uint32_t compute_set) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        uint32_t kind = s->kinds.kind_of_type[p->compute_set_vertex_type[i]];
        pl_series instances = p->compute_set_vertex_instances[i];
        pl_runs runs = pl_runs_begin(p->series_bytes + instances.offset, instances.size_bytes);
        uint32_t *set = s->kind_set + kind * num_tiles;
        uint64_t value;
        uint64_t length;
        while (pl_runs_next(&runs, &value, &length) > 0) {
            for (uint64_t tile = 0; value > 0 && tile < length; tile++) {
                if (!pl_unit_sets_add(&s->kind_sets, &set[tile]))
                    return false;
            }
            set += length;
        }
    }
    return true;
}

static popliner_status find_vertex_code(pl_interval_inputs *s, popliner_error *error) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    s->kind_set = pl_new_array(p->num_vertex_types * num_tiles, sizeof *s->kind_set);
    s->kind_code_bytes = pl_new_array(p->num_vertex_types * num_tiles, sizeof *s->kind_code_bytes);
    popliner_status status = pl_vertex_kinds_find(&s->kinds, p, s->chain->model, error);
    if (status != POPLINER_OK)
        return status;
    if (s->kind_set == NULL || s->kind_code_bytes == NULL || !pl_unit_sets_begin(&s->kind_sets))
        return pl_fail_memory(error, "the vertex code of the layers");
    for (size_t type = 0; type < p->num_vertex_types; type++)
        pl_series_add(p, p->vertex_type_code[s->kinds.code_of_type[type]], 1,
                      s->kind_code_bytes + type * num_tiles);
    const popliner_chain *chain = s->chain;
    for (size_t unit = 0; unit < chain->num_units; unit++) {
        pl_unit_sets_begin_unit(&s->kind_sets, (uint32_t)unit);
        for (size_t i = chain->unit_operations_start[unit];
             i < chain->unit_operations_start[unit + 1]; i++) {
            popliner_operation operation =
                popliner_operations_get(s->operations, chain->unit_operation[i]);
            for (size_t k = 0; k < operation.num_programs; k++) {
                uint32_t compute_set = p->program_compute_set[operation.programs[k]];
                if (compute_set != PL_NONE && !add_compute_set(s, compute_set))
                    return pl_fail_memory(error, "the vertex code of the layers");
            }
        }
    }
    return POPLINER_OK;
}

/* The cycles that so many bytes take on a link. */
static uint64_t link_cycles(const pl_interval_inputs *s, uint64_t bytes) {
    double bytes_per_second = s->options->link_bytes_per_second;
    if (bytes_per_second <= 0)
        return 0;
    double cycles = ceil((double)bytes / bytes_per_second * (double)s->profile->target.clock_hz);
    return cycles < (double)POPLINER_MOST_CYCLES ? (uint64_t)cycles : POPLINER_MOST_CYCLES;
}

static popliner_status fill_cycles(const pl_interval_inputs *s, popliner_costs *costs,
                                   popliner_error *error) {
    size_t num_units = s->chain->num_units;
    if (popliner_profile_cycles_source(s->profile) < POPLINER_CYCLES_ESTIMATED)
        return POPLINER_OK;
    uint64_t *cycles = pl_new_array(num_units, sizeof *cycles);
    popliner_status status = cycles == NULL ? pl_fail_memory(error, "the cycles of the layers")
                                            : popliner_costs_add_cycles(costs, error);
    if (status == POPLINER_OK)
        status =
            pl_unit_cycles_find(s->profile, s->operations, s->chain, &s->passes, cycles, error);
    for (size_t first = 0; status == POPLINER_OK && first < num_units; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < num_units; last++) {
            uint64_t crossing = first > 0 ? popliner_costs_cut(costs, first) : 0;
            crossing += last + 1 < num_units ? popliner_costs_cut(costs, last + 1) : 0;
            uint64_t on_link = link_cycles(s, crossing);
            sum = cycles[last] > POPLINER_MOST_CYCLES - sum ? POPLINER_MOST_CYCLES
                                                            : sum + cycles[last];
            popliner_costs_set_cycles(costs, first, last,
                                      on_link > POPLINER_MOST_CYCLES - sum ? POPLINER_MOST_CYCLES
                                                                           : sum + on_link);
        }
    }
    free(cycles);
    return status;
}

/* Everything that depends on the passes of a training but not on the tiles, for a pipeline of so many
 * stages. */
static popliner_status measure_passes(pl_interval_inputs *s, size_t most_stages,
                                      popliner_costs *costs, popliner_error *error) {
    size_t num_units = s->chain->num_units;
    uint64_t *forward_bytes = pl_new_array(num_units, sizeof *forward_bytes);
    uint64_t *backward_bytes = pl_new_array(num_units, sizeof *backward_bytes);
    popliner_status status =
        forward_bytes == NULL || backward_bytes == NULL
            ? pl_fail_memory(error, "the cuts")
            : pl_passes_find(&s->passes, s->profile, s->operations, s->chain, error);
    if (status == POPLINER_OK)
        status = pl_passes_unit_usage(&s->passes, &s->pass_usage, s->profile, s->operations,
                                      s->chain, s->is_full ? &s->full : NULL, error);
    if (status == POPLINER_OK)
        status = pl_passes_measure_cuts(&s->passes, s->profile, &s->pass_usage, forward_bytes,
                                        backward_bytes, error);
    for (size_t unit = 1; status == POPLINER_OK && unit < num_units; unit++)
        popliner_costs_set_cut(costs, unit, forward_bytes[unit] + backward_bytes[unit]);
    if (status == POPLINER_OK && s->options->with_cycles)
        status = fill_cycles(s, costs, error);
    s->most_stages = 1;
    if (status == POPLINER_OK && s->options->pipeline.schedule == POPLINER_SCHEDULE_TRAINING &&
        s->passes.is_training && most_stages > 1 && num_units > 1) {
        s->most_stages = most_stages < num_units ? most_stages : num_units;
        status = pl_stash_create(&s->stash, s->chain, &s->passes, &s->pass_usage,
                                 s->options->pipeline.recompute, error);
    }
    free(forward_bytes);
    free(backward_bytes);
    return status;
}

/* The unit that a step belongs to. */
static uint32_t unit_of_step(const popliner_chain *chain, size_t step) {
    uint32_t operation = chain->operation_of_step[step];
    return operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
}

/* Lists the steps of each unit. */
static popliner_status find_unit_steps(pl_interval_inputs *s, popliner_error *error) {
    size_t num_steps = s->profile->num_steps;
    size_t num_units = s->chain->num_units;
    s->unit_runs_start = pl_new_array(num_units + 2, sizeof *s->unit_runs_start);
    s->unit_run = pl_new_array(num_steps, sizeof *s->unit_run);
    s->run_of_step = pl_new_array(num_steps, sizeof *s->run_of_step);
    if (s->unit_runs_start == NULL || s->unit_run == NULL || s->run_of_step == NULL)
        return pl_fail_memory(error, "the intervals");
    /* counted two places up and filled one place up, so that the starts are right in the end */
    for (int is_filling = 0; is_filling < 2; is_filling++) {
        for (size_t step = 0; step < num_steps;) {
            uint32_t unit = unit_of_step(s->chain, step);
            pl_step_run run = {(uint32_t)step, (uint32_t)step + 1, unit};
            while (run.end_step < num_steps && unit_of_step(s->chain, run.end_step) == unit)
                run.end_step++;
            if (is_filling != 0)
                s->unit_run[s->unit_runs_start[unit + 1]] = run;
            for (; is_filling != 0 && step < run.end_step; step++)
                s->run_of_step[step] = (uint32_t)s->unit_runs_start[unit + 1];
            s->unit_runs_start[unit + (is_filling != 0 ? 1 : 2)]++;
            step = run.end_step;
        }
        for (size_t unit = 0; is_filling == 0 && unit <= num_units; unit++)
            s->unit_runs_start[unit + 1] += s->unit_runs_start[unit];
    }
    return POPLINER_OK;
}

/* The steps of a stage are in the full model those of its units, in PopLiner's model all from its
 * first to its last operation: see peak_of_stage in interval_sweep.c. */
static popliner_status find_breaks(pl_interval_inputs *s, popliner_error *error) {
    const popliner_chain *chain = s->chain;
    s->is_break = pl_new_array(s->profile->num_steps + 1, 1);
    if (s->is_break == NULL)
        return pl_fail_memory(error, "the intervals");
    for (size_t i = 0; s->is_full && i < s->unit_runs_start[chain->num_units]; i++)
        s->is_break[s->unit_run[i].first_step] = 1;
    for (size_t unit = 0; !s->is_full && unit < chain->num_units; unit++) {
        if (!popliner_chain_has_operations(chain, unit))
            continue;
        const size_t *first = chain->unit_operation + chain->unit_operations_start[unit];
        const size_t *last = chain->unit_operation + chain->unit_operations_start[unit + 1] - 1;
        s->is_break[popliner_operations_get(s->operations, *first).first_step] = 1;
        s->is_break[popliner_operations_get(s->operations, *last).last_step + 1] = 1;
    }
    return POPLINER_OK;
}

static popliner_status find_set_bits(pl_interval_inputs *s, popliner_error *error) {
    const pl_unit_sets *sets = &s->usage.sets;
    s->set_words = s->chain->num_units / 64 + 1;
    s->set_bits = pl_new_array(sets->count * s->set_words, sizeof *s->set_bits);
    if (s->set_bits == NULL)
        return pl_fail_memory(error, "the intervals");
    /* the rest of a set was made before the set */
    for (size_t set = 1; set < sets->count; set++) {
        uint64_t *bits = s->set_bits + set * s->set_words;
        memcpy(bits, s->set_bits + sets->rest[set] * s->set_words, s->set_words * sizeof *bits);
        bits[sets->last_unit[set] / 64] |= (uint64_t)1 << sets->last_unit[set] % 64;
    }
    return POPLINER_OK;
}

/* ---- threads ---- */

/* One thread's part of the tiles. */
typedef struct worker {
    pl_tile_meter meter; /* begun with its first tile */
    bool has_begun;
    size_t failed_tile; /* the one that ended in the error, if there is one */
    popliner_error error;
} worker;

/* What the threads share. */
typedef struct tile_work {
    const pl_interval_inputs *inputs;
    const popliner_listener *listener;
    bool with_details;
    worker *workers;
} tile_work;

static bool measure_tile(void *user, size_t number, size_t tile) {
    const tile_work *t = user;
    worker *w = &t->workers[number];
    popliner_status status = POPLINER_OK;
    if (!w->has_begun)
        status = pl_tile_meter_begin(&w->meter, t->inputs, t->with_details, &w->error);
    w->has_begun = true;
    if (status == POPLINER_OK)
        status = pl_tile_meter_measure(&w->meter, tile, &w->error);
    if (status != POPLINER_OK)
        w->failed_tile = tile;
    /* worker 0 is the calling thread, which alone may call the listener */
    if (number == 0 && tile % 16 == 15)
        pl_progress(t->listener, "Measuring all stages", tile,
                    t->inputs->profile->target.num_tiles);
    return status == POPLINER_OK;
}

/* As many threads as are wanted, but not more than have a few tiles each. */
static size_t count_threads(const pl_interval_inputs *inputs) {
    enum { MIN_TILES = 4 };
    size_t max = inputs->profile->target.num_tiles / MIN_TILES;
    size_t wanted = inputs->options->num_threads;
    if (wanted == 0)
        wanted = pl_machine_processors();
    wanted = wanted < max ? wanted : max;
    return wanted > 0 ? wanted : 1;
}

/* Measures all tiles by several threads, into one meter, which is zero before. */
static popliner_status measure_tiles(const pl_interval_inputs *inputs,
                                     const popliner_listener *listener, bool with_details,
                                     pl_tile_meter *meter, popliner_error *error) {
    size_t num_tiles = inputs->profile->target.num_tiles;
    size_t num_workers = count_threads(inputs);
    worker *workers = pl_new_array(num_workers, sizeof *workers);
    if (workers == NULL)
        return pl_fail_memory(error, "the intervals");
    tile_work shared = {inputs, listener, with_details, workers};
    pl_parallel tasks = {num_workers, num_tiles, measure_tile, NULL, &shared};
    size_t failed_tile = pl_parallel_run(&tasks);
    popliner_status status = POPLINER_OK;
    bool is_begun = false;
    for (size_t i = 0; status == POPLINER_OK && i < num_workers; i++) {
        worker *w = &workers[i];
        if (failed_tile < num_tiles && w->error.status != POPLINER_OK &&
            w->failed_tile == failed_tile) {
            status = pl_fail(error, w->error.status, "%s", w->error.message);
        } else if (failed_tile == num_tiles && w->has_begun && !is_begun) {
            *meter = w->meter;
            w->meter = (pl_tile_meter){0};
            is_begun = true;
        } else if (failed_tile == num_tiles && w->has_begun) {
            status = pl_tile_meter_merge(meter, &w->meter, error);
        }
    }
    if (status == POPLINER_OK)
        pl_progress(listener, "Measuring all stages", num_tiles, num_tiles);
    for (size_t i = 0; i < num_workers; i++)
        pl_tile_meter_free(&workers[i].meter);
    free(workers);
    return status;
}

/* Makes the peaks of a pipeline of what was measured. */
static popliner_status fill_costs(const pl_tile_meter *meter, size_t most_stages,
                                  popliner_costs *costs, popliner_error *error) {
    const popliner_chain *chain = meter->inputs->chain;
    popliner_status status =
        pl_peak_envelope_fill(&meter->largest, chain, most_stages, costs, error);
    for (size_t first = 0; status == POPLINER_OK && first < chain->num_units; first++)
        for (size_t last = meter->allowed_end[first]; last < chain->num_units; last++)
            popliner_costs_forbid(costs, first, last);
    return status;
}

/* Makes the details of what was measured, which is then theirs. */
static popliner_status make_details(pl_tile_meter *meter, const popliner_costs *costs,
                                    popliner_stage_details **details, popliner_error *error) {
    if (!pl_peak_envelope_pack(&meter->largest))
        return pl_fail_memory(error, "the details of the stages");
    popliner_status status = pl_details_create(meter->sums, &meter->largest, costs, details, error);
    if (status != POPLINER_OK)
        return status;
    meter->sums = NULL;
    return pl_interval_variables_find(meter->inputs, *details, error);
}

popliner_status
popliner_intervals_measure(const popliner_profile *profile, const popliner_operations *operations,
                           const popliner_chain *chain, const popliner_interval_options *options,
                           const popliner_listener *listener, popliner_costs **costs,
                           popliner_stage_details **details, popliner_error *error) {
    static const popliner_interval_options usual = POPLINER_INTERVAL_OPTIONS_INIT;
    pl_interval_inputs s = {.profile = profile, .operations = operations, .chain = chain};
    pl_tile_meter meter = {0};
    popliner_costs *made = NULL;
    popliner_stage_details *made_details = NULL;
    s.options = options == NULL ? &usual : options;
    s.is_full = chain->model == POPLINER_MEMORY_MODEL_FULL;
    size_t most_stages = s.options->pipeline.most_stages;
    if (costs != NULL)
        *costs = NULL;
    if (details != NULL)
        *details = NULL;
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status == POPLINER_OK)
        status = popliner_costs_create(chain->num_units, &made, error);
    if (status == POPLINER_OK && s.is_full)
        status = pl_full_model_create(&s.full, profile, operations, error);
    if (status == POPLINER_OK)
        status = pl_unit_usage_find(&s.usage, profile, operations, chain->unit_of_operation,
                                    chain->num_units, s.is_full ? &s.full : NULL, error);
    if (status == POPLINER_OK)
        status = sum_programs(&s, error);
    if (status == POPLINER_OK)
        status = find_vertex_code(&s, error);
    if (status == POPLINER_OK)
        status = measure_passes(&s, details == NULL ? most_stages : SIZE_MAX, made, error);
    if (status == POPLINER_OK)
        status = find_unit_steps(&s, error);
    if (status == POPLINER_OK)
        status = find_breaks(&s, error);
    if (status == POPLINER_OK)
        status = find_set_bits(&s, error);
    if (status == POPLINER_OK)
        status = measure_tiles(&s, listener, details != NULL, &meter, error);
    if (status == POPLINER_OK && costs != NULL)
        status = fill_costs(&meter, most_stages, made, error);
    if (status == POPLINER_OK && details != NULL)
        status = make_details(&meter, made, &made_details, error);
    pl_tile_meter_free(&meter);
    free_ground(&s);
    if (status == POPLINER_OK && costs != NULL) {
        *costs = made;
        made = NULL;
    }
    if (status == POPLINER_OK && details != NULL) {
        *details = made_details;
        made_details = NULL;
    }
    popliner_costs_free(made);
    popliner_stage_details_free(made_details);
    return status;
}

popliner_status popliner_intervals_train(const popliner_profile *profile,
                                         const popliner_operations *operations,
                                         const popliner_chain *chain, bool *train,
                                         popliner_error *error) {
    pl_passes passes = {0};
    popliner_status status = pl_passes_find(&passes, profile, operations, chain, error);
    *train = status == POPLINER_OK && passes.is_training;
    pl_passes_free(&passes);
    return status;
}

popliner_status popliner_intervals_shared_peak(void *user, const popliner_interval *stages,
                                               size_t num_stages, uint64_t *peak_bytes,
                                               popliner_error *error) {
    popliner_shared_stages *shared = user;
    popliner_stage_memory memory = {0};
    uint64_t *kept_bytes = NULL;
    popliner_status status =
        popliner_stage_measure_shared(shared->meter, stages, num_stages, &memory, error);
    if (status == POPLINER_OK &&
        (kept_bytes = pl_new_array(memory.num_tiles, sizeof *kept_bytes)) == NULL)
        status = pl_fail_memory(error, "what a pipeline keeps");
    if (status == POPLINER_OK)
        status = popliner_stage_measure_kept(shared->meter, &shared->pipeline, stages, num_stages,
                                             kept_bytes, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < memory.num_tiles; tile++)
        memory.total_bytes[tile] += kept_bytes[tile];
    if (status == POPLINER_OK)
        *peak_bytes = popliner_largest_of_tiles(memory.total_bytes, memory.num_tiles);
    free(kept_bytes);
    popliner_stage_memory_clear(&memory);
    return status;
}
