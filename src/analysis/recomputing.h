/* What recomputing costs in the pipelines of an analysis, and which ways there are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_RECOMPUTING_H
#define PL_ANALYSIS_RECOMPUTING_H

#include "analysis/analysis_data.h"

/* Adds to the cycles of a table what its stages compute once more in the pipeline, if they do; see
 * pl_unit_cycles_add_forward. Errors: MEMORY. O(steps + units^2). */
popliner_status pl_recomputing_add_cycles(const popliner_analysis *analysis,
                                          const popliner_chain *chain,
                                          const popliner_pipeline *pipeline, popliner_costs *costs,
                                          popliner_error *error);

/* Whether it is known what recomputing takes. Errors: USAGE where the profile tells no cycles, or
 * trains and has none of a forward pass; MEMORY. O(steps). */
popliner_status pl_recomputing_check(const popliner_analysis *analysis, const popliner_chain *chain,
                                     popliner_error *error);

/* The ways that are to be measured of those that stages choose from (bits; 0: all), into
 * measured[PL_NUM_RECOMPUTES]; returns how many. With NONE, STANDARD need not be: it never needs
 * less, and takes as many cycles. Without a pipeline that keeps anything one is enough. */
size_t pl_recomputing_ways(const popliner_pipeline *pipeline, unsigned ways,
                           popliner_recompute *measured);

#endif
