/* Replaces profiles and the memory of their stages in builds without them (POPLINER_PROFILES=OFF):
 * answers about costs refer to these functions, but do not call them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"
#include "memory/chain_data.h"
#include "memory/placement.h"
#include "memory/stage_details.h"
#include "popliner/profile.h"

static popliner_status fail_absent(popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "profiles are beyond this libpopliner, which was built without them "
                   "(POPLINER_PROFILES=OFF)");
}

popliner_status popliner_profile_get(const popliner_profile *profile, popliner_item kind,
                                     size_t index, void *result, popliner_error *error) {
    (void)profile;
    (void)kind;
    (void)index;
    (void)result;
    return fail_absent(error);
}

popliner_status pl_stage_ipus_count(const pl_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error) {
    (void)chain;
    (void)stages;
    (void)num_stages;
    *num_ipus = 0;
    return fail_absent(error);
}

popliner_status pl_stage_detail_measure(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        popliner_stage_detail *detail, popliner_error *error) {
    (void)meter;
    (void)pipeline;
    (void)stages;
    (void)num_stages;
    *detail = (popliner_stage_detail){0};
    return fail_absent(error);
}

popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage) {
    (void)details;
    (void)profile;
    (void)pipeline;
    (void)stage;
    return (popliner_stage_detail){0};
}

uint64_t pl_placer_data_begin(const popliner_profile *profile, uint64_t executable_bytes) {
    (void)profile;
    return executable_bytes;
}
