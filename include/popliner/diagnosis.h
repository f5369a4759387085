/* popliner: how much of the memory that the compiler reports is attributed to operations, which
 * part is not, and why; and the memory that layers share.
 *
 * Threads: a diagnosis does not change, and any number of threads may read it at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_DIAGNOSIS_H
#define POPLINER_DIAGNOSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The figures of a diagnosis of one profile. popliner_report_diagnosis writes all of it, the
 * sections DIAGNOSIS and MISSING its tables. Texts live as long as the analysis, which must outlive
 * it. Owned by the caller, who reads it and changes nothing; free with popliner_diagnosis_free.
 * Later versions may append members. */
typedef struct popliner_diagnosis {
    popliner_memory_model model;
    bool layer_operations_only;
    size_t num_operations;

    /* The bottleneck: tile and step where the compiler reports most memory, and the attributed part
     * of it. In PopLiner's model explained_bytes is that of the whole stage at its own step, as in
     * PopLiner 1.0.0. */
    size_t tile;
    size_t step;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    const char *program_name; /* of the step's program or compute set */

    /* Tile and step where the model attributes most. */
    size_t model_tile;
    size_t model_step;
    uint64_t model_bytes;

    /* The number of tiles on which attributed and unattributed memory do not add up to the
     * compiler's account; SIZE_MAX if the profile has no such account. */
    size_t tiles_off;

    /* The first and the last step of all operations that count; last_step < first_step for none. */
    size_t first_step;
    size_t last_step;

    /* A regex that would find layers in the names of operations without a layer, with an example
     * and the number of layers that it finds; "" if there is no likely one. */
    const char *suggested_regex;
    const char *suggestion_example;
    size_t suggested_layers;

    /* [num_contradictions] sentences: where attributed and unattributed memory do not add up, and
     * the categories of which more is attributed than the compiler reports. */
    const char *const *contradictions;
    size_t num_contradictions;
} popliner_diagnosis;

/* Frees a diagnosis. NULL is fine. */
void popliner_diagnosis_free(popliner_diagnosis *diagnosis);

/* ---- Consistency of the profile and its debug information ---- */

/* Relations between the parts of a profile; docs/profile-format.md numbers them. The section CHECKS
 * has the result of each. */
typedef enum popliner_relation {
    POPLINER_RELATION_ALWAYS_LIVE,     /* 1, by tile */
    POPLINER_RELATION_NOT_ALWAYS_LIVE, /* 2, by tile */
    POPLINER_RELATION_LAYOUT,          /* 3, by tile */
    POPLINER_RELATION_CATEGORIES,      /* 4, by tile */
    POPLINER_RELATION_STEPS,           /* 5, by liveness step */
    POPLINER_RELATION_VERTEX_COUNTS,   /* 6, by compute set */
    POPLINER_RELATION_TOTALS,          /* 6, the graph's totals */
    POPLINER_RELATION_VERTEX_MEMORY,   /* 7, by tile: vertex types and compute sets */
    POPLINER_RELATION_VERTEX_STATE,    /* 8 and 11, by tile */
    POPLINER_RELATION_VERTEX_CODE,     /* 12, by tile */
    POPLINER_RELATION_DEBUG_INFO,      /* 18, by program that has a debug context */
    POPLINER_RELATION_STEP_ORDER,      /* 9, by liveness step */
    POPLINER_RELATION_PROGRAM_TYPES,   /* 20, by program */
    POPLINER_RELATION_CONTROL_CODE,    /* 10, by program, and of the roots by tile */
    POPLINER_RELATION_EXCHANGE_CODE,   /* 12, by tile */
    POPLINER_RELATION_EXCHANGES,       /* 13 and 19, by exchange and host copy */
    POPLINER_RELATION_COMPUTE_SETS,    /* 19, by compute set */
} popliner_relation;

#ifdef __cplusplus
}
#endif

#endif
