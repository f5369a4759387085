/* Solves for the objectives one after another, by the method that the request allows.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/solver.h"

#include "base/failure.h"
#include "solve/choosing.h"
#include "solve/constraint.h"
#include "solve/down_sets.h"
#include "solve/glpk_session.h"
#include "solve/infeasibility.h"
#include "solve/integer_program.h"
#include "solve/options.h"
#include "solve/plan.h"
#include "solve/search.h"
#include "solve/step_solve.h"
#include "solve/tokens.h"

#include <stdlib.h>

/* Makes the plan of the best split that the search found. */
static popliner_status finish(const pl_search *search, popliner_plan *plan, popliner_error *error) {
    PL_TRY(pl_plan_fill(search->problem, &search->split, search->filter.spread_is_of_cycles, plan,
                        error));
    PL_TRY(pl_plan_check(search->problem, &search->filter, plan, error));
    if (search->problem->chooser != NULL)
        PL_TRY(pl_chooser_name(search->problem, plan, error));
    plan->is_stopped = search->is_stopped;
    plan->status = search->is_proven ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_FEASIBLE;
    if (search->is_proven)
        plan->proof = plan->values[plan->num_values - 1].proof;
    return POPLINER_OK;
}

popliner_status pl_solving_begin(pl_solving *solving, const popliner_costs *costs,
                                 const popliner_solver_options *options, popliner_error *error) {
    pl_search *search = &solving->search;
    solving->stop = pl_stop_of(options);
    solving->objectives = pl_objectives_of(options, &solving->num_objectives);
    search->problem = &solving->problem;
    search->stop = &solving->stop;
    PL_TRY(pl_options_check(options, popliner_costs_num_units(costs), costs, error));
    PL_TRY(pl_problem_create(&solving->problem, costs, options, error));
    PL_TRY(pl_problem_check(&solving->problem, error));
    search->uses_programs = options->method == POPLINER_METHOD_ILP;
    search->filter = pl_filter_of_limits();
    search->filter.spread_is_of_cycles = pl_spread_is_of_cycles(options);
    return POPLINER_OK;
}

void pl_solving_end(pl_solving *solving) {
    pl_search_free(&solving->search);
    pl_problem_free(&solving->problem);
}

popliner_status pl_solving_find(pl_solving *solving, popliner_plan *plan, popliner_error *error) {
    pl_search *search = &solving->search;
    pl_split_clear(&search->split);
    search->is_unproven = false;
    PL_TRY(pl_search_find(search, &search->filter, PL_GOAL_ANY, &search->split, error));
    if (search->split.num_stages == 0)
        return POPLINER_OK;
    bool is_chosen;
    PL_TRY(pl_search_optimise(search, solving->objectives, solving->num_objectives, plan, error));
    if (search->is_proven && solving->asks_glpk)
        PL_TRY(pl_choose_by_programs(solving, plan, &is_chosen, error));
    return finish(search, plan, error);
}

/* A popliner_peak_function that reads a table. */
static popliner_status peak_of_table(void *user, size_t first_unit, size_t last_unit,
                                     uint64_t *peak_bytes, popliner_error *error) {
    const popliner_costs *const *costs = user;
    (void)error;
    *peak_bytes = popliner_costs_peak(*costs, first_unit, last_unit, 1);
    return POPLINER_OK;
}

/* Sets the proof that no split is within the limits. */
static popliner_status prove_that_none_fits(pl_solving *solving, popliner_plan *plan,
                                            popliner_error *error) {
    bool is_agreed;
    PL_TRY(pl_choose_by_programs(solving, plan, &is_agreed, error));
    plan->proof = is_agreed ? POPLINER_PROOF_BOTH_PROGRAMS : solving->search.proof;
    return POPLINER_OK;
}

popliner_status pl_solve_within(const popliner_costs *costs, const popliner_solver_options *options,
                                uint64_t most_work, popliner_plan *plan, popliner_error *error) {
    if (options->method == POPLINER_METHOD_GREEDY)
        return pl_solve_greedily(popliner_costs_num_units(costs), peak_of_table, &costs, options,
                                 plan, error);
    pl_solving solving = {0};
    const pl_search *search = &solving.search;
    popliner_status status = pl_solving_begin(&solving, costs, options, error);
    solving.asks_glpk = true;
    solving.search.most_work = most_work;
    if (status == POPLINER_OK)
        status = pl_solving_find(&solving, plan, error);
    if (status == POPLINER_OK && search->split.num_stages == 0 && !search->is_stopped)
        status = prove_that_none_fits(&solving, plan, error);
    if (status != POPLINER_OK || search->split.num_stages > 0)
        goto done;
    if (search->is_stopped || options->without_reasons) {
        plan->status = POPLINER_PLAN_INFEASIBLE;
        plan->is_stopped = search->is_stopped;
        plan->infeasibility.obstacle = POPLINER_OBSTACLE_UNKNOWN;
    } else {
        status = pl_explain_infeasibility(&solving.problem, &solving.stop, plan, error);
    }
    if (status == POPLINER_OK && solving.problem.chooser != NULL)
        status = pl_chooser_name(&solving.problem, plan, error);
done:
    pl_plan_turn_headrooms(&solving.problem, plan);
    pl_solving_end(&solving);
    if (status == POPLINER_OK)
        status = pl_graph_tell(costs, options, plan, error);
    if (status != POPLINER_OK)
        pl_plan_clear(plan);
    return status;
}

