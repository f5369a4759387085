/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "read/profile_data.h"

static bool add_set(pl_unit_sets *sets, uint32_t rest_set, uint32_t last) {
    void *rest = sets->rest;
    void *last_unit = sets->last_unit;
    void *with_current = sets->with_current;
    bool room = sets->count < PL_NONE &&
                pl_reserve(&rest, &sets->rest_capacity, sets->count + 1, sizeof(uint32_t));
    sets->rest = rest;
    room = room && pl_reserve(&last_unit, &sets->last_capacity, sets->count + 1, sizeof(uint32_t));
    sets->last_unit = last_unit;
    room =
        room && pl_reserve(&with_current, &sets->next_capacity, sets->count + 1, sizeof(uint32_t));
    sets->with_current = with_current;
    if (!room)
        return false;
    sets->rest[sets->count] = rest_set;
    sets->last_unit[sets->count] = last;
    sets->with_current[sets->count] = PL_NONE;
    sets->count++;
    return true;
}

bool pl_unit_sets_begin(pl_unit_sets *sets) {
    *sets = (pl_unit_sets){0};
    return add_set(sets, 0, PL_NONE);
}

void pl_unit_sets_free(pl_unit_sets *sets) {
    free(sets->rest);
    free(sets->last_unit);
    free(sets->with_current);
    *sets = (pl_unit_sets){0};
}

void pl_unit_sets_begin_unit(pl_unit_sets *sets, uint32_t unit) {
    sets->current_unit = unit;
    memset(sets->with_current, 0xff, sets->count * sizeof *sets->with_current);
}

bool pl_unit_sets_add(pl_unit_sets *sets, uint32_t *set) {
    if (*set != 0 && sets->last_unit[*set] == sets->current_unit)
        return true;
    if (sets->with_current[*set] == PL_NONE) {
        uint32_t added = (uint32_t)sets->count;
        if (!add_set(sets, *set, sets->current_unit))
            return false;
        sets->with_current[*set] = added;
    }
    *set = sets->with_current[*set];
    return true;
}

/* Adds the current unit to the programs of an operation, and to their variables. */
static bool add_operation(pl_usage *usage, const popliner_profile *p, const pl_full_model *full,
                          popliner_operation operation) {
    pl_unit_sets *sets = &usage->sets;
    for (size_t k = 0; k < operation.num_programs; k++) {
        uint32_t program = operation.programs[k];
        uint32_t before = usage->program_set[program];
        if (!pl_unit_sets_add(sets, &usage->program_set[program]))
            return false;
        if (usage->program_set[program] == before)
            continue; /* another operation of the unit has it, too */
        uint32_t compute_set = p->program_compute_set[program];
        if (compute_set != PL_NONE && !pl_unit_sets_add(sets, &usage->compute_set_set[compute_set]))
            return false;
        for (uint32_t l = p->program_lists_start[program]; l < p->program_lists_start[program + 1];
             l++) {
            uint32_t list = p->program_list[l];
            for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++) {
                uint32_t variable = p->list_variable[v];
                if ((full == NULL || pl_full_model_counts(full, p, program, variable)) &&
                    !pl_unit_sets_add(sets, &usage->variable_set[variable]))
                    return false;
            }
        }
    }
    return true;
}

/* The unit of an operation; `of` is a chain or layers. */
typedef size_t (*unit_function)(const void *of, size_t operation);

static size_t unit_in_chain(const void *of, size_t operation) {
    return popliner_chain_unit_of(of, operation);
}

static size_t unit_in_layers(const void *of, size_t operation) {
    return popliner_layers_unit_of(of, operation);
}

size_t pl_sure_layer(const popliner_layers *layers, size_t operation) {
    static const char guess[] = "deduced_from_following_operation";
    bool is_guess = strcmp(popliner_layers_note(layers, operation), guess) == 0;
    return is_guess ? 0 : popliner_layers_unit_of(layers, operation);
}

static size_t unit_in_sure_layers(const void *of, size_t operation) {
    return pl_sure_layer(of, operation);
}

static popliner_status find_usage(pl_usage *usage, const popliner_profile *profile,
                                  const popliner_operations *operations, size_t num_units,
                                  unit_function unit_of, const void *of, const pl_full_model *full,
                                  popliner_error *error) {
    size_t count = popliner_operations_count(operations);
    usage->num_units = num_units;
    usage->program_set = pl_new_array(profile->num_programs, sizeof *usage->program_set);
    usage->compute_set_set =
        pl_new_array(profile->num_compute_sets, sizeof *usage->compute_set_set);
    usage->variable_set = pl_new_array(profile->num_variables, sizeof *usage->variable_set);
    bool memory = usage->program_set != NULL && usage->compute_set_set != NULL &&
                  usage->variable_set != NULL && pl_unit_sets_begin(&usage->sets);
    for (size_t unit = 0; memory && unit < num_units; unit++) {
        pl_unit_sets_begin_unit(&usage->sets, (uint32_t)unit);
        for (size_t i = 0; memory && i < count; i++) {
            if (unit_of(of, i) == unit)
                memory =
                    add_operation(usage, profile, full, popliner_operations_get(operations, i));
        }
    }
    return memory ? POPLINER_OK : pl_fail_memory(error, "the layers of the variables");
}

popliner_status pl_usage_of_chain(pl_usage *usage, const popliner_profile *profile,
                                  const popliner_operations *operations,
                                  const popliner_chain *chain, const pl_full_model *full,
                                  popliner_error *error) {
    return find_usage(usage, profile, operations, popliner_chain_num_units(chain), unit_in_chain,
                      chain, full, error);
}

popliner_status pl_usage_of_layers(pl_usage *usage, const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const popliner_layers *layers, popliner_error *error) {
    return find_usage(usage, profile, operations, popliner_layers_num_units(layers), unit_in_layers,
                      layers, NULL, error);
}

popliner_status pl_usage_of_sure_layers(pl_usage *usage, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        const popliner_layers *layers, popliner_error *error) {
    return find_usage(usage, profile, operations, popliner_layers_num_units(layers),
                      unit_in_sure_layers, layers, NULL, error);
}

void pl_usage_free(pl_usage *usage) {
    pl_unit_sets_free(&usage->sets);
    free(usage->program_set);
    free(usage->compute_set_set);
    free(usage->variable_set);
    *usage = (pl_usage){0};
}
