/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/choosing.h"
#include "solve/constraint.h"
#include "solve/plan.h"

pl_stop pl_stop_of(const popliner_solver_options *options) {
    return (pl_stop){.deadline_seconds = options->time_limit_seconds > 0.0
                                             ? pl_clock_seconds() + options->time_limit_seconds
                                             : INFINITY,
                     .should_stop = options->should_stop,
                     .user = options->should_stop_user};
}

void pl_stop_limit(const pl_stop *stop, popliner_solver_options *options) {
    const double left = stop->deadline_seconds - pl_clock_seconds();
    if (isfinite(left))
        options->time_limit_seconds = left > 0.001 ? left : 0.001;
}

void pl_split_clear(pl_split *split) {
    free(split->first_units);
    *split = (pl_split){0};
}

bool pl_split_append(pl_split *split, size_t first_unit) {
    if (!pl_grow(&split->first_units, &split->capacity, split->num_stages + 1,
                 sizeof *split->first_units))
        return false;
    split->first_units[split->num_stages++] = first_unit;
    return true;
}

popliner_status pl_split_copy(pl_split *to, const pl_split *from, popliner_error *error) {
    to->num_stages = 0;
    for (size_t k = 0; k < from->num_stages; ++k)
        if (!pl_split_append(to, from->first_units[k]))
            return pl_fail_memory(error, "the stages of the plan");
    return POPLINER_OK;
}

void pl_split_move(pl_split *to, pl_split *from) {
    pl_split_clear(to);
    *to = *from;
    *from = (pl_split){0};
}

uint64_t pl_split_cut_bytes(const pl_problem *problem, const pl_split *split) {
    uint64_t sum = 0;
    for (size_t stage = 1; stage < split->num_stages; ++stage)
        sum = pl_add_cut_bytes(sum, popliner_costs_cut(problem->costs, split->first_units[stage]));
    return sum;
}

/* Returns -1, 0 or 1: the order of the cuts, as in popliner/solver.h. */
static int compare_cuts(const pl_split *a, const pl_split *b) {
    for (size_t i = 1; i < a->num_stages && i < b->num_stages; ++i)
        if (a->first_units[i] != b->first_units[i])
            return a->first_units[i] < b->first_units[i] ? -1 : 1;
    return (a->num_stages > b->num_stages) - (a->num_stages < b->num_stages);
}

bool pl_split_is_better(const pl_problem *problem, pl_goal goal, const pl_split *split,
                        const pl_split *other) {
    if (split->num_stages == 0 || other->num_stages == 0)
        return split->num_stages > 0;
    switch (goal) {
    case PL_GOAL_FEWEST_CUT_BYTES:
        return pl_split_cut_bytes(problem, split) < pl_split_cut_bytes(problem, other);
    case PL_GOAL_FEWEST_STAGES:
        return split->num_stages < other->num_stages;
    case PL_GOAL_EARLIEST_CUTS:
        return compare_cuts(split, other) < 0;
    case PL_GOAL_SMALLEST_SPREAD:
    case PL_GOAL_ANY:
        break;
    }
    return false;
}

popliner_interval pl_split_interval(const pl_problem *problem, const pl_split *split,
                                    size_t stage) {
    size_t end = stage + 1 < split->num_stages ? split->first_units[stage + 1] : problem->num_units;
    return (popliner_interval){split->first_units[stage], end - 1,
                               pl_problem_place(problem, split->num_stages, stage)};
}

