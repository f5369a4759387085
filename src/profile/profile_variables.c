/* Reads categories, unlowered variables, equivalence classes, and when these are live.
 * profile_lowered.c reads the lowered variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdlib.h>

static void read_categories(pl_reading *r) {
    pl_outcome *outcome = &r->database.outcome;
    popliner_profile *p = r->profile;
    pl_table_read(r, PL_TABLE_CATEGORIES);
    if (p->num_categories > PL_MAX_CATEGORIES)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT, "%s: table %s has more than %d rows",
                        r->path, pl_tables[PL_TABLE_CATEGORIES].name, PL_MAX_CATEGORIES);
    /* every variable needs a category; without the table there is one nameless category */
    if (p->num_categories == 0 && pl_profile_reserve(p, &p->num_categories))
        p->num_categories = 1;
    for (size_t i = 0; pl_reading_has(r, true) && i < p->num_categories; i++)
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

/* Stores sorted ranges. Merges those that overlap or touch, and drops empty ones: then files with
 * equal liveness have equal ranges, and a variable that is live before and after a step has one
 * range. */
static void merge_ranges(popliner_profile *p, const pl_id_entry *ranges, size_t count) {
    uint32_t *starts = p->class_ranges_start;
    uint32_t current = 0; /* class */
    for (size_t i = 0; i < count; i++) {
        const uint32_t first_step = (uint32_t)ranges[i].id;
        const uint32_t end_step = ranges[i].index;
        while (current < ranges[i].id >> 32)
            starts[++current] = (uint32_t)p->num_ranges;
        uint32_t *last_end =
            p->num_ranges > starts[current] ? &p->range_end_step[p->num_ranges - 1] : NULL;
        if (first_step == end_step)
            continue;
        if (last_end != NULL && first_step <= *last_end) {
            *last_end = end_step > *last_end ? end_step : *last_end;
        } else {
            p->range_first_step[p->num_ranges] = first_step;
            p->range_end_step[p->num_ranges++] = end_step;
        }
    }
    while (current < p->num_classes)
        starts[++current] = (uint32_t)p->num_ranges;
}

void pl_profile_read_live_ranges(pl_reading *r) {
    enum { CLASS, FIRST_STEP, END_STEP };
    popliner_profile *p = r->profile;
    pl_id_entry *ranges = NULL; /* id: class and first step, index: end */
    pl_table_rows t = pl_table_open(r, PL_TABLE_RANGES);
    while (pl_table_next(&t)) {
        const uint64_t first_step = t.values[FIRST_STEP];
        const uint64_t end_step = t.values[END_STEP];
        if (end_step < first_step)
            pl_rows_fail(&t.rows, END_STEP, "is %llu, before step_id_from %llu",
                         (unsigned long long)end_step, (unsigned long long)first_step);
        if (pl_reading_grow(r, &ranges, t.num_rows, sizeof *ranges))
            ranges[t.place] = (pl_id_entry){t.values[CLASS] << 32 | first_step, (uint32_t)end_step};
    }
    p->class_ranges_start = pl_arrays_new(&p->arrays, p->num_classes + 1, sizeof(uint32_t));
    p->range_first_step = pl_arrays_new(&p->arrays, t.num_rows, sizeof *p->range_first_step);
    p->range_end_step = pl_arrays_new(&p->arrays, t.num_rows, sizeof *p->range_end_step);
    if (!pl_reading_has(r, true) || t.num_rows == 0)
        return;
    qsort(ranges, t.num_rows, sizeof *ranges, pl_id_entry_compare);
    merge_ranges(p, ranges, t.num_rows);
}
