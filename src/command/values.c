/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/utilities.h"

popliner_status(fail)(popliner_error *error, popliner_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    popliner_error_fill(error, status, format, arguments);
    va_end(arguments);
    return status;
}

popliner_status(fail_usage)(popliner_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    popliner_error_fill(error, POPLINER_ERROR_USAGE, format, arguments);
    va_end(arguments);
    return POPLINER_ERROR_USAGE;
}

popliner_status(fail_memory)(popliner_error *error, const char *what) {
    return fail(error, POPLINER_ERROR_MEMORY, "not enough memory for %s", what);
}

void text_add(growing_text *l, const char *text) {
    const size_t length = strlen(text);
    char *grown = l->failed ? NULL : realloc(l->text, l->length + length + 1);
    if (grown == NULL) {
        l->failed = true;
        return;
    }
    l->text = grown;
    memcpy(l->text + l->length, text, length + 1);
    l->length += length;
}

bool list_add(void *items, size_t *count, const void *item, size_t size) {
    char *all;
    memcpy(&all, items, sizeof all);
    all = *count >= SIZE_MAX / size ? NULL : realloc(all, (*count + 1) * size);
    if (all == NULL)
        return false;
    memcpy(all + (*count)++ * size, item, size);
    memcpy(items, &all, sizeof all);
    return true;
}

bool name_is(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

bool text_ends_with(const char *text, const char *end) {
    const size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

char *path_join(const char *directory, const char *name) {
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (path != NULL)
        snprintf(path, size, "%s/%s", directory, name);
    return path;
}

/* ---- the nearest name ---- */

nearest nearest_begin(const char *text, size_t length) {
    return (nearest){.text = text, .length = length, .distance = SIZE_MAX};
}

void nearest_offer(nearest *n, const char *name, size_t length) {
    const size_t found = popliner_misspelling(n->text, n->length, name, length);
    if (found >= n->distance) /* of those that are as near the first is as good */
        return;
    n->best = name;
    n->best_length = length;
    n->distance = found;
}

value_hint nearest_hint(const nearest *n, const char *prefix, const char *otherwise) {
    value_hint h;
    if (n->best == NULL)
        snprintf(h.text, sizeof h.text, "%s", otherwise);
    else
        snprintf(h.text, sizeof h.text, "; did you mean %s%.*s?", prefix, (int)n->best_length,
                 n->best);
    return h;
}

value_hint names_hint(const char *const *names, size_t count, const char *name, size_t length) {
    enum { ROOM = 62 }; /* of a line, after the value */
    nearest n = nearest_begin(name, length);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&n, names[i], strlen(names[i]));
    value_hint h = nearest_hint(&n, "", "; there are ");
    size_t written = strlen(h.text);
    for (size_t i = 0; n.best == NULL && i < count; i++) {
        const bool is_left_out = written > ROOM && i + 1 < count;
        written += (size_t)snprintf(h.text + written, sizeof h.text - written, "%s%s%.40s",
                                    i == 0 ? "" : ", ", is_left_out ? "... " : "",
                                    names[is_left_out ? count - 1 : i]);
        if (is_left_out)
            break;
    }
    return h;
}

/* ---- names in values ---- */

static bool is_escape(const char *text) {
    return text[0] == '\\' && text[1] != '\0' && strchr(VALUE_SIGNS, text[1]) != NULL;
}

size_t value_span(const char *text, const char *signs) {
    const char *c = text;
    while (*c != '\0' && strchr(signs, *c) == NULL)
        c += is_escape(c) ? 2 : 1;
    return (size_t)(c - text);
}

bool value_is(const char *text, size_t length, const char *name) {
    const char *end = text + length;
    for (; text < end && *name != '\0'; text++, name++) {
        text += is_escape(text);
        if (text >= end || *text != *name)
            return false;
    }
    return text == end && *name == '\0';
}

char *value_copy(const char *text, size_t length, char *to) {
    for (const char *end = text + length; text < end; text++) {
        text += is_escape(text);
        *to++ = *text;
    }
    *to = '\0';
    return to + 1;
}

/* ---- numbers ---- */

bool number_take(const char *text, uint64_t most, uint64_t *number, const char **end) {
    *number = 0;
    *end = text;
    for (; **end >= '0' && **end <= '9'; ++*end) {
        uint64_t digit = (uint64_t)(**end - '0');
        if (*number > (most - digit) / 10)
            return false;
        *number = 10 * *number + digit;
    }
    return *end > text;
}

/* ---- ranges ---- */

enum { USUAL_STEPS = 15 };

/* The number of IPUs, or the size, that a text begins with, at least 1; returns what follows, NULL
 * if there is none. */
static const char *take_value(const char *text, bool of_ipus, uint64_t *value) {
    const char *end = text;
    if (of_ipus ? !number_take(text, MAX_ROWS * UINT64_C(100), value, &end)
                : (end = popliner_size_take(text, value)) == NULL)
        return NULL;
    return *value >= 1 ? end : NULL;
}

const char *range_take(const char *text, bool of_ipus, value_range *range) {
    *range = (value_range){.of_ipus = of_ipus};
    const char *rest = take_value(text, of_ipus, &range->first);
    rest = rest != NULL && strncmp(rest, "..", 2) == 0 ? take_value(rest + 2, of_ipus, &range->last)
                                                       : NULL;
    const uint64_t width = range->last - range->first;
    range->step = of_ipus || width < USUAL_STEPS ? 1 : 0;
    if (rest != NULL && *rest == ':')
        rest = take_value(rest + 1, of_ipus, &range->step);
    return range->last >= range->first ? rest : NULL;
}

size_t range_count(const value_range *range) {
    const uint64_t steps =
        range->step == 0 ? USUAL_STEPS : (range->last - range->first) / range->step;
    return steps < MAX_ROWS ? (size_t)steps + 1 : SIZE_MAX;
}

uint64_t range_value(const value_range *range, size_t i) {
    const uint64_t width = range->last - range->first;
    return range->first + (range->step > 0
                               ? i * range->step
                               : width / USUAL_STEPS * i + width % USUAL_STEPS * i / USUAL_STEPS);
}

grouped_number grouped(uint64_t number) {
    grouped_number result = {""};
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            result.text[at++] = ',';
        result.text[at++] = digits[i];
    }
    return result;
}