/* Computes the load of the IPU of `stage`, its first one. `together` has room for all stages. */
static popliner_status measure_ipu(const pl_problem *problem, const pl_split *split, size_t stage,
                                   popliner_interval *together, pl_load *load,
                                   popliner_error *error) {
    const size_t num_stages = split->num_stages;
    const size_t end = problem->is_shared ? num_stages : stage + 1;
    size_t count = 0;
    uint64_t peak_bytes = 0;
    uint64_t cycles = 0;
    for (size_t other = stage; other < end; ++other) {
        if (pl_problem_ipu(problem, other) != pl_problem_ipu(problem, stage))
            continue;
        const popliner_interval own = together[count] = pl_split_interval(problem, split, other);
        together[count++].stages_to_end = num_stages - other;
        cycles = pl_add_or_never(cycles,
                                 pl_problem_cycles(problem, other, own.first_unit, own.last_unit));
    }
    if (problem->chooser != NULL)
        return pl_chooser_measure(problem, NULL, together, count, num_stages, load, error);
    PL_TRY(pl_problem_shared_peak(problem, together, count, num_stages, &peak_bytes, error));
    *load = pl_problem_load(problem, stage, peak_bytes, cycles);
    return POPLINER_OK;
}

popliner_status pl_split_evaluate(const pl_problem *problem, const pl_split *split,
                                  pl_objective_values *values, uint64_t *peaks_bytes,
                                  popliner_error *error) {
    popliner_interval *together = pl_new_array(split->num_stages, sizeof *together);
    popliner_status status = together == NULL ? pl_fail_memory(error, "the stages") : POPLINER_OK;
    *values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    values->cut_bytes = pl_split_cut_bytes(problem, split);
    for (size_t i = 0; status == POPLINER_OK && i < split->num_stages; ++i) {
        const size_t first = problem->is_shared ? problem->first_on_ipu[i] : i;
        pl_load load = {0};
        if (first == i) {
            status = measure_ipu(problem, split, i, together, &load, error);
            pl_objective_values_add(values, load);
        }
        if (peaks_bytes != NULL)
            peaks_bytes[i] = first == i ? load.peak_bytes : peaks_bytes[first];
    }
    free(together);
    return status;
}

/* Finds the best split with at most the spread of the filter. */
static popliner_status find_within_spread(const pl_windows_question *q, pl_split *best,
                                          bool *is_over, popliner_error *error) {
    uint64_t width = q->filter->max_spread;
    const bool is_smallest = q->goal == PL_GOAL_SMALLEST_SPREAD;
    const bool of_cycles = q->filter->spread_is_of_cycles;
    const pl_goal goal = q->goal == PL_GOAL_ANY ? PL_GOAL_SMALLEST_SPREAD : q->goal;
    pl_windows windows = PL_WINDOWS_INIT;
    pl_split split = {0};
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && !windows.is_over && !*is_over) {
        const pl_limits window = pl_windows_limits(&windows, width, q->filter);
        pl_objective_values values = {0};
        pl_split_clear(&split);
        status = q->find(q->user, &window, goal, &split, is_over, error);
        if (status == POPLINER_OK && split.num_stages > 0)
            status = pl_split_evaluate(q->problem, &split, &values, NULL, error);
        if (status != POPLINER_OK || *is_over)
            break;
        const bool is_better =
            split.num_stages > 0 &&
            (is_smallest || pl_split_is_better(q->problem, q->goal, &split, best));
        const uint64_t spread = pl_objective_values_spread(&values, of_cycles);
        if (is_better && spread > width) {
            pl_windows_narrow(&windows, width, of_cycles ? values.cycles : values.peak_bytes);
            continue;
        }
        if (is_better)
            pl_split_move(best, &split);
        if (best->num_stages > 0 &&
            (q->goal == PL_GOAL_ANY || (is_smallest && is_better && spread == 0)))
            break;
        if (is_smallest && is_better) {
            width = spread - 1;
            continue;
        }
        pl_windows_skip(&windows, width);
    }
    pl_split_clear(&split);
    return status;
}

popliner_status pl_windows_find(const pl_windows_question *question, pl_split *split, bool *is_over,
                                popliner_error *error) {
    const bool is_smallest = question->goal == PL_GOAL_SMALLEST_SPREAD;
    const pl_filter *filter = question->filter;
    popliner_status status =
        !is_smallest && filter->max_spread == UINT64_MAX
            ? question->find(question->user, &filter->limits, question->goal, split, is_over, error)
            : find_within_spread(question, split, is_over, error);
    if (status != POPLINER_OK || (*is_over && !is_smallest))
        pl_split_clear(split);
    return status;
}

