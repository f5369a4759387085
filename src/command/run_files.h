/* The files that a run reads and writes, in one list: a run that would overwrite what it reads, or
 * write two things into one file, is refused before it reads or writes anything.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_RUN_FILES_H
#define PL_COMMAND_RUN_FILES_H

#include "command/options.h"
#include "popliner/error.h"

/* ---- the reports of a directory: its sub-directories that hold a profile.pop ---- */

/* Zero-initialise; free with report_names_free, also after an error. */
typedef struct report_names {
    char **names; /* [count], of those that --report asks for, in its order; of all: by name */
    char **paths; /* [count] */
    size_t count;
} report_names;

/* Finds what --report asks for. Errors: INPUT for a directory that has no reports, USAGE for a name
 * that none of them has, MEMORY. */
popliner_status report_names_find(const options *o, report_names *found, popliner_error *error);

/* Adds a report of a directory. Errors: MEMORY. */
popliner_status report_names_add(report_names *r, const char *directory, const char *name,
                                 popliner_error *error);

void report_names_free(report_names *names);

/* Whether a directory has reports, but is none itself. */
bool report_names_are_in(const char *directory);

/* ---- all files ---- */

/* Refuses what cannot be written, is to be written by two options, or is read: INPUT and DEBUG,
 * what options read, standard input, and all files of each report among them. Files are the same if
 * device and inode are, after links; where there is none yet, if folder and name are. Standard
 * output and standard error count as written where they are regular files. Changes nothing. Errors:
 * USAGE, OUTPUT, MEMORY; those of --report. O(files * files). */
popliner_status check_run_files(const options *o, popliner_error *error);

/* ---- What INPUT is, by its content ---- */

typedef enum input_kind {
    INPUT_PROFILE, /* a profile or a directory; also what cannot be read, which reading reports */
    INPUT_STORED,  /* an analysis that was stored */
    INPUT_COSTS,   /* a file of costs; "-": standard input */
} input_kind;

/* Reads the first bytes of a regular file; a name that ends with .pop is that of a profile. */
input_kind input_kind_of(const char *path);

#endif
