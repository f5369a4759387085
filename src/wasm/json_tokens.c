/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wasm/json_tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static const char no_character[] = {'\xef', '\xbf', '\xbd'}; /* U+FFFD */

/* Reads the four digits of an escaped character, which is a control character or half of one. */
static char *put_character(char *end, const char *digits) {
    const char four[] = {digits[0], digits[1], digits[2], digits[3], '\0'};
    const unsigned long code = strtoul(four, NULL, 16);
    if (code > 0 && code < 0x80) {
        *end = (char)code;
        return end + 1;
    }
    memcpy(end, no_character, sizeof no_character);
    return end + sizeof no_character;
}

/* Unescapes a text in place, and returns what is after its quote. */
static char *read_text(char *at) {
    static const char escapes[] = "bfnrt";
    char *end = at;
    for (; *at != '"'; at++) {
        if (*at != '\\') {
            *end++ = *at;
            continue;
        }
        const char *escape = strchr(escapes, *++at);
        if (*at == 'u') {
            end = put_character(end, at + 1);
            at += 4;
        } else {
            *end++ = escape != NULL ? "\b\f\n\r\t"[escape - escapes] : *at;
        }
    }
    *end = '\0';
    return at + 1;
}

const pl_json_token *pl_json_tokens_read(pl_arrays *arrays, char *json) {
    pl_json_token *values = NULL;
    size_t *open = NULL; /* the lists and objects around what is read */
    size_t count = 0;
    size_t depth = 0;
    const char *name = NULL;
    for (char *at = json; *at != '\0';) {
        char *const start = at++;
        const bool is_large = strncmp(start, "\"\\ud800", 7) == 0; /* a BigInt: solver.js */
        if (*start == ']' || *start == '}') {
            const size_t last = open[--depth];
            values[last].size = count - last;
        }
        if (strchr("]},:", *start) != NULL)
            continue;
        if (*start == '"' && *(at = read_text(at)) == ':') {
            name = start + 1;
            continue;
        }
        if (!pl_arrays_grow(arrays, &values, count + 1, sizeof *values) ||
            !pl_arrays_grow(arrays, &open, depth + 1, sizeof *open))
            return NULL;
        const bool is_number = is_large || *start == '-' || (*start >= '0' && *start <= '9');
        const size_t before = (*start == '"') + (is_large ? sizeof no_character : 0);
        values[count] = (pl_json_token){is_number ? '0' : *start, name, start + before, 1};
        name = NULL;
        if (*start == '[' || *start == '{')
            open[depth++] = count;
        else if (*start != '"')
            at = start + strcspn(start, ",]}");
        count++;
    }
    return values;
}

const pl_json_token *pl_json_token_member(const pl_json_token *object, const char *name) {
    for (const pl_json_token *own = NULL; (own = pl_json_token_next(object, own)) != NULL;)
        if (own->name != NULL && strcmp(own->name, name) == 0)
            return own->kind == 'n' ? NULL : own;
    return NULL;
}

/* ---- numbers ---- */

bool pl_json_token_number(const pl_json_token *value, uint64_t *number) {
    const char *at = value->text;
    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        const unsigned digit = (unsigned)(*at - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return false;
        *number = 10 * *number + digit;
    }
    return value->kind == '0' && strchr(",]}", *at) != NULL;
}

const uint64_t *pl_json_token_numbers(pl_arrays *arrays, const pl_json_token *list, size_t *count) {
    uint64_t *numbers =
        list->kind == '[' ? pl_arrays_new(arrays, list->size, sizeof *numbers) : NULL;
    bool are_right = numbers != NULL;
    *count = list->size - 1;
    for (size_t i = 0; are_right && i < *count; i++)
        are_right = pl_json_token_number(&list[1 + i], &numbers[i]);
    return are_right ? numbers : NULL;
}
