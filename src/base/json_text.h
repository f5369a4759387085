/* Parsing JSON, safely where memory is short.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_JSON_TEXT_H
#define PL_BASE_JSON_TEXT_H

#include <stddef.h>

#include <jansson.h>

#include "popliner/error.h"

/* Parses a document whose objects have no key twice; the caller releases *root with json_decref.
 * Errors: INPUT with `path`, line and column; MEMORY. O(length). */
popliner_status pl_json_parse(const char *bytes, size_t length, const char *path, json_t **root,
                              popliner_error *error);

#endif
