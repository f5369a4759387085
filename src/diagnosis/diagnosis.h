/* What a diagnosis is inside the library; and which layers use the same memory, and what one layer
 * hands to another.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_DIAGNOSIS_H
#define PL_DIAGNOSIS_DIAGNOSIS_H

#include <stddef.h>
#include <stdint.h>

#include "diagnosis/explained.h"
#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/solver.h"
#include "profile/debug_info.h"

/* A regex that would find layers in the names of operations that have none, "" if there is no
 * likely one, with one of these names and the number of layers that it finds. */
typedef struct pl_suggestion {
    char regex[160];
    char example[160];
    size_t num_layers;
} pl_suggestion;

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

/* Fills the summary from all else. */
void pl_diagnosis_summarise(popliner_diagnosis *diagnosis);

/* ---- Pairs of layers ---- */

/* Two square tables over the layers (unit 0 is left out): row i, column j is item
 * i * num_layers + j. Zero-initialise; free with pl_sharing_clear. */
typedef struct pl_sharing {
    size_t num_layers;
    /* Bytes of the lowered variables that operations of both layers touch; on the diagonal, all
     * that the layer touches. Symmetric. */
    uint64_t *affinity_bytes;
    /* Bytes of the lowered variables that both layers touch and that have a live range which begins
     * at a step of an operation of layer i and ends (its last live step) at one of layer j. */
    uint64_t *communication_bytes;
} pl_sharing;

/* `by_operation` may be NULL. Errors: USAGE if the variables are not loaded; MEMORY. Cost: one pass
 * over the variables, and, without `by_operation`, one over those that programs touch. */
popliner_status pl_sharing_measure(const popliner_profile *profile,
                                   const popliner_operations *operations,
                                   const popliner_layers *layers,
                                   const pl_operation_usage *by_operation, pl_sharing *sharing,
                                   popliner_error *error);
void pl_sharing_clear(pl_sharing *sharing);

#endif
