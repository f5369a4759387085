/* popliner: what an analysis explains of the compiler's own account of memory, what it misses, and
 * why.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_DIAGNOSIS_H
#define POPLINER_DIAGNOSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/stage.h"
#include "profile/debug_info.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a program belongs to no operation that counts, or a variable is touched by none. */
typedef enum popliner_missing_reason {
    POPLINER_MISSING_NO_DEBUG_ID,     /* its program has no debug id */
    POPLINER_MISSING_UNKNOWN_CONTEXT, /* the debug id is not in the debug information */
    POPLINER_MISSING_NO_OPERATION,    /* no context above it is an operation */
    POPLINER_MISSING_NO_LAYER,        /* its operation is in no layer, and only layers count */
    POPLINER_MISSING_UNTOUCHED,       /* data that no program touches */
    POPLINER_MISSING_PROGRAMS,        /* code of programs that are missing themselves, in part */
    POPLINER_MISSING_COMPILER,        /* no data of the model, but the compiler's own */
} popliner_missing_reason;

/* A sentence without a full stop for a reason; static text. */
const char *popliner_missing_reason_text(popliner_missing_reason reason);

/* The programs of one type. */
typedef struct popliner_diagnosis_programs {
    const char *type; /* "OnTileExecute" */
    size_t num_all;
    size_t num_seen;   /* of these, in operations that count */
    uint32_t *missing; /* numbers of the others, ascending: [num_all - num_seen] */
} popliner_diagnosis_programs;

/* One memory category, over all tiles. Explained are, for code and vertex state, what programs that
 * count tell of it, for data the variables that they touch. */
typedef struct popliner_diagnosis_category {
    const char *name;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    size_t tiles_exceeded; /* on which more is explained than there is */
} popliner_diagnosis_category;

/* Variables of one name and category that no operation that counts explains. */
typedef struct popliner_missing_variable {
    const char *name; /* of the unlowered variable; "" if there is none */
    const char *category;
    uint64_t size_bytes; /* sum over the tiles in question */
    popliner_missing_reason reason;
    size_t num_programs;    /* how many programs touch them */
    uint32_t programs[3];   /* the first of these */
    uint64_t debug_context; /* of the unlowered variable; 0 if it has none */
} popliner_missing_variable;

typedef struct popliner_missing_variables {
    popliner_missing_variable *items; /* largest first */
    size_t count;
} popliner_missing_variables;

/* How many operations got their layer by which rule. */
typedef struct popliner_coverage {
    popliner_layer_rule rule;
    size_t num_named; /* as popliner_layers_num_named */
    const char *note; /* as popliner_layers_note, "" for by name */
    size_t num_operations;
} popliner_coverage;

/* Everything about one profile. Texts live as long as the profile and the layers. Zero-initialise;
 * free with pl_diagnosis_clear. */
typedef struct popliner_diagnosis {
    popliner_memory_model model;
    bool layer_operations_only;

    popliner_diagnosis_programs *programs; /* the types that occur */
    size_t num_program_types;

    popliner_diagnosis_category *categories; /* those that occur */
    size_t num_categories;

    /* Tile and step where the compiler counts most, and what is explained there. In PopLiner's
     * model the explained bytes are those of the whole stage at its own step, as in the original.
     */
    size_t tile;
    size_t step;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    const char *program_name; /* of the step's program or compute set */
    popliner_missing_variables missing_here;

    /* Tile and step where the model explains most. */
    size_t model_tile;
    size_t model_step;
    uint64_t model_bytes;

    /* Over all tiles. */
    popliner_missing_variables missing_everywhere;

    /* Tiles on which what is explained and what is listed as missing do not add up to the
     * compiler's account; SIZE_MAX if the profile has none. */
    size_t tiles_off;

    /* The first and the last step that the stage of all operations that count has;
     * last_step < first_step for none. */
    size_t first_step;
    size_t last_step;

    popliner_coverage *coverage;
    size_t num_coverage;
    size_t num_operations;

    /* A regex that would find layers in the names of operations that have none, "" if there is no
     * likely one, with an example and the number of layers that it finds. */
    char suggested_regex[160];
    char suggestion_example[160];
    size_t suggested_layers;
} popliner_diagnosis;

typedef struct popliner_diagnosis_options {
    bool layer_operations_only; /* operations in no layer do not count */
    size_t first_unit;          /* of the chain: only steps of these units are searched for the */
    size_t last_unit;           /* bottleneck; SIZE_MAX for the last unit */
} popliner_diagnosis_options;

/* Takes the operations as one stage and compares it with the compiler's account. The chain has to
 * be that of `model`; layers are those of the chain. Without options (NULL) all operations count
 * and all steps are searched. Errors: USAGE (no such unit), MEMORY. Cost: a few passes over
 * variables and programs. */
popliner_status pl_diagnose(const popliner_profile *profile, const popliner_operations *operations,
                            const popliner_layers *layers, const popliner_chain *chain,
                            pl_stage_meter *meter, const popliner_diagnosis_options *options,
                            popliner_diagnosis *diagnosis, popliner_error *error);
void pl_diagnosis_clear(popliner_diagnosis *diagnosis);

/* Why a program belongs to no operation; only for one that does not. */
popliner_missing_reason pl_program_reason(const popliner_operations *operations, size_t program);

#ifdef __cplusplus
}
#endif

#endif
