/* Looks things up in the debug information.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_info.h"

#include <stdio.h>
#include <stdlib.h>

void pl_debug_info_free(pl_debug_info *info) {
    if (info == NULL)
        return;
    pl_arrays_free(&info->arrays);
    pl_id_map_free(&info->ids);
    free(info);
}

uint32_t pl_debug_find(const pl_debug_info *info, uint64_t id) {
    return id == 0 ? PL_NONE : pl_id_map_find(&info->ids, id);
}

const pl_debug_details *pl_debug_get_details(const pl_debug_info *info, uint32_t context) {
    if (context == PL_NONE || info->contexts[context].details == PL_NONE)
        return NULL;
    return &info->details[info->contexts[context].details];
}

/* Returns the index of the parent, or PL_NONE for a root or a parent that is not in the file. */
static uint32_t find_parent(const pl_debug_info *info, uint32_t context) {
    return pl_debug_find(info, info->contexts[context].parent_id);
}

/* Sets the results of the contexts of a way upwards, which ends below `above`, or PL_NONE. */
static void resolve_way(const pl_debug_info *info, const uint32_t *way, size_t length,
                        uint32_t above) {
    uint32_t operation = above == PL_NONE ? PL_NONE : info->contexts[above].operation;
    uint32_t named = above == PL_NONE ? PL_NONE : info->contexts[above].named;
    while (length > 0) {
        const uint32_t context = way[--length];
        pl_debug_context *it = &info->contexts[context];
        const pl_debug_details *details = pl_debug_get_details(info, context);
        if (it->layer == PL_DEBUG_LAYER_OPERATIONS)
            operation = context;
        if (details != NULL && details->operation_name != 0)
            named = context;
        it->operation = operation;
        it->named = named;
    }
}

void pl_debug_resolve(pl_debug_info *info) {
    const uint32_t unknown = PL_NONE - 1;
    const uint32_t on_the_way = PL_NONE - 2;
    pl_arrays own = {0};
    uint32_t *way = pl_arrays_new(&own, info->num_contexts, sizeof *way);
    for (size_t i = 0; i < info->num_contexts; i++)
        info->contexts[i].operation = unknown;
    for (size_t i = 0; !own.failed && i < info->num_contexts; i++) {
        size_t length = 0;
        uint32_t above = (uint32_t)i;
        for (; above != PL_NONE && info->contexts[above].operation == unknown;
             above = find_parent(info, above)) {
            info->contexts[above].operation = on_the_way;
            way[length++] = above;
        }
        const bool is_ring = above != PL_NONE && info->contexts[above].operation == on_the_way;
        resolve_way(info, way, length, is_ring ? PL_NONE : above);
        if (is_ring) /* the first of the ring is right now: once around it */
            resolve_way(info, way, length, above);
    }
    pl_arrays_end(&own, &info->arrays);
}

uint32_t pl_debug_operation_of(const pl_debug_info *info, uint32_t context) {
    return context == PL_NONE ? PL_NONE : info->contexts[context].operation;
}

const char *pl_debug_operation_name(const pl_debug_info *info, uint32_t context) {
    const uint32_t named = context == PL_NONE ? PL_NONE : info->contexts[context].named;
    return named == PL_NONE
               ? ""
               : pl_debug_text(info, pl_debug_get_details(info, named)->operation_name);
}

bool pl_debug_info_path(const pl_debug_info *info, uint64_t id, char *path, size_t size) {
    enum { MAX_PARENTS = 100 };
    uint32_t chain[MAX_PARENTS];
    size_t length = 0;
    uint32_t context = pl_debug_find(info, id);
    bool known = context != PL_NONE;
    for (; context != PL_NONE && length < MAX_PARENTS; context = find_parent(info, context)) {
        bool met = false; /* the parents are cyclic */
        for (size_t i = 0; i < length && !met; i++)
            met = chain[i] == context;
        if (met)
            break;
        chain[length++] = context;
    }
    size_t used = 0;
    if (size > 0)
        path[0] = '\0';
    while (length-- > 0 && used < size) {
        uint32_t name = info->contexts[chain[length]].name;
        if (name >= info->num_names)
            continue;
        const char *text = info->name_bytes + info->name_offset[name];
        if (*text != '\0') {
            int written = snprintf(path + used, size - used, "%s%s", used > 0 ? "/" : "", text);
            used += written > 0 ? (size_t)written : 0;
        }
    }
    return known;
}
