/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_usage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "model/operations.h"
#include "profile/profile_data.h"

static bool add_set(pl_unit_sets *sets, uint32_t rest_set, uint32_t last) {
    const pl_column_room columns[] = {PL_COLUMN_ROOM(sets->rest), PL_COLUMN_ROOM(sets->last_unit),
                                      PL_COLUMN_ROOM(sets->with_unit)};
    if (sets->count >= PL_NONE || !pl_grow_columns(columns, 3, &sets->capacity, sets->count + 1))
        return false;
    sets->rest[sets->count] = rest_set;
    sets->last_unit[sets->count] = last;
    sets->with_unit[sets->count] = 0;
    sets->count++;
    return true;
}

bool pl_unit_sets_begin(pl_unit_sets *sets) {
    *sets = (pl_unit_sets){0};
    return add_set(sets, 0, PL_NONE);
}

void pl_unit_sets_free(pl_unit_sets *sets) {
    free(sets->rest);
    free(sets->last_unit);
    free(sets->with_unit);
    *sets = (pl_unit_sets){0};
}

bool pl_unit_sets_add_new(pl_unit_sets *sets, uint32_t *set) {
    assert(*set == 0 || sets->last_unit[*set] < sets->current_unit);
    uint32_t added = (uint32_t)sets->count;
    if (!add_set(sets, *set, sets->current_unit))
        return false;
    sets->with_unit[*set] = added;
    *set = added;
    return true;
}

/* ---- By operation ---- */

/* Adds the current operation, or its copies from and to the host, to its programs of that kind and
 * to their variables. */
static bool add_programs(pl_operation_usage *usage, const popliner_profile *p,
                         const popliner_operation *operation, bool host_copies) {
    pl_unit_sets *sets = &usage->sets;
    for (size_t k = 0; k < operation->num_programs; k++) {
        uint32_t program = operation->programs[k];
        uint32_t before = usage->program_set[program];
        if ((p->program_type[program] == POPLINER_PROGRAM_STREAM_COPY_MID) != host_copies)
            continue;
        if (!pl_unit_sets_add(sets, &usage->program_set[program]))
            return false;
        if (usage->program_set[program] == before)
            continue; /* the operation lists it twice */
        uint32_t compute_set = p->program_compute_set[program];
        if (compute_set != PL_NONE && !pl_unit_sets_add(sets, &usage->compute_set_set[compute_set]))
            return false;
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (pl_touches_next(&touches, &variable)) {
            if (!pl_unit_sets_add(sets, &usage->variable_set[variable]))
                return false;
        }
    }
    return true;
}

static void mark_used(const pl_operation_usage *usage, const uint32_t *set, size_t count) {
    for (size_t i = 0; i < count; i++)
        usage->is_used[set[i]] = 1;
}

bool pl_operation_usage_find(pl_operation_usage *usage, const popliner_profile *profile,
                             const pl_operations *operations) {
    const size_t count = pl_operations_count(operations);
    usage->num_operations = count;
    usage->num_programs = profile->num_programs;
    usage->num_compute_sets = profile->num_compute_sets;
    pl_arrays *own = &usage->arrays;
    usage->program_set = pl_arrays_new(own, profile->num_programs, sizeof *usage->program_set);
    usage->compute_set_set = pl_arrays_new(own, profile->num_compute_sets, sizeof(uint32_t));
    usage->variable_set = pl_arrays_new(own, profile->num_variables, sizeof(uint32_t));
    bool memory = !own->failed && pl_unit_sets_begin(&usage->sets);
    for (int host_copies = 0; host_copies < 2; host_copies++)
        for (size_t i = 0; memory && i < count; i++) {
            pl_unit_sets_begin_unit(&usage->sets, (uint32_t)(i + (host_copies ? count : 0)));
            memory = add_programs(usage, profile, pl_operation_at(operations, i), host_copies != 0);
        }
    if (memory) {
        usage->is_used = pl_arrays_new(own, usage->sets.count, sizeof *usage->is_used);
        memory = usage->is_used != NULL;
    }
    if (memory) {
        mark_used(usage, usage->program_set, profile->num_programs);
        mark_used(usage, usage->compute_set_set, profile->num_compute_sets);
        mark_used(usage, usage->variable_set, profile->num_variables);
    }
    return memory;
}

void pl_operation_usage_free(pl_operation_usage *usage) {
    pl_unit_sets_free(&usage->sets);
    pl_arrays_free(&usage->arrays);
    *usage = (pl_operation_usage){0};
}

/* ---- By unit ---- */

/* Returns the part of a set of operations that counts: all of it, or, with leaves_out_copies, the
 * operations other than copies from and to the host, if there are any. */
static uint32_t counted_part(const pl_operation_usage *by, uint32_t set, bool leaves_out_copies) {
    const size_t count = by->num_operations;
    uint32_t others = leaves_out_copies && count > 0
                          ? pl_unit_sets_up_to(&by->sets, set, (uint32_t)count - 1)
                          : 0;
    return others != 0 ? others : set;
}

static uint32_t unit_of_member(const pl_operation_usage *by, const uint32_t *unit_of_operation,
                               uint32_t member) {
    return unit_of_operation[member < by->num_operations ? member : member - by->num_operations];
}

