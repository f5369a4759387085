/* Distinct names, numbered in order of appearance.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NAMES_H
#define PL_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; free with pl_names_free. */
typedef struct pl_names {
    char **items; /* owned, as are the strings */
    size_t count;
    size_t capacity;
    uint32_t *slots; /* [num_slots]: number + 1 by hash, 0 for an empty one */
    size_t num_slots;
} pl_names;

/* Returns the number of a name, and adds the name if it is new; SIZE_MAX if memory is short.
 * O(length). */
size_t pl_names_number(pl_names *names, const char *name);

void pl_names_free(pl_names *names);

#endif
