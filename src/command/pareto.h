/* --pareto: all best compromises of two objectives.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_PARETO_H
#define PL_COMMAND_PARETO_H

#include "command/request.h"
#include "popliner/certificate.h"

/* Solves for the first two objectives of the request and prints a row for each point: status,
 * objectives, IPUs used, split; as soon as the user wants it to stop, what there is. Tells whether
 * these are all. If there is none, tells why, which is a soft failure. `names` tells how units and
 * numbers are called, and has the costs. */
popliner_status pareto_print(session *s, const request *r, const popliner_certificate_input *names,
                             popliner_error *error);

#endif
