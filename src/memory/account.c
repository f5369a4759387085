/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/account.h"

#include <string.h>

#include "memory/chain_data.h"
#include "memory/unit_usage.h"

void pl_account_allocate(pl_account *account, pl_arrays *arrays, size_t num_tiles) {
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        account->truth_bytes[group] = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    account->fixed_bytes = pl_arrays_new(arrays, num_tiles, sizeof(uint64_t));
    account->overheads = pl_arrays_new(arrays, num_tiles, sizeof *account->overheads);
}

/* Adds up the always-live variables: code, and what no operation touches. */
static void sort_variables(pl_account *account, const popliner_profile *p) {
    size_t end_apart = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
             i++) {
            const int group = account->group[p->variable_category[i]];
            if (!p->class_always_live[p->variable_class[i]])
                continue;
            if (group < PL_NUM_CODE_GROUPS)
                account->truth_bytes[group][tile] += p->variable_size_bytes[i];
            else if (account->variable_set[i] == 0)
                account->fixed_bytes[tile] += p->variable_size_bytes[i];
        }
        while (end_apart < p->num_apart &&
               p->apart_variable[end_apart] < p->tile_variables_start[tile + 1])
            end_apart++;
        account->apart_start[tile + 1] = end_apart;
        const uint32_t *apart;
        const size_t num_apart = pl_account_apart(account, tile, &apart);
        account->overheads[tile] = pl_overhead_of_tile(p, tile, apart, num_apart);
    }
}

void pl_account_create(pl_account *account, pl_arrays *arrays, const pl_chain *chain) {
    const popliner_profile *p = chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    pl_account_allocate(account, arrays, num_tiles);
    if (arrays->failed || !pl_chain_is_full(chain))
        return;
    account->profile = p;
    account->variable_set = chain->usage->variable_set;
    for (size_t category = 0; category < p->num_categories; category++)
        account->group[category] = pl_code_group(p, category);
    account->apart_start = pl_arrays_new(arrays, num_tiles + 1, sizeof(uint64_t));
    account->apart = p->apart_variable;
    if (!arrays->failed)
        sort_variables(account, p);
}
