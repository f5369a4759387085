/* The memory of all intervals at once, one tile after another.
 *
 * A thing that the units u1 < u2 < ... use is in the stage i ... j exactly if one of them lies in
 * it, and the first one that does is the one where the stage, grown from i to the right, meets it.
 * So each u_k is an "arrival": it adds the thing to the stages that begin behind u_(k-1), at most
 * at u_k, and reach u_k. Costs that add up (code and state) are summed in a table of arrivals; live
 * variables are added to a curve, and the peak is read after every unit. Steps by the ten thousand
 * would make that reading nearly all of the work, so blocks of steps remember their sum and their
 * peak, and only those that changed since the last unit are read step by step.
 *
 * What a pipeline keeps arrives likewise, but in stages that reach back to units of both passes: see
 * memory/stash.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/interval_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "read/profile_data.h"

/* A variable arriving at a unit. */
struct pl_sweep_arrival {
    uint32_t first_start; /* the smallest first unit of a stage that it arrives in at this unit */
    uint32_t class_index;
    uint64_t size_bytes;
};

/* What is remembered of the steps of one block of the curve. */
struct pl_sweep_block {
    int64_t change_bytes; /* over the whole block */
    int64_t peak_bytes;   /* above the live bytes before it, at a step that counts */
    size_t peak_step;     /* the first one that has it */
    bool has_peak;        /* whether a step counts */
    bool is_changed;      /* none of the above is true any more */
};

popliner_status pl_sweep_begin(pl_sweep *sweep, const pl_sweep_ground *ground,
                               popliner_costs *costs, popliner_stage_details *details,
                               popliner_error *error) {
    size_t num_units = ground->chain->num_units;
    size_t num_sums = ground->most_stages > 1 ? PL_NUM_SUMS : PL_SUM_STASH;
    bool memory = true;
    sweep->ground = ground;
    sweep->costs = costs;
    sweep->details = details;
    for (size_t sum = 0; sum < num_sums; sum++) {
        sweep->arriving_bytes[sum] = pl_new_array((num_units + 1) * num_units, sizeof(uint64_t));
        memory = memory && sweep->arriving_bytes[sum] != NULL;
    }
    sweep->arrivals_start = pl_new_array(num_units + 1, sizeof *sweep->arrivals_start);
    sweep->allowed_end = pl_new_array(num_units, sizeof *sweep->allowed_end);
    sweep->blocks = pl_new_array(ground->num_blocks, sizeof *sweep->blocks);
    if (!memory || sweep->arrivals_start == NULL || sweep->allowed_end == NULL ||
        sweep->blocks == NULL)
        return pl_fail_memory(error, "the intervals");
    for (size_t unit = 0; unit < num_units; unit++)
        sweep->allowed_end[unit] = num_units;
    return POPLINER_OK;
}

void pl_sweep_free(pl_sweep *sweep) {
    for (int sum = 0; sum < PL_NUM_SUMS; sum++)
        free(sweep->arriving_bytes[sum]);
    free(sweep->arrivals);
    free(sweep->arrivals_start);
    free(sweep->allowed_end);
    free(sweep->curve.change_bytes);
    free(sweep->blocks);
    *sweep = (pl_sweep){0};
}

/* Enters something of the units of `set` into the table of arrivals of one sum. */
static void add_arrivals(pl_sweep *s, int sum, const pl_unit_sets *sets, uint32_t set,
                         uint64_t bytes) {
    size_t num_units = s->ground->usage.num_units;
    for (; set != 0 && bytes > 0; set = sets->rest[set]) {
        uint32_t unit = sets->last_unit[set];
        uint32_t rest = sets->rest[set];
        uint32_t first_start = rest == 0 ? 0 : sets->last_unit[rest] + 1;
        s->arriving_bytes[sum][first_start * num_units + unit] += bytes;
        s->arriving_bytes[sum][(unit + 1) * num_units + unit] -= bytes;
    }
}

/* Whether variables count where only this unit touches them: in PopLiner's model those of
 * operations in no layer are assumed to be distributed. */
static bool unit_counts(const pl_sweep *s, uint32_t unit) {
    return s->ground->is_full || unit > 0;
}

/* Whether the variable goes into the curve of live bytes; in the full model what is always live is
 * summed up instead. */
static bool is_on_curve(const pl_sweep *s, uint64_t variable) {
    return !s->ground->is_full ||
           !s->ground->profile->class_always_live[s->ground->profile->variable_class[variable]];
}

