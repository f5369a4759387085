/* Databases in memory, for harnesses that open thousands in a second.
 *
 * There is a folder with small files, so that who looks at a path finds a file of the right size.
 * What SQLite reads of them is in memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_MEMORY_FILES_H
#define PL_TESTS_FUZZ_MEMORY_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Makes the folder, which goes when the process ends, and has SQLite use it. Call it first; once
 * done it does nothing. */
void memory_files_begin(void);

/* The path of a file or folder in it, as long as the process lives. Folders are made. */
const char *memory_files_path(const char *folder, const char *name);

/* Has the database at a path hold these bytes. */
void memory_files_set(const char *path, const void *bytes, size_t size);

#endif
