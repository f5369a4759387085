/* The details of all stages of a chain, as they are gathered and stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_INTERVALS_STAGE_DETAILS_H
#define PL_INTERVALS_STAGE_DETAILS_H

#include "base/fields.h"
#include "intervals/peak_envelope.h"
#include "memory/code.h"
#include "popliner/stage_detail.h"

/* What a stage has over all tiles. */
typedef struct pl_detail_sums {
    uint64_t variables_bytes;
    uint64_t code_bytes[PL_NUM_CODE_GROUPS];
    uint64_t unexplained_bytes;
    uint64_t stash_bytes; /* one copy */
    uint64_t parameter_bytes;
} pl_detail_sums;

/* The largest variables of a largest tile at its step. Made without gaps, for it is stored as it
 * is. */
typedef struct pl_detail_variables {
    uint32_t count;
    uint32_t variable[POPLINER_DETAIL_VARIABLES];
    uint32_t size_bytes[POPLINER_DETAIL_VARIABLES];
    uint32_t unlowered[POPLINER_DETAIL_VARIABLES]; /* or PL_NONE */
    uint32_t category[POPLINER_DETAIL_VARIABLES];
} pl_detail_variables;

/* Stages are in the order of costs/triangle.h. All arrays are owned. */
struct popliner_stage_details {
    size_t num_units;
    pl_detail_sums *sums;           /* [largest.num_intervals] */
    pl_peak_envelope largest;       /* packed; its pipeline is what they were measured for */
    pl_detail_variables *variables; /* [largest.num_pieces] */
    uint64_t *cuts_bytes;           /* [num_units], by the unit behind the cut */
    size_t num_cycles;              /* 0 if they are not known, else that of the stages */
    uint64_t *cycles;
};

/* Takes over sums and largest tiles of the stages, and the cuts and cycles of the costs; there is
 * room for the variables. If it fails, nothing was taken over. Errors: MEMORY. */
popliner_status pl_details_create(pl_detail_sums *sums, pl_peak_envelope *largest,
                                  const popliner_costs *costs, popliner_stage_details **details,
                                  popliner_error *error);

/* Whether what was measured for a pipeline tells of another one, see popliner_stage_details_serve;
 * most_stages of the former are 1 if it keeps nothing. */
bool pl_details_serve(const popliner_pipeline *measured, const popliner_pipeline *wanted);

/* Adds to sums[count] those of other tiles. */
void pl_detail_sums_add(pl_detail_sums *sums, const pl_detail_sums *others, size_t count);

/* Its arrays, for storing and loading, of which there must be room for PL_DETAILS_FIELDS; returns
 * how many. */
enum { PL_DETAILS_FIELDS = 6 };
size_t pl_details_fields(popliner_stage_details *details, pl_field *fields);

/* Whether loaded arrays belong to so many units, and name what the profile has. */
bool pl_details_check(const popliner_stage_details *details, size_t num_units,
                      const popliner_profile *profile);

#endif
