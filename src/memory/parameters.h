/* Parameters of the model, and the accumulators of their gradients that a pipeline adds.
 * docs/internals/memory-models.md has the rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PARAMETERS_H
#define PL_MEMORY_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/account.h"
#include "memory/passes.h"
#include "popliner/pipeline.h"

/* Whether the profile has accumulators: an always-live variable that is called so. Needs the
 * variables. O(bytes of names), and O(variables) if some name has the word. */
bool pl_has_accumulators(const popliner_profile *profile);

/* Whether a stage in the pipeline may get accumulators, by what was asked for and whether the
 * profile trains. */
bool pl_wants_accumulators(const popliner_pipeline *pipeline, bool is_training);

/* How many bytes of them it gets then for a byte of parameters. */
uint64_t pl_accumulator_factor(const popliner_pipeline *pipeline, bool has_accumulators);

/* Which forward operations of which unit touch what; unit `num_units` of the usage stands for all
 * other operations. Zero-initialise *usage before, free with pl_unit_usage_free. Errors: MEMORY.
 * O(touches + units * sets). */
popliner_status pl_parameters_usage(pl_unit_usage *usage, const pl_passes *passes,
                                    const popliner_profile *profile,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const pl_account *account,
                                    popliner_error *error);

/* The units of it that need accumulators for a variable, as a set of usage->sets; 0 for none. What
 * no operation of the backward pass touches is not trained. */
static inline uint32_t pl_parameter_units(const pl_unit_usage *usage, const pl_passes *passes,
                                          const popliner_profile *profile,
                                          const pl_account *account, uint64_t variable) {
    uint32_t set = usage->variable_set[variable];
    if (set == 0 || !profile->class_always_live[profile->variable_class[variable]] ||
        profile->category[profile->variable_category[variable]] != PL_CATEGORY_VARIABLE ||
        pl_account_is_code(account, variable))
        return 0;
    if (usage->sets.last_unit[set] + 1 == usage->num_units) /* another operation does */
        return usage->sets.rest[set];
    return usage->sets.last_unit[set] >= passes->last_layer ? set : 0;
}

#endif
