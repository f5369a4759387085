/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/passes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* Marks the steps that run: all except those of control programs other than the main one. */
static void find_running_steps(pl_passes *passes, pl_arrays *arrays, const popliner_profile *p) {
    /* by step: the step where its branch of a switch begins; by that step: the number of computing
     * steps in the branch; by the switch's step: its branch with the most */
    pl_arrays own = {0};
    uint32_t *branch = pl_arrays_new(&own, p->num_steps, sizeof *branch);
    uint32_t *num_computing = pl_arrays_new(&own, p->num_steps, sizeof *num_computing);
    uint32_t *main_branch = pl_arrays_new(&own, p->num_steps, sizeof *main_branch);
    const size_t num_steps = own.failed ? 0 : p->num_steps;
    for (size_t step = 0; step < num_steps; step++) {
        const uint32_t parent = p->step_parent[step];
        const bool is_begin =
            parent != PL_NONE && branch[parent] == PL_NONE &&
            p->program_type[p->step_program[parent]] == POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH;
        branch[step] = is_begin ? (uint32_t)step : parent == PL_NONE ? PL_NONE : branch[parent];
        main_branch[step] = PL_NONE;
        if (branch[step] != PL_NONE &&
            p->program_type[p->step_program[step]] == POPLINER_PROGRAM_ON_TILE_EXECUTE)
            num_computing[branch[step]]++;
    }
    for (size_t step = 0; step < num_steps; step++) {
        if (branch[step] != step)
            continue;
        uint32_t *best = &main_branch[p->step_parent[step]];
        if (*best == PL_NONE || num_computing[step] > num_computing[*best])
            *best = (uint32_t)step;
    }
    for (size_t step = 0; step < num_steps; step++)
        passes->step_runs[step] =
            branch[step] == PL_NONE || main_branch[p->step_parent[branch[step]]] == branch[step];
    pl_arrays_end(&own, arrays);
}

/* Returns the unit that works at the step, SIZE_MAX for none. */
static size_t working_unit(const pl_passes *passes, const pl_chain *chain, size_t step) {
    const popliner_profile *p = chain->profile;
    uint8_t type = p->program_type[p->step_program[step]];
    uint32_t operation = chain->operations->step_operation[step];
    bool works = type == POPLINER_PROGRAM_ON_TILE_EXECUTE || type == POPLINER_PROGRAM_DO_EXCHANGE ||
                 type == POPLINER_PROGRAM_GLOBAL_EXCHANGE;
    return works && operation != PL_NONE && passes->step_runs[step] != 0
               ? chain->unit_of_operation[operation]
               : SIZE_MAX;
}

static void find_turn(pl_passes *passes, const pl_chain *chain) {
    passes->turn_step = SIZE_MAX;
    bool is_found = false;
    for (size_t step = 0; step < chain->profile->num_steps; step++) {
        size_t unit = working_unit(passes, chain, step);
        if (unit == SIZE_MAX || chain->kind[unit] != POPLINER_UNIT_LAYER)
            continue;
        if (!is_found || unit > passes->last_layer) {
            passes->last_layer = unit;
            passes->turn_step = step;
            passes->is_training = false;
            is_found = true;
        } else if (unit < passes->last_layer) {
            passes->is_training = true;
        }
    }
    if (!passes->is_training)
        passes->turn_step = SIZE_MAX;
}

/* Finds the first steps of operations, and those of the borders. */
static void find_first_steps(pl_passes *passes, const pl_chain *chain) {
    const pl_operations *operations = chain->operations;
    size_t num_units = chain->num_units;
    size_t *backward_of_unit = passes->backward_step; /* shifted by one unit at the end */
    for (size_t unit = 0; unit < num_units; unit++)
        passes->forward_step[unit] = passes->backward_step[unit] = SIZE_MAX;
    for (size_t i = 0; i < operations->count; i++)
        passes->first_step[i] = operations->rows[i].first_step;
    for (size_t step = chain->profile->num_steps; step-- > 0;) {
        const uint32_t operation = operations->step_operation[step];
        const size_t unit = working_unit(passes, chain, step);
        if (operation != PL_NONE && passes->step_runs[step] != 0)
            passes->first_step[operation] = step;
        if (unit == SIZE_MAX)
            continue;
        bool is_backward = step >= passes->turn_step;
        if (!is_backward || unit >= passes->last_layer)
            passes->forward_step[unit] = step;
        if (is_backward)
            backward_of_unit[unit] = step;
    }
    for (size_t unit = num_units - 1; unit-- > 0;) {
        if (passes->forward_step[unit] == SIZE_MAX)
            passes->forward_step[unit] = passes->forward_step[unit + 1];
    }
    size_t nearest = SIZE_MAX;
    for (size_t unit = 0; unit < num_units; unit++) {
        size_t before = nearest;
        if (backward_of_unit[unit] != SIZE_MAX)
            nearest = backward_of_unit[unit];
        passes->backward_step[unit] = unit > passes->last_layer ? SIZE_MAX : before;
    }
}

