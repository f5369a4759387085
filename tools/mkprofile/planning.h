/* Planning a whole profile: the model, how it is lowered, and what is live when.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PLANNING_H
#define MK_PLANNING_H

#include "mkprofile/plan.h"

/* Fills an empty plan by its options. */
popliner_status mk_plan_make(mk_plan *plan, popliner_error *error);

#endif