/* Lists the arrivals of the tile's variables by unit, and sums up the always-live ones. */
static popliner_status list_arrivals(pl_sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->ground->profile;
    const pl_unit_sets *sets = &s->ground->usage.sets;
    size_t num_units = s->ground->usage.num_units;
    memset(s->arrivals_start, 0, (num_units + 1) * sizeof *s->arrivals_start);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (!is_on_curve(s, i)) {
            if ((s->ground->full.variable_flags[i] & PL_VARIABLE_IS_CODE) == 0)
                add_arrivals(s, PL_SUM_DATA, sets, s->ground->usage.variable_set[i],
                             p->variable_size_bytes[i]);
            continue;
        }
        for (uint32_t set = s->ground->usage.variable_set[i]; set != 0; set = sets->rest[set])
            s->arrivals_start[sets->last_unit[set] + 1] += unit_counts(s, sets->last_unit[set]);
    }
    for (size_t unit = 0; unit < num_units; unit++)
        s->arrivals_start[unit + 1] += s->arrivals_start[unit];
    size_t num_arrivals = s->arrivals_start[num_units];
    void *arrivals = s->arrivals;
    if (!pl_reserve(&arrivals, &s->arrivals_capacity, num_arrivals, sizeof *s->arrivals))
        return pl_fail_memory(error, "the variables of a tile");
    s->arrivals = arrivals;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        uint32_t set = is_on_curve(s, i) ? s->ground->usage.variable_set[i] : 0;
        for (; set != 0 && unit_counts(s, sets->last_unit[set]); set = sets->rest[set]) {
            uint32_t unit = sets->last_unit[set];
            uint32_t rest = sets->rest[set];
            bool is_first = rest == 0 || !unit_counts(s, sets->last_unit[rest]);
            /* filling from the end of each unit's part turns its start into the right one */
            s->arrivals[--s->arrivals_start[unit + 1]] = (struct pl_sweep_arrival){
                .first_start = is_first ? 0 : sets->last_unit[rest] + 1,
                .class_index = p->variable_class[i],
                .size_bytes = p->variable_size_bytes[i],
            };
        }
    }
    /* now arrivals_start[u + 1] is where unit u begins */
    memmove(s->arrivals_start, s->arrivals_start + 1, num_units * sizeof *s->arrivals_start);
    s->arrivals_start[num_units] = num_arrivals;
    return POPLINER_OK;
}

/* The first and last step of a stage that grows to the right, by the rules of
 * popliner_stage_measure. */
typedef struct stage_steps {
    size_t first_operation; /* in a layer if there is one; SIZE_MAX for none */
    size_t last_operation;
    bool in_layer;
} stage_steps;

static void add_unit_steps(stage_steps *steps, const popliner_chain *chain, size_t unit) {
    if (!popliner_chain_has_operations(chain, unit))
        return;
    size_t first = chain->unit_operation[chain->unit_operations_start[unit]];
    size_t last = chain->unit_operation[chain->unit_operations_start[unit + 1] - 1];
    bool replaces = unit > 0 && !steps->in_layer;
    if (steps->first_operation == SIZE_MAX || replaces ||
        (first < steps->first_operation && (unit > 0 || !steps->in_layer)))
        steps->first_operation = first;
    steps->in_layer = steps->in_layer || unit > 0;
    if (steps->last_operation == SIZE_MAX || last > steps->last_operation)
        steps->last_operation = last;
}

/* The steps at which the bytes of a stage count. */
typedef struct counted_steps {
    size_t first_step;
    size_t end_step;
    size_t first_unit; /* only steps of the units first_unit ... last_unit */
    size_t last_unit;
} counted_steps;

static bool step_counts(const pl_sweep *s, const counted_steps *counted, size_t step) {
    return step >= counted->first_step && step < counted->end_step &&
           s->ground->unit_of_step[step] >= counted->first_unit &&
           s->ground->unit_of_step[step] <= counted->last_unit;
}

/* Reads the steps of a block. */
static struct pl_sweep_block read_block(const pl_sweep *s, const counted_steps *counted,
                                        size_t first_step, size_t end_step) {
    struct pl_sweep_block b = {.change_bytes = 0};
    for (size_t step = first_step; step < end_step; step++) {
        b.change_bytes += s->curve.change_bytes[step];
        if (step_counts(s, counted, step) && (!b.has_peak || b.change_bytes > b.peak_bytes)) {
            b.peak_bytes = b.change_bytes;
            b.peak_step = step;
            b.has_peak = true;
        }
    }
    return b;
}

/* A peak of the curve, and the first step that has it. */
typedef struct curve_peak {
    uint64_t bytes;
    size_t step;
} curve_peak;

/* The peak of the curve at the counted steps: 0 bytes at the first step of all for none. A block that lies in the range of steps
 * is remembered; for the units that is right as long as they only become more, and the blocks of a
 * unit are marked when it does. */
