/* When a training profile turns from the forward to the backward pass, and what belongs to which.
 *
 * A step works when it computes or exchanges for an operation. Of a choice between control programs
 * (OnEveryTileSwitch) only the one with the most computing steps runs: the others load and save
 * weights, or the like.
 *
 * The last layer is the last one of the chain that works. The turn is the first step at which it
 * does: until then all earlier layers have run forward, and none backward. A profile is one of
 * training if an earlier layer works behind the turn. Then an operation is backward if its first
 * running step is not before the turn, else forward; but those of the last layer and what is behind
 * it are both, since nothing tells where in the last layer the turn is. Without training all
 * operations are forward.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PASSES_H
#define PL_MEMORY_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/growth.h"
#include "costs/costs.h"
#include "memory/account.h"
#include "memory/unit_usage.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"

typedef struct pl_passes {
    pl_arrays arrays; /* own the next */
    bool is_training;
    size_t turn_step;               /* SIZE_MAX without training */
    size_t last_layer;              /* its unit; 0 if no layer works */
    uint8_t *step_runs;             /* [num_steps] */
    uint8_t *operation_is_backward; /* [operations]: by its steps alone */
    uint8_t *operation_is_behind;   /* [operations]: it begins when a unit before the last layer has
                                       begun its backward pass */
    /* By the unit behind a border, from 1: the first step at which that unit (or the nearest behind
     * it that does) works forward, and at which the unit before it (or the nearest before that)
     * works backward. SIZE_MAX if none does; and for backward behind the last layer, where the two
     * cannot be told apart. [num_units] */
    size_t *forward_step;
    size_t *backward_step;
} pl_passes;

/* Zero-initialise before, free with pl_passes_free, also after an error. Errors: MEMORY. O(steps +
 * operations). */
popliner_status pl_passes_find(pl_passes *passes, const popliner_chain *chain,
                               popliner_error *error);
void pl_passes_free(pl_passes *passes);

/* To which pass an operation of `unit` belongs: to one or to both. */
static inline bool pl_is_forward(const pl_passes *passes, size_t unit, size_t operation) {
    return !passes->is_training || unit >= passes->last_layer ||
           passes->operation_is_backward[operation] == 0;
}

static inline bool pl_is_backward(const pl_passes *passes, size_t unit, size_t operation) {
    return passes->is_training &&
           (unit >= passes->last_layer || passes->operation_is_backward[operation] != 0);
}

/* Whether an operation certainly belongs to the forward pass, as far as that can be told: of the
 * last layer and what is behind it those that begin before an earlier unit works backward. */
static inline bool pl_begins_forward(const pl_passes *passes, size_t unit, size_t operation) {
    return !passes->is_training ||
           (pl_is_forward(passes, unit, operation) && passes->operation_is_behind[operation] == 0);
}

/* What a member of a set of pl_pass_usage stands for. */
typedef struct pl_pass_member {
    uint32_t unit;
    bool is_forward;
    bool is_backward;
} pl_pass_member;

static inline pl_pass_member pl_pass_member_of(const pl_passes *passes, uint32_t num_units,
                                               uint32_t member) {
    uint32_t unit = member % num_units;
    bool is_both = passes->is_training && unit >= passes->last_layer;
    return (pl_pass_member){unit, is_both || member < num_units, is_both || member >= num_units};
}

/* What is not in a range of units. */
static const uint32_t PL_NO_UNIT = UINT32_MAX;

/* The first and the last unit of a set that touch it forward and backward, PL_NO_UNIT for none. */
typedef struct pl_pass_bounds {
    uint32_t first_forward;
    uint32_t last_forward;
    uint32_t first_backward;
    uint32_t last_backward;
} pl_pass_bounds;

/* Who touches what in which pass: found once for a chain, and shared. A member m of the usage is
 * the chain's unit m if that begins forward (pl_begins_forward), else the chain's units are
 * added to it; pl_pass_member_of tells what it stands for. */
typedef struct pl_pass_usage {
    pl_passes passes;
    pl_unit_usage usage;    /* of twice as many units as the chain has */
    pl_pass_bounds *bounds; /* [usage.sets.count] */
} pl_pass_usage;

/* Zero-initialise before, free with pl_pass_usage_free, also after an error. Errors: MEMORY. Cost:
 * those of pl_passes_find and pl_unit_usage_find. */
popliner_status pl_pass_usage_find(pl_pass_usage *own, const popliner_chain *chain,
                                   const pl_account *account, popliner_error *error);
void pl_pass_usage_free(pl_pass_usage *own);

/* Those of all sets of the usage of a pl_pass_usage: [usage->sets.count], to be freed; NULL when
 * memory is short. O(sets). */
