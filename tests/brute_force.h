/* The answer to any question that the solvers are asked, by trying every split: what they are held
 * against. It shares nothing with them but the table of costs, and is written as plan.h and
 * solver.h read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_BRUTE_FORCE_H
#define PL_TESTS_BRUTE_FORCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/solver.h"

enum {
    MOST_BRUTE_UNITS = 16,
    MOST_BRUTE_CONSTRAINTS = 64,
    MOST_CONTRADICTIONS = 924, /* 6 of 12 */
};

/* A split and what it is worth. */
typedef struct brute_split {
    bool exists;
    size_t num_stages;
    popliner_plan_stage stages[MOST_BRUTE_UNITS];
    uint64_t values[POPLINER_NUM_OBJECTIVES]; /* by objective, asked for or not */
} brute_split;

typedef struct brute_answer {
    popliner_plan_status status; /* OPTIMAL or INFEASIBLE */
    brute_split split;           /* the best one, or the best effort */

    /* Those that were asked for, in order, and the smallest value of each; 0 if INFEASIBLE. */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    size_t num_objectives;
    uint64_t bounds[POPLINER_NUM_OBJECTIVES];

    popliner_infeasibility infeasibility; /* without constraints */
    /* CONSTRAINTS: all sets of constraints, as bits, that contradict each other, but not without
     * one of them; and what the bits stand for. Without its device map a split fulfils all pairs
     * and placements. None if they are not known: of more than 12 constraints. Of each, whether
     * there would be a split if the costs forbade nothing. */
    uint64_t contradictions[MOST_CONTRADICTIONS];
    bool needs_costs[MOST_CONTRADICTIONS];
    size_t num_contradictions;
    popliner_constraint constraints[MOST_BRUTE_CONSTRAINTS];
    size_t num_constraints;
    /* CONSTRAINTS: whether there would be a split without them. */
    bool has_split_without_constraints;

    /* Where stages share IPUs any of the equally good splits may be the answer: a bit for each set
     * of cuts. Of what they are; must be there while answers are compared. */
    bool has_ties;
    uint8_t is_best[(1 << (MOST_BRUTE_UNITS - 1)) / 8];
    const popliner_costs *costs;
    popliner_solver_options options;
} brute_answer;

/* Every subset of the n - 1 places is a split; at most MOST_BRUTE_UNITS units. Of the options all
 * count but the method and those of time. */
brute_answer brute_force(const popliner_costs *costs, const popliner_solver_options *options);

/* The values of the first two objectives that no split dominates, from the smallest of the first
 * one on, each with the best split of those that have them. Into points[most]; returns how many
 * there are, which must not be more. */
size_t brute_pareto(const popliner_costs *costs, const popliner_solver_options *options,
                    brute_answer *points, size_t most);

/* What so many bytes take on the link between two IPUs, in cycles: POPLINER_MAX_CYCLES at most. */
uint64_t brute_link_cycles(const popliner_solver_options *options, size_t ipu, size_t other,
                           uint64_t bytes);

/* What so many cycles take at the speed of an IPU: that is a ratio, and what is left over takes one
 * more. */
uint64_t brute_speed_cycles(const popliner_solver_options *options, size_t ipu, uint64_t cycles);

/* Whether the plan is this answer in everything; if not, says in `difference` (at least 200 bytes)
 * what differs first. */
bool plan_is(const popliner_plan *plan, const brute_answer *expected, char *difference);

/* Fails the test if it is not. */
void assert_plan_is(const popliner_plan *plan, const brute_answer *expected);

#endif
