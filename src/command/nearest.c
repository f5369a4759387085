/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Longer names are not compared: three characters of so many are easily seen. */
enum { MAX_LENGTH = 100, MAX_DISTANCE = 3 };

static int folded(char c) {
    return tolower((unsigned char)c);
}

static size_t min(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The Damerau-Levenshtein distance of two names, where no character is touched twice. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    /* [k]: from the first characters of `a` to the first k of `b` */
    size_t rows[3][MAX_LENGTH + 1] = {{0}};
    size_t *before = rows[0];
    size_t *row = rows[1];
    size_t *two_before = rows[2];
    for (size_t k = 0; k <= b_length; k++)
        before[k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            size_t differs = folded(a[i - 1]) != folded(b[k - 1]);
            row[k] = min(min(before[k], row[k - 1]) + 1, before[k - 1] + differs);
            if (i > 1 && k > 1 && folded(a[i - 1]) == folded(b[k - 2]) &&
                folded(a[i - 2]) == folded(b[k - 1]))
                row[k] = min(row[k], two_before[k - 2] + 1);
        }
        size_t *oldest = two_before;
        two_before = before;
        before = row;
        row = oldest;
    }
    return before[b_length];
}

static bool is_number(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return true;
}

nearest nearest_begin(const char *text, size_t length) {
    nearest n = {.text = text, .length = length, .too_far = min(length / 3, MAX_DISTANCE) + 1};
    if (length > MAX_LENGTH || is_number(text, length))
        n.too_far = 0;
    return n;
}

void nearest_offer(nearest *n, const char *name, size_t length) {
    size_t longer = length > n->length ? length - n->length : n->length - length;
    if (longer >= n->too_far || length > MAX_LENGTH)
        return;
    size_t found = distance(n->text, n->length, name, length);
    if (found >= n->too_far)
        return;
    n->best = name;
    n->best_length = length;
    n->too_far = found; /* of those that are as near the first is as good */
}

void nearest_offer_list(nearest *n, const char *names, char separator) {
    while (names != NULL) {
        const char *end = strchr(names, separator);
        nearest_offer(n, names, end == NULL ? strlen(names) : (size_t)(end - names));
        names = end == NULL ? NULL : end + 1;
    }
}

const char *nearest_hint(const nearest *n, const char *prefix, const char *otherwise,
                         char hint[NEAREST_HINT_BYTES]) {
    if (n->best == NULL)
        return otherwise;
    snprintf(hint, NEAREST_HINT_BYTES, "; did you mean %s%.*s?", prefix, (int)n->best_length,
             n->best);
    return hint;
}
