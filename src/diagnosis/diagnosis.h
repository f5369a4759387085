/* A diagnosis inside the library; the memory that operations explain; and the memory that pairs of
 * layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_DIAGNOSIS_H
#define PL_DIAGNOSIS_DIAGNOSIS_H

#include "memory/chain_data.h"
#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/solver.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"

/* ---- Explained memory ---- */

/* Code: the categories that programs explain, rather than the variables that they touch. */
enum {
    PL_DIAGNOSED_VERTEX,
    PL_DIAGNOSED_INSTANCES,
    PL_DIAGNOSED_FIELDS,
    PL_DIAGNOSED_DESCRIPTORS,
    PL_DIAGNOSED_EXCHANGE,
    PL_DIAGNOSED_CONTROL,
    PL_NUM_DIAGNOSED_CODE,
};

/* The category of each code. */
extern const pl_category pl_diagnosed_code[PL_NUM_DIAGNOSED_CODE];

/* The part of a program that counts: its code, or also the variables that it touches. */
enum { PL_SEEN_CODE = 1, PL_SEEN_DATA = 2 };

/* The bytes that the counted operations explain. */
typedef struct pl_explained {
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_layers *layers;
    const pl_chain *chain;

    size_t *counted; /* [num_counted]: the operations that count, ascending */
    size_t num_counted;
    uint8_t *program_seen;  /* [num_programs]: 0, PL_SEEN_CODE or PL_SEEN_DATA */
    uint8_t *variable_seen; /* [num_variables]: touched by a program whose data counts */
    /* [num_categories]: index of the code; PL_NUM_DIAGNOSED_CODE for data */
    int *code_of_category;
    uint64_t *code_bytes[PL_NUM_DIAGNOSED_CODE]; /* [num_tiles]: explained */
    /* [num_tiles]: always-live bytes in the compiler's account */
    uint64_t *truth_bytes[PL_NUM_DIAGNOSED_CODE];
    /* the counted operations as a stage; empty unless the model compares at its own steps */
    popliner_stage_memory stage;
} pl_explained;

/* Fills *explained for all operations, or only those in layers. The caller sets profile,
 * operations, layers and chain; other members must be 0. Free with pl_explained_free, also after an
 * error. Errors: MEMORY. Cost: a few passes over variables and programs. */
popliner_status pl_explained_find(pl_explained *explained, pl_stage_meter *meter,
                                  bool layer_operations_only, popliner_error *error);
void pl_explained_free(pl_explained *explained);

/* True if the variable is always live and of a category of code: then programs explain it, not its
 * being touched. */
static inline bool pl_explained_is_code(const pl_explained *explained, size_t variable) {
    const popliner_profile *p = explained->profile;
    return explained->code_of_category[p->variable_category[variable]] < PL_NUM_DIAGNOSED_CODE &&
           p->class_always_live[p->variable_class[variable]];
}

/* ---- missing memory ---- */

/* Returns why a program belongs to no operation; only for programs that do not. */
popliner_missing_reason pl_program_reason(const pl_operations *operations, size_t program);

/* Returns a few words for a reason, without a full stop. Static. */
const char *pl_missing_reason_text(popliner_missing_reason reason);

typedef struct popliner_missing_variables {
    popliner_missing_variable *items; /* largest first */
    size_t count;
} popliner_missing_variables;

/* Missing bytes by name and category: item unlowered * categories + category; the last "unlowered"
 * is for variables without one. */
typedef struct pl_missing_bytes {
    uint64_t *bytes; /* [count], owned */
    size_t count;
} pl_missing_bytes;

/* Allocates the bytes, all 0; free them with free(missing->bytes). Errors: MEMORY. */
popliner_status pl_missing_begin(pl_missing_bytes *missing, const popliner_profile *profile,
                                 popliner_error *error);

/* Adds a variable that is missing as a whole. */
void pl_missing_add(pl_missing_bytes *missing, const popliner_profile *profile, size_t variable);

/* Adds the missing code of a tile to its categories, without a name. */
void pl_missing_add_code(pl_missing_bytes *missing, const pl_explained *explained, size_t tile);

/* Lists missing bytes with names, reasons and the parts of code, largest first. They are those of a
 * tile, or of all (SIZE_MAX). Free the list with pl_missing_list_clear, also after an error.
 * Errors: MEMORY. Cost: a pass over what programs touch, and those that find the owners of code. */
