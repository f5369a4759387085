/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_meter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "memory/chain_data.h"
#include "memory/largest.h"
#include "memory/part_sums.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* ---- Bytes by tile --------------------------------------------------------------------------- */

void pl_stage_memory_clear(popliner_stage_memory *memory) {
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        free(memory->part_bytes[part]);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        free(memory->need_bytes[need]);
    free(memory->peak_step);
    free(memory->always_live_bytes);
    *memory = (popliner_stage_memory){0};
}

/* Allocates all arrays, unless they are there. */
static bool begin_memory(popliner_stage_memory *memory, size_t num_tiles) {
    if (memory->num_tiles == num_tiles && memory->peak_step != NULL)
        return true;
    pl_stage_memory_clear(memory);
    memory->num_tiles = num_tiles;
    bool made = (memory->peak_step = pl_new_array(num_tiles, sizeof(uint64_t))) != NULL &&
                (memory->always_live_bytes = pl_new_array(num_tiles, sizeof(uint64_t))) != NULL;
    for (int part = 0; made && part < POPLINER_NUM_PARTS; part++)
        if (part != POPLINER_PART_PARAMETERS)
            made = (memory->part_bytes[part] = pl_new_array(num_tiles, sizeof(uint64_t))) != NULL;
    for (int need = 0; made && need < POPLINER_NUM_NEEDS; need++)
        made = (memory->need_bytes[need] = pl_new_array(num_tiles, sizeof(uint64_t))) != NULL;
    if (!made)
        pl_stage_memory_clear(memory);
    return made;
}

uint64_t pl_tiles_sum(const uint64_t *bytes, size_t num_tiles) {
    uint64_t sum = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        sum += bytes[tile];
    return sum;
}

uint64_t pl_tiles_max(const uint64_t *bytes, size_t num_tiles) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        largest = bytes[tile] > largest ? bytes[tile] : largest;
    return largest;
}

/* ---- The meter ------------------------------------------------------------------------------- */

popliner_status pl_stage_meter_create(const pl_chain *chain, size_t num_threads,
                                      pl_stage_meter **result, popliner_error *error) {
    *result = NULL;
    popliner_status status = pl_profile_require_variables(chain->profile, error);
    if (status != POPLINER_OK)
        return status;
    pl_stage_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL)
        return pl_fail_memory(error, "the stages");
    meter->chain = chain;
    meter->num_threads = num_threads;
    if (chain->model->id == POPLINER_MEMORY_MODEL_POPLINER)
        meter->popliner = pl_popliner_meter_new(&meter->arrays, chain);
    pl_account_create(&meter->account, &meter->arrays, chain);
    if (!meter->arrays.failed) {
        *result = meter;
        return POPLINER_OK;
    }
    pl_stage_meter_free(meter);
    return pl_fail_memory(error, "the stages");
}

void pl_stage_meter_free(pl_stage_meter *meter) {
    if (meter == NULL)
        return;
    for (int i = 0; i < PL_NUM_DIGESTS; i++)
        pl_digest_free(meter->digests[i]);
    pl_stage_meter_remember_peaks(meter, false);
    pl_arrays_free(&meter->arrays);
    free(meter);
}

static void find_pass_usage(pl_stage_meter *meter) {
    pl_arrays *arrays = &meter->arrays;
    if (meter->has_pass_usage || arrays->failed)
        return;
    meter->pass_usage = (pl_pass_usage){0};
    pl_pass_usage_find(&meter->pass_usage, arrays, meter->chain, &meter->account);
    if (!arrays->failed)
        pl_parameter_sums_find(&meter->parameters, arrays, &meter->pass_usage,
                               meter->chain->profile, &meter->account);
    meter->has_pass_usage = !arrays->failed;
}

popliner_status pl_stage_meter_pass_usage(pl_stage_meter *meter, const pl_pass_usage **usage,
                                          popliner_error *error) {
    *usage = &meter->pass_usage;
    meter->arrays.failed = false;
    find_pass_usage(meter);
    return meter->has_pass_usage ? POPLINER_OK
                                 : pl_fail_memory(error, "the passes of the training");
}

