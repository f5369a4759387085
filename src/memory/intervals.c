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
#include "popliner/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/curve.h"
#include "memory/full_model.h"
#include "memory/phases.h"
#include "memory/stash.h"
#include "memory/usage.h"
#include "memory/work.h"
#include "read/blob_codec.h"
#include "read/profile_data.h"

/* A variable arriving at a unit. */
typedef struct arrival {
    uint32_t first_start; /* the smallest first unit of a stage that it arrives in at this unit */
    uint32_t class_index;
    uint64_t size_bytes;
} arrival;

/* What the sums over arrivals are kept apart by: the groups of code, always-live data, and what a
 * pipeline keeps, which is no part of the peak of a plain stage. */
enum { DATA = PL_NUM_CODE_GROUPS, STASH, NUM_SUMS };

enum { BLOCK_STEPS = 128 };

/* What is remembered of the BLOCK_STEPS steps of one block of the curve. */
typedef struct block {
    int64_t change_bytes; /* over the whole block */
    int64_t peak_bytes;   /* above the live bytes before it, at a step that counts */
    bool has_peak;        /* whether a step counts */
    bool is_changed;      /* none of the above is true any more */
} block;

typedef struct sweep {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    const popliner_interval_options *options;
    bool is_full;
    pl_full_model full; /* of that memory model only */
    pl_usage usage;
    pl_phases phases;
    pl_usage phase_usage; /* of the passes, see pl_phases_usage */
    pl_stash stash;       /* only for a pipeline that trains */
    size_t most_stages;   /* of the pipeline: 1 for one that keeps nothing */
    popliner_costs *costs;

    /* State and code of all programs with the same set of units: [sets][tiles]. */
    uint64_t *set_bytes[PL_NUM_CODE_GROUPS];
    /* The units that need each vertex kind on each tile: [types][tiles], sets of kind_sets. */
    pl_vertex_kinds kinds;
    uint32_t *kind_set;
    pl_unit_sets kind_sets;
    /* Code of each vertex kind: [types][tiles]. */
    uint64_t *kind_code_bytes;
    /* The unit that each liveness step belongs to. */
    uint32_t *unit_of_step;

    /* By the first unit: the stages that reach this unit need more than most_bytes. */
    size_t *allowed_end;

    /* For one tile: bytes that arrive at unit u in stages beginning at s, as differences over s. A
     * difference may be below zero: unsigned, it wraps around and comes out right in the sums. */
    uint64_t *arriving_bytes[NUM_SUMS]; /* [num_units + 1][num_units] */
    arrival *arrivals;                  /* by unit */
    size_t arrivals_capacity;
    size_t *arrivals_start; /* [num_units + 1] */
    pl_curve curve;
    block *blocks; /* [num_blocks], of the curve */
    size_t num_blocks;
    /* The blocks in which a unit has steps: those of unit u begin at unit_blocks_start[u]. */
    size_t *unit_blocks_start; /* [num_units + 1] */
    uint32_t *unit_block;
} sweep;

static void free_sweep(sweep *s) {
    pl_full_model_free(&s->full);
    pl_usage_free(&s->usage);
    pl_usage_free(&s->phase_usage);
    pl_phases_free(&s->phases);
    pl_stash_free(&s->stash);
    free(s->allowed_end);
    pl_vertex_kinds_free(&s->kinds);
    pl_unit_sets_free(&s->kind_sets);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        free(s->set_bytes[group]);
    free(s->kind_set);
    free(s->kind_code_bytes);
    free(s->unit_of_step);
    for (int sum = 0; sum < NUM_SUMS; sum++)
        free(s->arriving_bytes[sum]);
    free(s->arrivals);
    free(s->arrivals_start);
    free(s->curve.change_bytes);
    free(s->blocks);
    free(s->unit_blocks_start);
    free(s->unit_block);
}

