/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_usage.h"

#include <assert.h>
#include <string.h>

#include "base/growth.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* ---- By operation ---------------------------------------------------------------------------- */

static void add_set(pl_linked_sets *sets, pl_arrays *arrays, uint32_t rest, uint32_t last) {
    const size_t count = sets->count + 1;
    assert(sets->count < PL_NONE);
    pl_arrays_grow(arrays, &sets->rest, count, sizeof *sets->rest);
    pl_arrays_grow(arrays, &sets->last, count, sizeof *sets->last);
    if (!pl_arrays_grow(arrays, &sets->with, count, sizeof *sets->with))
        return;
    sets->rest[sets->count] = rest;
    sets->last[sets->count] = last;
    sets->with[sets->count++] = 0;
}

/* Replaces *set by its union with a member, which is not below those that were added before; not if
 * memory is short. O(1). */
static void add_member(pl_linked_sets *sets, pl_arrays *arrays, uint32_t *set, uint32_t member) {
    const uint32_t with = sets->with[*set];
    const uint32_t added = (uint32_t)sets->count;
    if (sets->last[*set] == member)
        return;
    assert(*set == 0 || sets->last[*set] < member);
    if (sets->last[with] == member) {
        *set = with;
        return;
    }
    add_set(sets, arrays, *set, member);
    if (sets->count == added)
        return;
    sets->with[*set] = added;
    *set = added;
}

/* Adds an operation, or its copies from and to the host, as a member to the sets of its programs of
 * that kind and of their variables. */
static void add_programs(pl_operation_usage *usage, pl_arrays *arrays, const popliner_profile *p,
                         const popliner_operation *operation, uint32_t member) {
    pl_linked_sets *sets = &usage->sets;
    const bool is_of_copies = member >= usage->num_operations;
    for (size_t k = 0; k < operation->num_programs; k++) {
        const uint32_t program = operation->programs[k];
        const uint32_t before = usage->program_set[program];
        if ((p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID) != is_of_copies)
            continue;
        add_member(sets, arrays, &usage->program_set[program], member);
        if (usage->program_set[program] == before)
            continue; /* the operation lists it twice */
        const uint32_t compute_set = p->program_compute_set[program];
        if (compute_set != PL_NONE)
            add_member(sets, arrays, &usage->compute_set_set[compute_set], member);
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable))
            add_member(sets, arrays, &usage->variable_set[variable], member);
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
    usage->sets = (pl_linked_sets){0};
    add_set(&usage->sets, arrays, 0, PL_NONE);
    for (size_t member = 0; !arrays->failed && member < 2 * count; member++)
        add_programs(usage, arrays, profile, pl_operation_at(operations, member % count),
                     (uint32_t)member);
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
            pl_bits_add(bits, unit_of_operation[by->sets.last[s] % by->num_operations]);
        usage->units_of_set[set] = (uint32_t)pl_keys_number(&usage->sets, bits);
    }
    pl_arrays_end(&own, arrays);
}
