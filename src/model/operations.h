/* Finding the operations of a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_OPERATIONS_H
#define PL_MODEL_OPERATIONS_H

#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

/* Groups the programs by the nearest operation context above their debug context: contexts of layer
 * `popart` or `xla_op`. An outlined operation is listed once for each call under the name that it
 * has there; a Call operation owns the programs of the body that it calls, too.
 *
 * When no program belongs to such a context (a program written in Poplar directly, or no `info`),
 * there is one operation for each distinct debug id of the programs instead, named after its first
 * named program or compute set. NULL `info` is allowed.
 *
 * Errors: MEMORY. Cost: O(steps * depth of calls + contexts). */
popliner_status pl_operations_find(const popliner_profile *profile, const pl_debug_info *info,
                                   popliner_operations **operations, popliner_error *error);
void pl_operations_free(popliner_operations *operations);

#endif
