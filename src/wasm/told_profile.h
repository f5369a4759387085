/* The stages of a profile, as a page has them: enough of the profile for its costs and
 * certificates.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_WASM_TOLD_PROFILE_H
#define PL_WASM_TOLD_PROFILE_H

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "model/operations.h"
#include "profile/profile_data.h"

typedef struct pl_told_profile {
    pl_chain chain; /* first: src/wasm/told_profile.c takes it for the whole */
    bool first_may_be_alone;
    size_t *ipus_start; /* [units + 1] into ipus: those of the profile, by unit */
    uint32_t *ipus;
    popliner_profile profile;
    pl_memory_model model;
    pl_layers layers;
    pl_operations operations;
    pl_stage_details details;
    uint64_t *cycles; /* of all stages, or NULL */
    pl_arrays arrays; /* own all of these */
} pl_told_profile;

/* Names, NUL-terminated, one after another: of the memory model, of the categories, and those that
 * the numbers have. */
typedef struct pl_told_names {
    char *texts; /* owned by the caller, who keeps them */
    size_t length;
} pl_told_names;

/* Reads the columns of a page: the facts, cuts and cycles of its chain, then all of one of its
 * `stages`, as src/page/page_stages.c writes them. Returns NULL if memory is short, or they do not
 * fit. Free with pl_told_profile_free. O(numbers). */
pl_told_profile *pl_told_profile_read(const double *numbers, size_t count, pl_told_names names,
                                      const char **unit_names, size_t num_units);
void pl_told_profile_free(pl_told_profile *told);

#endif
