/* Splits a chain whose costs this program knows itself; no profile is needed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include <popliner/popliner.h>

/* A made-up model: what each layer takes on the fullest tile, and what neighbours share. */
static const uint64_t layer_bytes[] = {400, 300, 300, 500, 200, 300};
enum { NUM_LAYERS = 6, SHARED_BYTES = 50 };

/* Called for each stage that the solver may choose. A longer stage must not need less. */
static popliner_status stage_peak(void *user, size_t first_layer, size_t last_layer,
                                  uint64_t *peak_bytes, popliner_error *error) {
    (void)user;
    (void)error; /* a function that fails says here why */
    *peak_bytes = SHARED_BYTES;
    for (size_t layer = first_layer; layer <= last_layer; layer++)
        *peak_bytes += layer_bytes[layer] - SHARED_BYTES;
    return POPLINER_OK;
}

int main(void) {
    popliner_costs *costs = NULL;
    popliner_plan *plan = NULL;
    popliner_error error;
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    options.num_ipus = 3;
    options.mem_per_tile = 1000;

    /* 1: a stage needs the same wherever in the pipeline it stands */
    popliner_status status = popliner_costs_create(NUM_LAYERS, 1, &costs, &error);
    if (status == POPLINER_OK)
        status = popliner_costs_fill_peaks(costs, stage_peak, NULL, UINT64_MAX, &error);
    if (status == POPLINER_OK)
        status = popliner_solve(costs, &options, &plan, &error);
    if (status != POPLINER_OK)
        fprintf(stderr, "own_costs: %s\n", error.message);
    const size_t num_stages = plan == NULL ? 0 : plan->num_stages;
    for (size_t k = 0; k < num_stages; k++) {
        const popliner_plan_stage *stage = &plan->stages[k];
        printf("IPU %zu: layers %zu to %zu, %llu bytes\n", stage->ipu, stage->first_unit,
               stage->last_unit, (unsigned long long)stage->peak_bytes);
    }

    popliner_plan_free(plan);
    popliner_costs_free(costs);
    return status == POPLINER_OK ? 0 : 1;
}
