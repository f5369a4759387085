/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/evaluate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/popliner_model.h"
#include "profile/profile_data.h"

/* ---- Bytes that do not depend on steps ------------------------------------------------------- */

static void set_steady(const pl_estimation *estimation, size_t number,
                       const uint64_t sum_bytes[PL_NUM_SUMS], uint64_t apart_bytes,
                       pl_stage_tile *tile) {
    const pl_account *account = estimation->digest->account;
    const uint64_t *fixed_code_bytes = estimation->digest->tiles[number].fixed_code_bytes;
    uint64_t fixed_bytes = account->fixed_bytes[number];
    *tile = (pl_stage_tile){.tile = number, .placed.apart = apart_bytes};
    uint64_t *bytes = tile->part_bytes;
    bytes[POPLINER_PART_VARIABLES] = sum_bytes[PL_SUM_DATA];
    bytes[POPLINER_PART_PARAMETERS] = sum_bytes[PL_SUM_PARAMETERS];
    bytes[POPLINER_PART_ACCUMULATORS] = estimation->accumulator_factor * sum_bytes[PL_SUM_TRAINED];
    tile->placed.always = sum_bytes[PL_SUM_DATA] + fixed_bytes + bytes[POPLINER_PART_ACCUMULATORS];
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        uint64_t *code_bytes = &bytes[PL_FIRST_CODE + group];
        *code_bytes = estimation->popliner != NULL
                          ? sum_bytes[group]
                          : pl_smaller(sum_bytes[group], account->truth_bytes[group][number]);
        fixed_bytes += fixed_code_bytes[group];
        tile->placed.code += *code_bytes + fixed_code_bytes[group];
        tile->own_code_bytes += *code_bytes;
    }
    tile->placed.state = bytes[POPLINER_PART_VERTEX_STATE] + fixed_code_bytes[PL_VERTEX_STATE];
    bytes[POPLINER_PART_UNEXPLAINED] = bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] = fixed_bytes;
}

void pl_stage_tile_parts(const pl_stage_tile *tile, const pl_live_peak *peak,
                         uint64_t *part_bytes) {
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        part_bytes[part] += tile->part_bytes[part];
    part_bytes[POPLINER_PART_VARIABLES] += peak->bytes - peak->unexplained_bytes;
    part_bytes[POPLINER_PART_UNEXPLAINED] += peak->unexplained_bytes;
    part_bytes[POPLINER_PART_BUFFERS] += peak->buffer_bytes;
}

void pl_stage_tile_needs(const pl_estimation *estimation, popliner_need need,
                         const pl_stage_tile *tile, const pl_tile_stash *stash,
                         pl_need_line *lines) {
    const pl_live_peak *peak = pl_stage_tile_peak(estimation, need, tile);
    const uint64_t *part_bytes = tile->part_bytes;
    pl_placed_bytes placed = tile->placed;
    placed.freed = estimation->frees[need] ? stash->freed_bytes : 0;
    uint64_t bytes = tile->own_code_bytes + part_bytes[POPLINER_PART_VARIABLES] +
                     part_bytes[POPLINER_PART_UNEXPLAINED] + peak->bytes;
    if (need == POPLINER_NEED_LEAST)
        bytes -= peak->unexplained_bytes;
    else
        bytes += peak->buffer_bytes + part_bytes[POPLINER_PART_ACCUMULATORS];
    pl_need_of(&estimation->rule, need, &estimation->digest->account->overheads[tile->tile], bytes,
               placed, stash->bytes, lines);
    for (pl_need_line *line = lines; line < lines + PL_NUM_LINES; line++) {
        line->unexplained_bytes = part_bytes[POPLINER_PART_UNEXPLAINED] + peak->unexplained_bytes;
        line->always_live_bytes = part_bytes[POPLINER_PART_VARIABLES];
        line->code_bytes = tile->own_code_bytes;
        line->buffer_bytes = peak->buffer_bytes;
        line->tile = tile->tile;
        line->step = peak->step;
        line->accumulator_bytes = part_bytes[POPLINER_PART_ACCUMULATORS];
    }
}

/* ---- Peaks ----------------------------------------------------------------------------------- */

enum { BEFORE_TURN, FROM_TURN, NUM_PASSES };

