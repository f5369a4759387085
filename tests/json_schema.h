/* Whether a JSON document is what a JSON schema says: as much of JSON Schema as the project's own
 * description of its output needs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_JSON_SCHEMA_H
#define PL_TESTS_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

enum { SCHEMA_COMPLAINT_SIZE = 400 };

/* Whether `document` is what the definition `name` of the schema describes, or the schema itself if
 * that is NULL; if not, `complaint` (SCHEMA_COMPLAINT_SIZE bytes) says where and why. Fails the
 * test if the schema uses a keyword that is not known here, so that nothing in it is without
 * effect. */
bool schema_accepts(const json_t *schema, const char *name, const json_t *document,
                    char *complaint);

#endif
