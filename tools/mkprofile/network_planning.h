/* Planning a whole profile: the model, how it is lowered, and what is live when.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_NETWORK_PLANNING_H
#define MK_NETWORK_PLANNING_H

#include "mkprofile/network_plan.h"

/* Fills an empty plan by its options. */
popliner_status mk_network_plan_make(mk_network_plan *plan, popliner_error *error);

#endif
