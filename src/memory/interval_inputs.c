/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/interval_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "memory/stage_meter.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"

static void free_stash(pl_stash *stash) {
    free(stash->class_matters);
    free(stash->is_fed);
    free(stash->start);
    free(stash->arrivals);
    *stash = (pl_stash){0};
}

/* The passes of each unit that touch a variable of one set, and the range of these units. */
enum { FORWARD = 1, BACKWARD = 2 };

typedef struct touching {
    uint8_t *passes; /* [num_units]: all 0 between sets */
    uint32_t first;
    uint32_t end;
} touching;

static void spread_set(touching *t, const pl_passes *passes, const pl_unit_sets *sets, uint32_t set,
                       uint32_t num_units) {
    t->first = num_units;
    t->end = 0;
    for (; set != 0; set = sets->rest[set]) {
        pl_pass_member m = pl_pass_member_of(passes, num_units, sets->last_unit[set]);
        t->passes[m.unit] |= (m.is_forward ? FORWARD : 0) | (m.is_backward ? BACKWARD : 0);
        t->first = m.unit < t->first ? m.unit : t->first;
        t->end = m.unit >= t->end ? m.unit + 1 : t->end;
    }
}

/* Lists where a variable arrives that is stored if both passes of the stage touch it: the stage i
 * ... j has it if i <= min(last unit <= j of the forward pass, last unit <= j of the backward
 * pass). */
static size_t list_of_both(const touching *t, bool skips_unit_0, pl_stash_arrival *arrivals) {
    size_t count = 0;
    uint32_t forward_end = 0; /* the last unit + 1 so far */
    uint32_t backward_end = 0;
    uint32_t starts_end = 0; /* stages that begin before it have the variable */
    for (uint32_t unit = skips_unit_0 && t->first == 0 ? 1 : t->first; unit < t->end; unit++) {
        if ((t->passes[unit] & FORWARD) != 0)
            forward_end = unit + 1;
        if ((t->passes[unit] & BACKWARD) != 0)
            backward_end = unit + 1;
        uint32_t both_end = forward_end < backward_end ? forward_end : backward_end;
        if (both_end > starts_end)
            arrivals[count++] = (pl_stash_arrival){unit, starts_end, both_end - 1};
        starts_end = both_end > starts_end ? both_end : starts_end;
    }
    return count;
}

/* Lists where an input arrives: units before the stage and units of the stage touch it forward. */
static size_t list_of_inputs(const touching *t, bool skips_unit_0, pl_stash_arrival *arrivals) {
    size_t count = 0;
    uint32_t starts_begin = PL_NO_UNIT; /* stages that begin there or later lack it */
    for (uint32_t unit = t->first; unit < t->end; unit++) {
        if ((t->passes[unit] & FORWARD) == 0)
            continue;
        bool counts = unit > 0 || !skips_unit_0;
        if (counts && starts_begin != PL_NO_UNIT)
            arrivals[count++] = (pl_stash_arrival){unit, starts_begin, unit};
        if (counts || starts_begin == PL_NO_UNIT)
            starts_begin = unit + 1;
    }
    return count;
}

/* Lists where an input from the host arrives, whenever the host sends it: at each unit that touches
 * it forward, in stages without an earlier such unit. */
static size_t list_of_fed(const touching *t, bool skips_unit_0, pl_stash_arrival *arrivals) {
    size_t count = 0;
    uint32_t starts_begin = 0;
    for (uint32_t unit = skips_unit_0 && t->first == 0 ? 1 : t->first; unit < t->end; unit++) {
        if ((t->passes[unit] & FORWARD) == 0)
            continue;
        arrivals[count++] = (pl_stash_arrival){unit, starts_begin, unit};
        starts_begin = unit + 1;
    }
    return count;
}

/* Lists where the variables of the set arrive, from the host or not. */
static size_t list_arrivals(const touching *t, popliner_recompute recompute, bool is_fed,
                            bool skips_unit_0, pl_stash_arrival *arrivals) {
    if (recompute == POPLINER_RECOMPUTE_STANDARD)
        return 0;
    if (recompute == POPLINER_RECOMPUTE_NONE)
        return is_fed ? 0 : list_of_both(t, skips_unit_0, arrivals);
    return is_fed ? list_of_fed(t, skips_unit_0, arrivals)
                  : list_of_inputs(t, skips_unit_0, arrivals);
}

