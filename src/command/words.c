/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/words.h"

#include <inttypes.h>
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

/* ---- Lines of a log ---- */

void words_line_add(words_line *line, const char *text) {
    static const char too_long[] = "...";
    size_t length = strlen(text);
    const size_t room = sizeof line->text - sizeof too_long;
    if (line->is_full)
        return;
    line->is_full = length > room - line->length;
    if (line->is_full) {
        text = too_long;
        length = sizeof too_long - 1;
    }
    memcpy(line->text + line->length, text, length + 1);
    line->length += length;
}

/* Columns of the first `length` bytes. */
static size_t columns_of(const char *text, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += begins_character(text[i]);
    return columns;
}

/* Whether a word is a name that may be shortened: a path of a model, not the subject of a message,
 * an option, or a pattern. */
static bool is_name(const char *word, size_t length) {
    return memchr(word, '/', length) != NULL && memchr(word, '\\', length) == NULL &&
           memchr(word, '=', length) == NULL && word[length - 1] != ':' && word[0] != '-';
}

/* Whether a word is NAME='VALUE', which a reader pastes into a shell: half of it would do harm. */
static bool is_to_paste(const char *word, size_t length) {
    const char *sign = memchr(word, '=', length);
    return sign != NULL && sign + 1 < word + length && sign[1] == '\'';
}

/* The longest name, or the longest word that may be shortened; its length is 0 if there is none. */
static char *longest_word(char *text, bool is_of_names, size_t *length) {
    char *longest = text;
    size_t most = 0;
    *length = 0;
    for (char *word = text; *word != '\0'; word += strspn(word, " ")) {
        const size_t bytes = strcspn(word, " ");
        if (columns_of(word, bytes) > most &&
            (is_of_names ? is_name(word, bytes) : !is_to_paste(word, bytes))) {
            longest = word;
            *length = bytes;
            most = columns_of(word, bytes);
        }
        word += bytes;
    }
    return longest;
}

/* Leaves the middle out of a word, so that it takes so many columns. */
static void shorten(words_line *line, char *word, size_t length, size_t columns) {
    static const char left_out[] = "...";
    const size_t kept = columns - (sizeof left_out - 1);
    char *tail = word + length;
    char *head = word;
    for (size_t i = 0; i < kept - kept / 2; i++)
        do
            tail--;
        while (!begins_character(*tail));
    for (size_t i = 0; i < kept / 2; i++)
        do
            head++;
        while (!begins_character(*head));
    memcpy(head, left_out, sizeof left_out - 1);
    memmove(head + sizeof left_out - 1, tail, strlen(tail) + 1);
    line->length = strlen(line->text);
}

/* Shortens names, the longest first, until the message is one line; leaves it as it is if it cannot
 * be. */
static void shorten_names(words_line *line, size_t columns) {
    enum { LEAST_COLUMNS = 24 };
    words_line copy = *line;
    while (columns_of(copy.text, copy.length) > columns) {
        size_t length;
        char *name = longest_word(copy.text, true, &length);
        const size_t wide = columns_of(name, length);
        const size_t over = columns_of(copy.text, copy.length) - columns;
        if (wide <= LEAST_COLUMNS)
            return;
        /* in turn, so that two long ones both keep most */
        const size_t step = over < 8 ? over : 8;
        shorten(&copy, name, length, wide - step > LEAST_COLUMNS ? wide - step : LEAST_COLUMNS);
    }
    *line = copy;
}

void words_line_write(words_line *line, FILE *file) {
    const size_t columns = line->columns - line->indent;
    if (!line->keeps_names) {
        size_t length;
        shorten_names(line, columns);
        for (char *word;
             word = longest_word(line->text, false, &length), columns_of(word, length) > columns;)
            shorten(line, word, length, columns);
    }
    const char *text = line->text;
    for (bool is_first = true; is_first || *text != '\0'; is_first = false) {
        size_t end = strlen(text);
        if (columns_of(text, end) > columns) {
            size_t next = strcspn(text, " ");
            end = next;
            while (text[next] != '\0' && columns_of(text, next) <= columns) {
                end = next;
                next += 1 + strcspn(text + next + 1, " ");
            }
        }
        fprintf(file, "%*s%.*s\n", is_first ? 0 : (int)line->indent, "", (int)end, text);
        text += end + strspn(text + end, " ");
    }
}
