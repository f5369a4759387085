/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_usage.h"

#include <assert.h>
#include <string.h>

#include "base/growth.h"
#include "model/operations.h"
#include "profile/profile_data.h"

static void add_set(pl_unit_sets *sets, uint32_t rest_set, uint32_t last) {
    const size_t count = sets->count + 1;
    assert(sets->count < PL_NONE);
    pl_arrays_grow(sets->arrays, &sets->rest, count, sizeof *sets->rest);
    pl_arrays_grow(sets->arrays, &sets->last_unit, count, sizeof *sets->last_unit);
    if (!pl_arrays_grow(sets->arrays, &sets->with_unit, count, sizeof *sets->with_unit))
        return;
    sets->rest[sets->count] = rest_set;
    sets->last_unit[sets->count] = last;
    sets->with_unit[sets->count++] = 0;
}

void pl_unit_sets_begin(pl_unit_sets *sets, pl_arrays *arrays) {
    *sets = (pl_unit_sets){.arrays = arrays};
    add_set(sets, 0, PL_NONE);
}

void pl_unit_sets_add_new(pl_unit_sets *sets, uint32_t *set) {
    assert(*set == 0 || sets->last_unit[*set] < sets->current_unit);
    const uint32_t added = (uint32_t)sets->count;
    add_set(sets, *set, sets->current_unit);
    if (sets->count == added)
        return;
    sets->with_unit[*set] = added;
    *set = added;
}

/* ---- By operation ---------------------------------------------------------------------------- */

/* Adds the current operation, or its copies from and to the host, to its programs of that kind and
 * to their variables. */
static void add_programs(pl_operation_usage *usage, const popliner_profile *p,
                         const popliner_operation *operation, bool host_copies) {
    pl_unit_sets *sets = &usage->sets;
    for (size_t k = 0; k < operation->num_programs; k++) {
        const uint32_t program = operation->programs[k];
        const uint32_t before = usage->program_set[program];
        if ((p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID) != host_copies)
            continue;
        pl_unit_sets_add(sets, &usage->program_set[program]);
        if (usage->program_set[program] == before)
            continue; /* the operation lists it twice */
        const uint32_t compute_set = p->program_compute_set[program];
        if (compute_set != PL_NONE)
            pl_unit_sets_add(sets, &usage->compute_set_set[compute_set]);
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable))
            pl_unit_sets_add(sets, &usage->variable_set[variable]);
    }
}

static void mark_used(const pl_operation_usage *usage, const uint32_t *set, size_t count) {
    for (size_t i = 0; i < count; i++)
        usage->is_used[set[i]] = 1;
}

void pl_operation_usage_find(pl_operation_usage *usage, pl_arrays *arrays,
                             const popliner_profile *profile, const pl_operations *operations) {
    const size_t count = pl_operations_count(operations);
    usage->num_operations = count;
    usage->program_set = pl_arrays_new(arrays, profile->num_programs, sizeof *usage->program_set);
    usage->compute_set_set = pl_arrays_new(arrays, profile->num_compute_sets, sizeof(uint32_t));
    usage->variable_set = pl_arrays_new(arrays, profile->num_variables, sizeof(uint32_t));
    pl_unit_sets_begin(&usage->sets, arrays);
    for (int host_copies = 0; host_copies < 2; host_copies++)
        for (size_t i = 0; !arrays->failed && i < count; i++) {
            pl_unit_sets_begin_unit(&usage->sets, (uint32_t)(i + (host_copies ? count : 0)));
            add_programs(usage, profile, pl_operation_at(operations, i), host_copies != 0);
        }
    usage->is_used = pl_arrays_new(arrays, usage->sets.count, sizeof *usage->is_used);
    if (arrays->failed)
        return;
    mark_used(usage, usage->program_set, profile->num_programs);
    mark_used(usage, usage->compute_set_set, profile->num_compute_sets);
    mark_used(usage, usage->variable_set, profile->num_variables);
}

/* ---- By unit --------------------------------------------------------------------------------- */

void pl_unit_usage_find(pl_unit_usage *usage, pl_arrays *arrays, const pl_operation_usage *by,
                        const uint32_t *unit_of_operation, size_t num_units,
                        bool leaves_out_copies) {
    pl_arrays own = {0};
    usage->num_units = num_units;
    usage->by_operation = by;
    usage->sets = pl_bits_begin(arrays, num_units);
    usage->units_of_set = pl_arrays_new(arrays, by->sets.count, sizeof *usage->units_of_set);
    uint64_t *bits = pl_arrays_new(&own, 1, usage->sets.key_size);
    for (uint32_t set = 0; !arrays->failed && !own.failed && set < by->sets.count; set++) {
        if (set > 0 && by->is_used[set] == 0)
            continue;
        /* without copies from and to the host, if there is anything else */
        const uint32_t others = leaves_out_copies ? pl_without_copies(by, set) : 0;
        memset(bits, 0, usage->sets.key_size);
        for (uint32_t s = others != 0 ? others : set; s != 0; s = by->sets.rest[s])
            pl_bits_add(bits, unit_of_operation[by->sets.last_unit[s] % by->num_operations]);
        usage->units_of_set[set] = (uint32_t)pl_keys_number(&usage->sets, bits);
    }
    pl_arrays_end(&own, arrays);
}
