/* Walking over the lowered variables that a program touches.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_TOUCHES_H
#define PL_PROFILE_TOUCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile_data.h"

/* Where such a walk is. */
typedef struct pl_touches {
    const popliner_profile *profile;
    uint32_t list; /* the next list of the program */
    uint32_t end_list;
    uint64_t place; /* the next variable of the current list */
    uint64_t end_place;
} pl_touches;

/* Begins the walk over the variables of `program`, of which there are none where the variables are
 * not loaded. */
static inline pl_touches pl_touches_of(const popliner_profile *profile, uint32_t program) {
    return (pl_touches){.profile = profile,
                        .list = profile->program_lists_start[program],
                        .end_list = profile->program_lists_start[program + 1]};
}

/* The next variable; false behind the last one. One that two lists of the program hold comes twice.
 * O(1). */
static inline bool pl_touches_next(pl_touches *touches, uint32_t *variable) {
    const popliner_profile *p = touches->profile;
    while (touches->place == touches->end_place) {
        if (touches->list == touches->end_list)
            return false;
        uint32_t list = p->program_list[touches->list++];
        touches->place = p->list_start[list];
        touches->end_place = p->list_start[list + 1];
    }
    *variable = p->list_variable[touches->place++];
    return true;
}

#endif
