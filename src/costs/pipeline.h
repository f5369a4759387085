/* What a pipeline keeps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_PIPELINE_H
#define PL_COSTS_PIPELINE_H

#include "popliner/pipeline.h"

/* How many copies a stage keeps beside what its own run needs, when stages_to_end (>= 1) stages, it
 * among them, are still to come: 2 * stages_to_end - 1 in training, but 0 for the last stage; 0
 * otherwise. It does not depend on max_stages. O(1). */
size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end);

#endif
