/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_cycles.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "popliner/costs.h"
#include "profile/profile_data.h"

static uint64_t multiply(uint64_t a, uint64_t b) {
    return b != 0 && a > POPLINER_MAX_CYCLES / b ? POPLINER_MAX_CYCLES : a * b;
}

static uint64_t add(uint64_t a, uint64_t b) {
    return b > POPLINER_MAX_CYCLES - a ? POPLINER_MAX_CYCLES : a + b;
}

/* The cycles of the steps that run for operations, how often each runs counted: [num_steps], to be
 * freed; NULL without memory. */
static uint64_t *find_step_cycles(const popliner_profile *p, const popliner_operations *operations,
                                  const pl_passes *passes) {
    uint64_t *times = pl_new_array(p->num_steps, sizeof *times); /* that each step runs */
    uint64_t *cycles = pl_new_array(p->num_steps, sizeof *cycles);
    bool memory = times != NULL && cycles != NULL;
    for (size_t step = 0; memory && p->num_timed_programs > 0 && step < p->num_steps; step++) {
        uint32_t parent = p->step_parent[step];
        times[step] = parent == PL_NONE
                          ? 1
                          : multiply(times[parent], p->program_repeats[p->step_program[parent]]);
        if (operations->step_operation[step] != PL_NONE && passes->step_runs[step] != 0)
            cycles[step] = multiply(times[step], p->program_cycles[p->step_program[step]]);
    }
    free(times);
    if (memory)
        return cycles;
    free(cycles);
    return NULL;
}

/* Adds them up by unit: those of all steps, or of the forward passes alone. */
static popliner_status sum_by_unit(const popliner_profile *p, const popliner_operations *operations,
                                   const popliner_chain *chain, const pl_passes *passes,
                                   bool is_forward, uint64_t *cycles, popliner_error *error) {
    uint64_t *of_steps = find_step_cycles(p, operations, passes);
    size_t end = p->num_steps;
    if (of_steps == NULL)
        return pl_fail_memory(error, "the cycles of the layers");
    for (size_t unit = 0; unit < chain->num_units; unit++)
        cycles[unit] = 0;
    if (is_forward)
        end = passes->is_training ? passes->backward_step[passes->last_layer] : 0;
    for (size_t step = 0; step < p->num_steps && step < end; step++) {
        uint32_t operation = operations->step_operation[step];
        if (operation == PL_NONE)
            continue;
        size_t unit = chain->unit_of_operation[operation];
        if (!is_forward || unit >= passes->last_layer || step < passes->turn_step)
            cycles[unit] = add(cycles[unit], of_steps[step]);
    }
    free(of_steps);
    return POPLINER_OK;
}

popliner_status pl_unit_cycles_find(const popliner_profile *p,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const pl_passes *passes,
                                    uint64_t *cycles, popliner_error *error) {
    return sum_by_unit(p, operations, chain, passes, false, cycles, error);
}

popliner_status pl_unit_cycles_find_forward(const popliner_profile *p,
                                            const popliner_operations *operations,
                                            const popliner_chain *chain, const pl_passes *passes,
                                            uint64_t *cycles, popliner_error *error) {
    return sum_by_unit(p, operations, chain, passes, true, cycles, error);
}

void pl_unit_cycles_add_forward(const uint64_t *forward_cycles, const popliner_pipeline *pipeline,
                                popliner_costs *costs) {
    size_t num_units = popliner_costs_num_units(costs);
    if (!popliner_costs_has_cycles(costs))
        return;
    for (size_t first = 0; first < num_units; first++) {
        uint64_t sum = 0;
        for (size_t last = first; last < num_units; last++) {
            sum = add(sum, forward_cycles[last]);
            if (pl_pipeline_recomputes(pipeline, first == 0, last + 1 == num_units))
                pl_costs_set_cycles(costs, first, last,
                                    add(popliner_costs_cycles(costs, first, last), sum));
        }
    }
}
