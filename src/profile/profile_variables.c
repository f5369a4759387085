/* Reads categories, unlowered variables, equivalence classes, and when these are live.
 * profile_lowered.c reads the lowered variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdlib.h>
#include <string.h>

/* Reads a table of ids and names; without it there are no names. */
static void read_names(pl_reading *r, const char *name, size_t *count, pl_id_map *ids) {
    static const pl_column column = {"id", true};
    const pl_table table = {name, PL_TABLE_OPTIONAL, &column, 1, ""};
    pl_reading_ids(r, &table, count, ids);
}

static void read_categories(pl_reading *r) {
    static const char name[] = "var_categories";
    pl_outcome *outcome = &r->database.outcome;
    popliner_profile *p = r->profile;
    read_names(r, name, &p->num_categories, &r->ids.categories);
    if (p->num_categories > PL_MAX_CATEGORIES)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT, "%s: table %s has more than %d rows",
                        r->path, name, PL_MAX_CATEGORIES);
    /* every variable needs a category; without the table there is one nameless category */
    if (p->num_categories == 0 &&
        pl_outcome_has(outcome, pl_profile_reserve(p, &p->num_categories, &r->capacity),
                       "the categories of variables"))
        p->num_categories = 1;
    for (size_t i = 0; pl_database_is_well(&r->database) && i < p->num_categories; i++)
        p->category[i] = (uint8_t)pl_category_from_name(pl_profile_string(p, p->category_name[i]));
}

/* Reads the first debug context of each unlowered variable. */
static void read_variable_contexts(pl_reading *r) {
    static const pl_column columns[] = {{"variable_id", true}, {"ids", false}};
    static const pl_table table = {"debug_ids", PL_TABLE_OPTIONAL, columns, 2, ""};
    pl_rows rows = pl_rows_open(&r->database, &table);
    while (pl_rows_next(&rows)) {
        size_t size_bytes = 0;
        uint64_t id = pl_rows_number_or(&rows, 0, INT64_MAX, UINT64_MAX);
        const uint8_t *blob = pl_rows_blob(&rows, 1, &size_bytes);
        uint32_t unlowered = pl_id_map_find(&r->ids.unlowered, id);
        if (unlowered != PL_NONE && size_bytes > 0 &&
            !pl_varint_read(&blob, blob + size_bytes,
                            &r->profile->unlowered_debug_context[unlowered]))
            pl_rows_fail(&rows, 1, "is damaged: it ends inside a number");
    }
}

static void read_classes(pl_reading *r) {
    static const pl_column column = {"id", true};
    static const pl_table table = {"eq_classes", PL_TABLE_REQUIRED, &column, 1, ""};
    pl_reading_ids(r, &table, &r->profile->num_classes, &r->ids.classes);
    if (r->profile->num_classes == 0)
        pl_outcome_fail(&r->database.outcome, POPLINER_ERROR_INPUT, "%s: table eq_classes is empty",
                        r->path);
}

void pl_profile_read_variables(pl_reading *r) {
    read_categories(r);
    read_names(r, "unlowered_vars", &r->profile->num_unlowered, &r->ids.unlowered);
    read_variable_contexts(r);
    read_classes(r);
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

/* Reads the ranges, and counts those of each class. */
static void read_ranges(pl_database *database, range_reader *r) {
    static const pl_column columns[] = {
        {"eq_class_id", true}, {"step_id_from", true}, {"step_id_to", true}};
    static const pl_table table = {"eq_class_step", PL_TABLE_REQUIRED, columns, 3, ""};
    popliner_profile *p = r->profile;
    pl_rows rows = pl_rows_open(database, &table);
    while (pl_rows_next(&rows)) {
        uint32_t class_index = pl_rows_index(&rows, 0, &r->ids->classes, "eq_classes");
        uint64_t first_step = pl_rows_number(&rows, 1, p->num_steps);
        uint64_t end_step = pl_rows_number(&rows, 2, p->num_steps);
        const pl_column_room room[] = {PL_COLUMN_ROOM(r->class_index),
                                       PL_COLUMN_ROOM(r->first_step), PL_COLUMN_ROOM(r->end_step)};
        if (end_step < first_step)
            pl_rows_fail(&rows, 2, "is %llu, before step_id_from %llu",
                         (unsigned long long)end_step, (unsigned long long)first_step);
        if (!pl_outcome_has(&database->outcome,
                            pl_grow_columns(room, 3, &r->capacity, r->count + 1),
                            "the live ranges"))
            continue;
        r->class_index[r->count] = class_index;
        r->first_step[r->count] = (uint32_t)first_step;
        r->end_step[r->count++] = (uint32_t)end_step;
        p->class_ranges_start[class_index + 1]++;
    }
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

void pl_profile_read_live_ranges(pl_reading *reading) {
    popliner_profile *profile = reading->profile;
    pl_outcome *outcome = &reading->database.outcome;
    range_reader r = {.profile = profile, .ids = &reading->ids};
    profile->class_ranges_start =
        pl_new_array(profile->num_classes + 1, sizeof *profile->class_ranges_start);
    if (!pl_outcome_has(outcome, profile->class_ranges_start != NULL, "the equivalence classes"))
        return;
    read_ranges(&reading->database, &r);
    if (pl_database_is_well(&reading->database))
        pl_outcome_has(outcome, sort_by_class(&r) && merge_ranges(profile), "the live ranges");
    free(r.class_index);
    free(r.first_step);
    free(r.end_step);
}
