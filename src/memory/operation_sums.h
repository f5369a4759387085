/* What single operations need, summed up over the tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_OPERATION_SUMS_H
#define PL_MEMORY_OPERATION_SUMS_H

#include <stdint.h>

#include "memory/stage.h"
#include "popliner/listener.h"

/* Over all tiles. */
typedef struct pl_memory_sums {
    uint64_t vertex_state_bytes;
    uint64_t vertex_code_bytes;
    uint64_t exchange_code_bytes;
    uint64_t control_code_bytes;
    uint64_t variables_bytes;
    uint64_t unexplained_bytes;
    uint64_t total_bytes;
} pl_memory_sums;

pl_memory_sums pl_memory_sums_of(const pl_stage_memory *memory);

/* Measures every operation by itself into *sums, [operations], which the caller frees; but those of
 * one debug context once: they all show what the first of them needs, as the original does. The
 * listener hears how far it is. Errors: MEMORY. Cost: that of pl_part_sums_measure where that is
 * possible, else that of pl_stage_measure for each context. */
popliner_status pl_operation_sums_measure(const popliner_operations *operations,
                                          pl_stage_meter *meter, const popliner_listener *listener,
                                          pl_memory_sums **sums, popliner_error *error);

#endif
