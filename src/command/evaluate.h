/* --evaluate: a split that is given by hand, in terms of the chain's units; --calibrate: against
 * the pipeline as it was compiled.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_EVALUATE_H_NEW
#define PL_COMMAND_EVALUATE_H_NEW

#include "command/request.h"
#include "command/session.h"

/* Zero-initialise; free with split_free, also after an error. */
typedef struct given_split {
    request request;
    size_t *first_units; /* [num_cuts]: the units behind the cuts */
    size_t num_cuts;
    popliner_recompute *recomputes; /* of each stage, or NULL */
} given_split;

void split_free(given_split *split);

/* What --evaluate asks, in terms of these units, or with NULL of those of the profile that was
 * read. Errors: USAGE, which names the option; those of popliner_analysis_chain. */
popliner_status split_take(session *s, const unit_list *units, given_split *split,
                           popliner_error *error);

/* ---- calibrating with a pipeline that was compiled ---- */

/* Reads --calibration, if it was given, and warns if it was made for something else. */
popliner_status read_calibration(session *s, popliner_error *error);

#endif
