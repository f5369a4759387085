/* What a split can be good at: a row for each objective, what a split has of them, and the limits
 * that they become.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_OBJECTIVE_H
#define PL_SOLVE_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/solver.h"

/* Which of the splits that a filter admits is wanted. */
typedef enum pl_goal {
    PL_GOAL_ANY,
    PL_GOAL_FEWEST_CUT_BYTES,
    PL_GOAL_FEWEST_STAGES,
    PL_GOAL_EARLIEST_CUTS, /* see popliner/solver.h */
} pl_goal;

/* ---- the table ---- */

typedef enum pl_objective_kind {
    PL_OBJECTIVE_LARGEST, /* of a value that each IPU has: halved by limits */
    PL_OBJECTIVE_SUM,     /* a goal of the searches */
    PL_OBJECTIVE_SPREAD,  /* how far a value of the IPUs is apart */
} pl_objective_kind;

/* What values are in. That of a spread is that of the values that it is of. */
typedef enum pl_objective_unit {
    PL_UNIT_BYTES,
    PL_UNIT_CYCLES,
    PL_UNIT_CUTS, /* bytes, or the time of costs that tell cuts so */
    PL_UNIT_COUNT,
} pl_objective_unit;

typedef struct pl_objective {
    const char *name;
    const char *words; /* what its value is, in texts */
    pl_objective_kind kind;
    pl_objective_unit unit;
    pl_goal goal;      /* of a SUM */
    bool needs_cycles; /* of costs */
    bool is_mapped;    /* the device map says it */
    bool may_lead;     /* a list for as many IPUs as one likes may begin with it */
    size_t value;      /* where it is in pl_objective_values, ... */
    size_t limit;      /* and in pl_limits, each an uint64_t: not of a SPREAD */
} pl_objective;

/* The row of an objective that there is. */
const pl_objective *pl_objective_of(popliner_objective objective);

/* Whether IPUs are compared by their cycles, not their peaks. */
bool pl_objective_is_of_cycles(popliner_objective objective, bool spread_is_of_cycles);

/* The options, or for NULL those of POPLINER_SOLVER_OPTIONS_INIT. */
const popliner_solver_options *pl_solver_options(const popliner_solver_options *options);

/* The objectives of some options, or the default ones. Borrowed. */
const popliner_objective *pl_objectives_of(const popliner_solver_options *options, size_t *count);

/* Whether any of the options' objectives needs cycles: its name, or NULL. */
const char *pl_objectives_need_cycles(const popliner_solver_options *options);

/* Whether the spread is that of the cycles for these objectives. */
bool pl_spread_is_of_cycles(const popliner_solver_options *options);

/* ---- what a split has ---- */

/* All that objectives and filters look at. */
typedef struct pl_objective_values {
    uint64_t peak_bytes;     /* of the IPU that needs most */
    uint64_t min_peak_bytes; /* of the one that needs least */
    uint64_t cycles;
    uint64_t min_cycles;
    uint64_t cut_bytes;
    uint64_t num_ipus;
} pl_objective_values;

/* Those of no IPU yet. */
#define PL_OBJECTIVE_VALUES_INIT                                                                   \
    { .min_peak_bytes = UINT64_MAX, .min_cycles = UINT64_MAX }

/* What an IPU needs and does, with all of its stages. */
typedef struct pl_load {
    uint64_t peak_bytes;
    uint64_t cycles;
} pl_load;

/* Adds an IPU. */
static inline void pl_objective_values_add(pl_objective_values *values, pl_load load) {
    pl_objective_values *v = values;
    v->peak_bytes = load.peak_bytes > v->peak_bytes ? load.peak_bytes : v->peak_bytes;
    v->min_peak_bytes = load.peak_bytes < v->min_peak_bytes ? load.peak_bytes : v->min_peak_bytes;
    v->cycles = load.cycles > v->cycles ? load.cycles : v->cycles;
    v->min_cycles = load.cycles < v->min_cycles ? load.cycles : v->min_cycles;
    ++v->num_ipus;
}

/* The spread of a split. */
uint64_t pl_objective_values_spread(const pl_objective_values *values, bool is_of_cycles);

/* What a split has of one objective. */
uint64_t pl_objective_value(const pl_objective_values *values, popliner_objective objective,
                            bool spread_is_of_cycles);

/* ---- what it has to keep to ---- */

/* What each IPU, and the sum over all, has to keep to besides the constraints. Max and min are of
 * every IPU. */
typedef struct pl_limits {
    uint64_t plain_limit_bytes; /* of IPUs that have no limit of their own */
    bool ignores_ipu_limits;    /* those that have one take plain_limit_bytes, too */
    uint64_t max_peak_bytes;
    uint64_t min_peak_bytes;
    uint64_t max_cycles;
    uint64_t min_cycles;
    uint64_t max_cut_bytes;
    uint64_t max_ipus;
} pl_limits;

/* Limits, and how far the IPUs of a split may be apart. Searches that do not compare IPUs with each
 * other accept pl_limits alone, so none can be given a spread. */
typedef struct pl_filter {
    pl_limits limits;
    uint64_t max_spread; /* UINT64_MAX for any */
    bool spread_is_of_cycles;
} pl_filter;

/* The filter with a limit on one objective. */
pl_filter pl_filter_limited(const pl_filter *filter, popliner_objective objective, uint64_t max);

/* The limits of the filter if they are all that it has; NULL if it limits the spread. */
const pl_limits *pl_filter_only_limits(const pl_filter *filter);

/* True if a split with these values keeps to the filter, except for limits of single IPUs. */
bool pl_filter_admits(const pl_filter *filter, const pl_objective_values *values);

/* Windows of values (peaks or cycles) that all stages of a split may lie in, for splits of a small
 * spread: instead of every value that may be the smallest, blocks of them are looked at together.
 * In a block of `step` + 1 smallest values a split may be wider than is wanted by `step`; where
 * there is none even so, none of these values is the smallest of one. Begin with
 * PL_WINDOWS_INIT. */
typedef struct pl_windows {
    uint64_t at; /* no smaller value is the smallest of a split that is looked for */
    uint64_t step;
    bool is_over;
} pl_windows;

#define PL_WINDOWS_INIT                                                                            \
    { 0, UINT64_MAX, false }

/* The limits that the splits of the block keep to, which are at most `width` + step wide. */
pl_limits pl_windows_limits(const pl_windows *windows, uint64_t width, const pl_filter *filter);

/* The block holds nothing that is looked for, or no more: goes on to the next one, which is
 * twice as large. */
void pl_windows_skip(pl_windows *windows, uint64_t width);

/* In the block is a split that is wider than `width`, with this largest value: makes the block
 * smaller, so that it does not hold that split. */
void pl_windows_narrow(pl_windows *windows, uint64_t width, uint64_t max_value);

/* "memory", "cycles", ...; NULL for an objective that there is not. */
const char *pl_objective_name(popliner_objective objective);

#endif
