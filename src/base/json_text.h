/* Parsing JSON, safely where memory is short; and texts for JSON that is written piece by piece.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_JSON_TEXT_H
#define PL_BASE_JSON_TEXT_H

#include <stddef.h>

#include <jansson.h>

#include "base/growth.h"
#include "popliner/error.h"

/* Parses a document whose objects have no key twice; the caller releases *root with json_decref.
 * Errors: INPUT with `path`, line and column; MEMORY. O(length). */
popliner_status pl_json_parse(const char *bytes, size_t length, const char *path, json_t **root,
                              popliner_error *error);

/* Adds a text within quotes. What is no valid UTF-8 becomes U+FFFD, and what a terminal might take
 * for an order is escaped. */
void pl_json_add_text(pl_text *text, const char *value);

#endif
