/* Reads categories, unlowered variables, equivalence classes, and when these are live.
 * profile_lowered.c reads the lowered variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

/* The state of reading a table of (id, name) into a map and an array of names. */
typedef struct name_reader {
    popliner_profile *profile;
    pl_id_map *ids;
    pl_string **names;
    size_t *count;
    size_t capacity; /* of all arrays with one item per row */
    size_t max_count;
} name_reader;

static popliner_status take_name(void *user, pl_rows *rows, popliner_error *error) {
    name_reader *r = user;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    if (*r->count >= r->max_count)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: table %s has more than %zu rows",
                       rows->database->path, rows->table, r->max_count);
    pl_string name = pl_profile_add_string(r->profile, pl_rows_text(rows, 1));
    if (name == PL_NONE || !pl_id_map_add(r->ids, id, *r->count) ||
        !pl_profile_reserve(r->profile, r->count, &r->capacity))
        return pl_fail_memory(error, "the names of variables");
    (*r->names)[(*r->count)++] = name;
    return POPLINER_OK;
}

/* The table is optional: without it there are no names. */
static popliner_status read_names(const pl_database *database, const char *name, name_reader *r,
                                  popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"name", true}};
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 2, ""};
    popliner_status status = pl_table_read(database, &table, take_name, r, error);
    pl_id_map_sort(r->ids);
    if (status == POPLINER_OK && !pl_profile_allocate(r->profile, r->count))
        status = pl_fail_memory(error, "the names of variables");
    return status;
}

