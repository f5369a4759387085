/* The memory of all intervals at once, one tile after another.
 *
 * Data used by units u1 < u2 < ... is added to a stage that starts at i once the stage reaches the
 * first u >= i. So each u_k is an "arrival": it adds the data to the stages that begin after
 * u_(k-1), at most at u_k, and reach u_k. Costs that add up (code and state) are summed in a table
 * of arrivals; live variables are added to a tree over the steps, which has their peak after every
 * unit.
 *
 * If stages have their own steps (pl_memory_model), the steps of a unit count only in stages with
 * that unit, where a variable that the unit touches always counts. So its bytes at those steps may
 * be in the base of all stages; a stage without the unit ignores these steps. The variable must
 * arrive only between the first and the last step of other units while it is live. Most variables
 * have no such steps. The others are mostly live between the same units, so that few ranges arrive,
 * with the bytes of many variables; and all steps between the ends of two such ranges are one place
 * of the tree.
 *
 * What a pipeline stores also arrives, but in stages that reach back to units of both passes: see
 * memory/interval_inputs.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/tile_meter.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"

/* Raises steps that count above all bytes that other steps can have. */
static const uint64_t COUNTS = UINT64_C(1) << 62;

/* Returns the largest number of copies; with details, that of every schedule. */
static size_t most_copies(const pl_interval_inputs *inputs, popliner_need need, bool with_details) {
    size_t own = pl_pipeline_copies_for(&inputs->options->pipeline, need, inputs->max_stages);
    size_t any = with_details ? pl_most_copies(inputs->max_stages) : 0;
    return own > any ? own : any;
}

static bool begin_largest(pl_tile_meter *meter, bool with_details) {
    const pl_interval_inputs *inputs = meter->inputs;
    bool memory = true;
    for (int need = 0; memory && need < POPLINER_NUM_NEEDS; need++) {
        size_t max_copies = most_copies(inputs, (popliner_need)need, with_details);
        if (inputs->wants_need[need])
            memory = pl_peak_envelope_begin(&meter->largest[need],
                                            pl_triangle_size(inputs->chain->num_units), max_copies);
    }
    if (with_details)
        meter->sums = pl_new_array(pl_triangle_size(inputs->chain->num_units), sizeof *meter->sums);
    return memory && (!with_details || meter->sums != NULL);
}

bool pl_tile_meter_begin(pl_tile_meter *meter, const pl_interval_inputs *inputs,
                         bool with_details) {
    const size_t num_units = inputs->chain->num_units;
    const size_t num_steps = inputs->profile->num_steps;
    const size_t num_places = pl_tile_arrivals_place(num_units, 0);
    pl_arrays *own = &meter->arrays;
    meter->inputs = inputs;
    if (inputs->waits.end_step != NULL)
        meter->unit_stash_bytes = pl_arrays_new(own, num_units, sizeof *meter->unit_stash_bytes);
    meter->unit_apart_bytes = pl_arrays_new(own, num_units, sizeof *meter->unit_apart_bytes);
    if (inputs->wants_need[POPLINER_NEED_MOST] && inputs->rule.has_needs)
        meter->spreads = pl_arrays_new(own, pl_triangle_size(num_units), sizeof *meter->spreads);
    if (inputs->has_buffers) {
        meter->sent_forward = pl_arrays_new(own, num_units + 1, sizeof *meter->sent_forward);
        meter->sent_backward = pl_arrays_new(own, num_units + 1, sizeof *meter->sent_backward);
    }
    for (size_t sum = 0; sum < PL_NUM_SUMS; sum++)
        meter->arriving_bytes[sum] =
            pl_arrays_new(own, (num_units + 1) * num_units, sizeof(uint64_t));
    meter->stash_work.passes = pl_arrays_new(own, num_units, 1);
    meter->stash_work.crosses = pl_arrays_new(own, num_units, 1);
    meter->arriving_start = pl_arrays_new(own, num_places + 2, sizeof *meter->arriving_start);
    meter->allowed_end = pl_arrays_new(own, num_units, sizeof *meter->allowed_end);
    meter->set_start = pl_arrays_new(own, inputs->passing.sets.count + 2, sizeof *meter->set_start);
    meter->is_break = pl_arrays_new(own, num_steps + 1, 1);
    meter->segment_of_step = pl_arrays_new(own, num_steps + 1, sizeof *meter->segment_of_step);
    meter->segment_step = pl_arrays_new(own, num_steps, sizeof *meter->segment_step);
    meter->step_bytes = pl_arrays_new(own, num_steps, sizeof *meter->step_bytes);
    meter->segment_bytes = pl_arrays_new(own, num_steps, sizeof *meter->segment_bytes);
    if (with_details || inputs->wants_need[POPLINER_NEED_LEAST])
        meter->unexplained_bytes = pl_arrays_new(own, num_steps, sizeof *meter->unexplained_bytes);
    if (!begin_largest(meter, with_details) || own->failed)
        return false;
    for (size_t unit = 0; unit < num_units; unit++)
        meter->allowed_end[unit] = num_units;
    return true;
}

