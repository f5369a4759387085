/* Units that have to be on one IPU, whichever it is, and splits that keep to that.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_UNIT_GROUPS_H
#define PL_SOLVE_UNIT_GROUPS_H

#include "solve/problem.h"
#include "solve/stop.h"

/* Each group is known by its first unit. Zero-initialise; free with pl_unit_groups_free. */
typedef struct pl_unit_groups {
    size_t num_units;
    size_t *first;      /* [units] of the unit's group */
    int64_t *ipu;       /* [units] that placements want, by such a first unit; or PL_ANY_IPU */
    bool has_several;   /* units in some group */
    bool is_impossible; /* a group is wanted on two IPUs */
} pl_unit_groups;

/* Finds the groups that the active ones of some pairs and placements make of a chain; constraints
 * of other kinds are passed. Errors: MEMORY. O(units * constraints). */
popliner_status pl_unit_groups_find(pl_unit_groups *groups, size_t num_units,
                                    const popliner_constraint *constraints, const uint8_t *active,
                                    size_t count, popliner_error *error);
void pl_unit_groups_free(pl_unit_groups *groups);

/* Takes from a problem without a device map the stages that hold units of groups on two IPUs. */
void pl_unit_groups_separate(const pl_unit_groups *groups, pl_problem *problem);

/* Finds out whether a problem without a device map, pairs and placements has a split, whatever
 * memory it needs, in which each group is on one IPU: the stages that hold units of a group share
 * one, and no others do. *possible is true, too, if that takes too many steps or is stopped.
 * Errors: MEMORY, those of shared peaks. Exponential in how many groups overlap; at most 50
 * million steps, or 1,000 measured peaks, and a quarter of that for each group alone. */
popliner_status pl_unit_groups_try(const pl_unit_groups *groups, const pl_problem *problem,
                                   const pl_stop *stop, bool *possible, bool *is_stopped,
                                   popliner_error *error);

#endif
