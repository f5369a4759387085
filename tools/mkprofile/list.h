/* A growing array of items of one size, and text whose copies share one number.
 *
 * Both keep going when memory is short: `failed` is set, the number 0 is handed out, and its place
 * is there from the start. So a whole plan can be built without looking back and `failed` is asked
 * once, at the end.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_LIST_H
#define MK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mk_list {
    void *items;
    size_t count;
    size_t capacity;
    size_t item_size;
    bool failed;
} mk_list;

/* Empty, with room for one item; false when memory is short. */
bool mk_list_begin(mk_list *list, size_t item_size);

/* Appends a copy of *item and returns its number. Pointers into the list do not survive this. */
size_t mk_list_add(mk_list *list, const void *item);

void mk_list_end(mk_list *list);

/* Interned text: equal strings have one number. */
typedef struct mk_strings {
    mk_list bytes;   /* char: the strings, each with its NUL */
    mk_list offsets; /* size_t: where the string of each number starts */
    size_t *buckets; /* number + 1 of a string, 0 for a free place */
    size_t bucket_count;
    bool failed;
} mk_strings;

bool mk_strings_begin(mk_strings *strings);

/* The number of `text`, a new one when it was not met before. */
size_t mk_string(mk_strings *strings, const char *text);

/* The number of a formatted string; at most 511 bytes are kept. */
size_t mk_string_format(mk_strings *strings, const char *format, ...);

/* The text of a number; valid until the next string is added. */
const char *mk_string_text(const mk_strings *strings, size_t number);

void mk_strings_end(mk_strings *strings);

#endif