void pl_tile_meter_free(pl_tile_meter *meter) {
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        pl_peak_envelope_free(&meter->largest[need]);
    pl_arrays_free(&meter->arrays);
    free(meter->sums);
    pl_live_parts_free(&meter->set_sums);
    pl_live_parts_free(&meter->parts);
    free(meter->arrivals);
    free(meter->arriving_sets);
    free(meter->base_curve.change_bytes);
    pl_peak_tree_free(&meter->base_tree);
    pl_peak_tree_free(&meter->tree);
    *meter = (pl_tile_meter){0};
}

/* The first and last step of a stage that grows to the right, by the rules of pl_stage_measure. */
typedef struct stage_steps {
    size_t first_operation; /* in a layer if there is one; SIZE_MAX for none */
    size_t last_operation;
    bool in_layer;
} stage_steps;

static void add_unit_steps(stage_steps *steps, const pl_chain *chain, size_t unit) {
    bool is_layer = chain->kind[unit] == POPLINER_UNIT_LAYER;
    if (!pl_chain_has_operations(chain, unit))
        return;
    size_t first = chain->unit_operation[chain->unit_operations_start[unit]];
    size_t last = chain->unit_operation[chain->unit_operations_start[unit + 1] - 1];
    bool replaces = is_layer && !steps->in_layer;
    if (steps->first_operation == SIZE_MAX || replaces ||
        (first < steps->first_operation && (is_layer || !steps->in_layer)))
        steps->first_operation = first;
    steps->in_layer = steps->in_layer || is_layer;
    if (steps->last_operation == SIZE_MAX || last > steps->last_operation)
        steps->last_operation = last;
}

/* Adds the next unit to a stage that begins at `start`. */
static void add_unit(pl_tile_meter *meter, size_t start, size_t unit) {
    const pl_interval_inputs *inputs = meter->inputs;
    size_t end = meter->arriving_start[pl_tile_arrivals_place(unit, start) + 1];
    for (size_t k = meter->arriving_start[pl_tile_arrivals_place(unit, 0)]; k < end; k++) {
        uint32_t set = meter->arriving_sets[k];
        for (size_t i = meter->set_start[set]; i < meter->set_start[set + 1]; i++)
            pl_peak_tree_add(&meter->tree, meter->arrivals[i].first_segment,
                             meter->arrivals[i].end_segment, meter->arrivals[i].bytes);
    }
    bool has_own_steps = inputs->model->has_own_steps;
    for (size_t i = inputs->unit_runs_start[unit];
         has_own_steps && i < inputs->unit_runs_start[unit + 1]; i++)
        pl_peak_tree_add(&meter->tree, meter->segment_of_step[inputs->unit_run[i].first_step],
                         meter->segment_of_step[inputs->unit_run[i].end_step], COUNTS);
    pl_peak_tree_settle(&meter->tree);
}

/* The maximum of live bytes in a stage. */
typedef struct stage_peak {
    bool has_steps;
    uint64_t bytes;
    uint64_t buffer_bytes; /* in addition, at the same time */
    size_t segment;
    uint32_t step;              /* only if requested */
    uint64_t unexplained_bytes; /* part of bytes; only if requested */
} stage_peak;

/* Returns the peak over the steps of its own units between two places of the tree. */
static stage_peak peak_within(const pl_tile_meter *meter, uint32_t first, uint32_t end,
                              uint64_t buffer_bytes) {
    stage_peak peak = {.buffer_bytes = buffer_bytes};
    uint64_t max_bytes = pl_peak_tree_most_within(&meter->tree, first, end, &peak.segment);
    peak.has_steps = max_bytes >= COUNTS;
    peak.bytes = peak.has_steps ? max_bytes - COUNTS : 0;
    return peak;
}

