/* --copies: how many copies a stage keeps, by its place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_COPIES_H
#define PL_COMMAND_COPIES_H

#include "command/request.h"

/* Parses --copies, if it is there. Errors: USAGE. */
popliner_status copies_parse(const options *o, popliner_copies *copies, popliner_error *error);

/* Puts --copies into what is asked for, if it is given; the device map has to be there. Errors:
 * USAGE, which names the option that is missing. */
popliner_status copies_take(request *r, const options *o, popliner_error *error);

/* Keeps the number of stages to those that a list of copies is for: the usual number becomes
 * smaller, one that was asked for is refused. Errors: USAGE. */
popliner_status copies_limit(request *r, const options *o, popliner_error *error);

#endif
