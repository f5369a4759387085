/* Structures that the caller fills, and that may get further members in later versions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_STRUCTS_H
#define PL_BASE_STRUCTS_H

#include "popliner/error.h"

/* Copies the caller's structure over *own, a structure of own_size bytes that holds the defaults
 * and begins with its struct_size. The caller's may be shorter, if the program was compiled with an
 * older header: then the other members keep their defaults. NULL keeps all defaults. `type` is the
 * name of the structure, for example "popliner_solver_options". Errors: USAGE for a struct_size
 * that was never set, or is larger than own_size. */
popliner_status pl_struct_take(void *own, size_t own_size, const void *callers, const char *type,
                               popliner_error *error);

/* Copies *own to the caller's structure, as much as fits, and keeps its struct_size. Errors: USAGE
 * as for pl_struct_take. */
popliner_status pl_struct_fill(void *callers, const void *own, size_t own_size, const char *type,
                               popliner_error *error);

#endif
