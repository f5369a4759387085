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
#include "solve/links.h"
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

/* What decides of an interval whether it may be one stage of a pipeline. Where stages share an IPU,
 * as far as one of them alone can tell. */
typedef struct pl_stage_rule {
    const pl_problem *problem;
    size_t to_end; /* how the costs are asked for it: see pl_costs_place */
    size_t ipu;
    bool is_anywhere; /* placements do not count */
    uint64_t min_peak_bytes;
    uint64_t max_peak_bytes;
    /* as the costs have them, whatever the speed of the IPU; where its links take time there are
     * no fewest ones, and the most are those of a stage whose cuts take none */
    uint64_t min_cycles;
    uint64_t max_cycles;
    /* What its cuts take on the link before it and the one behind it, [units + 1] by the unit
     * behind the cut; NULL if that says nothing beside the above. */
    const uint64_t *link_before;
    const uint64_t *link_behind;
    uint64_t speed;
    uint64_t min_busy_cycles; /* with these and at that speed */
    uint64_t max_busy_cycles;
} pl_stage_rule;

/* That of the stage `stage` when stages_to_end are still to come. O(limits of IPUs), with a device
 * map also O(stages). */
pl_stage_rule pl_stage_rule_of(const pl_problem *problem, const pl_limits *limits, size_t stage,
                               size_t stages_to_end);

/* The largest end that placements leave a stage that begins with the unit; the unit itself if it
 * must not be there. O(1). */
size_t pl_stage_rule_placed_end(const pl_stage_rule *rule, size_t first_unit);

/* Whether the units first_unit ... end_unit - 1 may be that stage. O(1). */
bool pl_stage_rule_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);

/* Marks in ok[0 ... count - 1] the same for the ends from `end_unit` on. O(count). */
void pl_stage_rule_mark(const pl_stage_rule *rule, size_t first_unit, size_t end_unit, size_t count,
                        uint8_t *ok);

/* How many of the first places have a rule of their own: from there on, neither limits, speeds or
 * links of IPUs nor placements tell one from another. At most max_stages; all with a device map.
 * O(units + limits + speeds). */
size_t pl_problem_num_special(const pl_problem *problem, const pl_limits *limits);

/* Marks in ok[d] whether the interval first_unit ... first_unit + d may be the stage `stage` when
 * stages_to_end are still to come. Where stages share an IPU, as far as one of them alone can tell.
 * O(n). */
void pl_problem_mark(const pl_problem *problem, const pl_limits *limits, size_t stage,
                     size_t stages_to_end, size_t first_unit, uint8_t *ok);

/* Which units stages can begin and end at in pipelines of exactly num_stages stages.
 * Zero-initialise; free with pl_reachability_free. */
typedef struct pl_reachability {
    const pl_problem *problem;
    const pl_limits *limits;
    size_t num_stages;
    bool is_at_most;     /* fewer stages are looked at, too; not with a device map */
    uint8_t *from_start; /* [num_stages + 1][units + 1]: so many stages can end before a unit */
    uint8_t *to_end; /* [num_stages + 1][units + 1]: those from so many on can begin at a unit */
} pl_reachability;

/* Finds them for the members that are set. Errors: MEMORY. O(n * num_stages) if needs never shrink,
 * else O(n^2 * num_stages). */
popliner_status pl_reachability_find(pl_reachability *reachability, popliner_error *error);
void pl_reachability_free(pl_reachability *reachability);

/* Marks in ok[d] whether the stage `stage` may be first_unit ... first_unit + d in such a
 * pipeline. False if none of them. */
bool pl_reachability_mark(const pl_reachability *reachability, size_t stage, size_t first_unit,
                          uint8_t *ok);

/* Marks in units[units] which ones can be in the stage `stage` of such a pipeline; the others are
 * cleared. As long as finding one stage takes. Errors: MEMORY. */
popliner_status pl_reachability_cover(const pl_reachability *reachability, size_t stage,
                                      uint8_t *units, popliner_error *error);

#endif
