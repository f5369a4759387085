/* The library's options as users of the command know them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_NAMES_H
#define PL_COMMAND_NAMES_H

#include "popliner/solver.h"

extern const popliner_option_names command_names;

#endif