/* The largest segment of the stages in a pass, so far: the first of equals. */
typedef struct pass_peak {
    const pl_digest_peak *segment; /* NULL: there is none */
    uint64_t bytes;
} pass_peak;

/* Returns what a segment has for an estimation. */
static const pl_digest_peak *peak_in(const pl_estimation *estimation,
                                     const pl_digest_segment *segment) {
    return &segment->peaks[estimation->live & PL_LIVE_ACCUMULATES];
}

static void raise_peak(pass_peak *peak, const pl_digest_peak *segment, uint64_t bytes) {
    if (peak->segment == NULL || bytes > peak->bytes ||
        (bytes == peak->bytes && segment < peak->segment))
        *peak = (pass_peak){segment, bytes};
}

/* Returns the largest peak of both passes with the buffers of each, the first of equals. */
static pl_live_peak largest_of(const pass_peak peaks[NUM_PASSES],
                               const uint64_t buffer_bytes[NUM_PASSES]) {
    const pass_peak *largest = NULL;
    pl_live_peak result = {0};
    for (int pass = 0; pass < NUM_PASSES; pass++) {
        const pass_peak *own = &peaks[pass];
        if (own->segment == NULL || (largest != NULL && own->bytes + buffer_bytes[pass] <=
                                                            result.bytes + result.buffer_bytes))
            continue;
        largest = own;
        result = (pl_live_peak){own->bytes, own->bytes > 0 ? own->segment->unexplained_bytes : 0,
                                buffer_bytes[pass], own->segment->step};
    }
    return result;
}

static const uint64_t no_buffers[NUM_PASSES] = {0, 0};

/* Finds the peaks without and with buffers. */
static void find_peaks(const pass_peak peaks[NUM_PASSES], const uint64_t buffer_bytes[NUM_PASSES],
                       pl_stage_tile *result) {
    result->plain = largest_of(peaks, no_buffers);
    result->buffered = largest_of(peaks, buffer_bytes);
}

/* ---- Questions ------------------------------------------------------------------------------- */

void pl_question_begin(pl_question *question, pl_arrays *own, const pl_estimation *estimation,
                       const popliner_interval *stages, size_t num_stages) {
    const pl_digest *digest = estimation->digest;
    question->estimation = estimation;
    question->stages = stages;
    question->num_stages = num_stages;
    if (estimation->popliner != NULL)
        pl_popliner_meter_measure(estimation->popliner, stages, num_stages);
    question->units = pl_arrays_new(own, 1, digest->pass_usage->sets.key_size);
    question->change_bytes =
        pl_arrays_new(own, digest->chain->profile->num_steps + 1, sizeof *question->change_bytes);
    for (size_t i = 0; !own->failed && i < num_stages; i++) {
        assert(stages[i].first_unit <= stages[i].last_unit);
        assert(stages[i].last_unit < digest->chain->num_units);
        for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; unit++) {
            assert(!pl_bits_has(question->units, unit)); /* they do not overlap */
            pl_bits_add(question->units, unit);
        }
    }
    question->meets = pl_arrays_new(own, digest->pass_usage->sets.count, 1);
    for (uint32_t set = 0; !own->failed && set < digest->pass_usage->sets.count; set++)
        question->meets[set] = pl_digest_meets(digest, set, question->units);
}

/* Finds the largest segment of each pass. */
static void find_pass_peaks(pl_question *q, const pl_digest_tile *tile,
                            pass_peak peaks[NUM_PASSES]) {
    uint64_t arrived_bytes = 0;
    for (const pl_digest_part *part = tile->parts; part < tile->parts + tile->num_parts; part++)
        if (q->meets[part->sets[q->estimation->live]] != 0) {
            q->change_bytes[part->first_segment] += part->bytes;
            q->change_bytes[part->end_segment] -= part->bytes;
        }
    for (size_t i = 0; i < tile->num_segments; i++) {
        const pl_digest_peak *peak = peak_in(q->estimation, &tile->segments[i]);
        arrived_bytes += q->change_bytes[i];
        q->change_bytes[i] = 0;
        if (pl_bits_has(q->units, tile->segments[i].unit))
            raise_peak(&peaks[i < tile->turn_segment ? BEFORE_TURN : FROM_TURN], peak,
                       peak->bytes + arrived_bytes);
    }
    q->change_bytes[tile->num_segments] = 0;
}

