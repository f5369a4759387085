/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "memory/chain_data.h"
#include "pipeline/moments.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* ---- Bytes by tile --------------------------------------------------------------------------- */

void pl_stage_memory_clear(popliner_stage_memory *memory) {
    free(memory->peak_step); /* the others are in one block with it */
    *memory = (popliner_stage_memory){0};
}

/* Allocates all arrays, unless they are there. */
static bool begin_memory(popliner_stage_memory *memory, size_t num_tiles) {
    enum { NUM_ARRAYS = 2 + POPLINER_NUM_PARTS + POPLINER_NUM_NEEDS };
    if (memory->num_tiles == num_tiles && memory->peak_step != NULL)
        return true;
    pl_stage_memory_clear(memory);
    uint64_t *next = pl_new_array(num_tiles, NUM_ARRAYS * sizeof *next);
    if (next == NULL)
        return false;
    memory->num_tiles = num_tiles;
    memory->peak_step = next;
    memory->always_live_bytes = next += num_tiles;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        memory->part_bytes[part] = next += num_tiles;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        memory->need_bytes[need] = next += num_tiles;
    return true;
}

/* ---- The meter ------------------------------------------------------------------------------- */

/* Finds whether the profile has accumulators and, if it has none, when gradients are complete. */
static void find_accumulators(pl_stage_meter *meter) {
    if (!meter->pass_usage.passes.is_training || !pl_chain_is_full(meter->chain))
        return;
    meter->has_accumulators = pl_has_accumulators(meter->chain->profile);
    if (!meter->has_accumulators)
        pl_gradients_find(&meter->gradients, &meter->arrays, meter->chain, &meter->pass_usage,
                          &meter->account);
}

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
    meter->num_threads = num_threads > 0 ? num_threads : pl_machine_processors();
    pl_account_create(&meter->account, &meter->arrays, chain);
    if (!meter->arrays.failed)
        pl_pass_usage_find(&meter->pass_usage, &meter->arrays, chain);
    if (!meter->arrays.failed)
        find_accumulators(meter);
    if (!meter->arrays.failed)
        pl_digest_begin(&meter->digest, &meter->arrays, chain, &meter->account, &meter->pass_usage,
                        &meter->gradients);
    if (!meter->arrays.failed && !pl_chain_is_full(chain))
        meter->popliner = pl_popliner_meter_new(&meter->arrays, &meter->digest);
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
    pl_digest_free(&meter->digest);
    pl_stage_meter_remember_peaks(meter, false);
    pl_arrays_free(&meter->arrays);
    free(meter);
}

void pl_stage_meter_remember_peaks(pl_stage_meter *meter, bool remembers) {
    if (meter->popliner != NULL)
        pl_popliner_meter_remember_peaks(meter->popliner, remembers);
}

/* ---- Estimations ----------------------------------------------------------------------------- */

void pl_estimation_find(pl_stage_meter *meter, const popliner_pipeline *pipeline, size_t max_stages,
                        pl_estimation *e) {
    const popliner_profile *p = meter->chain->profile;
    const bool is_full = meter->popliner == NULL;
    const bool is_training = meter->pass_usage.passes.is_training;
    bool has_stash = false;
    const unsigned effects = is_full && pipeline != NULL ? pipeline->effects : 0;
    *e = (pl_estimation){
        .popliner = meter->popliner,
        .digest = &meter->digest,
        .max_stages = 1,
        .stash_way = PL_NONE,
        .live = (effects & POPLINER_EFFECT_PASSING) != 0 ? PL_LIVE_PASSES_THROUGH : 0,
        .expects_buffers = (effects & POPLINER_EFFECT_BUFFERS) != 0,
        .rule = {.has_needs = is_full,
                 .has_layout = (effects & POPLINER_EFFECT_LAYOUT) != 0,
                 .tiles_per_ipu = p->target.tiles_per_ipu,
                 .profile = p},
    };
    if (pipeline != NULL)
        e->pipeline = *pipeline;
    max_stages = pl_more(1, pl_fewer(max_stages, meter->chain->num_units));
    if (pipeline != NULL && is_training) {
        has_stash = pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, max_stages) > 0;
        e->stash_way = has_stash ? (uint32_t)pl_pipeline_stored(pipeline) : PL_NONE;
        e->max_stages = has_stash ? max_stages : 1;
    }
    if (pipeline != NULL && is_training && is_full) {
        e->has_buffers = pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES;
        if (pl_wants_accumulators(pipeline, true) && !meter->has_accumulators)
            e->live |= PL_LIVE_ACCUMULATES;
        e->accumulator_factor = pl_accumulator_factor(pipeline, meter->has_accumulators);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
            e->frees[need] =
                has_stash && pl_pipeline_frees_originals(pipeline, (popliner_need)need);
    }
}

