/* The names of options, complete.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_OPTION_NAMES_H
#define PL_BASE_OPTION_NAMES_H

#include "popliner/option_names.h"

/* The given ones (may be NULL), and the defaults in the place of those that are NULL. */
popliner_option_names pl_option_names_complete(const popliner_option_names *given);

#endif