static bool mark_classes(pl_stash *stash, const popliner_profile *p) {
    const pl_passes *passes = stash->passes;
    stash->class_matters = pl_new_array(p->num_classes, 1);
    for (uint32_t i = 0; stash->class_matters != NULL && i < p->num_classes; i++) {
        bool matters = pl_class_crosses(p, i, passes->loss_step);
        for (size_t unit = 0; !matters && unit < stash->num_units; unit++)
            matters = pl_class_crosses(p, i, passes->forward_step[unit]);
        stash->class_matters[i] = matters ? 1 : 0;
    }
    return stash->class_matters != NULL;
}

/* Fills the stash for a usage of a pl_pass_usage. Errors: MEMORY. O(units of all sets). */
static bool create_stash(pl_stash *stash, const popliner_profile *profile, const pl_chain *chain,
                         const pl_passes *passes, const pl_unit_usage *usage,
                         popliner_recompute recompute) {
    const pl_unit_sets *sets = &usage->sets;
    bool skips_unit_0 = pl_chain_first_data_unit(chain) > 0;
    touching t = {.passes = pl_new_array(chain->num_units, 1)};
    size_t capacity = 0;
    stash->recompute = recompute;
    stash->num_units = chain->num_units;
    stash->first_data_unit = (uint32_t)pl_chain_first_data_unit(chain);
    stash->passes = passes;
    stash->start = pl_new_array(2 * sets->count + 1, sizeof *stash->start);
    bool memory = t.passes != NULL && stash->start != NULL;
    if (recompute != POPLINER_RECOMPUTE_NONE) {
        stash->is_fed = pl_mark_fed(profile);
        memory = memory && stash->is_fed != NULL;
    }
    if (memory && recompute == POPLINER_RECOMPUTE_STANDARD)
        memory = mark_classes(stash, profile);
    for (uint32_t set = 0; memory && set < sets->count; set++) {
        spread_set(&t, passes, sets, set, (uint32_t)chain->num_units);
        size_t most = t.end > t.first ? t.end - t.first : 0;
        const size_t lists = 2 * (size_t)set;
        for (size_t list = lists; memory && list < lists + 2; list++) {
            size_t first = stash->start[list];
            memory = pl_grow(&stash->arrivals, &capacity, first + most, sizeof *stash->arrivals);
            stash->start[list + 1] = first;
            if (memory && most > 0)
                stash->start[list + 1] += list_arrivals(&t, recompute, list % 2 == 1, skips_unit_0,
                                                        stash->arrivals + first);
        }
        for (uint32_t unit = t.first; unit < t.end; unit++)
            t.passes[unit] = 0;
    }
    free(t.passes);
    return memory;
}

/* Adds bytes to the stages that begin at first_start ... last_start and grow to `unit`. */
static void add_to_starts(const pl_stash *stash, uint32_t unit, uint32_t first_start,
                          uint32_t last_start, uint64_t bytes, uint64_t *arriving_bytes) {
    arriving_bytes[first_start * stash->num_units + unit] += bytes;
    arriving_bytes[(last_start + 1) * stash->num_units + unit] -= bytes;
}

/* Returns the end of the last unit before `end` that touches it in the pass; 0 if none from `first`
 * on does. */
static uint32_t end_of_pass(const touching *t, uint8_t pass, uint32_t first, uint32_t end) {
    while (end > first && (t->passes[end - 1] & pass) == 0)
        end--;
    return end > first ? end : 0;
}

/* The stages ending with one unit that store a variable, by where they begin. */
typedef struct keeping_starts {
    bool is_output;       /* they send it */
    uint32_t forward_end; /* those that begin before it touch it forward */
    uint32_t both_end;    /* those that begin before it need it backward */
} keeping_starts;

static bool keeps(const keeping_starts *k, uint32_t start, bool is_input) {
    return start < k->forward_end && (k->is_output || is_input || start < k->both_end);
}

/* Adds a variable by the rule of POPLINER_RECOMPUTE_STANDARD, by which a stage that grows may stop
 * storing it. */
