/* What a pipeline keeps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PIPELINE_PIPELINE_H
#define PL_PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/pipeline.h"

/* How many copies a stage keeps beside what its own run needs, when stages_to_end (>= 1) stages,
 * it among them, are still to come, as popliner/pipeline.h says. Those that are expected; for
 * another need the fewest or the most, whichever effects were chosen. It does not depend on
 * max_stages. O(1). */
size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end);
size_t pl_pipeline_copies_for(const popliner_pipeline *pipeline, popliner_need need,
                              size_t stages_to_end);

/* Whether what is kept in copies is not live itself between the passes, as far as is expected. */
bool pl_pipeline_frees_originals(const popliner_pipeline *pipeline);

/* No schedule has more copies of anything, so far from the end. */
size_t pl_most_copies(size_t stages_to_end);

/* Whether there are copies of its own, instead of the schedule's. */
bool pl_pipeline_has_own_copies(const popliner_pipeline *pipeline);

/* Whether any stage keeps something, by the schedule or by copies of its own. */
bool pl_pipeline_keeps(const popliner_pipeline *pipeline);

/* The pipeline as it is for any split: what depends on the number of stages follows that. */
popliner_pipeline pl_pipeline_of_any_split(const popliner_pipeline *pipeline);

/* Whether copies depend on how many stages a split has, and not on which of them it is:
 * popliner_copies_at. */
bool pl_pipeline_follows_split(const popliner_pipeline *pipeline);

/* What to ask copies and costs of this pipeline by, for a stage of so many: how many are still to
 * come, or how many there are. */
size_t pl_pipeline_place(const popliner_pipeline *pipeline, size_t num_stages, size_t stage);

/* Whether a stage that begins with the first unit, or ends with the last one, takes its forward
 * pass once more: with full recomputation, unless nothing is kept for it. The last stage keeps
 * nothing, but by copies of its own. */
bool pl_pipeline_recomputes(const popliner_pipeline *pipeline, bool is_first, bool is_last);

/* Whether any stage keeps something. */
bool pl_schedule_keeps(popliner_schedule schedule);

/* Schedules that count the same but for the number of copies. */
typedef enum pl_schedule_kind {
    PL_SCHEDULE_PLAIN,     /* none, inference: nothing but the stage itself */
    PL_SCHEDULE_IN_SLICES, /* it trains; what is sent leaves before the other pass runs */
    PL_SCHEDULE_IN_CYCLES, /* it trains; what is sent leaves at the end of a cycle of both */
} pl_schedule_kind;
pl_schedule_kind pl_schedule_kind_of(popliner_schedule schedule);

/* That of a pipeline: with copies of its own it trains, whatever the schedule. */
pl_schedule_kind pl_pipeline_kind(const popliner_pipeline *pipeline);

/* Whether it makes sense, but for the calibration. Errors: USAGE. */
popliner_status pl_pipeline_check(const popliner_pipeline *pipeline, popliner_error *error);

/* Whether a stage never needs less when it grows. What it hands on or recomputes can become less,
 * so can what operations explain at the step of the peak, and the last stage may have other scales
 * than those before it. */
bool pl_pipeline_never_shrinks(const popliner_pipeline *pipeline, popliner_need need);

/* Whether there is any calibration. */
bool pl_is_calibrated(const popliner_calibration *calibration);

/* That of an IPU with some stages that have others behind them, with the last one, or with both:
 * then the larger of each, so that stages on one IPU never need less than one of them. */
popliner_scales pl_calibration_scales(const popliner_calibration *calibration, bool has_earlier,
                                      bool has_last);

/* "1f1b", "gpipe", "zero-bubble", "interleaved"; "schedule" and "list" for the first two. NULL if
 * there is no such rule. Static text. */
const char *pl_copies_rule_name(popliner_copies_rule rule);

/* The name that its users know, static text; NULL if there is no such schedule. */
const char *pl_schedule_name(popliner_schedule schedule);

/* Likewise for what is recomputed, and for accumulators. */
const char *pl_recompute_name(popliner_recompute recompute);
const char *pl_accumulators_name(popliner_accumulators accumulators);

/* The same of effect i, the bit 1 << i; NULL behind the last one. */
const char *pl_effect_name(size_t i);

/* ---- the calibration that follows from predictions and what was compiled ---- */

/* Bytes of a tile. */
typedef struct pl_fit_bytes {
    uint64_t code_bytes;
    uint64_t data_bytes;
    uint64_t layout_bytes;
} pl_fit_bytes;

/* A stage from which to learn. */
typedef struct pl_fit_stage {
    pl_fit_bytes predicted;
    pl_fit_bytes compiled;
} pl_fit_stage;

/* Makes it of all stages but the one in place `left_out` (SIZE_MAX: of all), of which the last has
 * nothing behind it: each scale is the sum of what was compiled by the sum of what was predicted,
 * rounded to millionths; 1 where nothing was predicted, or no stage is left to learn from. False if
 * a scale is beyond what a calibration may have. O(stages). */
bool pl_calibration_fit(const pl_fit_stage *stages, size_t num_stages, size_t left_out,
                        popliner_calibration *calibration);

#endif