/* Returns the peak with the buffers for the cut after `unit`: the larger one of both passes. */
static stage_peak peak_with_buffers(const pl_tile_meter *meter, size_t unit) {
    size_t turn = meter->inputs->pass_usage->passes.turn_step;
    size_t num_steps = meter->inputs->profile->num_steps;
    uint32_t turn_segment = meter->segment_of_step[turn];
    stage_peak forward = peak_within(meter, 0, turn_segment, meter->sent_backward[unit + 1]);
    stage_peak backward = peak_within(meter, turn_segment, meter->segment_of_step[num_steps],
                                      meter->sent_forward[unit + 1]);
    bool is_backward =
        backward.has_steps && (!forward.has_steps || backward.bytes + backward.buffer_bytes >
                                                         forward.bytes + forward.buffer_bytes);
    stage_peak larger = is_backward ? backward : forward;
    if (!larger.has_steps)
        larger.buffer_bytes = 0;
    return larger;
}

/* Returns the peak without buffers: over the steps of its own units, wherever they are, or over all
 * steps between its first and its last operation. */
static stage_peak plain_peak(const pl_tile_meter *meter, const stage_steps *steps,
                             bool with_segment) {
    const pl_operations *operations = meter->inputs->operations;
    stage_peak peak = {.has_steps = false};
    if (meter->inputs->model->has_own_steps) {
        uint64_t max_bytes = pl_peak_tree_most(&meter->tree);
        peak.has_steps = max_bytes >= COUNTS;
        peak.bytes = peak.has_steps ? max_bytes - COUNTS : 0;
        if (peak.has_steps && with_segment)
            peak.segment = pl_peak_tree_place(&meter->tree);
    } else if (steps->first_operation != SIZE_MAX) {
        size_t first = pl_operation_at(operations, steps->first_operation)->first_step;
        size_t last = pl_operation_at(operations, steps->last_operation)->last_step;
        peak.bytes = pl_peak_tree_most_within(&meter->tree, meter->segment_of_step[first],
                                              meter->segment_of_step[last + 1], &peak.segment);
        peak.has_steps = true;
    }
    return peak;
}

/* Returns the peak of a stage that ends with `unit`. */
static stage_peak peak_of_stage(const pl_tile_meter *meter, const stage_steps *steps, size_t unit,
                                bool counts_buffers) {
    bool with_step = meter->sums != NULL || meter->has_unexplained;
    stage_peak peak = counts_buffers && meter->sent_forward != NULL
                          ? peak_with_buffers(meter, unit)
                          : plain_peak(meter, steps, with_step);
    if (with_step && peak.has_steps)
        peak.step = meter->segment_step[peak.segment];
    if (meter->has_unexplained && peak.bytes > 0)
        peak.unexplained_bytes = meter->unexplained_bytes[peak.step];
    return peak;
}

/* Converts differences over the starts to the bytes that arrive in stages beginning at `start`:
 * call it for every start in order. */
static void begin_start(pl_tile_meter *meter, size_t start) {
    size_t num_units = meter->inputs->chain->num_units;
    for (size_t sum = 0; start > 0 && sum < PL_NUM_SUMS; sum++) {
        uint64_t *arriving = meter->arriving_bytes[sum] + start * num_units;
        const uint64_t *before = arriving - num_units;
        for (size_t unit = 0; unit < num_units; unit++)
            arriving[unit] += before[unit];
    }
}

pl_steady_bytes pl_steady_bytes_of(const pl_account *account, size_t tile,
                                   const uint64_t sum_bytes[PL_NUM_SUMS], uint64_t apart_bytes) {
    pl_steady_bytes s = {
        .data_bytes = sum_bytes[PL_SUM_DATA],
        .fixed_bytes = pl_account_fixed(account, tile),
        .placed.apart = apart_bytes,
    };
    s.placed.always = s.data_bytes + s.fixed_bytes;
    for (int i = 0; i < PL_NUM_ADDED; i++) {
        s.added_bytes[i] = sum_bytes[PL_SUM_ADDED + i];
        s.placed.always += s.added_bytes[i];
    }
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        const uint64_t fixed_code_bytes = pl_account_fixed_code(account, group, tile);
        s.code_bytes[group] = pl_account_limit(account, group, tile, sum_bytes[group]);
        s.all_code_bytes += s.code_bytes[group];
        s.placed.code += s.code_bytes[group] + fixed_code_bytes;
        s.placed.always -= fixed_code_bytes;
    }
    s.placed.state =
        s.code_bytes[PL_VERTEX_STATE] + pl_account_fixed_code(account, PL_VERTEX_STATE, tile);
    return s;
}

