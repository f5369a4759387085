/* Where in the chain operations in no layer belong, by what they touch.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PLACING_H
#define PL_MEMORY_PLACING_H

#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* A place_operations of pl_memory_model, for a chain with a head and a tail; pl_chain_create
 * tells the rule of the full model, which this is. Errors: USAGE if the variables are not loaded;
 * MEMORY. Cost: O(operations), and one pass over the variables that programs touch. */
popliner_status pl_place_by_touches(popliner_chain *chain, const popliner_profile *profile,
                                    const popliner_operations *operations, popliner_error *error);

#endif
