/* The compiler's account of a profile, and the part of it that operations explain.
 *
 * With a memory model that follows the account, every stage has the unattributed memory, and no
 * stage has more code than the compiler counts. For any other model the account is empty: it adds
 * nothing and limits nothing, so that callers need not distinguish the models.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_ACCOUNT_H
#define PL_MEMORY_ACCOUNT_H

#include "base/growth.h"
#include "memory/code.h"
#include "memory/memory_model.h"
#include "memory/needs.h"
#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* By tile. For a group of code, `truth` is the bytes of the compiler's always-live variables of the
 * group, `explained` those that the programs of all operations explain. A stage whose own programs
 * explain e bytes of the group has
 *
 *       min(e, truth) + max(0, truth - explained)
 *
 * of it: unattributed code is in every stage, and no stage has more than the total. For all
 * operations together this is the truth, whichever of the two is larger. `fixed` is the second
 * summand of all groups, and all other always-live variables that no operation touches. */
typedef struct pl_account {
    size_t num_tiles; /* 0 for an empty account, whose arrays are all NULL */
    uint64_t *truth_bytes[PL_NUM_CODE_GROUPS];
    uint64_t *explained_bytes[PL_NUM_CODE_GROUPS];
    uint64_t *fixed_bytes;
    pl_overhead *overheads;

    /* like the lists below NULL if the account was loaded */
    const popliner_profile *profile;
    uint8_t *touched;                /* bits by variable: some operation touches it */
    bool is_code[PL_MAX_CATEGORIES]; /* by category: of a group of code */

    /* The not always-live variables that no operation touches, by tile. */
    uint64_t *unexplained_start; /* [num_tiles + 1] */
    uint32_t *unexplained;

    /* The variables that lie apart, by tile: data that is not always live and must share no memory
     * element with data that is (docs/internals/layout.md). Ascending. */
    uint64_t *apart_start; /* [num_tiles + 1] */
    const uint32_t *apart; /* the profile's */
} pl_account;

/* Fills the account, which is zero before, with arrays in `arrays`; leaves it empty if the model of
 * the chain does not follow it. Cost: one pass over the variables. */
void pl_account_create(pl_account *account, pl_arrays *arrays, const pl_chain *chain);

/* Allocates the arrays by tile, for an account that is loaded. */
void pl_account_allocate(pl_account *account, pl_arrays *arrays, size_t num_tiles);

/* True if an always-live variable is counted as code, so that it is no data. */
static inline bool pl_account_is_code(const pl_account *account, size_t variable) {
    const popliner_profile *p = account->profile;
    return account->touched != NULL && account->is_code[p->variable_category[variable]] &&
           p->class_always_live[p->variable_class[variable]] != 0;
}

static inline bool pl_account_is_touched(const pl_account *account, size_t variable) {
    return (account->touched[variable / 8] >> variable % 8 & 1) != 0;
}

/* True if a variable is data of a stage whose operations touch it, or do not. */
static inline bool pl_account_is_data(const pl_account *account, const popliner_profile *profile,
                                      size_t variable, bool is_touched) {
    if (account->touched == NULL)
        return is_touched;
    if (profile->class_always_live[profile->variable_class[variable]])
        return is_touched && !pl_account_is_code(account, variable);
    return is_touched || !pl_account_is_touched(account, variable);
}

/* Sets *variables to those of a tile in a list by tile, which may be NULL; returns their number. */
static inline size_t pl_list_of_tile(const uint32_t *list, const uint64_t *start, size_t tile,
                                     const uint32_t **variables) {
    *variables = list == NULL ? NULL : list + start[tile];
    return list == NULL ? 0 : (size_t)(start[tile + 1] - start[tile]);
}

/* Sets *variables to the not always-live variables of a tile that no operation touches; returns
 * their number. */
static inline size_t pl_account_unexplained(const pl_account *account, size_t tile,
                                            const uint32_t **variables) {
    return pl_list_of_tile(account->unexplained, account->unexplained_start, tile, variables);
}

/* Sets *variables to the variables of a tile that lie apart; returns their number. */
static inline size_t pl_account_apart(const pl_account *account, size_t tile,
                                      const uint32_t **variables) {
    return pl_list_of_tile(account->apart, account->apart_start, tile, variables);
}

/* Returns the bytes of a group on a tile in a stage that explains explained_bytes, without the
 * fixed part. */
static inline uint64_t pl_account_limit(const pl_account *account, int group, size_t tile,
                                        uint64_t explained_bytes) {
    if (account->truth_bytes[group] == NULL)
        return explained_bytes;
    uint64_t truth_bytes = account->truth_bytes[group][tile];
    return explained_bytes < truth_bytes ? explained_bytes : truth_bytes;
}

/* Returns the unattributed code of a group on a tile, which every stage has: part of
 * pl_account_fixed. */
static inline uint64_t pl_account_fixed_code(const pl_account *account, int group, size_t tile) {
    if (account->truth_bytes[group] == NULL)
        return 0;
    uint64_t truth_bytes = account->truth_bytes[group][tile];
    uint64_t explained_bytes = account->explained_bytes[group][tile];
    return truth_bytes > explained_bytes ? truth_bytes - explained_bytes : 0;
}

/* Returns the layout overhead of a tile. */
static inline pl_overhead pl_account_overhead(const pl_account *account, size_t tile) {
    const pl_overhead none = {0};
    return account->overheads == NULL ? none : account->overheads[tile];
}

/* Returns the bytes of a tile that every stage has. */
static inline uint64_t pl_account_fixed(const pl_account *account, size_t tile) {
    return account->fixed_bytes == NULL ? 0 : account->fixed_bytes[tile];
}

#endif