uint64_t pl_steady_sum(const pl_steady_bytes *s, popliner_need need) {
    uint64_t bytes = s->all_code_bytes + s->data_bytes + s->fixed_bytes;
    for (int i = 0; i < PL_NUM_ADDED; i++)
        if ((pl_parts[PL_FIRST_ADDED + i].needs >> need & 1) != 0)
            bytes += s->added_bytes[i];
    return bytes;
}

/* A stage on a tile. */
typedef struct stage_tile {
    const pl_need_rule *rule;
    size_t interval;
    size_t tile;
    pl_steady_bytes steady;
    uint64_t stash_bytes; /* one copy */
    uint64_t freed_bytes; /* part of it that is not live itself if there are copies, for a need that
                             frees it */
} stage_tile;

static pl_need_line need_of(const pl_tile_meter *meter, popliner_need need, uint64_t bytes,
                            const stage_tile *s) {
    pl_placed_bytes placed = s->steady.placed;
    placed.freed = meter->inputs->frees[need] ? s->freed_bytes : 0;
    return pl_need_of(s->rule, need, &meter->layout, bytes, placed, s->stash_bytes);
}

/* Adds the estimate of a tile to that of a stage. */
static bool add_need(pl_tile_meter *meter, popliner_need need, const stage_peak *peak,
                     const stage_tile *s, const pl_need_line *line) {
    pl_peak_piece piece = {
        .bytes = line->bytes,
        .stash_bytes = line->copy_bytes,
        .unexplained_bytes =
            s->steady.fixed_bytes + (need == POPLINER_NEED_LEAST ? 0 : peak->unexplained_bytes),
        .layout_bytes = line->bytes - line->live_bytes,
        .copy_layout_bytes = line->copy_bytes - line->live_copy_bytes,
        .freed_bytes = line->freed_bytes,
        .always_live_bytes = s->steady.data_bytes,
        .code_bytes = s->steady.all_code_bytes,
        .buffer_bytes = peak->buffer_bytes,
        .tile = (uint32_t)s->tile,
        .step = peak->step,
    };
    memcpy(piece.added_bytes, s->steady.added_bytes, sizeof piece.added_bytes);
    pl_peak_piece level = piece;
    level.bytes = line->level_bytes;
    level.layout_bytes = line->level_bytes - line->level_live_bytes;
    level.stash_bytes = level.copy_layout_bytes = level.freed_bytes = 0;
    /* a separate line, below the other one with any copies; the first of equals counts */
    return (line->freed_bytes == 0 ||
            pl_peak_envelope_add(&meter->largest[need], s->interval, &level)) &&
           pl_peak_envelope_add(&meter->largest[need], s->interval, &piece);
}

static stage_tile find_stage(const pl_tile_meter *meter, size_t tile, size_t start, size_t unit,
                             const uint64_t *sum_bytes, uint64_t apart_bytes,
                             uint64_t unit_stash_bytes) {
    bool is_last = unit + 1 == meter->inputs->chain->num_units;
    return (stage_tile){
        .rule = is_last ? &meter->inputs->last_rule : &meter->inputs->rule,
        .interval = pl_triangle_place(meter->inputs->chain->num_units, start, unit),
        .tile = tile,
        .steady = pl_steady_bytes_of(meter->inputs->account, tile, sum_bytes, apart_bytes),
        .stash_bytes = sum_bytes[PL_SUM_STASH],
        .freed_bytes = sum_bytes[PL_SUM_STASH] > unit_stash_bytes
                           ? sum_bytes[PL_SUM_STASH] - unit_stash_bytes
                           : 0,
    };
}

/* Adds a tile with its expected memory to the sums of a stage. */
static void add_sums(pl_tile_meter *meter, const stage_peak *peak, const stage_tile *s,
                     const pl_need_line *line) {
    uint64_t layout_bytes = line->level_bytes - line->level_live_bytes;
    pl_detail_sums own = {{
        [POPLINER_PART_VARIABLES] = peak->bytes - peak->unexplained_bytes + s->steady.data_bytes,
        [POPLINER_PART_UNEXPLAINED] = peak->unexplained_bytes + s->steady.fixed_bytes,
        [POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] = s->steady.fixed_bytes,
        [POPLINER_PART_STASH] = s->stash_bytes,
        [POPLINER_PART_BUFFERS] = peak->buffer_bytes,
        [POPLINER_PART_LAYOUT] = layout_bytes,
        [PL_SUM_COPY_LAYOUT] = line->copy_bytes - line->live_copy_bytes,
        [PL_SUM_FREED] = line->freed_bytes,
        [PL_SUM_FREED_LAYOUT] = layout_bytes - (line->bytes - line->live_bytes),
    }};
    memcpy(own.bytes + PL_FIRST_CODE, s->steady.code_bytes, sizeof s->steady.code_bytes);
    memcpy(own.bytes + PL_FIRST_ADDED, s->steady.added_bytes, sizeof s->steady.added_bytes);
    pl_detail_sums_add(&meter->sums[s->interval], &own, 1);
}

