/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/unit_sets.h"

#include <stdlib.h>

#include "base/growth.h"

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
    uint32_t added = (uint32_t)sets->count;
    if (!add_set(sets, *set, sets->current_unit))
        return false;
    sets->with_unit[*set] = added;
    *set = added;
    return true;
}