static curve_peak peak_of_steps(pl_sweep *s, const counted_steps *counted) {
    int64_t live = 0;
    /* as pl_curve_peak and pl_curve_peak_of_marked have it: where nothing lives, the step is the first
     * one in PopLiner's model, the first one of the stage's own in the full model */
    int64_t peak = s->ground->is_full ? -1 : 0;
    size_t peak_step = counted->first_step;
    for (size_t i = 0; i < s->ground->num_blocks && i * PL_SWEEP_BLOCK_STEPS < counted->end_step;
         i++) {
        size_t first_step = i * PL_SWEEP_BLOCK_STEPS;
        size_t end_step = first_step + PL_SWEEP_BLOCK_STEPS;
        end_step = end_step < s->curve.end_step ? end_step : s->curve.end_step;
        bool is_inside = first_step >= counted->first_step && end_step <= counted->end_step;
        struct pl_sweep_block b = s->blocks[i];
        if (b.is_changed || !is_inside)
            b = read_block(s, counted, first_step, end_step);
        if (b.has_peak && live + b.peak_bytes > peak) {
            peak = live + b.peak_bytes;
            peak_step = b.peak_step;
        }
        live += b.change_bytes;
        if (is_inside)
            s->blocks[i] = b;
    }
    return (curve_peak){peak < 0 ? 0 : (uint64_t)peak, peak_step};
}

/* The peak of the curve in a stage. In PopLiner's model all steps between its first and its last
 * operation count; in the full model those of its units, wherever they are. */
static curve_peak peak_of_stage(pl_sweep *s, size_t first_unit, size_t last_unit,
                                const stage_steps *steps) {
    counted_steps counted = {0, s->curve.end_step, first_unit, last_unit};
    if (!s->ground->is_full) {
        if (steps->first_operation == SIZE_MAX)
            return (curve_peak){0, 0};
        counted = (counted_steps){
            popliner_operations_get(s->ground->operations, steps->first_operation).first_step,
            popliner_operations_get(s->ground->operations, steps->last_operation).last_step + 1, 0,
            SIZE_MAX};
    }
    return peak_of_steps(s, &counted);
}

/* Adds a variable to the curve, and marks the blocks that this changes. */
static void add_to_curve(pl_sweep *s, uint32_t class_index, uint64_t size_bytes) {
    const popliner_profile *p = s->ground->profile;
    pl_curve_add(&s->curve, p, class_index, size_bytes);
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        if (p->range_first_step[i] < s->curve.end_step)
            s->blocks[p->range_first_step[i] / PL_SWEEP_BLOCK_STEPS].is_changed = true;
        if (p->range_end_step[i] < s->curve.end_step)
            s->blocks[p->range_end_step[i] / PL_SWEEP_BLOCK_STEPS].is_changed = true;
    }
}

/* From differences over the starts to the bytes that arrive in stages beginning at `start`: called
 * for every start in order. */
static void begin_start(pl_sweep *s, size_t start) {
    size_t num_units = s->ground->usage.num_units;
    size_t num_sums = s->ground->most_stages > 1 ? PL_NUM_SUMS : PL_SUM_STASH;
    for (size_t sum = 0; start > 0 && sum < num_sums; sum++) {
        uint64_t *arriving = s->arriving_bytes[sum] + start * num_units;
        const uint64_t *before = arriving - num_units;
        for (size_t unit = 0; unit < num_units; unit++)
            arriving[unit] += before[unit];
    }
}

/* Raises the peaks of an interval to those of a tile where it needs so much, and keeps so much. */
static void raise_peaks(pl_sweep *s, size_t first, size_t last, uint64_t peak_bytes,
                        uint64_t stash_bytes) {
    if (peak_bytes > popliner_costs_peak(s->costs, first, last))
        popliner_costs_set_peak(s->costs, first, last, peak_bytes);
    for (size_t stages = 2; stages <= s->ground->most_stages; stages++) {
        uint64_t with_stash_bytes =
            peak_bytes +
            popliner_pipeline_copies(&s->ground->options->pipeline, stages) * stash_bytes;
        if (with_stash_bytes > popliner_costs_peak_at(s->costs, stages, first, last))
            popliner_costs_set_peak_at(s->costs, stages, first, last, with_stash_bytes);
    }
}

