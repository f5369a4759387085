/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/json_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "base/failure.h"
#include "base/plain_locale.h"

pl_json_place pl_place(const char *format, ...) {
    pl_json_place place;
    va_list arguments;
    va_start(arguments, format);
    pl_format(place.text, sizeof place.text, format, arguments);
    va_end(arguments);
    return place;
}

popliner_status pl_json_refuse(const pl_json *json, const pl_json_place *place, const char *format,
                               ...) {
    char sentence[600];
    va_list arguments;
    va_start(arguments, format);
    pl_format(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return pl_fail(json->error, POPLINER_ERROR_INPUT, "%s: %s%s%s", json->path, place->text,
                   place->text[0] == '\0' ? "" : ": ", sentence);
}

/* What a value is, as a user would say it. */
static const char *kind(const json_t *value) {
    if (value == NULL)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        break;
    }
    return "null";
}

popliner_status pl_json_object(const pl_json *json, const pl_json_place *place,
                               const json_t *value) {
    if (json_is_object(value))
        return POPLINER_OK;
    return pl_json_refuse(json, place, "expected an object, found %s", kind(value));
}

popliner_status pl_json_array(const pl_json *json, const pl_json_place *place,
                              const json_t *value) {
    if (json_is_array(value))
        return POPLINER_OK;
    return pl_json_refuse(json, place, "expected a list, found %s", kind(value));
}

popliner_status pl_json_text(const pl_json *json, const pl_json_place *place, const json_t *value,
                             const char **text) {
    if (!json_is_string(value))
        return pl_json_refuse(json, place, "expected a text, found %s", kind(value));
    *text = json_string_value(value);
    if ((*text)[0] == '\0')
        return pl_json_refuse(json, place, "the text is empty");
    for (const char *c = *text; *c != '\0'; ++c)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return pl_json_refuse(json, place, "the text has a control character in it");
    return POPLINER_OK;
}

popliner_status pl_json_flag(const pl_json *json, const pl_json_place *place, const json_t *value,
                             bool *flag) {
    bool is_digit = json_is_integer(value) &&
                    (json_integer_value(value) == 0 || json_integer_value(value) == 1);
    if (!json_is_boolean(value) && !is_digit)
        return pl_json_refuse(json, place, "expected true or false, found %s", kind(value));
    *flag = is_digit ? json_integer_value(value) == 1 : json_is_true(value);
    return POPLINER_OK;
}

popliner_status pl_json_whole(const pl_json *json, const pl_json_place *place, const json_t *value,
                              uint64_t min, uint64_t max, uint64_t *number) {
    if (!json_is_number(value))
        return pl_json_refuse(json, place, "expected a whole number, found %s", kind(value));
    double real = json_number_value(value);
    /* in integers where there are some: a double is no longer exact above 2^53 */
    bool fits = json_is_integer(value) ? json_integer_value(value) >= 0 &&
                                             (uint64_t)json_integer_value(value) >= min &&
                                             (uint64_t)json_integer_value(value) <= max
                                       : real >= (double)min && real <= (double)max;
    if (!fits || real != floor(real))
        return pl_json_refuse(json, place,
                              "%.17g is not a whole number from %" PRIu64 " to %" PRIu64, real, min,
                              max);
    *number = json_is_integer(value) ? (uint64_t)json_integer_value(value) : (uint64_t)real;
    return POPLINER_OK;
}

popliner_status pl_json_scaled(const pl_json *json, const pl_json_place *place, const json_t *value,
                               uint64_t scale, uint64_t max, uint64_t *number) {
    if (!json_is_number(value))
        return pl_json_refuse(json, place, "expected a number, found %s", kind(value));
    double real = json_number_value(value);
    if (real < 0)
        return pl_json_refuse(json, place, "%.17g is negative", real);
    if (real > (double)max / (double)scale)
        return pl_json_refuse(json, place, "%.17g is more than %.17g; use a larger unit", real,
                              (double)max / (double)scale);
    *number = json_is_integer(value) ? (uint64_t)json_integer_value(value) * scale
                                     : (uint64_t)llround(real * (double)scale);
    return POPLINER_OK;
}
