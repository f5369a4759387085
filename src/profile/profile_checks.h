/* Whether a profile agrees with itself: the relations of docs/profile-format.md, section 15, that
 * tie what the compiler counted to the variables, vertices and programs that it lists.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_CHECKS_H
#define PL_PROFILE_PROFILE_CHECKS_H

#include "popliner/diagnosis.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"

enum { PL_NUM_RELATIONS = POPLINER_RELATION_COMPUTE_SETS + 1 };

/* Fills in the profile's checks, at the end of reading it. A relation is not checked where the file
 * lacks a table or column of it. Errors: INPUT, MEMORY; a breach is none. Cost: a few passes over
 * the lowered variables, on as many threads as the database has connections, and one over the
 * compiler's account of vertices. */
popliner_status pl_profile_find_checks(const pl_database *database, popliner_profile *profile,
                                       const pl_profile_ids *ids, popliner_error *error);

/* Fills in the one that ties the programs to the debug information. Errors: MEMORY. O(programs). */
popliner_status pl_profile_check_contexts(popliner_profile *profile, const pl_debug_info *info,
                                          popliner_error *error);

/* What came of a relation, for those who ask; texts live as long as the profile. */
popliner_check pl_profile_check_of(const popliner_profile *profile, popliner_relation relation);

/* Warns of each relation that is breached. */
void pl_profile_tell_checks(const popliner_profile *profile, const popliner_listener *listener);

#endif