/* Reads the first debug context of an unlowered variable. */
static popliner_status take_variable_contexts(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    uint64_t id = 0;
    size_t size_bytes = 0;
    uint64_t context = 0;
    popliner_status status = pl_rows_number_or(rows, 0, INT64_MAX, UINT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    const uint8_t *blob = pl_rows_blob(rows, 1, &size_bytes);
    uint32_t unlowered = pl_id_map_find(&r->ids.unlowered, id);
    if (unlowered == PL_NONE || size_bytes == 0)
        return POPLINER_OK;
    if (!pl_varint_read(&blob, blob + size_bytes, &context))
        return pl_rows_fail(rows, 1, error, "is damaged: it ends inside a number");
    r->profile->unlowered_debug_context[unlowered] = context;
    return POPLINER_OK;
}

static popliner_status read_variable_contexts(pl_reading *r, popliner_error *error) {
    static const pl_column columns[] = {{"variable_id", true}, {"ids", false}};
    static const pl_table table = {"debug_ids", PL_TABLE_OPTIONAL, columns, 2, ""};
    return pl_reading_table(r, &table, take_variable_contexts, error);
}

static popliner_status take_class(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    return status == POPLINER_OK
               ? pl_reading_add(r, rows, &r->profile->num_classes, &r->ids.classes, id, error)
               : status;
}

static popliner_status read_classes(pl_reading *r, popliner_error *error) {
    static const pl_column column = {"id", true};
    static const pl_table table = {"eq_classes", PL_TABLE_REQUIRED, &column, 1, ""};
    popliner_status status =
        pl_reading_fields(r, &table, &r->profile->num_classes, take_class, r, error);
    pl_id_map_sort(&r->ids.classes);
    if (status == POPLINER_OK && r->profile->num_classes == 0)
        status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: table eq_classes is empty", r->path);
    return status;
}

popliner_status pl_profile_read_variables(pl_reading *r, popliner_error *error) {
    popliner_profile *p = r->profile;
    size_t capacity = 0;
    name_reader categories = {.profile = p,
                              .ids = &r->ids.categories,
                              .names = &p->category_name,
                              .count = &p->num_categories,
                              .max_count = PL_MAX_CATEGORIES};
    name_reader unlowered = {.profile = p,
                             .ids = &r->ids.unlowered,
                             .names = &p->unlowered_name,
                             .count = &p->num_unlowered,
                             .max_count = PL_NONE - 1};
    popliner_status status = read_names(&r->database, "var_categories", &categories, error);
    if (status == POPLINER_OK && p->num_categories == 0) {
        /* every variable needs a category; without the table there is one nameless category */
        if (!pl_profile_reserve(p, &p->num_categories, &capacity))
            return pl_fail_memory(error, "the categories of variables");
        p->num_categories = 1;
    }
    for (size_t i = 0; status == POPLINER_OK && i < p->num_categories; i++)
        p->category[i] = (uint8_t)pl_category_from_name(pl_profile_string(p, p->category_name[i]));
    if (status == POPLINER_OK)
        status = read_names(&r->database, "unlowered_vars", &unlowered, error);
    if (status == POPLINER_OK)
        status = read_variable_contexts(r, error);
    if (status == POPLINER_OK)
        status = read_classes(r, error);
    return status;
}

/* ---- Live ranges of equivalence classes ---- */

/* The ranges in the order of the file. */
typedef struct range_reader {
    popliner_profile *profile;
    const pl_profile_ids *ids;
    uint32_t *class_index;
    uint32_t *first_step;
    uint32_t *end_step;
    size_t count;
    size_t capacity;
} range_reader;

/* Reads a range, and counts it for its class. */
static popliner_status take_range(void *user, pl_rows *rows, popliner_error *error) {
    range_reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t first_step = 0;
    uint64_t end_step = 0;
    uint32_t class_index = PL_NONE;
    popliner_status status =
        pl_rows_index(rows, 0, &r->ids->classes, "eq_classes", &class_index, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 1, p->num_steps, &first_step, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 2, p->num_steps, &end_step, error);
    if (status != POPLINER_OK)
        return status;
    if (end_step < first_step)
        return pl_rows_fail(rows, 2, error, "is %llu, before step_id_from %llu",
                            (unsigned long long)end_step, (unsigned long long)first_step);
    const pl_column_room room[] = {PL_COLUMN_ROOM(r->class_index), PL_COLUMN_ROOM(r->first_step),
                                   PL_COLUMN_ROOM(r->end_step)};
    if (!pl_grow_columns(room, 3, &r->capacity, r->count + 1))
        return pl_fail_memory(error, "the live ranges");
    r->class_index[r->count] = class_index;
    r->first_step[r->count] = (uint32_t)first_step;
    r->end_step[r->count++] = (uint32_t)end_step;
    p->class_ranges_start[class_index + 1]++;
    return POPLINER_OK;
}

/* Sorts the ranges by class; false if memory is short. */
static bool sort_by_class(const range_reader *r) {
    popliner_profile *p = r->profile;
    for (size_t i = 0; i < p->num_classes; i++)
        p->class_ranges_start[i + 1] += p->class_ranges_start[i];
    p->num_ranges = r->count;
    p->range_first_step = pl_new_array(r->count, sizeof *p->range_first_step);
    p->range_end_step = pl_new_array(r->count, sizeof *p->range_end_step);
    uint32_t *next = pl_new_array(p->num_classes, sizeof *next);
    bool memory = p->range_first_step != NULL && p->range_end_step != NULL && next != NULL;
    if (memory) {
        memcpy(next, p->class_ranges_start, p->num_classes * sizeof *next);
        for (size_t i = 0; i < r->count; i++) {
            uint32_t place = next[r->class_index[i]]++;
            p->range_first_step[place] = r->first_step[i];
            p->range_end_step[place] = r->end_step[i];
        }
    }
    free(next);
    return memory;
}

static int compare_keys(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts the ranges start ... end - 1 by their first steps, stably; nearly always they are sorted.
 * `keys` and `ends` have space for all of them. */
static void sort_ranges(popliner_profile *p, uint32_t start, uint32_t end, uint64_t *keys,
                        uint32_t *ends) {
    bool is_sorted = true;
    for (uint32_t i = start; i < end; i++) {
        is_sorted =
            is_sorted && (i == start || p->range_first_step[i - 1] <= p->range_first_step[i]);
        keys[i - start] = (uint64_t)p->range_first_step[i] << 32 | (i - start);
        ends[i - start] = p->range_end_step[i];
    }
    if (is_sorted)
        return;
    qsort(keys, end - start, sizeof *keys, compare_keys);
    for (uint32_t i = start; i < end; i++) {
        uint64_t key = keys[i - start];
        p->range_first_step[i] = (uint32_t)(key >> 32);
        p->range_end_step[i] = ends[key & UINT32_MAX];
    }
}

/* Sorts the ranges of each class, merges those that overlap or touch, and drops empty ones: then
 * files with equal liveness have equal ranges, and a variable that is live before and after a step
 * has one range. False if memory is short. */
static bool merge_ranges(popliner_profile *p) {
    uint64_t *keys = pl_new_array(p->num_ranges, sizeof *keys);
    uint32_t *ends = pl_new_array(p->num_ranges, sizeof *ends);
    bool memory = keys != NULL && ends != NULL;
    uint32_t kept = 0;
    uint32_t start = 0; /* of the class, before merging */
    for (size_t c = 0; memory && c < p->num_classes; c++) {
        uint32_t end = p->class_ranges_start[c + 1];
        uint32_t first_kept = kept;
        sort_ranges(p, start, end, keys, ends);
        for (uint32_t i = start; i < end; i++) {
            if (p->range_first_step[i] == p->range_end_step[i])
                continue;
            if (kept > first_kept && p->range_first_step[i] <= p->range_end_step[kept - 1]) {
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
    if (memory)
        p->num_ranges = kept;
    free(keys);
    free(ends);
    return memory;
}

popliner_status pl_profile_read_live_ranges(pl_reading *reading, popliner_error *error) {
    popliner_profile *profile = reading->profile;
    static const pl_column columns[] = {
        {"eq_class_id", true}, {"step_id_from", true}, {"step_id_to", true}};
    static const pl_table table = {"eq_class_step", PL_TABLE_REQUIRED, columns, 3, ""};
    range_reader r = {.profile = profile, .ids = &reading->ids};
    profile->class_ranges_start =
        pl_new_array(profile->num_classes + 1, sizeof *profile->class_ranges_start);
    if (profile->class_ranges_start == NULL)
        return pl_fail_memory(error, "the equivalence classes");
    popliner_status status = pl_table_read(&reading->database, &table, take_range, &r, error);
    if (status == POPLINER_OK && (!sort_by_class(&r) || !merge_ranges(profile)))
        status = pl_fail_memory(error, "the live ranges");
    free(r.class_index);
    free(r.first_step);
    free(r.end_step);
    return status;
}
