/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_usage.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "model/operations_data.h"
#include "profile/profile_data.h"

/* Adds the current unit to the programs of an operation, and to their variables. */
static bool add_operation(pl_unit_usage *usage, const popliner_profile *p,
                          const pl_account *account, const popliner_operation *operation) {
    pl_unit_sets *sets = &usage->sets;
    for (size_t k = 0; k < operation->num_programs; k++) {
        uint32_t program = operation->programs[k];
        uint32_t before = usage->program_set[program];
        if (!pl_unit_sets_add(sets, &usage->program_set[program]))
            return false;
        if (usage->program_set[program] == before)
            continue; /* another operation of the unit has it, too */
        uint32_t compute_set = p->program_compute_set[program];
        if (compute_set != PL_NONE && !pl_unit_sets_add(sets, &usage->compute_set_set[compute_set]))
            return false;
        pl_account_touches touches = pl_account_touches_of(account, p, program);
        uint32_t variable;
        while (pl_account_touches_next(&touches, &variable)) {
            if (!pl_unit_sets_add(sets, &usage->variable_set[variable]))
                return false;
        }
    }
    return true;
}

/* The operations in the order of their units: order[operations], and where each unit begins:
 * start[num_units + 1]. */
static bool sort_operations(const uint32_t *unit_of_operation, size_t count, size_t num_units,
                            size_t *start, size_t *order) {
    size_t *next = pl_new_array(num_units, sizeof *next);
    if (next == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        start[unit_of_operation[i] + 1]++;
    for (size_t unit = 0; unit < num_units; unit++) {
        next[unit] = start[unit];
        start[unit + 1] += start[unit];
    }
    for (size_t i = 0; i < count; i++)
        order[next[unit_of_operation[i]]++] = i;
    free(next);
    return true;
}

popliner_status pl_unit_usage_find(pl_unit_usage *usage, const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const uint32_t *unit_of_operation, size_t num_units,
                                   const pl_account *account, popliner_error *error) {
    static const pl_account no_account = {0};
    size_t count = popliner_operations_count(operations);
    account = account != NULL ? account : &no_account;
    size_t *start = pl_new_array(num_units + 1, sizeof *start);
    size_t *order = pl_new_array(count, sizeof *order);
    usage->num_units = num_units;
    usage->program_set = pl_new_array(profile->num_programs, sizeof *usage->program_set);
    usage->compute_set_set =
        pl_new_array(profile->num_compute_sets, sizeof *usage->compute_set_set);
    usage->variable_set = pl_new_array(profile->num_variables, sizeof *usage->variable_set);
    bool memory = start != NULL && order != NULL && usage->program_set != NULL &&
                  usage->compute_set_set != NULL && usage->variable_set != NULL &&
                  pl_unit_sets_begin(&usage->sets) &&
                  sort_operations(unit_of_operation, count, num_units, start, order);
    for (size_t unit = 0; memory && unit < num_units; unit++) {
        pl_unit_sets_begin_unit(&usage->sets, (uint32_t)unit);
        for (size_t i = start[unit]; memory && i < start[unit + 1]; i++)
            memory = add_operation(usage, profile, account, pl_operation_at(operations, order[i]));
    }
    free(start);
    free(order);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the layers of the variables");
}

void pl_unit_usage_free(pl_unit_usage *usage) {
    pl_unit_sets_free(&usage->sets);
    free(usage->program_set);
    free(usage->compute_set_set);
    free(usage->variable_set);
    *usage = (pl_unit_usage){0};
}
