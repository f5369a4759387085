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

/* The reason why a program belongs to no operation that counts, or memory is unattributed. */
typedef enum popliner_missing_reason {
    POPLINER_MISSING_NO_DEBUG_ID,     /* its program has no debug id */
    POPLINER_MISSING_UNKNOWN_CONTEXT, /* the debug id is not in the debug information */
    POPLINER_MISSING_NO_OPERATION,    /* no context above it is an operation */
    /* its operation is in no layer, and layer_operations_only is set */
    POPLINER_MISSING_NO_LAYER,
    POPLINER_MISSING_UNTOUCHED, /* data that no program touches */
    POPLINER_MISSING_PARENT,    /* a parent's own control code, which no operation counts */
    POPLINER_MISSING_COMPILER,  /* the compiler's own memory, not data of the model */
} popliner_missing_reason;

/* More than the number of reasons. */
#define POPLINER_MAX_MISSING_REASONS 16

/* An unattributed part of the code or vertex state of a category: the code of a vertex type, the
 * state of a compute set, or the code of a program. Code that a program of a counted operation also
 * has on the tile in question is attributed. */
typedef struct popliner_missing_part {
    const char *
        /* the name of the type whose code it is; NULL if it is not code of a vertex type */
        vertex_type;
    uint64_t size_bytes; /* sum over the tiles in question */
    /* [num_reasons] of all its programs: distinct, that of the first program first */
    popliner_missing_reason reasons[POPLINER_MAX_MISSING_REASONS];
    size_t num_reasons;
    size_t num_programs;  /* the number of programs that have it there */
    uint32_t programs[3]; /* the first of the programs */
} popliner_missing_part;

/* The programs of one type. */
typedef struct popliner_diagnosis_programs {
    const char *type; /* for example "OnTileExecute" */
    size_t num_all;
    size_t num_seen;         /* in operations that count */
    const uint32_t *missing; /* numbers of the other programs, ascending: [num_all - num_seen] */
} popliner_diagnosis_programs;

/* One memory category, over all tiles. For code and vertex state, the attributed bytes are those
 * that the profile reports for programs of counted operations; for data, those of the variables
 * that these programs touch. */
typedef struct popliner_diagnosis_category {
    const char *name;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    size_t tiles_exceeded; /* on which more is attributed than reported */
} popliner_diagnosis_category;

/* Unattributed variables of one name and category. Code and vertex state have parts instead of a
 * name: size_bytes is the sum of the parts, of compiler_bytes, and of what programs touch of the
 * category that is not always-live. Belongs to the diagnosis; later versions may append members. */
typedef struct popliner_missing_variable {
    const char *name; /* of the unlowered variable; "" if there is none */
    const char *category;
    uint64_t size_bytes;    /* sum over the tiles in question */
    size_t num_programs;    /* the number of programs that touch them */
    uint32_t programs[3];   /* the first of the programs */
    uint64_t debug_context; /* of the unlowered variable; 0 if it has none */

    /* [num_reasons] of all programs that touch them, and of all parts: distinct, that of the first
     * program or the largest part first, POPLINER_MISSING_COMPILER last */
    popliner_missing_reason reasons[POPLINER_MAX_MISSING_REASONS];
    size_t num_reasons;
    const popliner_missing_part *parts; /* [num_parts], the largest first */
    size_t num_parts;
    uint64_t compiler_bytes; /* the compiler's own: neither data of the model nor of a program */
} popliner_missing_variable;

/* The number of operations whose layer one rule found. */
typedef struct popliner_coverage {
    popliner_layer_rule rule;
    size_t num_named; /* as popliner_layer_finding.num_named */
    const char *note; /* as popliner_layer_finding.note */
    size_t num_operations;
} popliner_coverage;

/* Why addresses of a tile that lie below its highest one are not in use at the step where most is
 * live. docs/internals/layout.md explains them. */