pl_pass_bounds *pl_passes_bounds(const pl_passes *passes, const pl_unit_usage *usage);

/* Whether the class is live at the step and, in the same range, at the one before: so what it holds
 * then was there before the step began. False for SIZE_MAX. O(ranges of the class). */
bool pl_class_crosses(const popliner_profile *profile, uint32_t class_index, size_t step);

/* The bytes of lowered variables, not always live, that are carried over each border of the chain:
 *   forward   forward operations on both sides touch it, and it crosses forward_step[unit]
 *   backward  backward operations on both sides touch it, and it crosses backward_step[unit], but
 *             was not carried forward in the same live range: then both sides have it already
 * into [num_units] each, element 0 is left alone. Errors: MEMORY. O(variables + sets * classes *
 * borders). */
popliner_status pl_passes_measure_cuts(const pl_pass_usage *own, const popliner_profile *profile,
                                       uint64_t *forward_bytes, uint64_t *backward_bytes,
                                       popliner_error *error);

/* Adds those of one tile to forward_bytes[num_units] and backward_bytes[num_units]. O(variables of
 * the tile * borders). */
void pl_passes_add_tile_cuts(const pl_pass_usage *own, const popliner_profile *profile, size_t tile,
                             uint64_t *forward_bytes, uint64_t *backward_bytes);

/* Which variables a copy from the host fills, into a new array [num_variables] of marks; NULL
 * without memory. O(variables). */
uint8_t *pl_mark_fed(const popliner_profile *profile);

/* ---- passing ---- */

/* For each set of a pl_pass_usage, the units that count a variable of that set; as
 * sets of `sets`, whose units are those of the chain. */
typedef struct pl_passing {
    pl_arrays arrays; /* own the next */
    pl_unit_sets sets;
    uint32_t *touching; /* [usage sets]: at any step, if nothing passes */
    uint32_t *forward;  /* [usage sets]: before the turn */
    uint32_t *backward; /* [usage sets]: from the turn on, unless it was kept until then */
} pl_passing;

/* Finds them out; nothing passes unless `passes_through`. Zero-initialise before, free with
 * pl_passing_free, also after an error. Errors: MEMORY. O(units * sets). */
popliner_status pl_passing_find(pl_passing *passing, const pl_pass_usage *usage,
                                bool passes_through, popliner_error *error);
void pl_passing_free(pl_passing *passing);

/* Whether a variable passes through one of the units first_unit ... last_unit, not to say that they
 * do not touch it, at steps before the turn or from it on. It was kept if pl_class_crosses the
 * turn. O(1). */
static inline bool pl_passes_forward(const pl_pass_bounds *bounds, size_t first_unit,
                                     size_t last_unit) {
    if (bounds->first_forward == PL_NO_UNIT)
        return false;
    size_t first = (size_t)bounds->first_forward + 1;
    size_t end = bounds->last_forward;
    return (first > first_unit ? first : first_unit) < (end <= last_unit ? end : last_unit + 1);
}

static inline bool pl_passes_backward(const pl_pass_bounds *bounds, bool was_kept,
                                      size_t first_unit, size_t last_unit) {
    const pl_pass_bounds as_forward = {bounds->first_backward, bounds->last_backward, PL_NO_UNIT,
                                       PL_NO_UNIT};
    return !was_kept && pl_passes_forward(&as_forward, first_unit, last_unit);
}

/* ---- parameters ---- */

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

/* ---- cycles ---- */

/* The cycles of each unit in one run of the main program: those of the programs of its steps that
 * run, each as often as the Repeats around it repeat it. Steps that run for no operation count for
 * nobody. If is_forward, those of the forward pass, which computing a unit once more takes: of the
 * steps before the turn. Of the last layer and of what is behind it, where the turn cannot be told,
 * those of all steps before an earlier unit works backward, which is the most that it can be; all 0
 * without training. Into cycles[num_units], at most POPLINER_MAX_CYCLES each. Errors: MEMORY.
 * O(steps). */
popliner_status pl_unit_cycles_find(const popliner_chain *chain, const pl_passes *passes,
                                    bool is_forward, uint64_t *cycles, popliner_error *error);

/* Adds to the cycles of all stages what they recompute in the pipeline: with FULL what its units
 * take once more. A stage that ends with the last unit recomputes nothing, unless copies of the
 * pipeline's own are kept there: PopART (pipeline.cpp, setFinalFwdStageRecomputation) and
 * TensorFlow (pipeline_recomputation.cc) leave it out. With STANDARD it is in the profile already.
 * O(units^2). */
void pl_unit_cycles_add_forward(const uint64_t *forward_cycles, const popliner_pipeline *pipeline,
                                popliner_costs *costs);

#endif