static void add_standard(const pl_stash *stash, const popliner_profile *p, const touching *t,
                         uint64_t variable, uint8_t *crosses, uint64_t *arriving_bytes) {
    const pl_passes *passes = stash->passes;
    uint32_t class_index = p->variable_class[variable];
    uint64_t bytes = p->variable_size_bytes[variable];
    bool is_fed = stash->is_fed[variable] != 0;
    uint32_t first_unit = stash->first_data_unit;
    bool crosses_loss = pl_class_crosses(p, class_index, passes->loss_step);
    uint32_t all_end = end_of_pass(t, FORWARD, t->first, t->end);
    uint32_t first_forward = t->first;
    while (first_forward < t->end && (t->passes[first_forward] & FORWARD) == 0)
        first_forward++;
    for (uint32_t unit = 0; unit < t->end; unit++)
        crosses[unit] = pl_class_crosses(p, class_index, passes->forward_step[unit]) ? 1 : 0;
    keeping_starts before = {false, 0, 0};
    for (uint32_t last = t->first > first_unit ? t->first : first_unit; last < t->end; last++) {
        uint32_t forward_end = end_of_pass(t, FORWARD, first_unit, last + 1);
        uint32_t backward_end = end_of_pass(t, BACKWARD, first_unit, last + 1);
        uint32_t both_end = forward_end < backward_end ? forward_end : backward_end;
        keeping_starts now = {.is_output = last + 1 < all_end && crosses[last + 1] != 0,
                              .forward_end = forward_end,
                              .both_end = crosses_loss ? both_end : 0};
        for (uint32_t start = 0; start <= last; start++) {
            bool is_input = is_fed || (start > first_forward && crosses[start] != 0);
            uint64_t more = keeps(&now, start, is_input) ? bytes : 0;
            uint64_t less = keeps(&before, start, is_input) ? bytes : 0;
            if (more != less)
                add_to_starts(stash, last, start, start, more - less, arriving_bytes);
        }
        before = now;
    }
}

void pl_stash_add_tile(const pl_stash *stash, const popliner_profile *p, const pl_unit_usage *usage,
                       size_t tile, pl_stash_work *work, uint64_t *arriving_bytes) {
    const pl_passes *passes = stash->passes;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        uint32_t class_index = p->variable_class[i];
        uint64_t bytes = p->variable_size_bytes[i];
        uint32_t set = pl_unit_usage_of(usage, i);
        bool is_input = stash->recompute == POPLINER_RECOMPUTE_FULL;
        bool is_fed = stash->is_fed != NULL && stash->is_fed[i] != 0;
        if (set == 0 || p->class_always_live[class_index])
            continue;
        if (stash->recompute == POPLINER_RECOMPUTE_STANDARD) {
            touching t = {.passes = work->passes};
            if (stash->class_matters[class_index] == 0 && !is_fed)
                continue;
            spread_set(&t, passes, &usage->sets, set, (uint32_t)stash->num_units);
            add_standard(stash, p, &t, i, work->crosses, arriving_bytes);
            memset(t.passes + t.first, 0, t.end - t.first);
            continue;
        }
        size_t list = 2 * (size_t)set + (is_fed ? 1 : 0);
        if (stash->start[list] == stash->start[list + 1] ||
            (!is_input && !pl_class_crosses(p, class_index, passes->loss_step)))
            continue;
        for (size_t k = stash->start[list]; k < stash->start[list + 1]; k++) {
            const pl_stash_arrival *a = &stash->arrivals[k];
            if (!is_input || is_fed) {
                add_to_starts(stash, a->unit, a->first_start, a->last_start, bytes, arriving_bytes);
                continue;
            }
            for (uint32_t start = a->first_start; start <= a->last_start; start++) {
                if (pl_class_crosses(p, class_index, passes->forward_step[start]))
                    add_to_starts(stash, a->unit, start, start, bytes, arriving_bytes);
            }
        }
    }
}

void pl_interval_inputs_free(pl_interval_inputs *inputs) {
    pl_account_free(&inputs->own_account);
    pl_pass_usage_free(&inputs->own_pass_usage);
    pl_gradients_free(&inputs->gradients);
    pl_passing_free(&inputs->passing);
    free_stash(&inputs->stash);
    pl_waits_free(&inputs->waits);
    pl_vertex_kinds_free(&inputs->kinds);
    pl_unit_sets_free(&inputs->kind_sets);
    pl_arrays_free(&inputs->arrays);
    *inputs = (pl_interval_inputs){0};
}

