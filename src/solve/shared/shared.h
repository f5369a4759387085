/* Solving where stages share IPUs: measured stages, bounds, and searches.
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
#include "solve/plan.h"
#include "solve/problem.h"
#include "solve/stage_rule.h"
#include "solve/stop.h"

/* IPUs that are alike: equally many stages, with equal needs, and the same limit. */
typedef struct pl_room_kind {
    size_t first_stage; /* of one of these IPUs */
    size_t num_stages;
    size_t num_ipus;
    size_t gap;        /* at least so many units are between two stages of one of these IPUs */
    double *own_bytes; /* [stages][units]: a lower bound of what the unit adds to a stage */
    /* [stages][units]: what a stage needs in addition if it begins with the unit */
    double *begin_bytes;
    uint64_t *peaks; /* a triangle, if the IPU has a single stage; else NULL */
} pl_room_kind;

/* Weights of units, and bounds of how much weight an IPU can hold. Zero-initialise; free with
 * pl_room_free. */
typedef struct pl_room {
    const pl_problem *problem;
    bool is_known;       /* something is known about memory that units share */
    pl_room_kind *kinds; /* [num_kinds] */
    size_t num_kinds;
    size_t *kind_of; /* [stages]: the kind of an IPU, by its first stage */
    double *weights; /* [units], at least 0 */
    double *sizes;   /* [units]: the initial weights */
    double sum_of_weights;
    double usual_step;
    /* [num_kinds]: the set of items that were left out for the heaviest units */
    uint64_t *last_sets;
    pl_arrays arrays; /* own all of these */
} pl_room;

/* Prepares the bounds. *room must be zero-initialised. Errors: MEMORY. O(stages * units^2). */
popliner_status pl_room_create(pl_room *room, const pl_problem *problem, popliner_error *error);
void pl_room_free(pl_room *room);

/* Returns an upper bound of the weight that the IPU with this first stage can hold within the
 * limits. In double precision, with a margin for rounding. Costs up to some thousand walks along
 * the chain, at most a tenth of a second. */
double pl_room_held(pl_room *room, const pl_limits *limits, size_t first_stage);

/* Searches, from room->weights on, for weights whose sum all IPUs together cannot hold: then no
 * split is within the limits. *is_impossible: found, and room->weights are such weights; else they
 * are the closest ones. */
typedef struct pl_room_effort {
    size_t max_steps;
    double deadline_seconds;
    const pl_stop *stop;
} pl_room_effort;
popliner_status pl_room_rule_out(pl_room *room, const pl_limits *limits,
                                 const pl_room_effort *effort, bool *is_impossible,
                                 popliner_error *error);

/* ---- shared stages ---- */

/* ---- measured stages ---- */

/* The peaks of stages on one IPU that were measured, found again by their units: a table of at most
 * about 100 MB. Part of pl_shared. */
typedef struct pl_measured {
    uint32_t *units;      /* [capacity][width]: the stages, and the IPU if it matters */
    uint64_t *peak_bytes; /* [capacity] */
    size_t count;
    size_t capacity; /* a power of 2, or 0; a slot is free if its first number is UINT32_MAX */
    size_t width;
} pl_measured;

/* Sets of stages on one IPU whose peak was measured, mostly because it is too large; kept for all
 * later programs of the problem. Zero-initialise; free with pl_shared_free. */
typedef struct pl_shared {
    popliner_interval *intervals; /* [count][max stages of an IPU] */
    size_t *first_stage;          /* [count]: the first stage on the IPU */
    uint64_t *peak_bytes;         /* [count] */
    size_t count;
    size_t capacity;
    bool is_hard; /* pl_no_goods_search gave up because of too many no-goods */
    pl_measured measured;
    uint64_t *least_bytes; /* [stages]: triangles of pl_least_load; NULL until first needed */
    bool is_wide;          /* pl_device_sweep gave up because of too many places for cuts */
} pl_shared;

void pl_shared_free(pl_shared *shared);

/* Sets *peak_bytes to the peak of an IPU. together[count], ascending, are all of its stages;
 * `first_stage` is the first. Calls the shared-peak function only for stages that were not
 * measured. Errors: MEMORY, those of the shared peaks. */
popliner_status pl_shared_measure(pl_shared *shared, const pl_problem *problem, size_t first_stage,
                                  const popliner_interval *together, size_t count,
                                  uint64_t *peak_bytes, popliner_error *error);

/* The places of a cut: the first unit of a stage, or the end of the chain. */
typedef struct pl_cut_range {
    size_t lowest;
    size_t highest;
} pl_cut_range;

/* Returns pl_least_load of MEMORY for all stages and intervals. NULL when memory is short. The
 * first call takes O(stages * units^2). */
