/* Looking things up in the debug information.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_data.h"

#include <stdio.h>
#include <stdlib.h>

void popliner_debug_info_free(popliner_debug_info *info) {
    if (info == NULL)
        return;
    pl_id_map_free(&info->contexts);
    free(info->string_bytes);
    free(info->context_id);
    free(info->context_parent_id);
    free(info->context_name);
    free(info->context_details);
    free(info->context_is_operation);
    free(info->details);
    free(info->outlined_ids);
    free(info->replaced_ids);
    free(info->name_offset);
    free(info->name_bytes);
    free(info);
}

size_t popliner_debug_info_num_contexts(const popliner_debug_info *info) {
    return info->num_contexts;
}

size_t popliner_debug_info_num_read(const popliner_debug_info *info) {
    return info->num_read;
}

bool popliner_debug_info_is_truncated(const popliner_debug_info *info) {
    return info->truncated;
}

uint32_t pl_debug_find(const popliner_debug_info *info, uint64_t id) {
    return id == 0 ? PL_NONE : pl_id_map_find(&info->contexts, id);
}

uint32_t pl_debug_parent(const popliner_debug_info *info, uint32_t context) {
    return pl_debug_find(info, info->context_parent_id[context]);
}

uint32_t pl_debug_operation_of(const popliner_debug_info *info, uint32_t context) {
    size_t steps = 0; /* more than there are contexts: the parents are cyclic */
    while (context != PL_NONE && steps++ < info->num_contexts) {
        if (info->context_is_operation[context])
            return context;
        context = pl_debug_parent(info, context);
    }
    return PL_NONE;
}

const pl_debug_details *pl_debug_get_details(const popliner_debug_info *info, uint32_t context) {
    if (context == PL_NONE || info->context_details[context] == PL_NONE)
        return NULL;
    return &info->details[info->context_details[context]];
}

const char *pl_debug_operation_name(const popliner_debug_info *info, uint32_t context) {
    size_t steps = 0;
    while (context != PL_NONE && steps++ < info->num_contexts) {
        const pl_debug_details *details = pl_debug_get_details(info, context);
        if (details != NULL && details->operation_name != 0)
            return pl_debug_text(info, details->operation_name);
        context = pl_debug_parent(info, context);
    }
    return "";
}

bool popliner_debug_info_path(const popliner_debug_info *info, uint64_t id, char *path,
                              size_t size) {
    enum { MAX_PARENTS = 100 };
    uint32_t chain[MAX_PARENTS];
    size_t length = 0;
    uint32_t context = pl_debug_find(info, id);
    bool known = context != PL_NONE;
    for (; context != PL_NONE && length < MAX_PARENTS; context = pl_debug_parent(info, context)) {
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
