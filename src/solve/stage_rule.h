/* Which intervals may be which stage, where stages may begin and end, and what they can reach.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STAGE_RULE_H
#define PL_SOLVE_STAGE_RULE_H

#include "solve/problem.h"

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

/* Whether the units first_unit ... end_unit - 1 may be that stage. O(1). */
bool pl_stage_rule_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);

/* How many of the first places have a rule of their own: from there on, neither limits, speeds or
 * links of IPUs nor placements tell one from another. At most max_stages; all with a device map.
 * O(units + limits + speeds). */
size_t pl_problem_num_special(const pl_problem *problem, const pl_limits *limits);

/* Marks in ok[d] whether the interval first_unit ... first_unit + d may be the stage `stage` when
 * stages_to_end are still to come. Where stages share an IPU, as far as one of them alone can tell.
 * O(n). */
void pl_problem_mark(const pl_problem *problem, const pl_limits *limits, size_t stage,
                     size_t stages_to_end, size_t first_unit, uint8_t *ok);

/* ---- where stages may end ---- */

/* Where a stage may end that begins with a unit.
 *
 * If needs never shrink, these ends are a window: those that the stage is large enough for, to
 * those that it is not too large for; and neither bound falls from one unit to the next, so two
 * pointers find them all. Else there is a mark for each. */

/* An end is the unit behind the last one. Zero-initialise; free with pl_stage_ends_free. */
typedef struct pl_stage_ends {
    bool is_ordered; /* no marks: every end in a window may be one, if it may be a cut */
    size_t *from;    /* [units] the least one; owned, like all of these */
    size_t *to;      /* [units] behind the largest; not above `from` if there is none */
    /* Marks of the ends of a unit: those from `from` on begin at ok[row[unit]]. */
    size_t *row;
    uint8_t *ok;
    size_t capacity;
} pl_stage_ends;

/* Units that stages may begin with: first ... last. */
typedef struct pl_begin_range {
    size_t first;
    size_t last;
} pl_begin_range;

/* Finds those of the units of a range, again if they were found before. `within`, unless it is
 * NULL, has all of them and perhaps more, which saves looking elsewhere. Errors: MEMORY. O(n) if
 * needs never shrink; else O(n^2), or the windows of `within`. */
popliner_status pl_stage_ends_find(pl_stage_ends *ends, const pl_stage_rule *rule,
                                   pl_begin_range range, const pl_stage_ends *within,
                                   popliner_error *error);
void pl_stage_ends_free(pl_stage_ends *ends);

/* Whether that takes O(n) for this rule. */
bool pl_stage_rule_is_ordered(const pl_stage_rule *rule);

/* The rule without what may be less for a longer interval: the cycles of the costs where they may,
 * and what cuts take on links. It allows whatever the rule does, and is ordered if peaks never
 * shrink. */
pl_stage_rule pl_stage_rule_outer(const pl_stage_rule *rule);

/* For ordered rules, whatever may be a cut: no end of a stage that begins with the unit, or before
 * it, is larger: O(log n); no stage that ends there, or behind it, begins with a smaller unit:
 * O(units between). */
size_t pl_stage_rule_last_end(const pl_stage_rule *rule, size_t first_unit);
size_t pl_stage_rule_first_begin(const pl_stage_rule *rule, size_t end_unit);

/* ---- what stages can reach ---- */

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
