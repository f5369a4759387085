/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/passing.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"

/* Which units touch what each set stands for, in any pass, as bits: [sets][words]. */
static uint64_t *mark_touching(const pl_unit_usage *usage, uint32_t num_units, size_t words) {
    const pl_unit_sets *sets = &usage->sets;
    uint64_t *bits = pl_new_array(sets->count * words, sizeof *bits);
    for (uint32_t all = 1; bits != NULL && all < sets->count; all++) {
        for (uint32_t set = all; set != 0; set = sets->rest[set]) {
            uint32_t unit = sets->last_unit[set] % num_units; /* in any pass */
            bits[all * words + unit / 64] |= UINT64_C(1) << unit % 64;
        }
    }
    return bits;
}

/* Adds the current unit of the sets to those of one set of the usage. */
static bool add_unit(pl_passing *passing, uint32_t set, uint32_t unit, bool touches,
                     const pl_pass_bounds *b, bool passes_through) {
    pl_unit_sets *sets = &passing->sets;
    bool is_forward = touches || (passes_through && pl_passes_forward(b, unit, unit));
    bool is_backward = touches || (passes_through && pl_passes_backward(b, false, unit, unit));
    return (!touches || pl_unit_sets_add(sets, &passing->touching[set])) &&
           (!is_forward || pl_unit_sets_add(sets, &passing->forward[set])) &&
           (!is_backward || pl_unit_sets_add(sets, &passing->backward[set]));
}

popliner_status pl_passing_find(pl_passing *passing, const pl_pass_usage *own, bool passes_through,
                                popliner_error *error) {
    const pl_unit_usage *usage = &own->usage;
    uint32_t num_units = (uint32_t)usage->num_units / 2;
    size_t words = num_units / 64 + 1;
    uint64_t *touching = mark_touching(usage, num_units, words);
    passing->touching = pl_new_array(usage->sets.count, sizeof *passing->touching);
    passing->forward = pl_new_array(usage->sets.count, sizeof *passing->forward);
    passing->backward = pl_new_array(usage->sets.count, sizeof *passing->backward);
    bool memory = touching != NULL && passing->touching != NULL && passing->forward != NULL &&
                  passing->backward != NULL && pl_unit_sets_begin(&passing->sets);
    for (uint32_t unit = 0; memory && unit < num_units; unit++) {
        pl_unit_sets_begin_unit(&passing->sets, unit);
        for (uint32_t set = 1; memory && set < usage->sets.count; set++)
            memory = add_unit(passing, set, unit,
                              (touching[set * words + unit / 64] >> unit % 64 & 1) != 0,
                              &own->bounds[set], passes_through);
    }
    free(touching);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the layers of the variables");
}

void pl_passing_free(pl_passing *passing) {
    pl_unit_sets_free(&passing->sets);
    free(passing->touching);
    free(passing->forward);
    free(passing->backward);
    *passing = (pl_passing){0};
}
