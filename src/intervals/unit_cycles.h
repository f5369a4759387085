/* What an IPU is busy with the units of a chain for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_INTERVALS_UNIT_CYCLES_H
#define PL_INTERVALS_UNIT_CYCLES_H

#include "memory/passes.h"

/* The cycles of each unit in one run of the main program: those of the programs of its steps that
 * run, each as often as the Repeats around it repeat it. Steps that run for no operation count for
 * nobody. Into cycles[num_units], at most POPLINER_MAX_CYCLES each. Errors: MEMORY. O(steps). */
popliner_status pl_unit_cycles_find(const popliner_profile *profile,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const pl_passes *passes,
                                    uint64_t *cycles, popliner_error *error);

#endif
