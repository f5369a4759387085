/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/liveness.h"

#include "base/failure.h"

#include <stdlib.h>

/* Variables with equal keys have the same life. */
typedef struct life_key {
    size_t always_group; /* MK_NONE for what is not always live */
    size_t occasion;
    size_t first_step;
    size_t end_step;
    size_t earlier; /* the life before that */
    size_t variable;
} life_key;

static int compare_numbers(size_t left, size_t right) {
    return (left > right) - (left < right);
}

static int compare_lives(const life_key *a, const life_key *b) {
    int order = compare_numbers(a->always_group, b->always_group);
    if (order == 0)
        order = compare_numbers(a->first_step, b->first_step);
    if (order == 0)
        order = compare_numbers(a->end_step, b->end_step);
    if (order == 0)
        order = compare_numbers(a->occasion, b->occasion);
    if (order == 0) /* no two variables share a part of their lives */
        order = compare_numbers(a->earlier, b->earlier);
    return order;
}

static int by_life(const void *left, const void *right) {
    const life_key *a = left;
    const life_key *b = right;
    int order = compare_lives(a, b);
    return order != 0 ? order : compare_numbers(a->variable, b->variable);
}

static life_key key_of(const mk_network_plan *plan, size_t number) {
    const mk_variable *variable = mk_variable_at(plan, number);
    if (variable->life == MK_LIFE_ALWAYS)
        return (life_key){.always_group = variable->always_group, .variable = number};
    life_key key = {.always_group = MK_NONE,
                    .occasion = variable->occasion,
                    .first_step = variable->first_step,
                    .end_step = variable->end_step,
                    .earlier = variable->earlier,
                    .variable = number};
    if (key.first_step == MK_NONE && key.earlier == 0) { /* never used: written off at once */
        key.first_step = 0;
        key.end_step = 1;
    }
    return key;
}

/* Adds a range to the class whose first one is `first`, or makes its last one longer. */
static void add_range(mk_network_plan *plan, size_t first, size_t from, size_t to) {
    mk_range *last = plan->ranges.count > first ? mk_range_at(plan, plan->ranges.count - 1) : NULL;
    if (last != NULL && from <= last->to)
        last->to = to > last->to ? to : last->to;
    else
        mk_append(plan, &plan->ranges, &(mk_range){.from = from, .to = to});
}

/* The parts of a life, which are told from the last to the first, in their order. */
static void add_parts(mk_network_plan *plan, size_t first, size_t number) {
    const mk_life_part part = *mk_life_part_at(plan, number);
    if (part.earlier != 0)
        add_parts(plan, first, part.earlier);
    add_range(plan, first, part.steps.from, part.steps.to);
}

static void add_class(mk_network_plan *plan, const life_key *key) {
    mk_class added = {.is_always_live = key->always_group != MK_NONE,
                      .first_range = plan->ranges.count};
    if (added.is_always_live) {
        mk_append(plan, &plan->ranges, &(mk_range){.from = 0, .to = plan->steps.count});
    } else if (key->earlier != 0) {
        add_parts(plan, added.first_range, key->earlier);
        if (key->first_step != MK_NONE)
            add_range(plan, added.first_range, key->first_step, key->end_step);
    } else if (key->occasion == MK_NONE) {
        mk_append(plan, &plan->ranges, &(mk_range){.from = key->first_step, .to = key->end_step});
    } else {
        const mk_array *starts = &mk_occasion_at(plan, key->occasion)->starts;
        for (size_t i = 0; i < starts->count; i++) {
            size_t start = mk_number_at(starts, i);
            mk_append(plan, &plan->ranges,
                      &(mk_range){.from = start + key->first_step, .to = start + key->end_step});
        }
    }
    added.num_ranges = plan->ranges.count - added.first_range;
    mk_append(plan, &plan->classes, &added);
}

popliner_status mk_make_classes(mk_network_plan *plan, popliner_error *error) {
    size_t count = plan->variables.count;
    life_key *keys = malloc(count * sizeof *keys);
    if (keys == NULL)
        return pl_fail_memory(error, "the liveness of variables");
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(plan, i);
    qsort(keys, count, sizeof *keys, by_life);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_lives(&keys[i - 1], &keys[i]) != 0)
            add_class(plan, &keys[i]);
        mk_variable *variable = mk_variable_at(plan, keys[i].variable);
        variable->class_id = variable->rule == MK_RULE_UNALLOCATED ? 0 : plan->classes.count;
    }
    free(keys);
    if (plan->is_out_of_memory)
        return pl_fail_memory(error, "the liveness of variables");
    return POPLINER_OK;
}

bool mk_classes_meet(const mk_network_plan *plan, const mk_class *left, const mk_class *right) {
    size_t i = 0;
    size_t k = 0;
    while (i < left->num_ranges && k < right->num_ranges) {
        const mk_range *a = mk_range_at(plan, left->first_range + i);
        const mk_range *b = mk_range_at(plan, right->first_range + k);
        if (a->from < b->to && b->from < a->to)
            return true;
        if (a->to <= b->to)
            i++;
        else
            k++;
    }
    return false;
}
