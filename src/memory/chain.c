/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/chain_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "memory/unit_sets.h"
#include "model/operations_data.h"
#include "read/profile_data.h"

void popliner_chain_free(popliner_chain *chain) {
    if (chain == NULL)
        return;
    free(chain->kind);
    free(chain->layer);
    free(chain->unit_of_operation);
    free(chain->unit_operations_start);
    free(chain->unit_operation);
    free(chain->operation_of_step);
    free(chain);
}

popliner_memory_model popliner_chain_memory_model(const popliner_chain *chain) {
    return chain->model;
}

size_t popliner_chain_num_units(const popliner_chain *chain) {
    return chain->num_units;
}

popliner_unit_kind popliner_chain_kind(const popliner_chain *chain, size_t unit) {
    return chain->kind[unit];
}

const char *popliner_chain_name(const popliner_chain *chain, size_t unit) {
    return popliner_layers_name(chain->layers, chain->layer[unit]);
}

size_t popliner_chain_unit_of(const popliner_chain *chain, size_t operation) {
    return chain->unit_of_operation[operation];
}

bool popliner_chain_has_operations(const popliner_chain *chain, size_t unit) {
    return chain->unit_operations_start[unit] < chain->unit_operations_start[unit + 1];
}

/* Every step gets the operation that it runs for, or that of the last step that has one, or, before
 * all of them, the first one; PL_NONE throughout if there is none. */
static bool place_steps(popliner_chain *chain, const popliner_operations *operations) {
    chain->num_steps = operations->num_steps;
    chain->operation_of_step = pl_new_array(chain->num_steps, sizeof(uint32_t));
    if (chain->operation_of_step == NULL)
        return false;
    uint32_t current = PL_NONE;
    for (size_t step = 0; step < chain->num_steps && current == PL_NONE; step++)
        current = operations->step_operation[step];
    for (size_t step = 0; step < chain->num_steps; step++) {
        if (operations->step_operation[step] != PL_NONE)
            current = operations->step_operation[step];
        chain->operation_of_step[step] = current;
    }
    return true;
}

/* Places of operations in no layer while the full chain is being made. */
static const uint32_t PLACE_HEAD = 0;
static const uint32_t PLACE_TAIL = UINT32_MAX - 1;
static const uint32_t PLACE_UNKNOWN = UINT32_MAX;

/* The layer whose variables the operation touches most, or PLACE_UNKNOWN. touched[] marks the
 * variables of this operation with `mark`; bytes[] is room for one number per layer. */
static uint32_t most_touched_layer(const popliner_profile *p, const pl_usage *usage,
                                   popliner_operation operation, uint32_t *touched, uint32_t mark,
                                   uint64_t *bytes) {
    memset(bytes, 0, usage->num_units * sizeof *bytes);
    for (size_t k = 0; k < operation.num_programs; k++) {
        uint32_t program = operation.programs[k];
        for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
             l++) {
            uint32_t list = p->program_list[l];
            for (uint64_t i = p->list_start[list]; i < p->list_start[list + 1]; i++) {
                uint32_t variable = p->list_variable[i];
                if (touched[variable] == mark)
                    continue;
                touched[variable] = mark;
                for (uint32_t set = usage->variable_set[variable]; set != 0;
                     set = usage->sets.rest[set])
                    bytes[usage->sets.last_unit[set]] += p->variable_size_bytes[variable];
            }
        }
    }
    uint32_t best = PLACE_UNKNOWN;
    for (uint32_t unit = 1; unit < usage->num_units; unit++) {
        if (bytes[unit] > 0 && (best == PLACE_UNKNOWN || bytes[unit] > bytes[best]))
            best = unit;
    }
    return best;
}

/* Gives every operation its layer, PLACE_HEAD or PLACE_TAIL, by the rule of the full model. */
static popliner_status place_operations(popliner_chain *chain, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        popliner_error *error) {
    size_t first_layer_step = SIZE_MAX;
    size_t last_layer_step = 0;
    uint32_t *touched = pl_new_array(profile->num_variables, sizeof *touched);
    uint64_t *bytes = pl_new_array(popliner_layers_num_units(chain->layers), sizeof *bytes);
    pl_usage usage = {0};
    popliner_status status =
        touched == NULL || bytes == NULL
            ? pl_fail_memory(error, "the chain of layers")
            : pl_usage_of_layers(&usage, profile, operations, chain->layers, error);
    if (status != POPLINER_OK)
        goto done;
    for (size_t i = 0; i < chain->num_operations; i++) {
        if (popliner_layers_unit_of(chain->layers, i) == 0)
            continue;
        popliner_operation operation = popliner_operations_get(operations, i);
        if (operation.first_step < first_layer_step)
            first_layer_step = operation.first_step;
        if (operation.last_step > last_layer_step)
            last_layer_step = operation.last_step;
    }
    uint32_t before = PLACE_HEAD;
    for (size_t i = 0; i < chain->num_operations; i++) {
        popliner_operation operation = popliner_operations_get(operations, i);
        uint32_t place = (uint32_t)popliner_layers_unit_of(chain->layers, i);
        if (place == 0 && first_layer_step != SIZE_MAX && operation.last_step >= first_layer_step) {
            if (operation.first_step > last_layer_step)
                place = PLACE_TAIL;
            else
                place =
                    most_touched_layer(profile, &usage, operation, touched, (uint32_t)i + 1, bytes);
            if (place == PLACE_UNKNOWN)
                place = before;
        }
        chain->unit_of_operation[i] = place;
        before = place;
    }
done:
    pl_usage_free(&usage);
    free(touched);
    free(bytes);
    return status;
}