const uint64_t *pl_shared_least_bytes(pl_shared *shared, const pl_problem *problem);

/* A search for the best split of a problem whose stages share IPUs. The limits are passed
 * separately, as a pl_filter or as pl_limits. Owns nothing. */
typedef struct pl_shared_search {
    const pl_problem *problem;
    pl_goal goal;
    const pl_stop *stop;
    const popliner_listener *listener; /* may be NULL */
    size_t max_tries;           /* pl_device_sweep gives up after this number of stages; 0: never */
    const pl_cut_range *ranges; /* [stages + 1], for pl_device_sweep only; NULL: anywhere */
    pl_room *room;              /* bounds of what IPUs can hold, or NULL */
    pl_shared *shared;          /* the cache of measured stages */
} pl_shared_search;

/* The result of a search. */
typedef struct pl_search_result {
    bool is_stopped;          /* time was up, or the caller stopped the search */
    uint64_t bound_bytes;     /* for the goal FEWEST_CUT_BYTES: no split has fewer */
    uint64_t next_peak_bytes; /* without a split: the smallest possible peak of any split, or 0 */
    popliner_proof proof;     /* the method that proves the answer */
} pl_search_result;

/* ---- choices of stages on one IPU ---- */

/* The cycles and bytes of a choice on its IPU, and its cycles at speed 1 and without links. */
typedef struct pl_ipu_point {
    pl_variant_point on_ipu;
    uint64_t cycles;
} pl_ipu_point;

/* Chooses for stages on one IPU: variants of their own, or one of the ways for all of them.
 * Zero-initialise all but the first two members; free with pl_ipu_choices_free. */
typedef struct pl_ipu_choices {
    const pl_problem *problem;
    const pl_choices *of;
    /* Variants: the points of stages, by their place from the end and interval */
    struct pl_ipu_list **lists; /* [num_places]: triangles, or NULL; owned, like all arrays */
    size_t num_places;
    pl_variant_point *points;
    size_t num_points;
    size_t capacity;
    pl_ipu_point *busy; /* of a question, stage by stage */
    size_t busy_capacity;
    size_t *first_busy; /* [stages + 1] */
    size_t first_capacity;
    pl_variant_point *merged[2];
    size_t merged_capacity[2];
    pl_shared *of_ways; /* [ways]: the measured stages; NULL until needed */
} pl_ipu_choices;

void pl_ipu_choices_free(pl_ipu_choices *choices);

/* The stages of an IPU, and the limits of what they choose. */
typedef struct pl_ipu_question {
    const popliner_interval *stages; /* [count], ascending */
    const size_t *numbers;           /* [count] in the device map; NULL: cycles do not matter */
    size_t count;
    uint64_t max_cycles; /* of the IPU */
    uint64_t max_bytes;
    bool by_cycles; /* the fewest cycles, then the smallest peak; else the smallest peak */
} pl_ipu_question;

/* Finds the best choice within the limits: peak_bytes and cycles are those of the IPU. Errors:
 * MEMORY; INPUT for too many choices; those of the shared peaks. */
popliner_status pl_ipu_choose(pl_ipu_choices *choices, const pl_ipu_question *question,
                              pl_variant_choice *best, popliner_error *error);

/* Like pl_ipu_choose; also sets chosen[count] to what each stage takes of the best choice, and
 * appends the names to texts[count]. Of equal ones it is that in which the first stage has the
 * fewest cycles, then the second, ...; of equal ways the first. Of ways, chosen has cycles only. */
popliner_status pl_ipu_name_choices(pl_ipu_choices *choices, const pl_ipu_question *question,
                                    pl_variant_choice *best, pl_ipu_point *chosen, pl_text *texts,
                                    popliner_error *error);

/* ---- device sweep ---- */

/* Finds the best split one IPU after another: exact. Fast if few cuts are between finished and
 * further IPUs, as with two stages on each. */

/* True if pl_device_sweep supports the goal (any except FEWEST_STAGES) and the size of the
 * problem. */
bool pl_device_sweep_can(const pl_problem *problem, pl_goal goal);

/* Like pl_no_goods_search, but only within limits; pl_spread_sweep accepts filters. Sets *gave_up,
 * with an empty split, for more than three million places of cuts, or after asked->max_tries
 * stages. When stopped, the split for the goals EARLIEST_CUTS and FEWEST_CUT_BYTES is empty.
 * Errors: MEMORY, those of the shared peaks. Cost: the number of places that the cuts at the border
 * of the finished IPUs can have (about units^3 for two stages on each IPU, far fewer near the
 * optimum), times the splits of the next IPU. */
popliner_status pl_device_sweep(const pl_shared_search *asked, const pl_limits *limits,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error);

/* ---- spread sweep ---- */

