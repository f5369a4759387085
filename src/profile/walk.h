/* What the functions that walk over a profile share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_WALK_H
#define PL_PROFILE_WALK_H

#include "profile/profile_data.h"

/* USAGE unless index < count; `what` is what is counted, "programs". */
popliner_status pl_walk_check_index(size_t index, size_t count, const char *what,
                                    popliner_error *error);

/* An index as it is told: SIZE_MAX for PL_NONE. */
static inline size_t pl_walk_index(uint32_t index) {
    return index == PL_NONE ? SIZE_MAX : index;
}

#endif
