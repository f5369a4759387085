/* A profile in which no layer was found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_NO_LAYERS_H
#define PL_COMMAND_NO_LAYERS_H

#include <stdbool.h>

#include "command/session.h"

/* Whether there is anything to split: a layer, or --num-ipus 1, for which there need be none. If
 * there is not, that is a soft failure, and the log tells what may be layers. Cost: that of a
 * diagnosis, if there is no layer. */
popliner_status can_split(session *s, bool *can, popliner_error *error);

#endif
