/* The parts of pl_profile_read_programs, in the order in which they need each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_PROGRAMS_H
#define PL_PROFILE_PROFILE_PROGRAMS_H

#include "profile/profile_lists.h"

/* Vertex types and their code. */
popliner_status pl_profile_read_vertex_types(const pl_database *database, popliner_profile *profile,
                                             pl_profile_ids *ids, popliner_error *error);

/* Compute sets: names, variables, vertices and the state of these. */
popliner_status pl_profile_read_compute_sets(const pl_database *database, popliner_profile *profile,
                                             pl_profile_ids *ids, pl_list_room *room,
                                             popliner_error *error);

/* Liveness steps, of programs that have been read. */
popliner_status pl_profile_read_steps(const pl_database *database, popliner_profile *profile,
                                      const pl_profile_ids *ids, popliner_error *error);

#endif
