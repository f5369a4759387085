/* Stores what an analysis knows without the lowered variables of its profile, for later runs: the
 * rest of the profile, its operations, one chain and its digests, and the stages of the
 * usual pipelines.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORE_H
#define PL_STORE_STORE_H

#include "base/failure.h"
#include "base/growth.h"
#include "memory/stage.h"
#include "model/layers.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

/* The contents of a file. The profile may lack its variables. */
typedef struct pl_stored_contents {
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_chain *chain; /* NULL: none, and nothing but the profile and its operations */
    pl_stage_meter *meter; /* of the chain, in the full memory model; else NULL */
    const pl_stage_details *const *stages; /* [num_stages], for pipelines of any length */
    size_t num_stages;
    const pl_messages *warnings; /* told while the profile was read */
} pl_stored_contents;

/* Stores an analysis in one file, which is never incomplete. Completes the digests of the meter.
 * Errors: OUTPUT, MEMORY. */
popliner_status pl_stored_analysis_save(const pl_stored_contents *contents, const char *path,
                                        popliner_error *error);

/* ---- The meter ---- */

/* Writes a meter of the full memory model, after completing its digests. The caller frees
 * text->data. False if memory is short. */
bool pl_stored_meter_write(pl_text *text, pl_stage_meter *meter);

/* Reads a meter for the chain, which it then refers to; NULL if the bytes are damaged, or if
 * *is_short: of memory. */
pl_stage_meter *pl_stored_meter_read(const char *bytes, size_t length, const pl_chain *chain,
                                     size_t num_threads, bool *is_short);

/* ---- The file ---- */

/* Write a file of parts: begin, add them, and write it, which frees the text. If memory runs short,
 * sets file->failed. The name of a part is `group` and that of the field; `group` separates arrays
 * of one name, or is "". Errors: OUTPUT, MEMORY. */
void pl_archive_begin(pl_text *file);
void pl_archive_add(pl_text *file, const char *group, const pl_field *field);
popliner_status pl_archive_write(pl_text *file, const char *path, popliner_error *error);

/* A file that was read. Free with pl_archive_free. What fails, fails in the outcome. */
typedef struct pl_archive {
    char *path; /* owned; for messages */
    pl_text file;
    pl_outcome outcome;
} pl_archive;

/* Reads a file of this format and version, and checks it. Errors: INPUT, MEMORY. */
void pl_archive_read(pl_archive *archive, const char *path, popliner_error *error);
void pl_archive_free(pl_archive *archive);

/* Returns the bytes of a part, as long as the file, or NULL if there is none of this name. */
char *pl_archive_find(pl_archive *archive, const char *group, const char *name, size_t *length);

/* Copies one part into the field, in `arrays`. A count of SIZE_MAX becomes that of the array; any
 * other count must match. Errors: INPUT if it is missing or damaged, MEMORY. */
void pl_archive_load(pl_archive *archive, const char *group, const pl_field *field,
                     pl_arrays *arrays);

/* Fails with INPUT because `what` is damaged, with the remedy. */
void pl_archive_fail(pl_archive *archive, const char *what);

/* ---- Loading ---- */

/* A stored analysis, of which further parts are loaded when they are needed. Owned by the caller;
 * free with pl_stored_analysis_close. */
typedef struct pl_stored_analysis {
    pl_archive archive;
    /* Owned. Lacks the lowered variables, and which programs touch them. Functions that need them
     * fail with USAGE, or report none if they return no status. */
    popliner_profile *profile;
    pl_operations *operations; /* owned */
} pl_stored_analysis;

/* Reads a stored analysis. Errors: INPUT for a file that is not a stored analysis, is of another
 * version or machine, or is damaged; MEMORY. */
popliner_status pl_stored_analysis_open(const char *path, pl_stored_analysis **analysis,
                                        popliner_error *error);
void pl_stored_analysis_close(pl_stored_analysis *analysis);

/* Tells the warnings that were stored. Errors of this and the functions below: INPUT for a damaged
 * file, MEMORY. */
popliner_status pl_stored_analysis_tell(pl_stored_analysis *analysis,
                                        const popliner_listener *listener, popliner_error *error);

/* Loads the chain, which the caller owns and which refers to the layers; *chain is NULL if it was
 * made for other layers or another memory model. */
popliner_status pl_stored_analysis_load_chain(pl_stored_analysis *analysis, const pl_layers *layers,
                                              popliner_memory_model model, pl_chain **chain,
                                              popliner_error *error);

/* Loads the meter of the chain, in the full memory model. */
popliner_status pl_stored_analysis_load_meter(pl_stored_analysis *analysis, const pl_chain *chain,
                                              size_t num_threads, pl_stage_meter **meter,
                                              popliner_error *error);

/* Finds stages of the chain that serve a pipeline; *stages, which the caller owns, is NULL if there
 * are none. Names in them live as long as the analysis. */
popliner_status pl_stored_analysis_find_stages(pl_stored_analysis *analysis, const pl_chain *chain,
                                               const popliner_pipeline *pipeline,
                                               pl_stage_details **stages, popliner_error *error);

#endif