popliner_status pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained,
                                size_t tile, popliner_missing_variables *list,
                                popliner_error *error);
void pl_missing_list_clear(popliner_missing_variables *list);

/* ---- The diagnosis ---- */

/* A regex that would find layers in the names of operations without a layer ("" if no regex is
 * likely), a name that it matches, and the number of layers that it finds. */
typedef struct pl_suggestion {
    char regex[160];
    char example[160];
    size_t num_layers;
} pl_suggestion;

/* A diagnosis of one profile. Texts live as long as the profile and the layers. Zero-initialise;
 * free with pl_diagnosis_clear. */
typedef struct pl_diagnosis {
    popliner_diagnosis summary; /* first: it is what the caller has */
    popliner_memory_model model;
    bool layer_operations_only;

    popliner_diagnosis_programs *programs; /* the types that occur */
    size_t num_program_types;

    popliner_diagnosis_category *categories; /* those that occur */
    size_t num_categories;

    /* The tile and step with the compiler's largest total, and the bytes explained there. In
     * PopLiner's model these are those of the whole stage at its own step, as in PopLiner 1.0.0. */
    size_t tile;
    size_t step;
    uint64_t truth_bytes;
    uint64_t explained_bytes;
    const char *program_name; /* of the step's program or compute set */
    popliner_missing_variables missing_here;

    /* The tile and step where the model explains most. */
    size_t model_tile;
    size_t model_step;
    uint64_t model_bytes;

    popliner_missing_variables missing_everywhere;

    /* The number of tiles on which explained and missing bytes do not sum to the compiler's total;
     * SIZE_MAX if the profile has none. */
    size_t tiles_off;

    /* The first and last step of the counted operations as one stage; last_step < first_step if
     * there is none. */
    size_t first_step;
    size_t last_step;

    popliner_coverage *coverage;
    size_t num_coverage;
    size_t num_operations;

    pl_suggestion suggestion;
    popliner_layout layout;

    /* The objects that reports refer to; `info` may be NULL. Set by the analysis. */
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_debug_info *info;
    popliner_option_names option_names;
} pl_diagnosis;

/* Returns the name of the cause of a gap, a word of JSON. Static. */
const char *pl_gap_name(popliner_gap gap);

/* Returns what a gap is, in a few words. Static. */
const char *pl_gap_words(popliner_gap gap);

/* Compares the operations, as one stage, with the compiler's totals. The chain is that of the
 * layers, in the memory model of the options. Errors: USAGE (no such unit), MEMORY. Cost: a few
 * passes over variables and programs. */
typedef struct pl_diagnosis_subject {
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_layers *layers;
    const pl_chain *chain;
    pl_stage_meter *meter;
} pl_diagnosis_subject;

popliner_status pl_diagnose(const pl_diagnosis_subject *subject,
                            const popliner_diagnosis_options *options, pl_diagnosis *diagnosis,
                            popliner_error *error);
void pl_diagnosis_clear(pl_diagnosis *diagnosis);

/* Fills the summary from the other members. */
void pl_diagnosis_summarise(pl_diagnosis *diagnosis);

/* ---- Pairs of layers ---- */

/* Two square tables over the layers, without unit 0: row i, column j is item i * num_layers + j.
 * Zero-initialise; free with pl_sharing_clear. */
typedef struct pl_sharing {
    size_t num_layers;
    /* Bytes of the lowered variables that operations of both layers touch; on the diagonal, of all
     * that the layer touches. Symmetric. */
    uint64_t *affinity_bytes;
    /* Bytes of the lowered variables that both layers touch, with a live range that begins at a
     * step of layer i and whose last step is one of layer j. */
    uint64_t *communication_bytes;
} pl_sharing;

/* Fills the tables. `by_operation` may be NULL. Errors: USAGE if the variables are not loaded;
 * MEMORY. Cost: a pass over the variables; without `by_operation` also one over those that programs
 * touch. */
popliner_status pl_sharing_measure(const popliner_profile *profile, const pl_operations *operations,
                                   const pl_layers *layers, const pl_operation_usage *by_operation,
                                   pl_sharing *sharing, popliner_error *error);
void pl_sharing_clear(pl_sharing *sharing);

#endif
