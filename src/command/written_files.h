/* The files that a run writes: refused before the work begins if they cannot be, or must not.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_WRITTEN_FILES_H
#define PL_COMMAND_WRITTEN_FILES_H

#include "command/options.h"
#include "popliner/error.h"

/* Refuses --save-to-file where no analysis can be stored, or over the profile or debug information
 * that is read (NULL: none). Storing replaces the file of that name: a device must not be replaced,
 * nor what is being read. */
popliner_status check_stored_file(const options *o, const char *profile, const char *debug,
                                  popliner_error *error);

/* Refuses --write-lp and --write-mps where no file can be written, or over the files that are read
 * (NULL: none). A file that is there stays as it is: it is written when there is an answer. */
popliner_status check_program_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error);

/* The same for the files of --output and --trace. */
popliner_status check_output_files(const options *o, const char *read, const char *also_read,
                                   popliner_error *error);

/* The same for the files of --emit, also of --costs. */
popliner_status check_emitted_files(const options *o, const char *read, const char *also_read,
                                    popliner_error *error);

/* Refuses to write, with any of the options above, what --compare is to read. Errors: USAGE. */
popliner_status check_compared_files(const options *o, popliner_error *error);

/* Writes one of these: a regular file holds what it held before until all is written, and
 * keeps its mode. Errors: OUTPUT. */
popliner_status write_output_file(const char *path, const char *bytes, size_t length,
                                  popliner_error *error);

#endif
