/* Growing arrays and text: the few containers everything else is made of.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_GROWTH_H
#define PL_BASE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for at least `num_needed` items of `item_size` bytes in a malloc'ed array, which has
 * room for *capacity of them. `array` is the address of the pointer to it, whatever its items are;
 * the pointer is NULL and *capacity 0 at first. Grows by half as much again, so appending one by
 * one costs O(1) each. False, and nothing changed, when memory is short. */
bool pl_grow(void *array, size_t *capacity, size_t num_needed, size_t item_size);

/* One of several arrays that hold equally many items. */
typedef struct pl_column_room {
    void *array; /* the address of the pointer to it, as for pl_grow */
    size_t item_size;
} pl_column_room;

#define PL_COLUMN_ROOM(pointer)                                                                    \
    { &(pointer), sizeof *(pointer) }

/* The same for arrays that share one capacity. When memory is short for one of them, *capacity and
 * the items stay as they are, and each array is still to be freed by its owner; some may have moved
 * and have room that *capacity does not tell of. */
bool pl_grow_columns(const pl_column_room *columns, size_t num_columns, size_t *capacity,
                     size_t num_needed);

/* calloc for arrays that may be empty: never NULL for lack of items. */
void *pl_new_array(size_t count, size_t item_size);

/* Arrays that one owner frees together. Zero-initialise; free with pl_arrays_free. `failed` is set
 * when memory ran short, after which no more are made: so it has to be asked once, at the end. */
typedef struct pl_arrays {
    struct pl_array_link *last;
    bool failed;
} pl_arrays;

/* Like pl_new_array; the owner frees it. */
void *pl_arrays_new(pl_arrays *arrays, size_t count, size_t item_size);
void pl_arrays_free(pl_arrays *arrays);

/* Growing text, always NUL-terminated once something was appended. Zero-initialise; free `data`.
 * `failed` is set when memory ran short, after which appending does nothing. */
typedef struct pl_text {
    char *data;
    size_t length; /* bytes without the NUL */
    size_t capacity;
    bool failed;
} pl_text;

void pl_text_append(pl_text *text, const char *bytes, size_t length);
void pl_text_add(pl_text *text, const char *string);
void pl_text_add_number(pl_text *text, uint64_t number); /* as %u would, but at once */
void pl_text_format(pl_text *text, const char *format, ...);

/* A copy of `length` bytes with a NUL behind them; NULL when memory is short. */
char *pl_copy_string(const char *bytes, size_t length);

#endif
