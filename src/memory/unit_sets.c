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

static popliner_status group_operations(pl_usage *usage, const popliner_operations *operations,
                                        const popliner_layers *layers, popliner_error *error) {
    size_t count = popliner_operations_count(operations);
    usage->unit_operations_start =
        pl_new_array(usage->num_units + 1, sizeof *usage->unit_operations_start);
    usage->unit_operation = pl_new_array(count, sizeof *usage->unit_operation);
    size_t *next = pl_new_array(usage->num_units, sizeof *next);
    if (usage->unit_operations_start == NULL || usage->unit_operation == NULL || next == NULL) {
        free(next);
        return pl_fail_memory(error, "the layers");
    }
    for (size_t i = 0; i < count; i++)
        usage->unit_operations_start[popliner_layers_unit_of(layers, i) + 1]++;
    for (size_t unit = 0; unit < usage->num_units; unit++) {
        next[unit] = usage->unit_operations_start[unit];
        usage->unit_operations_start[unit + 1] += usage->unit_operations_start[unit];
    }
    for (size_t i = 0; i < count; i++)
        usage->unit_operation[next[popliner_layers_unit_of(layers, i)]++] = i;
    free(next);
    return POPLINER_OK;
}

popliner_status pl_usage_find(pl_usage *usage, const popliner_profile *p,
                              const popliner_operations *operations, const popliner_layers *layers,
                              popliner_error *error) {
    usage->num_units = popliner_layers_num_units(layers);
    popliner_status status = group_operations(usage, operations, layers, error);
    if (status != POPLINER_OK)
        return status;
    usage->program_set = pl_new_array(p->num_programs, sizeof *usage->program_set);
    usage->variable_set = pl_new_array(p->num_variables, sizeof *usage->variable_set);
    if (usage->program_set == NULL || usage->variable_set == NULL ||
        !pl_unit_sets_begin(&usage->sets))
        return pl_fail_memory(error, "the layers of the variables");
    pl_unit_sets *sets = &usage->sets;
    for (size_t unit = 0; unit < usage->num_units; unit++) {
        pl_unit_sets_begin_unit(sets, (uint32_t)unit);
        for (size_t i = usage->unit_operations_start[unit];
             i < usage->unit_operations_start[unit + 1]; i++) {
            popliner_operation operation =
                popliner_operations_get(operations, usage->unit_operation[i]);
            for (size_t k = 0; k < operation.num_programs; k++) {
                uint32_t program = operation.programs[k];
                uint32_t before = usage->program_set[program];
                if (!pl_unit_sets_add(sets, &usage->program_set[program]))
                    return pl_fail_memory(error, "the layers of the programs");
                if (usage->program_set[program] == before)
                    continue; /* another operation of the unit has it, too */
                for (uint32_t l = p->program_lists_start[program];
                     l < p->program_lists_start[program + 1]; l++) {
                    uint32_t list = p->program_list[l];
                    for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++) {
                        if (!pl_unit_sets_add(sets, &usage->variable_set[p->list_variable[v]]))
                            return pl_fail_memory(error, "the layers of the variables");
                    }
                }
            }
        }
    }
    return POPLINER_OK;
}

void pl_usage_free(pl_usage *usage) {
    pl_unit_sets_free(&usage->sets);
    free(usage->program_set);
    free(usage->variable_set);
    free(usage->unit_operations_start);
    free(usage->unit_operation);
    *usage = (pl_usage){0};
}
