/* The library's options as users of the command know them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_NAMES_H
#define PL_COMMAND_NAMES_H

#include "command/options.h"
#include "popliner/solver.h"

/* A device map is called as it was given: device-map, interleave or v-shape. */
popliner_option_names names_of(const options *o);

#endif
