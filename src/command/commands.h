/* The actions of the command, one function each. They print the answer and log it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_COMMANDS_H
#define PL_COMMAND_COMMANDS_H

#include "command/request.h"
#include "popliner/certificate.h"

/* --diagnose */
popliner_status diagnose_and_print(session *s, popliner_error *error);

/* --evaluate */
popliner_status evaluate_and_print(session *s, popliner_error *error);

/* Makes the answer whose stages --evaluate and --solve would print; NULL if there is nothing to
 * split, which is a soft failure, as it is if nothing fits. The caller frees it. */
popliner_status evaluate_certificate(session *s, popliner_certificate **certificate,
                                     popliner_error *error);
popliner_status solve_certificate(session *s, popliner_certificate **certificate,
                                  popliner_error *error);

/* Refuse what they would refuse of the options, now that the names of layers are known, without
 * measuring stages. Whatever they tell the log comes again. */
popliner_status diagnose_check(session *s, popliner_error *error);
popliner_status evaluate_check(session *s, popliner_error *error);
popliner_status solve_check(session *s, popliner_error *error);

/* --compare: reads the other side, which is freed with session_free whatever comes; then what
 * changed. *other stays where it is. */
popliner_status compare_open(const session *s, session *other, popliner_error *error);
/* Says in the error, if there is one, that it is of the other side. Returns the status. */
popliner_status compare_name_other(const session *other, popliner_status status,
                                   popliner_error *error);
popliner_status compare_and_print(session *s, session *other, popliner_error *error);

/* Makes the report that --report names, if it was given, the profile of the session. Errors: INPUT,
 * USAGE, MEMORY. */
popliner_status reports_choose(session *s, popliner_error *error);

/* Solves for several reports together, or evaluates a split in each of them, and prints it. Errors:
 * as above; USAGE also for reports that cannot have one split; those of reading and solving. */
popliner_status reports_split_and_print(session *s, popliner_error *error);

/* Whether there is anything to split: a layer, or --num-ipus 1, for which there need be none. If
 * there is not, that is a soft failure, and the log tells what may be layers. Cost: that of a
 * diagnosis, if there is no layer. */
popliner_status can_split(session *s, bool *can, popliner_error *error);

/* --solve, of a profile or a file of costs */
popliner_status solve_and_print(session *s, popliner_error *error);
popliner_status solve_costs_and_print(session *s, popliner_error *error);

/* Reads the file of costs once more, for another pipeline: a replicas_read. */
popliner_status costs_read_again(session *s, const popliner_pipeline *pipeline,
                                 popliner_costs_file **file, popliner_error *error);

/* Reads --calibration, if it was given, and warns if it was made for something else. */
popliner_status read_calibration(session *s, popliner_error *error);

#endif
