/* The search for hints, in an analysis or in a page's module, which has a function of its own for
 * what the analysis solves.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_HINTS_H
#define PL_ANALYSIS_HINTS_H

#include "answer/certificate_data.h"
#include "popliner/analysis.h"

/* Does popliner_certificate_find_hints. The caller has entered the analysis (NULL: the costs are of
 * no profile), which hears of no trial. */
popliner_status pl_hints_find(pl_certificate *c, popliner_analysis *analysis, bool has_variables,
                              const popliner_request *request, const popliner_costs *costs,
                              popliner_costs_reader read, void *user, popliner_error *error);

#endif
