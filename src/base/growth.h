/* Growing arrays and text: the containers that everything else uses.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_GROWTH_H
#define PL_BASE_GROWTH_H

#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Grows a malloc'ed array, which has space for *capacity items of `item_size` bytes, to at least
 * `num_needed` items. `array` is the address of the pointer to it, whatever the type of its items;
 * the pointer is NULL and *capacity 0 at first. Grows by half, so appending costs amortised O(1).
 * False, with nothing changed, if memory is short. */
bool pl_grow(void *array, size_t *capacity, size_t num_needed, size_t item_size);

/* Like calloc, but returns an allocation even for an empty array. */
void *pl_new_array(size_t count, size_t item_size);

/* Arrays that one owner frees together. Zero-initialise; free with pl_arrays_free. `failed` is set
 * if memory ran short, and no further arrays are made then. So functions that make arrays return
 * nothing: those that read arrays do nothing after a failure, and only what returns a result
 * checks the flag. */
typedef struct pl_arrays {
    struct pl_array_link *last;
    bool failed;
} pl_arrays;

/* Like pl_new_array, but `arrays` owns the result; NULL after a failure. */
void *pl_arrays_new(pl_arrays *arrays, size_t count, size_t item_size);

/* Grows an array that `arrays` owns, or makes it if it is NULL, to at least `num_needed` items,
 * like pl_grow, but the array knows its capacity. False after a failure, with the array as it
 * was. */
bool pl_arrays_grow(pl_arrays *arrays, void *array, size_t num_needed, size_t item_size);

/* Return a copy that `arrays` owns, of items or of a text; NULL for NULL. */
void *pl_arrays_copy(pl_arrays *arrays, const void *items, size_t count, size_t item_size);
char *pl_arrays_text(pl_arrays *arrays, const char *text);
void pl_arrays_free(pl_arrays *arrays);

/* Frees the arrays of a part of the work, whose failure is also that of `of`. */
void pl_arrays_end(pl_arrays *part, pl_arrays *of);

/* Growing text, NUL-terminated once something was appended. Zero-initialise; free `data`. `failed`
 * is set if memory ran short, and appending does nothing then. */
typedef struct pl_text {
    char *data;
    size_t length; /* bytes without the NUL */
    size_t capacity;
    bool failed;
} pl_text;

/* Returns the text, "" if nothing was appended, or memory ran short. */
static inline const char *pl_text_string(const pl_text *text) {
    return text->failed || text->data == NULL ? "" : text->data;
}

/* Frees a text that was made, and returns a copy that `arrays` owns; "" after a failure of
 * either. */
const char *pl_arrays_take(pl_arrays *arrays, pl_text made);

void pl_text_append(pl_text *text, const char *bytes, size_t length);
void pl_text_add(pl_text *text, const char *string);
void pl_text_add_number(pl_text *text, uint64_t number); /* like %u, but faster */
void pl_text_format(pl_text *text, const char *format, ...);

/* Returns a text that the caller frees, or gives to a function that takes it. */
pl_text pl_text_of(const char *format, ...);

/* ---- Numbers as text ------------------------------------------------------------------------- */

/* The locale "C" for other libraries that read or write numbers, for this thread, from
 * pl_plain_locale_enter to pl_plain_locale_leave. The caller's functions must not be called in
 * between. */
typedef struct pl_plain_locale {
    locale_t plain; /* 0 if it is not available; then nothing changes */
    locale_t before;
} pl_plain_locale;
pl_plain_locale pl_plain_locale_enter(void);
void pl_plain_locale_leave(pl_plain_locale *locale);

/* vsnprintf in the locale "C". */
int pl_format(char *text, size_t size, const char *format, va_list arguments);

/* ---- The arrays of a structure --------------------------------------------------------------- */

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

/* Allocates the arrays that are NULL, all 0. */
void pl_fields_allocate(pl_arrays *arrays, const pl_field *fields, size_t num_fields);

/* Grows the arrays, which have *count items each, for one more, which is 0. False after a
 * failure. */
bool pl_fields_reserve(pl_arrays *arrays, const pl_field *fields, size_t num_fields);

#endif
