/* The files that a run reads and writes, in one list: a run that would overwrite what it reads, or
 * write two things into one file, is refused before it reads or writes anything.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_RUN_FILES_H
#define PL_COMMAND_RUN_FILES_H

#include "command/options.h"
#include "popliner/error.h"

/* ---- the reports of a directory: its sub-directories that hold a profile.pop ---- */

/* Finds what --report asks for: their names, in its order, of all in theirs, then NULL. One block
 * for the caller to free, also after an error. Errors: INPUT for a directory that has no reports,
 * USAGE for a name that none of them has, MEMORY. */
popliner_status report_names_find(const options *o, char ***names, popliner_error *error);

/* ---- all files ---- */

/* Refuses what cannot be written, is to be written by two options, is read, or is a profile or
 * debug information, by its content. Files are the same if device and inode are; where there
 * is none yet, if folder and name are. Changes nothing. Errors: USAGE, OUTPUT, MEMORY; those of
 * --report. O(files * files). */
popliner_status check_run_files(const options *o, popliner_error *error);

/* ---- What INPUT is, by its content ---- */

typedef enum input_kind {
    INPUT_PROFILE, /* a profile or a directory; also what cannot be read, which reading reports */
    INPUT_STORED,  /* an analysis that was stored */
    INPUT_COSTS,   /* a file of costs; "-": standard input */
    INPUT_DEBUG,   /* debug information, which is no INPUT */
} input_kind;

/* Reads the first bytes of a regular file; a name that ends with .pop is that of a profile. */
input_kind input_kind_of(const char *path);

#endif
