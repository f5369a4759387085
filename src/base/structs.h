/* Structures that the caller makes, and that may get further members in later versions.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_STRUCTS_H
#define PL_BASE_STRUCTS_H

#include <stddef.h>

#include "popliner/error.h"

/* Copies what the caller filled over *own, a structure of own_size bytes that holds the defaults
 * and begins with its struct_size. The caller's may be shorter, where the program was compiled with
 * an older header: then the rest keeps its defaults. NULL leaves all of them.
 * `type` is the name of the structure, "popliner_solver_options". Errors: USAGE for a struct_size
 * that was never set, or is larger than what this library knows. */
popliner_status pl_struct_take(void *own, size_t own_size, const void *callers, const char *type,
                               popliner_error *error);

/* The other way: copies *own to the caller's, as much of it as that has room for. Its struct_size
 * stays. Errors: USAGE as above. */
popliner_status pl_struct_fill(void *callers, const void *own, size_t own_size, const char *type,
                               popliner_error *error);

#endif
