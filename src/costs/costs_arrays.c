/* Whole tables of costs as arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "base/failure.h"
#include "popliner/costs.h"

popliner_status popliner_costs_set_peaks(popliner_costs *costs, size_t stages_to_end,
                                         const uint64_t *peaks_bytes, popliner_error *error) {
    const size_t n = popliner_costs_num_units(costs);
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < n; i++)
        for (size_t k = i; status == POPLINER_OK && k < n; k++)
            status =
                popliner_costs_set_peak(costs, i, k, stages_to_end, peaks_bytes[i * n + k], error);
    return status;
}

popliner_status popliner_costs_set_cycle_table(popliner_costs *costs, const uint64_t *cycles,
                                               popliner_error *error) {
    const size_t n = popliner_costs_num_units(costs);
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            if (cycles[i * n + k] > POPLINER_MAX_CYCLES)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "units %zu to %zu: %" PRIu64 " cycles; expected at most %" PRIu64
                               ", in a larger unit of time",
                               i, k, cycles[i * n + k], (uint64_t)POPLINER_MAX_CYCLES);
    for (size_t i = 0; status == POPLINER_OK && i < n; i++)
        for (size_t k = i; status == POPLINER_OK && k < n; k++)
            status = popliner_costs_set_cycles(costs, i, k, cycles[i * n + k], error);
    return status;
}

void popliner_costs_set_cuts(popliner_costs *costs, const uint64_t *cuts_bytes) {
    for (size_t i = 1; i < popliner_costs_num_units(costs); i++)
        (void)popliner_costs_set_cut(costs, i, cuts_bytes[i], NULL);
}

void popliner_costs_peaks(const popliner_costs *costs, size_t stages_to_end,
                          uint64_t *peaks_bytes) {
    const size_t n = popliner_costs_num_units(costs);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            peaks_bytes[i * n + k] = popliner_costs_peak(costs, i, k, stages_to_end);
}

void popliner_costs_cycle_table(const popliner_costs *costs, uint64_t *cycles) {
    const size_t n = popliner_costs_num_units(costs);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            cycles[i * n + k] = popliner_costs_cycles(costs, i, k);
}

void popliner_costs_cuts(const popliner_costs *costs, uint64_t *cuts_bytes) {
    for (size_t i = 0; i < popliner_costs_num_units(costs); i++)
        cuts_bytes[i] = i == 0 ? 0 : popliner_costs_cut(costs, i);
}
