/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan_data.h"

#include <stdlib.h>

#include "base/failure.h"

const char *popliner_proof_name(popliner_proof proof) {
    static const char *const names[] = {"none", "dynamic_program", "integer_program", "search",
                                        "enumeration"};
    return (unsigned)proof < POPLINER_NUM_PROOFS ? names[proof] : NULL;
}

popliner_status pl_plan_create_empty(bool is_stopped, popliner_plan **plan, popliner_error *error) {
    *plan = calloc(1, sizeof **plan);
    if (*plan == NULL)
        return pl_fail_memory(error, "the plan");
    (*plan)->status = POPLINER_PLAN_INFEASIBLE;
    (*plan)->is_stopped = is_stopped;
    (*plan)->infeasibility.obstacle = POPLINER_OBSTACLE_UNKNOWN;
    pl_plan_summarise(*plan);
    return POPLINER_OK;
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
        .stages = plan->stages,
        .num_stages = plan->num_stages,
        .num_ipus = (size_t)plan->num_ipus,
        .values = plan->values,
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

void popliner_plan_free(popliner_plan *plan) {
    pl_plan_clear(plan);
    free(plan);
}
