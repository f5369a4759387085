/* What a profile tells of its execution, one thing at a time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/walk.h"

#include "base/structs.h"

popliner_status popliner_profile_run(const popliner_profile *p, size_t run, popliner_run *result,
                                     popliner_error *error) {
    popliner_status status = pl_walk_check_index(run, p->num_runs, "runs", error);
    if (status != POPLINER_OK)
        return status;
    const popliner_run told = {
        .name = pl_profile_string(p, p->run_name[run]),
        .start_microseconds = p->run_start_microseconds[run],
        .elapsed_microseconds = p->run_elapsed_microseconds[run],
        .num_programs = p->run_num_programs[run],
        .first_step = (size_t)p->run_first_step[run],
        .num_steps = (size_t)(p->run_first_step[run + 1] - p->run_first_step[run]),
    };
    return pl_struct_fill(result, &told, sizeof told, "popliner_run", error);
}

/* The run that a step belongs to, or SIZE_MAX. */
static size_t run_of(const popliner_profile *p, size_t step) {
    size_t low = 0; /* the first run that ends behind the step is not before it */
    size_t high = p->num_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->run_first_step[middle + 1] <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->num_runs ? low : SIZE_MAX;
}

popliner_status popliner_profile_execution_step(const popliner_profile *p, size_t step,
                                                popliner_execution_step *result,
                                                popliner_error *error) {
    popliner_status status =
        pl_walk_check_index(step, p->num_execution_steps, "executed steps", error);
    if (status != POPLINER_OK)
        return status;
    const popliner_execution_step told = {
        .program = pl_walk_index(p->execution_program[step]),
        .type_name = pl_profile_string(p, p->execution_type_name[step]),
        .run = run_of(p, step),
        .num_ipus = (size_t)(p->execution_ipus_start[step + 1] - p->execution_ipus_start[step]),
        .cycles = pl_profile_execution_cycles(p, step),
    };
    return pl_struct_fill(result, &told, sizeof told, "popliner_execution_step", error);
}

popliner_status popliner_profile_ipu_step(const popliner_profile *p, size_t step, size_t place,
                                          popliner_ipu_step *result, popliner_error *error) {
    popliner_status status =
        pl_walk_check_index(step, p->num_execution_steps, "executed steps", error);
    if (status != POPLINER_OK)
        return status;
    size_t start = (size_t)p->execution_ipus_start[step];
    size_t i = start + place;
    status = pl_walk_check_index(place, (size_t)p->execution_ipus_start[step + 1] - start,
                                 "measured IPUs in the step", error);
    if (status != POPLINER_OK)
        return status;
    const popliner_ipu_step told = {
        .ipu = p->execution_ipu[i],
        .cycles = p->execution_cycles[i],
        .first_cycle = p->execution_first_cycle[i],
        .active_from_cycles = p->execution_active_from[i],
        .active_to_cycles = p->execution_active_to[i],
        .num_active_tiles = p->execution_active_tiles[i],
        .tile_balance = p->execution_tile_balance[i],
    };
    return pl_struct_fill(result, &told, sizeof told, "popliner_ipu_step", error);
}
