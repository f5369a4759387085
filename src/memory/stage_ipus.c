/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_ipus.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "profile/tile_runs.h"

static bool holds(const popliner_interval *stages, size_t num_stages, size_t unit) {
    for (size_t i = 0; i < num_stages; i++)
        if (stages[i].first_unit <= unit && unit <= stages[i].last_unit)
            return true;
    return false;
}

/* Marks the IPUs of a compute set's vertices. */
static void mark_compute_set(const popliner_profile *p, uint32_t compute_set, uint8_t *is_used) {
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t first;
        size_t end;
        while (pl_tile_runs_next(&walk, &first, &end))
            for (size_t ipu = first / p->target.tiles_per_ipu;
                 ipu < p->target.num_ipus && ipu * p->target.tiles_per_ipu < end; ipu++)
                is_used[ipu] = 1;
    }
}

size_t pl_stage_ipus_mark(const popliner_profile *profile, const popliner_operations *operations,
                          const popliner_chain *chain, const popliner_interval *stages,
                          size_t num_stages, uint8_t *is_used) {
    const popliner_profile *p = profile;
    size_t count = 0;
    if (p->target.num_ipus <= 1 || p->target.tiles_per_ipu == 0) {
        memset(is_used, 1, p->target.num_ipus);
        return p->target.num_ipus;
    }
    for (size_t step = 0; step < p->num_steps; step++) {
        const uint32_t operation = operations->step_operation[step];
        const uint32_t compute_set = p->program_compute_set[p->step_program[step]];
        if (operation != PL_NONE && compute_set != PL_NONE &&
            holds(stages, num_stages, pl_chain_unit_of(chain, operation)))
            mark_compute_set(p, compute_set, is_used);
    }
    for (size_t ipu = 0; ipu < p->target.num_ipus; ipu++)
        count += is_used[ipu];
    return count;
}

popliner_status pl_stage_ipus_count(const popliner_profile *profile,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error) {
    uint8_t *is_used = pl_new_array(profile->target.num_ipus, sizeof *is_used);
    *num_ipus = 0;
    if (is_used == NULL)
        return pl_fail_memory(error, "the IPUs of a stage");
    *num_ipus = pl_stage_ipus_mark(profile, operations, chain, stages, num_stages, is_used);
    free(is_used);
    return POPLINER_OK;
}
