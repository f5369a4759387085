/* What the log adds to an answer of --solve; for most of it something else is solved.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_REMARKS_H
#define PL_COMMAND_REMARKS_H

#include "command/request.h"
#include "popliner/solver.h"

/* Tells if with one IPU fewer the largest tile would be little larger, of a plan that is proven to
 * have the smallest. `costs` are those that it was chosen by; NULL: nothing is told. */
popliner_status remark_fewer_ipus(session *s, const request *r, popliner_certificate *certificate,
                                  const popliner_costs *costs, popliner_error *error);

/* Tells if the largest tile would be noticeably smaller if a stage might hold no layer, of a plan
 * that is proven to have the smallest and where nobody said how many layers a stage holds. */
popliner_status remark_no_layers(session *s, const request *r, popliner_certificate *certificate,
                                 const popliner_costs *costs, popliner_error *error);

/* Tells of a plan that is infeasible if that is for the sake of the layer that each stage holds
 * without anybody having asked for it. */
popliner_status remark_min_layers(session *s, const request *r, popliner_certificate *certificate,
                                  popliner_error *error);

/* Tells of a plan that is infeasible what stands in the way, as far as it is not in the plan: the
 * IPUs of the best effort that are above limits of their own, a stage that the costs forbid, an IPU
 * that is too far behind. */
popliner_status remark_obstacles(session *s, const request *r, popliner_certificate *certificate,
                                 const popliner_costs *costs, popliner_error *error);

#endif
