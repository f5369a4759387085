/* Looking things up in the debug information.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_data.h"

#include <stdio.h>
#include <stdlib.h>

void pl_debug_info_free(pl_debug_info *info) {
    if (info == NULL)
        return;
    pl_id_map_free(&info->contexts);
    free(info->string_bytes);
    free(info->context_id);
    free(info->context_parent_id);
    free(info->context_name);
    free(info->context_details);
    free(info->context_layer);
    free(info->context_operation);
    free(info->context_named);
    free(info->details);
    free(info->outlined_ids);
    free(info->replaced_ids);
    free(info->name_offset);
    free(info->name_bytes);
    free(info);
}

size_t pl_debug_info_num_contexts(const pl_debug_info *info) {
    return info->num_contexts;
}

size_t pl_debug_info_num_read(const pl_debug_info *info) {
    return info->num_read;
}

bool pl_debug_info_is_truncated(const pl_debug_info *info) {
    return info->truncated;
}

uint32_t pl_debug_find(const pl_debug_info *info, uint64_t id) {
    return id == 0 ? PL_NONE : pl_id_map_find(&info->contexts, id);
}

const pl_debug_details *pl_debug_get_details(const pl_debug_info *info, uint32_t context) {
    if (context == PL_NONE || info->context_details[context] == PL_NONE)
        return NULL;
    return &info->details[info->context_details[context]];
}

/* The place of the parent, or PL_NONE for a root or a parent that is not in the file. */
static uint32_t find_parent(const pl_debug_info *info, uint32_t context) {
    return pl_debug_find(info, info->context_parent_id[context]);
}

static bool is_operation(const pl_debug_info *info, uint32_t context) {
    return info->context_layer[context] == PL_DEBUG_LAYER_OPERATIONS;
}

static bool has_operation_name(const pl_debug_info *info, uint32_t context) {
    const pl_debug_details *details = pl_debug_get_details(info, context);
    return details != NULL && details->operation_name != 0;
}

/* nearest[i] becomes the first context from i upwards of which `holds` is true, or PL_NONE;
 * way[num_contexts] is room. */
static void find_nearest(const pl_debug_info *info,
                         bool (*holds)(const pl_debug_info *info, uint32_t context),
                         uint32_t *nearest, uint32_t *way) {
    const uint32_t unknown = PL_NONE - 1;
    const uint32_t on_the_way = PL_NONE - 2;
    for (size_t i = 0; i < info->num_contexts; i++)
        nearest[i] = unknown;
    for (size_t i = 0; i < info->num_contexts; i++) {
        size_t length = 0;
        uint32_t context = (uint32_t)i;
        for (; context != PL_NONE && nearest[context] == unknown;
             context = find_parent(info, context)) {
            if (holds(info, context)) {
                nearest[context] = context;
                break;
            }
            nearest[context] = on_the_way;
            way[length++] = context;
        }
        bool is_lost = context == PL_NONE || nearest[context] == on_the_way; /* cyclic */
        uint32_t found = is_lost ? PL_NONE : nearest[context];
        while (length > 0)
            nearest[way[--length]] = found;
    }
}

bool pl_debug_resolve(pl_debug_info *info) {
    size_t count = info->num_contexts;
    uint32_t *way = pl_new_array(count, sizeof *way);
    if (info->context_operation == NULL)
        info->context_operation = pl_new_array(count, sizeof *info->context_operation);
    if (info->context_named == NULL)
        info->context_named = pl_new_array(count, sizeof *info->context_named);
    bool memory = way != NULL && info->context_operation != NULL && info->context_named != NULL;
    if (memory) {
        find_nearest(info, is_operation, info->context_operation, way);
        find_nearest(info, has_operation_name, info->context_named, way);
    }
    free(way);
    return memory;
}

uint32_t pl_debug_operation_of(const pl_debug_info *info, uint32_t context) {
    return context == PL_NONE ? PL_NONE : info->context_operation[context];
}

const char *pl_debug_operation_name(const pl_debug_info *info, uint32_t context) {
    uint32_t named = context == PL_NONE ? PL_NONE : info->context_named[context];
    return named == PL_NONE
               ? ""
               : pl_debug_text(info, info->details[info->context_details[named]].operation_name);
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
        uint32_t name = info->context_name[chain[length]];
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
