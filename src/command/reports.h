/* --report: a profile that is one of several in a directory, or several of them together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_REPORTS_H
#define PL_COMMAND_REPORTS_H

#include "command/session.h"

/* Makes the report that --report names, if it was given, the profile of the session. Errors: INPUT,
 * USAGE, MEMORY. */
popliner_status reports_choose(session *s, popliner_error *error);

/* Solves for several reports together, or evaluates a split in each of them, and prints it. Errors:
 * as above; USAGE also for reports that cannot have one split; those of reading and solving. */
popliner_status reports_split_and_print(session *s, popliner_error *error);

#endif
