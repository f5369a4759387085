/* Parses JSON documents, safely if memory is short, and reads their values.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_JSON_READER_H
#define PL_BASE_JSON_READER_H

#include <jansson.h>

#include "popliner/error.h"

/* ---- Documents ------------------------------------------------------------------------------- */

/* Parses a document whose objects have no key twice; the caller releases *root with json_decref.
 * Errors: INPUT with `path`, line and column; MEMORY. O(length). */
popliner_status pl_json_parse(const char *bytes, size_t length, const char *path, json_t **root,
                              popliner_error *error);

/* ---- Values ---------------------------------------------------------------------------------- */

/* Values of a JSON document that a user wrote. Each function checks one value, and names its place
 * in the message. */

/* The file that is read, and the error to fill. */
typedef struct pl_json_reader {
    const char *path;
    popliner_error *error;
} pl_json_reader;

/* The place of a value, for example units[3].memory; made by pl_place, cut if longer. */
typedef struct pl_json_place {
    char text[200];
} pl_json_place;
pl_json_place pl_place(const char *format, ...);

/* Stores "file: place: sentence", without an empty place. Returns INPUT. */
popliner_status pl_json_refuse(const pl_json_reader *json, const pl_json_place *place,
                               const char *format, ...);

/* Each function fails with INPUT, and with a message that says what was expected, unless `value`
 * (NULL if missing) has the type. */
popliner_status pl_json_object(const pl_json_reader *json, const pl_json_place *place,
                               const json_t *value);
popliner_status pl_json_array(const pl_json_reader *json, const pl_json_place *place,
                              const json_t *value);

/* A text that is not empty and has no control characters, which would spoil tables. Borrowed from
 * the value. */
popliner_status pl_json_text(const pl_json_reader *json, const pl_json_place *place,
                             const json_t *value, const char **text);

/* true, false, 1 or 0. */
popliner_status pl_json_flag(const pl_json_reader *json, const pl_json_place *place,
                             const json_t *value, bool *flag);

/* A whole number from `min` to `max` (at most 2^53); it may be written as 4096.0 or 4e3. */
popliner_status pl_json_whole(const pl_json_reader *json, const pl_json_place *place,
                              const json_t *value, uint64_t min, uint64_t max, uint64_t *number);

/* A number of at least 0, multiplied by `scale` and rounded; `max` (at most 2^53) limits the
 * product. */
popliner_status pl_json_scaled(const pl_json_reader *json, const pl_json_place *place,
                               const json_t *value, uint64_t scale, uint64_t max, uint64_t *number);

#endif
