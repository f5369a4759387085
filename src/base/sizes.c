/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/utilities.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Returns the bytes of the unit at the start of a text, after an optional blank, and sets the
 * number of characters of both. */
static uint64_t unit_of(const char *text, size_t *length) {
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {
        /* units before those that they begin with */
        {"KiB", 1ULL << 10},
        {"MiB", 1ULL << 20},
        {"GiB", 1ULL << 30},
        {"KB", 1000},
        {"kB", 1000},
        {"MB", 1000000},
        {"GB", 1000000000},
        {"K", 1000},
        {"M", 1000000},
        {"G", 1000000000},
        {"B", 1},
    };
    const size_t blank = *text == ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *length = strlen(units[i].name);
        if (strncmp(text + blank, units[i].name, *length) == 0) {
            *length += blank;
            return units[i].bytes;
        }
    }
    *length = 0;
    return 1;
}

const char *popliner_size_take(const char *text, uint64_t *bytes) {
    const char *whole_end = text;
    while (is_digit(*whole_end))
        whole_end++;
    const char *end = whole_end;
    if (whole_end == text)
        return NULL;
    /* a point belongs to the number only before a digit: ".." separates two sizes */
    if (end[0] == '.' && is_digit(end[1]))
        for (end++; is_digit(*end);)
            end++;
    size_t unit_length;
    const uint64_t unit = unit_of(end, &unit_length);
    /* from the last digit on: divides by ten before adding the next digit */
    uint64_t rest = 0;
    for (const char *c = end; c > whole_end + 1; c--) {
        rest += (uint64_t)(c[-1] - '0') * unit;
        if (rest % 10 != 0)
            return NULL;
        rest /= 10;
    }
    uint64_t whole = 0;
    for (const char *c = text; c < whole_end; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (whole > (INT64_MAX - digit) / 10)
            return NULL;
        whole = 10 * whole + digit;
    }
    if (whole > (INT64_MAX - rest) / unit)
        return NULL;
    *bytes = whole * unit + rest;
    return end + unit_length;
}
