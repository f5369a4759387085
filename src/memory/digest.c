/* The part that all tiles of a digest share: the sets of units, and code by these sets.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/digest_inputs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* ---- Code ------------------------------------------------------------------------------------ */

/* Returns the units that touch what a set of operations touches. */
static uint32_t touching(const pl_digest *digest, uint32_t operations) {
    const pl_pass_usage *own = digest->pass_usage;
    return own->uses[own->usage.units_of_set[operations]].counting.touching;
}

/* Sums control code, exchange code and vertex state of the programs by the units that have them. */
static void sum_programs(pl_digest_inputs *inputs, const pl_digest *digest) {
    const popliner_profile *p = digest->chain->profile;
    const pl_operation_usage *usage = digest->pass_usage->usage.by_operation;
    const size_t num_tiles = p->target.num_tiles;
    uint32_t set;
    inputs->rows = (pl_keys){.arrays = &inputs->arrays, .key_size = sizeof set};
    for (uint32_t program = 0; program < p->num_programs; program++) {
        set = touching(digest, usage->program_set[program]);
        pl_keys_number(&inputs->rows, &set);
    }
    for (uint32_t i = 0; i < p->num_compute_sets; i++) {
        set = touching(digest, usage->compute_set_set[i]);
        pl_keys_number(&inputs->rows, &set);
    }
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        inputs->set_bytes[group] =
            pl_arrays_new(&inputs->arrays, inputs->rows.count * num_tiles, sizeof(uint64_t));
    if (inputs->arrays.failed)
        return;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        set = touching(digest, usage->program_set[program]);
        if (set != 0)
            pl_add_program_code(p, program, inputs->set_bytes,
                                pl_keys_number(&inputs->rows, &set) * num_tiles);
    }
    for (uint32_t i = 0; i < p->num_compute_sets; i++) {
        set = touching(digest, usage->compute_set_set[i]);
        if (set != 0)
            pl_add_vertex_state(digest->chain->model, p, i,
                                inputs->set_bytes[PL_VERTEX_STATE] +
                                    pl_keys_number(&inputs->rows, &set) * num_tiles);
    }
}

/* Adds the current unit to the vertex types of a compute set, on their tiles. */
static void add_compute_set(pl_digest_inputs *inputs, const popliner_profile *p,
                            uint32_t compute_set) {
    const size_t num_tiles = p->target.num_tiles;
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        uint32_t *sets = inputs->type_set + p->compute_set_vertex_type[i] * num_tiles;
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t tile;
        size_t end;
        while (pl_tile_runs_next(&walk, &tile, &end))
            for (; tile < end; tile++)
                pl_unit_sets_add(&inputs->type_sets, &sets[tile]);
    }
}

