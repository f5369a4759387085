/* Splits, plans, their values, and the methods that find them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PLAN_H
#define PL_SOLVE_PLAN_H

#include "costs/variants.h"
#include "solve/problem.h"
#include "solve/stop.h"

/* Returns when a solve with these options stops, if it begins now. */
pl_stop pl_stop_of(const popliner_solver_options *options);

/* Sets the time limit of the options to the time that is left, at least a millisecond. */
void pl_stop_limit(const pl_stop *stop, popliner_solver_options *options);

/* ---- plans ---- */

/* Makes a plan without stages: INFEASIBLE, obstacle UNKNOWN. Free with popliner_plan_free. Errors:
 * MEMORY. */
popliner_status pl_plan_create_empty(bool is_stopped, popliner_plan **plan, popliner_error *error);

/* Frees what the plan owns and makes it empty. NULL is allowed. */
void pl_plan_clear(popliner_plan *plan);

/* Fills an empty plan as popliner_solve does, by any method except GREEDY. The options are
 * complete. Errors: those of popliner_solve. */
popliner_status pl_solve(const popliner_costs *costs, const popliner_solver_options *options,
                         popliner_plan *plan, popliner_error *error);

/* Likewise for objectives that have no search of their own; where stages share IPUs, with so much
 * work of pl_search; 0: the usual. */
popliner_status pl_solve_within(const popliner_costs *costs, const popliner_solver_options *options,
                                uint64_t most_work, popliner_plan *plan, popliner_error *error);

/* Returns "none", "dynamic_program", ...; NULL for an invalid proof. */
const char *pl_proof_name(popliner_proof proof);

/* ---- splits ---- */

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

/* Makes *to equal to a split that is not shared with it. Errors: MEMORY. */
popliner_status pl_split_copy(pl_split *to, const pl_split *from, popliner_error *error);

/* Moves `from`, which becomes empty, to *to, whose old content it frees. */
void pl_split_move(pl_split *to, pl_split *from);

/* Returns the bytes over the cuts of a split. O(stages). */
uint64_t pl_split_cut_bytes(const pl_problem *problem, const pl_split *split);

/* True if a split, which may be empty, is better for the goal than another one; any is better than
 * none. O(stages). */
bool pl_split_is_better(const pl_problem *problem, pl_goal goal, const pl_split *split,
                        const pl_split *other);

/* Returns a stage as an interval. */
popliner_interval pl_split_interval(const pl_problem *problem, const pl_split *split, size_t stage);

/* Computes the values of a split from the table, and what its stages choose (see
 * pl_chooser_limit). Sets peaks_bytes[stages] (may be NULL) to the peak
 * of the IPU of each stage. Errors: those of the shared peaks, MEMORY. O(stages^2), plus a call for
 * each IPU with several stages. */
popliner_status pl_split_evaluate(const pl_problem *problem, const pl_split *split,
                                  pl_objective_values *values, uint64_t *peaks_bytes,
                                  popliner_error *error);

/* Finds the best split for the goal, any for the smallest spread, within limits. Sets *is_over if
 * it could not end. */
typedef popliner_status pl_windows_function(void *user, const pl_limits *limits, pl_goal goal,
                                            pl_split *split, bool *is_over, popliner_error *error);

/* The best split within a filter, which `find` finds within limits. */
typedef struct pl_windows_question {
    const pl_problem *problem;
    const pl_filter *filter;
    pl_goal goal;
    pl_windows_function *find;
    void *user;
} pl_windows_question;

/* Answers the question: with a max_spread, or for the smallest spread, it asks for one block of
 * smallest values after another (see pl_windows). *split must be empty, and stays empty if there is
 * none, or if *is_over; but it may have a small spread then, if that is the goal. Errors:
 * MEMORY, those of `find` and of pl_split_evaluate. */
popliner_status pl_windows_find(const pl_windows_question *question, pl_split *split, bool *is_over,
                                popliner_error *error);

/* Checks the first units of stages after the first one. Errors: USAGE unless they ascend within the
 * chain. */
popliner_status pl_cuts_check(size_t num_units, const size_t *first_units, size_t num_cuts,
                              popliner_error *error);

