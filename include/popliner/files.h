/* Writing files so that what was there is not lost.
 *
 * Threads: any number of threads may write files at once. If several write the same one, the
 * file is what one of them wrote.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_FILES_H
#define POPLINER_FILES_H

#include <stddef.h>

#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a text or other `bytes`, of which there are `length`, into the file `path`. A regular file
 * holds what it held before until all is written and has reached the disk: it is written beside
 * that, as popliner-*.part, takes its place and keeps its mode. Where `path` is a link, what it
 * leads to is replaced. Devices and pipes are written into, as is a file in a folder where none can
 * be made: only such a file may be left in part, by a full disk. `error` may be NULL. Errors:
 * OUTPUT, MEMORY.
 *
 * Meanwhile the calling thread blocks the signals that ask a program to end (INT, TERM, HUP, QUIT,
 * ALRM, USR1, USR2, XCPU), so that a program of one thread leaves no .part: they come when the file
 * is done. All functions of the library that write a file do it in this way. */
popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
