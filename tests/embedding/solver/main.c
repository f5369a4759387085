/* Solves for costs of its own and prints the cuts. By hand: of units of 4, 2, 3, 1 and 5 bytes on
 * three IPUs, all of 15 bytes and the last two 6, the smallest largest sum is 6, and the earliest
 * cuts with it are 4 | 2+3 | 1+5. With the first and the last of three stages on one IPU they need
 * 4+5 at least: 4 | 2+3+1 | 5.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include <popliner/costs.h>
#include <popliner/solver.h>

static const uint64_t bytes[] = {4, 2, 3, 1, 5};
enum { NUM_UNITS = sizeof bytes / sizeof *bytes };

static uint64_t sum(size_t first, size_t last) {
    uint64_t total = 0;
    for (size_t unit = first; unit <= last; unit++)
        total += bytes[unit];
    return total;
}

static popliner_status sum_of_stages(void *user, const popliner_interval *stages, size_t num_stages,
                                     uint64_t *peak_bytes, popliner_error *error) {
    (void)user;
    (void)error;
    *peak_bytes = 0;
    for (size_t i = 0; i < num_stages; i++)
        *peak_bytes += sum(stages[i].first_unit, stages[i].last_unit);
    return POPLINER_OK;
}

static int solve(const popliner_costs *costs, const popliner_solver_options *options) {
    popliner_plan *plan;
    popliner_error error;
    if (popliner_solve(costs, options, &plan, &error) != POPLINER_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("%s %d:", plan->proof == POPLINER_PROOF_NONE ? "unproven" : "proven",
           (int)plan->peak_bytes);
    for (size_t i = 0; i < plan->num_stages; i++)
        printf(" %d", (int)plan->stages[i].last_unit);
    printf("\n");
    popliner_plan_free(plan);
    return 0;
}

int main(void) {
    static const size_t map[] = {0, 1, 0};
    popliner_costs *costs;
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    if (popliner_costs_create(NUM_UNITS, 1, &costs, NULL) != POPLINER_OK)
        return 1;
    for (size_t first = 0; first < NUM_UNITS; first++)
        for (size_t last = first; last < NUM_UNITS; last++)
            popliner_costs_set_peak(costs, first, last, 1, sum(first, last), NULL);
    popliner_costs_set_shared_peak(costs, sum_of_stages, NULL, true);
    options.num_ipus = 3;
    int result = solve(costs, &options);
    options.device_map = map;
    options.num_mapped_stages = 3;
    result = result != 0 ? result : solve(costs, &options);
    popliner_costs_free(costs);
    return result;
}
