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

/* The units that need accumulators for a variable, as a set of own->usage.sets; 0 for none. What no
 * operation of the backward pass touches is not trained. O(units that touch it backward). */
static inline uint32_t pl_parameter_units(const pl_pass_usage *own, const popliner_profile *profile,
                                          const pl_account *account, uint64_t variable) {
    const pl_unit_sets *sets = &own->usage.sets;
    uint32_t set = pl_unit_usage_of(&own->usage, variable);
    if (set == 0 || !profile->class_always_live[profile->variable_class[variable]] ||
        profile->category[profile->variable_category[variable]] != PL_CATEGORY_VARIABLE ||
        pl_account_is_code(account, variable) || sets->last_unit[set] < own->passes.last_layer)
        return 0;
    while (set != 0 && sets->last_unit[set] >= own->usage.num_units / 2)
        set = sets->rest[set]; /* other operations */
    return set;
}

#endif
