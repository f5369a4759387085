/* All costs of a kind as an array.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

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

static popliner_status set_units(popliner_costs *costs, uint64_t **own, const uint64_t *values,
                                 popliner_error *error) {
    *own = pl_arrays_copy(&costs->arrays, values, costs->num_units, sizeof *values);
    return *own == NULL ? pl_fail_memory(error, "the costs of caches") : POPLINER_OK;
}

popliner_status popliner_costs_set_all(popliner_costs *costs, popliner_costs_of kind,
                                       size_t stages_to_end, const uint64_t *values,
                                       popliner_error *error) {
    const size_t n = popliner_costs_num_units(costs);
    switch (kind) {
    case POPLINER_COSTS_OF_PEAKS:
        for (size_t i = 0; i < n * n; i++)
            if (i / n <= i % n)
                PL_TRY(
                    popliner_costs_set_peak(costs, i / n, i % n, stages_to_end, values[i], error));
        return POPLINER_OK;
    case POPLINER_COSTS_OF_CYCLES:
        PL_TRY(check_cycles(values, n, error));
        for (size_t i = 0; i < n * n; i++)
            if (i / n <= i % n)
                PL_TRY(popliner_costs_set_cycles(costs, i / n, i % n, values[i], error));
        return POPLINER_OK;
    case POPLINER_COSTS_OF_CUTS:
        for (size_t i = 1; i < n; i++)
            PL_TRY(popliner_costs_set_cut(costs, i, values[i], error));
        return POPLINER_OK;
    case POPLINER_COSTS_OF_KV:
        return set_units(costs, &costs->kv_bytes, values, error);
    case POPLINER_COSTS_OF_KV_TOKENS:
        return set_units(costs, &costs->kv_tokens, values, error);
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
    case POPLINER_COSTS_OF_KV:
        for (size_t i = 0; i < n; i++)
            values[i] = costs->kv_bytes == NULL ? 0 : costs->kv_bytes[i];
        return POPLINER_OK;
    case POPLINER_COSTS_OF_KV_TOKENS:
        for (size_t i = 0; i < n; i++)
            values[i] = costs->kv_tokens == NULL ? UINT64_MAX : costs->kv_tokens[i];
        return POPLINER_OK;
    }
    return fail_kind(kind, error);
}
