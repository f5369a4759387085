/* What is asked for, made ready for searching: which intervals may be which stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PROBLEM_H
#define PL_SOLVE_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "costs/costs.h"
#include "popliner/solver.h"
#include "solve/constraint.h"
#include "solve/ipus.h"
#include "solve/objective.h"

/* Zero-initialise; free with pl_problem_free. Refers to the costs and options. */
typedef struct pl_problem {
    const popliner_costs *costs;
    popliner_costs *own_costs; /* these, where a device map makes a part of what was given */
    const popliner_solver_options *options;
    size_t num_units;

    /* How many stages there may be: a range, or exactly as many as the device map has. */
    size_t min_stages;
    size_t max_stages; /* at most num_units, and less than min_stages if nothing is possible */
    bool is_mapped;
    size_t num_ipus; /* that the device map names */
    bool is_shared;  /* some IPU has several stages */
    size_t most_stages_of_ipu;
    size_t num_shared_ipus;

    bool depends_on_ipu; /* what may be a stage depends on its IPU */
    bool depends_on_end; /* ... on how many stages are still to come */

    pl_cost_order order; /* unless stages share IPUs */

    /* What cuts and sizes allow, wherever a stage stands. */
    uint8_t *may_cut; /* [units + 1] by the unit behind the cut; 1 at both ends of the chain */
    /* [units] the least and the largest end of a stage that begins there; an end is the unit behind
     * the last. Neither ever falls from one unit to the next. */
    size_t *min_end;
    size_t *max_end;
    /* The IPU that each unit has to be on, or PL_ANY_IPU. */
    int64_t *unit_ipu;
    size_t *next_placed; /* [units + 1] the first unit from there on that has to be on some */
    size_t *next_other;  /* [units] the first such unit behind it that has to be elsewhere */
    /* Of the device map: the first stage on the same IPU, for each stage. */
    size_t *first_on_ipu;
    /* Pairs of units that have to be on one IPU but may be in several stages of it: only where IPUs
     * are shared. Marks the pairs of the options. */
    uint8_t *is_pair_active;
    pl_links links; /* of the first max_stages places */
} pl_problem;

/* `active` has a mark for each constraint of pl_constraints_list, or is NULL for all.
 * Errors: MEMORY. O(n^2 + n * constraints). */
popliner_status pl_problem_create(pl_problem *problem, const popliner_costs *costs,
                                  const popliner_solver_options *options, const uint8_t *active,
                                  popliner_error *error);
/* The same where a problem of these costs is at hand, whose order is taken over: O(n *
 * constraints), unless `like` is NULL, shares IPUs or has fewer stages. */
popliner_status pl_problem_create_like(pl_problem *problem, const pl_problem *like,
                                       const popliner_costs *costs,
                                       const popliner_solver_options *options,
                                       const uint8_t *active, popliner_error *error);
void pl_problem_free(pl_problem *problem);

/* Whether stages are light enough to be together on an IPU. */
bool pl_options_allow_weight(const popliner_solver_options *options,
                             const popliner_interval *stages, size_t num_stages);

/* What stages need that are together on an IPU: POPLINER_PEAK_FORBIDDEN if they are too heavy for
 * it. Errors: those of the shared peaks. */
popliner_status pl_problem_shared_peak(const pl_problem *problem, const popliner_interval *stages,
                                       size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error);

/* The IPU of stage `stage`. */
size_t pl_problem_ipu(const pl_problem *problem, size_t stage);

/* The cycles of the interval as that stage, at the speed of its IPU, and what its cuts take on
 * their links. O(speeds). */
uint64_t pl_problem_cycles(const pl_problem *problem, size_t stage, size_t first_unit,
                           size_t last_unit);

/* How many of the pairs that may be in several stages of an IPU are on different ones, in a split
 * whose stages begin with first_units[num_stages]. O(pairs * stages). */
size_t pl_problem_broken_pairs(const pl_problem *problem, const size_t *first_units,
                               size_t num_stages);

/* The one that keeps to the limits of the options and to nothing else. */
pl_filter pl_filter_of_limits(const pl_problem *problem);

/* The one that knows no limit of memory: only what must not be a stage at all is left out. */
pl_filter pl_filter_without_memory(const pl_problem *problem);

/* The largest peak that an IPU may have. */
uint64_t pl_limits_peak(const pl_problem *problem, const pl_limits *limits, size_t ipu);

#endif
