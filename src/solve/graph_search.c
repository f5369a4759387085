/* The best contiguous partition of a file's graph, and the chain that has it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/costs_file_data.h"
#include "solve/down_sets.h"
#include "solve/options.h"

enum {
    MOST_STAGES = 1024,
    MOST_BYTES = 1 << 29,
    FIRST_SHARE = 64, /* of the distance between bound and value that is tried first */
};

/* A second or a few, so that an answer does not depend on the machine. */
static const uint64_t most_steps = 20000000;

/* ---- The best partition ---- */

typedef struct planner {
    pl_graph_rules rules;
    pl_graph_budget budget;
    bool has_values; /* of the best partition that is known */
    pl_graph_values values;
    uint32_t *stage_of_unit; /* that partition, if the chain does not have it */
    uint32_t *found;         /* scratch */
    bool is_own;
} planner;

static const pl_graph_goal goal_of[POPLINER_NUM_OBJECTIVES] = {
    [POPLINER_OBJECTIVE_MEMORY] = PL_GRAPH_BYTES,
    [POPLINER_OBJECTIVE_CYCLES] = PL_GRAPH_CYCLES,
    [POPLINER_OBJECTIVE_TRAFFIC] = PL_GRAPH_TRAFFIC,
    [POPLINER_OBJECTIVE_IPUS] = PL_GRAPH_STAGES,
};

static void limit(pl_graph_rules *rules, pl_graph_goal goal, uint64_t value) {
    rules->most.of[goal] = value;
    if (goal == PL_GRAPH_STAGES)
        rules->max_stages = (size_t)value;
}

/* Sets a range of values that holds that of the best partition, if there is one: all units together
 * on all places, and the largest on the fastest; and all on the slowest, with all traffic. */
static void find_range(const pl_graph_rules *r, pl_graph_goal goal, uint64_t *least,
                       uint64_t *most) {
    const bool is_of_cycles = goal == PL_GRAPH_CYCLES;
    const uint64_t *amounts = is_of_cycles ? r->units->cycles : r->units->memory_bytes;
    const uint64_t one = POPLINER_SPEED_ONE;
    uint64_t total = 0;
    uint64_t largest = 0;
    uint64_t traffic = 0;
    uint64_t speeds = 0; /* of all places */
    uint64_t fastest = 0;
    uint64_t slowest = UINT64_MAX;
    for (size_t unit = 0; unit < r->units->num_units; ++unit) {
        total += amounts[unit];
        largest = pl_larger(largest, amounts[unit]);
    }
    for (size_t net = 0; is_of_cycles && net < r->units->num_nets; ++net)
        traffic += r->traffic_takes_cycles ? r->units->net_traffic[net] : 0;
    for (size_t place = 0; place < r->max_stages; ++place) {
        const uint64_t own = is_of_cycles ? r->places[place].speed_millionths : one;
        speeds += own;
        fastest = pl_larger(fastest, own);
        slowest = pl_smaller(slowest, own);
    }
    *least = pl_larger(pl_ratio_up((uint64_t[]){total, one}, 2, &speeds, 1),
                       pl_speed_cycles(fastest, largest));
    *most = pl_speed_cycles(slowest, total + traffic);
}

/* Looks for a partition within the rules, with the goal at most `most`. */
static popliner_status try_value(planner *p, pl_graph_goal goal, pl_graph_goal asked, uint64_t most,
                                 bool *is_found, popliner_error *error) {
    pl_graph_rules limited = p->rules;
    size_t num_stages;
    limit(&limited, goal, most);
    *is_found = false;
    popliner_status status =
        pl_down_sets_search(&limited, asked, &p->budget, p->found, &num_stages, error);
    if (status != POPLINER_OK || num_stages == 0)
        return status;
    uint32_t *better = p->found;
    p->found = p->stage_of_unit;
    p->stage_of_unit = better;
    *is_found = p->is_own = p->has_values = true;
    return pl_graph_evaluate(&p->rules, better, num_stages, &p->values, error);
}

/* Makes the slowest or largest stage as small as possible. Limits are raised from the bound, since
 * a search is the quicker the tighter its limit is, and raises the bound where it finds nothing.
 * *bound is that of all partitions, also if the budget is over. */
