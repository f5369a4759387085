/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/pipeline.h"
#include "popliner/pipeline.h"

size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end) {
    if (pipeline->schedule != POPLINER_SCHEDULE_TRAINING || stages_to_end <= 1)
        return 0;
    return 2 * stages_to_end - 1;
}