popliner_status pl_stage_meter_trained(pl_stage_meter *meter, pl_arrays *arrays,
                                       pl_trained_parameters *trained, popliner_error *error) {
    const pl_pass_usage *usage;
    const popliner_status status = pl_stage_meter_pass_usage(meter, &usage, error);
    if (status != POPLINER_OK)
        return status;
    pl_trained_parameters_find(trained, arrays, &usage->usage, &meter->parameters);
    return arrays->failed ? pl_fail_memory(error, "the parameters of the stages") : POPLINER_OK;
}

bool pl_stage_meter_has_accumulators(const pl_stage_meter *meter) {
    return meter->knows_accumulators ? meter->has_accumulators
                                     : pl_has_accumulators(meter->chain->profile);
}

void pl_stage_meter_remember_peaks(pl_stage_meter *meter, bool remembers) {
    if (meter->popliner != NULL)
        pl_popliner_meter_remember_peaks(meter->popliner, remembers);
}

/* ---- Estimations ----------------------------------------------------------------------------- */

/* Finds whether the profile has accumulators and, if it has none, when gradients are complete. */
static void find_accumulators(pl_stage_meter *meter) {
    if (meter->knows_accumulators)
        return;
    meter->has_accumulators = pl_has_accumulators(meter->chain->profile);
    if (!meter->has_accumulators)
        pl_gradients_find(&meter->gradients, &meter->arrays, meter->chain, &meter->pass_usage,
                          &meter->account);
    meter->knows_accumulators = !meter->arrays.failed;
}

/* Returns the digest, which may be begun; NULL if memory is short. */
static pl_digest *find_digest(pl_stage_meter *meter, pl_digest_key key) {
    pl_digest **known = &meter->digests[pl_digest_number(key)];
    if (*known != NULL && key.is_pipelined && !(*known)->key.is_pipelined) {
        pl_digest_free(*known);
        *known = NULL;
    }
    if (*known == NULL)
        *known = pl_digest_begin(meter->chain, &meter->account, &meter->pass_usage,
                                 &meter->gradients, key);
    meter->arrays.failed = meter->arrays.failed || *known == NULL;
    return *known;
}

void pl_estimation_find(pl_stage_meter *meter, const popliner_pipeline *pipeline, size_t max_stages,
                        pl_estimation *e) {
    const popliner_profile *p = meter->chain->profile;
    const bool is_full = meter->popliner == NULL;
    const unsigned effects = is_full && pipeline != NULL ? pipeline->effects : 0;
    pl_digest_key key = {.passes_through = (effects & POPLINER_EFFECT_PASSING) != 0};
    find_pass_usage(meter);
    *e = (pl_estimation){
        .is_training = meter->pass_usage.passes.is_training,
        .max_stages = 1,
        .expects_buffers = (effects & POPLINER_EFFECT_BUFFERS) != 0,
        .rule = {.has_needs = is_full,
                 .has_layout = (effects & POPLINER_EFFECT_LAYOUT) != 0,
                 .tiles_per_ipu = p->target.tiles_per_ipu,
                 .profile = p},
    };
    if (pipeline != NULL)
        e->pipeline = *pipeline;
    max_stages = pl_fewer(max_stages, meter->chain->num_units);
    if (pipeline != NULL && e->is_training) {
        e->evaluation.has_stash =
            pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, max_stages) > 0;
        e->evaluation.recompute = pl_pipeline_stored(pipeline);
        e->max_stages = e->evaluation.has_stash ? max_stages : 1;
    }
    if (pipeline != NULL && e->is_training && is_full && !meter->arrays.failed) {
        find_accumulators(meter);
        e->evaluation.has_buffers = pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES;
        e->has_accumulators = meter->has_accumulators;
        key.accumulates = pl_wants_accumulators(pipeline, true) && !meter->has_accumulators;
        for (int i = 0; i < PL_NUM_ADDED; i++)
            e->evaluation.added_factors[i] =
                pl_added_parts[i].factor(pipeline, meter->has_accumulators);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
            e->frees[need] = e->evaluation.has_stash &&
                             pl_pipeline_frees_originals(pipeline, (popliner_need)need);
    }
    key.is_pipelined = e->evaluation.has_stash || e->evaluation.has_buffers;
    if (!meter->arrays.failed)
        e->evaluation.digest = find_digest(meter, key);
}