/* Sums control code, exchange code and vertex state of the programs by their set of units. */
static bool sum_programs(pl_interval_inputs *inputs) {
    const popliner_profile *p = inputs->profile;
    const pl_memory_model *model = inputs->model;
    const pl_unit_usage *usage = &inputs->pass_usage->usage;
    size_t num_tiles = p->target.num_tiles;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        inputs->set_bytes[group] =
            pl_arrays_new(&inputs->arrays, usage->sets.count * num_tiles, sizeof(uint64_t));
    if (inputs->arrays.failed)
        return false;
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = usage->program_set[program];
        uint32_t compute_set = p->program_compute_set[program];
        if (set == 0)
            continue;
        pl_add_program_code(p, (uint32_t)program, inputs->set_bytes, set * num_tiles);
        if (model->repeats_state && compute_set != PL_NONE)
            pl_add_vertex_state(model, p, compute_set,
                                inputs->set_bytes[PL_VERTEX_STATE] + set * num_tiles);
    }
    for (uint32_t compute_set = 0; !model->repeats_state && compute_set < p->num_compute_sets;
         compute_set++) {
        uint32_t set = usage->compute_set_set[compute_set];
        if (set != 0)
            pl_add_vertex_state(model, p, compute_set,
                                inputs->set_bytes[PL_VERTEX_STATE] + set * num_tiles);
    }
    return true;
}

/* Adds the current unit to the vertex kinds of a compute set, on their tiles. */
static bool add_compute_set(pl_interval_inputs *inputs, uint32_t compute_set) {
    const popliner_profile *p = inputs->profile;
    size_t num_tiles = p->target.num_tiles;
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        uint32_t kind = inputs->kinds.kind_of_type[p->compute_set_vertex_type[i]];
        uint32_t *sets = inputs->kind_set + kind * num_tiles;
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t tile;
        size_t end;
        while (pl_tile_runs_next(&walk, &tile, &end)) {
            for (; tile < end; tile++) {
                if (!pl_unit_sets_add(&inputs->kind_sets, &sets[tile]))
                    return false;
            }
        }
    }
    return true;
}

static bool find_vertex_code(pl_interval_inputs *inputs) {
    const popliner_profile *p = inputs->profile;
    size_t num_tiles = p->target.num_tiles;
    inputs->kind_set =
        pl_arrays_new(&inputs->arrays, p->num_vertex_types * num_tiles, sizeof *inputs->kind_set);
    inputs->kind_code_bytes = pl_arrays_new(&inputs->arrays, p->num_vertex_types * num_tiles,
                                            sizeof *inputs->kind_code_bytes);
    if (!pl_vertex_kinds_find(&inputs->kinds, inputs->model, p) || inputs->arrays.failed ||
        !pl_unit_sets_begin(&inputs->kind_sets))
        return false;
    for (size_t type = 0; type < p->num_vertex_types; type++)
        pl_series_add(p, p->vertex_type_code[inputs->kinds.code_of_type[type]], 1,
                      inputs->kind_code_bytes + type * num_tiles);
    const pl_chain *chain = inputs->chain;
    for (size_t unit = 0; unit < chain->num_units; unit++) {
        pl_unit_sets_begin_unit(&inputs->kind_sets, (uint32_t)unit);
        for (size_t i = chain->unit_operations_start[unit];
             i < chain->unit_operations_start[unit + 1]; i++) {
            const popliner_operation *operation =
                pl_operation_at(inputs->operations, chain->unit_operation[i]);
            for (size_t k = 0; k < operation->num_programs; k++) {
                uint32_t compute_set = p->program_compute_set[operation->programs[k]];
                if (compute_set != PL_NONE && !add_compute_set(inputs, compute_set))
                    return false;
            }
        }
    }
    return true;
}

/* Gets the account and the pass usage of the options' meter, or computes them. */
static bool find_account(pl_interval_inputs *inputs) {
    pl_stage_meter *meter = inputs->options->meter;
    if (meter != NULL) {
        inputs->account = &meter->account;
        return pl_stage_meter_pass_usage(meter, &inputs->pass_usage, NULL) == POPLINER_OK;
    }
    inputs->account = &inputs->own_account;
    inputs->pass_usage = &inputs->own_pass_usage;
    return pl_account_create(&inputs->own_account, inputs->model, inputs->profile,
                             inputs->operations, inputs->chain->usage) &&
           pl_pass_usage_find(&inputs->own_pass_usage, inputs->chain, inputs->account);
}