/* Finds where the last layer's backward pass begins: of its steps before after_step, the first one
 * across which the most classes live that do not live across the turn. */
static void find_loss(pl_passes *passes, pl_arrays *arrays, const popliner_profile *p) {
    const size_t end = pl_fewer(passes->after_step, p->num_steps);
    passes->loss_step = passes->turn_step;
    if (!passes->is_training)
        return;
    pl_arrays own = {0};
    int64_t *changes = pl_arrays_new(&own, p->num_steps + 2, sizeof *changes);
    for (uint32_t c = 0; changes != NULL && c < p->num_classes; c++) {
        if (p->class_always_live[c] || pl_class_crosses(p, c, passes->turn_step))
            continue;
        for (uint32_t i = p->class_ranges_start[c]; i < p->class_ranges_start[c + 1]; i++) {
            changes[p->range_first_step[i] + 1]++;
            changes[pl_larger(p->range_first_step[i] + 1, p->range_end_step[i])]--;
        }
    }
    int64_t count = 0;
    int64_t most = -1;
    for (size_t step = 0; changes != NULL && step < end; step++) {
        count += changes[step];
        if (step < passes->turn_step || count <= most)
            continue;
        most = count;
        passes->loss_step = step;
    }
    pl_arrays_end(&own, arrays);
}

void pl_passes_find(pl_passes *passes, pl_arrays *arrays, const pl_chain *chain) {
    passes->step_runs = pl_arrays_new(arrays, chain->profile->num_steps, 1);
    passes->first_step = pl_arrays_new(arrays, chain->num_operations, sizeof *passes->first_step);
    passes->forward_step = pl_arrays_new(arrays, chain->num_units, sizeof *passes->forward_step);
    passes->backward_step = pl_arrays_new(arrays, chain->num_units, sizeof *passes->backward_step);
    if (arrays->failed)
        return;
    find_running_steps(passes, arrays, chain->profile);
    find_turn(passes, chain);
    find_first_steps(passes, chain);
    passes->after_step = passes->is_training ? passes->backward_step[passes->last_layer] : SIZE_MAX;
    find_loss(passes, arrays, chain->profile);
}

/* True if an operation of `unit` certainly belongs to the forward pass: in the last layer and later
 * units, operations that begin before an earlier unit works backward. */
static bool begins_forward(const pl_passes *passes, size_t unit, size_t operation) {
    const size_t step = passes->first_step[operation];
    return !passes->is_training ||
           ((unit >= passes->last_layer || step < passes->turn_step) && step < passes->after_step);
}

static void include(uint32_t unit, uint32_t *first, uint32_t *last) {
    *first = unit < *first ? unit : *first;
    *last = *last == PL_NO_UNIT || unit > *last ? unit : *last;
}

/* Numbers the units of bits, and those between the first and the last one, if there are any. */
static uint32_t number_passed(pl_keys *sets, uint64_t *bits, const uint64_t *touching,
                              uint32_t first, uint32_t last) {
    memcpy(bits, touching, sets->key_size);
    if (first != PL_NO_UNIT)
        pl_bits_add_range(bits, first, last);
    return (uint32_t)pl_keys_number(sets, bits);
}

