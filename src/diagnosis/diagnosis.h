/* A diagnosis inside the library; the memory that operations explain; and the memory that pairs of
 * layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_DIAGNOSIS_H
#define PL_DIAGNOSIS_DIAGNOSIS_H

#include "base/numbers.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/solver.h"
#include "profile/profile_data.h"

/* ---- Explained memory ------------------------------------------------------------------------ */

/* Code: the categories from PL_CATEGORY_VERTEX_CODE on, which programs explain, rather than the
 * variables that they touch. */

/* The part of a program that counts: its code, or also the variables that it touches. */
enum { PL_SEEN_CODE = 1, PL_SEEN_DATA = 2 };

/* Marks of a variable: a program touches it whose data counts; it is always live and of a category
 * of code, which programs explain, not its being touched. */
enum { PL_MARK_TOUCHED = 1, PL_MARK_CODE = 2 };

/* The bytes that the counted operations explain. */
typedef struct pl_explained {
    const pl_chain *chain;
    uint8_t *program_seen;         /* [num_programs]: 0, PL_SEEN_CODE or PL_SEEN_DATA */
    uint8_t *variable_marks;       /* [num_variables]: PL_MARK_TOUCHED, PL_MARK_CODE, both or 0 */
    pl_category *code_of_category; /* [num_categories]: the code; PL_CATEGORY_OTHER for data */
    /* By code, [num_tiles]: explained; if all programs counted; always live by the compiler. */
    uint64_t *code_bytes[PL_NUM_CATEGORIES];
    uint64_t *all_code_bytes[PL_NUM_CATEGORIES];
    uint64_t *truth_bytes[PL_NUM_CATEGORIES];
    /* the counted operations as a stage; empty unless the model compares at its own steps */
    popliner_stage_memory stage;
    pl_arrays arrays; /* own the others */
} pl_explained;

/* Fills *explained for all operations of the meter's chain, or only those in layers. All members
 * must be 0. Free with pl_explained_free, also after an error. Errors: MEMORY. Cost: a few passes
 * over variables and programs. */
popliner_status pl_explained_find(pl_explained *explained, pl_stage_meter *meter,
                                  bool layer_operations_only, popliner_error *error);
void pl_explained_free(pl_explained *explained);

/* Returns the bytes of a code on a tile that nothing explains. */
static inline uint64_t pl_explained_missing_code(const pl_explained *explained, pl_category code,
                                                 size_t tile) {
    const uint64_t truth_bytes = explained->truth_bytes[code][tile];
    return truth_bytes - pl_smaller(truth_bytes, explained->code_bytes[code][tile]);
}

/* ---- Missing memory -------------------------------------------------------------------------- */

/* Returns a few words for a reason, without a full stop. Static. */
const char *pl_missing_reason_text(pl_missing_reason reason);

/* Unattributed variables of one name and category. Code and vertex state have no name. */
typedef struct pl_missing_variable {
    const char *name; /* of the unlowered variable; "" if there is none */
    const char *category;
    uint64_t size_bytes;    /* sum over the tiles in question */
    size_t num_programs;    /* the number of programs that touch them, or else have such code */
    uint32_t programs[3];   /* the first of the programs */
    uint64_t debug_context; /* of the unlowered variable; 0 if it has none */

    /* [num_reasons] of all programs: distinct, that of the first program first,
     * PL_MISSING_COMPILER last */
    pl_missing_reason reasons[PL_NUM_MISSING_REASONS];
    size_t num_reasons;
    uint64_t compiler_bytes; /* the compiler's own: neither data of the model nor of a program */
} pl_missing_variable;

typedef struct pl_missing_variables {
    pl_missing_variable *items; /* largest first */
    size_t count;
} pl_missing_variables;

/* Lists the variables that are missing on a tile at a step, with reasons, the largest first;
 * SIZE_MAX for all tiles, or any step. The list begins empty. Cost: a pass over the variables, one
 * over what programs touch, and one over their code. */
void pl_missing_find(const pl_explained *explained, size_t tile, size_t step, pl_arrays *arrays,
                     pl_missing_variables *list);

/* ---- The diagnosis --------------------------------------------------------------------------- */

/* The programs of one type. */
typedef struct pl_diagnosis_programs {
    const char *type; /* for example "OnTileExecute" */
    size_t num_all;
    size_t num_seen; /* in operations that count */
} pl_diagnosis_programs;

/* One memory category, over all tiles. For code and vertex state, the attributed bytes are those
 * that the profile reports for programs of counted operations; for data, those of the variables
 * that these programs touch. */
typedef struct pl_diagnosis_category {
    const char *name;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    size_t tiles_exceeded; /* on which more is attributed than reported */
} pl_diagnosis_category;

/* The number of operations whose layer one rule found. */
typedef struct pl_coverage {
    popliner_layer_rule rule;
    size_t num_named; /* as popliner_layer_finding.num_named */
    const char *note; /* as popliner_layer_finding.note */
    size_t num_operations;
} pl_coverage;

/* A diagnosis of one profile. Texts live as long as the profile and the layers. Zero-initialise;
 * free with pl_diagnosis_clear. */
typedef struct pl_diagnosis {
    popliner_diagnosis told;         /* first: it is what the caller has */
    pl_arrays arrays;                /* own all that follows */
    pl_diagnosis_programs *programs; /* the types that occur */
    size_t num_program_types;
    pl_diagnosis_category *categories; /* those that occur */
    size_t num_categories;
    pl_coverage *coverage;
    size_t num_coverage;
    /* unattributed memory at the bottleneck, and on all tiles */
    pl_missing_variables missing_here;
    pl_missing_variables missing_everywhere;

    const popliner_profile *profile;
    popliner_option_names option_names; /* for reports; set by the analysis */
} pl_diagnosis;

/* Compares the operations of the meter's chain, as one stage, with the compiler's totals, at the
 * steps of `units` (see popliner_analysis_diagnose). Errors: USAGE (no such unit), MEMORY. Cost: a
 * few passes over variables and programs. */
popliner_status pl_diagnose(pl_stage_meter *meter, bool layer_operations_only,
                            const popliner_interval *units, pl_diagnosis *diagnosis,
                            popliner_error *error);
void pl_diagnosis_clear(pl_diagnosis *diagnosis);

/* ---- Pairs of layers ------------------------------------------------------------------------- */

/* Two square tables over the layers, without unit 0: row i, column j is item i * num_layers + j.
 * Zero-initialise; free with pl_sharing_clear. */
typedef struct pl_sharing {
    pl_arrays arrays; /* own the tables */
    size_t num_layers;
    /* Bytes of the lowered variables that operations of both layers touch; on the diagonal, of all
     * that the layer touches. Symmetric. */
    uint64_t *affinity_bytes;
    /* Bytes of the lowered variables that both layers touch, with a live range that begins at a
     * step of layer i and whose last step is one of layer j. */
    uint64_t *communication_bytes;
} pl_sharing;

/* Fills the tables for the layers of a chain, whatever its memory model. Errors: USAGE if the
 * variables are not loaded; MEMORY. Cost: a pass over the variables. */
popliner_status pl_sharing_measure(const pl_chain *chain, pl_sharing *sharing,
                                   popliner_error *error);
void pl_sharing_clear(pl_sharing *sharing);

#endif
