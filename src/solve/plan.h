/* Splits, their values, and the plans made of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PLAN_H
#define PL_SOLVE_PLAN_H

#include "popliner/costs.h"
#include "popliner/error.h"
#include "solve/plan_data.h"
#include "solve/problem.h"

/* A split under construction: the first unit of each stage, ascending from 0. Zero-initialise;
 * free with pl_split_clear. */
typedef struct pl_split {
    size_t *first_units; /* owned */
    size_t num_stages;
    size_t capacity;
} pl_split;

void pl_split_clear(pl_split *split);

/* Appends a stage that begins with `first_unit`. False when memory is short. */
bool pl_split_append(pl_split *split, size_t first_unit);

/* Empties *to and makes it `from`, which is empty then. */
void pl_split_move(pl_split *to, pl_split *from);

/* -1, 0, 1: whether the cuts of a come before those of b, see popliner/solver.h. */
int pl_split_compare(const pl_split *a, const pl_split *b);

/* The stage as an interval. */
popliner_interval pl_split_interval(const pl_problem *problem, const pl_split *split, size_t stage);

/* The values of a split of the chain, in integers from the table. peaks_bytes[stages] (may be NULL)
 * becomes the peak of the IPU of each stage. Errors: those of the shared peaks, MEMORY.
 * O(stages^2), and a call for each IPU with several stages. */
popliner_status pl_split_evaluate(const pl_problem *problem, const pl_split *split,
                                  pl_objective_values *values, uint64_t *peaks_bytes,
                                  popliner_error *error);

/* Fills the empty plan with the stages and totals of the split; leaves status, values and
 * infeasibility alone. Errors: as above. */
popliner_status pl_plan_fill(const pl_problem *problem, const pl_split *split,
                             bool spread_is_of_cycles, popliner_plan *plan, popliner_error *error);

/* Adds up a plan anew, from its stages and the table alone, trusting no solver: as many stages as
 * allowed, none forbidden, each where the options allow it, cover the chain without gap or overlap;
 * what the filter asks for is so; and each objective has the value that the plan says, which is not
 * below its bound, and equal to it where that is proven. Errors: INTERNAL, naming what is wrong,
 * and as above. */
popliner_status pl_plan_check(const pl_problem *problem, const pl_filter *filter,
                              const popliner_plan *plan, popliner_error *error);

#endif
