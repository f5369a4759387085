/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "base/text.h"

/* ---- Documents ------------------------------------------------------------------------------- */

/* Returns an upper bound of the length of the longest text or number: the longest stretch between
 * quotes that are not escaped. */
static size_t longest_stretch(const char *bytes, size_t length) {
    size_t longest = 0;
    size_t start = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"' && (i == 0 || bytes[i - 1] != '\\'))
            start = i;
        longest = pl_more(longest, i + 1 - start);
    }
    return longest;
}

/* True if jansson reports that memory is short; it reports nothing if creating a value failed. */
static bool is_of_memory(const json_error_t *failure) {
    return failure->line < 0 || json_error_code(failure) == json_error_out_of_memory;
}

/* Parses the document as `["   ...", document]`, because jansson drops bytes of a text or number
 * when memory is too short to enlarge its buffer, and goes on. Only a text or number longer than
 * all before it enlarges the buffer, and the first text is as long as any other: if it is whole, so
 * are all. Its length is odd, since jansson reads on where a quote at the end is dropped: then the
 * quote never enlarges the buffer, whose sizes are powers of two. */
static json_t *parse_in_frame(const char *bytes, size_t length, json_error_t *failure) {
    const size_t padding = longest_stretch(bytes, length) | 1;
    pl_text text = {0};
    json_t *root = NULL;
    *failure = (json_error_t){.line = -1};
    pl_text_format(&text, "[\"%*s\",", (int)padding, "");
    pl_text_append(&text, bytes, length);
    pl_text_add(&text, "]");
    json_t *frame =
        text.failed ? NULL : json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, failure);
    free(text.data);
    if (json_string_length(json_array_get(frame, 0)) != padding)
        failure->line = frame == NULL ? failure->line : -1; /* memory is short */
    else if (json_array_size(frame) > 2)
        failure->line = 0; /* memory suffices, but the document goes on past its end: "{}, {}" */
    else
        root = json_incref(json_array_get(frame, 1));
    json_decref(frame);
    return root;
}

popliner_status pl_json_parse(const char *bytes, size_t length, const char *path, json_t **root,
                              popliner_error *error) {
    json_error_t failure;
    /* jansson cannot parse a decimal comma of several bytes */
    pl_plain_locale locale = pl_plain_locale_enter();
    *root = parse_in_frame(bytes, length, &failure);
    bool is_memory = *root == NULL && is_of_memory(&failure);
    /* without the frame, for the right position and message; a text that was cut looks like a
     * mistake in the document the first time, but not twice */
    if (*root == NULL && !is_memory && json_error_code(&failure) != json_error_stack_overflow) {
        json_t *plain = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &failure);
        is_memory = plain != NULL || is_of_memory(&failure);
        json_decref(plain);
    }
    pl_plain_locale_leave(&locale);
    return *root != NULL ? POPLINER_OK
           : is_memory   ? pl_fail_memory(error, "the JSON document")
                         : pl_fail(error, POPLINER_ERROR_INPUT, "%s: line %d, column %d: %s", path,
                                   failure.line, failure.column, failure.text);
}

/* Sets *number if the text is a decimal of at least 0, maybe with an exponent. */
static bool take_decimal(const char *text, size_t length, double *number) {
    char copy[100];
    if (length == 0 || length >= sizeof copy || text[0] < '0' || text[0] > '9')
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *end = copy;
    *number = strspn(copy, "0123456789.eE+-") == length ? strtod(copy, &end) : 0;
    return end == copy + length && isfinite(*number);
}

json_t *pl_json_numbers(const char *text, size_t length, const char *separators) {
    pl_plain_locale locale = pl_plain_locale_enter();
    const char *end = text + length;
    json_t *list = json_array();
    json_t *result = NULL;
    bool has_memory = list != NULL;
    bool are_numbers = true;
    while (has_memory && are_numbers && text < end) {
        const size_t size = pl_fewer(strcspn(text, separators), (size_t)(end - text));
        double number = 0;
        are_numbers = take_decimal(text, size, &number);
        has_memory = !are_numbers || json_array_append_new(list, json_real(number)) == 0;
        text += size + strspn(text + size, separators);
    }
    if (has_memory)
        result = !are_numbers                 ? json_null()
                 : json_array_size(list) == 1 ? json_incref(json_array_get(list, 0))
                                              : json_incref(list);
    pl_plain_locale_leave(&locale);
    json_decref(list);
    return result;
}

/* ---- Values ---------------------------------------------------------------------------------- */

pl_json_value pl_json_in(const pl_json_value *object, const char *key) {
    return (pl_json_value){json_object_get(object->json, key), object, key, 0};
}

pl_json_value pl_json_at(const pl_json_value *list, size_t index) {
    return (pl_json_value){json_array_get(list->json, index), list, NULL, index};
}