/* Makes tiles on several threads. */
typedef struct digest_task {
    pl_digest *digest;
    pl_digest_work **workers;
} digest_task;

static bool make_tile(void *user, size_t worker, size_t tile) {
    const digest_task *task = user;
    pl_digest_work **work = &task->workers[worker];
    if (*work == NULL)
        *work = pl_digest_work_new(task->digest);
    return *work != NULL && pl_digest_make_tile(task->digest, *work, tile);
}

/* Makes the tiles of a digest that are not made. */
static void make_tiles(pl_stage_meter *meter, pl_digest *digest) {
    if (meter->arrays.failed || digest->inputs == NULL)
        return;
    const size_t num_tiles = meter->chain->profile->target.num_tiles;
    const size_t num_threads =
        meter->num_threads > 0 ? meter->num_threads : pl_machine_processors();
    pl_arrays own = {0};
    digest_task task = {digest, pl_arrays_new(&own, num_threads, sizeof *task.workers)};
    const pl_parallel tasks = {num_threads, num_tiles, make_tile, NULL, &task, NULL};
    own.failed = own.failed || pl_parallel_run(&tasks) < num_tiles;
    for (size_t i = 0; task.workers != NULL && i < num_threads; i++)
        pl_digest_work_free(task.workers[i]);
    pl_arrays_end(&own, &meter->arrays);
    if (!meter->arrays.failed)
        pl_digest_finish(digest);
}

void pl_estimation_complete(pl_stage_meter *meter, const pl_estimation *estimation) {
    if (!meter->arrays.failed && pl_estimation_has_tiles(meter, estimation))
        make_tiles(meter, estimation->evaluation.digest);
}

void pl_stage_meter_complete(pl_stage_meter *meter) {
    meter->arrays.failed = false;
    find_pass_usage(meter);
    if (meter->arrays.failed)
        return;
    const bool is_training = meter->pass_usage.passes.is_training;
    if (is_training)
        find_accumulators(meter);
    const int num_ends = is_training && !meter->has_accumulators ? 2 : 1;
    for (int i = 0; !meter->arrays.failed && i < 2 * num_ends; i++)
        make_tiles(meter, find_digest(meter, (pl_digest_key){i % 2 != 0, i / 2 != 0, is_training}));
}

void pl_stage_meter_find_cuts(pl_stage_meter *meter) {
    const popliner_profile *p = meter->chain->profile;
    const size_t num_units = meter->chain->num_units;
    if (meter->cut_bytes != NULL || meter->arrays.failed)
        return;
    /* forward, then backward */
    uint64_t *bytes = pl_arrays_new(&meter->arrays, 2 * num_units, sizeof *bytes);
    if (bytes == NULL)
        return;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        pl_passes_add_tile_cuts(&meter->pass_usage, p, tile, bytes, bytes + num_units);
    for (size_t unit = 1; unit < num_units; unit++)
        bytes[unit] += bytes[num_units + unit];
    meter->cut_bytes = bytes;
}

/* ---- Stages on one IPU ----------------------------------------------------------------------- */

/* Stages whose tiles are measured one by one. */
typedef struct ipu {
    pl_stage_meter *meter;
    pl_estimation estimation;
    const popliner_interval *stages;
    size_t num_stages;
    size_t *copies[POPLINER_NUM_NEEDS]; /* [num_stages] */
    pl_tile_stash *stash;               /* [num_stages] of the current tile */
    pl_question question;
    pl_arrays arrays; /* own the arrays */
} ipu;

