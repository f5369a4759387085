/* The debug information that Poplar writes with the profile (debug.cbor): it relates the compiled
 * program to the user's program.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DEBUG_INFO_H
#define PL_PROFILE_DEBUG_INFO_H

#include "base/bounds.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "popliner/error.h"
#include "popliner/profile.h"

/* The debug contexts of a file. Immutable once read. Owned by the caller that read it; free with
 * pl_debug_info_free. */
typedef struct pl_debug_info pl_debug_info;

/* Reads the file at `path` in one pass, within bounds (NULL: none). Tolerates unknown layers and
 * keys, missing and cyclic parents. Uses a truncated or damaged file as far as possible, and warns
 * the listener (may be NULL). Errors: INPUT if the file cannot be read or is no debug information;
 * MEMORY; STOPPED. Cost: O(bytes); memory for the ids, parents and names of the contexts, not for
 * their arguments. */
popliner_status pl_debug_info_read(pl_bounds *bounds, const char *path,
                                   const popliner_listener *listener, pl_debug_info **info,
                                   popliner_error *error);
void pl_debug_info_free(pl_debug_info *info);

/* See popliner_analysis_debug_path. */
bool pl_debug_info_path(const pl_debug_info *info, uint64_t id, char *path, size_t size);

/* ---- Inside the library ---- */

/* The offset of a NUL-terminated string in pl_debug_info.strings; 0 is "" and "absent". */
typedef uint32_t pl_debug_string;

/* The properties of an operation, which few contexts have. */
typedef struct pl_debug_details {
    pl_debug_string operation_name; /* opName or op_name */
    pl_debug_string inputs;         /* joined by '/' */
    pl_debug_string instance_id;
    pl_debug_string tensor_id;
    bool is_call;          /* opid ai.graphcore.Call, or made by the outliner */
    size_t first_outlined; /* into outlined_ids / replaced_ids */
    size_t num_outlined;
} pl_debug_details;

/* The software that wrote a context. */
typedef enum pl_debug_layer {
    PL_DEBUG_LAYER_UNKNOWN,
    PL_DEBUG_LAYER_OTHER,
    PL_DEBUG_LAYER_OPERATIONS, /* a framework's, which operations come from */
    PL_DEBUG_LAYER_POPLAR,     /* makes the programs */
} pl_debug_layer;

/* A context in the file. */
typedef struct pl_debug_context {
    uint64_t id;
    uint64_t parent_id; /* as in the file; 0: none */
    uint32_t name;      /* index into the string table, or PL_NONE */
    uint32_t details;   /* index into details, or PL_NONE */
    pl_debug_layer layer;
    /* The results of pl_debug_resolve, which are undefined before. */
    uint32_t operation; /* the nearest operation, from the context upwards, or PL_NONE */
    uint32_t named;     /* the nearest one that has an operation name, or PL_NONE */
} pl_debug_context;

struct pl_debug_info {
    pl_arrays arrays;   /* own all of these */
    char *string_bytes; /* of the details */
    size_t strings_length;

    size_t num_contexts;
    pl_debug_context *contexts;
    pl_id_map ids; /* of the contexts */

    size_t num_details;
    pl_debug_details *details;

    /* Parallel lists for outlined calls: the operation that owns the programs of a called function,
     * and the operation that it replaces at one call. */
    size_t num_outlined;
    uint64_t *outlined_ids;
    uint64_t *replaced_ids;

    size_t num_names;      /* the file's string table */
    uint64_t *name_offset; /* into name_bytes */
    char *name_bytes;
    size_t name_bytes_length;

    bool truncated; /* the file ended early: contexts and their own names may be missing */
};

/* Returns the index of the context with this id, or PL_NONE. */
uint32_t pl_debug_find(const pl_debug_info *info, uint64_t id);

/* Finds the nearest operation of every context once: a path may be as long as there are contexts,
 * and many programs may begin at its end. Cyclic parents lead nowhere. The reader of the file calls
 * it; call it again after changing parents. O(contexts log contexts). */
void pl_debug_resolve(pl_debug_info *info);

/* Returns the nearest operation, from the given context upwards; PL_NONE if there is none. */
uint32_t pl_debug_operation_of(const pl_debug_info *info, uint32_t context);

/* Returns the first operation name from the given context upwards, "" if there is none. */
const char *pl_debug_operation_name(const pl_debug_info *info, uint32_t context);

/* Returns the details of a context, or NULL. */
const pl_debug_details *pl_debug_get_details(const pl_debug_info *info, uint32_t context);

static inline const char *pl_debug_text(const pl_debug_info *info, pl_debug_string string) {
    return info->string_bytes + string;
}

#endif
