/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan_data.h"

#include <stdlib.h>

const char *popliner_objective_name(popliner_objective objective) {
    static const char *const names[] = {"memory", "cycles", "traffic", "ipus", "balance"};
    return names[objective];
}

const char *popliner_proof_name(popliner_proof proof) {
    static const char *const names[] = {"none", "dynamic_program", "integer_program", "search",
                                        "enumeration"};
    return names[proof];
}

void pl_plan_clear(popliner_plan *plan) {
    if (plan == NULL)
        return;
    free(plan->stages);
    free(plan->infeasibility.constraints);
    free(plan->infeasibility.remedies);
    free(plan->infeasibility.left_out);
    *plan = (popliner_plan){0};
}

void pl_plan_summarise(popliner_plan *plan) {
    plan->summary = (popliner_plan_summary){
        .status = plan->status,
        .is_stopped = plan->is_stopped,
        .num_stages = plan->num_stages,
        .num_ipus = plan->num_ipus,
        .num_values = plan->num_values,
        .peak_bytes = plan->peak_bytes,
        .cycles = plan->cycles,
        .cut_bytes = plan->cut_bytes,
        .spread = plan->spread,
        .infeasibility = &plan->infeasibility,
        .proof = plan->proof,
    };
}

const popliner_plan_summary *popliner_plan_get_summary(const popliner_plan *plan) {
    return &plan->summary;
}

const popliner_plan_stage *popliner_plan_stage_at(const popliner_plan *plan, size_t stage) {
    return stage < plan->num_stages ? &plan->stages[stage] : NULL;
}

const popliner_plan_value *popliner_plan_value_at(const popliner_plan *plan, size_t i) {
    return i < plan->num_values ? &plan->values[i] : NULL;
}

void popliner_plan_free(popliner_plan *plan) {
    pl_plan_clear(plan);
    free(plan);
}
