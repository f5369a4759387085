/* Trained parameters, and how a pipeline accumulates their gradients. Needs the variables of the
 * profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PARAMETERS_H
#define PL_MEMORY_PARAMETERS_H

#include "memory/account.h"
#include "memory/passes.h"
#include "memory/unit_usage.h"
#include "popliner/costs.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"

/* True if a variable is always live and of the category "variable": a parameter, but also state of
 * the optimizer and anything else that outlives a run. */
static inline bool pl_is_parameter(const popliner_profile *p, size_t variable) {
    return p->class_always_live[p->variable_class[variable]] != 0 &&
           p->category[p->variable_category[variable]] == PL_CATEGORY_VARIABLE;
}

/* True if the profile has accumulators: an always-live variable with that word in its name. O(bytes
 * of names), and O(variables) if some name has the word. */
bool pl_has_accumulators(const popliner_profile *profile);

/* True if a stage in the pipeline may get accumulators, by the request and whether the profile
 * trains. */
bool pl_wants_accumulators(const popliner_pipeline *pipeline, bool is_training);

/* Returns the units that train a variable of a profile that trains, as a set of own->sets; 0 for
 * none. */
uint32_t pl_training_units(const pl_pass_usage *own, const popliner_profile *profile,
                           const pl_account *account, uint64_t variable);

/* Returns the bytes of accumulators for each of parameters, in a pipeline of a profile that
 * trains. */
uint64_t pl_accumulator_factor(const popliner_pipeline *pipeline, bool has_accumulators);

/* The parameters that a stage trains: those that its backward operations touch. */
typedef struct pl_trained_parameters {
    const pl_pass_usage *usage; /* not owned, like the next one */
    const uint64_t *set_bytes;  /* over all tiles, by the set of units that need accumulators */
    uint64_t *interval_bytes;   /* in the order of costs/triangle.h */
} pl_trained_parameters;

/* Finds those of the intervals, in `arrays`. O(units * units of all sets + units^2). */
void pl_trained_parameters_find(pl_trained_parameters *trained, pl_arrays *arrays,
                                const pl_pass_usage *usage, const uint64_t *set_bytes);

/* A popliner_weight_function, `user` is a pl_trained_parameters: the bytes over all tiles of an IPU
 * with these stages. O(1) for one stage, else O(units of all sets * stages). */
uint64_t pl_trained_parameters_bytes(void *user, const popliner_interval *stages,
                                     size_t num_stages);

/* ---- Gradients ------------------------------------------------------------------------------- */

/* When gradients are complete. Where accumulators are added, a gradient is added to its accumulator
 * then and is no longer live, though the profile keeps it until the parameter is updated.
 *
 * An operation of the backward pass updates if it touches an always-live variable of the category
 * "variable", and no later operation that does not update touches anything that it touches and that
 * is not always live. A gradient is data that such an operation touches and that other operations
 * of the backward pass touch, too, but none of the forward pass. It is complete after the last step
 * of those others. Copies from and to the host do not count. */
typedef struct pl_gradients {
    uint32_t *complete_step; /* [sets of operations]: the step after it; PL_NONE for others */
} pl_gradients;

/* True if they were found. */
static inline bool pl_has_gradients(const pl_gradients *gradients) {
    return gradients != NULL && gradients->complete_step != NULL;
}

/* Returns complete_step of a variable; PL_NONE if gradients were not found. */
static inline uint32_t pl_complete_step(const pl_gradients *gradients, const pl_chain *chain,
                                        size_t variable) {
    return pl_has_gradients(gradients)
               ? gradients->complete_step[chain->usage->variable_set[variable]]
               : PL_NONE;
}

/* Finds them in a profile that trains. O(steps + variables), and for each set of operations that
 * touches one O(operations in it), some times. */
void pl_gradients_find(pl_gradients *gradients, pl_arrays *arrays, const pl_chain *chain,
                       const pl_pass_usage *usage, const pl_account *account);

#endif
