/* A list of the arrays of a structure of arrays, for code that treats all alike: freeing, storing
 * and loading.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_FIELDS_H
#define PL_BASE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pl_field {
    const char *name;   /* for example "program_name" */
    void *pointer;      /* the address of the pointer to the array, whatever its item type */
    size_t item_size;   /* bytes */
    size_t *count;      /* the address of the count that sizes the array */
    size_t extra_items; /* 1 for arrays of starts, which hold count + 1 items */
} pl_field;

/* At least the number of fields of the largest structure. */
enum { PL_MAX_FIELDS = 96 };

/* Return and set the array of a field; neither copies. */
void *pl_field_items(const pl_field *field);
void pl_field_set_items(const pl_field *field, void *items);

/* Grows the arrays of all fields, which have space for *capacity items each, to at least `needed`
 * items, like pl_grow. False if memory is short. */
bool pl_fields_reserve(const pl_field *fields, size_t num_fields, size_t *capacity, size_t needed);

/* Allocates the arrays that are NULL, all 0. False if memory is short. */
bool pl_fields_allocate(const pl_field *fields, size_t num_fields);

/* Frees the arrays of all fields and sets them to NULL. */
void pl_fields_free(const pl_field *fields, size_t num_fields);

#endif
