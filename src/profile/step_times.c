/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/step_times.h"

#include "base/failure.h"
#include "profile/profile_data.h"

/* Far beyond any run, and far from the end of the numbers. */
static const uint64_t longest = (uint64_t)1 << 52;

static uint64_t add(uint64_t a, uint64_t b) {
    return a > longest || b > longest - a ? longest : a + b;
}

static uint64_t multiply(uint64_t a, uint64_t b) {
    return b != 0 && a > longest / b ? longest : a * b;
}

popliner_status pl_step_times_find(pl_step_times *time, const popliner_profile *p, bool is_once,
                                   popliner_error *error) {
    time->is_in_cycles = pl_profile_cycles_source(p) >= POPLINER_CYCLES_ESTIMATED;
    time->start = pl_arrays_new(&time->arrays, p->num_steps, sizeof *time->start);
    time->end = pl_arrays_new(&time->arrays, p->num_steps, sizeof *time->end);
    time->has_inner = pl_arrays_new(&time->arrays, p->num_steps, sizeof *time->has_inner);
    uint64_t *next = pl_arrays_new(&time->arrays, p->num_steps, sizeof *next);
    if (time->arrays.failed)
        return pl_fail_memory(error, "the times of the steps");
    /* How long each takes: a parent is a smaller step, so it is complete after its children. Until
     * then `end` holds the length. */
    for (size_t step = p->num_steps; step-- > 0;) {
        uint64_t repeats =
            is_once || p->num_timed_programs == 0 ? 1 : p->program_repeats[p->step_program[step]];
        const bool has_inner = time->has_inner[step];
        uint64_t own = time->is_in_cycles ? p->program_cycles[p->step_program[step]] : !has_inner;
        uint64_t length = add(multiply(time->end[step], has_inner ? repeats : 1), own);
        time->end[step] = length;
        uint32_t parent = p->step_parent[step];
        if (parent != PL_NONE) {
            time->end[parent] = add(time->end[parent], length);
            time->has_inner[parent] = true;
        }
    }
    /* When each begins: `next` of a parent is when its next child does; pre-order places a parent
     * before its children. */
    uint64_t now = 0;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint32_t parent = p->step_parent[step];
        uint64_t *place = parent == PL_NONE ? &now : &next[parent];
        uint64_t length = time->end[step];
        time->start[step] = *place;
        time->end[step] = add(*place, length);
        next[step] = time->start[step];
        *place = time->end[step];
    }
    return POPLINER_OK;
}
