/* Faults of a profile, planted so that what finds them can be tried.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_FAULTS_H
#define MK_FAULTS_H

#include "mkprofile/network_plan.h"

#include <stdio.h>

/* Plants the faults that the options want into a plan that is lowered. Fails when there are fewer
 * programs of operations than programs with faults are wanted. */
popliner_status mk_plant_faults(mk_network_plan *plan, popliner_error *error);

/* One line for each: its kind, then the id of the program or the name of the variable. */
void mk_print_faults(const mk_network_plan *plan, FILE *stream);

#endif