static popliner_status lower_largest(planner *p, pl_graph_goal goal, uint64_t *bound,
                                     popliner_error *error) {
    /* within a limit of traffic, the search can only minimise traffic */
    const bool is_direct = p->rules.most.of[PL_GRAPH_TRAFFIC] == UINT64_MAX;
    uint64_t share = FIRST_SHARE;
    uint64_t most;
    popliner_status status = POPLINER_OK;
    find_range(&p->rules, goal, bound, &most);
    if (p->has_values)
        most = p->values.of[goal];
    for (bool is_found = p->has_values; status == POPLINER_OK && *bound + is_found <= most;) {
        const uint64_t high = most - is_found;
        const uint64_t tried = *bound + (high - *bound) / share;
        bool is_better;
        share = share > (is_direct ? 1 : 2) ? share / 2 : share;
        status = try_value(p, goal, is_direct ? goal : PL_GRAPH_TRAFFIC, tried, &is_better, error);
        if (status != POPLINER_OK || p->budget.is_over)
            return status;
        is_found = is_found || is_better;
        if (is_better)
            most = p->values.of[goal];
        if (!is_better)
            *bound = tried + 1;
        else if (is_direct)
            *bound = most;
    }
    return status;
}

/* Makes the value of one objective as small as possible. */
static popliner_status lower(planner *p, pl_graph_goal goal, uint64_t *bound,
                             popliner_error *error) {
    bool is_found;
    if (goal == PL_GRAPH_CYCLES || goal == PL_GRAPH_BYTES)
        return lower_largest(p, goal, bound, error);
    const uint64_t known = p->has_values ? p->values.of[goal] : UINT64_MAX;
    const uint64_t least = goal == PL_GRAPH_STAGES ? p->rules.min_stages : 0;
    const uint64_t most = p->has_values             ? known - 1
                          : goal == PL_GRAPH_STAGES ? p->rules.max_stages
                                                    : PL_MAX_CUT_BYTES;
    *bound = least;
    popliner_status status = p->has_values && known <= least
                                 ? POPLINER_OK
                                 : try_value(p, goal, goal, most, &is_found, error);
    if (status == POPLINER_OK && !p->budget.is_over && p->has_values)
        *bound = p->values.of[goal];
    return status;
}

/* Finds the best partition by one objective after another. */
static popliner_status find_partition(planner *p, const popliner_solver_options *options,
                                      pl_graph_claim *claim, popliner_error *error) {
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(options, &num_objectives);
    for (size_t i = 0; i < num_objectives; ++i) {
        const pl_graph_goal goal = goal_of[objectives[i]];
        uint64_t bound;
        popliner_status status = lower(p, goal, &bound, error);
        if (status != POPLINER_OK)
            return status;
        if (i == 0) {
            claim->bound = bound;
            claim->is_bound_known = true;
        }
        claim->num_down_sets = p->budget.num_down_sets;
        if (p->budget.is_over)
            return POPLINER_OK;
        if (!p->has_values) {
            claim->is_bound_known = false;
            break;
        }
        limit(&p->rules, goal, p->values.of[goal]);
    }
    claim->is_proven = true;
    return POPLINER_OK;
}

/* ---- The chain that has it ---- */