/* Sums control code, exchange code and vertex state of the programs by their set of units. */
static popliner_status sum_programs(sweep *s, popliner_error *error) {
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
        if (!p->program_has_children[program])
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
static bool add_compute_set(sweep *s, uint32_t compute_set) {
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

static popliner_status find_vertex_code(sweep *s, popliner_error *error) {
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
static uint64_t link_cycles(const sweep *s, uint64_t bytes) {
    double bytes_per_second = s->options->link_bytes_per_second;
    if (bytes_per_second <= 0)
        return 0;
    double cycles = ceil((double)bytes / bytes_per_second * (double)s->profile->target.clock_hz);
    return cycles < (double)POPLINER_MOST_CYCLES ? (uint64_t)cycles : POPLINER_MOST_CYCLES;
}

static popliner_status fill_cycles(sweep *s, popliner_error *error) {
    size_t num_units = s->chain->num_units;
    if (popliner_profile_cycles_source(s->profile) < POPLINER_CYCLES_ESTIMATED)
        return POPLINER_OK;
    uint64_t *cycles = pl_new_array(num_units, sizeof *cycles);
    popliner_status status = cycles == NULL ? pl_fail_memory(error, "the cycles of the layers")
                                            : popliner_costs_add_cycles(s->costs, error);
    if (status == POPLINER_OK)
        status = pl_work_of_units(s->profile, s->operations, s->chain, &s->phases, cycles, error);
    for (size_t first = 0; status == POPLINER_OK && first < num_units; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < num_units; last++) {
            uint64_t crossing = first > 0 ? popliner_costs_cut(s->costs, first) : 0;
            crossing += last + 1 < num_units ? popliner_costs_cut(s->costs, last + 1) : 0;
            uint64_t on_link = link_cycles(s, crossing);
            sum = cycles[last] > POPLINER_MOST_CYCLES - sum ? POPLINER_MOST_CYCLES
                                                            : sum + cycles[last];
            popliner_costs_set_cycles(s->costs, first, last,
                                      on_link > POPLINER_MOST_CYCLES - sum ? POPLINER_MOST_CYCLES
                                                                           : sum + on_link);
        }
    }
    free(cycles);
    return status;
}

/* Everything that depends on the passes of a training but not on the tiles. */
static popliner_status measure_passes(sweep *s, popliner_error *error) {
    const popliner_pipeline *pipeline = &s->options->pipeline;
    size_t num_units = s->chain->num_units;
    uint64_t *forward_bytes = pl_new_array(num_units, sizeof *forward_bytes);
    uint64_t *backward_bytes = pl_new_array(num_units, sizeof *backward_bytes);
    popliner_status status =
        forward_bytes == NULL || backward_bytes == NULL
            ? pl_fail_memory(error, "the cuts")
            : pl_phases_find(&s->phases, s->profile, s->operations, s->chain, error);
    if (status == POPLINER_OK)
        status = pl_phases_usage(&s->phases, &s->phase_usage, s->profile, s->operations, s->chain,
                                 s->is_full ? &s->full : NULL, error);
    if (status == POPLINER_OK)
        status = pl_phases_measure_cuts(&s->phases, s->profile, &s->phase_usage, forward_bytes,
                                        backward_bytes, error);
    for (size_t unit = 1; status == POPLINER_OK && unit < num_units; unit++)
        popliner_costs_set_cut(s->costs, unit, forward_bytes[unit] + backward_bytes[unit]);
    if (status == POPLINER_OK && s->options->with_cycles)
        status = fill_cycles(s, error);
    s->most_stages = 1;
    if (status == POPLINER_OK && pipeline->schedule == POPLINER_SCHEDULE_TRAINING &&
        s->phases.is_training && pipeline->most_stages > 1 && num_units > 1) {
        s->most_stages = pipeline->most_stages < num_units ? pipeline->most_stages : num_units;
        status = popliner_costs_add_pipeline(s->costs, s->most_stages, error);
        if (status == POPLINER_OK)
            status = pl_stash_create(&s->stash, s->chain, &s->phases, &s->phase_usage,
                                     pipeline->recompute, error);
    }
    free(forward_bytes);
    free(backward_bytes);
    return status;
}

/* Enters something of the units of `set` into the table of arrivals of one sum. */
static void add_arrivals(sweep *s, int sum, const pl_unit_sets *sets, uint32_t set,
                         uint64_t bytes) {
    size_t num_units = s->usage.num_units;
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
static bool unit_counts(const sweep *s, uint32_t unit) {
    return s->is_full || unit > 0;
}

/* Whether the variable goes into the curve of live bytes; in the full model what is always live is
 * summed up instead. */
static bool is_on_curve(const sweep *s, uint64_t variable) {
    return !s->is_full || !s->profile->class_always_live[s->profile->variable_class[variable]];
}

/* Lists the arrivals of the tile's variables by unit, and sums up the always-live ones. */
static popliner_status list_arrivals(sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->profile;
    const pl_unit_sets *sets = &s->usage.sets;
    size_t num_units = s->usage.num_units;
    memset(s->arrivals_start, 0, (num_units + 1) * sizeof *s->arrivals_start);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (!is_on_curve(s, i)) {
            if ((s->full.variable_flags[i] & PL_VARIABLE_IS_CODE) == 0)
                add_arrivals(s, DATA, sets, s->usage.variable_set[i], p->variable_size_bytes[i]);
            continue;
        }
        for (uint32_t set = s->usage.variable_set[i]; set != 0; set = sets->rest[set])
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
        uint32_t set = is_on_curve(s, i) ? s->usage.variable_set[i] : 0;
        for (; set != 0 && unit_counts(s, sets->last_unit[set]); set = sets->rest[set]) {
            uint32_t unit = sets->last_unit[set];
            uint32_t rest = sets->rest[set];
            bool is_first = rest == 0 || !unit_counts(s, sets->last_unit[rest]);
            /* filling from the end of each unit's part turns its start into the right one */
            s->arrivals[--s->arrivals_start[unit + 1]] = (arrival){
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

static bool step_counts(const sweep *s, const counted_steps *counted, size_t step) {
    return step >= counted->first_step && step < counted->end_step &&
           s->unit_of_step[step] >= counted->first_unit &&
           s->unit_of_step[step] <= counted->last_unit;
}

/* Reads the steps of a block. */
static block read_block(const sweep *s, const counted_steps *counted, size_t first_step,
                        size_t end_step) {
    block b = {.change_bytes = 0};
    for (size_t step = first_step; step < end_step; step++) {
        b.change_bytes += s->curve.change_bytes[step];
        if (step_counts(s, counted, step) && (!b.has_peak || b.change_bytes > b.peak_bytes)) {
            b.peak_bytes = b.change_bytes;
            b.has_peak = true;
        }
    }
    return b;
}

/* The peak of the curve at the counted steps, 0 for none. A block that lies in the range of steps
 * is remembered; for the units that is right as long as they only become more, and the blocks of a
 * unit are marked when it does. */
static uint64_t peak_of_steps(sweep *s, const counted_steps *counted) {
    int64_t live = 0;
    int64_t peak = 0;
    for (size_t i = 0; i < s->num_blocks && i * BLOCK_STEPS < counted->end_step; i++) {
        size_t first_step = i * BLOCK_STEPS;
        size_t end_step = first_step + BLOCK_STEPS;
        end_step = end_step < s->curve.end_step ? end_step : s->curve.end_step;
        bool is_inside = first_step >= counted->first_step && end_step <= counted->end_step;
        block b = s->blocks[i];
        if (b.is_changed || !is_inside)
            b = read_block(s, counted, first_step, end_step);
        if (b.has_peak && live + b.peak_bytes > peak)
            peak = live + b.peak_bytes;
        live += b.change_bytes;
        if (is_inside)
            s->blocks[i] = b;
    }
    return (uint64_t)peak;
}

/* The peak of the curve in a stage. In PopLiner's model all steps between its first and its last
 * operation count; in the full model those of its units, wherever they are. */
static uint64_t peak_of_stage(sweep *s, size_t first_unit, size_t last_unit,
                              const stage_steps *steps) {
    counted_steps counted = {0, s->curve.end_step, first_unit, last_unit};
    if (!s->is_full) {
        if (steps->first_operation == SIZE_MAX)
            return 0;
        counted = (counted_steps){
            popliner_operations_get(s->operations, steps->first_operation).first_step,
            popliner_operations_get(s->operations, steps->last_operation).last_step + 1, 0,
            SIZE_MAX};
    }
    return peak_of_steps(s, &counted);
}

/* Adds a variable to the curve, and marks the blocks that this changes. */
static void add_to_curve(sweep *s, uint32_t class_index, uint64_t size_bytes) {
    const popliner_profile *p = s->profile;
    pl_curve_add(&s->curve, p, class_index, size_bytes);
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        if (p->range_first_step[i] < s->curve.end_step)
            s->blocks[p->range_first_step[i] / BLOCK_STEPS].is_changed = true;
        if (p->range_end_step[i] < s->curve.end_step)
            s->blocks[p->range_end_step[i] / BLOCK_STEPS].is_changed = true;
    }
}

/* From differences over the starts to the bytes that arrive in stages beginning at `start`: called
 * for every start in order. */
static void begin_start(sweep *s, size_t start) {
    size_t num_units = s->usage.num_units;
    size_t num_sums = s->most_stages > 1 ? NUM_SUMS : STASH;
    for (size_t sum = 0; start > 0 && sum < num_sums; sum++) {
        uint64_t *arriving = s->arriving_bytes[sum] + start * num_units;
        const uint64_t *before = arriving - num_units;
        for (size_t unit = 0; unit < num_units; unit++)
            arriving[unit] += before[unit];
    }
}

/* Raises the peaks of an interval to those of a tile where it needs so much, and keeps so much. */
static void raise_peaks(sweep *s, size_t first, size_t last, uint64_t peak_bytes,
                        uint64_t stash_bytes) {
    if (peak_bytes > popliner_costs_peak(s->costs, first, last))
        popliner_costs_set_peak(s->costs, first, last, peak_bytes);
    for (size_t stages = 2; stages <= s->most_stages; stages++) {
        uint64_t with_stash_bytes =
            peak_bytes + popliner_pipeline_copies(&s->options->pipeline, stages) * stash_bytes;
        if (with_stash_bytes > popliner_costs_peak_at(s->costs, stages, first, last))
            popliner_costs_set_peak_at(s->costs, stages, first, last, with_stash_bytes);
    }
}

/* Forbids an interval wherever it stands. */
static void forbid(sweep *s, size_t first, size_t last) {
    for (size_t stages = 1; stages <= s->most_stages; stages++)
        popliner_costs_set_peak_at(s->costs, stages, first, last, POPLINER_PEAK_FORBIDDEN);
}

/* Raises the peaks of the intervals that begin at `start` to those of this tile. */
static popliner_status sweep_start(sweep *s, size_t tile, size_t start, popliner_error *error) {
    const popliner_profile *p = s->profile;
    size_t num_units = s->usage.num_units;
    size_t num_sums = s->most_stages > 1 ? NUM_SUMS : STASH;
    stage_steps steps = {SIZE_MAX, SIZE_MAX, false};
    uint64_t sum_bytes[NUM_SUMS] = {0};
    begin_start(s, start);
    if (s->allowed_end[start] == start)
        return POPLINER_OK;
    if (!pl_curve_begin(&s->curve, 0, p->num_steps))
        return pl_fail_memory(error, "the liveness of a tile");
    for (size_t i = 0; i < s->num_blocks; i++)
        s->blocks[i] = (block){.is_changed = true};
    for (uint64_t i = s->is_full ? s->full.unexplained_start[tile] : 0;
         s->is_full && i < s->full.unexplained_start[tile + 1]; i++)
        add_to_curve(s, p->variable_class[s->full.unexplained[i]],
                     p->variable_size_bytes[s->full.unexplained[i]]);
    for (size_t unit = start; unit < s->allowed_end[start]; unit++) {
        for (size_t i = s->arrivals_start[unit]; i < s->arrivals_start[unit + 1]; i++) {
            const arrival *a = &s->arrivals[i];
            if (a->first_start <= start)
                add_to_curve(s, a->class_index, a->size_bytes);
        }
        for (size_t i = s->unit_blocks_start[unit]; i < s->unit_blocks_start[unit + 1]; i++)
            s->blocks[s->unit_block[i]].is_changed = true;
        add_unit_steps(&steps, s->chain, unit);
        uint64_t peak = peak_of_stage(s, start, unit, &steps);
        peak += s->is_full ? s->full.fixed_bytes[tile] : 0;
        for (size_t sum = 0; sum < num_sums; sum++)
            sum_bytes[sum] += s->arriving_bytes[sum][start * num_units + unit];
        for (int sum = 0; sum < STASH; sum++)
            peak += s->is_full && sum != DATA
                        ? pl_full_model_limit(&s->full, sum, tile, sum_bytes[sum])
                        : sum_bytes[sum];
        if (s->is_full && peak > s->options->most_bytes)
            s->allowed_end[start] = unit;
        else
            raise_peaks(s, start, unit, peak, sum_bytes[STASH]);
    }
    return POPLINER_OK;
}

static popliner_status sweep_tile(sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->profile;
    const pl_usage *usage = &s->usage;
    size_t num_tiles = p->target.num_tiles;
    size_t num_units = usage->num_units;
    size_t num_sums = s->most_stages > 1 ? NUM_SUMS : STASH;
    for (size_t sum = 0; sum < num_sums; sum++)
        memset(s->arriving_bytes[sum], 0, (num_units + 1) * num_units * sizeof(uint64_t));
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        for (uint32_t set = 1; set < usage->sets.count; set++)
            add_arrivals(s, group, &usage->sets, set, s->set_bytes[group][set * num_tiles + tile]);
    }
    for (size_t type = 0; type < p->num_vertex_types; type++)
        add_arrivals(s, PL_VERTEX_CODE, &s->kind_sets, s->kind_set[type * num_tiles + tile],
                     s->kind_code_bytes[type * num_tiles + tile]);
    if (s->most_stages > 1)
        pl_stash_add_tile(&s->stash, p, &s->phase_usage, tile, s->arriving_bytes[STASH]);
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

/* Lists the blocks in which each unit has steps; a block may be listed more than once. */
static popliner_status find_unit_blocks(sweep *s, popliner_error *error) {
    size_t num_steps = s->profile->num_steps;
    size_t num_units = s->chain->num_units;
    s->num_blocks = (num_steps + BLOCK_STEPS - 1) / BLOCK_STEPS;
    s->blocks = pl_new_array(s->num_blocks, sizeof *s->blocks);
    s->unit_blocks_start = pl_new_array(num_units + 2, sizeof *s->unit_blocks_start);
    s->unit_block = pl_new_array(num_steps, sizeof *s->unit_block);
    if (s->blocks == NULL || s->unit_blocks_start == NULL || s->unit_block == NULL)
        return pl_fail_memory(error, "the intervals");
    /* counted two places up and filled one place up, so that the starts are right in the end */
    for (int is_filling = 0; is_filling < 2; is_filling++) {
        for (size_t step = 0; step < num_steps; step++) {
            uint32_t unit = s->unit_of_step[step];
            if (step % BLOCK_STEPS != 0 && unit == s->unit_of_step[step - 1])
                continue;
            if (is_filling != 0)
                s->unit_block[s->unit_blocks_start[unit + 1]++] = (uint32_t)(step / BLOCK_STEPS);
            else
                s->unit_blocks_start[unit + 2]++;
        }
        for (size_t unit = 0; is_filling == 0 && unit <= num_units; unit++)
            s->unit_blocks_start[unit + 1] += s->unit_blocks_start[unit];
    }
    return POPLINER_OK;
}

static popliner_status allocate(sweep *s, popliner_error *error) {
    const popliner_profile *p = s->profile;
    size_t num_units = s->chain->num_units;
    bool memory = true;
    size_t num_sums = s->most_stages > 1 ? NUM_SUMS : STASH;
    for (size_t sum = 0; sum < num_sums; sum++) {
        s->arriving_bytes[sum] = pl_new_array((num_units + 1) * num_units, sizeof(uint64_t));
        memory = memory && s->arriving_bytes[sum] != NULL;
    }
    s->arrivals_start = pl_new_array(num_units + 1, sizeof *s->arrivals_start);
    s->unit_of_step = pl_new_array(p->num_steps, sizeof *s->unit_of_step);
    s->allowed_end = pl_new_array(num_units, sizeof *s->allowed_end);
    if (!memory || s->arrivals_start == NULL || s->unit_of_step == NULL || s->allowed_end == NULL)
        return pl_fail_memory(error, "the intervals");
    for (size_t unit = 0; unit < num_units; unit++)
        s->allowed_end[unit] = num_units;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint32_t operation = s->chain->operation_of_step[step];
        s->unit_of_step[step] = operation == PL_NONE ? 0 : s->chain->unit_of_operation[operation];
    }
    return find_unit_blocks(s, error);
}

popliner_status popliner_intervals_measure(const popliner_profile *profile,
                                           const popliner_operations *operations,
                                           const popliner_chain *chain,
                                           const popliner_interval_options *options,
                                           const popliner_listener *listener,
                                           popliner_costs **costs, popliner_error *error) {
    static const popliner_interval_options usual = POPLINER_INTERVAL_OPTIONS_INIT;
    sweep s = {.profile = profile, .operations = operations, .chain = chain};
    s.options = options == NULL ? &usual : options;
    size_t num_tiles = profile->target.num_tiles;
    s.is_full = chain->model == POPLINER_MEMORY_MODEL_FULL;
    *costs = NULL;
    popliner_status status = popliner_costs_create(chain->num_units, &s.costs, error);
    if (status == POPLINER_OK && s.is_full)
        status = pl_full_model_create(&s.full, profile, operations, error);
    if (status == POPLINER_OK)
        status = pl_usage_find(&s.usage, profile, operations, chain->unit_of_operation,
                               chain->num_units, s.is_full ? &s.full : NULL, error);
    if (status == POPLINER_OK)
        status = sum_programs(&s, error);
    if (status == POPLINER_OK)
        status = find_vertex_code(&s, error);
    if (status == POPLINER_OK)
        status = measure_passes(&s, error);
    if (status == POPLINER_OK)
        status = allocate(&s, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < num_tiles; tile++) {
        status = sweep_tile(&s, tile, error);
        if (tile % 16 == 15 || tile + 1 == num_tiles)
            pl_progress(listener, "Measuring all stages", tile + 1, num_tiles);
    }
    for (size_t first = 0; status == POPLINER_OK && first < chain->num_units; first++) {
        for (size_t last = s.allowed_end[first]; last < chain->num_units; last++)
            forbid(&s, first, last);
    }
    if (status == POPLINER_OK && !popliner_chain_has_operations(chain, 0))
        forbid(&s, 0, 0);
    if (status == POPLINER_OK)
        *costs = s.costs;
    else
        popliner_costs_free(s.costs);
    free_sweep(&s);
    return status;
}

popliner_status popliner_intervals_train(const popliner_profile *profile,
                                         const popliner_operations *operations,
                                         const popliner_chain *chain, bool *train,
                                         popliner_error *error) {
    pl_phases phases = {0};
    popliner_status status = pl_phases_find(&phases, profile, operations, chain, error);
    *train = status == POPLINER_OK && phases.is_training;
    pl_phases_free(&phases);
    return status;
}

popliner_status popliner_intervals_shared_peak(void *user, const popliner_interval *stages,
                                               size_t num_stages, uint64_t *peak_bytes,
                                               popliner_error *error) {
    popliner_shared_stages *shared = user;
    popliner_stage_memory memory = {0};
    uint64_t *stash_bytes = NULL;
    popliner_status status =
        popliner_stage_measure_shared(shared->meter, stages, num_stages, &memory, error);
    if (status == POPLINER_OK &&
        (stash_bytes = pl_new_array(memory.num_tiles, sizeof *stash_bytes)) == NULL)
        status = pl_fail_memory(error, "what a pipeline keeps");
    for (size_t i = 0; status == POPLINER_OK && i < num_stages; i++) {
        size_t copies = popliner_pipeline_copies(&shared->pipeline, stages[i].stages_to_end);
        if (copies == 0)
            continue;
        status = popliner_stage_measure_stash(shared->meter, shared->pipeline.recompute,
                                              stages[i].first_unit, stages[i].last_unit,
                                              stash_bytes, error);
        for (size_t tile = 0; status == POPLINER_OK && tile < memory.num_tiles; tile++)
            memory.total_bytes[tile] += copies * stash_bytes[tile];
    }
    if (status == POPLINER_OK)
        *peak_bytes = popliner_largest_of_tiles(memory.total_bytes, memory.num_tiles);
    free(stash_bytes);
    popliner_stage_memory_clear(&memory);
    return status;
}