/* Returns the use by the members of a set; units[3] are for sets of the chain's units. */
static pl_pass_use use_of(pl_pass_usage *own, const pl_chain *chain, size_t set,
                          uint64_t *const units[3]) {
    const size_t n = own->num_units;
    const uint64_t *members = pl_bits_at(&own->usage.sets, set);
    uint64_t *touching = units[0];
    uint64_t *bits = units[1];
    pl_keys *sets = &own->sets;
    pl_pass_use use = {0, {0, 0, 0}, 0, PL_NO_UNIT, PL_NO_UNIT, PL_NO_UNIT, PL_NO_UNIT};
    for (int i = 0; i < 3; i++)
        memset(units[i], 0, sets->key_size);
    for (size_t m = pl_bits_next(members, 0, own->usage.num_units); m < own->usage.num_units;
         m = pl_bits_next(members, m + 1, own->usage.num_units)) {
        const uint32_t unit = (uint32_t)(m % n);
        const bool is_both = pl_passes_are_one(&own->passes, unit);
        pl_bits_add(units[2], unit);
        if (pl_chain_has_data(chain, unit))
            pl_bits_add(touching, unit);
        if (m < n)
            pl_bits_add(bits, unit);
        if (m < n || is_both)
            include(unit, &use.first_forward, &use.last_forward);
        if (m >= n || is_both)
            include(unit, &use.first_backward, &use.last_backward);
    }
    const uint32_t all = (uint32_t)pl_keys_number(sets, touching);
    use.units = (uint32_t)pl_keys_number(sets, units[2]);
    use.beginning = (uint32_t)pl_keys_number(sets, bits);
    use.counting = (pl_counting){all, all, all};
    if (own->usage.num_units == n)
        return use;
    use.counting.before = number_passed(sets, bits, touching, use.first_forward, use.last_forward);
    use.counting.after = number_passed(sets, bits, touching, use.first_backward, use.last_backward);
    return use;
}

void pl_pass_uses_find(pl_pass_usage *own, pl_arrays *arrays, const pl_chain *chain) {
    pl_arrays part = {0};
    uint64_t *units[3];
    own->num_units = chain->num_units;
    own->sets = pl_bits_begin(arrays, own->num_units);
    own->uses = pl_arrays_new(arrays, own->usage.sets.count, sizeof *own->uses);
    for (int i = 0; i < 3; i++)
        units[i] = pl_arrays_new(&part, 1, own->sets.key_size);
    for (size_t i = 0; !arrays->failed && !part.failed && i < own->usage.sets.count; i++)
        own->uses[i] = use_of(own, chain, i, units);
    pl_arrays_end(&part, arrays);
}

void pl_pass_usage_find(pl_pass_usage *own, pl_arrays *arrays, const pl_chain *chain) {
    pl_arrays part = {0};
    uint32_t *unit = pl_arrays_new(&part, chain->num_operations, sizeof *unit);
    pl_passes_find(&own->passes, arrays, chain);
    for (size_t i = 0; unit != NULL && !arrays->failed && i < chain->num_operations; i++) {
        unit[i] = chain->unit_of_operation[i];
        if (!begins_forward(&own->passes, unit[i], i))
            unit[i] += (uint32_t)chain->num_units;
    }
    if (unit != NULL && !arrays->failed)
        pl_unit_usage_find(&own->usage, arrays, chain->usage, unit, 2 * chain->num_units,
                           pl_chain_is_full(chain));
    if (!arrays->failed)
        pl_pass_uses_find(own, arrays, chain);
    pl_arrays_end(&part, arrays);
}

/* True if one range of the class crosses both steps. */
static bool crosses_both(const popliner_profile *p, uint32_t class_index, size_t step,
                         size_t other) {
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++)
        if (p->range_first_step[i] < step && step < p->range_end_step[i] &&
            p->range_first_step[i] < other && other < p->range_end_step[i])
            return true;
    return false;
}

bool pl_class_crosses(const popliner_profile *p, uint32_t class_index, size_t step) {
    return crosses_both(p, class_index, step, step);
}

pl_counting pl_counting_of(const pl_pass_usage *own, const popliner_profile *p, size_t variable) {
    const uint32_t class_index = p->variable_class[variable];
    const pl_counting all = pl_pass_use_of(own, variable)->counting;
    const bool passes = p->class_always_live[class_index] == 0;
    const bool passes_after = passes && !pl_class_crosses(p, class_index, own->passes.turn_step);
    return (pl_counting){all.touching, passes ? all.before : all.touching,
                         passes_after ? all.after : all.touching};
}