/* Sets of operations, listed by the units of their members: sets[], and where those of each unit
 * begin: start[num_units + 1]. */
typedef struct members {
    size_t *start;
    uint32_t *sets;
} members;

static bool sort_members(members *m, const pl_unit_usage *usage, const pl_operation_usage *by,
                         const pl_unit_map *map) {
    const pl_unit_sets *sets = &by->sets;
    m->start = pl_new_array(usage->num_units + 2, sizeof *m->start);
    if (m->start == NULL)
        return false;
    size_t *next = m->start + 1; /* of each unit; at the end where the next one begins */
    for (uint32_t set = 1; set < sets->count; set++)
        for (uint32_t s = by->is_used[set] ? counted_part(by, set, map->leaves_out_copies) : 0;
             s != 0; s = sets->rest[s])
            next[unit_of_member(by, map->unit_of_operation, sets->last_unit[s]) + 1]++;
    for (size_t unit = 0; unit < usage->num_units; unit++)
        next[unit + 1] += next[unit];
    m->sets = pl_new_array(next[usage->num_units], sizeof *m->sets);
    if (m->sets == NULL)
        return false;
    for (uint32_t set = 1; set < sets->count; set++)
        for (uint32_t s = by->is_used[set] ? counted_part(by, set, map->leaves_out_copies) : 0;
             s != 0; s = sets->rest[s])
            m->sets[next[unit_of_member(by, map->unit_of_operation, sets->last_unit[s])]++] = set;
    return true;
}

/* Finds the set of units of each set of operations that is used. */
static bool find_units(pl_unit_usage *usage, const pl_operation_usage *by, const pl_unit_map *map) {
    members m = {0};
    usage->units_of_set = pl_new_array(by->sets.count, sizeof *usage->units_of_set);
    bool memory = usage->units_of_set != NULL && pl_unit_sets_begin(&usage->sets) &&
                  sort_members(&m, usage, by, map);
    for (size_t unit = 0; memory && unit < usage->num_units; unit++) {
        pl_unit_sets_begin_unit(&usage->sets, (uint32_t)unit);
        for (size_t i = m.start[unit]; memory && i < m.start[unit + 1]; i++)
            memory = pl_unit_sets_add(&usage->sets, &usage->units_of_set[m.sets[i]]);
    }
    free(m.start);
    free(m.sets);
    return memory;
}

/* Translates sets of operations into sets of units. */
static uint32_t *translate(const pl_unit_usage *usage, const uint32_t *set, size_t count) {
    uint32_t *translated = pl_new_array(count, sizeof *translated);
    for (size_t i = 0; translated != NULL && i < count; i++)
        translated[i] = usage->units_of_set[set[i]];
    return translated;
}

bool pl_unit_usage_find(pl_unit_usage *usage, const popliner_profile *profile,
                        const pl_operations *operations, const pl_operation_usage *by_operation,
                        const pl_unit_map *map) {
    usage->num_units = map->num_units;
    if (by_operation == NULL) {
        if (!pl_operation_usage_find(&usage->own, profile, operations))
            return false;
        by_operation = &usage->own;
    }
    usage->variable_set = by_operation->variable_set;
    if (!find_units(usage, by_operation, map))
        return false;
    usage->program_set = translate(usage, by_operation->program_set, by_operation->num_programs);
    usage->compute_set_set =
        translate(usage, by_operation->compute_set_set, by_operation->num_compute_sets);
    return usage->program_set != NULL && usage->compute_set_set != NULL;
}

void pl_unit_usage_free(pl_unit_usage *usage) {
    pl_unit_sets_free(&usage->sets);
    free(usage->program_set);
    free(usage->compute_set_set);
    free(usage->units_of_set);
    pl_operation_usage_free(&usage->own);
    *usage = (pl_unit_usage){0};
}

/* ---- Groups of variables ---- */

bool pl_class_groups_find(pl_class_groups *groups, const popliner_profile *p,
                          const pl_unit_usage *usage, const uint8_t *left_out) {
    groups->first_of_class = pl_new_array(p->num_classes, sizeof *groups->first_of_class);
    if (groups->first_of_class == NULL)
        return false;
    memset(groups->first_of_class, 0xff, p->num_classes * sizeof *groups->first_of_class);
    for (size_t i = 0; i < p->num_variables; i++) {
        uint32_t set = pl_unit_usage_of(usage, i);
        uint32_t *first = &groups->first_of_class[p->variable_class[i]];
        uint32_t found = *first;
        if (set == 0 || (left_out != NULL && left_out[p->variable_class[i]]))
            continue;
        while (found != PL_NONE && groups->items[found].set != set)
            found = groups->items[found].next;
        if (found == PL_NONE) {
            if (groups->count >= PL_NONE || !pl_grow(&groups->items, &groups->capacity,
                                                     groups->count + 1, sizeof *groups->items))
                return false;
            found = (uint32_t)groups->count++;
            groups->items[found] = (pl_class_group){.set = set, .next = *first};
            *first = found;
        }
        groups->items[found].bytes += p->variable_size_bytes[i];
    }
    return true;
}

void pl_class_groups_free(pl_class_groups *groups) {
    free(groups->items);
    free(groups->first_of_class);
    *groups = (pl_class_groups){0};
}