/* True if the stage and every longer one exceed the limit on the tile, by parts that never decrease
 * when a stage grows: the longest may have smaller factors. */
static bool is_too_much(const pl_tile_meter *meter, const stage_peak *plain, const stage_tile *s) {
    const pl_interval_inputs *inputs = meter->inputs;
    const popliner_need need = inputs->options->need;
    if (meter->sums != NULL || inputs->model->may_shrink ||
        (need == POPLINER_NEED_LEAST && meter->has_unexplained))
        return false;
    if (pl_need_may_shrink(&inputs->rule) || pl_need_may_shrink(&inputs->last_rule))
        return false;
    uint64_t bytes = plain->bytes + pl_steady_sum(&s->steady, need);
    return need_of(meter, need, bytes, s).bytes > inputs->options->max_bytes &&
           pl_need_of(&inputs->last_rule, need, &meter->layout, bytes, s->steady.placed,
                      s->stash_bytes)
                   .bytes > inputs->options->max_bytes;
}

/* Adds the expected memory of a tile. */
static bool add_expected(pl_tile_meter *meter, const stage_peak *peak, const stage_tile *s) {
    const bool is_told = meter->sums != NULL || meter->tile_needs != NULL;
    const bool is_wanted = meter->inputs->wants_need[POPLINER_NEED_EXPECTED];
    uint64_t bytes =
        peak->bytes + peak->buffer_bytes + pl_steady_sum(&s->steady, POPLINER_NEED_EXPECTED);
    if (!is_told && !is_wanted)
        return true;
    const pl_need_line line = need_of(meter, POPLINER_NEED_EXPECTED, bytes, s);
    if (meter->sums != NULL)
        add_sums(meter, peak, s, &line);
    if (meter->tile_needs != NULL)
        meter->tile_needs[s->tile * pl_triangle_size(meter->inputs->chain->num_units) +
                          s->interval] =
            (pl_tile_need){line.level_bytes, line.level_bytes - line.bytes, line.copy_bytes,
                           s->steady.all_code_bytes};
    return !is_wanted || add_need(meter, POPLINER_NEED_EXPECTED, peak, s, &line);
}

/* Adds a tile to the stage that ends with `unit`; false if memory is short. *is_end becomes true if
 * no longer stage counts. */
static bool add_to_stage(pl_tile_meter *meter, size_t unit, const stage_steps *steps,
                         const stage_tile *s, bool *is_end) {
    const pl_interval_inputs *inputs = meter->inputs;
    const bool *wants = inputs->wants_need;
    const bool has_buffers = (inputs->options->pipeline.effects & POPLINER_EFFECT_BUFFERS) != 0;
    const stage_peak plain = peak_of_stage(meter, steps, unit, false);
    *is_end = is_too_much(meter, &plain, s);
    if (*is_end)
        return true;
    const stage_peak buffered =
        meter->sent_forward != NULL ? peak_of_stage(meter, steps, unit, true) : plain;
    if (!add_expected(meter, has_buffers ? &buffered : &plain, s))
        return false;
    uint64_t least_bytes = plain.bytes - (s->rule->has_needs ? plain.unexplained_bytes : 0) +
                           pl_steady_sum(&s->steady, POPLINER_NEED_LEAST);
    if (wants[POPLINER_NEED_LEAST]) {
        const pl_need_line least = need_of(meter, POPLINER_NEED_LEAST, least_bytes, s);
        if (!add_need(meter, POPLINER_NEED_LEAST, &plain, s, &least))
            return false;
    }
    uint64_t most_bytes =
        buffered.bytes + buffered.buffer_bytes + pl_steady_sum(&s->steady, POPLINER_NEED_MOST);
    if (!wants[POPLINER_NEED_MOST])
        return true;
    const pl_need_line most = need_of(meter, POPLINER_NEED_MOST, most_bytes, s);
    if (meter->spreads != NULL)
        pl_need_spread_add(&meter->spreads[s->interval], &most);
    return add_need(meter, POPLINER_NEED_MOST, &buffered, s, &most);
}

