/* The members of a comparison.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANSWER_CALIBRATION_DATA_H
#define PL_ANSWER_CALIBRATION_DATA_H

#include "pipeline/pipeline.h"
#include "popliner/changes.h"

typedef struct pl_comparison {
    popliner_comparison info; /* first: it is what the caller has */
    size_t num_stages;
    popliner_compared_stage *stages; /* owned, as are the next three */
    pl_fit_stage *learnt;            /* [num_stages] */
    char **names;                    /* [2 * num_stages]: of the first and the last unit */
    char *poplar_version;            /* of what was compiled */
    popliner_request request;        /* complete, without a solver; with the given calibration */
    size_t num_tiles;
    bool counts_layout;
    bool has_correction;
    popliner_calibration correction;
} pl_comparison;

#endif