/* Like pl_device_sweep, but within any filter. With a limit on the spread it sweeps once for each
 * block of smallest values (see pl_windows); asked->max_tries applies to each sweep. Sets *gave_up,
 * with an empty split, if one of them does. */
popliner_status pl_spread_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error);

/* ---- enumeration ---- */

/* Lists and tries all splits, if constraints leave few. */

/* Longer lists are not made; without a spread, for which other searches are slow, only lists of a
 * quarter of this. */
#define PL_MAX_ENUMERATED_SPLITS 4000000

/* The limit of measured IPUs with several stages if shared peaks are slow: a measurement may take
 * milliseconds, and other searches need far fewer. */
#define PL_MAX_ASKED_LOADS 4000

/* Zero-initialise; free with pl_enumeration_free. A load is the set of all stages of an IPU. It is
 * measured when first needed, once. */
typedef struct pl_enumeration {
    const pl_problem *problem;
    const pl_stop *stop;
    pl_limits limits; /* splits outside of them are not listed */
    bool is_tried;
    bool is_listed; /* the list has all splits */

    size_t num_stages;
    pl_arrays arrays;      /* own those of stages, IPUs and splits */
    size_t *first_stages;  /* [IPUs]: the first stage of each */
    uint64_t *limit_bytes; /* [IPUs]: from `limits` */
    size_t num_ipus;

    uint32_t *first_units; /* [count][stages], the earliest cuts first */
    uint32_t *loads;       /* [count][IPUs] */
    uint64_t *cut_bytes;   /* [count] */
    size_t count;

    uint32_t *split_of_load; /* [loads]: a split with this load, from which its stages are read */
    uint32_t *ipu_of_load;   /* [loads] */
    uint64_t *load_bytes;    /* [loads]: its peak; a lower bound until it is measured */
    uint64_t *load_cycles;   /* [loads] */
    uint8_t *is_measured;    /* [loads] */
    size_t num_loads;
    size_t load_capacity;
} pl_enumeration;

void pl_enumeration_free(pl_enumeration *enumeration);

/* Counts the splits within the limits, at most one more than PL_MAX_ENUMERATED_SPLITS. Ignores
 * pairs of units and the peaks of shared IPUs. Errors: MEMORY. O(n^2 * stages). */
popliner_status pl_enumeration_count(const pl_problem *problem, const pl_limits *limits,
                                     size_t *count, popliner_error *error);

/* Lists the splits within the limits; not if there are too many, if there were too many before, or
 * if the existing list serves the limits. If the search is stopped, *is_stopped becomes true and
 * nothing is listed. Errors: MEMORY. */
popliner_status pl_enumeration_list(pl_enumeration *enumeration, const pl_problem *problem,
                                    const pl_limits *limits, const pl_stop *stop, bool *is_stopped,
                                    popliner_error *error);

/* True if the list has all splits within these limits. */
bool pl_enumeration_serves(const pl_enumeration *enumeration, const pl_limits *limits);

/* Finds the split within the filter with the smallest value of an objective; any split for
 * POPLINER_NUM_OBJECTIVES; of several splits the one with the earliest cuts. *split must be empty,
 * and stays empty if there is none. If the search is stopped, *is_stopped becomes true and the
 * split may not be the best. Errors: MEMORY, those of shared peaks. O(splits * IPUs). */
popliner_status pl_enumeration_find(pl_enumeration *enumeration, const pl_filter *filter,
                                    popliner_objective objective, pl_split *split, bool *is_stopped,
                                    popliner_error *error);

/* ---- first answer ---- */

/* Finds a good split without proof: improves a few simple splits by moving cuts, with measured
 * peaks. */

/* The request to pl_first_answer. */
typedef struct pl_first_answer_wish {
    popliner_objective objective; /* the objective to minimise */
    const pl_split *hint;         /* to start from, with as many stages as the map; or NULL */
    double seconds;               /* time limit */
    size_t num_kicks; /* how often the best split is changed at random and improved again */
    /* how many random moves are tried before, then twice as many and so on, where pl_anneal_can */
    size_t num_steps;
} pl_first_answer_wish;

/* Finds a split within the filter that is small in the objective; ignores asked->goal. Starts from
 * *split, which is empty or within the filter; from cuts after equal numbers of units, and after
 * equal parts of their needs; and from the hint. The result is at least as good as each of these.
 * *split stays empty if no split within the filter was found, which proves nothing. Ends early if
 * asked->stop requests it. Errors: MEMORY, those of the shared peaks. Cost: O(stages^2) tries for
 * each improvement, each with a measurement of the IPUs that it changes. */
popliner_status pl_first_answer(const pl_shared_search *asked, const pl_filter *filter,
                                const pl_first_answer_wish *wish, pl_split *split,
                                popliner_error *error);

/* ---- annealing ---- */

