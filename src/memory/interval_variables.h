/* Which variables are the largest in each stage of a chain, and how much of it are parameters.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_INTERVAL_VARIABLES_H
#define PL_MEMORY_INTERVAL_VARIABLES_H

#include "memory/stage_details.h"
#include "memory/tile_meter.h"

/* Fills in parameter_bytes and the variables of the largest tiles, once all tiles have been added.
 * Errors: MEMORY. Cost: O(variables + sets of units * units + units^2), and for each tile that is
 * some stage's largest one sorting its variables, and a pass over them for each step of such a
 * stage's peak. */
popliner_status pl_interval_variables_find(const pl_interval_inputs *inputs,
                                           pl_stage_details *details, popliner_error *error);

#endif