/* Lists the units that exist, and turns places into their numbers. */
static void number_units(popliner_chain *chain) {
    size_t num_layers = popliner_layers_num_units(chain->layers) - 1;
    bool is_full = chain->model == POPLINER_MEMORY_MODEL_FULL;
    bool has_head = !is_full || num_layers == 0;
    bool has_tail = false;
    for (size_t i = 0; i < chain->num_operations; i++) {
        has_head = has_head || chain->unit_of_operation[i] == PLACE_HEAD;
        has_tail = has_tail || chain->unit_of_operation[i] == PLACE_TAIL;
    }
    if (has_head)
        chain->kind[chain->num_units++] = is_full ? POPLINER_UNIT_HEAD : POPLINER_UNIT_UNLAYERED;
    for (size_t layer = 1; layer <= num_layers; layer++) {
        chain->layer[chain->num_units] = layer;
        chain->kind[chain->num_units++] = POPLINER_UNIT_LAYER;
    }
    if (has_tail)
        chain->kind[chain->num_units++] = POPLINER_UNIT_TAIL;
    for (size_t i = 0; i < chain->num_operations; i++) {
        uint32_t *unit = &chain->unit_of_operation[i];
        if (*unit == PLACE_TAIL)
            *unit = (uint32_t)chain->num_units - 1;
        else if (!has_head)
            (*unit)--; /* the first layer is unit 0 */
    }
}

/* Lists the operations of each unit. */
static bool group_operations(popliner_chain *chain) {
    chain->unit_operations_start =
        pl_new_array(chain->num_units + 1, sizeof *chain->unit_operations_start);
    chain->unit_operation = pl_new_array(chain->num_operations, sizeof *chain->unit_operation);
    size_t *next = pl_new_array(chain->num_units, sizeof *next);
    bool memory =
        chain->unit_operations_start != NULL && chain->unit_operation != NULL && next != NULL;
    if (memory) {
        for (size_t i = 0; i < chain->num_operations; i++)
            chain->unit_operations_start[chain->unit_of_operation[i] + 1]++;
        for (size_t unit = 0; unit < chain->num_units; unit++) {
            next[unit] = chain->unit_operations_start[unit];
            chain->unit_operations_start[unit + 1] += chain->unit_operations_start[unit];
        }
        for (size_t i = 0; i < chain->num_operations; i++)
            chain->unit_operation[next[chain->unit_of_operation[i]]++] = i;
    }
    free(next);
    return memory;
}

popliner_status popliner_chain_create(const popliner_profile *profile,
                                      const popliner_operations *operations,
                                      const popliner_layers *layers, popliner_memory_model model,
                                      popliner_chain **result, popliner_error *error) {
    size_t most_units = popliner_layers_num_units(layers) + 1;
    popliner_status status = POPLINER_OK;
    *result = NULL;
    popliner_chain *chain = calloc(1, sizeof *chain);
    if (chain == NULL)
        return pl_fail_memory(error, "the chain of layers");
    chain->layers = layers;
    chain->model = model;
    chain->num_operations = popliner_operations_count(operations);
    chain->kind = pl_new_array(most_units, sizeof *chain->kind);
    chain->layer = pl_new_array(most_units, sizeof *chain->layer);
    chain->unit_of_operation = pl_new_array(chain->num_operations, sizeof(uint32_t));
    if (chain->kind == NULL || chain->layer == NULL || chain->unit_of_operation == NULL ||
        !place_steps(chain, operations)) {
        status = pl_fail_memory(error, "the chain of layers");
    } else if (model == POPLINER_MEMORY_MODEL_FULL) {
        status = place_operations(chain, profile, operations, error);
    } else {
        for (size_t i = 0; i < chain->num_operations; i++)
            chain->unit_of_operation[i] = (uint32_t)popliner_layers_unit_of(layers, i);
    }
    if (status == POPLINER_OK) {
        number_units(chain);
        if (!group_operations(chain))
            status = pl_fail_memory(error, "the chain of layers");
    }
    if (status == POPLINER_OK)
        *result = chain;
    else
        popliner_chain_free(chain);
    return status;
}
