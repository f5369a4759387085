/* The lists of lowered variables that compute sets and exchanges touch.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_LISTS_H
#define PL_PROFILE_PROFILE_LISTS_H

#include "profile/profile_data.h"

/* While lists are read: the room behind the two arrays of lists. */
typedef struct pl_list_room {
    size_t variables;
    size_t starts;
} pl_list_room;

/* Adds the list of a compute set, in a column of the current row. */
popliner_status pl_profile_read_list(pl_rows *rows, int column, popliner_profile *profile,
                                     const pl_profile_ids *ids, pl_list_room *room,
                                     popliner_error *error);

/* Adds one list for each exchange target, from millions of rows. */
popliner_status pl_profile_read_exchange_lists(const pl_database *database,
                                               popliner_profile *profile, pl_profile_ids *ids,
                                               pl_list_room *room, popliner_error *error);

#endif
