/* Where the files of a report are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_LOCATE_H
#define PL_PROFILE_LOCATE_H

#include <stdbool.h>

#include "popliner/error.h"

/* Finds profile and debug information as Poplar lays them out. `profile` names the profile, or a
 * directory that holds it as profile.pop; `debug` names the debug information, or is NULL: then it
 * is debug.cbor beside the profile, or else in the directory above (where PopTorch and TensorFlow
 * put it). *debug_path is NULL when there is none. The caller frees both paths with free().
 * Errors: INPUT (nothing there; of a directory without a profile the message names those in it that
 * hold one), MEMORY. */
popliner_status pl_locate(const char *profile, const char *debug, char **profile_path,
                          char **debug_path, popliner_error *error);

/* Whether there is a file of this name in the directory of a profile; false without memory. */
bool pl_is_beside(const char *profile_path, const char *name);

#endif
