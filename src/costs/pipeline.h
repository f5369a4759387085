/* What a pipeline keeps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_PIPELINE_H
#define PL_COSTS_PIPELINE_H

#include <stdbool.h>

#include "popliner/pipeline.h"

/* How many copies a stage keeps beside what its own run needs, when stages_to_end (>= 1) stages,
 * it among them, are still to come, as popliner/pipeline.h says; 0 for the last one. It does not
 * depend on max_stages. O(1). */
size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end);

/* None keeps more, wherever the stage stands. */
static const popliner_schedule PL_SCHEDULE_OF_MOST_COPIES = POPLINER_SCHEDULE_POPART;

/* Whether any stage keeps something. */
bool pl_schedule_keeps(popliner_schedule schedule);

/* The name that its users know, static text; NULL if there is no such schedule. */
const char *pl_schedule_name(popliner_schedule schedule);

/* Likewise for what is recomputed. */
const char *pl_recompute_name(popliner_recompute recompute);

#endif
