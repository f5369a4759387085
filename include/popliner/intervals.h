/* popliner: what every stage of a chain would cost.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_INTERVALS_H
#define POPLINER_INTERVALS_H

#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills a table of costs for the chain, in its memory model:
 *   peak   the largest total_bytes of a tile that popliner_stage_measure_units gives for the interval
 *   cut    the bytes of all lowered variables that are not always live and that operations on both
 *          sides of the cut touch (in the full model with its rule for host copies, see
 *          popliner/stage.h)
 * Unit 0 alone is forbidden as a stage when it has no operations. The caller frees *costs.
 *
 * Errors: MEMORY. Cost: one pass over the variables that programs touch, then for each tile
 * O(units * (its variables + steps) + units^2 * steps / 128). */
popliner_status popliner_intervals_measure(const popliner_profile *profile,
                                           const popliner_operations *operations,
                                           const popliner_chain *chain,
                                           const popliner_listener *listener,
                                           popliner_costs **costs, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
