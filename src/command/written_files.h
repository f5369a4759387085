/* The files that a run writes: refused before the work begins if they cannot be, or must not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_WRITTEN_FILES_H
#define PL_COMMAND_WRITTEN_FILES_H

#include "command/options.h"
#include "popliner/error.h"

/* Refuses what cannot be written, would overwrite the files that are read (NULL: none), or is to be
 * written by two options, whatever they call it. Files that are there stay as they are: each is
 * written when there is an answer. Errors: USAGE, OUTPUT, MEMORY. O(files * files). */
popliner_status check_written_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error);

/* Refuses to write what --compare is to read. Errors: USAGE, MEMORY. */
popliner_status check_compared_files(const options *o, popliner_error *error);

#endif
