/* What an IPU is busy with the units of a chain for, and with computing them once more.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_UNIT_CYCLES_H
#define PL_MEMORY_UNIT_CYCLES_H

#include "costs/costs.h"
#include "memory/passes.h"
#include "popliner/pipeline.h"

/* The cycles of each unit in one run of the main program: those of the programs of its steps that
 * run, each as often as the Repeats around it repeat it. Steps that run for no operation count for
 * nobody. Into cycles[num_units], at most POPLINER_MAX_CYCLES each. Errors: MEMORY. O(steps). */
popliner_status pl_unit_cycles_find(const popliner_profile *profile,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const pl_passes *passes,
                                    uint64_t *cycles, popliner_error *error);

/* Of the cycles above those of the forward pass, which computing a unit once more takes: of the
 * steps before the turn. Of the last layer and of what is behind it, where the turn cannot be told,
 * those of all steps before an earlier unit works backward, which is the most that it can be. All 0
 * without training. Into cycles[num_units]. Errors: MEMORY. O(steps). */
popliner_status pl_unit_cycles_find_forward(const popliner_profile *profile,
                                            const popliner_operations *operations,
                                            const popliner_chain *chain, const pl_passes *passes,
                                            uint64_t *cycles, popliner_error *error);

/* Adds to the cycles of all stages what they recompute in the pipeline: with FULL what its units
 * take once more. A stage that ends with the last unit recomputes nothing, unless copies of the
 * pipeline's own are kept there: PopART (pipeline.cpp, setFinalFwdStageRecomputation) and
 * TensorFlow (pipeline_recomputation.cc) leave it out. With STANDARD it is in the profile already.
 * O(units^2). */
void pl_unit_cycles_add_forward(const uint64_t *forward_cycles, const popliner_pipeline *pipeline,
                                popliner_costs *costs);

#endif