/* Writes the place of a value, cut if it is longer. Returns its length. */
static size_t write_place(const pl_json_reader *json, const pl_json_value *value, char *text,
                          size_t size) {
    if (value->owner == NULL)
        return 0;
    const json_t *line =
        json->has_lines && value->key == NULL ? json_object_get(value->json, "line") : NULL;
    const size_t length = line != NULL ? 0 : write_place(json, value->owner, text, size);
    const bool is_cell = json->has_lines && json_object_get(value->owner->json, "line") != NULL;
    const int more =
        line != NULL ? snprintf(text, size, "line %" JSON_INTEGER_FORMAT, json_integer_value(line))
        : value->key == NULL ? snprintf(text + length, size - length, "[%zu]", value->index)
                             : snprintf(text + length, size - length, "%s%s",
                                        length == 0 ? ""
                                        : is_cell   ? ": "
                                                    : ".",
                                        value->key);
    return (size_t)more < size - length ? length + (size_t)more : size - 1;
}

void pl_json_refuse(pl_json_reader *json, const pl_json_value *value, const char *format, ...) {
    char place[200] = "";
    char sentence[600];
    va_list arguments;
    va_start(arguments, format);
    pl_format(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    write_place(json, value, place, sizeof place);
    pl_outcome_fail(&json->outcome, POPLINER_ERROR_INPUT, "%s: %s%s%s", json->path, place,
                    place[0] == '\0' ? "" : ": ", sentence);
}

/* Describes the type of a value for users. */
static const char *kind(const json_t *value) {
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };
    return value == NULL ? "nothing" : kinds[json_typeof(value)];
}

void pl_json_object(pl_json_reader *json, const pl_json_value *value) {
    if (!json_is_object(value->json))
        pl_json_refuse(json, value, "expected an object, found %s", kind(value->json));
}

void pl_json_array(pl_json_reader *json, const pl_json_value *value) {
    if (!json_is_array(value->json))
        pl_json_refuse(json, value, "expected a list, found %s", kind(value->json));
}

const char *pl_json_text(pl_json_reader *json, const pl_json_value *value) {
    const char *text = json_string_value(value->json);
    if (text == NULL) {
        pl_json_refuse(json, value, "expected a text, found %s", kind(value->json));
        return "";
    }
    if (text[0] == '\0')
        pl_json_refuse(json, value, "the text is empty");
    const char *control = text;
    while ((unsigned char)*control >= 0x20 && *control != 0x7f)
        control++;
    if (*control != '\0')
        pl_json_refuse(json, value, "the text has a control character in it");
    return text;
}

bool pl_json_flag(pl_json_reader *json, const pl_json_value *value) {
    const json_t *own = value->json;
    bool is_digit =
        json_is_integer(own) && (json_integer_value(own) == 0 || json_integer_value(own) == 1);
    if (!json_is_boolean(own) && !is_digit)
        pl_json_refuse(json, value, "expected true or false, found %s", kind(own));
    return is_digit ? json_integer_value(own) == 1 : json_is_true(own);
}

uint64_t pl_json_whole(pl_json_reader *json, const pl_json_value *value, uint64_t min,
                       uint64_t max) {
    const json_t *own = value->json;
    double real = json_number_value(own);
    /* integers are compared as such: a double is not exact above 2^53 */
    bool fits = json_is_integer(own)
                    ? json_integer_value(own) >= 0 && (uint64_t)json_integer_value(own) >= min &&
                          (uint64_t)json_integer_value(own) <= max
                    : real >= (double)min && real <= (double)max;
    if (!json_is_number(own))
        pl_json_refuse(json, value, "expected a whole number, found %s", kind(own));
    else if (!fits || real != floor(real))
        pl_json_refuse(json, value, "%.17g is not a whole number from %" PRIu64 " to %" PRIu64,
                       real, min, max);
    else
        return json_is_integer(own) ? (uint64_t)json_integer_value(own) : (uint64_t)real;
    return 0;
}

uint64_t pl_json_scaled(pl_json_reader *json, const pl_json_value *value, uint64_t scale,
                        uint64_t max) {
    const json_t *own = value->json;
    double real = json_number_value(own);
    if (!json_is_number(own))
        pl_json_refuse(json, value, "expected a number, found %s", kind(own));
    else if (real < 0)
        pl_json_refuse(json, value, "%.17g is negative", real);
    else if (real > (double)max / (double)scale)
        pl_json_refuse(json, value, "%.17g is more than %.17g; use a larger unit", real,
                       (double)max / (double)scale);
    else
        return json_is_integer(own) ? (uint64_t)json_integer_value(own) * scale
                                    : (uint64_t)llround(real * (double)scale);
    return 0;
}