static void free_ipu(ipu *own) {
    pl_question_free(&own->question);
    pl_arrays_free(&own->arrays);
}

/* Adds the operations of a stage. */
static void add_units(pl_popliner_meter *popliner, const pl_chain *chain,
                      const popliner_interval *stage) {
    const size_t first = chain->unit_operations_start[stage->first_unit];
    pl_popliner_meter_add(popliner, chain->unit_operation + first,
                          chain->unit_operations_start[stage->last_unit + 1] - first);
}

/* Begins stages of a pipeline. */
static void begin_ipu(ipu *own, pl_stage_meter *meter, const popliner_pipeline *pipeline,
                      const popliner_interval *stages, size_t num_stages) {
    size_t most_stages = 1; /* of them is the one that stores most */
    own->meter = meter;
    own->stages = stages;
    own->num_stages = num_stages;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        own->copies[need] = pl_arrays_new(&own->arrays, num_stages, sizeof(size_t));
        for (size_t i = 0; pipeline != NULL && !own->arrays.failed && i < num_stages; i++)
            own->copies[need][i] =
                pl_pipeline_copies_for(pipeline, (popliner_need)need, stages[i].stages_to_end);
    }
    own->stash = pl_arrays_new(&own->arrays, num_stages, sizeof *own->stash);
    for (size_t i = 0; !own->arrays.failed && i < num_stages; i++)
        if (own->copies[POPLINER_NEED_MOST][i] > 0)
            most_stages = SIZE_MAX;
    meter->arrays.failed = own->arrays.failed;
    pl_estimation_find(meter, pipeline, most_stages, &own->estimation);
    pl_estimation_complete(meter, &own->estimation);
    if (meter->arrays.failed)
        return;
    if (pl_estimation_has_tiles(meter, &own->estimation) &&
        !pl_question_begin(&own->question, &own->estimation.evaluation, stages, num_stages))
        meter->arrays.failed = true;
    if (meter->popliner == NULL)
        return;
    pl_popliner_meter_begin(meter->popliner);
    for (size_t i = 0; i < num_stages; i++)
        add_units(meter->popliner, meter->chain, &stages[i]);
    pl_popliner_meter_finish(meter->popliner, num_stages > 1);
}

/* Sets *measured to what the stages have on a tile, and own->stash. */
static void measure_tile(ipu *own, size_t tile, pl_stage_tile *measured) {
    if (pl_estimation_has_tiles(own->meter, &own->estimation))
        pl_question_measure(&own->question, tile, measured, own->stash);
    if (own->meter->popliner != NULL)
        *measured = pl_popliner_meter_tile(own->meter->popliner, tile);
}

/* An estimate of a tile with all copies: they are part of `line`, of which there is one then, if
 * several stages store something. */
typedef struct tile_need {
    pl_need_line line;
    size_t copies;
} tile_need;

static tile_need need_of(const ipu *own, popliner_need need, size_t tile,
                         const pl_stage_tile *measured) {
    const pl_overhead layout = pl_account_overhead(&own->meter->account, tile);
    const size_t *copies = own->copies[need];
    pl_tile_stash all = {0, 0};
    for (size_t i = 0; i < own->num_stages; i++)
        all.freed_bytes += copies[i] > 0 ? own->stash[i].freed_bytes : 0;
    if (own->num_stages == 1)
        all.bytes = own->stash[0].bytes;
    tile_need result = {pl_stage_tile_need(&own->estimation, need, &layout, measured, &all),
                        own->num_stages == 1 ? copies[0] : 1};
    for (size_t i = 0; own->num_stages > 1 && i < own->num_stages; i++) {
        if (copies[i] == 0 || own->stash[i].bytes == 0)
            continue;
        const pl_need_line own_line = pl_need_of(&own->estimation.rule, need, &layout, 0,
                                                 (pl_placed_bytes){0}, own->stash[i].bytes);
        result.line.copy_bytes += copies[i] * own_line.copy_bytes;
        result.line.live_copy_bytes += copies[i] * own_line.live_copy_bytes;
    }
    return result;
}

