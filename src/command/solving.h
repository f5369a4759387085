/* --solve, --evaluate and --diagnose: measuring, and telling the answer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SOLVING_H
#define PL_COMMAND_SOLVING_H

#include "command/session.h"

popliner_status solve_and_print(session *s, popliner_error *error);
popliner_status evaluate_and_print(session *s, popliner_error *error);
popliner_status diagnose_and_print(session *s, popliner_error *error);

/* Looks for stages that were measured before, so that solving need not; *stages as
 * session_find_stages has it. */
popliner_status solve_find_stored(session *s, const pl_measured_stages **stages,
                                  popliner_error *error);

#endif