bool pl_stage_meter_complete(pl_stage_meter *meter, const popliner_listener *listener,
                             pl_bounds *bounds) {
    const pl_digest_making how = {
        .num_threads = meter->num_threads, .listener = listener, .bounds = bounds};
    return pl_digest_make(&meter->digest, &how, &meter->arrays) || meter->arrays.failed;
}

bool pl_stage_meter_find_sums(pl_stage_meter *meter) {
    const pl_digest *digest = &meter->digest;
    const size_t num_units = meter->chain->num_units;
    meter->arrays.failed = false;
    if (meter->cut_bytes != NULL)
        return true;
    pl_stage_meter_complete(meter, NULL, NULL);
    if (meter->arrays.failed)
        return false;
    uint64_t *cut_bytes = pl_arrays_new(&meter->arrays, num_units, sizeof *cut_bytes);
    uint64_t *trained_bytes =
        pl_arrays_new(&meter->arrays, meter->pass_usage.sets.count, sizeof *trained_bytes);
    for (size_t i = 0; !meter->arrays.failed && i < meter->chain->profile->target.num_tiles; i++) {
        const pl_digest_tile *tile = &digest->tiles[i];
        for (size_t unit = 1; unit < num_units; unit++)
            cut_bytes[unit] += tile->units[unit - 1].sent_forward_bytes +
                               tile->units[unit - 1].sent_backward_bytes;
        for (const pl_digest_sum *sum = tile->sums; sum < tile->sums + tile->num_sums; sum++)
            if (sum->sum == PL_SUM_TRAINED)
                trained_bytes[sum->set] += sum->bytes;
    }
    meter->cut_bytes = meter->arrays.failed ? NULL : cut_bytes;
    meter->trained_bytes = trained_bytes;
    return !meter->arrays.failed;
}

/* ---- Stages on one IPU ----------------------------------------------------------------------- */

/* Stages whose tiles are measured one by one. */
typedef struct ipu {
    pl_stage_meter *meter;
    pl_estimation estimation;
    const popliner_interval *stages;
    size_t num_stages;
    size_t num_moments;
    size_t *copies[POPLINER_NUM_NEEDS]; /* [num_moments][num_stages] */
    pl_need_spread *spreads;            /* [num_moments]: of the most */
    /* The most that stages need together: at least what one of them needs alone, and no more than
     * the sum, which is enough for all: tiles that share data may be more even, or less. */
    uint64_t least_most_bytes;
    uint64_t largest_most_bytes;
    pl_tile_stash *stash; /* [num_stages] of the current tile */
    pl_question question;
    pl_arrays arrays; /* own the arrays */
} ipu;

/* Finds the copies of stages: the most of each, or those of each moment of their IPU. */
static void find_copies(ipu *own, const popliner_pipeline *pipeline) {
    const size_t n = own->num_stages;
    const size_t place = n > 0 ? own->stages[0].stages_to_end : 0;
    pl_moments moments = {0};
    const pl_held *held = NULL;
    if (pipeline != NULL && n > 1) {
        own->arrays.failed = !pl_moments_create(&moments, pipeline, place);
        held = pl_moments_of(&moments, place, &own->num_moments);
    }
    own->num_moments = pl_more(1, own->num_moments);
    own->spreads = pl_arrays_new(&own->arrays, own->num_moments, sizeof *own->spreads);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        size_t *copies = pl_arrays_new(&own->arrays, own->num_moments * n, sizeof *copies);
        own->copies[need] = copies;
        for (size_t i = 0; copies != NULL && pipeline != NULL && i < own->num_moments * n; i++) {
            const size_t to_end = own->stages[i % n].stages_to_end;
            const pl_held *now = held == NULL ? NULL : &held[i / n * moments.num_chunks];
            const size_t chunk = now == NULL ? 0 : pl_moments_chunk(&moments, to_end);
            copies[i] = now == NULL ? pl_pipeline_copies_for(pipeline, (popliner_need)need, to_end)
                                    : pl_copies_of_held(&pipeline->copies,
                                                        now[chunk].kept + now[chunk].sets);
        }
    }
    pl_moments_free(&moments);
}

/* Begins stages of a pipeline. */
static void begin_ipu(ipu *own, pl_stage_meter *meter, const popliner_pipeline *pipeline,
                      const popliner_interval *stages, size_t num_stages) {
    size_t most_stages = 1; /* of them is the one that stores most */
    own->meter = meter;
    own->stages = stages;
    own->num_stages = num_stages;
    meter->arrays.failed = false;
    find_copies(own, pipeline);
    own->stash = pl_arrays_new(&own->arrays, num_stages, sizeof *own->stash);
    for (size_t i = 0; !own->arrays.failed && i < own->num_moments * num_stages; i++)
        if (own->copies[POPLINER_NEED_MOST][i] > 0)
            most_stages = SIZE_MAX;
    meter->arrays.failed = meter->arrays.failed || own->arrays.failed;
    pl_estimation_find(meter, pipeline, most_stages, &own->estimation);
    pl_stage_meter_complete(meter, NULL, NULL);
    if (meter->arrays.failed)
        return;
    pl_question_begin(&own->question, &own->arrays, &own->estimation, stages, num_stages);
    meter->arrays.failed = own->arrays.failed;
}

