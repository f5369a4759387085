/* Where stages share IPUs: what was learnt of them, bounds, and searches.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SHARED_SHARED_H
#define PL_SOLVE_SHARED_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/solver.h"
#include "solve/dynamic_program.h"
#include "solve/plan.h"
#include "solve/problem.h"
#include "solve/stop.h"

/* IPUs that are alike: with as many stages, which need the same, and the same limit. */
typedef struct pl_room_kind {
    size_t first_stage; /* of one of them */
    size_t num_stages;
    size_t num_ipus;
    double *own_bytes;   /* [stages][units]: what a stage has more with the unit, at least */
    double *begin_bytes; /* [stages][units]: what it has beside that if it begins there */
    uint64_t *peaks;     /* of a stage alone: a triangle; else NULL */
} pl_room_kind;

/* Weights of units, and what is needed to know how much an IPU can hold of them. Zero-initialise;
 * free with pl_room_free. */
typedef struct pl_room {
    const pl_problem *problem;
    bool is_known;       /* whether anything is known of what units share */
    pl_room_kind *kinds; /* [num_kinds], the ones of all IPUs */
    size_t num_kinds;
    size_t *kind_of; /* [stages]: of the IPU, by its first stage */
    double *weights; /* [units], each at least 0 */
    double *sizes;   /* [units]: the weights that it begins with */
    double sum_of_weights;
    double usual_step;
    uint64_t *last_sets; /* [num_kinds]: the items that were left out where most was held */
} pl_room;

/* Errors: MEMORY. O(stages * units^2). */
popliner_status pl_room_create(pl_room *room, const pl_problem *problem, popliner_error *error);
void pl_room_free(pl_room *room);

/* No IPU with that first stage holds more of the weights within the limits. In double precision,
 * with a margin for what is rounded. As dear as some thousand walks along the chain, and never
 * more than a tenth of a second's worth. */
double pl_room_held(pl_room *room, const pl_limits *limits, size_t first_stage);

/* Looks for weights of which all IPUs together cannot hold the sum: then there is no split within
 * the limits. *is_impossible: there are, and room->weights are such; else they are those that come
 * nearest to it. Begins with room->weights, and takes at most so many steps. */
typedef struct pl_room_effort {
    size_t max_steps;
    double deadline_seconds;
    const pl_stop *stop;
} pl_room_effort;
popliner_status pl_room_rule_out(pl_room *room, const pl_limits *limits,
                                 const pl_room_effort *effort, bool *is_impossible,
                                 popliner_error *error);

/* ---- shared stages ---- */

/* What was measured of stages that share an IPU, and what a search among them found. */

/* What any stages on one IPU were measured to need together, to be found again by their units: a
 * table that grows up to some 100 MB. Part of pl_shared. */
typedef struct pl_measured {
    uint32_t *units;      /* [capacity][width]: the stages, and which IPU if that matters */
    uint64_t *peak_bytes; /* [capacity] */
    size_t count;
    size_t capacity; /* a power of 2, or 0; a place is free if its first number is UINT32_MAX */
    size_t width;
} pl_measured;

/* Stages whose need together on one IPU was measured, mostly because it is too much: kept for all
 * later programs of the same problem. Zero-initialise; free with pl_shared_free. */
typedef struct pl_shared {
    popliner_interval *intervals; /* [count][max stages of an IPU] */
    size_t *first_stage;          /* [count]: the first stage on the IPU */
    uint64_t *peak_bytes;         /* [count] */
    size_t count;
    size_t capacity;
    bool is_hard; /* there are so many no-goods that pl_no_goods_search gave up */
    pl_measured measured;
    uint64_t *least_bytes; /* [stages]: a triangle of pl_least_load, once it was asked for */
    bool is_wide;          /* there are so many places for cuts that pl_device_sweep gave up */
} pl_shared;

void pl_shared_free(pl_shared *shared);

