/* The memory of all intervals at once, one tile after another.
 *
 * A thing that the units u1 < u2 < ... use is in the stage i ... j exactly if one of them lies in
 * it, and the first one that does is the one where the stage, grown from i to the right, meets it.
 * So each u_k is an "arrival": it adds the thing to the stages that begin behind u_(k-1), at most
 * at u_k, and reach u_k. Costs that add up (code and state) are summed in a table of arrivals; live
 * variables are added to a curve that only rises, so that its peak is known after every unit.
 *
 * In the full model the steps of a unit count only in stages that have the unit, and there a variable
 * that the unit touches is counted in any case. So while such steps run it is on the ground that all
 * stages begin with; and only where it is live while other units run, which most variables never
 * are, does it have to arrive.
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

/* A variable arriving at a unit, with a part of one of its live ranges. */
struct pl_sweep_arrival {
    uint32_t first_step;
    uint32_t end_step;
    uint32_t size_bytes;
};

/* The same, before it is listed at all of these units. */
struct pl_sweep_part {
    struct pl_sweep_arrival range;
    uint32_t set;
};

/* Where the arrivals at `unit` in stages that may begin at `first_start` are listed: by unit, then by
 * first_start, so that those of one stage are one after another. */
static size_t arrivals_place(size_t unit, size_t first_start) {
    return unit * (unit + 1) / 2 + first_start;
}

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
    sweep->arrivals_start =
        pl_new_array(arrivals_place(num_units, 0) + 2, sizeof *sweep->arrivals_start);
    sweep->allowed_end = pl_new_array(num_units, sizeof *sweep->allowed_end);
    if (!memory || sweep->arrivals_start == NULL || sweep->allowed_end == NULL ||
        !pl_rising_curve_begin(&sweep->curve, ground->profile->num_steps))
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
    free(sweep->parts);
    free(sweep->allowed_end);
    pl_rising_curve_free(&sweep->ground_curve);
    pl_rising_curve_free(&sweep->curve);
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

/* Whether the variable goes into the curve of live bytes; in the full model what is always live is
 * summed up instead. */
static bool is_on_curve(const pl_sweep *s, uint64_t variable) {
    return !s->ground->is_full ||
           !s->ground->profile->class_always_live[s->ground->profile->variable_class[variable]];
}

/* Adds the ranges of what no operation touches to the ground, wherever it is live. */
static void add_unexplained(pl_sweep *s, size_t tile) {
    const popliner_profile *p = s->ground->profile;
    const pl_full_model *full = &s->ground->full;
    for (uint64_t i = full->unexplained_start[tile]; i < full->unexplained_start[tile + 1]; i++) {
        uint32_t variable = full->unexplained[i];
        uint32_t class_index = p->variable_class[variable];
        for (uint32_t k = p->class_ranges_start[class_index];
             k < p->class_ranges_start[class_index + 1]; k++)
            pl_rising_curve_add(&s->ground_curve, p->range_first_step[k], p->range_end_step[k],
                                p->variable_size_bytes[variable]);
    }
}

static bool has_unit(const pl_sweep_ground *ground, uint32_t set, uint32_t unit) {
    return (ground->set_bits[set * ground->set_words + unit / 64] >> unit % 64 & 1) != 0;
}

/* Cuts a live range of something that the units of `set` touch: while one of these runs it goes to
 * the ground, and what is left becomes parts. In PopLiner's model, where the steps of other units
 * count, all of it is left. */
static bool cut_range(pl_sweep *s, uint32_t set, struct pl_sweep_arrival range, size_t *num_parts) {
    const pl_sweep_ground *g = s->ground;
    while (range.first_step < range.end_step) {
        struct pl_sweep_arrival cut = range;
        const pl_step_run *run = &g->unit_run[g->run_of_step[cut.first_step]];
        bool is_own = g->is_full && has_unit(g, set, run->unit);
        /* as far as it goes on in the same way */
        while (g->is_full && run->end_step < range.end_step &&
               has_unit(g, set, g->unit_run[g->run_of_step[run->end_step]].unit) == is_own)
            run = &g->unit_run[g->run_of_step[run->end_step]];
        if (g->is_full && run->end_step < range.end_step)
            cut.end_step = run->end_step;
        range.first_step = cut.end_step;
        if (is_own) {
            pl_rising_curve_add(&s->ground_curve, cut.first_step, cut.end_step, cut.size_bytes);
            continue;
        }
        void *parts = s->parts;
        if (!pl_reserve(&parts, &s->parts_capacity, *num_parts + 1, sizeof *s->parts))
            return false;
        s->parts = parts;
        s->parts[(*num_parts)++] = (struct pl_sweep_part){cut, set};
    }
    return true;
}

/* Counts a part at each place where it arrives (two places up), or lists it (one place up): then the
 * starts are right in the end. */
static void enter_part(pl_sweep *s, const struct pl_sweep_part *part, bool is_listing) {
    const pl_unit_sets *sets = &s->ground->usage.sets;
    uint32_t set = part->set;
    for (; set != 0 && pl_sweep_unit_counts(s->ground, sets->last_unit[set]);
         set = sets->rest[set]) {
        uint32_t rest = sets->rest[set];
        bool is_first = rest == 0 || !pl_sweep_unit_counts(s->ground, sets->last_unit[rest]);
        size_t place =
            arrivals_place(sets->last_unit[set], is_first ? 0 : sets->last_unit[rest] + 1);
        if (is_listing)
            s->arrivals[s->arrivals_start[place + 1]++] = part->range;
        else
            s->arrivals_start[place + 2]++;
    }
}

