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

/* The reason why a program belongs to no operation that counts, or memory is unattributed. */
typedef enum pl_missing_reason {
    PL_MISSING_NO_DEBUG_ID,     /* its program has no debug id */
    PL_MISSING_UNKNOWN_CONTEXT, /* the debug id is not in the debug information */
    PL_MISSING_NO_OPERATION,    /* no context above it is an operation */
    PL_MISSING_NO_LAYER,        /* its operation is in no layer */
    PL_MISSING_UNTOUCHED,       /* data that no program touches */
    PL_MISSING_COMPILER,        /* the compiler's own: no data of the model, nor of a program */
    PL_NUM_MISSING_REASONS,
} pl_missing_reason;

/* An operation as it is stored. A string is the offset of its first byte in `strings`. */
typedef struct pl_operation_row {
    uint64_t debug_context;
    uint64_t is_tensor; /* 0 or 1; so large, as there is no padding in a row */
    uint32_t name;
    uint32_t inputs;
    uint32_t first_step;
    uint32_t last_step;
    uint32_t programs_start;  /* into program */
    uint32_t unlowered_start; /* into unlowered */
} pl_operation_row;

struct pl_operations {
    pl_arrays arrays; /* own all arrays below */
    size_t count;
    uint8_t of_framework;   /* 0 or 1 */
    pl_operation_row *rows; /* [count + 1]; the last one only ends what the one before it has */
    char *strings;
    size_t strings_length;
    size_t num_programs;
    uint32_t *program;
    /* Without a framework, the unlowered variables that each touches, whose names may tell its
     * layer: in the order in which it touches them. Else none. */
    size_t num_unlowered;
    uint32_t *unlowered;

    /* Why the debug id of each program leads to no operation, or NO_LAYER if it does; one in a
     * called function may still belong to the Call. Each is a pl_missing_reason. */
    size_t num_reasons;
    uint8_t *program_reason;

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

/* Fills `unlowered`, and where that of each operation starts, which is 0. Only without a framework.
 * Cost: one pass over what programs touch. */
void pl_operations_list_unlowered(pl_operations *operations, const popliner_profile *profile);

/* True if every index is in range for the profile. */
bool pl_operations_check(const pl_operations *operations, const popliner_profile *profile);

/* Makes `items` again, once all other arrays are complete and will not move. */
void pl_operations_complete(pl_operations *operations);

#endif
