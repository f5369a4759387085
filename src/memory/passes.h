/* The forward and the backward pass of each operation, and what follows: cuts, waits, cycles.
 * docs/internals/memory-models.md has the rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PASSES_H
#define PL_MEMORY_PASSES_H

#include "base/growth.h"
#include "base/keys.h"
#include "costs/costs.h"
#include "memory/chain_data.h"
#include "memory/curve.h"
#include "memory/unit_usage.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"

typedef struct pl_passes {
    bool is_training;
    size_t turn_step;  /* SIZE_MAX without training */
    size_t loss_step;  /* not before the turn: where the last layer's passes part */
    size_t last_layer; /* its unit; 0 if no layer works */
    /* where a unit before the last layer begins its backward pass; SIZE_MAX if none does */
    size_t after_step;
    uint8_t *step_runs; /* [num_steps] */
    size_t *first_step; /* [operations]: the first of its own steps that run, else of any */
    /* For the border before each unit, from 1: the first step at which that unit (or the next one
     * that does) works forward, and at which the unit before it (or the nearest before that) works
     * backward. SIZE_MAX if none does, and for backward after the last layer, where the passes
     * cannot be distinguished. [num_units] */
    size_t *forward_step;
    size_t *backward_step;
} pl_passes;

/* Finds the passes, which are zero before. Their arrays are in `arrays`, like those of the
 * functions below. O(steps + operations). */
void pl_passes_find(pl_passes *passes, pl_arrays *arrays, const pl_chain *chain);

/* True if both passes of a unit have all its operations: from the last layer on, where the passes
 * cannot be distinguished. */
static inline bool pl_passes_are_one(const pl_passes *passes, size_t unit) {
    return passes->is_training && unit >= passes->last_layer;
}

/* No unit, in a range of units. */
static const uint32_t PL_NO_UNIT = UINT32_MAX;

/* The units whose data a variable is (pl_chain_has_data): sets of pl_pass_usage. */
typedef struct pl_counting {
    uint32_t touching; /* those that touch it: at any step, if nothing passes through */
    uint32_t before;   /* also those through which it passes: before the turn */
    uint32_t after;    /* from the turn on, unless it was stored until then */
} pl_counting;

/* The units that touch variables, by the passes in which they do (pl_passes_are_one). */
typedef struct pl_pass_use {
    uint32_t units; /* a set: all that touch them, or run a program */
    pl_counting counting;
    uint32_t beginning; /* a set: those whose operations certainly begin forward */
    /* the first and the last unit that touches them forward and backward, PL_NO_UNIT for none */
    uint32_t first_forward;
    uint32_t last_forward;
    uint32_t first_backward;
    uint32_t last_backward;
} pl_pass_use;

/* The units that touch each variable in each pass: found once for a chain, and shared. The usage is
 * of twice as many units as the chain has: unit m of it is the chain's unit m if that certainly
 * begins forward, else the number of units is added. If all do, it may be of the chain's units. */
typedef struct pl_pass_usage {
    pl_passes passes;
    pl_unit_usage usage;
    pl_pass_use *uses; /* [usage.sets.count] */
    size_t num_units;
    pl_keys sets; /* of the chain's units, as bits; set 0 is empty */
} pl_pass_usage;

/* Finds the usage, which is zero before. Cost: those of pl_passes_find and pl_unit_usage_find. */
void pl_pass_usage_find(pl_pass_usage *own, pl_arrays *arrays, const pl_chain *chain);

/* Finds the sets and uses, by all else; what passes through only if the usage is of both passes.
 * O(sets * units). */
void pl_pass_uses_find(pl_pass_usage *own, pl_arrays *arrays, const pl_chain *chain);

/* Returns how units use a variable. O(1). */
static inline const pl_pass_use *pl_pass_use_of(const pl_pass_usage *own, size_t variable) {
    return &own->uses[pl_unit_usage_of(&own->usage, variable)];
}

/* True if the class is live at the step and, in the same range, at the one before, so that its data
 * existed before the step began. False for SIZE_MAX. O(ranges of the class). */
bool pl_class_crosses(const popliner_profile *profile, uint32_t class_index, size_t step);

/* Returns the units that count a variable: what is always live passes through none, and what was
 * stored at the turn not again after it. O(ranges of its class). */
pl_counting pl_counting_of(const pl_pass_usage *own, const popliner_profile *profile,
                           size_t variable);

/* Adds the bytes of variables of a class, not always-live, to each border of the chain over which
 * they are carried, [num_units]; element 0 is unchanged:
 *
 *   forward   forward operations on both sides touch them, and they cross forward_step[unit]
 *   backward  backward operations on both sides touch them, and they cross backward_step[unit], but
 *             were not carried forward in the same live range, after which both sides have them
 *
 * O(borders between their first and last unit). */
void pl_passes_add_carried(const pl_passes *passes, const popliner_profile *profile,
                           uint32_t class_index, uint64_t bytes, const pl_pass_use *use,
                           uint64_t *forward_bytes, uint64_t *backward_bytes);

/* ---- Cycles ---------------------------------------------------------------------------------- */

/* The cycles of each unit, [num_units]. */
typedef struct pl_unit_cycles {
    const uint64_t *of_run; /* of the main program */
    const uint64_t *of_forward;
} pl_unit_cycles;

/* Returns the cycles of the programs of each unit's running steps, times the counts of the Repeats
 * around them, at most POPLINER_MAX_CYCLES; arrays are NULL if memory is short. Ignores steps that
 * run for no operation. Those of the forward pass, which recomputing a unit takes, are of the steps
 * before the turn; for the last layer and later units, where the turn is unknown, of all steps
 * before an earlier unit works backward, which is an upper bound; all 0 without training.
 * O(steps). */
pl_unit_cycles pl_unit_cycles_find(pl_arrays *arrays, const pl_chain *chain,
                                   const pl_passes *passes);

/* Returns the cycles of all stages in a pipeline (NULL: none), in the order of costs/triangle.h: of
 * their units, of transfers over both cuts on a link of POPLINER_LINK_BYTES_PER_SECOND, unless
 * cuts_bytes[units] (of the cut before each) is NULL, and recomputed ones: with FULL the forward
 * cycles of its units. A stage that ends with the last unit recomputes nothing, unless own copies
 * of the pipeline are stored there: PopART (pipeline.cpp, setFinalFwdStageRecomputation) and
 * TensorFlow (pipeline_recomputation.cc) skip it. With STANDARD the profile already has them. Sums
 * are at most POPLINER_MAX_CYCLES. NULL if memory is short. A stage may have fewer than a part of
 * it with larger cuts. O(units^2). */
uint64_t *pl_stage_cycles_find(pl_arrays *arrays, const pl_chain *chain,
                               const pl_unit_cycles *units, const popliner_pipeline *pipeline,
                               const uint64_t *cuts_bytes);

#endif
