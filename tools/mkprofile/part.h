/* The part of a model that is compiled alone: some layers in a row.
 *
 * The network is always planned whole; what is not in the part is left out when it is lowered. So
 * names, numbers and sizes of what is in it are those of the whole model.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PART_H
#define MK_PART_H

#include "mkprofile/network_plan.h"

/* Tells for every operation whether the part has it, and for every tensor whether it is used
 * there, comes from another part and goes to another part. */
void mk_take_part(mk_network_plan *plan);

#endif