typedef struct pl_annealing_wish {
    bool is_of_cycles; /* the objective: CYCLES, else MEMORY */
    const uint8_t *ok; /* [stages]: triangles of the intervals that may be the stage */
    uint64_t *random;  /* the state of pl_random_below */
    size_t num_steps;  /* the number of moves that are tried */
    double deadline_seconds;
    const pl_stop *stop;
} pl_annealing_wish;

/* True if what IPUs hold adds up quickly, and three or more stages share one: else sweeps are
 * better. */
bool pl_anneal_can(const pl_problem *problem, bool is_of_cycles);

/* Improves cuts[stages + 1], of allowed stages, by random moves. Ignores the limits of IPUs and all
 * memory but that of pl_costs_peak_parts and shared items, so the result has to be measured.
 * Errors: MEMORY. O(stages * units^2 + steps). */
popliner_status pl_anneal(const pl_problem *problem, const pl_annealing_wish *wish, size_t *cuts,
                          popliner_error *error);

/* ---- neighbours ---- */

/* Improves *split, which is within the filter, in the objective. Ignores the goal and ranges of
 * `asked`. Solves exactly, by device sweeps, in turn
 * - the stages of one IPU, with all other cuts fixed;
 * - all cuts, each within a growing distance from its place,
 * until nothing improves, the time is over, or asked->stop requests it. With `goes_on`, it then
 * lets cuts move by random distances until the time is over. Deterministic except for the time.
 * Errors: MEMORY, those of the shared peaks. */
popliner_status pl_neighbours_improve(const pl_shared_search *asked, const pl_filter *filter,
                                      popliner_objective objective, double seconds, bool goes_on,
                                      pl_split *split, popliner_error *error);

/* ---- shared bounds ---- */

/* The result of a relaxation. Zero-initialise; free with pl_shared_bound_clear. */
typedef struct pl_shared_bound {
    uint64_t bound; /* no split within the filter has a smaller value */
    pl_split hint;  /* of TRAFFIC: what the relaxation chose, a good starting point; or empty */
} pl_shared_bound;

void pl_shared_bound_clear(pl_shared_bound *bound);

/* Returns a lower bound of what an IPU needs for one of its stages; the sum over its stages is at
 * most what it needs for all. For the objectives MEMORY and CYCLES. */
uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const popliner_interval *stage, size_t num_stages_on_ipu);

/* Returns the number of stages on the IPU of a stage. */
size_t pl_num_on_ipu(const pl_problem *problem, size_t stage);

/* Finds a lower bound of the objective for splits within the filter. The bound is at most `known`
 * (UINT64_MAX: none); it is `known` only if no split is better. For MEMORY, CYCLES and TRAFFIC; 0
 * for other objectives. Takes about `seconds`. Errors: MEMORY.
 *
 * Four relaxations, all of which use only pl_least_load of an IPU:
 * - TRAFFIC: each stage as if it had its own IPU, by the dynamic program;
 * - the same for the largest value: no stage is larger than its IPU may be;
 * - the number of units that fit on an IPU, whichever they are: all IPUs together must hold the
 * chain. Exact for equal layers;
 * - Lagrange: each IPU has a weight, with sum 1. The smallest weighted sum over all stages is a
 * bound for any weights; weights grow where an IPU has too much. */
popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known, double seconds,
                                     pl_shared_bound *bound, popliner_error *error);

/* Finds the split within the filter with the earliest cuts, if the number of units that fit on an
 * IPU decides: each stage is the shortest that leaves no more units than all IPUs may hold. No
 * split within the filter has earlier cuts. *split must be empty, and stays empty if this one is
 * not within the filter, which proves nothing. Finds it if layers are equal. Errors: MEMORY, those
 * of the shared peaks. O(stages * units^2). */
popliner_status pl_shared_earliest(const pl_shared_search *asked, const pl_filter *filter,
                                   pl_split *split, popliner_error *error);

/* ---- no goods ---- */

/* Finds the best split by integer programs. An answer that needs too much becomes a no-good: a set
 * of stages that the next programs must not have on one IPU. */

/* Like pl_dynamic_program, where stages share IPUs; not for the goal FEWEST_STAGES. *split must be
 * empty, and stays empty if there is none. Exact: GLPK solves without the shared peaks. They are
 * measured for its answer, and what does not fit is forbidden, with everything that contains it,
 * until the answer fits. Sets *gave_up, with an empty split, if the programs become too large;
 * NULL: never gives up. Errors: MEMORY, INTERNAL, those of the shared peaks. */
popliner_status pl_no_goods_search(const pl_shared_search *asked, const pl_filter *filter,
                                   pl_split *split, pl_search_result *result, bool *gave_up,
                                   popliner_error *error);

#endif
