/* From operations to programs: the whole control program of the profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_LOWERING_H
#define MK_LOWERING_H

#include "mkprofile/network_plan.h"

void mk_lower(mk_network_plan *plan);

#endif
