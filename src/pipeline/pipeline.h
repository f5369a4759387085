/* The data that stages of a pipeline store.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PIPELINE_PIPELINE_H
#define PL_PIPELINE_PIPELINE_H

#include "popliner/pipeline.h"

/* Return the number of copies that a stage stores, where stages_to_end (>= 1) counts the stage and
 * those after it, see popliner/pipeline.h. The first one is for the expected memory; the second
 * one, for another need, is the fewest or the most, whichever effects were chosen. Independent of
 * max_stages. As long as popliner_copies_at. */
size_t pl_pipeline_copies(const popliner_pipeline *pipeline, size_t stages_to_end);
size_t pl_pipeline_copies_for(const popliner_pipeline *pipeline, popliner_need need,
                              size_t stages_to_end);

/* Returns how many micro-batches run in one chunk of an IPU before its next one: as few as leave no
 * round, nor the last one, with fewer than num_ipus; of any number (0) num_ipus. O(num_ipus) for
 * most numbers. */
size_t pl_copies_round(size_t num_ipus, size_t num_micro_batches);

/* Returns the copies of a stage that holds the activations of so many micro-batches. */
size_t pl_copies_of_held(const popliner_copies *copies, size_t held);

/* True if the copies are those of several stages on each of the IPUs, which are in turn or in a V:
 * they are for that number of stages alone. */
bool pl_copies_take_turns(const popliner_copies *copies);

/* False if the copies are those of such stages on the IPUs, and the device map is another one. It
 * has num_stages; 0: there is none. */
bool pl_copies_are_of_map(const popliner_copies *copies, const size_t *device_map,
                          size_t num_stages);

/* True if the copies depend on the number of all stages, wherever a stage is. */
bool pl_copies_count_all(const popliner_copies *copies);

/* True if the gradients of weights may have passes of their own, until which activations stay. */
bool pl_copies_have_weights(const popliner_copies *copies);

/* Returns how many backward passes later they run, for each device before; 0 if they do not. */
size_t pl_copies_late(const popliner_copies *copies);

/* True if the copies are for stages in a V alone. */
bool pl_copies_are_for_v(const popliner_copies *copies);

/* True if stashed activations are not live themselves between the passes, for a need. */
bool pl_pipeline_frees_originals(const popliner_pipeline *pipeline, popliner_need need);

/* Returns the largest number of copies in any schedule, at this distance from the end. */
size_t pl_most_copies(size_t stages_to_end);

/* True if the pipeline has its own copies instead of the schedule's. */
bool pl_pipeline_has_own_copies(const popliner_pipeline *pipeline);

/* True if any stage stores activations, by the schedule or by its own copies. */
bool pl_pipeline_keeps(const popliner_pipeline *pipeline);

/* Returns the pipeline for any split: what depends on the number of stages is taken from the
 * split. */
popliner_pipeline pl_pipeline_of_any_split(const popliner_pipeline *pipeline);

/* True if copies depend on the number of stages of a split, and not on the position in it:
 * popliner_copies_at. */
bool pl_pipeline_follows_split(const popliner_pipeline *pipeline);

/* Returns the stages_to_end for copies and costs of stage `stage`: the number of stages from it to
 * the end, or of all stages if pl_pipeline_follows_split. */
size_t pl_pipeline_place(const popliner_pipeline *pipeline, size_t num_stages, size_t stage);

/* True if a stage that begins with the first unit, or ends with the last one, runs its forward pass
 * twice: with full recomputation, unless nothing is stored for it. The last stage stores nothing,
 * except with own copies, and no stage does if these are 0 however many stages follow. */
bool pl_pipeline_recomputes(const popliner_pipeline *pipeline, bool is_first, bool is_last);

/* True if stages need what they recompute until a pass that comes later: that of the weights. With
 * ZERO_BUBBLE stage k then holds what k + 1 micro-batches recompute: the last one most. */
bool pl_pipeline_holds_recomputed(const popliner_pipeline *pipeline);

/* The micro-batches of a stage. */
typedef struct pl_held {
    uint32_t kept; /* what their forward passes have left */
    uint32_t sets; /* what was recomputed of them, and waits for a pass of the weights */
} pl_held;

/* Places of stages that hold recomputed sets, where the pipeline follows the split: the number of
 * stages, and PL_PLACES for each stage after this one. The number alone is that of the last stage,
 * which holds most. */
enum { PL_PLACES = 1 << 15 };
static inline size_t pl_place_of(size_t num_stages, size_t stage) {
    return num_stages + (num_stages - 1 - stage) * PL_PLACES;
}

/* Divides copies, of a stage in such a place, into kept and recomputed ones, which are `late` for
 * each stage before. */
pl_held pl_held_of_copies(size_t copies, size_t place, size_t late);

/* Returns the copies of a stage in a place of costs: see pl_pipeline_copies. Sets are 0 unless
 * pl_pipeline_holds_recomputed. */
pl_held pl_pipeline_held(const popliner_pipeline *pipeline, size_t place);

/* Returns how the stash of a stage of a profile is measured: the way of the pipeline, or if it
 * holds what it recomputes, one that stores that and what the way stores. */
popliner_recompute pl_pipeline_stored(const popliner_pipeline *pipeline);

/* Kinds of schedules, which differ only in their numbers of copies. */
typedef enum pl_schedule_kind {
    PL_SCHEDULE_PLAIN,     /* none, inference: only the stage itself */
    PL_SCHEDULE_IN_SLICES, /* trains; what is sent leaves before the other pass runs */
    PL_SCHEDULE_IN_CYCLES, /* trains; what is sent leaves at the end of a cycle of both passes */
} pl_schedule_kind;
/* Returns the kind of a pipeline: with own copies it trains, whatever the schedule. */
pl_schedule_kind pl_pipeline_kind(const popliner_pipeline *pipeline);

/* Checks a pipeline. Errors: USAGE. */
popliner_status pl_pipeline_check(const popliner_pipeline *pipeline, popliner_error *error);

/* True if a stage never needs less when it grows. Sent or recomputed data, and attributed memory at
 * the step of the peak, can decrease. What a stage needs at most is of all its tiles, and what is
 * added may make these more even. */
bool pl_pipeline_never_shrinks(const popliner_pipeline *pipeline, popliner_need need);

/* Returns the name of a rule, like "1f1b"; "schedule" and "list" for the first two.
 * NULL if there is no such rule. Static text. */
const char *pl_copies_rule_name(size_t rule);

/* Returns the name that users see, static text; NULL if there is no such schedule. */
const char *pl_schedule_name(size_t schedule);

/* Like pl_schedule_name, for recomputation and accumulators. */
const char *pl_recompute_name(size_t recompute);
const char *pl_accumulators_name(size_t accumulators);

/* Like pl_schedule_name, for effect i, the bit 1 << i; NULL if i is out of range. */
const char *pl_effect_name(size_t i);

#endif
