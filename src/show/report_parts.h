/* What several reports share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_REPORT_PARTS_H
#define PL_SHOW_REPORT_PARTS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/growth.h"
#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"
#include "popliner/stage.h"

/* Hands the text over to *result, unless memory ran short or `status` is a failure already; then it
 * is freed. Returns the status. */
popliner_status pl_report_finish(pl_text *text, popliner_status status, char **result,
                                 popliner_error *error);

/* The same for a text that people read: no name in it reaches a terminal as more than text. */
popliner_status pl_report_finish_printable(pl_text *text, popliner_status status, char **result,
                                           popliner_error *error);

/* A text as JSON. One that is no valid UTF-8 (a regex cut a character apart) keeps its ASCII part.
 * NULL without memory. */
json_t *pl_report_json_text(const char *text);

/* Sets `value` under a key of an object, or adds it to a list; takes it over in any case. False
 * without memory, also if one of them is NULL for lack of it. */
bool pl_report_put(json_t *object, const char *key, json_t *value);
bool pl_report_append(json_t *list, json_t *value);

/* `json` if it is whole; else NULL, and `json` is released. */
json_t *pl_report_whole(json_t *json, bool is_whole);

/* Adds a document to the text, indented as Python's json does, and a line end; then frees it.
 * Errors: MEMORY, also for NULL, which those who make documents return without memory. */
popliner_status pl_report_json(json_t *document, pl_text *text, popliner_error *error);

/* The object `mem` of the original's output, with what the full memory model and the pipeline add.
 * NULL without memory. */
json_t *pl_report_memory_json(const popliner_stage_detail *detail, bool is_full,
                              const popliner_pipeline *pipeline);

/* The scales of a calibration, 1 for what stays. NULL without memory. */
json_t *pl_report_scales_json(const popliner_scales *scales);

/* What a stage needs, and whether it fits. NULL without memory. */
json_t *pl_report_needs_json(const popliner_stage_detail *detail, uint64_t limit_bytes);

/* The largest variables as an array of objects. NULL without memory. */
json_t *pl_report_variables_json(const popliner_stage_detail *detail);

/* How far `bytes` is from `truth_bytes`, in percent of the latter; 0 if both are 0. */
double pl_report_percent(uint64_t bytes, uint64_t truth_bytes);

#endif