/* Sets the rules by the problem, whose units are those of the chain. Errors: MEMORY. */
static popliner_status take_rules(planner *p, const pl_problem *problem,
                                  const pl_graph_chain *graph, const uint32_t *unit_at,
                                  pl_arrays *arrays, popliner_error *error) {
    const popliner_solver_options *o = problem->options;
    const pl_filter filter = pl_filter_of_limits(problem);
    pl_graph_rules *r = &p->rules;
    *r = (pl_graph_rules){.units = graph->units,
                          .traffic_takes_cycles = graph->graph->traffic_takes_cycles,
                          .min_stages = problem->min_stages,
                          .max_stages = problem->max_stages,
                          .min_units = o->min_units,
                          .max_units = o->max_units > 0 ? o->max_units : SIZE_MAX,
                          .num_pairs = o->num_pairs,
                          .most.of = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    r->places = pl_arrays_new(arrays, r->max_stages, sizeof *r->places);
    r->pairs = pl_arrays_new(arrays, r->num_pairs, sizeof *r->pairs);
    p->stage_of_unit = pl_arrays_new(arrays, problem->num_units, sizeof *p->stage_of_unit);
    p->found = pl_arrays_new(arrays, problem->num_units, sizeof *p->found);
    if (o->num_placements > 0)
        r->place_of_unit = pl_arrays_new(arrays, problem->num_units, sizeof *r->place_of_unit);
    if (arrays->failed)
        return pl_fail_memory(error, "the rules of the graph");
    for (size_t place = 0; place < r->max_stages; ++place) {
        const size_t ipu = pl_problem_ipu(problem, place);
        r->places[place] =
            (pl_graph_place){pl_limits_peak(problem, &filter.limits, ipu), pl_speed_of(o, ipu)};
    }
    for (size_t i = 0; i < o->num_pairs; ++i)
        r->pairs[i] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                            .unit = unit_at[o->pairs[i].unit],
                                            .second_unit = unit_at[o->pairs[i].second_unit]};
    for (size_t unit = 0; r->place_of_unit != NULL && unit < problem->num_units; ++unit)
        r->place_of_unit[unit] = SIZE_MAX;
    for (size_t i = 0; i < o->num_placements; ++i) {
        size_t place = 0;
        while (place < r->max_stages && pl_problem_ipu(problem, place) != o->placements[i].ipu)
            ++place;
        size_t *own = &r->place_of_unit[unit_at[o->placements[i].unit]];
        *own = *own == SIZE_MAX || *own == place ? place : r->max_stages;
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

/* Takes the values of the best split of the file's chain, if there is one. */
static popliner_status solve_chain(planner *p, const popliner_costs *costs,
                                   const popliner_solver_options *options, popliner_error *error) {
    popliner_solver_options o = *options;
    popliner_plan plan = {0};
    o.method = POPLINER_METHOD_AUTO;
    o.without_reasons = true;
    o.without_second_proof = true;
    o.time_limit_seconds /= 4;
    popliner_status status = pl_solve(costs, &o, &plan, error);
    p->has_values = status == POPLINER_OK && plan.status != POPLINER_PLAN_INFEASIBLE;
    p->values = (pl_graph_values){{[PL_GRAPH_CYCLES] = plan.cycles,
                                   [PL_GRAPH_BYTES] = plan.peak_bytes,
                                   [PL_GRAPH_TRAFFIC] = plan.cut_bytes,
                                   [PL_GRAPH_STAGES] = plan.num_stages}};
    pl_plan_clear(&plan);
    return status;
}

static popliner_status arrange(const pl_costs_file *file, const popliner_solver_options *options,
                               popliner_costs_file **arranged, popliner_error *error) {
    pl_graph_claim claim = {.question = pl_graph_question(file->costs, options)};
    const double seconds = options->time_limit_seconds;
    const pl_stop stop = {.deadline_seconds =
                              seconds > 0 ? pl_clock_seconds() + seconds / 2 : INFINITY,
                          .should_stop = options->should_stop,
                          .user = options->should_stop_user};
    planner p = {.budget = {.stop = &stop, .steps = most_steps, .max_bytes = MOST_BYTES}};
    pl_problem problem = {0};
    pl_arrays arrays = {0};
    uint32_t *unit_at = NULL;
    if (claim.question == 0)
        return POPLINER_OK;
    popliner_status status = pl_problem_create(&problem, file->costs, options, error);
    if (status != POPLINER_OK || problem.max_stages > MOST_STAGES)
        goto cleanup;
    unit_at = pl_graph_units_at(&file->graph);
    if (unit_at == NULL)
        status = pl_fail_memory(error, "the units of the graph");
    claim.is_proven = problem.max_stages < problem.min_stages; /* fewer units than stages */
    if (status == POPLINER_OK && !claim.is_proven)
        status = take_rules(&p, &problem, &file->graph, unit_at, &arrays, error);
    if (status == POPLINER_OK && !claim.is_proven)
        status = solve_chain(&p, file->costs, options, error);
    if (status == POPLINER_OK && !claim.is_proven)
        status = find_partition(&p, options, &claim, error);
    if (status == POPLINER_OK)
        status = make_chain(&p, file, unit_at, arranged, error);
    if (status == POPLINER_OK)
        ((pl_costs_file *)*arranged)->graph.claim = claim;
cleanup:
    free(unit_at);
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
