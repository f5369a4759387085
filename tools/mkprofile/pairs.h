/* Which variables may not share a memory element: code that reads or writes data while it runs,
 * and that data. The kinds of pairs are those of a real profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PAIRS_H
#define MK_PAIRS_H

#include "mkprofile/network_plan.h"

/* Fills plan->pairs, when all variables are there. */
void mk_pair_variables(mk_network_plan *plan);

#endif
