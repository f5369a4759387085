/* Makes the chain of a profile: its units, with their operations and steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/chain_data.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

void pl_chain_free(pl_chain *chain) {
    if (chain == NULL)
        return;
    pl_arrays_free(&chain->arrays);
    free(chain);
}

bool pl_chain_has_operations(const pl_chain *chain, size_t unit) {
    size_t i = 0;
    while (i < chain->num_operations && chain->unit_of_operation[i] != unit)
        i++;
    return i < chain->num_operations;
}

/* Sets the operation of every step: the one that it runs for, or that of the last step with one,
 * or, before all of them, the first one; PL_NONE throughout if there is none. */
static void place_steps(pl_chain *chain) {
    const pl_operations *operations = chain->operations;
    chain->num_steps = operations->num_steps;
    chain->operation_of_step = pl_arrays_new(&chain->arrays, chain->num_steps, sizeof(uint32_t));
    if (chain->operation_of_step == NULL)
        return;
    uint32_t current = PL_NONE;
    for (size_t step = 0; step < chain->num_steps && current == PL_NONE; step++)
        current = operations->step_operation[step];
    for (size_t step = 0; step < chain->num_steps; step++) {
        if (operations->step_operation[step] != PL_NONE)
            current = operations->step_operation[step];
        chain->operation_of_step[step] = current;
    }
}

uint32_t pl_layer_key(const pl_layers *layers, size_t operation) {
    return (uint32_t)pl_layers_unit_of(layers, operation) << 1 |
           (pl_layer_is_guess(layers, operation) ? 1 : 0);
}

/* Lists the units that exist, and converts places into their numbers. */
static void number_units(pl_chain *chain) {
    size_t num_layers = pl_layers_num_units(chain->layers) - 1;
    bool has_unlayered_unit = !pl_chain_is_full(chain);
    bool has_head = has_unlayered_unit || num_layers == 0;
    bool has_tail = false;
    for (size_t i = 0; i < chain->num_operations; i++) {
        has_head = has_head || chain->unit_of_operation[i] == 0;
        has_tail = has_tail || chain->unit_of_operation[i] > num_layers;
    }
    if (has_head)
        chain->kind[chain->num_units++] =
            has_unlayered_unit ? POPLINER_UNIT_UNLAYERED : POPLINER_UNIT_HEAD;
    for (size_t layer = 1; layer <= num_layers; layer++) {
        chain->layer[chain->num_units] = layer;
        chain->kind[chain->num_units++] = POPLINER_UNIT_LAYER;
    }
    if (has_tail)
        chain->kind[chain->num_units++] = POPLINER_UNIT_TAIL;
    for (size_t i = 0; !has_head && i < chain->num_operations; i++)
        chain->unit_of_operation[i]--; /* the first layer is unit 0 */
}

static const char *label_of(const pl_chain *chain, size_t unit) {
    const char *name = pl_chain_layer_name(chain, unit);
    return name != NULL                              ? name
           : chain->kind[unit] == POPLINER_UNIT_HEAD ? "Head"
           : chain->kind[unit] == POPLINER_UNIT_TAIL ? "Tail"
                                                     : "None";
}

/* Labels the units, and makes what callers have. */
static void describe_units(pl_chain *chain) {
    chain->labels = pl_arrays_new(&chain->arrays, chain->num_units, sizeof *chain->labels);
    for (size_t unit = 0; chain->labels != NULL && unit < chain->num_units; unit++)
        chain->labels[unit] = label_of(chain, unit);
    chain->told = (popliner_chain){chain->kind,           chain->labels,
                                   chain->num_units,      chain->unit_of_operation,
                                   chain->num_operations, chain->operation_of_step,
                                   chain->num_steps};
}