popliner_status pl_cuts_check(size_t num_units, const size_t *first_units, size_t num_cuts,
                              popliner_error *error) {
    for (size_t i = 0; i < num_cuts; ++i)
        if (first_units[i] >= num_units || first_units[i] <= (i == 0 ? 0 : first_units[i - 1]))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "unit %zu cannot begin stage %zu; expected ascending units from 1 to "
                           "%zu",
                           first_units[i], i + 1, num_units - 1);
    return POPLINER_OK;
}

popliner_status pl_plan_place(popliner_plan *plan, const popliner_solver_options *options,
                              size_t num_units, const size_t *first_units, size_t num_cuts,
                              popliner_error *error) {
    const bool is_mapped = options->num_mapped_stages > 0;
    PL_TRY(pl_cuts_check(num_units, first_units, num_cuts, error));
    if (is_mapped && options->num_mapped_stages != num_cuts + 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the split has %zu stages, but the device map has %zu", num_cuts + 1,
                       options->num_mapped_stages);
    plan->stages = pl_new_array(num_cuts + 1, sizeof *plan->stages);
    if (plan->stages == NULL)
        return pl_fail_memory(error, "the stages of the plan");
    plan->num_stages = num_cuts + 1;
    for (size_t i = 0; i <= num_cuts; ++i)
        plan->stages[i] = (popliner_plan_stage){
            .first_unit = i == 0 ? 0 : first_units[i - 1],
            .last_unit = (i < num_cuts ? first_units[i] : num_units) - 1,
            .ipu = is_mapped ? options->device_map[i] : i,
        };
    return POPLINER_OK;
}

/* Sets the cycles and the cut of a stage that has its units. */
static void fill_work(const pl_problem *problem, size_t place, popliner_plan_stage *stage) {
    const size_t end = stage->last_unit + 1;
    const uint64_t *link = pl_links_before(&problem->links, place + 1);
    stage->cycles = pl_problem_cycles(problem, place, stage->first_unit, stage->last_unit);
    stage->cut_bytes = end == problem->num_units ? 0 : popliner_costs_cut(problem->costs, end);
    stage->link_cycles = link == NULL ? 0 : link[end];
}

void pl_plan_total(popliner_plan *plan, const pl_objective_values *values,
                   bool spread_is_of_cycles) {
    plan->peak_bytes = values->peak_bytes;
    plan->cycles = values->cycles;
    plan->cut_bytes = values->cut_bytes;
    plan->spread = pl_objective_values_spread(values, spread_is_of_cycles);
    plan->num_ipus = (size_t)values->num_ipus;
}

popliner_status pl_plan_fill(const pl_problem *problem, const pl_split *split,
                             bool spread_is_of_cycles, popliner_plan *plan, popliner_error *error) {
    pl_objective_values values = {0};
    uint64_t *peaks_bytes = pl_new_array(split->num_stages, sizeof *peaks_bytes);
    plan->stages = pl_new_array(split->num_stages, sizeof *plan->stages);
    popliner_status status = peaks_bytes == NULL || plan->stages == NULL
                                 ? pl_fail_memory(error, "the stages of the plan")
                                 : POPLINER_OK;
    if (status == POPLINER_OK)
        status = pl_split_evaluate(problem, split, &values, peaks_bytes, error);
    if (status != POPLINER_OK)
        goto done;
    plan->num_stages = split->num_stages;
    for (size_t i = 0; i < split->num_stages; ++i) {
        popliner_interval it = pl_split_interval(problem, split, i);
        plan->stages[i] = (popliner_plan_stage){
            .first_unit = it.first_unit,
            .last_unit = it.last_unit,
            .ipu = pl_problem_ipu(problem, i),
            .peak_bytes = peaks_bytes[i],
        };
        fill_work(problem, i, &plan->stages[i]);
    }
    pl_plan_total(plan, &values, spread_is_of_cycles);
done:
    free(peaks_bytes);
    return status;
}