/* Adds what the stages[width] (all that the device map has) on the IPU with that first stage need.
 * Errors: MEMORY. */
popliner_status pl_shared_add(pl_shared *shared, size_t width, const popliner_interval *stages,
                              size_t first_stage_on_ipu, uint64_t peak_bytes,
                              popliner_error *error);

/* What the stages on one IPU need together: `together`, ascending, are `count` of the problem's
 * stages, all of the IPU whose first stage is `first_stage`. Asks the costs only if that is not
 * known yet. Errors: MEMORY, those of the shared peaks. */
popliner_status pl_shared_measure(pl_shared *shared, const pl_problem *problem, size_t first_stage,
                                  const popliner_interval *together, size_t count,
                                  uint64_t *peak_bytes, popliner_error *error);

/* Where a cut may be: the first unit of a stage, or the end of the chain. */
typedef struct pl_cut_range {
    size_t lowest;
    size_t highest;
} pl_cut_range;

/* What IPUs need for stages at least, of MEMORY: pl_least_load, for all of them. NULL when memory
 * is short. O(stages * units^2) for the first time. */
const uint64_t *pl_shared_least_bytes(pl_shared *shared, const pl_problem *problem);

/* A search for the best split of a problem whose stages share IPUs. What the split has to keep to
 * is given besides: each kind of search says whether it accepts a pl_filter or pl_limits alone.
 * Nothing of it is owned. */
typedef struct pl_shared_search {
    const pl_problem *problem;
    pl_goal goal;
    const pl_stop *stop;
    const popliner_listener *listener; /* may be NULL */
    size_t max_tries; /* after so many stages pl_device_sweep gives up; 0 for any number */
    const pl_cut_range *ranges; /* [stages + 1], for pl_device_sweep alone; NULL: anywhere */
    pl_room *room;              /* how much IPUs can hold, or NULL */
    pl_shared *shared; /* what is measured is added, and what is there is not measured again */
} pl_shared_search;

/* What a search found. */
typedef struct pl_search_result {
    bool is_stopped;          /* time was up, or the caller wanted it to end */
    uint64_t bound_bytes;     /* of the goal FEWEST_CUT_BYTES: nothing has fewer */
    uint64_t next_peak_bytes; /* without a split: one needs at least this peak; 0 if unknown */
    popliner_proof proof;     /* what the answer rests on */
} pl_search_result;

/* ---- device sweep ---- */

/* The best split where stages share IPUs, one IPU after another: exact, and quick where few cuts
 * are between what is done and what is to come, as with two stages on each IPU. */

/* True if pl_device_sweep can answer: for goals other than FEWEST_STAGES. */
bool pl_device_sweep_can(const pl_problem *problem, pl_goal goal);

/* Like pl_no_goods_search, but within limits alone; pl_spread_sweep is for filters. *gave_up, with
 * an empty split, if there were too many places for cuts to remember, more than three million, or
 * if more than asked->max_tries stages were tried. When stopped, the split of the goals
 * EARLIEST_CUTS and FEWEST_CUT_BYTES is empty. Errors: MEMORY, those of the shared peaks. Cost: the
 * cuts that are at the border of the IPUs done so far can be at so many places: about units^3 for
 * two stages on each IPU, far fewer near the optimum; and for each as many as the next IPU has
 * splits. */
popliner_status pl_device_sweep(const pl_shared_search *asked, const pl_limits *limits,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error);

/* ---- spread sweep ---- */

/* pl_device_sweep where the spread of a split is limited, too. */

/* Like pl_device_sweep, but within any filter; with a limit on the spread one sweep for each block
 * of smallest values, see solve/objective.h, and asked->max_tries are those of each. *gave_up, with
 * an empty split, if one of them did. */
popliner_status pl_spread_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error);

/* ---- enumeration ---- */

/* All splits where stages share IPUs and constraints leave few: each is looked at. */

/* More splits than this are not listed. */
#define PL_MAX_ENUMERATED_SPLITS 1000000

