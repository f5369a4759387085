/* A file that comes into being whole, or not at all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_NEW_FILE_H
#define PL_BASE_NEW_FILE_H

#include <signal.h>
#include <stddef.h>

/* A file that is being written. What is to become a regular file is written beside it, without a
 * name where the system has such files, else under one that no other run has ("popliner-*.part"),
 * and takes its place when it is whole; until then what was there stays. Of a file without a name
 * nothing is left if the process is killed, but between the two calls that name and rename it. It
 * gets the mode and, where that is allowed, the owner of the file that it replaces. A link stays,
 * and what it leads to is replaced. Until it is ended the thread blocks the signals that ask it to
 * end, which would leave what is half written. To be ended by the same thread, the last one
 * first. */
typedef struct pl_new_file {
    int file;         /* open for reading and writing */
    char *path;       /* owned: where it will be; NULL: it is written where it is */
    char *part;       /* owned: where it is until then; NULL: it has no name */
    sigset_t signals; /* that were blocked before */
} pl_new_file;

/* Begins to write the file `path`. Devices and pipes are written where they are, and so are what is
 * the process's standard output or error under another name, which is not begun anew either, a file
 * that has no name any more, and one in a folder where no other can be made. Returns 0 or errno,
 * here and below; then there is nothing to end. */
int pl_new_file_begin(pl_new_file *new_file, const char *path);

/* The same for what is written by its name, new_file->part, and not from the beginning to the end:
 * never where it is. */
int pl_new_file_begin_apart(pl_new_file *new_file, const char *path);

/* The last part of a path, with the slashes that it ends with; all of one that has nothing else. */
const char *pl_last_part(const char *path);

int pl_new_file_add(pl_new_file *new_file, const void *bytes, size_t length);

/* Puts the file into its place if nothing failed: it has reached the disk, and so has its name.
 * Otherwise, with `fault` not 0, or if that fails, it goes. Returns the first fault. */
int pl_new_file_end(pl_new_file *new_file, int fault);

#endif