static pl_tile_stash stash_of(const pl_question *q, const pl_digest_tile *tile,
                              const popliner_interval *stage) {
    pl_tile_stash stash = {0, 0};
    uint64_t own_bytes = 0;
    for (const pl_digest_stash *it = tile->stash; it < tile->stash + tile->num_stash; it++)
        if (it->way == q->estimation->stash_way && it->start <= stage->first_unit &&
            it->unit >= stage->first_unit && it->unit <= stage->last_unit)
            stash.bytes += it->bytes;
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++)
        own_bytes = pl_larger(own_bytes, tile->units[unit].own_stash_bytes);
    stash.freed_bytes = stash.bytes > own_bytes ? stash.bytes - own_bytes : 0;
    return stash;
}

void pl_question_measure(pl_question *q, size_t number, pl_stage_tile *result,
                         pl_tile_stash *stash) {
    const pl_estimation *estimation = q->estimation;
    const pl_digest_tile *tile = &estimation->digest->tiles[number];
    uint64_t sum_bytes[PL_NUM_SUMS] = {0};
    uint64_t buffer_bytes[NUM_PASSES] = {0};
    uint64_t apart_bytes = 0;
    pass_peak peaks[NUM_PASSES] = {{NULL, 0}, {NULL, 0}};
    for (size_t i = 0; i < tile->num_sums; i++)
        if (q->meets[tile->sums[i].set] != 0)
            sum_bytes[tile->sums[i].sum] += tile->sums[i].bytes;
    find_pass_peaks(q, tile, peaks);
    for (size_t i = 0; i < q->num_stages; i++) {
        const popliner_interval *stage = &q->stages[i];
        const pl_digest_unit *last = &tile->units[stage->last_unit];
        for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++)
            apart_bytes = pl_larger(apart_bytes, tile->units[unit].apart_bytes);
        if (estimation->has_buffers) {
            buffer_bytes[BEFORE_TURN] += last->sent_backward_bytes;
            buffer_bytes[FROM_TURN] += last->sent_forward_bytes;
        }
        stash[i] = stash_of(q, tile, stage);
    }
    set_steady(estimation, number, sum_bytes, apart_bytes, result);
    find_peaks(peaks, buffer_bytes, result);
    if (estimation->popliner != NULL)
        result->plain = result->buffered = pl_popliner_meter_peak(estimation->popliner, number);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Items of a list, by the unit with which they arrive in the stages of a row. */
typedef struct arrivals {
    uint32_t *start; /* [num_units + 2] into order */
    uint32_t *order;
} arrivals;

/* A unit as a stage of its own. */
typedef struct unit_alone {
    pass_peak peaks[NUM_PASSES];
    uint64_t sum_bytes[PL_NUM_SUMS];
} unit_alone;

struct pl_row {
    const pl_estimation *estimation;
    pl_arrays *arrays; /* own this and all arrays */
    size_t tile;
    size_t first_unit;
    size_t next_unit;
    arrivals sums;
    arrivals parts;
    arrivals segments;
    uint64_t *live_bytes; /* [steps], by segment */
    uint8_t *is_own;      /* [steps], by segment: it has a unit of the stage */
    pass_peak peaks[NUM_PASSES];
    uint64_t sum_bytes[PL_NUM_SUMS];
    uint64_t *arriving_stash_bytes; /* [num_units] by unit */
    uint64_t stash_bytes;
    uint64_t own_stash_bytes;
    uint64_t apart_bytes;
    unit_alone *each; /* [num_units]; only for units alone */
};

pl_row *pl_row_new(pl_arrays *own, const pl_estimation *estimation) {
    const size_t num_units = estimation->digest->chain->num_units;
    const size_t num_steps = estimation->digest->chain->profile->num_steps;
    pl_row *row = pl_arrays_new(own, 1, sizeof *row);
    if (row == NULL)
        return NULL;
    row->arrays = own;
    row->estimation = estimation;
    arrivals *const all[] = {&row->sums, &row->parts, &row->segments};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->start = pl_arrays_new(own, num_units + 3, sizeof *all[i]->start);
    row->live_bytes = pl_arrays_new(own, num_steps, sizeof *row->live_bytes);
    row->is_own = pl_arrays_new(own, num_steps, 1);
    row->arriving_stash_bytes = pl_arrays_new(own, num_units, sizeof(uint64_t));
    return own->failed ? NULL : row;
}

