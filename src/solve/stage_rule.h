/* Which intervals each stage may be, and where stages may begin and end.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STAGE_RULE_H
#define PL_SOLVE_STAGE_RULE_H

#include "solve/problem.h"

/* Whether an interval may be one stage of a pipeline. Where stages share an IPU, the rule checks
 * the stage alone. */
typedef struct pl_stage_rule {
    const pl_problem *problem;
    size_t to_end; /* the stage's place in the costs: see pl_costs_place */
    size_t ipu;
    uint64_t min_peak_bytes;
    uint64_t max_peak_bytes;
    /* Cycles of the costs, whatever the speed of the IPU. If its links take time, there is no
     * minimum, and the maximum is that of a stage whose cuts take none. */
    uint64_t min_cycles;
    uint64_t max_cycles;
    /* Time of its cuts on the links before and after it, [units + 1] by the unit after the cut;
     * NULL if the limits above suffice. */
    const uint64_t *link_before;
    const uint64_t *link_after;
    uint64_t speed;
    uint64_t min_busy_cycles; /* limits of the cycles at `speed`, with the time of both cuts */
    uint64_t max_busy_cycles;
} pl_stage_rule;

/* Returns the rule of stage `stage` with stages_to_end to the end (itself included). O(limits of
 * IPUs); with a device map also O(stages). */
pl_stage_rule pl_stage_rule_of(const pl_problem *problem, const pl_limits *limits, size_t stage,
                               size_t stages_to_end);

/* True if the units first_unit ... end_unit - 1 may be this stage. O(placements). */
bool pl_stage_rule_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);

/* Returns how many of the first places have a rule of their own. From there on, limits, speeds and
 * links of IPUs and placements are the same for all places. At most max_stages; all with a device
 * map. O(placements + stages * (limits + speeds)). */
size_t pl_problem_num_special(const pl_problem *problem, const pl_limits *limits);

/* ---- where stages may end ---- */

/* The ends that a stage may have, for each unit that it may begin with: a mark for each, from the
 * first that sizes allow to the last before all longer stages are too large. An end is one past the
 * last unit. Zero-initialise; free with pl_stage_ends_free. */
typedef struct pl_stage_ends {
    const size_t *from; /* [units] the first end, which is that of the problem */
    size_t *to;         /* [units] one past the last end; not above `from` if there is none */
    size_t *row;        /* [units] where its marks begin */
    uint8_t *ok;
    pl_arrays arrays; /* own the others */
} pl_stage_ends;

/* Finds the ends of the units that `begins` marks (NULL: all), and none of the others; may be
 * called again. Errors: MEMORY. O(n * longest stage), or O(n^2) if needs may shrink as stages
 * grow. */
popliner_status pl_stage_ends_find(pl_stage_ends *ends, const pl_stage_rule *rule,
                                   const uint8_t *begins, popliner_error *error);
void pl_stage_ends_free(pl_stage_ends *ends);

/* True if the stage may be the units first_unit ... end - 1. */
static inline bool pl_stage_ends_have(const pl_stage_ends *ends, size_t first_unit, size_t end) {
    return end >= ends->from[first_unit] && end < ends->to[first_unit] &&
           ends->ok[ends->row[first_unit] + end - ends->from[first_unit]] != 0;
}

/* Returns the marks of the ends of a unit, from ends->from on. */
static inline uint8_t *pl_stage_ends_marks(const pl_stage_ends *ends, size_t first_unit) {
    return ends->ok + ends->row[first_unit];
}

/* Return the last end that a stage may have that begins with the unit or an earlier one, and the
 * first unit that a stage may begin with that has the end or a later one; at least, and at most:
 * minima, placements and rules of single cuts are ignored. O(log n). */
size_t pl_stage_rule_last(const pl_stage_rule *rule, size_t first_unit);
size_t pl_stage_rule_first(const pl_stage_rule *rule, size_t end);

#endif