/* Sorts the tile's variables: sums up the always-live ones, puts on the ground what is there in all
 * stages, and lists the arrivals of everything else. */
static popliner_status list_arrivals(pl_sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->ground->profile;
    const pl_usage *usage = &s->ground->usage;
    size_t num_places = arrivals_place(usage->num_units, 0);
    size_t num_parts = 0;
    bool memory = pl_rising_curve_begin(&s->ground_curve, p->num_steps);
    memset(s->arrivals_start, 0, (num_places + 2) * sizeof *s->arrivals_start);
    if (memory && s->ground->is_full)
        add_unexplained(s, tile);
    for (uint64_t i = p->tile_variables_start[tile];
         memory && i < p->tile_variables_start[tile + 1]; i++) {
        uint32_t set = usage->variable_set[i];
        uint32_t class_index = p->variable_class[i];
        if (set == 0)
            continue;
        if (!is_on_curve(s, i)) {
            if ((s->ground->full.variable_flags[i] & PL_VARIABLE_IS_CODE) == 0)
                add_arrivals(s, PL_SUM_DATA, &usage->sets, set, p->variable_size_bytes[i]);
            continue;
        }
        for (uint32_t k = p->class_ranges_start[class_index];
             memory && k < p->class_ranges_start[class_index + 1]; k++)
            memory =
                cut_range(s, set,
                          (struct pl_sweep_arrival){p->range_first_step[k], p->range_end_step[k],
                                                    p->variable_size_bytes[i]},
                          &num_parts);
    }
    for (size_t i = 0; memory && i < num_parts; i++)
        enter_part(s, &s->parts[i], false);
    for (size_t place = 0; place < num_places; place++)
        s->arrivals_start[place + 2] += s->arrivals_start[place + 1];
    void *arrivals = s->arrivals;
    memory = memory && pl_reserve(&arrivals, &s->arrivals_capacity,
                                  s->arrivals_start[num_places + 1], sizeof *s->arrivals);
    s->arrivals = arrivals;
    for (size_t i = 0; memory && i < num_parts; i++)
        enter_part(s, &s->parts[i], true);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the variables of a tile");
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

/* Begins a stage without any unit. */
static void begin_stage(pl_sweep *s) {
    pl_rising_curve_copy(&s->curve, &s->ground_curve);
    if (!s->ground->is_full)
        pl_rising_curve_count(&s->curve, 0, s->curve.num_steps);
}

/* Adds to a stage that begins at `start` the unit behind its last one. */
static void add_unit(pl_sweep *s, size_t start, size_t unit) {
    const pl_sweep_ground *g = s->ground;
    size_t end = s->arrivals_start[arrivals_place(unit, start) + 1];
    for (size_t i = s->arrivals_start[arrivals_place(unit, 0)]; i < end; i++)
        pl_rising_curve_add(&s->curve, s->arrivals[i].first_step, s->arrivals[i].end_step,
                            s->arrivals[i].size_bytes);
    for (size_t i = g->unit_runs_start[unit]; g->is_full && i < g->unit_runs_start[unit + 1]; i++)
        pl_rising_curve_count(&s->curve, g->unit_run[i].first_step, g->unit_run[i].end_step);
}

/* The peak of the curve in a stage, and where it is if the details are wanted. In PopLiner's model
 * all steps between its first and its last operation count; in the full model those of its units,
 * wherever they are. */
static uint64_t peak_of_stage(const pl_sweep *s, const stage_steps *steps, size_t *peak_step) {
    *peak_step = 0;
    if (s->ground->is_full) {
        if (s->details != NULL)
            *peak_step = pl_rising_curve_peak_step(&s->curve);
        return s->curve.peak_bytes;
    }
    if (steps->first_operation == SIZE_MAX)
        return 0;
    return pl_rising_curve_peak_within(
        &s->curve,
        popliner_operations_get(s->ground->operations, steps->first_operation).first_step,
        popliner_operations_get(s->ground->operations, steps->last_operation).last_step + 1,
        peak_step);
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
static void sweep_start(pl_sweep *s, size_t tile, size_t start) {
    size_t num_units = s->ground->usage.num_units;
    size_t num_sums = s->ground->most_stages > 1 ? PL_NUM_SUMS : PL_SUM_STASH;
    stage_steps steps = {SIZE_MAX, SIZE_MAX, false};
    uint64_t sum_bytes[PL_NUM_SUMS] = {0};
    begin_start(s, start);
    if (s->allowed_end[start] == start)
        return;
    begin_stage(s);
    for (size_t unit = start; unit < s->allowed_end[start]; unit++) {
        add_unit(s, start, unit);
        add_unit_steps(&steps, s->ground->chain, unit);
        for (size_t sum = 0; sum < num_sums; sum++)
            sum_bytes[sum] += s->arriving_bytes[sum][start * num_units + unit];
        pl_detail_tile own = {.tile = tile};
        own.variables_bytes = peak_of_stage(s, &steps, &own.step) + sum_bytes[PL_SUM_DATA];
        own.stash_bytes = sum_bytes[PL_SUM_STASH];
        own.unexplained_bytes = s->ground->is_full ? s->ground->full.fixed_bytes[tile] : 0;
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
        sweep_start(s, tile, start);
    /* what is too much from one unit on is so from an earlier one on, too */
    for (size_t start = num_units - 1; start-- > 0;) {
        if (s->allowed_end[start + 1] < s->allowed_end[start])
            s->allowed_end[start] = s->allowed_end[start + 1];
    }
    return status;
}
