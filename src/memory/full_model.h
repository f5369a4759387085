/* What the full memory model knows of a profile beyond its operations: the part of the compiler's
 * account that no operation explains.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_FULL_MODEL_H
#define PL_MEMORY_FULL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/code.h"
#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* By tile. For a group of code, `truth` is what the compiler's always-live variables of the group
 * take, `explained` what the programs of all operations explain. A stage whose own programs explain
 * e bytes of the group has
 *     min(e, truth) + max(0, truth - explained)
 * of it: what nothing explains is there in every stage, and no stage has more than the whole. For
 * all operations together this is the truth, whichever of the two is larger. The second summand of
 * all groups, and all other always-live variables that no operation touches, are `fixed`. */
typedef struct pl_full_model {
    size_t num_tiles;
    uint64_t *truth_bytes[PL_NUM_CODE_GROUPS];
    uint64_t *explained_bytes[PL_NUM_CODE_GROUPS];
    uint64_t *fixed_bytes;

    /* [num_variables]: bits of how a stage has to count the variable. */
    uint8_t *variable_flags;

    /* The variables that are not always live and that no operation touches, by tile. */
    uint64_t *unexplained_start; /* [num_tiles + 1] */
    uint32_t *unexplained;
} pl_full_model;

enum {
    PL_VARIABLE_IS_CODE = 1,        /* always live, of a group of code: counted there */
    PL_VARIABLE_IS_TOUCHED = 2,     /* some operation's program touches it */
    PL_VARIABLE_IS_COMPUTED_ON = 4, /* some operation's program that is no host copy touches it */
};

/* Finds out; zero-initialise before, free with pl_full_model_free, also after an error. Errors:
 * MEMORY. Cost: one pass over the variables and over what programs touch. */
popliner_status pl_full_model_create(pl_full_model *model, const popliner_profile *profile,
                                     const popliner_operations *operations, popliner_error *error);
void pl_full_model_free(pl_full_model *model);

/* Whether a program makes a variable count where it runs. A copy from or to the host does not if
 * anything else touches the variable: each stage copies what it computes on, wherever the one copy
 * of the whole model is. */
static inline bool pl_full_model_counts(const pl_full_model *model, const popliner_profile *profile,
                                        uint32_t program, uint32_t variable) {
    return profile->program_type[program] != POPLINER_PROGRAM_STREAM_COPY_MID ||
           (model->variable_flags[variable] & PL_VARIABLE_IS_COMPUTED_ON) == 0;
}

/* Whether a variable is data of a stage whose operations touch it, or do not. */
static inline bool pl_full_model_has_data(const pl_full_model *model,
                                          const popliner_profile *profile, size_t variable,
                                          bool is_touched) {
    uint8_t flags = model->variable_flags[variable];
    if (profile->class_always_live[profile->variable_class[variable]])
        return is_touched && (flags & PL_VARIABLE_IS_CODE) == 0;
    return is_touched || (flags & PL_VARIABLE_IS_TOUCHED) == 0;
}

/* Bytes of a group on a tile in a stage that explains so many itself, without the fixed part. */
static inline uint64_t pl_full_model_limit(const pl_full_model *model, int group, size_t tile,
                                           uint64_t explained_bytes) {
    uint64_t truth_bytes = model->truth_bytes[group][tile];
    return explained_bytes < truth_bytes ? explained_bytes : truth_bytes;
}

#endif
