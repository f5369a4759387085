/* --solve for several values, objectives or replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SOLVE_H
#define PL_COMMAND_SOLVE_H

#include <stdbool.h>

#include "command/request.h"
#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"

/* ---- ranges: the best split for each of several limits ---- */

/* The most IPUs that a range asks for, or num_ipus if these are more. */
size_t sweep_max_ipus(const session *s, size_t num_ipus);

/* Solves for each value of the session's range and prints a row for it: status, objectives, IPUs
 * used, split; as soon as the user wants it to stop, what there is. A soft failure if no value
 * fits. Memory is that before --reserve. `names` tells how units and numbers are called. */
popliner_status sweep_print(session *s, const popliner_costs *costs, const request *r,
                            const popliner_certificate_input *names, popliner_error *error);

/* ---- --pareto: all best compromises of two objectives ---- */

/* Solves for the first two objectives of the request and prints a row for each point: status,
 * objectives, IPUs used, split; as soon as the user wants it to stop, what there is. Tells whether
 * these are all. If there is none, tells why, which is a soft failure. `names` tells how units and
 * numbers are called, and has the costs. */
popliner_status pareto_print(session *s, const request *r, const popliner_certificate_input *names,
                             popliner_error *error);

/* ---- --total-ipus: how many stages, and how many replicas ---- */

/* Reads the file of costs again for a pipeline. */
typedef popliner_status (*replicas_read)(session *s, const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error);

/* Solves, and prints the candidates. A soft failure if no pipeline fits, of which the log tells
 * why. `names` tells how units and numbers are called. */
popliner_status replicas_print(session *s, const request *r, const popliner_costs_file *info,
                               const popliner_certificate_input *names, replicas_read read,
                               popliner_error *error);

/* Solves for the number of devices of each stage, for --device-map replicas. The caller frees *plan.
 * Errors: USAGE for what does not go with that. */
popliner_status replicas_of_stages(session *s, const request *r, const popliner_costs_file *info,
                                   popliner_plan **plan, popliner_error *error);

/* Like replicas_print, for the profile of the session. */
popliner_status replicas_print_profile(session *s, const request *r, popliner_error *error);

#endif
