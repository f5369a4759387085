/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/live_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

void pl_live_parts_empty(pl_live_parts *parts) {
    parts->count = 0;
    if (parts->num_slots > 0)
        memset(parts->slots, 0, parts->num_slots * sizeof *parts->slots);
}

void pl_live_parts_free(pl_live_parts *parts) {
    free(parts->parts);
    free(parts->slots);
    *parts = (pl_live_parts){0};
}

/* Spreads set and steps over all bits: multiplication by odd numbers without pattern carries each
 * bit to those above it, of which the upper half is taken (Knuth, The Art of Computer Programming,
 * vol. 3, 6.4). */
static size_t hash(uint32_t set, uint32_t first_step, uint32_t end_step) {
    uint64_t mixed = (((uint64_t)first_step << 32 | end_step) ^ (uint64_t)set << 16) *
                     UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32 ^ set) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)(mixed >> 32);
}

/* The slot of a part, or the empty one where it would be. There is always an empty one. */
static uint32_t *find_slot(const pl_live_parts *parts, uint32_t set, uint32_t first_step,
                           uint32_t end_step) {
    size_t mask = parts->num_slots - 1;
    for (size_t i = hash(set, first_step, end_step) & mask;; i = (i + 1) & mask) {
        const pl_live_part *part = &parts->parts[parts->slots[i] - (parts->slots[i] > 0)];
        if (parts->slots[i] == 0 ||
            (part->set == set && part->first_step == first_step && part->end_step == end_step))
            return &parts->slots[i];
    }
}

/* Doubles the slots, so that at most half of them are in use. */
static bool grow_slots(pl_live_parts *parts) {
    size_t num_slots = parts->num_slots == 0 ? 64 : 2 * parts->num_slots;
    uint32_t *slots = pl_new_array(num_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    free(parts->slots);
    parts->slots = slots;
    parts->num_slots = num_slots;
    for (size_t i = 0; i < parts->count; i++) {
        const pl_live_part *part = &parts->parts[i];
        *find_slot(parts, part->set, part->first_step, part->end_step) = (uint32_t)i + 1;
    }
    return true;
}

bool pl_live_parts_add(pl_live_parts *parts, uint32_t set, uint32_t first_step, uint32_t end_step,
                       uint64_t bytes) {
    if (parts->count >= UINT32_MAX ||
        !pl_grow(&parts->parts, &parts->capacity, parts->count + 1, sizeof *parts->parts))
        return false;
    if (2 * (parts->count + 1) > parts->num_slots && !grow_slots(parts))
        return false;
    uint32_t *slot = find_slot(parts, set, first_step, end_step);
    if (*slot == 0) {
        parts->parts[parts->count] = (pl_live_part){0, set, first_step, end_step};
        *slot = (uint32_t)++parts->count;
    }
    parts->parts[*slot - 1].bytes += bytes;
    return true;
}