static uint64_t bytes_of(const tile_need *need) {
    return need->line.bytes + need->copies * need->line.copy_bytes;
}

/* Returns what the fullest tile needs at most, by the sums of all tiles. */
static uint64_t most_of_any(const ipu *own, const pl_need_spread *spread) {
    const pl_need_line any = pl_need_spread_line(spread, &own->estimation.rule,
                                                 own->meter->chain->profile->target.num_tiles);
    return pl_need_line_at(&any, own->num_stages == 1 ? own->copies[POPLINER_NEED_MOST][0] : 1);
}

static void set_part(popliner_stage_memory *memory, popliner_part part, size_t tile,
                     uint64_t bytes) {
    memory->part_bytes[part][tile] = bytes;
}

/* Sets the parts of a tile, which add up to its expected memory. */
static void set_parts(const ipu *own, size_t tile, const pl_stage_tile *measured,
                      const tile_need *expected, popliner_stage_memory *memory) {
    const pl_steady_bytes *steady = &measured->steady;
    const pl_live_peak *peak =
        pl_stage_tile_peak(&own->estimation, POPLINER_NEED_EXPECTED, measured);
    const pl_need_line *line = &expected->line;
    uint64_t stash_bytes = 0;
    for (size_t i = 0; i < own->num_stages; i++)
        stash_bytes += own->copies[POPLINER_NEED_EXPECTED][i] * own->stash[i].bytes;
    const uint64_t live_bytes = line->live_bytes + expected->copies * line->live_copy_bytes;
    memory->always_live_bytes[tile] = steady->data_bytes;
    memory->peak_step[tile] = peak->step;
    assert(live_bytes == peak->bytes + peak->buffer_bytes +
                             pl_steady_sum(steady, POPLINER_NEED_EXPECTED) - line->freed_bytes +
                             stash_bytes);
    set_part(memory, POPLINER_PART_VARIABLES, tile,
             steady->data_bytes + peak->bytes - peak->unexplained_bytes);
    set_part(memory, POPLINER_PART_UNEXPLAINED, tile,
             peak->unexplained_bytes + steady->fixed_bytes);
    set_part(memory, POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE, tile, steady->fixed_bytes);
    set_part(memory, POPLINER_PART_BUFFERS, tile, peak->buffer_bytes);
    set_part(memory, POPLINER_PART_STASH, tile, stash_bytes - line->freed_bytes);
    set_part(memory, POPLINER_PART_LAYOUT, tile, bytes_of(expected) - live_bytes);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        set_part(memory, (popliner_part)(PL_FIRST_CODE + group), tile, steady->code_bytes[group]);
    for (int i = 0; i < PL_NUM_ADDED; i++)
        set_part(memory, (popliner_part)(PL_FIRST_ADDED + i), tile, steady->added_bytes[i]);
}

/* The most that stages need together: at least what one of them needs alone, and no more than the
 * sum, which is enough for all: tiles that share data may be more even, or less. */
typedef struct most_alone {
    uint64_t largest_bytes;
    uint64_t sum_bytes;
} most_alone;

static uint64_t within(const most_alone *most, uint64_t bytes) {
    return pl_larger(pl_smaller(bytes, most->sum_bytes), most->largest_bytes);
}

