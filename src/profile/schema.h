/* What the tables and columns of a profile are for. It matters where one is missing: versions of
 * the format differ in what they have.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_SCHEMA_H
#define PL_PROFILE_SCHEMA_H

#include "popliner/listener.h"
#include "profile/database.h"
#include "profile/profile_data.h"

/* What nothing but this column tells, or nothing but this table (`column` NULL), as the end of a
 * sentence; NULL for what is not known of profiles. */
const char *pl_schema_tells(const char *table, const char *column);

/* Fills profile->absence: one sentence for each table or column that is missing, that reading can
 * do without, and that answers depend on. A table without rows lacks no column; one that is about
 * programs of a type is missing only where the profile has such programs. Errors: INPUT, MEMORY. */
popliner_status pl_schema_find_absences(const pl_database *database, popliner_profile *profile,
                                        popliner_error *error);

/* Warns of what is missing. */
void pl_schema_tell_absences(const popliner_profile *profile, const popliner_listener *listener);

#endif
