/* PopLiner's view of vertex types: told apart by name and size, but with the code of the last type
 * of their name.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_VERTEX_CODE_H
#define PL_MEMORY_VERTEX_CODE_H

#include <stdint.h>

#include "popliner/error.h"
#include "popliner/profile.h"

typedef struct pl_vertex_kinds {
    uint32_t *kind_of_type; /* [num_vertex_types]: the first type of the same name and size */
    uint32_t *code_of_type; /* [num_vertex_types]: the last type of the same name */
} pl_vertex_kinds;

/* Errors: MEMORY. O(types log types). Free with pl_vertex_kinds_free. */
popliner_status pl_vertex_kinds_find(pl_vertex_kinds *kinds, const popliner_profile *profile,
                                     popliner_error *error);
void pl_vertex_kinds_free(pl_vertex_kinds *kinds);

#endif
