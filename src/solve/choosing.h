/* The choices of the stages of a problem, as what stage rules, searches and plans ask of them.
 *
 * A stage is allowed if it has a choice within the limits of its peak and its cycles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_CHOOSING_H
#define PL_SOLVE_CHOOSING_H

#include "costs/variants.h"
#include "solve/plan.h"
#include "solve/problem.h"
#include "solve/stage_rule.h"

/* Makes problem->chooser if its costs have choices. Free with pl_chooser_free. Errors: USAGE for
 * options that are not for choices, MEMORY. */
popliner_status pl_chooser_create(pl_problem *problem, popliner_error *error);
void pl_chooser_free(pl_chooser *chooser);

/* Stages choose within the limits: the fewest cycles, or the smallest peak. */
typedef struct pl_wish {
    pl_limits limits;
    bool by_cycles;
} pl_wish;

/* Lets the stages of splits that are evaluated choose within these limits: the fewest cycles, or
 * else the smallest peak. Without a call they choose the smallest peak of all. */
void pl_chooser_limit(const pl_problem *problem, const pl_limits *limits, bool by_cycles);

/* Returns the stages_to_end that the costs have for a stage; the number of places that differ. */
size_t pl_chooser_place(const pl_chooser *chooser, size_t num_stages, size_t stage);
size_t pl_chooser_num_places(const pl_chooser *chooser);
bool pl_chooser_follows_split(const pl_chooser *chooser);

/* Returns the smallest peak of an interval at its place. What an IPU needs at least for a stage, as
 * pl_least_load. And the fewest cycles. */
uint64_t pl_chooser_least_peak(const pl_problem *problem, const popliner_interval *stage);
uint64_t pl_chooser_part(const pl_problem *problem, const pl_limits *limits,
                         const popliner_interval *stage, size_t num_on_ipu);
uint64_t pl_chooser_least_cycles(const pl_problem *problem, size_t first_unit, size_t last_unit);

/* As pl_stage_rule_allows; and whether no longer stage can be allowed. */
bool pl_chooser_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);
bool pl_chooser_is_over(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);

/* Sets *load to that of an IPU with these stages, whose numbers are ascending; the wish is that of
 * pl_chooser_limit if it is NULL. The peak is POPLINER_PEAK_FORBIDDEN if there is no choice.
 * Errors: those of pl_frontier_choose and of the shared peaks. */
popliner_status pl_chooser_measure(const pl_problem *problem, const pl_wish *wish,
                                   const popliner_interval *stages, const size_t *numbers,
                                   size_t num_stages, size_t count, pl_load *load,
                                   popliner_error *error);

/* Like pl_chooser_measure, for stages of the device map: their stages_to_end tell their numbers. */
popliner_status pl_chooser_measure_map(const pl_problem *problem, const pl_wish *wish,
                                       const popliner_interval *stages, size_t count, pl_load *load,
                                       popliner_error *error);

/* Sets *load to that of the units first ... last as a stage of its own, as pl_chooser_measure does.
 * A failure is kept: see pl_chooser_failure. */
void pl_chooser_weigh(const pl_problem *problem, const pl_wish *wish, size_t number,
                      size_t num_stages, size_t first_unit, size_t last_unit, pl_load *load);

/* Returns the first failure of what could not return one, or POPLINER_OK. */
popliner_status pl_chooser_failure(const pl_problem *problem, popliner_error *error);

/* Returns whether the peaks of IPUs never fall when a stage grows, with a limit of cycles. */
bool pl_chooser_never_shrinks(const pl_problem *problem, uint64_t max_cycles);

/* Names what the stages of a plan choose, as they were last limited; of INFEASIBLE plans each has
 * the fewest cycles within its peak. Sets peaks, cycles and values to those. */
popliner_status pl_chooser_name(const pl_problem *problem, popliner_plan *plan,
                                popliner_error *error);

#endif