/* Measures all tiles. */
static void measure_ipu(ipu *own, const most_alone *most, popliner_stage_memory *memory) {
    pl_need_spread spread = {0};
    for (size_t tile = 0; tile < memory->num_tiles; tile++) {
        pl_stage_tile measured;
        measure_tile(own, tile, &measured);
        for (int i = 0; i < POPLINER_NUM_NEEDS; i++) {
            const tile_need need = need_of(own, (popliner_need)i, tile, &measured);
            memory->need_bytes[i][tile] = bytes_of(&need);
            if (i == POPLINER_NEED_EXPECTED)
                set_parts(own, tile, &measured, &need, memory);
            if (i == POPLINER_NEED_MOST)
                pl_need_spread_add(&spread, &need.line);
        }
    }
    const uint64_t most_bytes = most_of_any(own, &spread);
    for (size_t tile = 0; tile < memory->num_tiles; tile++) {
        uint64_t *bytes = &memory->need_bytes[POPLINER_NEED_MOST][tile];
        *bytes = within(most, pl_larger(*bytes, most_bytes));
    }
}

/* Finds what each stage needs alone at most. For one stage, and without estimates: any. */
static popliner_status find_most_alone(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                       const popliner_interval *stages, size_t num_stages,
                                       most_alone *most, popliner_error *error) {
    const bool is_limited = num_stages > 1 && meter->popliner == NULL;
    popliner_status status = POPLINER_OK;
    *most = (most_alone){0, is_limited ? 0 : UINT64_MAX};
    for (size_t i = 0; status == POPLINER_OK && is_limited && i < num_stages; i++) {
        uint64_t bytes;
        status = pl_stage_measure_peak(meter, pipeline, POPLINER_NEED_MOST, &stages[i], 1, &bytes,
                                       error);
        most->sum_bytes += bytes;
        most->largest_bytes = pl_larger(most->largest_bytes, bytes);
    }
    return status;
}

popliner_status pl_stage_measure_ipu(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                     const popliner_interval *stages, size_t num_stages,
                                     popliner_stage_memory *memory, popliner_error *error) {
    ipu own = {0};
    most_alone most;
    popliner_status status = find_most_alone(meter, pipeline, stages, num_stages, &most, error);
    if (status != POPLINER_OK)
        return status;
    begin_ipu(&own, meter, pipeline, stages, num_stages);
    const bool has_failed =
        meter->arrays.failed || !begin_memory(memory, meter->chain->profile->target.num_tiles);
    if (!has_failed)
        measure_ipu(&own, &most, memory);
    free_ipu(&own);
    return has_failed ? pl_fail_memory(error, "the memory of a stage") : POPLINER_OK;
}

popliner_status pl_stage_measure_units(pl_stage_meter *meter, size_t first_unit, size_t last_unit,
                                       popliner_stage_memory *memory, popliner_error *error) {
    const popliner_interval stage = {first_unit, last_unit, 1};
    return pl_stage_measure_ipu(meter, NULL, &stage, 1, memory, error);
}

popliner_status pl_stage_measure_operations(pl_stage_meter *meter, const size_t *operations,
                                            size_t num_operations, popliner_stage_memory *memory,
                                            popliner_error *error) {
    ipu own = {.meter = meter, .num_stages = 0};
    assert(meter->popliner != NULL);
    meter->arrays.failed = !begin_memory(memory, meter->chain->profile->target.num_tiles);
    pl_estimation_find(meter, NULL, 1, &own.estimation);
    pl_popliner_meter_begin(meter->popliner);
    pl_popliner_meter_add(meter->popliner, operations, num_operations);
    pl_popliner_meter_finish(meter->popliner, false);
    if (meter->arrays.failed)
        return pl_fail_memory(error, "the memory of a stage");
    measure_ipu(&own, &(most_alone){0, UINT64_MAX}, memory);
    return POPLINER_OK;
}

uint64_t pl_stage_code_bytes(const pl_stage_meter *meter, const popliner_stage_memory *memory,
                             int group, size_t tile) {
    return memory->part_bytes[PL_FIRST_CODE + group][tile] +
           pl_account_fixed_code(&meter->account, group, tile);
}

