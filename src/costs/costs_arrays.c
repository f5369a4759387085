/* All costs of a kind as an array.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "base/failure.h"
#include "popliner/costs.h"

static popliner_status fail_kind(popliner_costs_of kind, popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_USAGE, "unknown kind of costs %d", (int)kind);
}

static popliner_status check_cycles(const uint64_t *cycles, size_t n, popliner_error *error) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++)
            if (cycles[i * n + k] > POPLINER_MAX_CYCLES)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "units %zu to %zu: %" PRIu64 " cycles; expected at most %" PRIu64
                               ", in a larger unit of time",
                               i, k, cycles[i * n + k], (uint64_t)POPLINER_MAX_CYCLES);
    return POPLINER_OK;
}

popliner_status popliner_costs_set_all(popliner_costs *costs, popliner_costs_of kind,
                                       size_t stages_to_end, const uint64_t *values,
                                       popliner_error *error) {
    const size_t n = popliner_costs_num_units(costs);
    popliner_status status = POPLINER_OK;
    switch (kind) {
    case POPLINER_COSTS_OF_PEAKS:
        for (size_t i = 0; status == POPLINER_OK && i < n; i++)
            for (size_t k = i; status == POPLINER_OK && k < n; k++)
                status =
                    popliner_costs_set_peak(costs, i, k, stages_to_end, values[i * n + k], error);
        return status;
    case POPLINER_COSTS_OF_CYCLES:
        status = check_cycles(values, n, error);
        for (size_t i = 0; status == POPLINER_OK && i < n; i++)
            for (size_t k = i; status == POPLINER_OK && k < n; k++)
                status = popliner_costs_set_cycles(costs, i, k, values[i * n + k], error);
        return status;
    case POPLINER_COSTS_OF_CUTS:
        for (size_t i = 1; status == POPLINER_OK && i < n; i++)
            status = popliner_costs_set_cut(costs, i, values[i], error);
        return status;
    }
    return fail_kind(kind, error);
}

popliner_status popliner_costs_get_all(const popliner_costs *costs, popliner_costs_of kind,
                                       size_t stages_to_end, uint64_t *values,
                                       popliner_error *error) {
    const size_t n = popliner_costs_num_units(costs);
    switch (kind) {
    case POPLINER_COSTS_OF_PEAKS:
        for (size_t i = 0; i < n * n; i++)
            values[i] = popliner_costs_peak(costs, i / n, i % n, stages_to_end);
        return POPLINER_OK;
    case POPLINER_COSTS_OF_CYCLES:
        for (size_t i = 0; i < n * n; i++)
            values[i] = popliner_costs_cycles(costs, i / n, i % n);
        return POPLINER_OK;
    case POPLINER_COSTS_OF_CUTS:
        for (size_t i = 0; i < n; i++)
            values[i] = i == 0 ? 0 : popliner_costs_cut(costs, i);
        return POPLINER_OK;
    }
    return fail_kind(kind, error);
}
