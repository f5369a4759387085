/* --solve in JSON, checked against docs/certificate.schema.json.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_SOLVING_RUN_H
#define PL_TESTS_SOLVING_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "command_run.h"

enum { MOST_ASKED = 40 };

/* Runs the command with --solve --format json, expects the exit status, and returns the document,
 * which is checked against docs/certificate.schema.json. */
json_t *run_json(command_run *run, int status, const char *const *arguments);
#define RUN_JSON(run, status, ...) run_json(run, status, (const char *const[]){__VA_ARGS__, NULL})

/* Whether a document is what docs/certificate.schema.json calls `name` ("answer" or "sweep"). */
bool certificate_schema_accepts(const char *name, const json_t *document, char *complaint);

/* An item of an item of ... a document: keys, or numbers as text; ends with NULL. */
json_t *json_at(const json_t *document, const char *const *keys);
#define JSON_AT(document, ...) json_at(document, (const char *const[]){__VA_ARGS__, NULL})
uint64_t number_of(const json_t *number);
#define NUMBER_AT(document, ...) number_of(JSON_AT(document, __VA_ARGS__))

#endif
