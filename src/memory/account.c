/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/account.h"

#include "memory/chain_data.h"
#include "memory/unit_usage.h"
#include "model/operations.h"

void pl_account_allocate(pl_account *account, pl_arrays *arrays, size_t num_tiles) {
    account->num_tiles = num_tiles;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        account->truth_bytes[group] = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
        account->explained_bytes[group] = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    }
    account->fixed_bytes = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    account->overheads = pl_arrays_new(arrays, num_tiles, sizeof *account->overheads);
}

static void allocate(pl_account *account, pl_arrays *arrays, const popliner_profile *p) {
    const size_t num_tiles = p->target.num_tiles;
    account->profile = p;
    account->touched = pl_arrays_new(arrays, p->num_variables / 8 + 1, sizeof *account->touched);
    for (size_t category = 0; category < p->num_categories; category++)
        account->is_code[category] = pl_code_group(p, category) < PL_NUM_CODE_GROUPS;
    account->unexplained_start = pl_arrays_new(arrays, num_tiles + 1, sizeof(uint64_t));
    account->apart_start = pl_arrays_new(arrays, num_tiles + 1, sizeof(uint64_t));
    account->apart = p->apart_variable;
    pl_account_allocate(account, arrays, num_tiles);
}

/* Counts the code of all operations, and marks the variables that they touch. */
static void explain(pl_account *account, pl_arrays *arrays, const pl_chain *chain) {
    pl_arrays own = {0};
    pl_code_counter counter;
    pl_code_counter_begin(&counter, &own, chain->model, chain->profile);
    for (size_t i = 0; !own.failed && i < chain->num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(chain->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++)
            pl_code_counter_add(&counter, operation->programs[k], account->explained_bytes);
    }
    if (!own.failed)
        pl_code_counter_finish(&counter, account->explained_bytes);
    for (size_t i = 0; i < chain->profile->num_variables; i++)
        if (chain->usage->variable_set[i] != 0)
            account->touched[i / 8] |= (uint8_t)(1u << i % 8);
    pl_arrays_end(&own, arrays);
}

/* Classifies every variable: code, touched by an operation, or neither. */
static void sort_variables(pl_account *account, pl_arrays *arrays, const popliner_profile *p) {
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
                if (!pl_arrays_grow(arrays, &account->unexplained, &capacity, count + 1,
                                    sizeof *account->unexplained))
                    return;
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
}

void pl_account_create(pl_account *account, pl_arrays *arrays, const pl_chain *chain) {
    if (!chain->model->follows_account)
        return;
    allocate(account, arrays, chain->profile);
    if (!arrays->failed)
        explain(account, arrays, chain);
    if (!arrays->failed)
        sort_variables(account, arrays, chain->profile);
}
