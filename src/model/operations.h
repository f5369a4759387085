/* Finding the operations of a profile, and what their list is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_OPERATIONS_H
#define PL_MODEL_OPERATIONS_H

#include <stdbool.h>

#include "base/fields.h"
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

/* ---- The list ---- */

/* How the debug id of a program leads to an operation, or fails to. */
typedef enum pl_standing {
    PL_STANDING_IN_OPERATION,
    PL_STANDING_NO_DEBUG_ID,
    PL_STANDING_UNKNOWN_CONTEXT,
    PL_STANDING_NO_OPERATION,
} pl_standing;

/* Structures of arrays, so that saving and loading treat them like those of a profile. A string is
 * the offset of its first byte in `strings`. */
struct popliner_operations {
    size_t count;
    uint8_t of_framework; /* 0 or 1 */
    char *strings;
    size_t strings_length;
    size_t strings_capacity;
    uint32_t *name;
    uint32_t *inputs;
    uint64_t *debug_context;
    uint8_t *is_tensor;
    uint32_t *first_step;
    uint32_t *last_step;
    uint32_t *programs_start; /* [count + 1] into program */
    size_t num_programs;
    uint32_t *program;

    /* Why each program belongs to no operation by itself, or PL_STANDING_IN_OPERATION; one in a
     * called function may belong to the Call all the same. */
    size_t num_standings;
    uint8_t *program_standing;

    /* The operation that each step runs for, at its own call if it is in a called function, or
     * PL_NONE; the operations of the Calls around it own it, too. */
    size_t num_steps;
    uint32_t *step_operation;

    /* As they are handed out, [count]; made of the above by pl_operations_complete. */
    popliner_operation *items;
};

/* The operation in place `index` < count. */
static inline const popliner_operation *pl_operation_at(const popliner_operations *operations,
                                                        size_t index) {
    return &operations->items[index];
}

/* Fills fields[PL_MAX_FIELDS] with every array of the list and returns how many they are. */
size_t pl_operations_fields(popliner_operations *operations, pl_field *fields);

/* Checks that every index is in range for a profile of so many programs and steps. */
bool pl_operations_check(const popliner_operations *operations, size_t num_programs,
                         size_t num_steps);

/* Makes what is handed out, once all arrays are there and will not move; or makes it again. False
 * without memory. */
bool pl_operations_complete(popliner_operations *operations);

#endif
