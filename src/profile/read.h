/* Reads a profile, and the debug information at the same time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_READ_H
#define PL_PROFILE_READ_H

#include "base/bounds.h"
#include "popliner/error.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

/* Options of reading; all zero, or a NULL pointer to it, are the defaults. */
typedef struct pl_read_options {
    const popliner_listener *listener; /* warnings and progress; may be NULL */
    size_t num_threads;                /* 0: one per processor */
    pl_bounds *bounds;                 /* or NULL */
    bool is_one_ipu;                   /* reads only what is on the tiles of one IPU: */
    size_t ipu;                        /* of a replica, from 0 */
    const char *ipu_name;              /* name of `ipu` in errors; NULL: "ipu" */
} pl_read_options;

/* Reads the profile at `profile_path`, which is opened read-only; and the debug information like
 * pl_debug_info_read, at the same time if options->num_threads allows, and checks that programs and
 * contexts match. `debug_path` may be NULL: then *info is NULL, and `info` may be. The result, or
 * the error, does not depend on the number of threads; `options` may be NULL. Reads the first of
 * several replicas, and compares it with the others; checks cover the whole file. Errors: USAGE for
 * an IPU that the profile does not have; INPUT if the file cannot be read, is not an SQLite
 * database, has another major schema version than 3, lacks a table or column that is needed, has no
 * lowered variables, or holds inconsistent values (the message names table, row and column: the
 * first error in the order of the table); MEMORY, immediately if the file needs more than is
 * allowed; STOPPED; if both files fail, that of the profile. Cost: one pass over the needed
 * columns; memory about 22 bytes per lowered variable. */
popliner_status pl_read_files(const char *profile_path, const char *debug_path,
                              const pl_read_options *options, popliner_profile **profile,
                              pl_debug_info **info, popliner_error *error);

/* True if there is a file of this name in the directory of a profile; false if memory is short. */
bool pl_is_beside(const char *profile_path, const char *name);

#endif
