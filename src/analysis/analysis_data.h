/* The contents of an analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_ANALYSIS_DATA_H
#define PL_ANALYSIS_ANALYSIS_DATA_H

#include <pthread.h>

#include "answer/certificate_data.h"
#include "base/bounds.h"
#include "base/failure.h"
#include "base/sheet.h"
#include "diagnosis/diagnosis.h"
#include "memory/passes.h"
#include "model/layers.h"
#include "pipeline/pipeline.h"
#include "popliner/analysis.h"
#include "popliner/report.h"
#include "popliner/solver.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"
#include "solve/options.h"
#include "store/store.h"

enum {
    PL_NUM_RECOMPUTES = POPLINER_RECOMPUTE_FULL + 1,
    PL_NUM_STAGE_PLACES = PL_NUM_RECOMPUTES + 1,
};

/* Cached results for one memory model; NULL until first needed. */
typedef struct pl_model_parts {
    pl_chain *chain;
    pl_stage_meter *meter;
    /* All stages, by pl_stages_place. */
    pl_stage_details *stages[PL_NUM_STAGE_PLACES];
    pl_diagnosis *diagnosis; /* of all operations */
    pl_unit_cycles cycles;   /* of_run is NULL until pl_analysis_know_cycles */
    bool has_cycles;         /* known with them: any of computing */
    bool is_training;        /* as popliner_analysis_is_training has it */
    pl_arrays arrays;        /* own them */
    bool told_training;      /* what a training pipeline needs was reported, once */
} pl_model_parts;

/* A file that was read. */
typedef struct pl_analysis_file {
    char *name; /* its path; NULL: there is none */
    uint64_t size_bytes;
} pl_analysis_file;

struct popliner_analysis {
    popliner_listener listener;     /* calls the recorder, which calls the caller's listener */
    pl_recorder recorder;           /* warnings about the profile, not about a request */
    pl_arrays texts;                /* own these and the names of files */
    pl_layer_options layer_options; /* of `texts`, option_names and the listener */
    size_t num_threads;
    popliner_option_names option_names; /* complete */
    pl_bounds bounds;                   /* of the current call */
    /* of the calls, and of tables of costs that measure stages on one IPU */
    pthread_mutex_t lock; /* recursive: a thread that has it may enter again */

    const popliner_profile *profile;
    const pl_operations *operations; /* NULL until first needed */
    pl_layers *layers;
    pl_sharing sharing; /* empty until first needed */
    pl_model_parts models[POPLINER_NUM_MEMORY_MODELS];

    /* Owner of profile and operations: those that were read, or a loaded file. */
    popliner_profile *read_profile;
    pl_operations *found_operations;
    pl_debug_info *info; /* NULL if there is none */
    pl_stored_analysis *stored;
    size_t num_read_warnings; /* of the recorder's: told while the profile was read */
    pl_analysis_file profile_file, debug_file, stored_file; /* for pages */
};

/* Creates an empty analysis with these options; free with popliner_analysis_free. Errors: USAGE for
 * what the options refer to, MEMORY. */
popliner_status pl_analysis_create(const popliner_analysis_options *options,
                                   popliner_analysis **analysis, popliner_error *error);

/* Returns the index of stages that were measured for a pipeline: first those of pipelines that
 * store nothing, then the others by recomputation. */
static inline size_t pl_stages_place(const popliner_pipeline *pipeline) {
    return pl_pipeline_keeps(pipeline) ? 1 + (size_t)pipeline->recompute : 0;
}

/* Returns the pipeline of a completed request. Its max_stages is undefined. */
popliner_pipeline pl_analysis_pipeline(const popliner_request *request);

/* Completes a caller's request (NULL: empty) with the defaults. Errors: USAGE. */
popliner_status pl_analysis_take_request(const popliner_request *request, popliner_request *own,
                                         popliner_error *error);

/* Like popliner_analysis_prepare for a page. */
popliner_status pl_analysis_prepare_page(popliner_analysis *analysis,
                                         const popliner_request *request, popliner_error *error);