popliner_status pl_solve(const popliner_costs *costs, const popliner_solver_options *options,
                         popliner_plan *plan, popliner_error *error) {
    if (pl_tokens_lead(options))
        return pl_tokens_solve(costs, options, pl_solve, plan, error);
    if (pl_step_leads(options))
        return pl_step_solve(costs, options, plan, error);
    return pl_solve_within(costs, options, 0, plan, error);
}

/* Returns the value of the first objective that is known to be possible; UINT64_MAX: none. With
 * slack, the value may be above what is proven. */
static uint64_t known_value(const pl_problem *problem, const popliner_plan *plan) {
    if (plan->status == POPLINER_PLAN_INFEASIBLE || plan->num_values == 0)
        return UINT64_MAX;
    popliner_plan own = {.num_values = 1, .values = {plan->values[0]}};
    const popliner_plan_value *first = &own.values[0];
    pl_plan_turn_headrooms(problem, &own);
    return first->proof != POPLINER_PROOF_NONE ? first->bound : first->value;
}

/* `plan` is NULL if nothing was solved yet. */
static popliner_status write_program(const popliner_costs *costs,
                                     const popliner_solver_options *options,
                                     const popliner_plan *plan, popliner_program_format format,
                                     const char *path, popliner_error *error) {
    pl_solving solving = {0};
    popliner_plan own = {0};
    popliner_solver_options first = *options;
    popliner_status status = pl_solving_begin(&solving, costs, options, error);
    first.objectives = solving.objectives;
    first.num_objectives = 1;
    first.without_reasons = first.without_second_proof = true;
    if (status == POPLINER_OK && plan == NULL)
        status = pl_solve(costs, &first, &own, error);
    if (plan == NULL)
        plan = &own;
    if (status == POPLINER_OK) {
        const pl_written_program asked = {.problem = &solving.problem,
                                          .filter = solving.search.filter,
                                          .objective = first.objectives[0],
                                          .is_stopped = plan->is_stopped,
                                          .most = known_value(&solving.problem, plan),
                                          .format = format};
        status = pl_integer_program_write(&asked, path, error);
    }
    pl_plan_clear(&own);
    pl_solving_end(&solving);
    return status;
}

/* ---- the public interface ---- */

bool popliner_solver_has_glpk(void) {
    return pl_glpk_exists();
}

/* Makes the options refer to a copy without the constraint that is left out. */
static popliner_status reduce(const popliner_costs *costs, popliner_solver_options *options,
                              pl_owned_options *copy, popliner_error *error) {
    const size_t num_units = popliner_costs_num_units(costs);
    PL_TRY(pl_options_check(options, num_units, costs, error));
    PL_TRY(pl_owned_options_copy(copy, options, num_units, error));
    PL_TRY(pl_constraints_leave_out(copy, num_units, error));
    *options = copy->options;
    return POPLINER_OK;
}

popliner_status popliner_solve(const popliner_costs *costs, const popliner_solver_options *options,
                               popliner_plan **plan, popliner_error *error) {
    popliner_solver_options own;
    popliner_listener listener;
    pl_owned_options reduced = {0};
    popliner_plan *made = NULL;
    *plan = NULL;
    popliner_status status = pl_solver_options_take(options, costs, &own, &listener, error);
    if (status == POPLINER_OK && own.left_out != NULL)
        status = reduce(costs, &own, &reduced, error);
    if (status == POPLINER_OK) {
        made = calloc(1, sizeof *made);
        status =
            made == NULL ? pl_fail_memory(error, "the plan") : pl_solve(costs, &own, made, error);
    }
    pl_owned_options_free(&reduced);
    if (status != POPLINER_OK) {
        popliner_plan_free(made);
        return status;
    }
    made->num_units = popliner_costs_num_units(costs);
    *plan = made;
    return POPLINER_OK;
}

popliner_status popliner_solver_write(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      const popliner_plan *plan, popliner_program_format format,
                                      const char *path, popliner_error *error) {
    popliner_solver_options own;
    popliner_listener listener;
    PL_TRY(pl_solver_options_take(options, NULL, &own, &listener, error));
    const bool is_usual = own.num_objectives == 0;
    pl_solver_options_complete(&own, costs);
    if (is_usual && pl_tokens_lead(&own)) { /* which have no program */
        own.num_objectives = 0;
        plan = NULL;
    }
    return write_program(costs, &own, plan, format, path, error);
}
