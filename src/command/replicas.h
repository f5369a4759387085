/* --total-ipus: how many stages, and how many pipelines beside each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_REPLICAS_H
#define PL_COMMAND_REPLICAS_H

#include "command/request.h"
#include "popliner/certificate.h"
#include "popliner/costs.h"

/* Refuses a bandwidth that is none, and a batch that its micro-batches do not divide. Errors:
 * USAGE. */
popliner_status replicas_check(const options *o, popliner_error *error);

/* Reads the file of costs again for a pipeline. */
typedef popliner_status (*replicas_read)(session *s, const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error);

/* How many stages each IPU has. */
size_t replicas_chunks(const options *o);

/* Solves, and prints the candidates. A soft failure if no pipeline fits, of which the log tells
 * why. `names` tells how units and numbers are called. */
popliner_status replicas_print(session *s, const request *r, const popliner_costs_file_info *info,
                               const popliner_certificate_input *names, replicas_read read,
                               popliner_error *error);

/* The same for the profile of the session. */
popliner_status replicas_print_profile(session *s, const request *r, popliner_error *error);

#endif
