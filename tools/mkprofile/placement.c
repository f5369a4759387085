/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/placement.h"

#include "base/failure.h"
#include "base/growth.h"
#include "mkprofile/liveness.h"

#include <stdlib.h>
#include <string.h>

enum { RESERVED_BYTES = 16, LOWER_ELEMENT_BYTES = 16384, UPPER_ELEMENT_BYTES = 32768 };
enum { NUM_LOWER_ELEMENTS = MK_UPPER_ELEMENTS / LOWER_ELEMENT_BYTES };
enum {
    LAST_ELEMENT =
        NUM_LOWER_ELEMENTS + (MK_BYTES_PER_TILE - MK_UPPER_ELEMENTS) / UPPER_ELEMENT_BYTES - 1
};

/* The steps from the first to the last in which a class lives. */
typedef struct life_span {
    size_t first_step;
    size_t end_step;
    bool has_pauses;
} life_span;

/* Addresses that something lies at, in some of the steps. */
typedef struct mk_taken {
    uint64_t from;
    uint64_t to;
    life_span life;
    size_t class_id;
} mk_taken;

/* ---- Elements ------------------------------------------------------------------------------- */

uint64_t mk_next_element(uint64_t address) {
    if (address < MK_UPPER_ELEMENTS)
        return (address / LOWER_ELEMENT_BYTES + 1) * LOWER_ELEMENT_BYTES;
    uint64_t upper = (address - MK_UPPER_ELEMENTS) / UPPER_ELEMENT_BYTES + 1;
    return MK_UPPER_ELEMENTS + upper * UPPER_ELEMENT_BYTES;
}

/* What is beyond the end of the memory counts to the last element. */
static size_t element_of(uint64_t address) {
    if (address < MK_UPPER_ELEMENTS)
        return (size_t)(address / LOWER_ELEMENT_BYTES);
    uint64_t element = NUM_LOWER_ELEMENTS + (address - MK_UPPER_ELEMENTS) / UPPER_ELEMENT_BYTES;
    return element < LAST_ELEMENT ? (size_t)element : LAST_ELEMENT;
}

/* A bit for each element that the addresses lie in; none for the last one, since there is no other
 * to go to after it. */
static uint32_t elements_of(uint64_t from, uint64_t to) {
    uint32_t up_to_last = ((uint32_t)2 << element_of(to - 1)) - 1;
    uint32_t before_first = ((uint32_t)1 << element_of(from)) - 1;
    return (up_to_last - before_first) & (((uint32_t)1 << LAST_ELEMENT) - 1);
}

/* ---- One variable --------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

/* The first address from `offset` on where `bytes` lie in none of the elements. */
static uint64_t leave_elements(uint64_t offset, uint64_t bytes, uint64_t alignment,
                               uint32_t elements) {
    while ((elements_of(offset, offset + bytes) & elements) != 0)
        offset = align_up(mk_next_element(offset), alignment);
    return offset;
}

static life_span span_of(const mk_network_plan *plan, size_t class_id) {
    const mk_class *life = mk_class_at(plan, class_id - 1);
    size_t last = life->first_range + life->num_ranges - 1;
    return (life_span){.first_step = mk_range_at(plan, life->first_range)->from,
                       .end_step = mk_range_at(plan, last)->to,
                       .has_pauses = life->num_ranges > 1};
}

/* Whether both are live in some step. */
static bool meet(const mk_network_plan *plan, const mk_taken *a, const mk_taken *b) {
    if (a->life.first_step >= b->life.end_step || b->life.first_step >= a->life.end_step)
        return false;
    if (!a->life.has_pauses && !b->life.has_pauses)
        return true;
    return mk_classes_meet(plan, mk_class_at(plan, a->class_id - 1),
                           mk_class_at(plan, b->class_id - 1));
}

/* Gives `wanted`, whose life and size are told, the lowest address, given the elements that it must
 * leave alone. */
static void find_addresses(const mk_placement *placement, mk_taken *wanted, uint64_t alignment,
                           uint32_t elements) {
    uint64_t bytes = wanted->to;
    uint64_t offset =
        leave_elements(align_up(RESERVED_BYTES, alignment), bytes, alignment, elements);
    for (size_t i = 0; i < placement->num_taken; i++) {
        const mk_taken *taken = &placement->taken[i];
        if (taken->from >= offset + bytes)
            break;
        if (taken->to > offset && meet(placement->sizes->plan, taken, wanted))
            offset = leave_elements(align_up(taken->to, alignment), bytes, alignment, elements);
    }
    wanted->from = offset;
    wanted->to = wanted->from + bytes;
}

/* Elements that the variable must leave alone, because others that are placed lie there. */
static uint32_t forbidden_elements(const mk_placement *placement, size_t variable) {
    uint32_t elements = 0;
    for (size_t i = placement->first_apart[variable]; i < placement->first_apart[variable + 1];
         i++) {
        size_t place = placement->place[placement->apart[i]];
        if (place == MK_NONE || !placement->lowered[place].is_placed)
            continue;
        const mk_lowered *other = &placement->lowered[place];
        elements |= elements_of(other->offset, other->offset + other->size_bytes);
    }
    return elements;
}

/* Keeps the addresses in order. */
static void take(mk_placement *placement, const mk_taken *taken) {
    size_t at = 0;
    size_t end = placement->num_taken;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (placement->taken[middle].from <= taken->from)
            at = middle + 1;
        else
            end = middle;
    }
    memmove(placement->taken + at + 1, placement->taken + at,
            (placement->num_taken - at) * sizeof *taken);
    placement->taken[at] = *taken;
    placement->num_taken++;
}

/* What is always live meets all others: for it, addresses that touch are one, whatever lies there.
 */
