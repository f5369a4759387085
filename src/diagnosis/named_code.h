/* Whose the code and the vertex state are that no operation explains.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_NAMED_CODE_H
#define PL_DIAGNOSIS_NAMED_CODE_H

#include "diagnosis/explained.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"

typedef struct pl_named_code {
    popliner_missing_part *parts; /* [num_parts], owned: the largest first */
    size_t num_parts;
    uint64_t named_bytes; /* their sum */
    uint64_t rest_bytes;  /* missing, and nobody's */
} pl_named_code;

/* Names what is missing of a code (PL_DIAGNOSED_VERTEX and so on) on a tile, or on all (SIZE_MAX),
 * from what the profile tells of vertex types, compute sets and programs. In their order there each
 * gets what it has of what is still missing on a tile; together with the rest that is all of it.
 * *named is 0 before, and the caller's to free, also after an error. Errors: MEMORY. Cost: a few
 * passes over the vertices of compute sets; O(tiles) for each part. */
popliner_status pl_name_code(const pl_explained *explained, int code, size_t tile,
                             pl_named_code *named, popliner_error *error);

#endif