/* Computes the stash for pipelines of up to max_stages. */
static bool find_stash(pl_interval_inputs *inputs, size_t max_stages) {
    const popliner_pipeline *pipeline = &inputs->options->pipeline;
    size_t num_units = inputs->chain->num_units;
    const pl_passes *passes = &inputs->pass_usage->passes;
    max_stages = max_stages < num_units ? max_stages : num_units;
    inputs->keeps =
        passes->is_training && pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, max_stages) > 0;
    inputs->max_stages = inputs->keeps ? max_stages : 1;
    return !inputs->keeps || create_stash(&inputs->stash, inputs->profile, inputs->chain, passes,
                                          &inputs->pass_usage->usage, pl_pipeline_stored(pipeline));
}

/* Determines the wanted needs, and the effects on them. */
static bool find_effects(pl_interval_inputs *inputs, bool with_all_needs) {
    const popliner_profile *p = inputs->profile;
    const pl_passes *passes = &inputs->pass_usage->passes;
    const popliner_pipeline *pipeline = &inputs->options->pipeline;
    unsigned effects = inputs->model->follows_account ? pipeline->effects : 0;
    inputs->rule = (pl_need_rule){
        .has_needs = inputs->model->follows_account,
        .has_layout = (effects & POPLINER_EFFECT_LAYOUT) != 0,
        .tiles_per_ipu = p->target.tiles_per_ipu,
        .scales = pl_calibration_scales(&pipeline->calibration, true, false),
        .profile = p,
    };
    inputs->last_rule = inputs->rule;
    inputs->last_rule.scales = pl_calibration_scales(&pipeline->calibration, false, true);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        inputs->wants_need[need] = with_all_needs || need == (int)inputs->options->need;
    if (!pl_passing_find(&inputs->passing, inputs->pass_usage,
                         (effects & POPLINER_EFFECT_PASSING) != 0))
        return false;
    if (!inputs->model->follows_account || !passes->is_training)
        return true;
    inputs->was_kept = pl_arrays_new(&inputs->arrays, p->num_classes, 1);
    if (inputs->arrays.failed)
        return false;
    for (uint32_t i = 0; i < p->num_classes; i++)
        inputs->was_kept[i] = pl_class_crosses(p, i, passes->turn_step) ? 1 : 0;
    /* details have the expected one, whichever need is wanted */
    inputs->frees[POPLINER_NEED_EXPECTED] =
        inputs->keeps && pl_pipeline_frees_originals(pipeline, POPLINER_NEED_EXPECTED);
    inputs->frees[POPLINER_NEED_MOST] = inputs->keeps && inputs->wants_need[POPLINER_NEED_MOST] &&
                                        pl_pipeline_frees_originals(pipeline, POPLINER_NEED_MOST);
    const bool frees = inputs->frees[POPLINER_NEED_EXPECTED] || inputs->frees[POPLINER_NEED_MOST];
    if (frees && !pl_waits_find(&inputs->waits, passes, p))
        return false;
    inputs->has_buffers =
        ((effects & POPLINER_EFFECT_BUFFERS) != 0 || inputs->wants_need[POPLINER_NEED_MOST]) &&
        pl_pipeline_kind(pipeline) == PL_SCHEDULE_IN_CYCLES;
    if (with_all_needs || pl_wants_accumulators(pipeline, true))
        inputs->has_accumulators = pl_has_accumulators(p);
    if (!pl_wants_accumulators(pipeline, true))
        return true;
    inputs->accumulator_factor = pl_accumulator_factor(pipeline, inputs->has_accumulators);
    if (inputs->has_accumulators)
        return true;
    inputs->accumulated = &inputs->gradients;
    return pl_gradients_find(&inputs->gradients, inputs->chain, inputs->pass_usage,
                             inputs->account);
}

/* Returns the unit that a step belongs to. */
static uint32_t unit_of_step(const pl_chain *chain, size_t step) {
    uint32_t operation = chain->operation_of_step[step];
    return operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
}

