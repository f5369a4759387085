/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/recomputing.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/passes.h"
#include "profile/profile_data.h"

/* What computing units once more takes: cycles[units], to be freed. */
static popliner_status find_cycles(const popliner_analysis *a, const popliner_chain *chain,
                                   uint64_t **cycles, bool *is_training, popliner_error *error) {
    pl_passes passes = {0};
    *cycles = pl_new_array(chain->num_units, sizeof **cycles);
    popliner_status status = *cycles == NULL
                                 ? pl_fail_memory(error, "the cycles of the layers")
                                 : pl_passes_find(&passes, a->profile, a->operations, chain, error);
    if (status == POPLINER_OK)
        status =
            pl_unit_cycles_find_forward(a->profile, a->operations, chain, &passes, *cycles, error);
    *is_training = passes.is_training;
    pl_passes_free(&passes);
    return status;
}

popliner_status pl_recomputing_add_cycles(const popliner_analysis *analysis,
                                          const popliner_chain *chain,
                                          const popliner_pipeline *pipeline, popliner_costs *costs,
                                          popliner_error *error) {
    uint64_t *cycles = NULL;
    bool is_training;
    if (pipeline->recompute != POPLINER_RECOMPUTE_FULL || !popliner_costs_has_cycles(costs))
        return POPLINER_OK;
    popliner_status status = find_cycles(analysis, chain, &cycles, &is_training, error);
    if (status == POPLINER_OK)
        pl_unit_cycles_add_forward(cycles, pipeline, costs);
    free(cycles);
    return status;
}

popliner_status pl_recomputing_check(const popliner_analysis *analysis, const popliner_chain *chain,
                                     popliner_error *error) {
    static const char remedy[] = "compile with the engine option profiler.includeCycleEstimates "
                                 "set to true, or say none, standard or full";
    uint64_t *cycles = NULL;
    bool is_training;
    bool has_any = false;
    if (pl_profile_cycles_source(analysis->profile) < POPLINER_CYCLES_ESTIMATED)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the recomputation auto: what it costs is not known, for the profile has "
                       "no cycles of computing; %s",
                       remedy);
    popliner_status status = find_cycles(analysis, chain, &cycles, &is_training, error);
    for (size_t unit = 0; status == POPLINER_OK && unit < chain->num_units; unit++)
        has_any = has_any || cycles[unit] > 0;
    if (status == POPLINER_OK && is_training && !has_any)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "the recomputation auto: what it costs is not known, for the profile has "
                         "no cycles of any layer's forward pass; %s",
                         remedy);
    free(cycles);
    return status;
}

size_t pl_recomputing_ways(const popliner_pipeline *pipeline, unsigned ways,
                           popliner_recompute *measured) {
    size_t count = 0;
    if (ways == 0)
        ways = (1u << PL_NUM_RECOMPUTES) - 1;
    if ((ways & 1u << POPLINER_RECOMPUTE_NONE) != 0)
        ways &= ~(1u << POPLINER_RECOMPUTE_STANDARD);
    for (int way = 0; way < PL_NUM_RECOMPUTES; way++)
        if ((ways >> way & 1) != 0 && (count == 0 || pl_pipeline_keeps(pipeline)))
            measured[count++] = (popliner_recompute)way;
    return count;
}
