/* Looks things up in the debug information, and drops what the profile does not refer to.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_info.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_data.h"

void pl_debug_columns(pl_debug_info *info, pl_column_room columns[PL_DEBUG_COLUMNS]) {
    const pl_column_room all[PL_DEBUG_COLUMNS] = {
        PL_COLUMN_ROOM(info->context_id),    PL_COLUMN_ROOM(info->context_parent_id),
        PL_COLUMN_ROOM(info->context_name),  PL_COLUMN_ROOM(info->context_details),
        PL_COLUMN_ROOM(info->context_layer), PL_COLUMN_ROOM(info->context_operation),
        PL_COLUMN_ROOM(info->context_named),
    };
    memcpy(columns, all, sizeof all);
}

void pl_debug_info_free(pl_debug_info *info) {
    if (info == NULL)
        return;
    pl_arrays_free(&info->arrays);
    pl_id_map_free(&info->contexts);
    free(info);
}

uint32_t pl_debug_find(const pl_debug_info *info, uint64_t id) {
    return id == 0 ? PL_NONE : pl_id_map_find(&info->contexts, id);
}

const pl_debug_details *pl_debug_get_details(const pl_debug_info *info, uint32_t context) {
    if (context == PL_NONE || info->context_details[context] == PL_NONE)
        return NULL;
    return &info->details[info->context_details[context]];
}

/* Returns the index of the parent, or PL_NONE for a root or a parent that is not in the file. */
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

/* Sets nearest[i] to the first context from i upwards for which `holds` is true, or PL_NONE;
 * way[num_contexts] is scratch space. */
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
    uint32_t *way = pl_new_array(info->num_contexts, sizeof *way);
    if (way == NULL)
        return false;
    find_nearest(info, is_operation, info->context_operation, way);
    find_nearest(info, has_operation_name, info->context_named, way);
    free(way);
    return true;
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

/* ---- Contexts that the profile needs ---- */

/* The needed contexts, and those of them whose references are still to be marked. */
typedef struct marking {
    const pl_debug_info *info;
    uint8_t *is_needed; /* [num_contexts] */
    uint32_t *waiting;  /* [num_contexts] */
    size_t num_waiting;
} marking;

static void mark(marking *m, uint64_t id) {
    uint32_t context = pl_debug_find(m->info, id);
    if (context == PL_NONE || m->is_needed[context] != 0)
        return;
    m->is_needed[context] = 1;
    m->waiting[m->num_waiting++] = context;
}

/* Marks the contexts that the profile names, and those that they refer to: parents, and the
 * operations that outlined calls replace. */
static void mark_needed(marking *m, const popliner_profile *p) {
    const pl_debug_info *info = m->info;
    for (size_t i = 0; i < p->num_programs; i++)
        mark(m, p->program_debug_context[i]);
    for (size_t i = 0; i < p->num_compute_sets; i++)
        mark(m, p->compute_set_debug_context[i]);
    for (size_t i = 0; i < p->num_unlowered; i++)
        mark(m, p->unlowered_debug_context[i]);
    while (m->num_waiting > 0) {
        uint32_t context = m->waiting[--m->num_waiting];
        const pl_debug_details *details = pl_debug_get_details(info, context);
        mark(m, info->context_parent_id[context]);
        for (size_t i = 0; details != NULL && i < details->num_outlined; i++) {
            mark(m, info->outlined_ids[details->first_outlined + i]);
            mark(m, info->replaced_ids[details->first_outlined + i]);
        }
    }
}

/* Maps the ids of the needed contexts to their new indices. False if memory is short. */
static bool number_contexts(const pl_debug_info *info, const uint8_t *is_needed,
                            pl_id_map *contexts) {
    uint32_t count = 0;
    for (size_t i = 0; i < info->num_contexts; i++)
        if (is_needed[i] != 0 && !pl_id_map_add(contexts, info->context_id[i], count++))
            return false;
    return true;
}

/* Returns the new index of a context, which may be PL_NONE. Ancestors of a needed context are
 * needed. */
static uint32_t new_place(const pl_debug_info *info, const pl_id_map *contexts, uint32_t context) {
    const uint32_t place =
        context == PL_NONE ? PL_NONE : pl_id_map_find(contexts, info->context_id[context]);
    assert(context == PL_NONE || place != PL_NONE);
    return place;
}

