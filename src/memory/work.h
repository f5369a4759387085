/* What an IPU is busy with the units of a chain for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_WORK_H
#define PL_MEMORY_WORK_H

#include "memory/phases.h"

/* The cycles of each unit in one run of the main program: those of the programs of its steps that
 * run, each as often as the Repeats around it repeat it. Steps that run for no operation count for
 * nobody. Into cycles[num_units], at most POPLINER_MOST_CYCLES each. Errors: MEMORY. O(steps). */
popliner_status pl_work_of_units(const popliner_profile *profile,
                                 const popliner_operations *operations, const popliner_chain *chain,
                                 const pl_phases *phases, uint64_t *cycles, popliner_error *error);

#endif
