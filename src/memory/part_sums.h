/* The memory of every operation, all at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PART_SUMS_H
#define PL_MEMORY_PART_SUMS_H

#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "model/operations.h"
#include "popliner/error.h"

/* Measures every operation separately and sets *sums, [operations], which the caller frees: parts
 * and total over all tiles. Operations of one debug context all have the result of the first, as in PopLiner. Reports
 * progress to the listener. Errors: MEMORY. Cost: one pass over the variables, and
 * that of pl_stage_measure for each context. */
popliner_status pl_operation_sums_measure(const pl_operations *operations, pl_stage_meter *meter,
                                          const popliner_listener *listener,
                                          popliner_stage_detail **sums, popliner_error *error);

#endif
