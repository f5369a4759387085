/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void pl_put_line(pl_json *json) {
    json->is_on_line = true;
}

void pl_put_value(pl_json *json, const char *key) {
    pl_text *text = json->text;
    if (json->depth > 0 && json->has_items)
        pl_text_add(text, json->style == PL_JSON_SPACED && !json->is_on_line ? ", " : ",");
    if (json->depth > 0 && json->style == PL_JSON_INDENTED)
        pl_text_format(text, "\n%*s", 4 * (int)json->depth, "");
    if (json->is_on_line)
        pl_text_add(text, "\n");
    json->has_items = true;
    json->is_on_line = false;
    if (key == NULL)
        return;
    pl_quote_json(text, key);
    pl_text_add(text, json->style == PL_JSON_COMPACT ? ":" : ": ");
}

void pl_put_open(pl_json *json, const char *key, char begin) {
    assert(json->depth < PL_JSON_DEPTH);
    pl_put_value(json, key);
    pl_text_append(json->text, &begin, 1);
    json->ends[json->depth++] = begin == '{' ? '}' : ']';
    json->has_items = false;
}

bool pl_put_open_if(pl_json *json, bool is_there, const char *key, char begin) {
    if (is_there)
        pl_put_open(json, key, begin);
    else
        pl_put_null(json, key);
    return is_there;
}

void pl_put_close(pl_json *json) {
    json->depth--;
    if (json->has_items && json->style == PL_JSON_INDENTED)
        pl_text_format(json->text, "\n%*s", 4 * (int)json->depth, "");
    pl_text_format(json->text, "%c%s", json->ends[json->depth],
                   json->depth == 0 && json->style == PL_JSON_INDENTED ? "\n" : "");
    json->has_items = true;
}

void pl_put_null(pl_json *json, const char *key) {
    pl_put_value(json, key);
    pl_text_add(json->text, "null");
}

void pl_put_flag(pl_json *json, const char *key, bool value) {
    pl_put_value(json, key);
    pl_text_add(json->text, value ? "true" : "false");
}

void pl_put_number(pl_json *json, const char *key, uint64_t value) {
    pl_put_value(json, key);
    pl_text_add_number(json->text, value);
}

void pl_put_signed(pl_json *json, const char *key, int64_t value) {
    pl_put_value(json, key);
    pl_text_format(json->text, "%" PRId64, value);
}

/* The shortest decimal that reads back as this number, like Python: 16.458, where 17 digits would
 * give 16.457999999999998. */
void pl_put_real(pl_json *json, const char *key, double value) {
    enum { NEVER_TOO_MANY = 15, ALWAYS_ENOUGH = 17, MAX_DIGITS = 32 };
    char digits[MAX_DIGITS] = "";
    if (!isfinite(value)) {
        pl_put_null(json, key);
        return;
    }
    pl_plain_locale locale = pl_plain_locale_enter();
    for (int precision = NEVER_TOO_MANY; precision <= ALWAYS_ENOUGH; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    pl_plain_locale_leave(&locale);
    pl_put_value(json, key);
    pl_text_add(json->text, digits);
    if (strpbrk(digits, ".e") == NULL) /* else it would be a whole number */
        pl_text_add(json->text, ".0");
}

void pl_put_known(pl_json *json, const char *key, bool is_known, uint64_t value) {
    if (is_known)
        pl_put_number(json, key, value);
    else
        pl_put_null(json, key);
}

void pl_put_text(pl_json *json, const char *key, const char *value) {
    pl_put_value(json, key);
    if (value == NULL)
        pl_text_add(json->text, "null");
    else
        pl_quote_json(json->text, value);
}

void pl_put_numbers(pl_json *json, const char *key, const size_t *values, size_t count) {
    if (!pl_put_open_if(json, values != NULL, key, '['))
        return;
    for (size_t i = 0; i < count; i++)
        pl_put_number(json, NULL, values[i]);
    pl_put_close(json);
}

void pl_put_texts(pl_json *json, const char *key, const char *const *values, size_t count) {
    pl_put_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        pl_put_text(json, NULL, values[i]);
    pl_put_close(json);
}