/* Adds a tile to the stages that begin at `start`. */
static bool measure_start(pl_tile_meter *meter, size_t tile, size_t start) {
    size_t num_units = meter->inputs->chain->num_units;
    stage_steps steps = {SIZE_MAX, SIZE_MAX, false};
    uint64_t sum_bytes[PL_NUM_SUMS] = {0};
    uint64_t unit_stash_bytes = 0; /* the largest one of its units, as is the next */
    uint64_t apart_bytes = 0;
    begin_start(meter, start);
    if (meter->allowed_end[start] == start)
        return true;
    if (!pl_peak_tree_copy(&meter->tree, &meter->base_tree))
        return false;
    for (size_t unit = start; unit < meter->allowed_end[start]; unit++) {
        add_unit(meter, start, unit);
        add_unit_steps(&steps, meter->inputs->chain, unit);
        for (size_t sum = 0; sum < PL_NUM_SUMS; sum++)
            sum_bytes[sum] += meter->arriving_bytes[sum][start * num_units + unit];
        if (meter->unit_stash_bytes != NULL && meter->unit_stash_bytes[unit] > unit_stash_bytes)
            unit_stash_bytes = meter->unit_stash_bytes[unit];
        apart_bytes = pl_larger(apart_bytes, meter->unit_apart_bytes[unit]);
        const stage_tile s =
            find_stage(meter, tile, start, unit, sum_bytes, apart_bytes, unit_stash_bytes);
        bool is_end;
        if (!add_to_stage(meter, unit, &steps, &s, &is_end))
            return false;
        if (is_end)
            meter->allowed_end[start] = unit;
    }
    return true;
}

bool pl_tile_meter_measure(pl_tile_meter *meter, size_t tile) {
    size_t num_units = meter->inputs->chain->num_units;
    bool memory = pl_tile_arrivals_find(meter, tile);
    for (size_t start = 0; memory && start < num_units; start++)
        memory = measure_start(meter, tile, start);
    /* if stages from a start exceed the limit from one unit on, so do those from an earlier
     * start */
    for (size_t start = num_units - 1; start-- > 0;) {
        if (meter->allowed_end[start + 1] < meter->allowed_end[start])
            meter->allowed_end[start] = meter->allowed_end[start + 1];
    }
    return memory;
}

bool pl_tile_meter_merge(pl_tile_meter *meter, const pl_tile_meter *other) {
    for (size_t first = 0; first < meter->inputs->chain->num_units; first++)
        if (other->allowed_end[first] < meter->allowed_end[first])
            meter->allowed_end[first] = other->allowed_end[first];
    if (meter->sums != NULL)
        pl_detail_sums_add(meter->sums, other->sums,
                           pl_triangle_size(meter->inputs->chain->num_units));
    for (size_t i = 0;
         meter->spreads != NULL && i < pl_triangle_size(meter->inputs->chain->num_units); i++)
        pl_need_spread_join(&meter->spreads[i], &other->spreads[i]);
    bool memory = true;
    for (int need = 0; memory && need < POPLINER_NUM_NEEDS; need++)
        memory = !meter->inputs->wants_need[need] ||
                 pl_peak_envelope_merge(&meter->largest[need], &other->largest[need]);
    return memory;
}

bool pl_tile_meter_finish(pl_tile_meter *meter) {
    const pl_interval_inputs *inputs = meter->inputs;
    const size_t num_units = inputs->chain->num_units;
    bool memory = true;
    for (size_t i = 0; meter->spreads != NULL && memory && i < pl_triangle_size(num_units); i++) {
        /* the rules of the last stages have the same widths */
        const pl_need_line any = pl_need_spread_line(&meter->spreads[i], &inputs->rule,
                                                     inputs->profile->target.num_tiles);
        const pl_peak_piece level = {.bytes = any.level_bytes};
        const pl_peak_piece piece = {.bytes = any.bytes, .stash_bytes = any.copy_bytes};
        memory = (any.level_bytes == any.bytes ||
                  pl_peak_envelope_add(&meter->largest[POPLINER_NEED_MOST], i, &level)) &&
                 pl_peak_envelope_add(&meter->largest[POPLINER_NEED_MOST], i, &piece);
    }
    return memory;
}
