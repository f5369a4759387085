/* popliner: what an analysis explains of the compiler's own account of memory, what it misses, and
 * why; and what layers share.
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

/* Why a program belongs to no operation that counts, or memory is explained by none. */
typedef enum popliner_missing_reason {
    POPLINER_MISSING_NO_DEBUG_ID,     /* its program has no debug id */
    POPLINER_MISSING_UNKNOWN_CONTEXT, /* the debug id is not in the debug information */
    POPLINER_MISSING_NO_OPERATION,    /* no context above it is an operation */
    POPLINER_MISSING_NO_LAYER,        /* its operation is in no layer, and only layers count */
    POPLINER_MISSING_UNTOUCHED,       /* data that no program touches */
    POPLINER_MISSING_PARENT,          /* a parent's own control code, which no operation counts */
    POPLINER_MISSING_COMPILER,        /* no data of the model, but the compiler's own */
} popliner_missing_reason;

/* Room for more reasons than there are. */
#define POPLINER_MAX_MISSING_REASONS 16

/* Reasons without repeats, and a few words for each, without a full stop. Begins with that of the
 * first program, or of the largest part; POPLINER_MISSING_COMPILER comes last. */
typedef struct popliner_missing_reasons {
    size_t count;
    popliner_missing_reason at[POPLINER_MAX_MISSING_REASONS];
    const char *text[POPLINER_MAX_MISSING_REASONS];
} popliner_missing_reasons;

/* A part of the code or vertex state of a category that is missing, and whose it is: the code of a
 * vertex type, the state of a compute set, the code of a program. Code that a program which counts
 * has as well, on the tile in question, is not missing. */
typedef struct popliner_missing_part {
    const char *vertex_type; /* the name of the type whose code it is; NULL if it is no such code */
    uint64_t size_bytes;     /* sum over the tiles in question */
    popliner_missing_reasons reasons; /* of all its programs */
    size_t num_programs;              /* how many programs have it there */
    uint32_t programs[3];             /* the first of these */
} popliner_missing_part;

/* The programs of one type. */
typedef struct popliner_diagnosis_programs {
    const char *type; /* "OnTileExecute" */
    size_t num_all;
    size_t num_seen;         /* of these, in operations that count */
    const uint32_t *missing; /* numbers of the others, ascending: [num_all - num_seen] */
} popliner_diagnosis_programs;

/* One memory category, over all tiles. Explained are, for code and vertex state, what programs that
 * count tell of it, for data the variables that they touch. */
typedef struct popliner_diagnosis_category {
    const char *name;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    size_t tiles_exceeded; /* on which more is explained than there is */
} popliner_diagnosis_category;

/* Variables of one name and category that no operation that counts explains. Those of code and
 * vertex state have no name, but parts: size_bytes is the sum of the parts and of compiler_bytes,
 * and of what programs touch of the category that is not always live. Belongs to the diagnosis;
 * later versions may append members. */
typedef struct popliner_missing_variable {
    const char *name; /* of the unlowered variable; "" if there is none */
    const char *category;
    uint64_t size_bytes;            /* sum over the tiles in question */
    popliner_missing_reason reason; /* the first of the reasons, as below */
    const char *reason_text;        /* a few words for it, without a full stop */
    size_t num_programs;            /* how many programs touch them */
    uint32_t programs[3];           /* the first of these */
    uint64_t debug_context;         /* of the unlowered variable; 0 if it has none */

    popliner_missing_reasons reasons;   /* of all programs that touch them, and of all parts */
    const popliner_missing_part *parts; /* [num_parts], the largest first */
    size_t num_parts;
    uint64_t compiler_bytes; /* the compiler's own: no data of the model, and of no program */
} popliner_missing_variable;

/* How many operations got their layer by which rule. */
typedef struct popliner_coverage {
    popliner_layer_rule rule;
    size_t num_named; /* as popliner_layer_finding.num_named */
    const char *note; /* as popliner_layer_finding.note */
    size_t num_operations;
} popliner_coverage;

