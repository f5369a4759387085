/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared_stages.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

void pl_shared_free(pl_shared *shared) {
    free(shared->intervals);
    free(shared->first_stage);
    free(shared->peak_bytes);
    *shared = (pl_shared){0};
}

popliner_status pl_shared_add(pl_shared *shared, size_t width, const popliner_interval *stages,
                              size_t first_stage_on_ipu, uint64_t peak_bytes,
                              popliner_error *error) {
    void *intervals = shared->intervals;
    void *first_stage = shared->first_stage;
    void *peaks = shared->peak_bytes;
    bool memory = pl_reserve(&intervals, &shared->interval_capacity, (shared->count + 1) * width,
                             sizeof *shared->intervals);
    shared->intervals = intervals;
    memory = memory && pl_reserve(&first_stage, &shared->first_stage_capacity, shared->count + 1,
                                  sizeof *shared->first_stage);
    shared->first_stage = first_stage;
    memory = memory && pl_reserve(&peaks, &shared->peak_capacity, shared->count + 1,
                                  sizeof *shared->peak_bytes);
    shared->peak_bytes = peaks;
    if (!memory)
        return pl_fail_memory(error, "the stages that share an IPU");
    memcpy(shared->intervals + shared->count * width, stages, width * sizeof *stages);
    shared->first_stage[shared->count] = first_stage_on_ipu;
    shared->peak_bytes[shared->count++] = peak_bytes;
    return POPLINER_OK;
}
