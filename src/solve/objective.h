/* Objectives: a row for each, the values of a split, and the limits that they become.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OBJECTIVE_H
#define PL_SOLVE_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/solver.h"

/* Which split, of those that a filter admits, a search should find. */
typedef enum pl_goal {
    PL_GOAL_ANY,
    PL_GOAL_FEWEST_CUT_BYTES,
    PL_GOAL_FEWEST_STAGES,
    PL_GOAL_EARLIEST_CUTS, /* see popliner/solver.h */
    PL_GOAL_SMALLEST_SPREAD,
} pl_goal;

/* ---- the table ---- */

/* The peak and cycles of an IPU with all of its stages. */
typedef struct pl_load {
    uint64_t peak_bytes;
    uint64_t cycles;
    /* how far its free memory falls short of the largest limit of any IPU. A smallest headroom is
     * this largest limit less the largest shortfall, which is minimised in its place */
    uint64_t shortfall_bytes;
} pl_load;

/* The value by which programs compare IPUs: its offset in pl_load. */
typedef enum pl_measure {
    PL_MEASURE_PEAK = offsetof(pl_load, peak_bytes),
    PL_MEASURE_CYCLES = offsetof(pl_load, cycles),
    PL_MEASURE_SHORTFALL = offsetof(pl_load, shortfall_bytes),
} pl_measure;

static inline uint64_t pl_load_value(const pl_load *load, pl_measure measure) {
    return *(const uint64_t *)(const void *)((const char *)load + measure);
}

typedef enum pl_objective_kind {
    PL_OBJECTIVE_LARGEST, /* of a value that each IPU has; minimised by halving a limit */
    PL_OBJECTIVE_SUM,     /* minimised by a search with this goal */
    PL_OBJECTIVE_SPREAD,  /* the imbalance: the difference of a value between IPUs; as a SUM */
} pl_objective_kind;

/* The unit of a value. A spread has the unit of its values. */
typedef enum pl_objective_unit {
    PL_UNIT_BYTES,
    PL_UNIT_CYCLES,
    PL_UNIT_CUTS, /* bytes, or time if the costs give cuts in time */
    PL_UNIT_COUNT,
    PL_UNIT_TOKENS,
} pl_objective_unit;

typedef struct pl_objective {
    const char *name;
    const char *meaning; /* in the help of the command */
    const char *title;   /* in tables of pages */
    const char *words;   /* its value in texts; % is the value with its unit, / is " per tile" */
    const char *better;  /* what no split over these IPUs has, where it is proven */
    pl_objective_kind kind;
    pl_objective_unit unit;
    pl_goal goal;       /* of a SUM or SPREAD */
    pl_measure measure; /* of a LARGEST */
    bool is_mapped;     /* fixed by a device map */
    /* searches of graphs, of replicas of stages, and of replicas within a slack know it */
    bool is_everywhere;
    bool is_grown;       /* caches of more tokens change it */
    bool is_more_better; /* a larger value is better, as users see it */
    bool has_own_search; /* it comes first, and only in single answers */
    size_t value;        /* offset in pl_objective_values */
    size_t limit;        /* offset of a uint64_t in pl_limits; not of a SPREAD */
} pl_objective;

/* Returns the row of a valid objective. */
const pl_objective *pl_objective_of(popliner_objective objective);

/* True if the options have the objective. */
bool pl_objectives_include(const popliner_solver_options *options, popliner_objective objective);

/* Returns the first valid objective of the options that is not everywhere; NULL if all are. */
const pl_objective *pl_objectives_beyond(const popliner_solver_options *options);

/* True if IPUs are compared by their cycles, not their peaks. */
bool pl_objective_is_of_cycles(popliner_objective objective, bool spread_is_of_cycles);

/* Returns the measure of an objective that is no sum. */
pl_measure pl_objective_measure(popliner_objective objective, bool spread_is_of_cycles);

/* Returns the objectives of the options, or the default ones. Borrowed. */
const popliner_objective *pl_objectives_of(const popliner_solver_options *options, size_t *count);

/* Returns the name of the first objective that needs cycles; NULL if none does. */
const char *pl_objectives_need_cycles(const popliner_solver_options *options);

/* True if the spread is one of cycles, with these objectives. */
bool pl_spread_is_of_cycles(const popliner_solver_options *options);

/* ---- values ---- */

