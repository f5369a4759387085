/* popliner: reading the profile and the debug information at the same time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_READ_H
#define POPLINER_READ_H

#include "popliner/error.h"
#include "popliner/profile.h"
#include "profile/debug_info.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Does what pl_read_profile and pl_debug_info_read do, with the same results and
 * errors, but one beside the other where options->num_threads allows it, and leaves out the debug
 * contexts that no program, compute set or variable of the profile leads to. `debug_path` may be NULL:
 * then *info is NULL. Of two errors that of the profile is told. */
popliner_status pl_read_files(const char *profile_path, const char *debug_path,
                              const pl_read_options *options, popliner_profile **profile,
                              pl_debug_info **info, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
