/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "intervals/unit_cycles.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "model/operations_data.h"
#include "popliner/costs.h"
#include "profile/profile_data.h"

static uint64_t multiply(uint64_t a, uint64_t b) {
    return b != 0 && a > POPLINER_MAX_CYCLES / b ? POPLINER_MAX_CYCLES : a * b;
}

popliner_status pl_unit_cycles_find(const popliner_profile *p,
                                    const popliner_operations *operations,
                                    const popliner_chain *chain, const pl_passes *passes,
                                    uint64_t *cycles, popliner_error *error) {
    bool is_timed = p->num_timed_programs > 0;
    uint64_t *times = pl_new_array(p->num_steps, sizeof *times); /* that each step runs */
    if (times == NULL)
        return pl_fail_memory(error, "the cycles of the layers");
    for (size_t unit = 0; unit < chain->num_units; unit++)
        cycles[unit] = 0;
    for (size_t step = 0; is_timed && step < p->num_steps; step++) {
        uint32_t parent = p->step_parent[step];
        uint32_t operation = operations->step_operation[step];
        times[step] = parent == PL_NONE
                          ? 1
                          : multiply(times[parent], p->program_repeats[p->step_program[parent]]);
        if (operation == PL_NONE || passes->step_runs[step] == 0)
            continue;
        uint64_t *sum = &cycles[chain->unit_of_operation[operation]];
        uint64_t more = multiply(times[step], p->program_cycles[p->step_program[step]]);
        *sum = more > POPLINER_MAX_CYCLES - *sum ? POPLINER_MAX_CYCLES : *sum + more;
    }
    free(times);
    return POPLINER_OK;
}