popliner_status pl_chain_create(const popliner_profile *profile, const pl_operations *operations,
                                const pl_layers *layers, popliner_memory_model model,
                                pl_chain **result, popliner_error *error) {
    const size_t max_units = pl_layers_num_units(layers) + 1;
    *result = NULL;
    if ((unsigned)model >= POPLINER_NUM_MEMORY_MODELS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown memory model %d", (int)model);
    const popliner_status status = pl_profile_require_variables(profile, error);
    if (status != POPLINER_OK)
        return status;
    pl_chain *chain = calloc(1, sizeof *chain);
    if (chain == NULL)
        return pl_fail_memory(error, "the chain of layers");
    pl_arrays *arrays = &chain->arrays;
    chain->profile = profile;
    chain->operations = operations;
    chain->layers = layers;
    chain->model = model;
    chain->num_operations = pl_operations_count(operations);
    chain->kind = pl_arrays_new(arrays, max_units, sizeof *chain->kind);
    chain->layer = pl_arrays_new(arrays, max_units, sizeof *chain->layer);
    chain->unit_of_operation = pl_arrays_new(arrays, chain->num_operations, sizeof(uint32_t));
    chain->usage = pl_arrays_new(arrays, 1, sizeof *chain->usage);
    place_steps(chain);
    if (!arrays->failed)
        pl_operation_usage_find(chain->usage, arrays, profile, operations);
    for (size_t i = 0; !arrays->failed && i < chain->num_operations; i++)
        chain->unit_of_operation[i] = (uint32_t)pl_layers_unit_of(layers, i);
    if (!arrays->failed && pl_chain_is_full(chain))
        pl_full_place_operations(chain);
    if (!arrays->failed) {
        number_units(chain);
        describe_units(chain);
    }
    if (!arrays->failed) {
        *result = chain;
        return POPLINER_OK;
    }
    pl_chain_free(chain);
    return pl_fail_memory(error, "the chain of layers");
}

size_t pl_chain_fields(pl_chain *c, pl_field *fields) {
    fields[0] = (pl_field){"unit_kind", &c->kind, sizeof *c->kind, &c->num_units, 0};
    fields[1] = (pl_field){"unit_layer", &c->layer, sizeof *c->layer, &c->num_units, 0};
    fields[2] = (pl_field){"unit_of_operation", &c->unit_of_operation, sizeof *c->unit_of_operation,
                           &c->num_operations, 0};
    return 3;
}

popliner_status pl_chain_complete(pl_chain *chain, const popliner_profile *profile,
                                  const pl_operations *operations, const pl_layers *layers,
                                  bool *is_right, popliner_error *error) {
    bool right = chain->num_units > 0 && chain->num_operations == pl_operations_count(operations);
    for (size_t i = 0; right && i < chain->num_units; i++)
        right = chain->layer[i] < pl_layers_num_units(layers) &&
                (unsigned)chain->kind[i] <= POPLINER_UNIT_TAIL;
    for (size_t i = 0; right && i < chain->num_operations; i++)
        right = chain->unit_of_operation[i] < chain->num_units;
    *is_right = right;
    chain->profile = profile;
    chain->operations = operations;
    chain->layers = layers;
    if (!right)
        return POPLINER_OK;
    place_steps(chain);
    describe_units(chain);
    return chain->arrays.failed ? pl_fail_memory(error, "the chain of layers") : POPLINER_OK;
}

const char *pl_unit_kind_name(popliner_unit_kind kind) {
    static const char *const names[] = {
        [POPLINER_UNIT_UNLAYERED] = "unlayered",
        [POPLINER_UNIT_HEAD] = "head",
        [POPLINER_UNIT_LAYER] = "layer",
        [POPLINER_UNIT_TAIL] = "tail",
    };
    return names[kind];
}

/* ---- IPUs of the profile --------------------------------------------------------------------- */

static bool holds(const popliner_interval *stages, size_t num_stages, size_t unit) {
    for (size_t i = 0; i < num_stages; i++)
        if (stages[i].first_unit <= unit && unit <= stages[i].last_unit)
            return true;
    return false;
}

/* Marks the IPUs of a compute set's vertices. */
static void mark_compute_set(const popliner_profile *p, uint32_t compute_set, uint8_t *is_used) {
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t first;
        size_t end;
        while (pl_tile_runs_next(&walk, &first, &end))
            for (size_t ipu = first / p->target.tiles_per_ipu;
                 ipu < p->target.num_ipus && ipu * p->target.tiles_per_ipu < end; ipu++)
                is_used[ipu] = 1;
    }
}

size_t pl_stage_ipus_mark(const pl_chain *chain, const popliner_interval *stages, size_t num_stages,
                          uint8_t *is_used) {
    const popliner_profile *p = chain->profile;
    size_t count = 0;
    if (p->target.num_ipus <= 1 || p->target.tiles_per_ipu == 0) {
        memset(is_used, 1, p->target.num_ipus);
        return p->target.num_ipus;
    }
    for (size_t step = 0; step < p->num_steps; step++) {
        const uint32_t operation = chain->operations->step_operation[step];
        const uint32_t compute_set = p->program_compute_set[p->step_program[step]];
        if (operation != PL_NONE && compute_set != PL_NONE &&
            holds(stages, num_stages, pl_chain_unit_of(chain, operation)))
            mark_compute_set(p, compute_set, is_used);
    }
    for (size_t ipu = 0; ipu < p->target.num_ipus; ipu++)
        count += is_used[ipu];
    return count;
}

popliner_status pl_stage_ipus_count(const pl_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error) {
    uint8_t *is_used = pl_new_array(chain->profile->target.num_ipus, sizeof *is_used);
    *num_ipus = 0;
    if (is_used == NULL)
        return pl_fail_memory(error, "the IPUs of a stage");
    *num_ipus = pl_stage_ipus_mark(chain, stages, num_stages, is_used);
    free(is_used);
    return POPLINER_OK;
}