/* Adds the loads of the IPUs of a plan whose stages are filled, and its cuts. */
static void add_loads(const pl_problem *problem, const popliner_plan *plan,
                      pl_objective_values *values) {
    for (size_t i = 0; i < plan->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        uint64_t cycles = 0;
        bool is_first = true;
        for (size_t k = 0; k < plan->num_stages; ++k)
            if (plan->stages[k].ipu == stage->ipu) {
                cycles = pl_add_or_never(cycles, plan->stages[k].cycles);
                is_first = is_first && k >= i;
            }
        if (is_first)
            pl_objective_values_add(values, pl_problem_load(problem, i, stage->peak_bytes, cycles));
        values->cut_bytes = pl_add_cut_bytes(values->cut_bytes, stage->cut_bytes);
    }
}

popliner_status pl_plan_complete(const popliner_costs *costs,
                                 const popliner_solver_options *options, popliner_plan *plan,
                                 popliner_error *error) {
    pl_problem problem = {0};
    pl_objective_values values = PL_OBJECTIVE_VALUES_INIT;
    popliner_solver_options own = *options;
    popliner_costs given = *costs; /* whatever others could choose */
    size_t count;
    given.choices = NULL;
    /* the split is given, whatever is required of others */
    own.num_ipus = plan->num_stages;
    own.min_units = own.max_units = 0;
    own.cut_rules = NULL;
    own.num_pairs = own.num_placements = 0;
    pl_solver_options_choose_by_room(&own, costs);
    const bool is_of_cycles = pl_spread_is_of_cycles(&own);
    const popliner_objective *objectives = pl_objectives_of(&own, &count);
    popliner_status status = pl_problem_create(&problem, &given, &own, error);
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i)
        fill_work(&problem, i, &plan->stages[i]);
    if (status == POPLINER_OK) {
        add_loads(&problem, plan, &values);
        pl_plan_total(plan, &values, is_of_cycles);
    }
    /* of no other split: its values are their bounds; PopLiner's own solver has no objectives */
    for (size_t i = 0; status == POPLINER_OK && own.method != POPLINER_METHOD_GREEDY && i < count;
         ++i) {
        const uint64_t value = pl_objective_value(&values, objectives[i], is_of_cycles);
        if (!pl_objective_of(objectives[i])->has_own_search) /* those are not of single IPUs */
            plan->values[plan->num_values++] =
                (popliner_plan_value){objectives[i], value, value, POPLINER_PROOF_NONE};
    }
    pl_plan_turn_headrooms(&problem, plan);
    pl_problem_free(&problem);
    return status;
}

bool pl_plan_keeps(const popliner_plan *plan, const uint8_t *counted_units,
                   const popliner_constraint *c) {
    const bool counts =
        c->kind == POPLINER_CONSTRAINT_MIN_UNITS || c->kind == POPLINER_CONSTRAINT_MAX_UNITS;
    bool is_cut = false;
    size_t least = SIZE_MAX;
    size_t most = 0;
    size_t ipus[2] = {SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < plan->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        size_t size = 0;
        for (size_t unit = stage->first_unit; counts && unit <= stage->last_unit; ++unit)
            size += counted_units == NULL || counted_units[unit] != 0;
        if (stage->first_unit <= c->unit && c->unit <= stage->last_unit)
            ipus[0] = stage->ipu;
        if (stage->first_unit <= c->second_unit && c->second_unit <= stage->last_unit)
            ipus[1] = stage->ipu;
        is_cut = is_cut || stage->first_unit == c->unit + 1;
        least = pl_fewer(least, size);
        most = pl_more(most, size);
    }
    return c->kind == POPLINER_CONSTRAINT_NUM_IPUS        ? plan->num_stages <= c->number
           : c->kind == POPLINER_CONSTRAINT_DEVICE_MAP    ? plan->num_stages == c->number
           : c->kind == POPLINER_CONSTRAINT_MIN_UNITS     ? least >= c->number
           : c->kind == POPLINER_CONSTRAINT_MAX_UNITS     ? most <= c->number
           : c->kind == POPLINER_CONSTRAINT_REQUIRED_CUT  ? is_cut
           : c->kind == POPLINER_CONSTRAINT_FORBIDDEN_CUT ? !is_cut
           : c->kind == POPLINER_CONSTRAINT_PAIR          ? ipus[0] == ipus[1]
                                                          : ipus[0] == c->ipu;
}

