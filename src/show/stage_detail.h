/* What is told of the IPU that a stage runs on.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_STAGE_DETAIL_H
#define PL_SHOW_STAGE_DETAIL_H

#include <jansson.h>

#include "popliner/certificate.h"

enum { PL_SHOWN_VARIABLES = 5 };

/* The memory of an IPU, summed up, and its largest tile. Plain memory. */
typedef struct pl_stage_detail {
    uint64_t total_bytes; /* over all tiles, like the next seven */
    uint64_t variables_bytes;
    uint64_t vertex_code_bytes;
    uint64_t vertex_state_bytes;
    uint64_t exchange_code_bytes;
    uint64_t control_code_bytes;
    uint64_t unexplained_bytes;
    uint64_t stash_bytes;
    uint64_t parameter_bytes;
    size_t tile; /* the largest one */
    uint64_t tile_bytes;
    uint64_t tile_unexplained_bytes;
    uint64_t tile_stash_bytes;
    size_t step; /* of its peak */
    size_t num_variables;
    popliner_stage_variable variables[PL_SHOWN_VARIABLES]; /* the largest there */
} pl_stage_detail;

/* Measures stages that are together on one IPU, with what they keep for a pipeline (NULL: none).
 * Errors: MEMORY. */
popliner_status pl_stage_detail_measure(popliner_stage_meter *meter,
                                        const popliner_pipeline *pipeline,
                                        const popliner_interval *stages, size_t num_stages,
                                        pl_stage_detail *detail, popliner_error *error);

/* The object `mem` of the original's output, and `unexplained` in the full model, `stash` if
 * `has_stash`. NULL without memory. */
json_t *pl_stage_detail_memory_json(const pl_stage_detail *detail, bool is_full, bool has_stash);

/* The largest variables as an array of objects. NULL without memory. */
json_t *pl_stage_detail_variables_json(const pl_stage_detail *detail,
                                       const popliner_profile *profile);

#endif