static void join_taken(mk_placement *placement, const mk_taken *wanted) {
    size_t kept = 0;
    for (size_t i = 0; i < placement->num_taken; i++) {
        const mk_taken next = placement->taken[i];
        mk_taken *last = kept > 0 ? &placement->taken[kept - 1] : NULL;
        if (last != NULL && next.from <= last->to) {
            last->to = next.to > last->to ? next.to : last->to;
            continue;
        }
        placement->taken[kept] = next;
        placement->taken[kept].life = wanted->life;
        placement->taken[kept++].class_id = wanted->class_id;
    }
    placement->num_taken = kept;
}

/* ---- All of them ---------------------------------------------------------------------------- */

static void collect(mk_placement *placement, uint64_t tile) {
    const mk_network_plan *plan = placement->sizes->plan;
    placement->num_lowered = 0;
    for (size_t i = 0; i < plan->variables.count; i++) {
        placement->place[i] = MK_NONE;
        if (!mk_is_held(placement->sizes, i, tile))
            continue;
        placement->place[i] = placement->num_lowered;
        placement->lowered[placement->num_lowered++] =
            (mk_lowered){.variable = i, .size_bytes = mk_size_on_tile(placement->sizes, i, tile)};
    }
}

typedef struct order_key {
    mk_group group;
    uint64_t size_bytes;
    size_t place;
} order_key;

static int by_order(const void *left, const void *right) {
    const order_key *a = left;
    const order_key *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static void order(mk_placement *placement) {
    const mk_network_plan *plan = placement->sizes->plan;
    order_key *keys = placement->keys;
    size_t count = 0;
    for (size_t i = 0; i < placement->num_lowered; i++) {
        const mk_lowered *lowered = &placement->lowered[i];
        const mk_variable *variable = mk_variable_at(plan, lowered->variable);
        if (variable->rule != MK_RULE_UNALLOCATED)
            keys[count++] = (order_key){variable->group, lowered->size_bytes, i};
    }
    qsort(keys, count, sizeof *keys, by_order);
    for (size_t i = 0; i < count; i++)
        placement->allocated[i] = keys[i].place;
    placement->num_allocated = count;
}

void mk_place_tile(mk_placement *placement, uint64_t tile) {
    const mk_network_plan *plan = placement->sizes->plan;
    uint32_t executable_elements = 0;
    size_t num_joined = 0;
    collect(placement, tile);
    order(placement);
    placement->num_taken = 0;
    placement->end = 0;
    for (size_t i = 0; i < placement->num_allocated; i++) {
        mk_lowered *lowered = &placement->lowered[placement->allocated[i]];
        const mk_variable *variable = mk_variable_at(plan, lowered->variable);
        bool is_executable = variable->group <= MK_GROUP_EXECUTABLE; /* before all others */
        uint32_t elements = forbidden_elements(placement, lowered->variable);
        if (!is_executable)
            elements |= executable_elements;
        mk_taken taken = {.to = lowered->size_bytes,
                          .life = span_of(plan, variable->class_id),
                          .class_id = variable->class_id};
        if (variable->life == MK_LIFE_ALWAYS && placement->num_taken >= 2 * num_joined) {
            join_taken(placement, &taken);
            num_joined = placement->num_taken;
        }
        find_addresses(placement, &taken, variable->alignment, elements);
        take(placement, &taken);
        lowered->offset = taken.from;
        lowered->is_placed = true;
        if (is_executable)
            executable_elements |= elements_of(taken.from, taken.to);
        if (taken.to > placement->end)
            placement->end = taken.to;
    }
}

/* Lists the pairs by variable, in both directions. */
static bool list_pairs(mk_placement *placement) {
    const mk_network_plan *plan = placement->sizes->plan;
    size_t variables = plan->variables.count;
    const mk_pair *pairs = plan->pairs.items;
    placement->first_apart = pl_new_array(variables + 2, sizeof *placement->first_apart);
    placement->apart = pl_new_array(2 * plan->pairs.count, sizeof *placement->apart);
    if (placement->first_apart == NULL || placement->apart == NULL)
        return false;
    size_t *next = placement->first_apart + 1; /* after this, where the list of each begins */
    for (size_t i = 0; i < plan->pairs.count; i++) {
        next[pairs[i].one + 1]++;
        next[pairs[i].other + 1]++;
    }
    for (size_t i = 0; i < variables; i++)
        next[i + 1] += next[i];
    for (size_t i = 0; i < plan->pairs.count; i++) {
        placement->apart[next[pairs[i].one]++] = pairs[i].other;
        placement->apart[next[pairs[i].other]++] = pairs[i].one;
    }
    return true;
}

popliner_status mk_placement_begin(mk_placement *placement, const mk_sizes *sizes,
                                   popliner_error *error) {
    size_t variables = sizes->plan->variables.count;
    *placement = (mk_placement){.sizes = sizes};
    placement->place = pl_new_array(variables, sizeof *placement->place);
    placement->lowered = pl_new_array(variables, sizeof *placement->lowered);
    placement->allocated = pl_new_array(variables, sizeof *placement->allocated);
    placement->keys = pl_new_array(variables, sizeof *placement->keys);
    placement->taken = pl_new_array(variables, sizeof *placement->taken);
    if (placement->place == NULL || placement->lowered == NULL || placement->allocated == NULL ||
        placement->keys == NULL || placement->taken == NULL || !list_pairs(placement))
        return pl_fail_memory(error, "the placement of variables");
    return POPLINER_OK;
}

void mk_placement_end(mk_placement *placement) {
    free(placement->place);
    free(placement->lowered);
    free(placement->allocated);
    free(placement->first_apart);
    free(placement->apart);
    free(placement->keys);
    free(placement->taken);
}
