/* Finds the operations of a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_OPERATIONS_H
#define PL_MODEL_OPERATIONS_H

#include "base/growth.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

typedef struct pl_operations pl_operations;

/* Groups the programs by the nearest operation context above their debug context: contexts of layer
 * `popart` or `xla_op`. An outlined operation is listed once for each call, with its name there; a
 * Call operation also owns the programs of the body that it calls.
 *
 * If no program has such a context (a program written in Poplar directly, or no `info`), makes one
 * operation for each distinct debug id of the programs instead, named after its first named program
 * or compute set. `info` may be NULL.
 *
 * Errors: MEMORY. Cost: O(steps * depth of calls + contexts). */
popliner_status pl_operations_find(const popliner_profile *profile, const pl_debug_info *info,
                                   pl_operations **operations, popliner_error *error);
void pl_operations_free(pl_operations *operations);

/* ---- The list -------------------------------------------------------------------------------- */

/* Why the debug id of a program leads to no operation, or that it does. */
typedef enum pl_standing {
    PL_STANDING_IN_OPERATION,
    PL_STANDING_NO_DEBUG_ID,
    PL_STANDING_UNKNOWN_CONTEXT,
    PL_STANDING_NO_OPERATION,
} pl_standing;

/* Structures of arrays, so that the same code stores and loads them as a profile. A string is the
 * offset of its first byte in `strings`. */
struct pl_operations {
    pl_arrays arrays; /* own all arrays below */
    size_t count;
    uint8_t of_framework; /* 0 or 1 */
    char *strings;
    size_t strings_length;
    uint32_t *name;
    uint32_t *inputs;
    uint64_t *debug_context;
    uint8_t *is_tensor;
    uint32_t *first_step;
    uint32_t *last_step;
    uint32_t *programs_start; /* [count + 1] into program */
    size_t num_programs;
    uint32_t *program;
    /* Without a framework, the unlowered variables that each touches, whose names may tell its
     * layer: in the order in which it touches them. Else none. */
    size_t num_named;          /* count, or 0 */
    uint32_t *unlowered_start; /* [num_named + 1] into unlowered */
    size_t num_unlowered;
    uint32_t *unlowered;

    /* Why a program belongs to no operation of its own, or PL_STANDING_IN_OPERATION; a program in a
     * called function may still belong to the Call. */
    size_t num_standings;
    uint8_t *program_standing;

    /* The operation that each step runs for, at its own call if it is in a called function, or
     * PL_NONE; the operations of enclosing Calls also own it. */
    size_t num_steps;
    uint32_t *step_operation;

    /* [count]; made by pl_operations_complete. */
    popliner_operation *items;
};

static inline const popliner_operation *pl_operation_at(const pl_operations *operations,
                                                        size_t index) {
    return &operations->items[index];
}

static inline size_t pl_operations_count(const pl_operations *operations) {
    return operations->count;
}

/* Fills fields[PL_MAX_FIELDS] with every array of the list and returns their number. */
size_t pl_operations_fields(pl_operations *operations, pl_field *fields);

/* Fills `unlowered`; unlowered_start is all 0. Cost: one pass over what programs touch, if there is
 * no framework. */
void pl_operations_list_unlowered(pl_operations *operations, const popliner_profile *profile);

/* True if every index is in range for the profile. */
bool pl_operations_check(const pl_operations *operations, const popliner_profile *profile);

/* Makes `items` again, once all other arrays are complete and will not move. */
void pl_operations_complete(pl_operations *operations);

#endif
