/* Classes of variables with the same life.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_LIVENESS_H
#define MK_LIVENESS_H

#include "mkprofile/network_plan.h"

/* Fills plan->classes and plan->ranges and gives every variable its class. */
popliner_status mk_make_classes(mk_network_plan *plan, popliner_error *error);

/* Whether there is a step at which both classes are live. */
bool mk_classes_meet(const mk_network_plan *plan, const mk_class *left, const mk_class *right);

#endif
