/* Lanes: groups of temporaries that are never live together, so that on every tile they may share
 * the same addresses.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_LANES_H
#define MK_LANES_H

#include "mkprofile/network_plan.h"

/* Gives every temporary its lane; large ones first, so that a lane holds variables of about the
 * same size. */
popliner_status mk_assign_lanes(mk_network_plan *plan, popliner_error *error);

#endif
