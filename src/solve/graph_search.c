/* The best contiguous partition of a file's graph, and the chain that has it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/costs_file_data.h"
#include "solve/down_sets.h"
#include "solve/options.h"
#include "solve/search.h"

enum { MOST_STAGES = 1024 };

/* A second or a few, so that an answer does not depend on the machine. */
static const uint64_t most_steps = 20000000;

/* ---- The best partition ---- */

typedef struct planner {
    pl_graph_rules rules;
    pl_graph_budget budget;
    uint32_t *stage_of_unit; /* the best partition that is known, if the chain does not have it */
    uint32_t *found;         /* scratch */
    bool is_own;
} planner;

/* A pl_oracle: the split is that of the chain of the partition. */
static popliner_status find_partition(pl_search *search, const pl_limits *limits, pl_goal goal,
                                      pl_split *split, popliner_error *error) {
    planner *p = search->oracle_user;
    size_t num_stages;
    popliner_status status = pl_down_sets_search(&p->rules, limits, goal, search->by_cycles,
                                                 &p->budget, p->found, &num_stages, error);
    search->is_stopped = search->is_stopped || p->budget.is_over;
    search->is_least = goal == PL_GOAL_ANY && limits->max_cut_bytes == UINT64_MAX;
    if (status != POPLINER_OK || num_stages == 0)
        return status;
    uint32_t *better = p->found;
    p->found = p->stage_of_unit;
    p->stage_of_unit = better;
    p->is_own = true;
    size_t first = 0;
    for (uint32_t stage = 0; stage < num_stages; ++stage) {
        if (!pl_split_append(split, first))
            return pl_fail_memory(error, "the stages of the graph");
        for (size_t unit = 0; unit < p->rules.units->num_units; ++unit)
            first += better[unit] == stage;
    }
    return pl_graph_evaluate(&p->rules, better, num_stages, &search->found, error);
}

/* Returns a value of cycles or bytes below which no partition is: of all units together on all
 * places, and of the largest one on the fastest. */
static uint64_t least_of(const pl_graph_rules *r, bool is_of_cycles) {
    const uint64_t *amounts = is_of_cycles ? r->units->cycles : r->units->memory_bytes;
    const uint64_t one = POPLINER_SPEED_ONE;
    uint64_t total = 0;
    uint64_t largest = 0;
    uint64_t speeds = 0;
    uint64_t fastest = 0;
    for (size_t unit = 0; unit < r->units->num_units; ++unit) {
        total += amounts[unit];
        largest = pl_larger(largest, amounts[unit]);
    }
    for (size_t place = 0; place < r->problem->max_stages; ++place) {
        const size_t ipu = pl_problem_ipu(r->problem, place);
        const uint64_t own = is_of_cycles ? pl_speed_of(r->problem->options, ipu) : one;
        speeds += own;
        fastest = pl_larger(fastest, own);
    }
    return pl_larger(pl_ratio_up((uint64_t[]){total, one}, 2, &speeds, 1),
                     pl_speed_cycles(fastest, largest));
}

/* Improves the search's partition by one objective after another, or finds one. */
static popliner_status improve(pl_search *search, pl_graph_claim *claim, popliner_error *error) {
    const planner *p = search->oracle_user;
    popliner_plan plan = {0};
    size_t num_objectives;
    const popliner_objective *objectives =
        pl_objectives_of(search->problem->options, &num_objectives);
    popliner_status status = POPLINER_OK;
    search->known_bounds[POPLINER_OBJECTIVE_MEMORY] = least_of(&p->rules, false);
    search->known_bounds[POPLINER_OBJECTIVE_CYCLES] = least_of(&p->rules, true);
    search->by_cycles = pl_objective_is_of_cycles(objectives[0], false);
    if (search->split.num_stages == 0)
        status = pl_search_find(search, &search->filter, PL_GOAL_ANY, &search->split, error);
    claim->bound = search->known_bounds[objectives[0]];
    if (status == POPLINER_OK && search->split.num_stages > 0) {
        status = pl_search_optimise(search, objectives, num_objectives, &plan, error);
        claim->bound = plan.values[0].bound;
    }
    claim->is_proven = !search->is_stopped;
    claim->is_bound_known = search->split.num_stages > 0 || search->is_stopped;
    claim->num_down_sets = p->budget.num_down_sets;
    return status;
}

/* ---- The chain that has it ---- */

/* Sets the rules by the problem, whose units are those of the chain. Errors: MEMORY. */
static popliner_status take_rules(planner *p, const pl_problem *problem,
                                  const pl_graph_chain *graph, const uint32_t *unit_at,
                                  pl_arrays *arrays, popliner_error *error) {
    const popliner_solver_options *o = problem->options;
    pl_graph_rules *r = &p->rules;
    *r = (pl_graph_rules){.problem = problem,
                          .units = graph->units,
                          .traffic_takes_cycles = graph->graph->traffic_takes_cycles};
    r->pairs = pl_arrays_new(arrays, o->num_pairs, sizeof *r->pairs);
    p->stage_of_unit = pl_arrays_new(arrays, problem->num_units, sizeof *p->stage_of_unit);
    p->found = pl_arrays_new(arrays, problem->num_units, sizeof *p->found);
    if (o->num_placements > 0)
        r->place_of_unit = pl_arrays_new(arrays, problem->num_units, sizeof *r->place_of_unit);
    if (arrays->failed)
        return pl_fail_memory(error, "the rules of the graph");
    for (size_t i = 0; i < o->num_pairs; ++i)
        r->pairs[i] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                            .unit = unit_at[o->pairs[i].unit],
                                            .second_unit = unit_at[o->pairs[i].second_unit]};
    for (size_t unit = 0; r->place_of_unit != NULL && unit < problem->num_units; ++unit)
        r->place_of_unit[unit] = SIZE_MAX;
    for (size_t i = 0; i < o->num_placements; ++i) {
        size_t place = 0;
        while (place < problem->max_stages &&
               pl_problem_ipu(problem, place) != o->placements[i].ipu)
            ++place;
        size_t *own = &r->place_of_unit[unit_at[o->placements[i].unit]];
        *own = *own == SIZE_MAX || *own == place ? place : problem->max_stages;
    }
    return POPLINER_OK;
}

