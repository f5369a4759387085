/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "naive_passes.h"

#include <stdlib.h>

#include "memory/chain_data.h"
#include "model/operations.h"
#include "profile/profile_data.h"

static uint8_t type_of_step(const popliner_profile *p, size_t step) {
    return p->program_type[p->step_program[step]];
}

/* The branch of the outermost switch around the step: where it begins, SIZE_MAX for none. */
static size_t branch_of(const popliner_profile *p, size_t step) {
    size_t branch = SIZE_MAX;
    for (size_t at = step; p->step_parent[at] != PL_NONE; at = p->step_parent[at]) {
        if (type_of_step(p, p->step_parent[at]) == POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH)
            branch = at;
    }
    return branch;
}

static size_t *count_computing(const popliner_profile *p, const size_t *branch) {
    size_t *count = calloc(p->num_steps + 1, sizeof *count);
    assert_non_null(count);
    for (size_t step = 0; step < p->num_steps; step++) {
        if (branch[step] != SIZE_MAX && type_of_step(p, step) == POPLINER_PROGRAM_ON_TILE_EXECUTE)
            count[branch[step]]++;
    }
    return count;
}

static void find_running(naive_passes *n) {
    const popliner_profile *p = n->c->profile;
    size_t *branch = calloc(p->num_steps + 1, sizeof *branch);
    assert_non_null(branch);
    for (size_t step = 0; step < p->num_steps; step++)
        branch[step] = branch_of(p, step);
    size_t *count = count_computing(p, branch);
    for (size_t step = 0; step < p->num_steps; step++) {
        n->runs[step] = 1;
        for (size_t rival = 0; branch[step] != SIZE_MAX && rival < p->num_steps; rival++) {
            if (branch[rival] != rival || p->step_parent[rival] != p->step_parent[branch[step]])
                continue;
            if (count[rival] > count[branch[step]] ||
                (count[rival] == count[branch[step]] && rival < branch[step]))
                n->runs[step] = 0;
        }
    }
    free(branch);
    free(count);
}

/* The unit that computes or exchanges at the step, SIZE_MAX for none. */
static size_t works(const naive_passes *n, size_t step) {
    uint8_t type = type_of_step(n->c->profile, step);
    uint32_t operation = n->c->operations->step_operation[step];
    if (!n->runs[step] || operation == PL_NONE ||
        (type != POPLINER_PROGRAM_ON_TILE_EXECUTE && type != POPLINER_PROGRAM_DO_EXCHANGE &&
         type != POPLINER_PROGRAM_GLOBAL_EXCHANGE))
        return SIZE_MAX;
    return pl_chain_unit_of(n->chain, operation);
}

static bool is_layer(const naive_passes *n, size_t unit) {
    return n->chain->kind[unit] == POPLINER_UNIT_LAYER;
}

static void find_turn(naive_passes *n) {
    size_t num_steps = n->c->profile->num_steps;
    bool any = false;
    for (size_t step = 0; step < num_steps; step++) {
        size_t unit = works(n, step);
        if (unit != SIZE_MAX && is_layer(n, unit) && (!any || unit > n->last_layer)) {
            n->last_layer = unit;
            any = true;
        }
    }
    n->turn = SIZE_MAX;
    for (size_t step = 0; any && step < num_steps && n->turn == SIZE_MAX; step++) {
        if (works(n, step) == n->last_layer)
            n->turn = step;
    }
    for (size_t step = 0; any && step < num_steps; step++) {
        size_t unit = works(n, step);
        if (step > n->turn && unit != SIZE_MAX && is_layer(n, unit) && unit < n->last_layer)
            n->trains = true;
    }
    if (!n->trains)
        n->turn = SIZE_MAX;
}

void naive_begin(naive_passes *n, const golden_case *c, const pl_chain *chain) {
    *n = (naive_passes){.c = c, .chain = chain, .num_units = pl_chain_num_units(chain)};
    n->runs = calloc(c->profile->num_steps + 1, 1);
    assert_non_null(n->runs);
    find_running(n);
    find_turn(n);
}

void naive_end(naive_passes *n) {
    free(n->runs);
}

/* The cycles of a step, as often as the loops around it run. */
static uint64_t cycles_of(const popliner_profile *p, size_t step) {
    uint64_t times = 1;
    for (size_t at = step; p->step_parent[at] != PL_NONE; at = p->step_parent[at])
        times *= p->program_repeats[p->step_program[p->step_parent[at]]];
    return times * p->program_cycles[p->step_program[step]];
}

uint64_t naive_cycles(const naive_passes *n, size_t first_unit, size_t last_unit) {
    const popliner_profile *p = n->c->profile;
    uint64_t cycles = 0;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint32_t operation = n->c->operations->step_operation[step];
        if (operation == PL_NONE || !n->runs[step])
            continue;
        size_t unit = pl_chain_unit_of(n->chain, operation);
        if (unit >= first_unit && unit <= last_unit)
            cycles += cycles_of(p, step);
    }
    return cycles;
}

/* When the nearest unit before the last layer that works backward begins to. */
static size_t begin_of_backward(const naive_passes *n) {
    for (size_t unit = n->last_layer; unit-- > 0;)
        for (size_t step = n->turn; step < n->c->profile->num_steps; step++)
            if (works(n, step) == unit)
                return step;
    return 0;
}

uint64_t naive_forward_cycles(const naive_passes *n, size_t unit) {
    const popliner_profile *p = n->c->profile;
    uint64_t cycles = 0;
    if (!n->trains)
        return 0;
    size_t end = unit < n->last_layer ? n->turn : begin_of_backward(n);
    for (size_t step = 0; step < end; step++) {
        uint32_t operation = n->c->operations->step_operation[step];
        if (operation == PL_NONE || !n->runs[step] || pl_chain_unit_of(n->chain, operation) != unit)
            continue;
        cycles += cycles_of(p, step);
    }
    return cycles;
}
