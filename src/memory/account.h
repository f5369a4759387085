/* The compiler's account of a profile, and the part of it that operations explain.
 *
 * In the full model every stage has the unattributed memory, and no stage has more code than the
 * compiler counts. PopLiner's model reads none of it: all is 0 there.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_ACCOUNT_H
#define PL_MEMORY_ACCOUNT_H

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/needs.h"
#include "memory/parts.h"
#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* By tile. For a group of code, `truth` is the bytes of the compiler's always-live variables of the
 * group. Where the programs of all operations explain `explained` of it, a stage whose own programs
 * explain e bytes has
 *
 *       min(e, truth) + max(0, truth - explained)
 *
 * of it: unattributed code (fixed_code_bytes of a digest) is in every stage, and no stage has more
 * than the total. For all operations together this is the truth, whichever of the two is larger.
 * `fixed` is all other always-live variables that no operation touches. */
typedef struct pl_account {
    uint64_t *truth_bytes[PL_NUM_CODE_GROUPS];
    uint64_t *fixed_bytes;
    pl_overhead *overheads;

    /* The next ones are NULL if the model does not follow the account, or it was loaded. */
    const popliner_profile *profile;
    const uint32_t *variable_set; /* the operations that touch each variable; not owned */
    int group[PL_MAX_CATEGORIES]; /* by category: pl_code_group */

    /* The variables that lie apart, by tile: data that is not always live and must share no memory
     * element with data that is (docs/internals/layout.md). Ascending. */
    uint64_t *apart_start; /* [num_tiles + 1] */
    const uint32_t *apart; /* the profile's */
} pl_account;

/* Fills the account, which is zero before, with arrays in `arrays`. Cost: one pass over the
 * variables. */
void pl_account_create(pl_account *account, pl_arrays *arrays, const pl_chain *chain);

/* Allocates the arrays by tile, for an account that is loaded. */
void pl_account_allocate(pl_account *account, pl_arrays *arrays, size_t num_tiles);

/* True if an always-live variable is counted as code, so that it is no data. */
static inline bool pl_account_is_code(const pl_account *account, size_t variable) {
    const popliner_profile *p = account->profile;
    return p != NULL && account->group[p->variable_category[variable]] < PL_NUM_CODE_GROUPS &&
           p->class_always_live[p->variable_class[variable]] != 0;
}

/* True if a variable is not always live, and no operation touches it. */
static inline bool pl_account_is_unexplained(const pl_account *account, size_t variable) {
    const popliner_profile *p = account->profile;
    return p != NULL && account->variable_set[variable] == 0 &&
           p->class_always_live[p->variable_class[variable]] == 0;
}

/* Sets *variables to the variables of a tile that lie apart; returns their number. */
static inline size_t pl_account_apart(const pl_account *account, size_t tile,
                                      const uint32_t **variables) {
    *variables = account->apart == NULL ? NULL : account->apart + account->apart_start[tile];
    return account->apart == NULL
               ? 0
               : (size_t)(account->apart_start[tile + 1] - account->apart_start[tile]);
}

#endif
