/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/growth.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_locale.h"

bool pl_reserve(void **items, size_t *capacity, size_t needed, size_t item_size) {
    if (needed <= *capacity)
        return true;
    size_t room = *capacity + *capacity / 2;
    if (room < needed)
        room = needed;
    if (room < 16)
        room = 16;
    if (room > SIZE_MAX / item_size)
        return false;
    void *grown = realloc(*items, room * item_size);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = room;
    return true;
}

void *pl_new_array(size_t count, size_t item_size) {
    return calloc(count > 0 ? count : 1, item_size);
}

void pl_text_append(pl_text *text, const char *bytes, size_t length) {
    void *data = text->data;
    if (text->failed || !pl_reserve(&data, &text->capacity, text->length + length + 1, 1)) {
        text->failed = true;
        return;
    }
    text->data = data;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void pl_text_add(pl_text *text, const char *string) {
    pl_text_append(text, string, strlen(string));
}

void pl_text_format(pl_text *text, const char *format, ...) {
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = pl_format(NULL, 0, format, arguments);
    va_end(arguments);
    void *data = text->data;
    if (length < 0 || text->failed ||
        !pl_reserve(&data, &text->capacity, text->length + (size_t)length + 1, 1)) {
        text->failed = true;
    } else {
        text->data = data;
        pl_format(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

char *pl_copy_string(const char *bytes, size_t length) {
    char *copy = malloc(length + 1);
    if (copy != NULL) {
        if (length > 0)
            memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}