static void move_item(const pl_column_room *column, size_t to, size_t from) {
    char *items;
    memcpy(&items, column->array, sizeof items);
    memmove(items + to * column->item_size, items + from * column->item_size, column->item_size);
}

/* Moves the needed contexts and their details to the front, and marks the names that they use.
 * False if memory is short, before anything has changed. */
static bool keep_contexts(pl_debug_info *info, const uint8_t *is_needed, uint32_t *new_name) {
    pl_id_map contexts = {0};
    if (!number_contexts(info, is_needed, &contexts)) {
        pl_id_map_free(&contexts);
        return false;
    }
    pl_id_map_sort(&contexts);
    for (size_t i = 0; i < info->num_contexts; i++) {
        if (is_needed[i] == 0)
            continue;
        info->context_operation[i] = new_place(info, &contexts, info->context_operation[i]);
        info->context_named[i] = new_place(info, &contexts, info->context_named[i]);
    }
    pl_id_map_free(&info->contexts);
    info->contexts = contexts;
    pl_column_room columns[PL_DEBUG_COLUMNS];
    size_t count = 0;
    size_t num_details = 0;
    pl_debug_columns(info, columns);
    for (size_t i = 0; i < info->num_contexts; i++) {
        uint32_t *details = &info->context_details[i];
        if (is_needed[i] == 0)
            continue;
        if (*details != PL_NONE) {
            assert(*details >= num_details); /* they are in the order of their contexts */
            info->details[num_details] = info->details[*details];
            *details = (uint32_t)num_details++;
        }
        if (info->context_name[i] < info->num_names)
            new_name[info->context_name[i]] = 1;
        for (size_t k = 0; k < PL_DEBUG_COLUMNS; k++)
            move_item(&columns[k], count, i);
        count++;
    }
    info->num_contexts = count;
    info->num_details = num_details;
    return true;
}

/* Keeps the names that contexts use, and renumbers them; new_name[num_names] is not 0 for these. */
static void keep_names(pl_debug_info *info, uint32_t *new_name) {
    uint32_t count = 0;
    size_t length = 0;
    for (size_t i = 0; i < info->num_names; i++) {
        const char *name = info->name_bytes + info->name_offset[i];
        size_t size = strlen(name) + 1;
        if (new_name[i] == 0)
            continue;
        assert(length <= info->name_offset[i]); /* names are stored in order */
        memmove(info->name_bytes + length, name, size);
        info->name_offset[count] = length;
        new_name[i] = count++;
        length += size;
    }
    for (size_t i = 0; i < info->num_contexts; i++)
        if (info->context_name[i] < info->num_names)
            info->context_name[i] = new_name[info->context_name[i]];
    info->num_names = count;
    info->name_bytes_length = length;
}

/* Frees unused memory at the ends of the arrays. */
static void shrink(pl_debug_info *info) {
    pl_column_room columns[PL_DEBUG_COLUMNS];
    pl_debug_columns(info, columns);
    pl_arrays_shrink(&info->arrays, columns, PL_DEBUG_COLUMNS, info->num_contexts);
    pl_arrays_shrink(&info->arrays, &(pl_column_room)PL_COLUMN_ROOM(info->details), 1,
                     info->num_details);
    pl_arrays_shrink(&info->arrays, &(pl_column_room)PL_COLUMN_ROOM(info->name_offset), 1,
                     info->num_names);
    pl_arrays_shrink(&info->arrays, &(pl_column_room)PL_COLUMN_ROOM(info->name_bytes), 1,
                     info->name_bytes_length);
}

void pl_debug_keep_needed(pl_debug_info *info, const popliner_profile *profile) {
    marking m = {
        .info = info,
        .is_needed = pl_new_array(info->num_contexts, 1),
        .waiting = pl_new_array(info->num_contexts, sizeof *m.waiting),
    };
    uint32_t *new_name = pl_new_array(info->num_names, sizeof *new_name);
    if (m.is_needed != NULL && m.waiting != NULL && new_name != NULL) {
        mark_needed(&m, profile);
        if (keep_contexts(info, m.is_needed, new_name)) {
            keep_names(info, new_name);
            shrink(info);
        }
    }
    free(m.is_needed);
    free(m.waiting);
    free(new_name);
}
