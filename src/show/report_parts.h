/* What several reports share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_REPORT_PARTS_H
#define PL_SHOW_REPORT_PARTS_H

#include <stdbool.h>

#include "base/growth.h"
#include "base/json_writer.h"
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

/* The object `mem` of the original's output, with what the full memory model and the pipeline
 * add. */
void pl_report_memory_json(const popliner_stage_detail *detail, bool is_full,
                           const popliner_pipeline *pipeline, pl_json *json);

/* The scales of a calibration, 1 for what stays: earlier_stages and last_stage. */
void pl_report_calibration_json(const popliner_calibration *calibration, pl_json *json);

/* The list `effects`. */
void pl_report_effects_json(unsigned effects, pl_json *json);

/* The object `needs`: what a stage needs, and whether it fits. */
void pl_report_needs_json(const popliner_stage_detail *detail, uint64_t limit_bytes, pl_json *json);

/* The list `largest_variables`. */
void pl_report_variables_json(const popliner_stage_detail *detail, pl_json *json);

/* How far `bytes` is from `truth_bytes`, in percent of the latter; 0 if both are 0. */
double pl_report_percent(uint64_t bytes, uint64_t truth_bytes);

#endif