/* Checks the stages one by one and appends them to *split. */
static popliner_status check_stages(const pl_problem *problem, const popliner_plan *plan,
                                    pl_split *split, popliner_error *error) {
    if (plan->num_stages > problem->max_stages || plan->num_stages < problem->min_stages)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "the solver made %zu stages; %zu to %zu are allowed", plan->num_stages,
                       problem->min_stages, problem->max_stages);
    size_t next_unit = 0;
    for (size_t i = 0; i < plan->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        if (stage->first_unit != next_unit || stage->last_unit < stage->first_unit ||
            stage->last_unit >= problem->num_units)
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "stage %zu of the solver is units %zu to %zu, but unit %zu of %zu is "
                           "the next to be placed",
                           i, stage->first_unit, stage->last_unit, next_unit, problem->num_units);
        const popliner_interval interval = {stage->first_unit, stage->last_unit,
                                            pl_problem_place(problem, plan->num_stages, i)};
        const bool may_be =
            stage->ipu == pl_problem_ipu(problem, i) &&
            pl_options_allow_weight(problem->options, &interval, 1) &&
            (problem->costs->choices != NULL ||
             popliner_costs_peak(problem->costs, interval.first_unit, interval.last_unit,
                                 interval.stages_to_end) != POPLINER_PEAK_FORBIDDEN);
        if (!may_be)
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "stage %zu of the solver, units %zu to %zu, must not be", i,
                           stage->first_unit, stage->last_unit);
        if (!pl_split_append(split, next_unit))
            return pl_fail_memory(error, "the stages of the plan");
        next_unit = stage->last_unit + 1;
    }
    if (next_unit != problem->num_units)
        return pl_fail(error, POPLINER_ERROR_INTERNAL, "the solver placed %zu units of %zu",
                       next_unit, problem->num_units);
    return POPLINER_OK;
}

/* Reads the options directly, not from the problem. */
static popliner_status check_constraints(const pl_problem *problem, const popliner_plan *plan,
                                         popliner_error *error) {
    pl_constraints list = {0};
    popliner_status status =
        pl_constraints_list(problem->options, problem->num_units, &list, error);
    for (size_t i = 0; status == POPLINER_OK && i < list.count; ++i)
        if (!pl_plan_keeps(plan, problem->options->counted_units, &list.items[i]))
            status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                             "the plan of the solver breaks constraint %zu of its options", i);
    free(list.items);
    return status;
}

/* Compares the plan's values: each must be that of the split and not below its bound; equal to it
 * if proven, unless slack may have worsened it. */
static popliner_status check_claims(const pl_problem *problem, const pl_filter *filter,
                                    const popliner_plan *plan, const pl_objective_values *values,
                                    popliner_error *error) {
    for (size_t i = 0; i < plan->num_values; ++i) {
        const popliner_plan_value *claim = &plan->values[i];
        bool is_exact = i + 1 == plan->num_values || problem->options->slack_percent <= 0.0;
        uint64_t value = pl_objective_value(values, claim->objective, filter->spread_is_of_cycles);
        if (claim->value != value || claim->bound > value ||
            (is_exact && claim->proof != POPLINER_PROOF_NONE && claim->bound != value))
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "the solver says %" PRIu64 " for %s and that no split has less than "
                           "%" PRIu64 ", but its stages have %" PRIu64,
                           claim->value, pl_objective_name(claim->objective), claim->bound, value);
    }
    return POPLINER_OK;
}

