/* The debug information that Poplar wrote beside the profile (debug.cbor): which part of
 * the user's program each piece of the compiled one belongs to.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DEBUG_INFO_H
#define PL_PROFILE_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "popliner/error.h"
#include "popliner/listener.h"

/* The debug contexts of a file. Immutable once read. Owned by the caller that read it; free with
 * pl_debug_info_free. */
typedef struct pl_debug_info pl_debug_info;

/* Reads the file at `path` in one pass. Unknown layers and keys, missing and cyclic parents are
 * tolerated. A file that was cut off or is damaged further in is used as far as it goes, and the
 * listener (may be NULL) is warned.
 * Errors: INPUT when the file cannot be read or is no debug information at all; MEMORY.
 * Cost: O(bytes); memory for the ids, parents and names of the contexts, not for their arguments.
 */
popliner_status pl_debug_info_read(const char *path, const popliner_listener *listener,
                                   pl_debug_info **info, popliner_error *error);
/* The same within bounds. Errors: STOPPED, too. */
popliner_status pl_debug_info_read_within(pl_bounds *bounds, const char *path,
                                          const popliner_listener *listener, pl_debug_info **info,
                                          popliner_error *error);
void pl_debug_info_free(pl_debug_info *info);

/* How many contexts there are, and how many were in the file: pl_read_files leaves out what
 * the profile has no use for. */
size_t pl_debug_info_num_contexts(const pl_debug_info *info);
size_t pl_debug_info_num_read(const pl_debug_info *info);

/* Whether the file ended early, so that contexts and their own names may be missing. */
bool pl_debug_info_is_truncated(const pl_debug_info *info);

/* The path of a context: the own names from its root to itself, joined by '/', empty ones left out.
 * Writes at most `size` bytes into `path` with a NUL behind them, cut if longer; "" for an unknown
 * id. Returns whether the id is known. */
bool pl_debug_info_path(const pl_debug_info *info, uint64_t id, char *path, size_t size);

#endif
