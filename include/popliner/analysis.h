/* popliner: a profile and its operations, prepared once and stored for later runs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_ANALYSIS_H
#define POPLINER_ANALYSIS_H

#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Stores the profile and its operations in one file of popliner's own format (SQLite, with a
 * version and a checksum for each part). Whatever layer options a later run uses, it gets the same
 * results from the file as from the profile. The file is written beside `path` and moved there when
 * it is complete, so `path` never holds half of one.
 * Errors: OUTPUT, MEMORY. */
popliner_status popliner_analysis_save(const popliner_profile *profile,
                                       const popliner_operations *operations, const char *path,
                                       popliner_error *error);

/* Loads such a file; the caller frees both. Errors: INPUT when it is no such file, of another
 * version or machine, or damaged; MEMORY. */
popliner_status popliner_analysis_load(const char *path, popliner_profile **profile,
                                       popliner_operations **operations, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
