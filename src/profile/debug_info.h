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
#include "base/growth.h"
#include "base/id_map.h"
#include "popliner/error.h"
#include "popliner/profile.h"

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

/* ---- Inside the library ---- */

/* The offset of a NUL-terminated string in pl_debug_info.strings; 0 is "" and "absent". */
typedef uint32_t pl_debug_string;

/* What an operation is made of; few contexts have any of it. */
typedef struct pl_debug_details {
    pl_debug_string operation_name; /* opName or op_name */
    pl_debug_string inputs;         /* joined by '/' */
    pl_debug_string instance_id;
    pl_debug_string tensor_id;
    bool is_call;          /* opid ai.graphcore.Call, or made by the outliner */
    size_t first_outlined; /* into outlined_ids / replaced_ids */
    size_t num_outlined;
} pl_debug_details;

/* Which software wrote a context. */
typedef enum pl_debug_layer {
    PL_DEBUG_LAYER_UNTOLD,
    PL_DEBUG_LAYER_OTHER,
    PL_DEBUG_LAYER_OPERATIONS, /* one that operations come from */
    PL_DEBUG_LAYER_POPLAR,     /* which makes the programs */
} pl_debug_layer;

struct pl_debug_info {
    char *string_bytes; /* of the details */
    size_t strings_length;

    size_t num_read; /* contexts in the file */
    size_t num_contexts;
    uint64_t *context_id;
    uint64_t *context_parent_id; /* as in the file, 0: none */
    uint32_t *context_name;      /* index into the string table, or PL_NONE */
    uint32_t *context_details;   /* index into details, or PL_NONE */
    uint8_t *context_layer;      /* pl_debug_layer */
    pl_id_map contexts;          /* id to place in the above */

    size_t num_details;
    pl_debug_details *details;

    /* Parallel lists: the operation that owns the programs of a called function, and the one that
     * it stands for at one call. */
    size_t num_outlined;
    uint64_t *outlined_ids;
    uint64_t *replaced_ids;

    size_t num_names;      /* the file's string table */
    uint64_t *name_offset; /* into name_bytes */
    char *name_bytes;
    size_t name_bytes_length;

    /* What is found on the way up from each context, see pl_debug_resolve. */
    uint32_t *context_operation; /* itself or the nearest above that is an operation, or PL_NONE */
    uint32_t *context_named;     /* the same for one that has an operation's name */

    bool truncated;
};

/* Leaves out the contexts, and their names, that nothing in the profile leads to: no program,
 * compute set or variable has them, or belongs to something below them. Where memory is short, they
 * stay. */
void pl_debug_keep_needed(pl_debug_info *info, const popliner_profile *profile);

/* The place of the context with this id, or PL_NONE. */
uint32_t pl_debug_find(const pl_debug_info *info, uint64_t id);

/* Walks up from all contexts, once: the way may be as long as there are contexts, and many programs
 * may begin at its end. Cyclic parents lead nowhere. Done by who reads the file, and again when
 * parents were changed. False when memory is short. O(contexts log contexts). */
bool pl_debug_resolve(pl_debug_info *info);

/* The nearest context, from the given one upwards, that is an operation; PL_NONE if there is
 * none. */
uint32_t pl_debug_operation_of(const pl_debug_info *info, uint32_t context);

/* The first operation name from the given context upwards, "" if there is none. */
const char *pl_debug_operation_name(const pl_debug_info *info, uint32_t context);

/* The details of a context, or NULL. */
const pl_debug_details *pl_debug_get_details(const pl_debug_info *info, uint32_t context);

static inline const char *pl_debug_text(const pl_debug_info *info, pl_debug_string string) {
    return info->string_bytes + string;
}

#endif
