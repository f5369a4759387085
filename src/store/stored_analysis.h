/* popliner: a profile and its operations, prepared once and stored for later runs, with all stages
 * of a chain measured.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORED_ANALYSIS_H
#define PL_STORE_STORED_ANALYSIS_H

#include <stddef.h>

#include "memory/stage_details.h"
#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* What pl_intervals_measure tells of a chain, for pipelines of any length. */
typedef struct pl_measured_stages {
    popliner_chain *chain;
    pl_stage_details *details;
} pl_measured_stages;

/* Frees all parts, and zeroes them. Where several have one chain, all but one must give it up
 * before: set theirs to NULL. */
void pl_measured_stages_clear(pl_measured_stages *stages);

/* Stores the profile and its operations in one file of popliner's own format (SQLite, with a
 * version and a checksum for each part), and measured stages[num_stages], so that later runs with
 * these layers need not measure them again. Whatever layer options a later run uses, it gets the
 * same results from the file as from the profile. The file is written beside `path` and moved there
 * when it is complete, so `path` never holds half of one. The listener (may be NULL) is told of the
 * progress. Errors: OUTPUT, MEMORY; USAGE if the lowered variables of the profile are not
 * loaded. */
popliner_status pl_stored_analysis_save(const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        const pl_measured_stages *stages, size_t num_stages,
                                        const popliner_listener *listener, const char *path,
                                        popliner_error *error);

/* Loads all of the profile and the operations; the caller frees both. Errors: INPUT when it is no
 * such file, of another version or machine, or damaged; MEMORY. */
popliner_status pl_stored_analysis_load(const char *path, popliner_profile **profile,
                                        popliner_operations **operations, popliner_error *error);

/* A stored analysis of which only as much is loaded as is needed: most of the file are the lowered
 * variables, which nobody needs whose stages are measured. Owned by the caller; free with
 * pl_stored_analysis_close, which also frees the profile and the operations. */
typedef struct pl_stored_analysis pl_stored_analysis;

/* Opens such a file. Errors: as pl_stored_analysis_load. */
popliner_status pl_stored_analysis_open(const char *path, pl_stored_analysis **analysis,
                                        popliner_error *error);
void pl_stored_analysis_close(pl_stored_analysis *analysis);

/* Forgets the notes of the report, and their texts, so that storing it again does not keep them. */
void pl_stored_analysis_leave_out_notes(pl_stored_analysis *analysis);

/* Of the profile the lowered variables are missing, and which programs touch them, unless its
 * layers cannot be found without them (pl_layers_assign). What needs them fails with USAGE, or,
 * where it returns no status, tells of none. */
const popliner_profile *pl_stored_analysis_profile(const pl_stored_analysis *analysis);
const popliner_operations *pl_stored_analysis_operations(const pl_stored_analysis *analysis);

/* Loads what is missing, if anything is. Errors: INPUT when that is damaged, MEMORY; then it is
 * missing still. The listener (may be NULL) is told of the progress. */
popliner_status pl_stored_analysis_load_variables(pl_stored_analysis *analysis,
                                                  const popliner_listener *listener,
                                                  popliner_error *error);

/* Which stages are looked for. */
typedef struct pl_wanted_stages {
    const popliner_layers *layers;
    popliner_memory_model model;
    const popliner_pipeline *pipeline;
    const popliner_chain *chain; /* of these layers and this model, if it is known; else NULL */
} pl_wanted_stages;

/* Looks for stages measured for these layers and this memory model, and, if the profile trains and
 * the schedule is training, for this way of recomputing; of whatever length the pipeline is.
 * *stages is what was found, owned by the caller, or all zero. Its chain refers to the layers, and
 * names in its details live as long as the analysis. Errors: INPUT when it is damaged, or has
 * another chain for them; MEMORY. */
popliner_status pl_stored_analysis_find_stages(pl_stored_analysis *analysis,
                                               const pl_wanted_stages *wanted,
                                               pl_measured_stages *stages, popliner_error *error);

#endif
