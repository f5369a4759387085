/* Telling what --solve found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_ANSWER_H
#define PL_COMMAND_ANSWER_H

#include "command/request.h"
#include "popliner/certificate.h"

/* popliner_certificate_create, which takes the plan over whatever comes of it. */
popliner_status answer_certify(const popliner_certificate_input *input,
                               popliner_certificate **certificate, popliner_error *error);

/* Tells the log of the answer, with remarks on what would be better or enough, by `costs`. */
popliner_status answer_tell(session *s, const request *r, popliner_certificate *certificate,
                            const popliner_costs *costs, popliner_error *error);

/* Tells the log why nothing fits, by a certificate that says so. `costs` may be NULL. */
popliner_status answer_explain(session *s, const request *r, popliner_certificate *certificate,
                               const popliner_costs *costs, popliner_error *error);

/* Tells the log of the answer, and prints and writes all that is made of it. `costs` (NULL: there
 * are none) are those of its integer program. */
popliner_status answer_print(session *s, const request *r, popliner_certificate *certificate,
                             const popliner_costs *costs, popliner_error *error);

#endif
