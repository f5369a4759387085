/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/list.h"

#include "base/growth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mk_list_begin(mk_list *list, size_t item_size) {
    *list = (mk_list){.items = calloc(1, item_size), .capacity = 1, .item_size = item_size};
    return list->items != NULL;
}

size_t mk_list_add(mk_list *list, const void *item) {
    if (list->failed ||
        !pl_reserve(&list->items, &list->capacity, list->count + 1, list->item_size)) {
        list->failed = true;
        return 0;
    }
    memcpy((char *)list->items + list->count * list->item_size, item, list->item_size);
    return list->count++;
}

void mk_list_end(mk_list *list) {
    free(list->items);
    *list = (mk_list){.items = NULL};
}

bool mk_strings_begin(mk_strings *strings) {
    *strings = (mk_strings){.bucket_count = 1024};
    bool bytes_ready = mk_list_begin(&strings->bytes, 1);
    bool offsets_ready = mk_list_begin(&strings->offsets, sizeof(size_t));
    strings->buckets = calloc(strings->bucket_count, sizeof *strings->buckets);
    return bytes_ready && offsets_ready && strings->buckets != NULL;
}

const char *mk_string_text(const mk_strings *strings, size_t number) {
    const size_t *offsets = strings->offsets.items;
    return (const char *)strings->bytes.items + offsets[number];
}

static uint64_t text_hash(const char *text) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* The place of `text` in `buckets`: that of its number, or the free one where it belongs. */
static size_t find_bucket(const mk_strings *strings, const size_t *buckets, size_t bucket_count,
                          const char *text) {
    size_t place = text_hash(text) & (bucket_count - 1);
    while (buckets[place] != 0 && strcmp(mk_string_text(strings, buckets[place] - 1), text) != 0)
        place = (place + 1) & (bucket_count - 1);
    return place;
}

static bool widen(mk_strings *strings) {
    size_t bucket_count = strings->bucket_count * 2;
    size_t *buckets = calloc(bucket_count, sizeof *buckets);
    if (buckets == NULL)
        return false;
    for (size_t number = 0; number < strings->offsets.count; number++) {
        const char *text = mk_string_text(strings, number);
        buckets[find_bucket(strings, buckets, bucket_count, text)] = number + 1;
    }
    free(strings->buckets);
    strings->buckets = buckets;
    strings->bucket_count = bucket_count;
    return true;
}

size_t mk_string(mk_strings *strings, const char *text) {
    if (strings->failed)
        return 0;
    size_t place = find_bucket(strings, strings->buckets, strings->bucket_count, text);
    if (strings->buckets[place] != 0)
        return strings->buckets[place] - 1;
    size_t offset = strings->bytes.count;
    size_t length = strlen(text);
    for (size_t i = 0; i <= length; i++)
        mk_list_add(&strings->bytes, &text[i]);
    size_t number = mk_list_add(&strings->offsets, &offset);
    strings->buckets[place] = number + 1;
    strings->failed = strings->bytes.failed || strings->offsets.failed;
    if (!strings->failed && strings->offsets.count * 2 > strings->bucket_count)
        strings->failed = !widen(strings);
    return strings->failed ? 0 : number;
}

size_t mk_string_format(mk_strings *strings, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return mk_string(strings, text);
}

void mk_strings_end(mk_strings *strings) {
    mk_list_end(&strings->bytes);
    mk_list_end(&strings->offsets);
    free(strings->buckets);
    *strings = (mk_strings){.buckets = NULL};
}