/* Finds the units that need each vertex type on each tile, and its code there. */
static void find_vertex_code(pl_digest_inputs *inputs, const pl_chain *chain) {
    const popliner_profile *p = chain->profile;
    for (size_t type = 0; type < p->num_vertex_types; type++)
        pl_series_add(p, p->vertex_type_code[type], 1,
                      inputs->type_code_bytes + type * p->target.num_tiles);
    for (size_t unit = 0; !inputs->arrays.failed && unit < chain->num_units; unit++) {
        pl_unit_sets_begin_unit(&inputs->type_sets, (uint32_t)unit);
        for (size_t i = chain->unit_operations_start[unit];
             i < chain->unit_operations_start[unit + 1]; i++) {
            const popliner_operation *operation =
                pl_operation_at(chain->operations, chain->unit_operation[i]);
            for (size_t k = 0; k < operation->num_programs; k++) {
                const uint32_t set = p->program_compute_set[operation->programs[k]];
                if (set != PL_NONE)
                    add_compute_set(inputs, p, set);
            }
        }
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static uint32_t unit_of_step(const pl_chain *chain, size_t step) {
    const uint32_t operation = chain->operation_of_step[step];
    return operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
}

/* Lists the runs of steps of one unit, and where segments begin on every tile: with such runs, and
 * with the turn, from which on other units may count a variable, and other buffers exist. */
static void find_runs(pl_digest_inputs *inputs, const pl_digest *digest) {
    const size_t num_steps = digest->chain->profile->num_steps;
    const size_t turn_step = digest->pass_usage->passes.turn_step;
    size_t count = 0;
    for (size_t step = 0; step < num_steps; step++) {
        const uint32_t unit = unit_of_step(digest->chain, step);
        if (step == 0 || unit != inputs->runs[count - 1].unit) {
            inputs->runs[count++] = (pl_step_run){(uint32_t)step, (uint32_t)step, unit};
            inputs->is_break[step] = 1;
        }
        inputs->runs[count - 1].end_step = (uint32_t)step + 1;
        inputs->run_of_step[step] = (uint32_t)count - 1;
    }
    if (turn_step <= num_steps)
        inputs->is_break[turn_step] = 1;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

/* Replaces the sets of type_sets by those of the pass usage. */
static void number_type_sets(pl_digest_inputs *inputs, pl_digest *digest) {
    const pl_unit_sets *type_sets = &inputs->type_sets;
    pl_keys *sets = &digest->pass_usage->sets;
    uint32_t *numbers = pl_arrays_new(&inputs->arrays, type_sets->count, sizeof *numbers);
    uint64_t *bits = pl_arrays_new(&inputs->arrays, 1, sets->key_size);
    const popliner_profile *p = digest->chain->profile;
    if (inputs->arrays.failed)
        return;
    for (size_t i = 0; i < p->num_vertex_types * p->target.num_tiles; i++) {
        uint32_t *number = &numbers[inputs->type_set[i]]; /* 0: not known */
        if (*number == 0) {
            memset(bits, 0, sets->key_size);
            for (uint32_t s = inputs->type_set[i]; s != 0; s = type_sets->rest[s])
                pl_bits_add(bits, type_sets->last_unit[s]);
            *number = (uint32_t)pl_keys_number(sets, bits);
        }
        inputs->type_set[i] = *number;
    }
    inputs->arrays.failed = inputs->arrays.failed || sets->arrays->failed;
}

/* ---- A digest -------------------------------------------------------------------------------- */

/* Marks the classes that may be stored: live where the passes part, or when a unit begins. */
static void mark_classes(pl_digest_inputs *inputs, const pl_digest *digest) {
    const popliner_profile *p = digest->chain->profile;
    const pl_passes *passes = &digest->pass_usage->passes;
    for (uint32_t i = 0; i < p->num_classes; i++) {
        bool matters = pl_class_crosses(p, i, passes->loss_step);
        for (size_t unit = 0; !matters && unit < digest->chain->num_units; unit++)
            matters = pl_class_crosses(p, i, passes->forward_step[unit]);
        inputs->class_matters[i] = matters;
    }
}

static void find_inputs(pl_digest *digest) {
    const popliner_profile *p = digest->chain->profile;
    const pl_passes *passes = &digest->pass_usage->passes;
    const size_t num_tiles = p->target.num_tiles;
    pl_digest_inputs *inputs = digest->inputs;
    pl_arrays *own = &inputs->arrays;
    inputs->type_set = pl_arrays_new(own, p->num_vertex_types * num_tiles, sizeof(uint32_t));
    inputs->type_code_bytes = pl_arrays_new(own, p->num_vertex_types * num_tiles, sizeof(uint64_t));
    inputs->runs = pl_arrays_new(own, p->num_steps, sizeof *inputs->runs);
    inputs->run_of_step = pl_arrays_new(own, p->num_steps, sizeof *inputs->run_of_step);
    inputs->is_break = pl_arrays_new(own, p->num_steps + 1, 1);
    inputs->class_matters = pl_arrays_new(own, p->num_classes, 1);
    pl_unit_sets_begin(&inputs->type_sets, own);
    if (digest->is_pipelined) {
        inputs->is_fed = pl_mark_fed(own, p);
        pl_waits_find(&inputs->waits, own, passes, p);
    }
    if (own->failed)
        return;
    find_vertex_code(inputs, digest->chain);
    number_type_sets(inputs, digest);
    sum_programs(inputs, digest);
    find_runs(inputs, digest);
    if (digest->is_pipelined)
        mark_classes(inputs, digest);
}

pl_digest *pl_digest_begin(const pl_chain *chain, const pl_account *account,
                           pl_pass_usage *pass_usage, const pl_gradients *gradients,
                           bool is_pipelined) {
    const popliner_profile *p = chain->profile;
    const pl_passes *passes = &pass_usage->passes;
    pl_digest *digest = calloc(1, sizeof *digest);
    if (digest == NULL)
        return NULL;
    pl_arrays *own = &digest->arrays;
    digest->chain = chain;
    digest->account = account;
    digest->pass_usage = pass_usage;
    digest->gradients = gradients;
    digest->is_pipelined = is_pipelined;
    digest->tiles = pl_arrays_new(own, p->target.num_tiles, sizeof *digest->tiles);
    if (passes->is_training)
        digest->was_kept = pl_arrays_new(own, p->num_classes, 1);
    for (uint32_t i = 0; !own->failed && passes->is_training && i < p->num_classes; i++)
        digest->was_kept[i] = pl_class_crosses(p, i, passes->turn_step);
    if (!own->failed)
        return digest;
    pl_digest_free(digest);
    return NULL;
}

bool pl_digest_prepare(pl_digest *digest) {
    if (digest->inputs == NULL && (digest->inputs = calloc(1, sizeof *digest->inputs)) != NULL)
        find_inputs(digest);
    return digest->inputs != NULL && !digest->inputs->arrays.failed;
}

void pl_digest_finish(pl_digest *digest) {
    if (digest->inputs != NULL)
        pl_arrays_free(&digest->inputs->arrays);
    free(digest->inputs);
    digest->inputs = NULL;
}

void pl_digest_drop_tile(pl_digest *digest, size_t tile) {
    pl_digest_tile *own = &digest->tiles[tile];
    free(own->units);
    for (size_t live = 0; live < PL_NUM_LIVES; live++)
        free(own->live[live].parts);
    *own = (pl_digest_tile){0};
}

void pl_digest_free(pl_digest *digest) {
    if (digest == NULL)
        return;
    for (size_t i = 0; digest->tiles != NULL && i < digest->chain->profile->target.num_tiles; i++)
        pl_digest_drop_tile(digest, i);
    pl_digest_finish(digest);
    pl_arrays_free(&digest->arrays);
    free(digest);
}