/* Makes the chain: stage by stage, each in the order of the file's chain. */
static popliner_status make_chain(const planner *p, const pl_costs_file *file,
                                  const uint32_t *unit_at, popliner_costs_file **arranged,
                                  popliner_error *error) {
    const size_t num_units = file->graph.units->num_units;
    uint32_t *place = pl_new_array(num_units, sizeof *place);
    if (place == NULL)
        return pl_fail_memory(error, "the order of the graph's units");
    uint32_t next = 0;
    for (size_t stage = 0; next < num_units; ++stage)
        for (size_t at = 0; at < num_units; ++at)
            if (!p->is_own || p->stage_of_unit[unit_at[at]] == stage)
                place[unit_at[at]] = next++;
    popliner_status status = pl_layer_graph_arrange(file, place, arranged, error);
    if (status != POPLINER_OK)
        return status;
    if (p->is_own)
        (*arranged)->unit_order = "by the stages of the best partition";
    (*arranged)->costs->unit_order = (*arranged)->unit_order;
    return POPLINER_OK;
}

/* Begins with the best split of the file's chain, if there is one. */
static popliner_status solve_chain(pl_search *search, popliner_error *error) {
    popliner_solver_options o = *search->problem->options;
    popliner_plan plan = {0};
    o.method = POPLINER_METHOD_AUTO;
    o.without_reasons = true;
    o.without_second_proof = true;
    o.time_limit_seconds /= 4;
    popliner_status status = pl_solve(search->problem->costs, &o, &plan, error);
    search->found = (pl_objective_values){.cycles = plan.cycles,
                                          .peak_bytes = plan.peak_bytes,
                                          .cut_bytes = plan.cut_bytes,
                                          .num_ipus = plan.num_ipus};
    for (size_t i = 0;
         status == POPLINER_OK && plan.status != POPLINER_PLAN_INFEASIBLE && i < plan.num_stages;
         ++i)
        if (!pl_split_append(&search->split, plan.stages[i].first_unit))
            status = pl_fail_memory(error, "the stages of the chain");
    pl_plan_clear(&plan);
    return status;
}

static popliner_status arrange(const pl_costs_file *file, const popliner_solver_options *options,
                               popliner_costs_file **arranged, popliner_error *error) {
    pl_graph_claim claim = {.question = pl_graph_question(file->costs, options)};
    pl_stop stop = pl_stop_of(options);
    planner p = {.budget = {.stop = &stop, .steps = most_steps}};
    pl_problem problem = {0};
    pl_search search = {
        .problem = &problem, .stop = &stop, .oracle = find_partition, .oracle_user = &p};
    pl_arrays arrays = {0};
    uint32_t *unit_at = NULL;
    if (claim.question == 0)
        return POPLINER_OK;
    if (options->time_limit_seconds > 0.0)
        stop.deadline_seconds -= options->time_limit_seconds / 2;
    popliner_status status = pl_problem_create(&problem, file->costs, options, error);
    if (status != POPLINER_OK || problem.max_stages > MOST_STAGES)
        goto cleanup;
    search.filter = pl_filter_of_limits();
    unit_at = pl_graph_units_at(&file->graph);
    if (unit_at == NULL)
        status = pl_fail_memory(error, "the units of the graph");
    claim.is_proven = problem.max_stages < problem.min_stages; /* fewer units than stages */
    if (status == POPLINER_OK && !claim.is_proven)
        status = take_rules(&p, &problem, &file->graph, unit_at, &arrays, error);
    if (status == POPLINER_OK && !claim.is_proven)
        status = solve_chain(&search, error);
    if (status == POPLINER_OK && !claim.is_proven)
        status = improve(&search, &claim, error);
    if (status == POPLINER_OK)
        status = make_chain(&p, file, unit_at, arranged, error);
    if (status == POPLINER_OK)
        ((pl_costs_file *)*arranged)->graph.claim = claim;
cleanup:
    free(unit_at);
    pl_search_free(&search);
    pl_arrays_free(&arrays);
    pl_problem_free(&problem);
    return status;
}

popliner_status popliner_costs_file_arrange(const popliner_costs_file *callers,
                                            const popliner_solver_options *options,
                                            popliner_costs_file **arranged, popliner_error *error) {
    const pl_costs_file *file = (const pl_costs_file *)callers;
    popliner_solver_options own;
    popliner_listener listener;
    *arranged = NULL;
    popliner_status status = pl_solver_options_take(options, file->costs, &own, &listener, error);
    if (status == POPLINER_OK)
        status = pl_options_check(&own, popliner_costs_num_units(file->costs), file->costs, error);
    return status == POPLINER_OK ? arrange(file, &own, arranged, error) : status;
}