popliner_status pl_stage_measure_peak(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                      popliner_need need, const popliner_interval *stages,
                                      size_t num_stages, uint64_t *peak_bytes,
                                      popliner_error *error) {
    ipu own = {0};
    pl_need_spread spread = {0};
    popliner_status status = POPLINER_OK;
    begin_ipu(&own, meter, pipeline, stages, num_stages);
    const bool has_failed = meter->arrays.failed;
    *peak_bytes = 0;
    for (size_t tile = 0; !has_failed && tile < meter->chain->profile->target.num_tiles; tile++) {
        pl_stage_tile measured;
        measure_tile(&own, tile, &measured);
        const tile_need result = need_of(&own, need, tile, &measured);
        pl_need_spread_add(&spread, &result.line);
        *peak_bytes = pl_larger(*peak_bytes, bytes_of(&result));
    }
    if (!has_failed && need == POPLINER_NEED_MOST)
        *peak_bytes = pl_larger(*peak_bytes, most_of_any(&own, &spread));
    free_ipu(&own);
    if (has_failed)
        return pl_fail_memory(error, "the memory of a stage");
    most_alone most = {0, UINT64_MAX};
    if (need == POPLINER_NEED_MOST)
        status = find_most_alone(meter, pipeline, stages, num_stages, &most, error);
    *peak_bytes = within(&most, *peak_bytes);
    return status;
}

/* ---- Details --------------------------------------------------------------------------------- */

uint64_t pl_stage_parameter_bytes(pl_stage_meter *meter, const popliner_interval *stages,
                                  size_t num_stages) {
    return pl_sum_stages(&meter->pass_usage.usage, meter->parameters.touched_bytes,
                         pl_chain_first_data_unit(meter->chain), stages, num_stages);
}

/* Lists the largest variables of the stages on the fullest tile. */
static void find_largest(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                         const popliner_interval *stages, size_t num_stages,
                         popliner_stage_detail *d) {
    pl_estimation estimation;
    pl_detail_variables found = {0};
    pl_largest_query query = {.tile = (uint32_t)d->tile, .step = (uint32_t)d->step};
    meter->arrays.failed = false;
    pl_estimation_find(meter, pipeline, 1, &estimation);
    pl_largest_find(meter, &estimation, &query, 1, stages, num_stages, &found);
    d->num_variables = found.count;
    pl_detail_variables_name(&found, meter->chain->profile, d->variables);
}

popliner_status pl_stage_detail_of(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                   const popliner_interval *stages, size_t num_stages,
                                   const popliner_stage_memory *memory,
                                   popliner_stage_detail *detail, popliner_error *error) {
    const size_t n = memory->num_tiles;
    const pl_part_sums sums = pl_part_sums_of(meter, stages, num_stages, memory);
    popliner_stage_detail d = {.total_bytes = sums.total_bytes,
                               .tile = sums.largest_tile,
                               .tile_bytes = sums.largest_tile_bytes};
    memcpy(d.part_bytes, sums.part_bytes, sizeof d.part_bytes);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        d.need_bytes[need] = pl_tiles_max(memory->need_bytes[need], n);
    for (int part = 0; n > 0 && part < POPLINER_NUM_PARTS; part++)
        if (!pl_part_is_within(part))
            *pl_tile_bytes_at(&d, pl_parts[part].tile_place) += memory->part_bytes[part][d.tile];
    if (n > 0) {
        d.tile_always_live_bytes = memory->always_live_bytes[d.tile];
        d.tile_live_bytes -= d.tile_always_live_bytes;
        d.step = (size_t)memory->peak_step[d.tile];
        find_largest(meter, pipeline, stages, num_stages, &d);
        if (meter->arrays.failed)
            return pl_fail_memory(error, "the largest variables of a stage");
    }
    *detail = d;
    return POPLINER_OK;
}

popliner_status pl_stage_detail_measure(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        popliner_stage_detail *detail, popliner_error *error) {
    popliner_stage_memory memory = {0};
    popliner_status status =
        pl_stage_measure_ipu(meter, pipeline, stages, num_stages, &memory, error);
    if (status == POPLINER_OK)
        status = pl_stage_detail_of(meter, pipeline, stages, num_stages, &memory, detail, error);
    pl_stage_memory_clear(&memory);
    return status;
}
