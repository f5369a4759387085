/* Reads categories, unlowered variables, equivalence classes, and when these are live.
 * profile_lowered.c reads the lowered variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdlib.h>
#include <string.h>

static void read_categories(pl_reading *r) {
    pl_outcome *outcome = &r->database.outcome;
    popliner_profile *p = r->profile;
    size_t capacity = 0;
    pl_table_read(r, PL_TABLE_CATEGORIES);
    if (p->num_categories > PL_MAX_CATEGORIES)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT, "%s: table %s has more than %d rows",
                        r->path, pl_tables[PL_TABLE_CATEGORIES].name, PL_MAX_CATEGORIES);
    /* every variable needs a category; without the table there is one nameless category */
    if (p->num_categories == 0 &&
        pl_outcome_has(outcome, pl_profile_reserve(p, &p->num_categories, &capacity),
                       "the categories of variables"))
        p->num_categories = 1;
    for (size_t i = 0; pl_database_is_well(&r->database) && i < p->num_categories; i++)
        p->category[i] = (uint8_t)pl_category_from_name(pl_profile_string(p, p->category_name[i]));
}

void pl_profile_read_variables(pl_reading *r) {
    read_categories(r);
    pl_table_read(r, PL_TABLE_UNLOWERED);
    pl_table_read(r, PL_TABLE_DEBUG_IDS);
    pl_table_read(r, PL_TABLE_CLASSES);
    if (r->profile->num_classes == 0)
        pl_outcome_fail(&r->database.outcome, POPLINER_ERROR_INPUT, "%s: table eq_classes is empty",
                        r->path);
}

/* ---- Live ranges of equivalence classes ---- */

/* The ranges in the order of the file. */
typedef struct range_reader {
    popliner_profile *profile;
    uint32_t *class_index;
    uint32_t *first_step;
    uint32_t *end_step;
    size_t count;
    size_t capacity;
} range_reader;

/* Reads the ranges, and counts those of each class. */
static void read_ranges(pl_reading *reading, range_reader *r) {
    enum { CLASS, FIRST_STEP, END_STEP };
    popliner_profile *p = r->profile;
    pl_table_rows t = pl_table_open(reading, PL_TABLE_RANGES);
    while (pl_table_next(&t)) {
        const pl_column_room room[] = {PL_COLUMN_ROOM(r->class_index),
                                       PL_COLUMN_ROOM(r->first_step), PL_COLUMN_ROOM(r->end_step)};
        if (t.values[END_STEP] < t.values[FIRST_STEP])
            pl_rows_fail(&t.rows, END_STEP, "is %llu, before step_id_from %llu",
                         (unsigned long long)t.values[END_STEP],
                         (unsigned long long)t.values[FIRST_STEP]);
        if (!pl_outcome_has(&reading->database.outcome,
                            pl_grow_columns(room, 3, &r->capacity, r->count + 1),
                            "the live ranges"))
            continue;
        r->class_index[r->count] = (uint32_t)t.values[CLASS];
        r->first_step[r->count] = (uint32_t)t.values[FIRST_STEP];
        r->end_step[r->count++] = (uint32_t)t.values[END_STEP];
        p->class_ranges_start[t.values[CLASS] + 1]++;
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
    range_reader r = {.profile = profile};
    profile->class_ranges_start =
        pl_new_array(profile->num_classes + 1, sizeof *profile->class_ranges_start);
    if (!pl_outcome_has(outcome, profile->class_ranges_start != NULL, "the equivalence classes"))
        return;
    read_ranges(reading, &r);
    if (pl_database_is_well(&reading->database))
        pl_outcome_has(outcome, sort_by_class(&r) && merge_ranges(profile), "the live ranges");
    free(r.class_index);
    free(r.first_step);
    free(r.end_step);
}