/* Raises the peaks of the intervals that begin at `start` to those of this tile. */
static popliner_status sweep_start(pl_sweep *s, size_t tile, size_t start, popliner_error *error) {
    const popliner_profile *p = s->ground->profile;
    size_t num_units = s->ground->usage.num_units;
    size_t num_sums = s->ground->most_stages > 1 ? PL_NUM_SUMS : PL_SUM_STASH;
    stage_steps steps = {SIZE_MAX, SIZE_MAX, false};
    uint64_t sum_bytes[PL_NUM_SUMS] = {0};
    begin_start(s, start);
    if (s->allowed_end[start] == start)
        return POPLINER_OK;
    if (!pl_curve_begin(&s->curve, 0, p->num_steps))
        return pl_fail_memory(error, "the liveness of a tile");
    for (size_t i = 0; i < s->ground->num_blocks; i++)
        s->blocks[i] = (struct pl_sweep_block){.is_changed = true};
    for (uint64_t i = s->ground->is_full ? s->ground->full.unexplained_start[tile] : 0;
         s->ground->is_full && i < s->ground->full.unexplained_start[tile + 1]; i++)
        add_to_curve(s, p->variable_class[s->ground->full.unexplained[i]],
                     p->variable_size_bytes[s->ground->full.unexplained[i]]);
    for (size_t unit = start; unit < s->allowed_end[start]; unit++) {
        for (size_t i = s->arrivals_start[unit]; i < s->arrivals_start[unit + 1]; i++) {
            const struct pl_sweep_arrival *a = &s->arrivals[i];
            if (a->first_start <= start)
                add_to_curve(s, a->class_index, a->size_bytes);
        }
        for (size_t i = s->ground->unit_blocks_start[unit];
             i < s->ground->unit_blocks_start[unit + 1]; i++)
            s->blocks[s->ground->unit_block[i]].is_changed = true;
        add_unit_steps(&steps, s->ground->chain, unit);
        for (size_t sum = 0; sum < num_sums; sum++)
            sum_bytes[sum] += s->arriving_bytes[sum][start * num_units + unit];
        curve_peak live = peak_of_stage(s, start, unit, &steps);
        pl_detail_tile own = {
            .tile = tile,
            .step = live.step,
            .variables_bytes = live.bytes + sum_bytes[PL_SUM_DATA],
            .unexplained_bytes = s->ground->is_full ? s->ground->full.fixed_bytes[tile] : 0,
            .stash_bytes = sum_bytes[PL_SUM_STASH],
        };
        uint64_t peak = own.variables_bytes + own.unexplained_bytes;
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
            own.code_bytes[group] =
                s->ground->is_full
                    ? pl_full_model_limit(&s->ground->full, group, tile, sum_bytes[group])
                    : sum_bytes[group];
            peak += own.code_bytes[group];
        }
        if (s->details != NULL)
            pl_details_add(s->details, &s->ground->options->pipeline, start, unit, &own);
        else if (s->ground->is_full && peak > s->ground->options->most_bytes)
            s->allowed_end[start] = unit;
        if (s->allowed_end[start] > unit)
            raise_peaks(s, start, unit, peak, own.stash_bytes);
    }
    return POPLINER_OK;
}

popliner_status pl_sweep_tile(pl_sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->ground->profile;
    const pl_usage *usage = &s->ground->usage;
    size_t num_tiles = p->target.num_tiles;
    size_t num_units = usage->num_units;
    size_t num_sums = s->ground->most_stages > 1 ? PL_NUM_SUMS : PL_SUM_STASH;
    for (size_t sum = 0; sum < num_sums; sum++)
        memset(s->arriving_bytes[sum], 0, (num_units + 1) * num_units * sizeof(uint64_t));
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        for (uint32_t set = 1; set < usage->sets.count; set++)
            add_arrivals(s, group, &usage->sets, set,
                         s->ground->set_bytes[group][set * num_tiles + tile]);
    }
    for (size_t type = 0; type < p->num_vertex_types; type++)
        add_arrivals(s, PL_VERTEX_CODE, &s->ground->kind_sets,
                     s->ground->kind_set[type * num_tiles + tile],
                     s->ground->kind_code_bytes[type * num_tiles + tile]);
    if (s->ground->most_stages > 1)
        pl_stash_add_tile(&s->ground->stash, p, &s->ground->phase_usage, tile,
                          s->arriving_bytes[PL_SUM_STASH]);
    popliner_status status = list_arrivals(s, tile, error);
    for (size_t start = 0; status == POPLINER_OK && start < num_units; start++)
        status = sweep_start(s, tile, start, error);
    /* what is too much from one unit on is so from an earlier one on, too */
    for (size_t start = num_units - 1; start-- > 0;) {
        if (s->allowed_end[start + 1] < s->allowed_end[start])
            s->allowed_end[start] = s->allowed_end[start + 1];
    }
    return status;
}
