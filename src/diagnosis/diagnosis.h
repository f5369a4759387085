/* What a diagnosis is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_DIAGNOSIS_H
#define PL_DIAGNOSIS_DIAGNOSIS_H

#include "diagnosis/suggestion.h"
#include "memory/stage.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/solver.h"
#include "profile/debug_info.h"

typedef struct popliner_missing_variables {
    popliner_missing_variable *items; /* largest first */
    size_t count;
} popliner_missing_variables;

/* Everything about one profile. Texts live as long as the profile and the layers. Zero-initialise;
 * free with pl_diagnosis_clear. */
struct popliner_diagnosis {
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

    pl_suggestion suggestion;

    /* Whose it is, for reports; info may be NULL. Set by the analysis. */
    const popliner_profile *profile;
    const popliner_operations *operations;
    const pl_debug_info *info;
    popliner_option_names option_names;

    popliner_diagnosis_summary summary; /* of the above, by pl_diagnosis_summarise */
};

/* Takes the operations as one stage and compares it with the compiler's account. The chain is that
 * of the layers, in the memory model of the options. Errors: USAGE (no such unit), MEMORY. Cost: a
 * few passes over variables and programs. */
typedef struct pl_diagnosis_subject {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_layers *layers;
    const popliner_chain *chain;
    pl_stage_meter *meter;
} pl_diagnosis_subject;

popliner_status pl_diagnose(const pl_diagnosis_subject *subject,
                            const popliner_diagnosis_options *options,
                            popliner_diagnosis *diagnosis, popliner_error *error);
void pl_diagnosis_clear(popliner_diagnosis *diagnosis);

/* Why a program belongs to no operation; only for one that does not. */
popliner_missing_reason pl_program_reason(const popliner_operations *operations, size_t program);

/* A few words for a reason, without a full stop; static text. */
const char *pl_missing_reason_text(popliner_missing_reason reason);

/* Fills the summary from all else. */
void pl_diagnosis_summarise(popliner_diagnosis *diagnosis);

#endif