/* Sets *sharing, which the analysis owns, to what its layers use in common, in any memory model;
 * makes the chain of this one. Errors: those of popliner_analysis_layers; USAGE without the
 * variables. */
popliner_status pl_analysis_pair_layers(popliner_analysis *analysis, popliner_memory_model model,
                                        const pl_sharing **sharing, popliner_error *error);

/* The data that a memory model needs: operations and layers; its chain; and its meter. */
typedef enum pl_needed { PL_NEED_LAYERS, PL_NEED_CHAIN, PL_NEED_METER } pl_needed;

/* Checks the memory model, and makes what is missing of it. Errors: those of
 * popliner_analysis_layers, USAGE. */
popliner_status pl_analysis_begin(popliner_analysis *analysis, popliner_memory_model model,
                                  pl_needed needed, popliner_error *error);

/* Returns the name of the file of a stored analysis, for messages. */
static inline const char *pl_analysis_stored_name(const popliner_analysis *analysis) {
    return analysis->stored_file.name != NULL ? analysis->stored_file.name : "the stored analysis";
}

/* Make the chain of a memory model, and its meter, if necessary. The layers are there. Errors:
 * USAGE if the analysis was stored for others; INPUT if it is damaged; MEMORY. */
popliner_status pl_analysis_make_chain(popliner_analysis *analysis, popliner_memory_model model,
                                       popliner_error *error);
popliner_status pl_analysis_make_meter(popliner_analysis *analysis, popliner_memory_model model,
                                       popliner_error *error);

/* Finds stages that were measured before, with an estimate, or stored; *stages is NULL if they must
 * be measured. The analysis owns them. The chain is there. */
popliner_status pl_analysis_find_stages(popliner_analysis *analysis, popliner_memory_model model,
                                        const popliner_pipeline *pipeline, popliner_need need,
                                        const pl_stage_details **stages, popliner_error *error);

/* Like pl_analysis_find_stages, or measures them for pipelines like this one, and keeps them until
 * others of their place are needed. They have their largest variables if they are wanted, or if the
 * stages are used again: further requests with other limits, objectives and constraints then
 * measure nothing. Those that pl_stage_details_are_large have the estimate alone. Errors: those of
 * pl_intervals_measure. */
popliner_status pl_analysis_stages(popliner_analysis *analysis, popliner_memory_model model,
                                   const popliner_pipeline *pipeline, popliner_need need,
                                   bool with_variables, const pl_stage_details **stages,
                                   popliner_error *error);

/* An additional section, for pages: executed cycles by type of program, and by unit. */
#define PL_SECTION_EXECUTION_SUMS POPLINER_NUM_SECTIONS

/* Like popliner_section_text, for a valid section and format, including PL_SECTION_EXECUTION_SUMS
 * and PL_FORMAT_PAGE. */
popliner_status pl_analysis_section(popliner_analysis *analysis, popliner_section section,
                                    popliner_memory_model model, const pl_certificate *certificate,
                                    popliner_format format, char **text, popliner_error *error);

/* Returns the diagnosis of all operations, which is cached; the analysis owns it. Errors: those of
 * popliner_analysis_diagnose. */
popliner_status pl_analysis_keep_diagnosis(popliner_analysis *analysis, popliner_memory_model model,
                                           const pl_diagnosis **diagnosis, popliner_error *error);

/* Finds what `parts` has of the cycles of units, unless it is known. The chain is there. Errors:
 * MEMORY. O(steps). */
popliner_status pl_analysis_know_cycles(pl_model_parts *parts, popliner_error *error);

/* Sets *cycles to what pl_stage_cycles_find returns, in `arrays`: NULL if there are none. The chain
 * is there. Errors: MEMORY. */
popliner_status pl_analysis_find_cycles(pl_model_parts *parts, const popliner_pipeline *pipeline,
                                        const uint64_t *cuts_bytes, pl_arrays *arrays,
                                        uint64_t **cycles, popliner_error *error);

