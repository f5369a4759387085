/* Stores a profile and its operations for later runs, with all stages of chains measured. The file
 * format: named arrays in SQLite, with a version, and a checksum for each piece of an array.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORE_H
#define PL_STORE_STORE_H

#include "base/growth.h"
#include "memory/stage_details.h"
#include "model/layers.h"
#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/stage.h"
#include "profile/database.h"

/* The results of pl_intervals_measure for a chain, for pipelines of any length. */
typedef struct pl_measured_stages {
    pl_chain *chain;
    pl_stage_details *details;
} pl_measured_stages;

/* Frees all parts, and sets them to NULL. If several have one chain, set it to NULL in all but
 * one. */
void pl_measured_stages_clear(pl_measured_stages *stages);

/* Stores the profile and its operations in one file of popliner's own format (SQLite, with a
 * version and a checksum for each part), and measured stages[num_stages], so that later runs with
 * these layers need not measure them again. With any layer options, a later run gets the same
 * results from the file as from the profile. Writes a temporary file in the directory of `path` and
 * renames it when it is complete, so `path` is never incomplete. Reports progress to the listener
 * (may be NULL). Errors: OUTPUT, MEMORY; USAGE if the lowered variables of the profile are not
 * loaded. */
popliner_status pl_stored_analysis_save(const popliner_profile *profile,
                                        const pl_operations *operations,
                                        const pl_measured_stages *stages, size_t num_stages,
                                        const popliner_listener *listener, const char *path,
                                        popliner_error *error);

/* ---- The file ---- */

/* A file that is being written. Zero-initialise; close with pl_array_writer_close, which discards
 * uncommitted data. */
typedef struct pl_array_writer {
    sqlite3 *sqlite; /* owned; also for other tables */
    sqlite3_stmt *insert;
} pl_array_writer;

/* Creates the table of arrays in an empty file. Like the functions below, returns false if SQLite
 * fails; its connection has the reason. */
bool pl_array_writer_open(pl_array_writer *writer, const char *path);

/* Adds an array, named `group` followed by its name; `group` separates arrays of one name, or is
 * "". */
bool pl_array_writer_add(pl_array_writer *writer, const char *group, const pl_field *field);
bool pl_array_writer_commit(pl_array_writer *writer);
bool pl_array_writer_close(pl_array_writer *writer);

/* A file that is being read. Zero-initialise; close with pl_array_reader_close. What fails, fails
 * in the outcome of the database. */
typedef struct pl_array_reader {
    pl_database database;
    sqlite3_stmt *select;
} pl_array_reader;

/* Opens a file of this format and version. Errors: INPUT, MEMORY. */
void pl_array_reader_open(pl_array_reader *reader, const char *path, popliner_error *error);
void pl_array_reader_close(pl_array_reader *reader);

/* True if the file has an array of this name. */
bool pl_array_reader_has(pl_array_reader *reader, const char *group, const char *name);

/* Loads one array from all of its pieces into the field, which owns it. A count of SIZE_MAX becomes
 * that of the array; any other count must match. Errors: INPUT if it is missing or damaged,
 * MEMORY. */
void pl_array_reader_load(pl_array_reader *reader, const char *group, const pl_field *field);

/* Fails with INPUT because `what` is damaged, with the remedy. */
void pl_array_reader_fail(pl_array_reader *reader, const char *what);

/* ---- Loading ---- */

/* A stored analysis that is loaded on demand: most of the file is lowered variables, which nothing
 * needs if the stages are measured. Owned by the caller; free with pl_stored_analysis_close. */
typedef struct pl_stored_analysis {
    pl_array_reader reader;
    /* Owned. Lacks the lowered variables, and which programs touch them, unless its layers depend
     * on them (pl_layers_assign). Functions that need them fail with USAGE, or report none if they
     * return no status. */
    popliner_profile *profile;
    pl_operations *operations; /* owned */
} pl_stored_analysis;

/* Opens a stored analysis. Errors: INPUT for a file that is not a stored analysis, is of another
 * version or machine, or is damaged; MEMORY. */
popliner_status pl_stored_analysis_open(const char *path, pl_stored_analysis **analysis,
                                        popliner_error *error);
void pl_stored_analysis_close(pl_stored_analysis *analysis);

/* Erases the notes of the report and their texts, so that storing it again does not contain
 * them. */
void pl_stored_analysis_leave_out_notes(pl_stored_analysis *analysis);

/* Loads the variables, unless they are loaded. Reports progress to the listener (may be NULL).
 * Errors: INPUT if they are damaged, MEMORY; they are then still missing. */
popliner_status pl_stored_analysis_load_variables(pl_stored_analysis *analysis,
                                                  const popliner_listener *listener,
                                                  popliner_error *error);

/* The stages to find. */
typedef struct pl_wanted_stages {
    const pl_layers *layers;
    popliner_memory_model model;
    const popliner_pipeline *pipeline;
    const pl_chain *chain; /* of these layers and this model, if known; else NULL */
} pl_wanted_stages;

/* Finds stages that were measured for these layers and this memory model, and, if the profile
 * trains and the schedule is for training, for this recomputation; pipelines may have any length.
 * *stages becomes the result, owned by the caller, or all zero. Its chain refers to the layers;
 * names in its details live as long as the analysis. Errors: INPUT if the stages are damaged, or
 * have another chain; MEMORY. */
popliner_status pl_stored_analysis_find_stages(pl_stored_analysis *analysis,
                                               const pl_wanted_stages *wanted,
                                               pl_measured_stages *stages, popliner_error *error);

#endif
