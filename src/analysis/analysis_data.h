/* What an analysis is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_ANALYSIS_DATA_H
#define PL_ANALYSIS_ANALYSIS_DATA_H

#include <stdbool.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/sheet.h"
#include "base/threads.h"
#include "diagnosis/diagnosis.h"
#include "pipeline/pipeline.h"
#include "popliner/analysis.h"
#include "popliner/report.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"
#include "store/store.h"

enum {
    PL_NUM_RECOMPUTES = POPLINER_RECOMPUTE_FULL + 1,
    PL_NUM_STAGE_PLACES = PL_NUM_RECOMPUTES + 1,
};

/* What was made for a memory model; NULL before. */
typedef struct pl_model_parts {
    popliner_chain *chain;
    pl_stage_meter *meter;
    /* All stages, by pl_stages_place. */
    pl_stage_details *stages[PL_NUM_STAGE_PLACES];
    bool is_stored[PL_NUM_STAGE_PLACES]; /* these stages come from the file that was loaded */
    popliner_diagnosis *diagnosis;       /* of all operations */
    bool told_not_stored;                /* that they had to be measured, once */
    bool told_training;                  /* what a pipeline that trains needs, once */
} pl_model_parts;

/* A file that was read. */
typedef struct pl_analysis_file {
    char *name; /* its path; NULL: there is none */
    uint64_t size_bytes;
} pl_analysis_file;

struct popliner_analysis {
    popliner_listener listener; /* tells the recorder, and it the caller's */
    pl_recorder recorder;       /* of all that is told of the profile, not of a request */
    char *layer_name_regex;     /* NULL: the usual one */
    char *first_layer_regex;
    popliner_layer_order layer_order;
    size_t num_threads;
    popliner_option_names option_names; /* complete */
    pl_bounds bounds;                   /* of the call that is at work */
    /* of the calls, and of tables of costs that ask what shared stages need */
    pl_turn turn;

    const popliner_profile *profile;
    const popliner_operations *operations;   /* NULL before they are asked for */
    popliner_check checks[PL_NUM_RELATIONS]; /* of the profile */
    popliner_layers *layers;
    /* Once they are asked for; see popliner_analysis_pair_layers. */
    pl_sharing sharing;
    const char **pair_names; /* owned array */
    popliner_layer_pairs pairs;
    pl_model_parts models[POPLINER_NUM_MEMORY_MODELS];

    /* Whose profile and operations are: those that were read, or what was loaded. */
    popliner_profile *read_profile;
    popliner_operations *found_operations;
    pl_debug_info *info; /* NULL if there is none */
    pl_stored_analysis *stored;
    bool has_variables;
    pl_analysis_file profile_file, debug_file, stored_file; /* for pages */
};

/* Makes an empty analysis that goes by the options; free with popliner_analysis_free. Errors: USAGE
 * for what the options refer to, MEMORY. */
popliner_status pl_analysis_create(const popliner_analysis_options *options,
                                   popliner_analysis **analysis, popliner_error *error);

/* Waits until no other thread works with the analysis. Public functions that make or measure
 * anything enter before they work, and leave when they return; a thread may enter again. Errors:
 * USAGE if the analysis was in use when this process was forked. All other functions here are for
 * who has entered, or works for it in another thread. */
popliner_status pl_analysis_enter(popliner_analysis *analysis, popliner_error *error);
void pl_analysis_leave(popliner_analysis *analysis);

/* Where stages measured for a pipeline are kept: those of one that keeps nothing come first, the
 * others by what is recomputed. */
static inline size_t pl_stages_place(const popliner_pipeline *pipeline) {
    return pl_pipeline_keeps(pipeline) ? 1 + (size_t)pipeline->recompute : 0;
}

/* The pipeline of a request that was taken. Its max_stages mean nothing. */
popliner_pipeline pl_analysis_pipeline(const popliner_request *request);

/* Completes what the caller asks (NULL: nothing) with the defaults. Errors: USAGE. */
popliner_status pl_analysis_take_request(const popliner_request *request, popliner_request *own,
                                         popliner_error *error);

/* Like the public functions of these names. */
popliner_status pl_analysis_layers(popliner_analysis *analysis, const popliner_layers **layers,
                                   popliner_error *error);
popliner_status pl_analysis_pair_layers(popliner_analysis *analysis,
                                        const popliner_layer_pairs **pairs, popliner_error *error);

/* Makes sure that operations and layers are there, and that there is such a memory model. Errors:
 * those of popliner_analysis_layers, USAGE. */
popliner_status pl_analysis_begin(popliner_analysis *analysis, popliner_memory_model model,
                                  popliner_error *error);

/* Makes sure that the lowered variables are there. Errors: INPUT, MEMORY. */
popliner_status pl_analysis_load_variables(popliner_analysis *analysis, popliner_error *error);

/* Makes sure that the chain of a memory model is there, and the lowered variables. */
popliner_status pl_analysis_make_chain(popliner_analysis *analysis, popliner_memory_model model,
                                       popliner_error *error);

/* The same for its meter. */
popliner_status pl_analysis_make_meter(popliner_analysis *analysis, popliner_memory_model model,
                                       popliner_error *error);

/* Stages that were measured already, and makes sure that their chain is there; NULL if they have to
 * be measured. They stay the analysis's, until popliner_analysis_store. */
popliner_status pl_analysis_find_stages(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_pipeline *pipeline,
                                        const pl_stage_details **stages, popliner_error *error);

/* A section more, for pages: executed cycles by type of program, and by unit. */
#define PL_SECTION_EXECUTION_SUMS POPLINER_NUM_SECTIONS

/* popliner_section_text of a section and format that there are, also PL_SECTION_EXECUTION_SUMS and
 * PL_FORMAT_PACKED. */
popliner_status pl_analysis_section(popliner_analysis *analysis, popliner_section section,
                                    popliner_memory_model model,
                                    const popliner_certificate *certificate, popliner_format format,
                                    char **text, popliner_error *error);

/* The diagnosis of all operations, made when it is first asked for; it is the analysis's. Errors:
 * those of popliner_analysis_diagnose. */
popliner_status pl_analysis_keep_diagnosis(popliner_analysis *analysis, popliner_memory_model model,
                                           const popliner_diagnosis **diagnosis,
                                           popliner_error *error);

/* Whether the details of all stages of a chain of so many units are few enough to be kept. */
bool pl_analysis_can_keep_stages(size_t num_units);

/* Measures the details of all stages for pipelines like this one, with what tiles need in each if
 * wanted, unless they were, and keeps them: in stages[pl_stages_place] of the model's parts. The
 * pipeline has no calibration. `purpose` ends the name of the step. The chain
 * and the variables are there. Errors: those of pl_intervals_measure. */
popliner_status pl_analysis_keep_stages(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_pipeline *pipeline, bool with_tile_needs,
                                        const char *purpose, popliner_error *error);

/* popliner_section_text, but the values are kept in *sheet, whose cells the caller clears, also
 * after a failure. */
popliner_status pl_analysis_keep_section(popliner_analysis *analysis, popliner_section section,
                                         popliner_memory_model model,
                                         const popliner_certificate *certificate, pl_sheet *sheet,
                                         popliner_error *error);

/* "summary", "plan", ...; NULL for one that there is not. */
const char *pl_section_name(popliner_section section);

#endif
