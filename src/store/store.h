/* popliner: a profile and its operations, prepared once and stored for later runs, with all stages
 * of a chain measured; and the format of the file: named arrays in SQLite, with a version, and a
 * checksum for each piece of an array.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORE_H
#define PL_STORE_STORE_H

#include <stddef.h>

#include "base/fields.h"
#include "memory/stage_details.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"
#include "profile/database.h"

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

/* ---- The file ---- */

/* A file that is being written. Zero-initialise; close with pl_array_writer_close, which gives up
 * what has not been committed. */
typedef struct pl_array_writer {
    sqlite3 *sqlite; /* owned; for further tables, too */
    sqlite3_stmt *insert;
} pl_array_writer;

/* Fills the file, which is empty, with the table of arrays. False when SQLite fails, here and
 * below; its connection has the reason. */
bool pl_array_writer_open(pl_array_writer *writer, const char *path);

/* Adds an array under its name behind `group`, which keeps arrays of one name apart, or is "". */
bool pl_array_writer_add(pl_array_writer *writer, const char *group, const pl_field *field);
bool pl_array_writer_commit(pl_array_writer *writer);
bool pl_array_writer_close(pl_array_writer *writer);

/* A file that is being read. Zero-initialise; close with pl_array_reader_close. */
typedef struct pl_array_reader {
    pl_database database;
    sqlite3_stmt *select;
} pl_array_reader;

/* Opens a file of this format and version. Errors: INPUT, MEMORY. */
popliner_status pl_array_reader_open(pl_array_reader *reader, const char *path,
                                     popliner_error *error);
void pl_array_reader_close(pl_array_reader *reader);

/* Whether the file has an array of this name. Errors: INPUT. */
popliner_status pl_array_reader_has(pl_array_reader *reader, const char *group, const char *name,
                                    bool *has, popliner_error *error);

/* Loads one array from all of its pieces, which is then the field's. A count of SIZE_MAX becomes
 * that of the array, any other must be it. Errors: INPUT if it is missing or damaged, MEMORY. */
popliner_status pl_array_reader_load(pl_array_reader *reader, const char *group,
                                     const pl_field *field, popliner_error *error);

/* Says what of the file is damaged, and what to do. */
popliner_status pl_array_reader_fail(const pl_array_reader *reader, const char *what,
                                     popliner_error *error);

#endif