/* Returns the first unit of a set that is not before `first`; the number of units if none is. */
static uint32_t arrival_of(const pl_digest *digest, uint32_t set, size_t first) {
    return (uint32_t)pl_bits_next(pl_digest_bits(digest, set), first, digest->chain->num_units);
}

/* Sorts a list of a tile by arrival: `who` is the set, or the unit, of its first item. */
static void sort_arrivals(pl_row *row, const uint32_t *who, size_t count, size_t item_size,
                          bool has_sets, arrivals *sorted) {
    const uint32_t num_units = (uint32_t)row->estimation->digest->chain->num_units;
    if (!pl_arrays_grow(row->arrays, &sorted->order, 2 * count + 1, sizeof *sorted->order))
        return;
    uint32_t *arrives = sorted->order + count;
    /* counted two positions up and filled one position up, so that the starts are right at the
     * end */
    memset(sorted->start, 0, (num_units + 3) * sizeof *sorted->start);
    for (size_t i = 0; i < count; i++) {
        const uint32_t own = *(const uint32_t *)(const void *)((const char *)who + i * item_size);
        arrives[i] = has_sets ? arrival_of(row->estimation->digest, own, row->first_unit)
                     : own < row->first_unit ? num_units
                                             : own;
        sorted->start[arrives[i] + 2]++;
    }
    for (size_t unit = 0; unit <= num_units; unit++)
        sorted->start[unit + 2] += sorted->start[unit + 1];
    for (size_t i = 0; i < count; i++)
        sorted->order[sorted->start[arrives[i] + 1]++] = (uint32_t)i;
}

bool pl_row_begin(pl_row *row, size_t number, size_t first_unit) {
    const pl_digest *digest = row->estimation->digest;
    const pl_digest_tile *tile = &digest->tiles[number];
    assert(tile->units != NULL && first_unit < digest->chain->num_units);
    row->tile = number;
    row->first_unit = row->next_unit = first_unit;
    sort_arrivals(row, &tile->sums->set, tile->num_sums, sizeof *tile->sums, true, &row->sums);
    sort_arrivals(row, &tile->parts->sets[row->estimation->live], tile->num_parts,
                  sizeof *tile->parts, true, &row->parts);
    sort_arrivals(row, &tile->segments->unit, tile->num_segments, sizeof *tile->segments, false,
                  &row->segments);
    if (row->arrays->failed)
        return false;
    for (size_t i = 0; i < tile->num_segments; i++)
        row->live_bytes[i] = peak_in(row->estimation, &tile->segments[i])->bytes;
    memset(row->is_own, 0, tile->num_segments);
    memset(row->peaks, 0, sizeof row->peaks);
    memset(row->sum_bytes, 0, sizeof row->sum_bytes);
    memset(row->arriving_stash_bytes, 0, digest->chain->num_units * sizeof(uint64_t));
    for (size_t i = 0; i < tile->num_stash; i++)
        if (tile->stash[i].way == row->estimation->stash_way && tile->stash[i].start <= first_unit)
            row->arriving_stash_bytes[tile->stash[i].unit] += tile->stash[i].bytes;
    row->stash_bytes = row->own_stash_bytes = row->apart_bytes = 0;
    return true;
}

/* Raises the peak by a segment, if the stage has it. */
static void raise_segment(pl_row *row, const pl_digest_tile *tile, size_t i) {
    if (row->is_own[i] != 0)
        raise_peak(&row->peaks[i < tile->turn_segment ? BEFORE_TURN : FROM_TURN],
                   peak_in(row->estimation, &tile->segments[i]), row->live_bytes[i]);
}

