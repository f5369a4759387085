/* popliner: where the files of a report are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_LOCATE_H
#define POPLINER_LOCATE_H

#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Finds profile and debug information as Poplar lays them out. `profile` names the profile, or a
 * directory that holds it as profile.pop; `debug` names the debug information, or is NULL: then it
 * is debug.cbor beside the profile, or else in the directory above (where PopTorch and TensorFlow
 * put it). *debug_path is NULL when there is none. The caller frees both paths with free().
 * Errors: INPUT (nothing there; of a directory without a profile the message names those in it that
 * hold one), MEMORY. */
popliner_status popliner_locate(const char *profile, const char *debug, char **profile_path,
                                char **debug_path, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