/* Returns an estimate of a tile with the copies of a moment, whose bytes are all in one copy. */
static pl_need_line need_of(ipu *own, popliner_need need, size_t moment,
                            const pl_stage_tile *measured) {
    const pl_overhead *layout = &own->meter->account.overheads[measured->tile];
    const size_t *copies = own->copies[need] + moment * own->num_stages;
    const bool is_single = own->num_stages == 1;
    pl_need_line lines[PL_NUM_LINES];
    pl_need_line *line = &lines[PL_LINE_WITH_COPIES];
    pl_tile_stash all = {is_single ? own->stash[0].bytes : 0, 0};
    for (size_t i = 0; i < own->num_stages; i++)
        all.freed_bytes += copies[i] > 0 ? own->stash[i].freed_bytes : 0;
    pl_stage_tile_needs(&own->estimation, need, measured, &all, lines);
    for (size_t i = 0; !is_single && i < own->num_stages; i++) {
        pl_need_line copy[PL_NUM_LINES];
        if (copies[i] == 0 || own->stash[i].bytes == 0)
            continue;
        pl_need_of(&own->estimation.rule, need, layout, 0, (pl_placed_bytes){0},
                   own->stash[i].bytes, copy);
        line->copy_bytes += copies[i] * copy[PL_LINE_WITH_COPIES].copy_bytes;
        line->copy_layout_bytes += copies[i] * copy[PL_LINE_WITH_COPIES].copy_layout_bytes;
    }
    if (need == POPLINER_NEED_MOST)
        pl_need_spread_add(&own->spreads[moment], lines);
    if (is_single) {
        line->copy_bytes *= copies[0];
        line->copy_layout_bytes *= copies[0];
    }
    return *line;
}

/* Returns the need of a tile at the moment at which that is largest. */
static pl_need_line largest_need(ipu *own, popliner_need need, const pl_stage_tile *measured) {
    pl_need_line largest = need_of(own, need, 0, measured);
    for (size_t m = 1; m < own->num_moments; m++) {
        const pl_need_line now = need_of(own, need, m, measured);
        if (pl_need_line_at(&now, 1) > pl_need_line_at(&largest, 1))
            largest = now;
    }
    return largest;
}

/* Returns what the fullest tile needs at most, by the sums of all tiles. */
static uint64_t most_of_any(const ipu *own) {
    uint64_t most = 0;
    for (size_t m = 0; m < own->num_moments; m++) {
        const size_t copies = own->num_stages == 1 ? own->copies[POPLINER_NEED_MOST][0] : 1;
        pl_need_line any[PL_NUM_LINES];
        pl_need_spread_lines(&own->spreads[m], &own->estimation.rule,
                             own->meter->chain->profile->target.num_tiles, any);
        most = pl_larger(most, pl_larger(any[PL_LINE_WITHOUT_COPIES].bytes,
                                         pl_need_line_at(&any[PL_LINE_WITH_COPIES], copies)));
    }
    return most;
}

static uint64_t limit_most(const ipu *own, uint64_t tile_bytes, uint64_t any_bytes) {
    return pl_larger(pl_smaller(pl_larger(tile_bytes, any_bytes), own->largest_most_bytes),
                     own->least_most_bytes);
}

/* Adds what a tile is expected to need. */
static void add_expected(const ipu *own, const pl_stage_tile *measured,
                         const pl_need_line *expected, popliner_stage_memory *memory,
                         popliner_stage_detail *d) {
    uint64_t part_bytes[POPLINER_NUM_PARTS] = {
        [POPLINER_PART_STASH] = pl_need_line_stash(expected, 1),
        [POPLINER_PART_LAYOUT] = pl_need_line_layout(expected, 1),
    };
    pl_stage_tile_parts(measured,
                        pl_stage_tile_peak(&own->estimation, POPLINER_NEED_EXPECTED, measured),
                        part_bytes);
    assert(pl_parts_sum(part_bytes) == pl_need_line_at(expected, 1));
    if (measured->tile == 0 || pl_need_line_at(expected, 1) > d->tile_bytes)
        pl_stage_detail_set_tile(d, expected, 1);
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        d->part_bytes[part] += part_bytes[part];
    d->total_bytes += pl_need_line_at(expected, 1);
    if (memory == NULL)
        return;
    memory->always_live_bytes[measured->tile] = expected->always_live_bytes;
    memory->peak_step[measured->tile] = expected->step;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        memory->part_bytes[part][measured->tile] = part_bytes[part];
}