/* More loads of IPUs with several stages are not measured one by one where the costs ask somebody
 * for each: that may take milliseconds, and other searches ask far less often. */
#define PL_MAX_ASKED_LOADS 4000

/* Zero-initialise; free with pl_enumeration_free. A load is what an IPU holds: all of its stages.
 * It is measured when that first matters, and once. */
typedef struct pl_enumeration {
    const pl_problem *problem;
    const pl_stop *stop;
    pl_limits limits; /* what they leave out is not listed */
    bool is_tried;
    bool is_listed; /* all splits are */

    size_t num_stages;
    size_t *first_stages;  /* [IPUs]: the first stage of each; owned, like all arrays */
    uint64_t *limit_bytes; /* [IPUs]: by the limits, when it was listed */
    size_t num_ipus;

    uint32_t *first_units; /* [count][stages], the earliest cuts first */
    uint32_t *loads;       /* [count][IPUs] */
    uint64_t *cut_bytes;   /* [count] */
    size_t count;

    uint32_t *split_of_load; /* [loads]: one that has it, which tells its stages */
    uint32_t *ipu_of_load;   /* [loads] */
    uint64_t *load_bytes;    /* [loads]: its peak; until it is measured, what it is at least */
    uint64_t *load_cycles;   /* [loads] */
    uint8_t *is_measured;    /* [loads] */
    size_t num_loads;
    size_t load_capacity;
} pl_enumeration;

void pl_enumeration_free(pl_enumeration *enumeration);

/* How many splits the limits leave, pairs of units and what stages need together not looked at; at
 * most one more than PL_MAX_ENUMERATED_SPLITS. Of a problem whose stages share IPUs. Errors:
 * MEMORY. O(n^2 * stages). */
popliner_status pl_enumeration_count(const pl_problem *problem, const pl_limits *limits,
                                     size_t *count, popliner_error *error);

/* Lists the splits that the limits leave, unless these are too many, or were before, or a list
 * that is there serves it. *is_stopped becomes true, and nothing is listed, if that is wanted.
 * Errors: MEMORY. */
popliner_status pl_enumeration_list(pl_enumeration *enumeration, const pl_problem *problem,
                                    const pl_limits *limits, const pl_stop *stop, bool *is_stopped,
                                    popliner_error *error);

/* True if the list has all splits within these limits: they leave out all that the listed ones
 * leave out. */
bool pl_enumeration_serves(const pl_enumeration *enumeration, const pl_limits *limits);

/* Finds the split within the filter that has least of an objective, or any for
 * POPLINER_NUM_OBJECTIVES; of several the one with the earliest cuts. *split must be empty, and
 * stays so if there is none. *is_stopped becomes true if that is wanted; the split may then not be
 * the best. Errors: MEMORY, those of shared peaks. O(splits * IPUs). */
popliner_status pl_enumeration_find(pl_enumeration *enumeration, const pl_filter *filter,
                                    popliner_objective objective, pl_split *split, bool *is_stopped,
                                    popliner_error *error);

/* ---- first answer ---- */

/* A good split where stages share IPUs, before anything is proven: a few simple ones, improved by
 * moving cuts, with what their IPUs really need. */

/* How splits are looked for. */
typedef struct pl_first_answer_wish {
    popliner_objective objective; /* what is to be small */
    const pl_split *hints;        /* splits to begin with, of as many stages as the map has */
    size_t num_hints;
    double seconds;   /* how long at most */
    size_t num_kicks; /* how often the best one is shaken and improved again */
} pl_first_answer_wish;

/* Finds a split within the filter, and makes it small in the objective; asked->goal is not
 * looked at. Begins with *split, which is empty or within the filter; with cuts after equally many
 * units, and after equal parts of what the units need; and with the hints. The answer is none of
 * these that is worse; *split stays empty if nothing within the filter was found, which proves
 * nothing. Ends early, and quietly, when asked->stop is wanted. Errors: MEMORY, those of the shared
 * peaks. Cost: O(stages^2) tries for each improvement, each as dear as measuring the IPUs that it
 * touches. */