typedef enum popliner_gap {
    POPLINER_GAP_RESERVED,  /* the first bytes of each tile */
    POPLINER_GAP_ALIGNMENT, /* before a variable that needs a multiple of its alignment */
    POPLINER_GAP_CODE,      /* no data lies in the elements of memory that hold code */
    POPLINER_GAP_APART,     /* other variables that must not share an element */
    POPLINER_GAP_LIVES,     /* in use at some step, but not at that one */
    POPLINER_NUM_GAPS,
} popliner_gap;

/* The tiles laid out by the compiler's rule: whether its variables get the addresses of the file.
 * Of large profiles every n-th tile was laid out. Sums are over these tiles. */
typedef struct popliner_layout {
    size_t num_tiles;       /* that were laid out, without those that have no variables */
    size_t num_tiles_equal; /* on which all addresses are those of the file */
    size_t num_ends_equal;  /* on which the highest one is */
    uint64_t num_variables;
    uint64_t num_equal;                    /* variables with the address of the file */
    uint64_t end_bytes;                    /* up to the highest addresses, as laid out */
    uint64_t live_bytes;                   /* of these in use at the step where most is live */
    uint64_t gap_bytes[POPLINER_NUM_GAPS]; /* the others */
} popliner_layout;

/* The options of a diagnosis. Begin with POPLINER_DIAGNOSIS_OPTIONS_INIT. */
typedef struct popliner_diagnosis_options {
    size_t struct_size;
    popliner_memory_model memory_model;
    bool layer_operations_only; /* operations in no layer do not count */
    size_t first_unit;          /* of the chain: the bottleneck is searched for in the steps of */
    size_t last_unit;           /* first_unit ... last_unit; SIZE_MAX for the last unit */
} popliner_diagnosis_options;

#define POPLINER_DIAGNOSIS_OPTIONS_INIT                                                            \
    { sizeof(popliner_diagnosis_options), POPLINER_MEMORY_MODEL_FULL, false, 0, SIZE_MAX }

/* A diagnosis of one profile. Texts live as long as the analysis, which must outlive it. Owned by
 * the caller, who reads it and changes nothing; free with popliner_diagnosis_free. Later versions
 * may append members. */
typedef struct popliner_diagnosis {
    popliner_memory_model model;
    bool layer_operations_only;
    const popliner_diagnosis_programs *programs; /* [num_program_types] that occur */
    size_t num_program_types;
    const popliner_diagnosis_category *categories; /* [num_categories] that occur */
    size_t num_categories;
    const popliner_coverage *coverage; /* [num_coverage] */
    size_t num_coverage;
    size_t num_operations;
    /* Unattributed memory at the bottleneck (`tile` and `step` below) and on all tiles; the largest
     * first. */
    const popliner_missing_variable *missing_here; /* [num_missing_here] */
    size_t num_missing_here;
    const popliner_missing_variable *missing_everywhere; /* [num_missing_everywhere] */
    size_t num_missing_everywhere;

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

    popliner_layout layout;
} popliner_diagnosis;

/* Frees a diagnosis. NULL is fine. */
void popliner_diagnosis_free(popliner_diagnosis *diagnosis);

/* ---- Consistency of the profile and its debug information ---- */

/* Relations between the parts of a profile; docs/profile-format.md numbers them. */
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

/* The result of checking one relation. */
typedef struct popliner_check {
    popliner_relation relation;
    const char *name; /* for example "always_live" */
    /* places: tiles, steps, ...; 0 if the profile lacks a table that is needed */
    size_t checked;
    size_t breached;        /* the places where the relation does not hold */
    uint64_t largest_bytes; /* the largest difference; vertices or rows where these are counted */
    const char *where;      /* the place of the largest difference: "tile 5, total"; "" for none */
    const char *untrusted;  /* the results that a breach makes unreliable: "memory by category" */
} popliner_check;

#ifdef __cplusplus
}
#endif

#endif
