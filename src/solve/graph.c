/* The question that is asked of a graph, and what its search proves of a plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/down_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/unit_graph.h"

enum { MOST_UNITS = 4096 };

/* True if every contiguous partition can be judged by the units of its stages alone. */
static bool is_any(const popliner_solver_options *o, size_t num_units) {
    for (size_t unit = 1; o->cut_rules != NULL && unit < num_units; ++unit)
        if (o->cut_rules[unit] != POPLINER_CUT_FREE)
            return false;
    for (size_t unit = 0; o->counted_units != NULL && unit < num_units; ++unit)
        if (o->counted_units[unit] == 0)
            return false;
    return !pl_options_share_an_ipu(o) && o->ipu_weight == NULL && !pl_links_exist(o) &&
           !(o->slack_percent > 0) &&
           (o->method == POPLINER_METHOD_AUTO || o->method == POPLINER_METHOD_DYNAMIC_PROGRAMMING ||
            o->method == POPLINER_METHOD_ILP);
}

static void mix(uint64_t *hash, uint64_t number) {
    *hash = (*hash ^ number) * UINT64_C(0x100000001b3);
    *hash ^= *hash >> 29;
}

uint32_t *pl_graph_units_at(const pl_graph_chain *graph) {
    uint32_t *unit_at = pl_new_array(graph->units->num_units, sizeof *unit_at);
    for (size_t unit = 0; unit_at != NULL && unit < graph->units->num_units; ++unit)
        unit_at[graph->place[unit]] = (uint32_t)unit;
    return unit_at;
}

/* The members that the kind uses: units as the graph has them. */
static void mix_constraint(uint64_t *hash, const popliner_constraint *c, const uint32_t *unit_at) {
    const char *words = pl_constraint_of(c->kind)->words;
    mix(hash, c->kind);
    mix(hash, c->number);
    mix(hash, c->ipu);
    if (strstr(words, "%U") != NULL)
        mix(hash, unit_at[c->unit]);
    if (strstr(words, "%V") != NULL)
        mix(hash, unit_at[c->second_unit]);
}

uint64_t pl_graph_question(const popliner_costs *costs, const popliner_solver_options *o) {
    const pl_graph_chain *graph = costs->graph;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    pl_constraints list = {0};
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(o, &num_objectives);
    if (graph == NULL || graph->units->num_units > MOST_UNITS ||
        !is_any(o, graph->units->num_units) || pl_objectives_beyond(o) != NULL)
        return 0;
    for (size_t i = 0; i < num_objectives; ++i)
        mix(&hash, objectives[i]);
    uint32_t *unit_at = pl_graph_units_at(graph);
    if (unit_at == NULL ||
        pl_constraints_list(o, graph->units->num_units, &list, NULL) != POPLINER_OK) {
        free(unit_at);
        free(list.items);
        return 0;
    }
    mix(&hash, o->mem_per_tile);
    pl_ipu_numbers numbers;
    for (size_t which = 0; pl_ipu_numbers_at(o, which, &numbers); ++which) {
        mix(&hash, numbers.count);
        for (size_t i = 0; i < numbers.count; ++i) {
            mix(&hash, numbers.items[i].value);
            mix(&hash, numbers.items[i].ipu);
        }
    }
    for (size_t i = 0; i < list.count; ++i)
        mix_constraint(&hash, &list.items[i], unit_at);
    for (size_t i = 0; i < o->num_mapped_stages; ++i)
        mix(&hash, o->device_map[i]);
    free(unit_at);
    free(list.items);
    return hash == 0 ? 1 : hash;
}

popliner_status pl_graph_tell(const popliner_costs *costs, const popliner_solver_options *options,
                              popliner_plan *plan, popliner_error *error) {
    const pl_graph_claim *claim = costs->graph == NULL ? NULL : &costs->graph->claim;
    plan->is_graph = claim != NULL;
    if (claim == NULL || claim->question == 0 ||
        claim->question != pl_graph_question(costs, options))
        return POPLINER_OK;
    const bool fits = plan->status != POPLINER_PLAN_INFEASIBLE;
    plan->is_graph_proven =
        claim->is_proven && (!plan->is_stopped || plan->status == POPLINER_PLAN_OPTIMAL);
    plan->is_graph_bound_known = claim->is_bound_known;
    plan->graph_bound = claim->bound;
    plan->num_down_sets = claim->num_down_sets;
    if ((claim->is_bound_known && fits && plan->values[0].value < claim->bound) ||
        (plan->is_graph_proven && fits != claim->is_bound_known) ||
        (plan->is_graph_proven && fits && plan->values[0].value != claim->bound))
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "the search over the graph and that of its chain contradict each other; "
                       "please report this");
    return POPLINER_OK;
}
