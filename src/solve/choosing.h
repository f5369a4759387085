/* The choices of the stages of a problem, as what stage rules, searches and plans ask of them.
 *
 * A stage is allowed if it has a choice within the limits of its peak and its cycles. Stages are
 * intervals with their stages_to_end, itself included, whatever place the costs have for them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_CHOOSING_H
#define PL_SOLVE_CHOOSING_H

#include "costs/variants.h"
#include "solve/plan.h"
#include "solve/problem.h"
#include "solve/stage_rule.h"

/* Makes problem->chooser if its costs have choices, and sets num_places and follows_split to those
 * of the choices. Free with pl_chooser_free. Errors: USAGE for options that are not for choices,
 * MEMORY. */
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

/* Returns the smallest peak of an interval at a place of the costs. What an IPU needs at least for
 * a stage, as pl_least_load. And the fewest cycles. */
uint64_t pl_chooser_least_peak(const pl_problem *problem, const popliner_interval *placed);
uint64_t pl_chooser_part(const pl_problem *problem, const pl_limits *limits,
                         const popliner_interval *stage, size_t num_on_ipu);
uint64_t pl_chooser_least_cycles(const pl_problem *problem, size_t first_unit, size_t last_unit);

/* As pl_stage_rule_allows; and whether no longer stage can be allowed. A failure is kept: see
 * pl_chooser_failure. */
bool pl_chooser_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);
bool pl_chooser_is_over(const pl_stage_rule *rule, size_t first_unit, size_t end_unit);

/* Sets *load to that of an IPU with these stages of a split, in order; the wish is that of
 * pl_chooser_limit if it is NULL. The peak is POPLINER_PEAK_FORBIDDEN if there is no choice.
 * Errors: those of pl_variant_search_choose and of the shared peaks. */
popliner_status pl_chooser_measure(const pl_problem *problem, const pl_wish *wish,
                                   const popliner_interval *stages, size_t count, size_t num_stages,
                                   pl_load *load, popliner_error *error);

/* Sets *load to that of a stage alone, as pl_chooser_measure does. A failure is kept. */
void pl_chooser_weigh(const pl_problem *problem, const pl_wish *wish,
                      const popliner_interval *stage, size_t num_stages, pl_load *load);

/* Returns the work of choosing variants so far, as that of pl_shared; 0 if stages choose of ways,
 * of which there are few. */
uint64_t pl_chooser_work(const pl_problem *problem);

/* Returns the first failure of what could not return one, after which nothing else is of use; or
 * POPLINER_OK. */
popliner_status pl_chooser_failure(const pl_problem *problem, popliner_error *error);

/* Returns whether the peaks of IPUs never fall when a stage grows, with a limit of cycles. */
bool pl_chooser_never_shrinks(const pl_problem *problem, uint64_t max_cycles);

/* Names what the stages of a plan choose, as they were last limited; of INFEASIBLE plans each has
 * the fewest cycles within its peak. Sets peaks, cycles and values to those. */
popliner_status pl_chooser_name(const pl_problem *problem, popliner_plan *plan,
                                popliner_error *error);

#endif
