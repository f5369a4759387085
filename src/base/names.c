/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/growth.h"

/* Returns the slot that holds the name, or the empty slot for it. */
static size_t find_slot(const pl_names *names, const char *name) {
    size_t slot = (size_t)XXH3_64bits(name, strlen(name)) & (names->num_slots - 1);
    while (names->slots[slot] != 0 && strcmp(names->items[names->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & (names->num_slots - 1);
    return slot;
}

static bool grow_slots(pl_names *names) {
    size_t num_slots = names->num_slots == 0 ? 64 : names->num_slots * 4;
    uint32_t *slots = pl_new_array(num_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    free(names->slots);
    names->slots = slots;
    names->num_slots = num_slots;
    for (size_t i = 0; i < names->count; i++)
        names->slots[find_slot(names, names->items[i])] = (uint32_t)i + 1;
    return true;
}

size_t pl_names_number(pl_names *names, const char *name) {
    if (names->count * 2 >= names->num_slots && !grow_slots(names))
        return SIZE_MAX;
    size_t slot = find_slot(names, name);
    if (names->slots[slot] != 0)
        return names->slots[slot] - 1;
    if (names->count >= UINT32_MAX - 1 ||
        !pl_grow(&names->items, &names->capacity, names->count + 1, sizeof *names->items))
        return SIZE_MAX;
    char *copy = pl_copy_string(name, strlen(name));
    if (copy == NULL)
        return SIZE_MAX;
    names->items[names->count++] = copy;
    names->slots[slot] = (uint32_t)names->count;
    return names->count - 1;
}

void pl_names_free(pl_names *names) {
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    free(names->slots);
    *names = (pl_names){0};
}