/* Like popliner_section_text, but stores the values in *sheet, whose cells the caller clears, also
 * after a failure. */
popliner_status pl_analysis_keep_section(popliner_analysis *analysis, popliner_section section,
                                         popliner_memory_model model,
                                         const pl_certificate *certificate, pl_sheet *sheet,
                                         popliner_error *error);

/* Returns "summary", "plan", ...; NULL if there is no such section. */
const char *pl_section_name(popliner_section section);

/* ---- Task ------------------------------------------------------------------------------------ */

/* The purpose of a request. */
typedef enum pl_purpose { PL_TO_SOLVE, PL_TO_TELL_COSTS, PL_TO_EVALUATE } pl_purpose;

/* Zero-initialise; free with pl_task_free. */
typedef struct pl_task {
    popliner_analysis *analysis;
    popliner_memory_model model;
    popliner_pipeline pipeline; /* its max_stages is undefined */
    popliner_need need;
    bool is_greedy;
    /* of an evaluation; else the largest number of a split, before pl_task_begin the usual one */
    size_t num_stages;
    const pl_chain *chain;
    const pl_stage_details *stages; /* NULL: not needed yet, or a meter measures single ones */
    pl_owned_options solver;
    popliner_listener listener; /* the solver's: calls the recorder */
    pl_recorder recorder;       /* warnings about the request */
    popliner_costs *costs;
    unsigned ways; /* bits that stages choose from; 0: all */
    /* the caller's recomputation of each stage, or what was chosen; NULL: the request's */
    const popliner_recompute *given;
    pl_arrays arrays; /* own what was chosen */
} pl_task;

void pl_task_free(pl_task *task);

/* Prepares the request. Measures a single split directly if the variables are loaded. Errors: those
 * of popliner_analysis_chain; USAGE. */
popliner_status pl_task_begin(pl_task *task, popliner_analysis *analysis,
                              const popliner_request *request, pl_purpose what,
                              popliner_error *error);

/* Makes *own a copy of the solver's options, completed by what the profile and the chain have.
 * Errors: MEMORY. */
popliner_status pl_analysis_own_options(const popliner_analysis *analysis, const pl_chain *chain,
                                        const popliner_pipeline *pipeline,
                                        const popliner_solver_options *options,
                                        pl_owned_options *own, popliner_error *error);

/* Measures all stages, unless they were measured before, into task->costs: for the pipelines of the
 * request, or, of_any_length, all that may be enough if nothing fits. Errors: MEMORY; those of a
 * meter. */
popliner_status pl_task_measure_costs(pl_task *task, bool of_any_length, popliner_error *error);

/* Makes costs that have cuts, and the cycles of the stages of a plan as each recomputes; no peaks.
 * Errors: MEMORY; those of a meter. */
popliner_status pl_task_measure_work(pl_task *task, const popliner_plan *plan,
                                     popliner_error *error);

/* Warns of a profile that trains while no schedule says what a pipeline stores, or that has no
 * accumulators although a pipeline will have them: the listener once, each certificate. */
void pl_task_tell_training(pl_task *task);

/* Makes a lock that a thread that has it may take again. False if the system provides none. */
bool pl_analysis_make_lock(pthread_mutex_t *lock);

/* Waits until no other thread works with the analysis. Public functions that compute or measure
 * anything enter first, and return what pl_analysis_leave returns, the status; a thread may enter
 * again. The caller of all functions of analysis_data.h has entered, or works for a thread that
 * has. */
void pl_analysis_enter(popliner_analysis *analysis);
popliner_status pl_analysis_leave(popliner_analysis *analysis, popliner_status status);

/* Fails with USAGE if the analysis was stored, without the lowered variables. */
popliner_status pl_analysis_require_variables(const popliner_analysis *analysis,
                                              popliner_error *error);

/* Rejects a certificate (NULL: none) that is not of this analysis; `user` is what would show it. */
popliner_status pl_analysis_check_certificate(const popliner_analysis *analysis,
                                              const pl_certificate *certificate, const char *user,
                                              popliner_error *error);

#endif
