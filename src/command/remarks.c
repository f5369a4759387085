/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/remarks.h"

#include <stdio.h>

/* Solves with options that are a little different, without a word. The table is there already, so
 * it takes no longer than the answer itself did, less GLPK's proof. */
static popliner_status solve_again(session *s, const popliner_costs *costs,
                                   popliner_solver_options *changed, popliner_plan **plan,
                                   popliner_error *error) {
    changed->method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
    changed->without_reasons = true;
    changed->listener = NULL;
    interrupts_catch(&s->interrupts); /* the answer is not printed yet */
    popliner_status status = popliner_solve(costs, changed, plan, error);
    interrupts_release(&s->interrupts);
    return status;
}

static bool minimises_memory_first(const popliner_plan *plan) {
    const popliner_plan_value *first = popliner_plan_value_at(plan, 0);
    return first != NULL && first->objective == POPLINER_OBJECTIVE_MEMORY;
}

static void tell_fewer(session *s, size_t num_ipus, uint64_t bytes, uint64_t bytes_before) {
    const size_t fewer = num_ipus - 1;
    const double percent =
        bytes > bytes_before ? 100 * (double)(bytes - bytes_before) / (double)bytes_before : 0;
    char change[40] = "no more";
    if (percent >= 1)
        return;
    if (percent >= 0.05)
        snprintf(change, sizeof change, "%.1f %% more", percent);
    else if (percent > 0)
        snprintf(change, sizeof change, "less than 0.1 %% more");
    log_message(&s->log, POPLINER_LEVEL_INFO,
                "With %zu IPU%s instead of %zu the largest tile is %llu bytes, %s.", fewer,
                fewer == 1 ? "" : "s", num_ipus, (unsigned long long)bytes, change);
}

popliner_status remark_fewer_ipus(session *s, const request *r, const popliner_plan *plan,
                                  const popliner_costs *costs, popliner_error *error) {
    popliner_solver_options changed = r->solver;
    const popliner_plan_summary *own = popliner_plan_get_summary(plan);
    popliner_plan *fewer = NULL;
    if (costs == NULL || changed.num_mapped_stages > 0 || s->options.quiet ||
        own->status != POPLINER_PLAN_OPTIMAL || own->num_ipus < 2 || !minimises_memory_first(plan))
        return POPLINER_OK;
    changed.max_stages = own->num_ipus - 1;
    popliner_status status = solve_again(s, costs, &changed, &fewer, error);
    if (status == POPLINER_OK && popliner_plan_get_summary(fewer)->status == POPLINER_PLAN_OPTIMAL)
        tell_fewer(s, own->num_ipus, popliner_plan_get_summary(fewer)->peak_bytes, own->peak_bytes);
    popliner_plan_free(fewer);
    return status;
}

/* Whether the number of layers of a stage is part of a contradiction. */
static bool blames_min_layers(const popliner_infeasibility *why) {
    for (size_t i = 0; i < why->num_constraints; i++)
        if (why->constraints[i].kind == POPLINER_CONSTRAINT_MIN_UNITS)
            return true;
    return false;
}

popliner_status remark_min_layers(session *s, const request *r, const popliner_plan *plan,
                                  const popliner_costs *costs, popliner_error *error) {
    const popliner_plan_summary *own = popliner_plan_get_summary(plan);
    const popliner_infeasibility *why = own->infeasibility;
    popliner_solver_options changed = r->solver;
    popliner_plan *other = NULL;
    popliner_status status = POPLINER_OK;
    if (s->options.min_layers != MIN_LAYERS_USUAL || changed.min_units == 0 || own->is_stopped)
        return POPLINER_OK;
    if (why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS && blames_min_layers(why))
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Each stage holds at least one layer unless --min-layers 0 allows less.");
    if (why->obstacle != POPLINER_OBSTACLE_CAPACITY || costs == NULL ||
        changed.num_mapped_stages > 0)
        return POPLINER_OK;
    changed.min_units = 0;
    status = solve_again(s, costs, &changed, &other, error);
    if (status == POPLINER_OK &&
        popliner_plan_get_summary(other)->status != POPLINER_PLAN_INFEASIBLE)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Enough would be --min-layers 0, too: then a stage may hold no layer.");
    popliner_plan_free(other);
    return status;
}
