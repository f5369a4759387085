/* Where stages are in a profile of several IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_IPUS_H
#define PL_MEMORY_STAGE_IPUS_H

#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* Marks the IPUs of the profile on which operations of the stages compute, in
 * is_used[target.num_ipus], which is 0; where that is not known, all of them. Returns how many are
 * marked. A stage of more than one was never compiled for one IPU: no tile tells what it would need
 * there. O(steps * runs of their vertices); of a profile of one IPU O(1). */
size_t pl_stage_ipus_mark(const popliner_profile *profile, const popliner_operations *operations,
                          const popliner_chain *chain, const popliner_interval *stages,
                          size_t num_stages, uint8_t *is_used);

/* How many there are. Errors: MEMORY. */
popliner_status pl_stage_ipus_count(const popliner_profile *profile,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error);

#endif
