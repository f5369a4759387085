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
#include "wasm/json_tokens.h"

typedef struct pl_told_profile {
    pl_chain chain; /* first: src/wasm/told_profile.c takes it for the whole */
    bool first_may_be_alone;
    uint8_t *is_on_ipu; /* [units * IPUs of the profile] */
    popliner_profile profile;
    pl_layers layers;
    pl_operations operations;
    pl_stage_details details;
    pl_arrays arrays; /* own all of these */
} pl_told_profile;

/* Reads the members of a table that are of a profile: the "facts" and "cuts" of its chain, its
 * "categories", the columns of one of its "stages", as src/page/page_stages.c writes them, and
 * their "names_at_peaks". It refers to `json`, which has all texts of the table. Returns NULL if
 * memory is short, or they do not fit. Free with pl_told_profile_free. O(numbers). */
pl_told_profile *pl_told_profile_read(const pl_json_token *table, char *json,
                                      const char **unit_names, size_t num_units);
void pl_told_profile_free(pl_told_profile *told);

#endif
