/* What the list of operations is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MODEL_OPERATIONS_DATA_H
#define PL_MODEL_OPERATIONS_DATA_H

#include "popliner/operations.h"

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
};

#endif
