/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "popliner/utilities.h"

static bool begins_character(char byte) {
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t words_columns(const char *text) {
    size_t columns = 0;
    for (; *text != '\0'; text++)
        columns += begins_character(*text);
    return columns;
}

/* Adds what is shown of the characters from *text on, at most `columns`, and moves *text on. */
static void add(char *result, size_t size, const char **text, size_t columns, bool is_ascii) {
    char shown[POPLINER_PRINTABLE_SIZE];
    size_t length = strlen(result);
    while (**text != '\0') {
        const char *next = popliner_printable_take(*text, shown);
        const char *added = is_ascii && (shown[0] & 0x80) != 0 ? "?" : shown;
        if (words_columns(added) > columns || length + strlen(added) >= size)
            return;
        columns -= words_columns(added);
        length += (size_t)snprintf(result + length, size - length, "%s", added);
        *text = next;
    }
}

static size_t shown_columns(const char *text) {
    char shown[POPLINER_PRINTABLE_SIZE];
    size_t columns = 0;
    while (*text != '\0') {
        text = popliner_printable_take(text, shown);
        columns += words_columns(shown);
    }
    return columns;
}

void words_fit(char *result, size_t size, const char *text, size_t columns, bool is_ascii) {
    const char *const left_out = is_ascii ? "..." : "\u2026";
    char shown[POPLINER_PRINTABLE_SIZE];
    *result = '\0';
    if (shown_columns(text) > columns) {
        const size_t kept = columns - words_columns(left_out);
        add(result, size, &text, kept / 2, is_ascii);
        while (shown_columns(text) > kept - kept / 2)
            text = popliner_printable_take(text, shown);
        strncat(result, left_out, size - strlen(result) - 1);
    }
    add(result, size, &text, columns, is_ascii);
    size_t length = strlen(result);
    for (size_t i = words_columns(result); i < columns && length + 1 < size; i++)
        result[length++] = ' ';
    result[length] = '\0';
}

void words_number(char result[WORDS_NUMBER_SIZE], uint64_t number) {
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            result[at++] = ',';
        result[at++] = digits[i];
    }
    result[at] = '\0';
}
