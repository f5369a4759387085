/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
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

/* Ranges of characters that take no column (combining and joining ones), and two (East Asian wide
 * and full-width ones, and pictures), of the scripts that names are mostly written in. */
static const struct {
    uint32_t first;
    uint32_t last;
    size_t width;
} WIDTHS[] = {
    {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05bd, 0},   {0x0610, 0x061a, 0},
    {0x064b, 0x065f, 0},   {0x06d6, 0x06dc, 0},   {0x0900, 0x0902, 0},   {0x093a, 0x093a, 0},
    {0x093c, 0x093c, 0},   {0x0941, 0x0948, 0},   {0x094d, 0x094d, 0},   {0x0e31, 0x0e31, 0},
    {0x0e34, 0x0e3a, 0},   {0x0e47, 0x0e4e, 0},   {0x1100, 0x115f, 2},   {0x1160, 0x11ff, 0},
    {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x200b, 0x200f, 0},   {0x2060, 0x2064, 0},
    {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},   {0x3041, 0x33ff, 2},   {0x3400, 0x4dbf, 2},
    {0x4e00, 0x9fff, 2},   {0xa000, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
    {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xfeff, 0xfeff, 0},
    {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6fc, 2},
    {0x1f900, 0x1faff, 2}, {0x20000, 0x3fffd, 2}, {0xe0100, 0xe01ef, 0},
};

size_t pl_utf8_width(const char *text, size_t *width) {
    uint32_t c = 0;
    const size_t length = pl_utf8_decode(text, &c);
    *width = 1;
    for (size_t i = 0; i < sizeof WIDTHS / sizeof *WIDTHS && WIDTHS[i].first <= c; i++)
        if (c <= WIDTHS[i].last)
            *width = WIDTHS[i].width;
    return length == 0 ? 1 : length;
}

/* ---- For programs ---------------------------------------------------------------------------- */

void pl_text_add_instead(pl_text *text, const char *value, pl_stand_in *stand_in) {
    char room[PL_STAND_IN_SIZE];
    while (*value != '\0') {
        uint32_t c = 0;
        const size_t length = pl_utf8_decode(value, &c);
        const char *other = length == 0 ? PL_REPLACEMENT : stand_in(c, room);
        if (other != NULL)
            pl_text_add(text, other);
        else
            pl_text_append(text, value, length);
        value += length == 0 ? 1 : length;
    }
}

static const char *in_json(uint32_t c, char room[PL_STAND_IN_SIZE]) {
    const bool has_mark = c == '"' || c == '\\';
    if (!has_mark && !pl_utf8_is_control(c))
        return NULL;
    snprintf(room, PL_STAND_IN_SIZE, has_mark ? "\\%c" : "\\u%04x", (unsigned)(c & 0xffff));
    return room;
}

void pl_quote_json(pl_text *text, const char *value) {
    pl_text_add(text, "\"");
    pl_text_add_instead(text, value, in_json);
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

void pl_text_make_printable(pl_text *text, const char *kept) {
    char shown[POPLINER_PRINTABLE_SIZE];
    pl_text made = {0};
    if (text->failed || text->data == NULL)
        return;
    pl_text_add(&made, ""); /* an empty text stays one */
    for (const char *value = text->data; *value != '\0';) {
        const char *next = popliner_printable_take(value, shown);
        if (strchr(kept, *value) != NULL)
            pl_text_append(&made, value, 1);
        else
            pl_text_add(&made, shown);
        value = next;
    }
    free(text->data);
    *text = made;
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

/* ---- Sizes ----------------------------------------------------------------------------------- */

static const char DIGITS[] = "0123456789";

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Returns the bytes of the unit at the start of a text, after an optional blank, and sets the
 * number of characters of both. */
static uint64_t unit_of(const char *text, size_t *length) {
    static const char letters[] = "KMGT";
    const char *unit = text + (*text == ' ');
    const char *letter = strncmp(unit, "kB", 2) == 0 ? letters
                         : *unit == '\0'             ? NULL
                                                     : strchr(letters, *unit);
    const char *end = unit + (letter != NULL);
    const bool is_binary = letter != NULL && *end == 'i';
    uint64_t bytes = 1;
    for (const char *c = letters; letter != NULL && c <= letter; c++)
        bytes *= is_binary ? 1024 : 1000;
    end += is_binary;
    end += *end == 'B';
    *length = end == unit ? 0 : (size_t)(end - text);
    return bytes;
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

pl_grouped pl_group_digits(uint64_t number) {
    pl_grouped grouped = {0};
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *end = grouped.text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *end++ = ',';
        *end++ = digits[i];
    }
    return grouped;
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
    const double size = fabs(number);
    pl_text_add(text, number < 0 ? "-" : "");
    if (size >= 999.5 && size < 1e18) {
        pl_text_add(text, PL_GROUPED((uint64_t)(size + 0.5)));
        return;
    }
    int decimals = size >= 99.95 || size <= 0 ? 0 : size >= 9.995 ? 1 : 2;
    double shifted = size;
    while (decimals < 12 && size > 0 && shifted < 0.9995) {
        decimals++;
        shifted *= 10;
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

/* Whether a name counts, and has a digit. */
static bool is_numbered(const pl_shared_ends *ends, const char *const *names, size_t number) {
    return (ends->is_counted == NULL || ends->is_counted[number] != 0) &&
           strpbrk(names[number], DIGITS) != NULL;
}

pl_shared_ends pl_names_shared_ends(const char *const *names, const uint8_t *is_counted,
                                    size_t count) {
    enum { SHORT = 12 };
    const char *first = NULL;
    size_t first_length = 0;
    size_t num_named = 0;
    size_t longest = 0;
    size_t shortest = SIZE_MAX;
    const pl_shared_ends none = {.is_counted = is_counted};
    pl_shared_ends ends = none;
    for (size_t i = 0; i < count; i++) {
        const char *name = names[i];
        const size_t length = strlen(name);
        size_t begin = 0;
        size_t end = 0;
        if (!is_numbered(&none, names, i))
            continue;
        if (num_named++ == 0) {
            first = name;
            ends.begin = ends.end = first_length = length;
        }
        longest = pl_more(longest, length);
        shortest = pl_fewer(shortest, length);
        while (begin < ends.begin && name[begin] == first[begin])
            begin++;
        while (end < pl_fewer(ends.end, length) &&
               name[length - 1 - end] == first[first_length - 1 - end])
            end++;
        ends.begin = begin;
        ends.end = end;
    }
    if (num_named < 2 || longest <= SHORT)
        return none;
    while (ends.begin > 0 &&
           (is_digit(first[ends.begin - 1]) || pl_is_within_character(first[ends.begin])))
        ends.begin--;
    const char *end = first + first_length;
    while (ends.end > 0 &&
           (is_digit(*(end - ends.end)) || pl_is_within_character(*(end - ends.end))))
        ends.end--;
    return ends.begin + ends.end < shortest ? ends : none; /* no name is "" */
}

void pl_text_add_own_name(pl_text *text, const pl_shared_ends *ends, const char *const *names,
                          size_t number) {
    const bool is_own = is_numbered(ends, names, number);
    const char *name = names[number];
    const size_t begin = is_own ? ends->begin : 0;
    pl_text_append(text, name + begin, strlen(name) - begin - (is_own ? ends->end : 0));
}

int pl_compare_naturally(const char *a, const char *b) {
    while (*a != '\0' && *b != '\0') {
        size_t length = 1;
        int order = (unsigned char)*a - (unsigned char)*b;
        if (is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            length = strspn(a, DIGITS);
            order = (int)length - (int)strspn(b, DIGITS);
            order = order != 0 ? order : memcmp(a, b, length);
        }
        if (order != 0)
            return order;
        a += length;
        b += length;
    }
    return (*a != '\0') - (*b != '\0');
}

/* ---- Misspelt names -------------------------------------------------------------------------- */

/* Longer names are not compared. */
enum { MAX_LENGTH = 100, MAX_DISTANCE = 3 };

static int folded(char c) {
    return tolower((unsigned char)c);
}

/* The Damerau-Levenshtein distance of two names, where no character is touched twice. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    /* the first i of `a` to the first k of `b`: row i is rows[i % 3] */
    size_t rows[3][MAX_LENGTH + 1];
    for (size_t i = 0; i <= a_length; i++) {
        size_t *row = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3];
        for (size_t k = 0; k <= b_length; k++) {
            row[k] = i + k;
            if (i == 0 || k == 0)
                continue;
            const size_t differs = folded(a[i - 1]) != folded(b[k - 1]);
            row[k] = pl_fewer(pl_fewer(before[k], row[k - 1]) + 1, before[k - 1] + differs);
            if (i > 1 && k > 1 && folded(a[i - 1]) == folded(b[k - 2]) &&
                folded(a[i - 2]) == folded(b[k - 1]))
                row[k] = pl_fewer(row[k], rows[(i + 1) % 3][k - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

static bool is_number(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!is_digit(text[i]))
            return false;
    return true;
}

size_t popliner_misspelling(const char *text, size_t length, const char *name, size_t name_length) {
    const size_t most = pl_fewer(length / 3, MAX_DISTANCE);
    const size_t longer = name_length > length ? name_length - length : length - name_length;
    if (longer > most || length > MAX_LENGTH || name_length > MAX_LENGTH || is_number(text, length))
        return SIZE_MAX;
    const size_t found = distance(text, length, name, name_length);
    return found <= most ? found : SIZE_MAX;
}
