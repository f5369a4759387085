/* popliner: the operations of the user's model, each with the programs that it was compiled to.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_OPERATIONS_H
#define POPLINER_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations of a profile in the order in which they first run. Independent of the debug
 * information once found. Owned by the caller; free with pl_operations_free. */
typedef struct popliner_operations popliner_operations;

/* One operation. What it points to lives as long as the list. */
typedef struct popliner_operation {
    const char *name;         /* as PopLiner shows it, never empty */
    uint64_t debug_context;   /* id of its context; several operations may share one */
    const char *inputs;       /* names of its inputs joined by '/', "" if none */
    bool is_tensor;           /* not an operation of its own: only moves a tensor */
    const uint32_t *programs; /* ascending, as numbered by the profile's rows from 0 */
    size_t num_programs;      /* at least 1 */
    size_t first_step;        /* liveness step at which one of its programs first runs */
    size_t last_step;         /* the last such step, of all calls */
} popliner_operation;

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

size_t popliner_operations_count(const popliner_operations *operations);

/* The operation in place `index` < count. */
popliner_operation popliner_operations_get(const popliner_operations *operations, size_t index);

/* Whether the operations come from a framework's contexts, rather than from the programs' own. */
bool popliner_operations_are_of_framework(const popliner_operations *operations);

#ifdef __cplusplus
}
#endif

#endif
