/* Variables and when they live: categories, unlowered variables and equivalence classes. The
 * lowered variables have a file of their own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"

/* Reads a table of (id, name) into a map and an array of names; the table may be missing. */
static popliner_status read_names(const pl_database *database, const char *table,
                                  popliner_profile *profile, pl_id_map *ids, pl_string **names,
                                  size_t *count, size_t most, popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"name", true}};
    pl_rows rows = {0};
    bool more = false;
    size_t capacity = 0;
    popliner_status status = pl_rows_open(&rows, database, table, false, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status != POPLINER_OK)
            break;
        if (*count >= most) {
            status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: table %s has more than %zu rows",
                             database->path, table, most);
            break;
        }
        pl_string name = pl_profile_add_string(profile, pl_rows_text(&rows, 1));
        if (name == PL_NONE || !pl_id_map_add(ids, id, (uint32_t)*count) ||
            !pl_grow(names, &capacity, *count + 1, sizeof **names)) {
            status = pl_fail_memory(error, "the names of variables");
            break;
        }
        (*names)[(*count)++] = name;
    }
    pl_rows_close(&rows);
    pl_id_map_sort(ids);
    if (status == POPLINER_OK && *names == NULL &&
        (*names = pl_new_array(0, sizeof **names)) == NULL)
        status = pl_fail_memory(error, "the names of variables");
    return status;
}

/* The debug contexts of the unlowered variables; of several the first. */
static popliner_status read_variable_contexts(const pl_database *database, popliner_profile *p,
                                              const pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {{"variable_id", true}, {"ids", false}};
    pl_rows rows = {0};
    bool more = false;
    p->unlowered_debug_context = pl_new_array(p->num_unlowered, sizeof(uint64_t));
    if (p->unlowered_debug_context == NULL)
        return pl_fail_memory(error, "the names of variables");
    popliner_status status =
        pl_rows_open(&rows, database, "debug_ids", false, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        size_t size_bytes = 0;
        uint64_t context = 0;
        status = pl_rows_number_or(&rows, 0, INT64_MAX, UINT64_MAX, &id, error);
        const uint8_t *blob = pl_rows_blob(&rows, 1, &size_bytes);
        uint32_t unlowered = pl_id_map_find(&ids->unlowered, id);
        if (status != POPLINER_OK || unlowered == PL_NONE || size_bytes == 0)
            continue;
        if (pl_varint_read(&blob, blob + size_bytes, &context))
            p->unlowered_debug_context[unlowered] = context;
        else
            status = pl_rows_fail(&rows, 1, error, "is damaged: it ends inside a number");
    }
    pl_rows_close(&rows);
    return status;
}

static popliner_status read_classes(const pl_database *database, popliner_profile *profile,
                                    pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"is_always_live", true}};
    pl_rows rows = {0};
    bool more = false;
    size_t capacity = 0;
    popliner_status status =
        pl_rows_open(&rows, database, "eq_classes", true, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        uint64_t always_live = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 1, 1, &always_live, error);
        if (status != POPLINER_OK)
            break;
        if (profile->num_classes >= PL_NONE - 1 ||
            !pl_id_map_add(&ids->classes, id, (uint32_t)profile->num_classes) ||
            !pl_grow(&profile->class_always_live, &capacity, profile->num_classes + 1, 1)) {
            status = pl_fail_memory(error, "the equivalence classes");
            break;
        }
        profile->class_always_live[profile->num_classes++] = (uint8_t)always_live;
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&ids->classes);
    if (status == POPLINER_OK && profile->num_classes == 0)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: table eq_classes is empty", database->path);
    return status;
}

/* Finds out which of the names are those of known categories. */
static popliner_status recognise_categories(popliner_profile *profile, popliner_error *error) {
    profile->category = pl_new_array(profile->num_categories, sizeof *profile->category);
    if (profile->category == NULL)
        return pl_fail_memory(error, "the categories of variables");
    for (size_t i = 0; i < profile->num_categories; i++)
        profile->category[i] =
            (uint8_t)pl_category_from_name(pl_profile_string(profile, profile->category_name[i]));
    return POPLINER_OK;
}

popliner_status pl_profile_read_variables(const pl_database *database, popliner_profile *profile,
                                          pl_profile_ids *ids, popliner_error *error) {
    popliner_status status =
        read_names(database, "var_categories", profile, &ids->categories, &profile->category_name,
                   &profile->num_categories, PL_MAX_CATEGORIES, error);
    if (status == POPLINER_OK && profile->num_categories == 0) {
        /* every variable needs one; without the table all are of one nameless category */
        free(profile->category_name);
        profile->category_name = pl_new_array(1, sizeof *profile->category_name);
        profile->num_categories = 1;
        if (profile->category_name == NULL)
            status = pl_fail_memory(error, "the categories of variables");
    }
    if (status == POPLINER_OK)
        status = recognise_categories(profile, error);
    if (status == POPLINER_OK)
        status = read_names(database, "unlowered_vars", profile, &ids->unlowered,
                            &profile->unlowered_name, &profile->num_unlowered, PL_NONE - 1, error);
    if (status == POPLINER_OK)
        status = read_variable_contexts(database, profile, ids, error);
    if (status == POPLINER_OK)
        status = read_classes(database, profile, ids, error);
    return status;
}

