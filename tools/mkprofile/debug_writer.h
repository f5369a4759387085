/* Writes the debug contexts of a network plan as debug.cbor.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_DEBUG_WRITER_H
#define MK_DEBUG_WRITER_H

#include "mkprofile/network_plan.h"

popliner_status mk_write_debug(const mk_network_plan *plan, const char *path,
                               popliner_error *error);

#endif
