/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "popliner/utilities.h"

/* ---- Characters ------------------------------------------------------------------------------ */

size_t pl_utf8_decode(const char *text, uint32_t *character) {
    /* the smallest character of each length; smaller ones are overlong */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length = bytes[0] < 0x80             ? 1
                    : (bytes[0] & 0xe0) == 0xc0 ? 2
                    : (bytes[0] & 0xf0) == 0xe0 ? 3
                    : (bytes[0] & 0xf8) == 0xf0 ? 4
                                                : 0;
    if (length == 0)
        return 0;
    uint32_t c = length == 1 ? bytes[0] : bytes[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) /* also rejects the NUL at the end */
            return 0;
        c = c << 6 | (bytes[i] & 0x3f);
    }
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *character = c;
    return length;
}

bool pl_utf8_is_control(uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void add_escaped_json(pl_text *text, uint32_t c) {
    if (c == '"' || c == '\\')
        pl_text_format(text, "\\%c", (int)c);
    else
        pl_text_format(text, "\\u%04x", (unsigned)c);
}

static bool is_plain_in_json(uint32_t c) {
    return c != '"' && c != '\\' && !pl_utf8_is_control(c);
}

void pl_quote_json(pl_text *text, const char *value) {
    pl_text_add(text, "\"");
    while (*value != '\0') {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(value, &c);
        if (length == 0)
            pl_text_add(text, PL_REPLACEMENT);
        else if (is_plain_in_json(c))
            pl_text_append(text, value, length);
        else
            add_escaped_json(text, c);
        value += length == 0 ? 1 : length;
    }
    pl_text_add(text, "\"");
}

/* ---- For people ------------------------------------------------------------------------------ */

const char *popliner_printable_take(const char *text, char shown[POPLINER_PRINTABLE_SIZE]) {
    static const char named[] = "\n\r\t";
    uint32_t c = 0;
    size_t length = pl_utf8_decode(text, &c);
    if (length == 0) {
        snprintf(shown, POPLINER_PRINTABLE_SIZE, "\\x%02x", (unsigned)(unsigned char)*text);
        return text + 1;
    }
    if (c < 0x80 && c != 0 && strchr(named, (int)c) != NULL) {
        snprintf(shown, POPLINER_PRINTABLE_SIZE, "\\%c", "nrt"[strchr(named, (int)c) - named]);
    } else if (pl_utf8_is_control(c)) {
        snprintf(shown, POPLINER_PRINTABLE_SIZE, "\\u%04x", (unsigned)(c & 0xffff));
    } else {
        memcpy(shown, text, length);
        shown[length] = '\0';
    }
    return text + length;
}

void pl_text_add_printable(pl_text *text, const char *value, const char *kept) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*value != '\0') {
        const char *next = popliner_printable_take(value, shown);
        if (strchr(kept, *value) != NULL)
            pl_text_append(text, value, 1);
        else
            pl_text_add(text, shown);
        value = next;
    }
}

/* True if popliner_printable_take would leave the text unchanged, except for line ends and tabs. */
static bool is_printable(const char *text) {
    while (*text != '\0') {
        uint32_t c = 0;
        size_t length = pl_utf8_decode(text, &c);
        if (length == 0 || (pl_utf8_is_control(c) && c != '\n' && c != '\t'))
            return false;
        text += length;
    }
    return true;
}

void pl_text_make_printable(pl_text *text) {
    pl_text shown = {0};
    if (text->failed || text->data == NULL || is_printable(text->data))
        return;
    pl_text_add_printable(&shown, text->data, "\n\t");
    free(text->data);
    *text = shown;
}

popliner_status pl_text_finish(pl_text *text, popliner_status status, char **result,
                               popliner_error *error) {
    if (status == POPLINER_OK && text->failed)
        status = pl_fail_memory(error, "a report");
    *result = NULL;
    if (status == POPLINER_OK)
        *result = text->data;
    else
        free(text->data);
    return status;
}

popliner_status pl_text_finish_printable(pl_text *text, popliner_status status, char **result,
                                         popliner_error *error) {
    pl_text_make_printable(text);
    return pl_text_finish(text, status, result, error);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

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
    /* from the last digit on: divides by ten before adding the next digit, rounded down except the
     * last time, so that the whole is the nearest byte; a part of a byte alone has no meaning */
    uint64_t rest = 0;
    for (const char *c = end; c > whole_end + 1; c--) {
        rest += (uint64_t)(c[-1] - '0') * unit;
        if (unit == 1 && rest > 0)
            return NULL;
        rest = (rest + (c == whole_end + 2 ? 5 : 0)) / 10;
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

size_t pl_find_name(const char *(*name_at)(size_t i), const char *name) {
    for (size_t i = 0; name_at(i) != NULL; i++)
        if (strcmp(name_at(i), name) == 0)
            return i;
    return SIZE_MAX;
}

/* ---- Numbers for people ---------------------------------------------------------------------- */

void pl_text_add_grouped(pl_text *text, uint64_t number) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            pl_text_add(text, ",");
        pl_text_append(text, &digits[i], 1);
    }
}

void pl_text_add_short(pl_text *text, double number, bool is_whole, const char *unit) {
    static const char *const scales[] = {"", " k", " M", " G", " T", " P", " E"};
    size_t scale = 0;
    for (; number >= 999.995 && scale + 1 < sizeof scales / sizeof *scales; scale++)
        number /= 1000;
    pl_text_format(text, scale == 0 && is_whole ? "%.0f" : "%.2f", number);
    pl_text_add(text, scales[scale]);
    pl_text_format(text, "%s%s", *unit == '\0' ? "" : " ", unit);
}

void pl_text_add_significant(pl_text *text, double number) {
    const double size = number < 0 ? -number : number;
    int decimals = 2;
    pl_text_add(text, number < 0 ? "-" : "");
    if (size >= 999.5 && size < 1e18) {
        pl_text_add_grouped(text, (uint64_t)(size + 0.5));
        return;
    }
    decimals -= (size >= 9.995) + (size >= 99.95);
    decimals = number == 0 ? 0 : decimals;
    double shifted = size; /* to its first digit */
    while (decimals < 6 && size > 0 && shifted < 0.9995) {
        shifted *= 10;
        decimals++;
    }
    pl_text_format(text, "%.*f", decimals, size);
}

void pl_text_add_size(pl_text *text, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; bytes >= 1023.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    pl_text_format(text, unit > 0 && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void pl_text_add_words(pl_text *text, const char *name) {
    for (const char *c = name; *c != '\0'; c++)
        if (*c >= 'A' && *c <= 'Z')
            pl_text_format(text, "%s%c", c > name ? " " : "", *c - 'A' + 'a');
        else
            pl_text_append(text, c, 1);
}

void pl_text_add_percent(pl_text *text, uint64_t bytes, uint64_t limit) {
    const double share = limit == 0 ? 100.0 : 100 * (double)bytes / (double)limit;
    const double whole = bytes < limit && share > 99    ? 99
                         : bytes > limit && share < 101 ? 101
                                                        : share;
    pl_text_format(text, "%.0f %%", whole);
}