/* The values that objectives and filters use. */
typedef struct pl_objective_values {
    uint64_t peak_bytes;     /* of the IPU that needs most */
    uint64_t min_peak_bytes; /* of the IPU that needs least */
    uint64_t cycles;
    uint64_t min_cycles;
    uint64_t cut_bytes;
    uint64_t num_ipus;
    uint64_t shortfall_bytes; /* of the IPU with the least free memory: see pl_load */
} pl_objective_values;

/* Values before any IPU is added. */
#define PL_OBJECTIVE_VALUES_INIT                                                                   \
    { .min_peak_bytes = UINT64_MAX, .min_cycles = UINT64_MAX }

/* Adds the load of an IPU. */
static inline void pl_objective_values_add(pl_objective_values *values, pl_load load) {
    pl_objective_values *v = values;
    v->peak_bytes = load.peak_bytes > v->peak_bytes ? load.peak_bytes : v->peak_bytes;
    v->min_peak_bytes = load.peak_bytes < v->min_peak_bytes ? load.peak_bytes : v->min_peak_bytes;
    v->cycles = load.cycles > v->cycles ? load.cycles : v->cycles;
    v->min_cycles = load.cycles < v->min_cycles ? load.cycles : v->min_cycles;
    v->shortfall_bytes =
        load.shortfall_bytes > v->shortfall_bytes ? load.shortfall_bytes : v->shortfall_bytes;
    ++v->num_ipus;
}

/* Returns the headroom of a shortfall, at least 0. */
static inline uint64_t pl_headroom(uint64_t largest_limit_bytes, uint64_t shortfall_bytes) {
    return shortfall_bytes < largest_limit_bytes ? largest_limit_bytes - shortfall_bytes : 0;
}

/* Returns the spread of a split. */
uint64_t pl_objective_values_spread(const pl_objective_values *values, bool is_of_cycles);

/* Returns the value of an objective. */
uint64_t pl_objective_value(const pl_objective_values *values, popliner_objective objective,
                            bool spread_is_of_cycles);

/* ---- limits ---- */

/* Limits of each IPU, and of the sum over all IPUs, in addition to the constraints. Maxima and
 * minima hold for every IPU. */
typedef struct pl_limits {
    bool ignores_ipu_limits; /* those of the options */
    uint64_t max_peak_bytes;
    uint64_t min_peak_bytes;
    uint64_t max_cycles;
    uint64_t min_cycles;
    uint64_t max_cut_bytes;
    uint64_t max_ipus;
    uint64_t max_shortfall_bytes;
} pl_limits;

/* Limits, and the largest spread of a split. Searches that cannot limit the spread take
 * pl_limits. */
typedef struct pl_filter {
    pl_limits limits;
    uint64_t max_spread; /* UINT64_MAX for any */
    bool spread_is_of_cycles;
} pl_filter;

/* Returns the filter with a limit on one objective. */
pl_filter pl_filter_limited(const pl_filter *filter, popliner_objective objective, uint64_t max);

/* True if a split with these values is within the filter; ignores the limits of single IPUs. */
bool pl_filter_admits(const pl_filter *filter, const pl_objective_values *values);

/* Windows of values (peaks or cycles) that contain all stages of a split, for splits of a small
 * spread. A block of `step` + 1 values, one of which is the smallest of the split, is tried at
 * once: then a split may be wider than requested by `step`. If there is no such split, none of
 * these values is the smallest of a split. Begin with PL_WINDOWS_INIT. */
typedef struct pl_windows {
    uint64_t at; /* smaller values were tried */
    uint64_t step;
    bool is_over;
} pl_windows;

#define PL_WINDOWS_INIT                                                                            \
    { 0, UINT64_MAX, false }

/* Returns the limits of the splits of the block, which are at most `width` + step wide. */
pl_limits pl_windows_limits(const pl_windows *windows, uint64_t width, const pl_filter *filter);

/* Moves on to the next block, twice as large, because this one has no split that is wanted. */
void pl_windows_skip(pl_windows *windows, uint64_t width);

/* Makes the block smaller, so that it excludes a split that is wider than `width` and has this
 * largest value. */
void pl_windows_narrow(pl_windows *windows, uint64_t width, uint64_t max_value);

/* Returns "memory", "cycles", ...; NULL for an invalid objective. */
const char *pl_objective_name(size_t objective);

#endif