/* Lists the steps of each unit. */
static bool find_unit_steps(pl_interval_inputs *inputs) {
    size_t num_steps = inputs->profile->num_steps;
    size_t num_units = inputs->chain->num_units;
    inputs->unit_runs_start =
        pl_arrays_new(&inputs->arrays, num_units + 2, sizeof *inputs->unit_runs_start);
    inputs->unit_run = pl_arrays_new(&inputs->arrays, num_steps, sizeof *inputs->unit_run);
    inputs->run_of_step = pl_arrays_new(&inputs->arrays, num_steps, sizeof *inputs->run_of_step);
    if (inputs->arrays.failed)
        return false;
    /* counted two positions up and filled one position up, so that the starts are right at the
     * end */
    for (int is_filling = 0; is_filling < 2; is_filling++) {
        for (size_t step = 0; step < num_steps;) {
            uint32_t unit = unit_of_step(inputs->chain, step);
            pl_step_run run = {(uint32_t)step, (uint32_t)step + 1, unit};
            while (run.end_step < num_steps && unit_of_step(inputs->chain, run.end_step) == unit)
                run.end_step++;
            if (is_filling != 0)
                inputs->unit_run[inputs->unit_runs_start[unit + 1]] = run;
            for (; is_filling != 0 && step < run.end_step; step++)
                inputs->run_of_step[step] = (uint32_t)inputs->unit_runs_start[unit + 1];
            inputs->unit_runs_start[unit + (is_filling != 0 ? 1 : 2)]++;
            step = run.end_step;
        }
        for (size_t unit = 0; is_filling == 0 && unit <= num_units; unit++)
            inputs->unit_runs_start[unit + 1] += inputs->unit_runs_start[unit];
    }
    return true;
}

/* From the turn on, other units may count a variable, and other buffers exist. */
static void break_at_turn(pl_interval_inputs *inputs) {
    if (inputs->pass_usage->passes.turn_step <= inputs->profile->num_steps)
        inputs->is_break[inputs->pass_usage->passes.turn_step] = 1;
}

/* Marks where the steps of a stage may begin or end: those of its units, or all from its first to
 * its last operation. See peak_of_stage in tile_meter.c. */
static bool find_breaks(pl_interval_inputs *inputs) {
    const pl_chain *chain = inputs->chain;
    inputs->is_break = pl_arrays_new(&inputs->arrays, inputs->profile->num_steps + 1, 1);
    if (inputs->arrays.failed)
        return false;
    for (size_t i = 0;
         inputs->model->has_own_steps && i < inputs->unit_runs_start[chain->num_units]; i++)
        inputs->is_break[inputs->unit_run[i].first_step] = 1;
    for (size_t unit = 0; !inputs->model->has_own_steps && unit < chain->num_units; unit++) {
        if (!pl_chain_has_operations(chain, unit))
            continue;
        const size_t *first = chain->unit_operation + chain->unit_operations_start[unit];
        const size_t *last = chain->unit_operation + chain->unit_operations_start[unit + 1] - 1;
        inputs->is_break[pl_operation_at(inputs->operations, *first)->first_step] = 1;
        inputs->is_break[pl_operation_at(inputs->operations, *last)->last_step + 1] = 1;
    }
    break_at_turn(inputs);
    return true;
}

static bool find_set_bits(pl_interval_inputs *inputs) {
    const pl_unit_sets *sets = &inputs->passing.sets;
    inputs->set_words = inputs->chain->num_units / 64 + 1;
    inputs->set_bits =
        pl_arrays_new(&inputs->arrays, sets->count * inputs->set_words, sizeof *inputs->set_bits);
    if (inputs->arrays.failed)
        return false;
    /* the rest of a set was made before the set */
    for (size_t set = 1; set < sets->count; set++) {
        uint64_t *bits = inputs->set_bits + set * inputs->set_words;
        memcpy(bits, inputs->set_bits + sets->rest[set] * inputs->set_words,
               inputs->set_words * sizeof *bits);
        bits[sets->last_unit[set] / 64] |= (uint64_t)1 << sets->last_unit[set] % 64;
    }
    return true;
}

bool pl_interval_inputs_find(pl_interval_inputs *inputs, size_t max_stages, bool with_all_needs) {
    inputs->profile = inputs->chain->profile;
    inputs->operations = inputs->chain->operations;
    inputs->model = inputs->chain->model;
    inputs->first_data_unit = pl_chain_first_data_unit(inputs->chain);
    return find_account(inputs) && find_stash(inputs, max_stages) && sum_programs(inputs) &&
           find_vertex_code(inputs) && find_effects(inputs, with_all_needs) &&
           find_unit_steps(inputs) && find_breaks(inputs) && find_set_bits(inputs);
}