/* What is diagnosed. Begin with POPLINER_DIAGNOSIS_OPTIONS_INIT. */
typedef struct popliner_diagnosis_options {
    size_t struct_size;
    popliner_memory_model memory_model;
    bool layer_operations_only; /* operations in no layer do not count */
    size_t first_unit;          /* of the chain: only steps of these units are searched for the */
    size_t last_unit;           /* bottleneck; SIZE_MAX for the last unit */
} popliner_diagnosis_options;

#define POPLINER_DIAGNOSIS_OPTIONS_INIT                                                            \
    { sizeof(popliner_diagnosis_options), POPLINER_MEMORY_MODEL_FULL, false, 0, SIZE_MAX }

/* Everything about one profile. Texts live as long as the analysis, which must outlive it. Owned by
 * the caller that asked for it; free with popliner_diagnosis_free. */
typedef struct popliner_diagnosis popliner_diagnosis;

/* What was diagnosed. */
typedef struct popliner_diagnosis_summary {
    popliner_memory_model model;
    bool layer_operations_only;
    const popliner_diagnosis_programs *programs; /* [num_program_types] that occur */
    size_t num_program_types;
    const popliner_diagnosis_category *categories; /* [num_categories] that occur */
    size_t num_categories;
    const popliner_coverage *coverage; /* [num_coverage] */
    size_t num_coverage;
    size_t num_operations;
    /* What is missing at the bottleneck, which is the tile and the step below, and on all tiles;
     * the largest first. */
    const popliner_missing_variable *missing_here; /* [num_missing_here] */
    size_t num_missing_here;
    const popliner_missing_variable *missing_everywhere; /* [num_missing_everywhere] */
    size_t num_missing_everywhere;

    /* Tile and step where the compiler counts most, and what is explained there. In PopLiner's
     * model the explained bytes are those of the whole stage at its own step, as in the
     * original. */
    size_t tile;
    size_t step;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    const char *program_name; /* of the step's program or compute set */

    /* Tile and step where the model explains most. */
    size_t model_tile;
    size_t model_step;
    uint64_t model_bytes;

    /* Tiles on which what is explained and what is listed as missing do not add up to the
     * compiler's account; SIZE_MAX if the profile has none. */
    size_t tiles_off;

    /* The first and the last step that the stage of all operations that count has;
     * last_step < first_step for none. */
    size_t first_step;
    size_t last_step;

    /* A regex that would find layers in the names of operations that have none, "" if there is no
     * likely one, with an example and the number of layers that it finds. */
    const char *suggested_regex;
    const char *suggestion_example;
    size_t suggested_layers;
} popliner_diagnosis_summary;

/* As long as the diagnosis. O(1). */
const popliner_diagnosis_summary *
popliner_diagnosis_get_summary(const popliner_diagnosis *diagnosis);

/* NULL is fine. */
void popliner_diagnosis_free(popliner_diagnosis *diagnosis);

/* ---- the profile against itself and its debug information ---- */

/* What ties the parts of a profile to each other; docs/profile-format.md numbers them. */
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

/* What came of one of them. */
typedef struct popliner_check {
    popliner_relation relation;
    const char *name;       /* "always_live" */
    size_t checked;         /* places: tiles, steps, ...; 0 where the profile lacks a table of it */
    size_t breached;        /* of these, where it does not hold */
    uint64_t largest_bytes; /* the largest difference; vertices or rows where these are counted */
    const char *where;      /* it is: "tile 5, total"; "" for nowhere */
    const char *untrusted;  /* what a breach puts in doubt: "memory by category" */
} popliner_check;

/* ---- pairs of layers ---- */

/* Two square tables over the layers: row i, column j is item i * num_layers + j. Owned by the
 * analysis. */
typedef struct popliner_layer_pairs {
    size_t num_layers;
    const char *const *names; /* [num_layers] */
    /* Bytes of the lowered variables that operations of both layers touch; on the diagonal, all
     * that the layer touches. Symmetric. */
    const uint64_t *affinity_bytes;
    /* Bytes of the lowered variables that both layers touch and that have a live range which begins
     * at a step of an operation of layer i and ends (its last live step) at one of layer j. */
    const uint64_t *communication_bytes;
} popliner_layer_pairs;

#ifdef __cplusplus
}
#endif

#endif