void pl_passes_add_carried(const pl_passes *passes, const popliner_profile *p, uint32_t class_index,
                           uint64_t bytes, const pl_pass_use *b, uint64_t *forward_bytes,
                           uint64_t *backward_bytes) {
    for (size_t border = b->first_forward + 1;
         b->first_forward != PL_NO_UNIT && border <= b->last_forward; border++) {
        if (pl_class_crosses(p, class_index, passes->forward_step[border]))
            forward_bytes[border] += bytes;
    }
    for (size_t border = b->first_backward + 1;
         b->first_backward != PL_NO_UNIT && border <= b->last_backward; border++) {
        bool is_there = b->first_forward < border && border <= b->last_forward &&
                        crosses_both(p, class_index, passes->forward_step[border],
                                     passes->backward_step[border]);
        if (!is_there && pl_class_crosses(p, class_index, passes->backward_step[border]))
            backward_bytes[border] += bytes;
    }
}

/* ---- Cycles ---------------------------------------------------------------------------------- */

static uint64_t multiply(uint64_t a, uint64_t b) {
    return b != 0 && a > POPLINER_MAX_CYCLES / b ? POPLINER_MAX_CYCLES : a * b;
}

static uint64_t add(uint64_t a, uint64_t b) {
    return b > POPLINER_MAX_CYCLES - a ? POPLINER_MAX_CYCLES : a + b;
}

pl_unit_cycles pl_unit_cycles_find(pl_arrays *arrays, const pl_chain *chain,
                                   const pl_passes *passes) {
    const popliner_profile *p = chain->profile;
    const size_t num_steps = p->num_timed_programs > 0 ? p->num_steps : 0;
    const size_t end = passes->is_training ? passes->after_step : 0; /* of the forward pass */
    pl_arrays own = {0};
    uint64_t *times = pl_arrays_new(&own, num_steps, sizeof *times); /* number of runs of each */
    uint64_t *of_run = pl_arrays_new(arrays, chain->num_units, sizeof *of_run);
    uint64_t *of_forward = pl_arrays_new(arrays, chain->num_units, sizeof *of_forward);
    for (size_t step = 0; !own.failed && !arrays->failed && step < num_steps; step++) {
        const uint32_t parent = p->step_parent[step];
        const uint32_t operation = chain->operations->step_operation[step];
        times[step] = parent == PL_NONE
                          ? 1
                          : multiply(times[parent], p->program_repeats[p->step_program[parent]]);
        if (operation == PL_NONE || passes->step_runs[step] == 0)
            continue;
        const size_t unit = chain->unit_of_operation[operation];
        const uint64_t cycles = multiply(times[step], p->program_cycles[p->step_program[step]]);
        of_run[unit] = add(of_run[unit], cycles);
        if (step < end && (unit >= passes->last_layer || step < passes->turn_step))
            of_forward[unit] = add(of_forward[unit], cycles);
    }
    pl_arrays_end(&own, arrays);
    return (pl_unit_cycles){of_run, of_forward};
}

/* Returns the transfer time of bytes over cuts, in cycles. */
static uint64_t link_cycles(uint64_t bytes, uint64_t clock_hz) {
    const double cycles =
        ceil((double)bytes / (double)POPLINER_LINK_BYTES_PER_SECOND * (double)clock_hz);
    return cycles < (double)POPLINER_MAX_CYCLES ? (uint64_t)cycles : POPLINER_MAX_CYCLES;
}

uint64_t *pl_stage_cycles_find(pl_arrays *arrays, const pl_chain *chain,
                               const pl_unit_cycles *units, const popliner_pipeline *pipeline,
                               const uint64_t *cuts_bytes) {
    const popliner_profile *p = chain->profile;
    const size_t num_units = chain->num_units;
    uint64_t *cycles = pl_arrays_new(arrays, pl_triangle_size(num_units), sizeof *cycles);
    for (size_t first = 0; cycles != NULL && first < num_units; first++) {
        uint64_t sum = 0;
        uint64_t forward_sum = 0;
        for (size_t last = first; last < num_units; last++) {
            const bool is_end = last + 1 == num_units;
            uint64_t *of_stage = &cycles[pl_triangle_place(num_units, first, last)];
            *of_stage = sum = add(sum, units->of_run[last]);
            forward_sum = add(forward_sum, units->of_forward[last]);
            if (cuts_bytes != NULL)
                *of_stage =
                    add(sum, link_cycles(cuts_bytes[first] + (is_end ? 0 : cuts_bytes[last + 1]),
                                         p->target.clock_hz));
            if (pipeline != NULL && pipeline->recompute == POPLINER_RECOMPUTE_FULL &&
                pl_pipeline_recomputes(pipeline, first == 0, is_end))
                *of_stage = add(*of_stage, forward_sum);
        }
    }
    return cycles;
}