/* Adds what arrives with a unit. */
static void add_unit(pl_row *row, const pl_digest_tile *tile, size_t unit) {
    for (uint32_t k = row->sums.start[unit]; k < row->sums.start[unit + 1]; k++) {
        const pl_digest_sum *sum = &tile->sums[row->sums.order[k]];
        row->sum_bytes[sum->sum] += sum->bytes;
    }
    for (uint32_t k = row->segments.start[unit]; k < row->segments.start[unit + 1]; k++)
        row->is_own[row->segments.order[k]] = 1;
    for (uint32_t k = row->parts.start[unit]; k < row->parts.start[unit + 1]; k++) {
        const pl_digest_part *part = &tile->parts[row->parts.order[k]];
        for (size_t i = part->first_segment; i < part->end_segment; i++) {
            row->live_bytes[i] += part->bytes;
            raise_segment(row, tile, i);
        }
    }
    for (uint32_t k = row->segments.start[unit]; k < row->segments.start[unit + 1]; k++)
        raise_segment(row, tile, row->segments.order[k]);
    row->stash_bytes += row->arriving_stash_bytes[unit];
    row->own_stash_bytes = pl_larger(row->own_stash_bytes, tile->units[unit].own_stash_bytes);
    row->apart_bytes = pl_larger(row->apart_bytes, tile->units[unit].apart_bytes);
}

void pl_row_extend(pl_row *row, pl_stage_tile *result, pl_tile_stash *stash) {
    const pl_estimation *estimation = row->estimation;
    const pl_digest_tile *tile = &estimation->digest->tiles[row->tile];
    const size_t unit = row->next_unit++;
    uint64_t buffer_bytes[NUM_PASSES] = {0};
    assert(unit < estimation->digest->chain->num_units);
    add_unit(row, tile, unit);
    if (estimation->has_buffers) {
        buffer_bytes[BEFORE_TURN] = tile->units[unit].sent_backward_bytes;
        buffer_bytes[FROM_TURN] = tile->units[unit].sent_forward_bytes;
    }
    set_steady(estimation, row->tile, row->sum_bytes, row->apart_bytes, result);
    find_peaks(row->peaks, buffer_bytes, result);
    *stash = (pl_tile_stash){row->stash_bytes, row->stash_bytes > row->own_stash_bytes
                                                   ? row->stash_bytes - row->own_stash_bytes
                                                   : 0};
}

/* ---- Each unit alone ------------------------------------------------------------------------- */

bool pl_row_measure_each(pl_row *row, size_t number, pl_stage_tile *results) {
    const pl_digest *digest = row->estimation->digest;
    const pl_digest_tile *tile = &digest->tiles[number];
    const size_t num_units = digest->chain->num_units;
    if (row->each == NULL)
        row->each = pl_arrays_new(row->arrays, num_units, sizeof *row->each);
    if (row->arrays->failed)
        return false;
    memset(row->each, 0, num_units * sizeof *row->each);
    for (size_t i = 0; i < tile->num_segments; i++)
        row->live_bytes[i] = peak_in(row->estimation, &tile->segments[i])->bytes;
    for (const pl_digest_part *part = tile->parts; part < tile->parts + tile->num_parts; part++) {
        const uint64_t *units = pl_digest_bits(digest, part->sets[row->estimation->live]);
        for (size_t i = part->first_segment; i < part->end_segment; i++)
            if (pl_bits_has(units, tile->segments[i].unit))
                row->live_bytes[i] += part->bytes;
    }
    for (size_t i = 0; i < tile->num_segments; i++)
        raise_peak(&row->each[tile->segments[i].unit]
                        .peaks[i < tile->turn_segment ? BEFORE_TURN : FROM_TURN],
                   peak_in(row->estimation, &tile->segments[i]), row->live_bytes[i]);
    for (const pl_digest_sum *sum = tile->sums; sum < tile->sums + tile->num_sums; sum++)
        for (uint32_t unit = arrival_of(digest, sum->set, 0); unit < num_units;
             unit = arrival_of(digest, sum->set, unit + 1))
            row->each[unit].sum_bytes[sum->sum] += sum->bytes;
    for (size_t unit = 0; unit < num_units; unit++) {
        set_steady(row->estimation, number, row->each[unit].sum_bytes,
                   tile->units[unit].apart_bytes, &results[unit]);
        find_peaks(row->each[unit].peaks, no_buffers, &results[unit]);
    }
    return row->estimation->popliner == NULL ||
           pl_popliner_meter_measure_each(row->estimation->popliner, number, results);
}
