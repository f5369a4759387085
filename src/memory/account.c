/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/account.h"

#include <stdlib.h>

#include "memory/unit_usage.h"
#include "model/operations.h"

void pl_account_free(pl_account *account) {
    pl_arrays_free(&account->arrays);
    free(account->unexplained);
    *account = (pl_account){0};
}

bool pl_account_allocate(pl_account *account, size_t num_tiles) {
    pl_arrays *own = &account->arrays;
    account->num_tiles = num_tiles;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        account->truth_bytes[group] = pl_arrays_new(own, num_tiles, sizeof(uint64_t));
        account->explained_bytes[group] = pl_arrays_new(own, num_tiles, sizeof(uint64_t));
    }
    account->fixed_bytes = pl_arrays_new(own, num_tiles, sizeof(uint64_t));
    account->overheads = pl_arrays_new(own, num_tiles, sizeof *account->overheads);
    return !own->failed;
}

static bool allocate(pl_account *account, const popliner_profile *p) {
    const size_t num_tiles = p->target.num_tiles;
    pl_arrays *own = &account->arrays;
    account->profile = p;
    account->touched = pl_arrays_new(own, p->num_variables / 8 + 1, sizeof *account->touched);
    for (size_t category = 0; category < p->num_categories; category++)
        account->is_code[category] = pl_code_group(p, category) < PL_NUM_CODE_GROUPS;
    account->unexplained_start = pl_arrays_new(own, num_tiles + 1, sizeof(uint64_t));
    account->apart_start = pl_arrays_new(own, num_tiles + 1, sizeof(uint64_t));
    account->apart = p->apart_variable;
    return pl_account_allocate(account, num_tiles);
}

static void mark_touched(pl_account *account, size_t variable) {
    account->touched[variable / 8] |= (uint8_t)(1u << variable % 8);
}

/* Counts the code of all operations, and marks the variables that they touch. */
static bool explain(pl_account *account, const pl_memory_model *model, const popliner_profile *p,
                    const pl_operations *operations, const pl_operation_usage *usage) {
    pl_code_counter counter = {0};
    bool memory = pl_code_counter_begin(&counter, model, p);
    if (!memory)
        goto done;
    pl_code_counter_reset(&counter);
    for (size_t i = 0; i < pl_operations_count(operations); i++) {
        const popliner_operation *operation = pl_operation_at(operations, i);
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint32_t program = operation->programs[k];
            if (counter.program_seen[program] == counter.number)
                continue;
            pl_code_counter_add(&counter, program, account->explained_bytes);
            pl_touches touches = pl_touches_of(p, program);
            uint32_t variable;
            while (usage == NULL && pl_touches_next(&touches, &variable))
                mark_touched(account, variable);
        }
    }
    pl_code_counter_finish(&counter, account->explained_bytes);
    for (size_t i = 0; usage != NULL && i < p->num_variables; i++)
        if (usage->variable_set[i] != 0)
            mark_touched(account, i);
done:
    pl_code_counter_free(&counter);
    return memory;
}

/* Classifies every variable: code, touched by an operation, or neither. */
static bool sort_variables(pl_account *account, const popliner_profile *p) {
    int group_of_category[UINT8_MAX + 1];
    size_t count = 0;
    size_t capacity = 0;
    size_t end_apart = 0;
    for (size_t category = 0; category < p->num_categories && category <= UINT8_MAX; category++)
        group_of_category[category] = pl_code_group(p, category);
    for (size_t tile = 0; tile < account->num_tiles; tile++) {
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
             i++) {
            int group = group_of_category[p->variable_category[i]];
            bool is_touched = pl_account_is_touched(account, i);
            if (!p->class_always_live[p->variable_class[i]]) {
                if (is_touched)
                    continue;
                if (!pl_grow(&account->unexplained, &capacity, count + 1,
                             sizeof *account->unexplained))
                    return false;
                account->unexplained[count++] = (uint32_t)i;
            } else if (group < PL_NUM_CODE_GROUPS) {
                account->truth_bytes[group][tile] += p->variable_size_bytes[i];
            } else if (!is_touched) {
                account->fixed_bytes[tile] += p->variable_size_bytes[i];
            }
        }
        while (end_apart < p->num_apart &&
               p->apart_variable[end_apart] < p->tile_variables_start[tile + 1])
            end_apart++;
        account->apart_start[tile + 1] = end_apart;
        account->unexplained_start[tile + 1] = count;
        const uint32_t *apart;
        const size_t num_apart = pl_account_apart(account, tile, &apart);
        account->overheads[tile] = pl_overhead_of_tile(p, tile, apart, num_apart);
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
            uint64_t truth = account->truth_bytes[group][tile];
            uint64_t explained = account->explained_bytes[group][tile];
            account->fixed_bytes[tile] += truth > explained ? truth - explained : 0;
        }
    }
    return true;
}

bool pl_account_create(pl_account *account, const pl_memory_model *model,
                       const popliner_profile *profile, const pl_operations *operations,
                       const pl_operation_usage *usage) {
    return !model->follows_account ||
           (allocate(account, profile) && explain(account, model, profile, operations, usage) &&
            sort_variables(account, profile));
}
