/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Precedes each array of a pl_arrays; its alignment is that of malloc, so the array after it is
 * aligned for any type. */
typedef struct pl_array_link {
    _Alignas(max_align_t) struct pl_array_link *before;
    struct pl_array_link *after;
    size_t capacity; /* in items */
} pl_array_link;

/* Returns the capacity of an array that grows to so many items: half more than before. */
static size_t larger_capacity(size_t capacity, size_t num_needed) {
    enum { LEAST = 16 };
    const size_t larger =
        capacity + capacity / 2 > num_needed ? capacity + capacity / 2 : num_needed;
    return larger > LEAST ? larger : LEAST;
}

bool pl_grow(void *array, size_t *capacity, size_t num_needed, size_t item_size) {
    void *items; /* copied as bytes, since only the caller knows its type */
    if (num_needed <= *capacity)
        return true;
    const size_t room = larger_capacity(*capacity, num_needed);
    memcpy(&items, array, sizeof items);
    items = room > SIZE_MAX / item_size ? NULL : realloc(items, room * item_size);
    if (items == NULL)
        return false;
    memcpy(array, &items, sizeof items);
    *capacity = room;
    return true;
}

void *pl_new_array(size_t count, size_t item_size) {
    return calloc(count > 0 ? count : 1, item_size);
}

/* Makes a link that moved, or is new, known to its neighbours; returns its array. */
static void *attach(pl_arrays *arrays, pl_array_link *link) {
    if (link->before != NULL)
        link->before->after = link;
    if (link->after != NULL)
        link->after->before = link;
    else
        arrays->last = link;
    return link + 1;
}

void *pl_arrays_new(pl_arrays *arrays, size_t count, size_t item_size) {
    pl_array_link *made = NULL;
    if (!arrays->failed && (item_size == 0 || count <= (SIZE_MAX - sizeof *made) / item_size))
        made = calloc(1, sizeof *made + count * item_size);
    arrays->failed = made == NULL;
    if (arrays->failed)
        return NULL;
    *made = (pl_array_link){arrays->last, NULL, count};
    return attach(arrays, made);
}

bool pl_arrays_grow(pl_arrays *arrays, void *array, size_t num_needed, size_t item_size) {
    void *items; /* copied as bytes, since only the caller knows its type */
    memcpy(&items, array, sizeof items);
    pl_array_link *link = items == NULL ? NULL : (pl_array_link *)items - 1;
    const size_t capacity = link == NULL ? 0 : link->capacity;
    if (arrays->failed || num_needed <= capacity)
        return !arrays->failed;
    const size_t room = larger_capacity(capacity, num_needed);
    if (link == NULL) {
        items = pl_arrays_new(arrays, room, item_size);
    } else {
        const bool is_possible = room <= (SIZE_MAX - sizeof *link) / item_size;
        link = is_possible ? realloc(link, sizeof *link + room * item_size) : NULL;
        arrays->failed = link == NULL;
        if (link == NULL)
            return false;
        link->capacity = room;
        items = attach(arrays, link);
    }
    memcpy(array, &items, sizeof items);
    return !arrays->failed;
}

void *pl_arrays_copy(pl_arrays *arrays, const void *items, size_t count, size_t item_size) {
    void *copy = items == NULL ? NULL : pl_arrays_new(arrays, count, item_size);
    return copy == NULL || count == 0 ? copy : memcpy(copy, items, count * item_size);
}

char *pl_arrays_text(pl_arrays *arrays, const char *text) {
    return text == NULL ? NULL : pl_arrays_copy(arrays, text, strlen(text) + 1, 1);
}

void pl_arrays_free(pl_arrays *arrays) {
    for (pl_array_link *it = arrays->last; it != NULL;) {
        pl_array_link *before = it->before;
        free(it);
        it = before;
    }
    *arrays = (pl_arrays){0};
}

void pl_arrays_end(pl_arrays *part, pl_arrays *of) {
    of->failed = of->failed || part->failed;
    pl_arrays_free(part);
}

const char *pl_arrays_take(pl_arrays *arrays, pl_text made) {
    arrays->failed = arrays->failed || made.failed;
    const char *own = pl_arrays_text(arrays, pl_text_string(&made));
    free(made.data);
    return own == NULL ? "" : own;
}

void pl_text_append(pl_text *text, const char *bytes, size_t length) {
    if (text->failed || !pl_grow(&text->data, &text->capacity, text->length + length + 1, 1)) {
        text->failed = true;
        return;
    }
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void pl_text_add(pl_text *text, const char *string) {
    pl_text_append(text, string, strlen(string));
}

void pl_text_add_number(pl_text *text, uint64_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    pl_text_append(text, digits + first, sizeof digits - first);
}

static void add_format(pl_text *text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = pl_format(NULL, 0, format, arguments);
    if (length < 0 || text->failed ||
        !pl_grow(&text->data, &text->capacity, text->length + (size_t)length + 1, 1)) {
        text->failed = true;
    } else {
        pl_format(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void pl_text_format(pl_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add_format(text, format, arguments);
    va_end(arguments);
}

pl_text pl_text_of(const char *format, ...) {
    pl_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    add_format(&text, format, arguments);
    va_end(arguments);
    return text;
}

/* ---- Numbers as text ------------------------------------------------------------------------- */

pl_plain_locale pl_plain_locale_enter(void) {
    pl_plain_locale locale = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (locale.plain != (locale_t)0)
        locale.before = uselocale(locale.plain);
    return locale;
}

void pl_plain_locale_leave(pl_plain_locale *locale) {
    if (locale->plain == (locale_t)0)
        return;
    uselocale(locale->before);
    freelocale(locale->plain);
    *locale = (pl_plain_locale){0};
}

int pl_format(char *text, size_t size, const char *format, va_list arguments) {
    pl_plain_locale locale = pl_plain_locale_enter();
    int length = vsnprintf(text, size, format, arguments);
    pl_plain_locale_leave(&locale);
    return length;
}

/* ---- The arrays of a structure --------------------------------------------------------------- */

void *pl_field_items(const pl_field *field) {
    void *items;
    memcpy(&items, field->pointer, sizeof items);
    return items;
}

void pl_field_set_items(const pl_field *field, void *items) {
    memcpy(field->pointer, &items, sizeof items);
}

void pl_fields_allocate(pl_arrays *arrays, const pl_field *fields, size_t num_fields) {
    for (size_t i = 0; i < num_fields; i++)
        if (pl_field_items(&fields[i]) == NULL)
            pl_field_set_items(&fields[i],
                               pl_arrays_new(arrays, *fields[i].count + fields[i].extra_items,
                                             fields[i].item_size));
}

bool pl_fields_reserve(pl_arrays *arrays, const pl_field *fields, size_t num_fields) {
    for (size_t i = 0; i < num_fields; i++) {
        const size_t size = fields[i].item_size;
        const size_t count = *fields[i].count;
        if (!pl_arrays_grow(arrays, fields[i].pointer, count + 1, size))
            return false;
        memset((char *)pl_field_items(&fields[i]) + count * size, 0, size);
    }
    return !arrays->failed;
}
