/* A list of the arrays that a structure of arrays consists of, for code that treats all alike:
 * freeing, storing and loading.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_FIELDS_H
#define PL_BASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pl_field {
    const char *name;   /* "program_name" */
    void *pointer;      /* where the pointer to the array is; its type is the array's own */
    size_t item_size;   /* bytes */
    size_t *count;      /* where the count is that sizes the array */
    size_t extra_items; /* 1 for the arrays of starts, which hold count + 1 items */
} pl_field;

/* Room for the fields of the largest structure. */
enum { PL_MAX_FIELDS = 96 };

/* The array of a field, and giving it another; neither copies. */
void *pl_field_items(const pl_field *field);
void pl_field_set_items(const pl_field *field, void *items);

/* Makes room for at least `needed` items in the arrays of all fields, which have room for *capacity
 * items each; grows as pl_grow does. False when memory is short. */
bool pl_fields_reserve(const pl_field *fields, size_t num_fields, size_t *capacity, size_t needed);

/* Makes the arrays that are missing, all 0. False when memory is short. */
bool pl_fields_allocate(const pl_field *fields, size_t num_fields);

/* Frees the arrays of all fields, which are missing then. */
void pl_fields_free(const pl_field *fields, size_t num_fields);

#endif
