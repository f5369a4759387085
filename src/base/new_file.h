/* Reads whole files. popliner_file_write, which is public, writes them: complete or not at all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NEW_FILE_H
#define PL_BASE_NEW_FILE_H

#include <sys/stat.h>

#include "base/growth.h"
#include "popliner/error.h"

/* Returns the last component of a path, including trailing slashes; the whole path if it consists
 * of slashes. */
const char *pl_last_part(const char *path);

/* Sets *info to that of a regular file that is not empty. Errors: INPUT, for one that cannot be
 * found, is empty or, with the reason, is another one than `expected`, for example "a Poplar
 * profile". */
popliner_status pl_file_look(const char *path, const char *expected, popliner_reason reason,
                             struct stat *info, popliner_error *error);

/* Reads the whole file ("-": standard input) and adds a NUL; the caller frees text->data, also
 * after a failure. Other than a regular file, a pipe may be endless: its length is limited. `what`
 * names it if memory is short. Errors: INPUT, MEMORY. */
popliner_status pl_file_read(const char *path, const char *what, pl_text *text,
                             popliner_error *error);

#endif
