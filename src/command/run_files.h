/* The files that a run reads and writes, in one list: a run that would overwrite what it reads, or
 * write two things into one file, is refused before it reads or writes anything.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_RUN_FILES_H
#define PL_COMMAND_RUN_FILES_H

#include "command/options.h"
#include "popliner/error.h"

/* Refuses what cannot be written, is to be written by two options, or is read: PROFILE and DEBUG,
 * what options read, standard input, and all files of each report among them. Files are the same if
 * device and inode are, after links; where there is none yet, if folder and name are. Standard
 * output and standard error count as written where they are regular files. Changes nothing. Errors:
 * USAGE, OUTPUT, MEMORY; those of --report. O(files * files). */
popliner_status check_run_files(const options *o, popliner_error *error);

#endif
