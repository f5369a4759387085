/* Parses JSON documents, safely if memory is short, and reads their values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_JSON_READER_H
#define PL_BASE_JSON_READER_H

#include <jansson.h>

#include "base/failure.h"

/* ---- Documents ------------------------------------------------------------------------------- */

/* Returns the decimal in a text, of at least 0, or a list of several with any of the separators
 * between them; null if there is another thing, NULL if memory is short. O(length). */
json_t *pl_json_numbers(const char *text, size_t length, const char *separators);

/* Parses a document whose objects have no key twice; the caller releases *root with json_decref.
 * Errors: INPUT with `path`, line and column; MEMORY. O(length). */
popliner_status pl_json_parse(const char *bytes, size_t length, const char *path, json_t **root,
                              popliner_error *error);

/* ---- Values ---------------------------------------------------------------------------------- */

/* Values of a JSON document that a user wrote. Each function checks one value, and names its place
 * in the message. */

/* The file that is read. What fails, fails in `outcome`. */
typedef struct pl_json_reader {
    const char *path;
    pl_outcome outcome;
    /* The document was made from lines of text: the items of its lists have a "line", which is
     * their place. */
    bool has_lines;
} pl_json_reader;

/* A value and its place, for example units[3].memory, for messages. */
typedef struct pl_json_value {
    const json_t *json;                /* NULL if it is missing */
    const struct pl_json_value *owner; /* NULL: this is the document */
    const char *key;                   /* in an object; NULL: this is an item of a list */
    size_t index;
} pl_json_value;

/* Return a member of an object and an item of a list, which refer to their owner; missing if the
 * owner has another type. */
pl_json_value pl_json_in(const pl_json_value *object, const char *key);
pl_json_value pl_json_at(const pl_json_value *list, size_t index);

static inline bool pl_json_is_well(const pl_json_reader *json) {
    return json->outcome.status == POPLINER_OK;
}

/* Fails with INPUT and "file: place: sentence", without an empty place. */
void pl_json_refuse(pl_json_reader *json, const pl_json_value *value, const char *format, ...);

/* Each function fails with INPUT, and with a message that says what was expected, unless the value
 * has the type; then it returns 0, false or "". */
void pl_json_object(pl_json_reader *json, const pl_json_value *value);
void pl_json_array(pl_json_reader *json, const pl_json_value *value);

/* A text that is not empty and has no control characters, which would spoil tables. Borrowed from
 * the value. */
const char *pl_json_text(pl_json_reader *json, const pl_json_value *value);

/* true, false, 1 or 0. */
bool pl_json_flag(pl_json_reader *json, const pl_json_value *value);

/* A whole number from `min` to `max` (at most 2^53); it may be written as 4096.0 or 4e3. */
uint64_t pl_json_whole(pl_json_reader *json, const pl_json_value *value, uint64_t min,
                       uint64_t max);

/* A number of at least 0, multiplied by `scale` and rounded; `max` (at most 2^53) limits the
 * product. */
uint64_t pl_json_scaled(pl_json_reader *json, const pl_json_value *value, uint64_t scale,
                        uint64_t max);

#endif