popliner_status pl_first_answer(const pl_shared_search *asked, const pl_filter *filter,
                                const pl_first_answer_wish *wish, pl_split *split,
                                popliner_error *error);

/* ---- neighbours ---- */

/* Better splits where stages share IPUs, among those near a known one: all of these at once, by the
 * sweep over IPUs. */

/* Makes *split, which is within the filter, better in the objective; goal and ranges of `asked` are
 * ignored. It solves exactly, again and again,
 *   - for the stages of one IPU, every other cut staying where it is;
 *   - for all cuts at once, each as far from where it is as some units, ever more of them,
 * until nothing of that helps, or the seconds are over, or asked->stop is wanted. If it `goes_on`,
 * cuts then move as far as chance wants, until the seconds are over. Deterministic but for the
 * time. Errors: MEMORY, those of the shared peaks. */
popliner_status pl_neighbours_improve(const pl_shared_search *asked, const pl_filter *filter,
                                      popliner_objective objective, double seconds, bool goes_on,
                                      pl_split *split, popliner_error *error);

/* ---- shared bounds ---- */

/* How good a split can be at all where stages share IPUs: bounds that take no search. */

enum { PL_MOST_HINTS = 8 };

/* What a relaxation tells. Zero-initialise; free with pl_shared_bound_clear. */
typedef struct pl_shared_bound {
    uint64_t bound;                /* no split within the filter has a smaller value */
    pl_split hints[PL_MOST_HINTS]; /* splits that the relaxations chose; good ones to begin with */
    size_t num_hints;
} pl_shared_bound;

void pl_shared_bound_clear(pl_shared_bound *bound);

/* What an IPU needs for a stage, at least, beside the others there: the sum over its stages is
 * never more than what it needs for all of them. For the objectives MEMORY and CYCLES. */
uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const popliner_interval *stage, size_t num_stages_on_ipu);

/* How many stages are on the IPU of this one. */
size_t pl_num_on_ipu(const pl_problem *problem, size_t stage);

/* Bounds the objective of the splits within the filter of which a better one than `known` (or
 * UINT64_MAX) is asked for: the bound is at most `known`, and equal to it only if there is none.
 * For MEMORY, CYCLES and TRAFFIC; 0 for the others. Takes about `seconds`. Errors: MEMORY.
 *
 * Four relaxations; of each IPU only what pl_least_load tells:
 *   - of TRAFFIC: stages as if each had an IPU of its own, by the dynamic program;
 *   - the same for the largest: stages have to be no larger than what their IPU may need;
 *   - as many units as fit on an IPU, whichever they are: all IPUs together have to hold the chain.
 *     With equal layers that is the optimum;
 *   - Lagrange: each IPU gets a weight, together 1; the smallest weighted sum over all stages is a
 *     bound, whatever the weights, which are made heavier where there is too much. */
popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known, double seconds,
                                     pl_shared_bound *bound, popliner_error *error);

/* ---- no goods ---- */

/* The best split where stages share IPUs, by integer programs one after another: each answer that
 * needs too much becomes a no-good, a set of stages that the next ones must not have together. */

/* pl_dynamic_program for problems whose stages share IPUs; not for the goal FEWEST_STAGES. *split
 * must be empty, and stays so if there is none. Exact: GLPK solves without the memory that stages
 * need together; this is measured for its answer, and what does not fit is forbidden together with
 * everything that contains it, until it fits. *gave_up, with an empty split, if there is too much
 * to forbid for programs to stay small; NULL: goes on all the same. Errors: MEMORY, INTERNAL, those
 * of the shared peaks. */
popliner_status pl_no_goods_search(const pl_shared_search *asked, const pl_filter *filter,
                                   pl_split *split, pl_search_result *result, bool *gave_up,
                                   popliner_error *error);

#endif