/* Sets the units and IPUs of the stages of an empty plan to a given split. Errors: USAGE for such
 * cuts, and unless the device map of the options has as many stages; MEMORY. */
popliner_status pl_plan_place(popliner_plan *plan, const popliner_solver_options *options,
                              size_t num_units, const size_t *first_units, size_t num_cuts,
                              popliner_error *error);

/* True if the stages of a split, which have their IPUs, keep a constraint. O(stages), and for
 * bounds of the units of a stage O(units), of which these count (NULL: all). */
bool pl_plan_keeps(const popliner_plan *plan, const uint8_t *counted_units,
                   const popliner_constraint *constraint);

/* Fills the stages and totals of an empty plan; not status, values and infeasibility. Errors: those
 * of pl_split_evaluate. */
popliner_status pl_plan_fill(const pl_problem *problem, const pl_split *split,
                             bool spread_is_of_cycles, popliner_plan *plan, popliner_error *error);

/* Sets the totals of a plan. */
void pl_plan_total(popliner_plan *plan, const pl_objective_values *values,
                   bool spread_is_of_cycles);

/* Completes a plan of a given split, whose stages have their units, IPUs and the peaks of these:
 * sets cycles, cuts, totals, and the values of the objectives, which are their own bounds. The
 * peaks of the costs are not read. The status is set. Errors: MEMORY. */
popliner_status pl_plan_complete(const popliner_costs *costs,
                                 const popliner_solver_options *options, popliner_plan *plan,
                                 popliner_error *error);

/* Returns how far the value is from its bound; 0 if it cannot be better. */
static inline uint64_t pl_plan_value_apart(const popliner_plan_value *v) {
    return pl_objective_of(v->objective)->is_more_better
               ? v->bound > v->value ? v->bound - v->value : 0
           : v->value > v->bound ? v->value - v->bound
                                 : 0;
}

/* Turns the values and bounds of HEADROOM from shortfalls, which searches minimise, into headrooms,
 * or back. */
void pl_plan_turn_headrooms(const pl_problem *problem, popliner_plan *plan);

/* Recomputes a plan from its stages and the table, without trusting any solver. Checks that the
 * stages cover the chain once, that their number, intervals, IPUs and values are within the options
 * and the filter, and that each objective has the plan's value, not below its bound and equal to it
 * if proven. Errors: INTERNAL, with what is wrong; those of pl_split_evaluate. */
popliner_status pl_plan_check(const pl_problem *problem, const pl_filter *filter,
                              const popliner_plan *plan, popliner_error *error);

/* ---- methods ---- */

/* Finds a split for the goal (any for the smallest spread) within limits by dynamic programming
 * over the chain, in integers: exact if no stages share IPUs. *split must be empty, and stays
 * empty if there is none. If the search is stopped, *is_stopped becomes true and the split stays
 * empty. Errors: MEMORY, INTERNAL.
 *
 * Cost: a row takes a step for each interval that may be the stage and that the stages before and
 * after it can reach. There is one row for the fewest stages; a row for each stage if cut bytes
 * are limited or minimised, or if the number of stages after a stage matters; one more for each of
 * the first pl_problem_num_special places, again for each length of the pipeline if that matters.
 * Memory: the rows and the marks. */
popliner_status pl_dynamic_program(const pl_problem *problem, const pl_limits *limits, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error);

/* Solves as PopLiner 1.0.0 does, to the letter: for at least 3, then 2, then 1 units per stage, and
 * targets of 50, 60, ... 100 % of options->mem_per_tile, it fills one stage after another with
 * as many units as keep the peak within the target. The first attempt that places all units in at
 * most options->num_ipus stages wins. The listener gets a message for each attempt. Without
 * success the plan is INFEASIBLE and has the stages of the last attempt, which may not cover the
 * chain and may be none. `peak` is called on demand.
 *
 * Uses only these two options and the listener. cut_bytes and cycles stay 0, and there are no
 * values. Errors: USAGE, MEMORY, those of `peak`. */
popliner_status pl_solve_greedily(size_t num_units, popliner_peak_function peak, void *user,
                                  const popliner_solver_options *options, popliner_plan *plan,
                                  popliner_error *error);

#endif
