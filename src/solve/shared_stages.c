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
    const pl_column_room columns[] = {{&shared->intervals, width * sizeof *shared->intervals},
                                      PL_COLUMN_ROOM(shared->first_stage),
                                      PL_COLUMN_ROOM(shared->peak_bytes)};
    if (!pl_grow_columns(columns, 3, &shared->capacity, shared->count + 1))
        return pl_fail_memory(error, "the stages that share an IPU");
    memcpy(shared->intervals + shared->count * width, stages, width * sizeof *stages);
    shared->first_stage[shared->count] = first_stage_on_ipu;
    shared->peak_bytes[shared->count++] = peak_bytes;
    return POPLINER_OK;
}
