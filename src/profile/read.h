/* Reading a profile, and the debug information at the same time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_READ_H
#define PL_PROFILE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "popliner/error.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

/* How to read; all zero, like a NULL pointer to it, means the defaults. */
typedef struct pl_read_options {
    const popliner_listener *listener; /* warnings and progress; may be NULL */
    size_t num_threads;                /* 0: as many as there are processors online */
    pl_bounds *bounds;                 /* or NULL */
    bool is_one_ipu;                   /* only what is on the tiles of this one is wanted: */
    size_t ipu;                        /* of a replica, from 0 */
    const char *ipu_name;              /* how errors call the last; NULL: "ipu" */
    bool leaves_out_notes;             /* framework.json and app.json are not read */
} pl_read_options;

/* Reads the profile at `path`, which is opened read-only. The result, or the error, does not depend
 * on the number of threads; `options` may be NULL. Of several replicas the first is read, and
 * compared with the others; relations are checked in all of the file.
 * Errors: USAGE for an IPU that the profile does not have; INPUT when the file cannot be read, is
 * no SQLite database, has another major schema version than 3, lacks a table or column that is
 * needed, has no lowered variables, or holds values that contradict each other (the message names
 * table, row and column: the first that is wrong in the order of the table); MEMORY, at once when
 * the file needs more than there may be; STOPPED.
 * Cost: one pass over the needed columns; memory about 30 bytes per lowered variable. */
popliner_status pl_read_profile(const char *path, const pl_read_options *options,
                                popliner_profile **profile, popliner_error *error);

/* Does what pl_read_profile and pl_debug_info_read do, with the same results and errors, but one
 * beside the other where options->num_threads allows it; leaves out the debug contexts that no
 * program, compute set or variable of the profile leads to; and checks the relation that ties
 * programs to contexts. `debug_path` may be NULL: then *info is NULL. Of two errors that of the
 * profile is told. */
popliner_status pl_read_files(const char *profile_path, const char *debug_path,
                              const pl_read_options *options, popliner_profile **profile,
                              pl_debug_info **info, popliner_error *error);

/* Whether there is a file of this name in the directory of a profile; false without memory. */
bool pl_is_beside(const char *profile_path, const char *name);

#endif