/* Brings the ranges of each class into order and merges those that overlap, so that no variable is
 * counted twice at a step. Ranges that merely touch stay apart: each begins and ends a life. */
static void merge_ranges(popliner_profile *p) {
    uint32_t kept = 0;
    uint32_t start = 0; /* of the class, as it was read */
    for (size_t c = 0; c < p->num_classes; c++) {
        uint32_t end = p->class_ranges_start[c + 1];
        uint32_t first_kept = kept;
        for (uint32_t i = start + 1; i < end; i++) {
            /* by insertion: classes have few ranges, nearly always in order */
            uint32_t first_step = p->range_first_step[i];
            uint32_t end_step = p->range_end_step[i];
            uint32_t k = i;
            for (; k > start && p->range_first_step[k - 1] > first_step; k--) {
                p->range_first_step[k] = p->range_first_step[k - 1];
                p->range_end_step[k] = p->range_end_step[k - 1];
            }
            p->range_first_step[k] = first_step;
            p->range_end_step[k] = end_step;
        }
        for (uint32_t i = start; i < end; i++) {
            if (kept > first_kept && p->range_first_step[i] < p->range_end_step[kept - 1]) {
                if (p->range_end_step[i] > p->range_end_step[kept - 1])
                    p->range_end_step[kept - 1] = p->range_end_step[i];
            } else {
                p->range_first_step[kept] = p->range_first_step[i];
                p->range_end_step[kept++] = p->range_end_step[i];
            }
        }
        p->class_ranges_start[c + 1] = kept;
        start = end;
    }
    p->num_ranges = kept;
}

popliner_status pl_profile_read_live_ranges(const pl_database *database, popliner_profile *profile,
                                            pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {
        {"eq_class_id", true}, {"step_id_from", true}, {"step_id_to", true}};
    size_t capacity = 0;
    uint32_t *range_class = NULL;
    uint32_t *first_steps = NULL;
    uint32_t *end_steps = NULL;
    size_t count = 0;
    pl_rows rows = {0};
    bool more = false;
    profile->class_ranges_start =
        pl_new_array(profile->num_classes + 1, sizeof *profile->class_ranges_start);
    popliner_status status = profile->class_ranges_start == NULL
                                 ? pl_fail_memory(error, "the equivalence classes")
                                 : POPLINER_OK;
    if (status == POPLINER_OK)
        status = pl_rows_open(&rows, database, "eq_class_step", true, columns, 3, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t class_id = 0;
        uint64_t first_step = 0;
        uint64_t end_step = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &class_id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 1, profile->num_steps, &first_step, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 2, profile->num_steps, &end_step, error);
        uint32_t class_index = pl_id_map_find(&ids->classes, class_id);
        if (status == POPLINER_OK && class_index == PL_NONE)
            status = pl_rows_fail(&rows, 0, error, "is %llu, which table eq_classes does not have",
                                  (unsigned long long)class_id);
        if (status == POPLINER_OK && end_step < first_step)
            status = pl_rows_fail(&rows, 2, error, "is %llu, before step_id_from %llu",
                                  (unsigned long long)end_step, (unsigned long long)first_step);
        if (status != POPLINER_OK)
            break;
        const pl_column_room room[] = {PL_COLUMN_ROOM(range_class), PL_COLUMN_ROOM(first_steps),
                                       PL_COLUMN_ROOM(end_steps)};
        if (!pl_grow_columns(room, 3, &capacity, count + 1)) {
            status = pl_fail_memory(error, "the live ranges");
            break;
        }
        range_class[count] = class_index;
        first_steps[count] = (uint32_t)first_step;
        end_steps[count] = (uint32_t)end_step;
        profile->class_ranges_start[class_index + 1]++;
        count++;
    }
    pl_rows_close(&rows);
    if (status != POPLINER_OK)
        goto done;

    for (size_t i = 0; i < profile->num_classes; i++)
        profile->class_ranges_start[i + 1] += profile->class_ranges_start[i];
    profile->num_ranges = count;
    profile->range_first_step = pl_new_array(count, sizeof *profile->range_first_step);
    profile->range_end_step = pl_new_array(count, sizeof *profile->range_end_step);
    uint32_t *next = pl_new_array(profile->num_classes, sizeof *next);
    if (profile->range_first_step == NULL || profile->range_end_step == NULL || next == NULL) {
        status = pl_fail_memory(error, "the live ranges");
    } else {
        memcpy(next, profile->class_ranges_start, profile->num_classes * sizeof *next);
        for (size_t i = 0; i < count; i++) {
            uint32_t place = next[range_class[i]]++;
            profile->range_first_step[place] = first_steps[i];
            profile->range_end_step[place] = end_steps[i];
        }
        merge_ranges(profile);
    }
    free(next);
done:
    free(range_class);
    free(first_steps);
    free(end_steps);
    return status;
}
