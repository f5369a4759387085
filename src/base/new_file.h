/* Writes a file so that it is either complete or unchanged, and reads whole files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NEW_FILE_H
#define PL_BASE_NEW_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/growth.h"
#include "popliner/error.h"

/* A file that is being written. A regular file is first written in the same directory under a
 * unique name ("popliner-*.part"), which only a process that is killed leaves, and replaces the old
 * file when it is complete. The new file gets the mode and, if permitted, the owner of the file
 * that it replaces. A link is kept, and its target is replaced, or made first. Until the
 * file is ended, the thread blocks the signals that ask it to end, which would leave an incomplete
 * file. The same thread must end its files, the last one first. */
typedef struct pl_new_file {
    int file;           /* open for reading and writing */
    char *path;         /* owned: the final path; NULL: it is written in place */
    char *part;         /* owned: the path until then */
    bool is_target_new; /* of a link: what fails removes it */
    sigset_t signals;   /* that were blocked before */
} pl_new_file;

/* Begins to write the file `path`. Writes in place: devices and pipes; the process's standard
 * output or error under another name, which is not truncated either; a file that no longer has a
 * name; and a file in a directory where no file can be created. Returns 0 or errno, like the
 * functions below; after an error there is nothing to end. */
int pl_new_file_begin(pl_new_file *new_file, const char *path);

/* Like pl_new_file_begin, for writers that open new_file->part by its name and do not write
 * sequentially; always uses a temporary file. */
int pl_new_file_begin_apart(pl_new_file *new_file, const char *path);

/* Returns the last component of a path, including trailing slashes; the whole path if it consists
 * of slashes. */
const char *pl_last_part(const char *path);

/* Syncs the file to the disk and moves it to its path, then syncs the directory. If `fault` is not
 * 0, or a step fails, removes the file instead. Returns the first fault. */
int pl_new_file_end(pl_new_file *new_file, int fault);

/* Reads the whole file and adds a NUL; the caller frees text->data, also after a failure. Other
 * than a regular file, a pipe may be endless: its length is limited. `what` names it if memory is
 * short. Errors: INPUT, MEMORY. */
popliner_status pl_file_read(const char *path, const char *what, pl_text *text,
                             popliner_error *error);

#endif