/* Measures these estimates (bits) on all tiles, into *memory unless it is NULL, and sums up all but
 * the variables of the fullest tile. */
static void measure_tiles(ipu *own, unsigned needs, popliner_stage_memory *memory,
                          popliner_stage_detail *d) {
    const size_t num_tiles = own->meter->chain->profile->target.num_tiles;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        pl_stage_tile measured;
        pl_question_measure(&own->question, tile, &measured, own->stash);
        for (int i = 0; i < POPLINER_NUM_NEEDS; i++) {
            if ((needs >> i & 1) == 0)
                continue;
            const pl_need_line need = largest_need(own, (popliner_need)i, &measured);
            d->need_bytes[i] = pl_larger(d->need_bytes[i], pl_need_line_at(&need, 1));
            if (memory != NULL)
                memory->need_bytes[i][tile] = pl_need_line_at(&need, 1);
            if (i == POPLINER_NEED_EXPECTED)
                add_expected(own, &measured, &need, memory, d);
        }
    }
    const uint64_t most_bytes = most_of_any(own);
    d->need_bytes[POPLINER_NEED_MOST] =
        limit_most(own, d->need_bytes[POPLINER_NEED_MOST], most_bytes);
    for (size_t tile = 0; memory != NULL && tile < num_tiles; tile++) {
        uint64_t *bytes = &memory->need_bytes[POPLINER_NEED_MOST][tile];
        *bytes = limit_most(own, *bytes, most_bytes);
    }
}

/* Lists the largest variables of the stages on the fullest tile. */
static void find_largest(const ipu *own, popliner_stage_detail *d) {
    pl_detail_variables found = {0};
    pl_largest_query query = {(uint32_t)d->tile, (uint32_t)d->step, own->stages, own->num_stages,
                              &found};
    pl_largest_find(own->meter, own->estimation.live, &query, 1);
    pl_detail_variables_name(&found, own->meter->chain->profile, d);
}

/* Like measure_tiles, of stages of a pipeline; with the variables if `finds_variables`. */
static popliner_status measure_ipu(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                   const popliner_interval *stages, size_t num_stages,
                                   unsigned needs, bool finds_variables,
                                   popliner_stage_memory *memory, popliner_stage_detail *detail,
                                   popliner_error *error) {
    const bool is_limited =
        num_stages > 1 && meter->popliner == NULL && (needs >> POPLINER_NEED_MOST & 1) != 0;
    const size_t num_tiles = meter->chain->profile->target.num_tiles;
    popliner_status status = POPLINER_OK;
    ipu own = {.largest_most_bytes = is_limited ? 0 : UINT64_MAX};
    *detail = (popliner_stage_detail){0};
    for (size_t i = 0; status == POPLINER_OK && is_limited && i < num_stages; i++) {
        uint64_t bytes;
        status = pl_stage_measure_peak(meter, pipeline, POPLINER_NEED_MOST, &stages[i], 1, &bytes,
                                       error);
        own.largest_most_bytes += bytes;
        own.least_most_bytes = pl_larger(own.least_most_bytes, bytes);
    }
    if (status != POPLINER_OK)
        return status;
    begin_ipu(&own, meter, pipeline, stages, num_stages);
    if (memory != NULL && !begin_memory(memory, num_tiles))
        meter->arrays.failed = true;
    if (!meter->arrays.failed)
        measure_tiles(&own, needs, memory, detail);
    if (finds_variables && num_tiles > 0)
        find_largest(&own, detail);
    pl_arrays_free(&own.arrays);
    return meter->arrays.failed ? pl_fail_memory(error, "the memory of a stage") : POPLINER_OK;
}

popliner_status pl_stage_measure_peak(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                      popliner_need need, const popliner_interval *stages,
                                      size_t num_stages, uint64_t *peak_bytes,
                                      popliner_error *error) {
    popliner_stage_detail detail;
    const popliner_status status =
        measure_ipu(meter, pipeline, stages, num_stages, 1u << need, false, NULL, &detail, error);
    *peak_bytes = detail.need_bytes[need];
    return status;
}

popliner_status pl_stage_measure(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                 const popliner_interval *stages, size_t num_stages,
                                 popliner_stage_memory *memory, popliner_stage_detail *detail,
                                 popliner_error *error) {
    enum { ALL_NEEDS = (1 << POPLINER_NUM_NEEDS) - 1 };
    popliner_stage_detail d;
    const popliner_status status = measure_ipu(meter, pipeline, stages, num_stages, ALL_NEEDS,
                                               detail != NULL, memory, &d, error);
    if (status == POPLINER_OK && detail != NULL)
        *detail = d;
    return status;
}
