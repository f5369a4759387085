/* Options of the solver that leave nothing to what is usual: memory, then traffic, on up to 16
 * IPUs, in stages of any units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_PLAIN_OPTIONS_H
#define PL_TESTS_PLAIN_OPTIONS_H

#include "popliner/solver.h"

#define PLAIN_SOLVER_OPTIONS                                                                       \
    {                                                                                              \
        .struct_size = sizeof(popliner_solver_options), .num_ipus = 16,                            \
        .mem_per_tile = POPLINER_TARGET_BYTES, .max_ipu_weight = UINT64_MAX                        \
    }

#endif