/* Fills another plan of the split, and compares them. */
static popliner_status check_values(const pl_problem *problem, const pl_filter *filter,
                                    const popliner_plan *plan, const pl_split *split,
                                    popliner_error *error) {
    pl_objective_values values = {0};
    popliner_plan own = {0};
    popliner_status status = pl_split_evaluate(problem, split, &values, NULL, error);
    if (status == POPLINER_OK)
        status = pl_plan_fill(problem, split, filter->spread_is_of_cycles, &own, error);
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        const popliner_plan_stage *is = &plan->stages[i];
        const popliner_plan_stage *needs = &own.stages[i];
        if (is->peak_bytes != needs->peak_bytes || is->cycles != needs->cycles ||
            is->cut_bytes != needs->cut_bytes ||
            is->peak_bytes > pl_limits_peak(problem, &filter->limits, is->ipu))
            status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                             "stage %zu of the solver needs %" PRIu64 " bytes, not %" PRIu64
                             ", or more than it may, or other cycles or cut bytes",
                             i, needs->peak_bytes, is->peak_bytes);
    }
    if (status == POPLINER_OK &&
        (!pl_filter_admits(filter, &values) || own.peak_bytes != plan->peak_bytes ||
         own.cycles != plan->cycles || own.cut_bytes != plan->cut_bytes ||
         own.num_ipus != plan->num_ipus || own.spread != plan->spread))
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "the solver reports %" PRIu64 " bytes and cuts of %" PRIu64
                         ", but its stages have %" PRIu64 " and %" PRIu64,
                         plan->peak_bytes, plan->cut_bytes, own.peak_bytes, own.cut_bytes);
    pl_plan_clear(&own);
    return status == POPLINER_OK ? check_claims(problem, filter, plan, &values, error) : status;
}

popliner_status pl_plan_check(const pl_problem *problem, const pl_filter *filter,
                              const popliner_plan *plan, popliner_error *error) {
    pl_split split = {0};
    popliner_status status = check_stages(problem, plan, &split, error);
    if (status == POPLINER_OK)
        status = check_constraints(problem, plan, error);
    if (status == POPLINER_OK)
        status = check_values(problem, filter, plan, &split, error);
    pl_split_clear(&split);
    return status;
}

void pl_plan_turn_headrooms(const pl_problem *problem, popliner_plan *plan) {
    for (size_t i = 0; i < plan->num_values; ++i) {
        popliner_plan_value *v = &plan->values[i];
        if (v->objective != POPLINER_OBJECTIVE_HEADROOM)
            continue;
        v->value = pl_headroom(problem->largest_limit_bytes, v->value);
        if (plan->status != POPLINER_PLAN_INFEASIBLE)
            v->bound = pl_headroom(problem->largest_limit_bytes, v->bound);
    }
}

/* ---- the public interface ---- */

const char *pl_proof_name(popliner_proof proof) {
    static const char *const names[] = {"none", "dynamic_program", "integer_program", "search",
                                        "both_programs"};
    return (unsigned)proof < POPLINER_NUM_PROOFS ? names[proof] : NULL;
}

popliner_status pl_plan_create_empty(bool is_stopped, popliner_plan **plan, popliner_error *error) {
    *plan = calloc(1, sizeof **plan);
    if (*plan == NULL)
        return pl_fail_memory(error, "the plan");
    (*plan)->status = POPLINER_PLAN_INFEASIBLE;
    (*plan)->is_stopped = is_stopped;
    (*plan)->infeasibility.obstacle = POPLINER_OBSTACLE_UNKNOWN;
    return POPLINER_OK;
}

void pl_plan_clear(popliner_plan *plan) {
    if (plan == NULL)
        return;
    for (size_t i = 0; plan->choices != NULL && i < plan->num_stages; ++i)
        free(plan->choices[i]);
    free(plan->choices);
    free(plan->stages);
    free(plan->infeasibility.constraints);
    free(plan->infeasibility.remedies);
    free(plan->infeasibility.left_out);
    *plan = (popliner_plan){0};
}

void popliner_plan_free(popliner_plan *plan) {
    pl_plan_clear(plan);
    free(plan);
}
