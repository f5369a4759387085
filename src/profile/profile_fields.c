/* The fields of a profile: one row for each array, with its length and its valid values. Reading
 * allocates by these rows; freeing, storing, loading, checking and restricting to a part of the
 * tiles iterate over them. Checks of several arrays together follow at the end.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_readers.h"

/* The valid items of an array. */
typedef enum range_kind {
    KIND_ANY,
    KIND_BELOW, /* numbers below a limit; with is_optional also PL_NONE */
    KIND_STARTS,
    KIND_BY_TILE, /* series with a number up to a limit for each tile */
} range_kind;

typedef struct row {
    const char *name;
    size_t array; /* offset of its pointer in a profile */
    size_t count;
    size_t item_size;
    range_kind kind;
    size_t limit_count; /* offset of the count that is the limit, or the end of the starts; 0: */
    uint64_t limit;     /* the limit is this */
    bool is_optional;
    const char *what; /* for messages: what is inconsistent if an item is invalid */
} row;

#define OFFSET(member) offsetof(popliner_profile, member)
#define ANY .kind = KIND_ANY
#define LIMIT(number, text) .kind = KIND_BELOW, .limit = (number), .what = (text)
#define INDEX(length, text) .kind = KIND_BELOW, .limit_count = OFFSET(length), .what = (text)
#define INDEX_OR_NONE(length, text) INDEX(length, text), .is_optional = true
#define STRING INDEX(strings_length, "names")
#define BYTES LIMIT(PL_MAX_TILE_BYTES + (uint64_t)1, "numbers by tile")
#define STARTS(length, text) .kind = KIND_STARTS, .limit_count = OFFSET(length), .what = (text)
#define STARTS_OF_SOME(text) .kind = KIND_STARTS, .limit = SIZE_MAX, .what = (text)
#define BY_TILE(most) .kind = KIND_BY_TILE, .limit = (most), .what = "numbers by tile"

static const row rows[] = {
#define COUNT(name)
#define ARRAY(type, name, length, ...)                                                             \
    {#name, OFFSET(name), OFFSET(length), sizeof(type), __VA_ARGS__},
#include "profile/profile_arrays.h"
};

enum { NUM_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)NUM_ROWS <= (int)PL_MAX_FIELDS, "PL_MAX_FIELDS is too small");

/* Counts that must equal another count times a factor, unless they are 0. */
static const struct {
    size_t count;
    size_t other; /* offset of the other count; 0: 1 */
    size_t factor;
    const char *what;
} ties[] = {
    {OFFSET(num_compute_set_states), OFFSET(num_compute_sets), 1, "states of the compute sets"},
    {OFFSET(num_timed_programs), OFFSET(num_programs), 1, "cycles of the programs"},
    {OFFSET(num_category_parts), OFFSET(num_categories), PL_NUM_CATEGORY_PARTS,
     "memory by category"},
    {OFFSET(num_checks), 0, PL_NUM_RELATIONS, "checks"},
};

/* ---- Listing ---- */

static size_t count_at(const popliner_profile *p, size_t offset) {
    size_t count;
    memcpy(&count, (const char *)p + offset, sizeof count);
    return count;
}

static pl_field field_of(popliner_profile *p, const row *r) {
    char *base = (char *)p;
    return (pl_field){r->name, base + r->array, r->item_size, (size_t *)(void *)(base + r->count),
                      r->kind == KIND_STARTS};
}

size_t pl_profile_fields(popliner_profile *p, pl_which_fields which, const size_t *length,
                         pl_field *fields) {
    size_t count = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        const row *r = &rows[i];
        const pl_field field = field_of(p, r);
        const bool is_listed[] = {
            [PL_FIELDS_ALL] = true,
            [PL_FIELDS_BY_COUNT] = field.count == length && field.extra_items == 0,
            [PL_FIELDS_OF_VARIABLES] = r->array >= OFFSET(list_start),
            [PL_FIELDS_OF_SERIES] = r->kind == KIND_BY_TILE,
        };
        if (is_listed[which])
            fields[count++] = field;
    }
    return count;
}

pl_field pl_profile_field(popliner_profile *p, size_t array, uint64_t *most) {
    size_t i = 0;
    while (rows[i].array != array)
        i++;
    const bool is_limited = rows[i].kind == KIND_BELOW && rows[i].limit_count == 0;
    *most = is_limited ? rows[i].limit - 1 : INT64_MAX;
    return field_of(p, &rows[i]);
}

void pl_profile_allocate(popliner_profile *p, const size_t *count) {
    pl_field fields[PL_MAX_FIELDS];
    pl_fields_allocate(&p->arrays, fields, pl_profile_fields(p, PL_FIELDS_BY_COUNT, count, fields));
}

bool pl_profile_reserve(popliner_profile *p, const size_t *count) {
    pl_field fields[PL_MAX_FIELDS];
    p->arrays.failed = p->arrays.failed || *count >= PL_NONE - 1;
    return pl_fields_reserve(&p->arrays, fields,
                             pl_profile_fields(p, PL_FIELDS_BY_COUNT, count, fields));
}

void pl_profile_count_variables(popliner_profile *p, size_t count) {
    p->num_lists = p->num_list_variables = p->num_program_lists = count;
    p->num_fed_lists = p->num_variables = p->num_apart = count;
}

void pl_profile_free(popliner_profile *profile) {
    if (profile != NULL)
        pl_arrays_free(&profile->arrays);
    free(profile);
}

/* ---- Checks of one array ---- */

/* Returns an item of 1, 4 or 8 bytes. */
static uint64_t item_at(const void *items, size_t item_size, size_t i) {
    return item_size == sizeof(uint8_t)    ? ((const uint8_t *)items)[i]
           : item_size == sizeof(uint32_t) ? ((const uint32_t *)items)[i]
                                           : ((const uint64_t *)items)[i];
}

bool pl_items_are_below(const void *items, size_t item_size, size_t count, uint64_t limit,
                        bool is_optional) {
    size_t i = 0;
    while (i < count && (item_at(items, item_size, i) < limit ||
                         (is_optional && item_at(items, item_size, i) == PL_NONE)))
        i++;
    return i == count;
}

bool pl_starts_ascend(const void *items, size_t item_size, size_t count, uint64_t total) {
    for (size_t i = 0; i < count; i++) {
        if (item_at(items, item_size, i) > item_at(items, item_size, i + 1))
            return false;
    }
    return item_at(items, item_size, 0) == 0 &&
           (total == SIZE_MAX || item_at(items, item_size, count) == total);
}

/* True if every series lies in the bytes and holds one number per tile, up to `max`. */
static bool series_hold_tiles(const popliner_profile *profile, const pl_series *series,
                              size_t count, uint64_t max) {
    for (size_t i = 0; i < count; i++) {
        if (series[i].size_bytes == 0 && series[i].offset == 0)
            continue;
        if (series[i].offset > profile->series_length ||
            series[i].size_bytes > profile->series_length - series[i].offset)
            return false;
        pl_runs runs = pl_series_runs(profile, series[i]);
        uint64_t tiles = 0;
        uint64_t value;
        uint64_t length;
        int more;
        while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
            if (length > profile->target.num_tiles - tiles || value > max)
                return false;
            tiles += length;
        }
        if (more < 0 || tiles != profile->target.num_tiles)
            return false;
    }
    return true;
}

static bool is_in_range(const popliner_profile *p, const row *r) {
    const void *items;
    memcpy(&items, (const char *)p + r->array, sizeof items);
    size_t count = count_at(p, r->count);
    uint64_t limit = r->limit_count == 0 ? r->limit : count_at(p, r->limit_count);
    switch (r->kind) {
    case KIND_BELOW:
        return pl_items_are_below(items, r->item_size, count, limit, r->is_optional);
    case KIND_STARTS:
        return pl_starts_ascend(items, r->item_size, count, limit);
    case KIND_BY_TILE:
        return series_hold_tiles(p, items, count, limit);
    case KIND_ANY:
        break;
    }
    return true;
}

/* ---- Checks of several arrays: one item of each ---- */

static bool check_adds_up(const popliner_profile *p, size_t i) {
    return p->checks[i].where < p->strings_length && p->checks[i].breached <= p->checks[i].checked;
}

static bool element_ascends(const popliner_profile *p, size_t i) {
    return i == 0 || p->element_offset[i] > p->element_offset[i - 1];
}

/* True if a program has no compute set, or is of the type that has one. */
static bool program_type_fits(const popliner_profile *p, size_t i) {
    return p->program_compute_set[i] == PL_NONE ||
           p->program_type[i] == POPLINER_PROGRAM_ON_TILE_EXECUTE;
}

/* True if a run ends before the executed steps do: the last steps may be of no run. */
static bool run_ends(const popliner_profile *p, size_t i) {
    return p->run_first_step[i + 1] <= p->num_execution_steps;
}

static bool balance_fits(const popliner_profile *p, size_t i) {
    return pl_is_balance(p->execution_tile_balance[i]);
}

static bool parent_comes_before(const popliner_profile *p, size_t i) {
    return p->step_parent[i] == PL_NONE || p->step_parent[i] < i;
}

/* True if vertices of a compute set fit on their tiles. */
static bool vertices_fit(const popliner_profile *p, size_t i) {
    return pl_profile_vertices_fit(p, p->compute_set_vertex_instances[i],
                                   p->vertex_type_size_bytes[p->compute_set_vertex_type[i]]);
}

/* True if the live ranges of a class are within the steps, not empty and have gaps: variables of
 * overlapping ranges would count twice, and the step between touching ranges would look like an end
 * of life. */
static bool ranges_follow(const popliner_profile *p, size_t c) {
    uint64_t least_step = 0;
    for (uint32_t i = p->class_ranges_start[c]; i < p->class_ranges_start[c + 1]; i++) {
        if (p->range_first_step[i] < least_step || p->range_first_step[i] >= p->range_end_step[i] ||
            p->range_end_step[i] > p->num_steps)
            return false;
        least_step = (uint64_t)p->range_end_step[i] + 1;
    }
    return true;
}

static const struct {
    bool (*holds)(const popliner_profile *profile, size_t i);
    size_t count; /* offset of the number of items */
    const char *what;
} relations[] = {
    {element_ascends, OFFSET(num_elements), "elements of memory"},
    {program_type_fits, OFFSET(num_programs), "programs"},
    {run_ends, OFFSET(num_runs), "runs and executed steps"},
    {balance_fits, OFFSET(num_execution_ipus), "runs and executed steps"},
    {vertices_fit, OFFSET(num_compute_set_vertices), "numbers by tile"},
    {check_adds_up, OFFSET(num_checks), "checks"},
    {parent_comes_before, OFFSET(num_steps), "parents of the liveness steps"},
    {ranges_follow, OFFSET(num_classes), "live ranges"},
};

/* Returns what is inconsistent; NULL if nothing is. */
static const char *find_wrong(const popliner_profile *p) {
    const size_t length = p->strings_length;
    for (size_t i = 0; i < sizeof ties / sizeof *ties; i++) {
        size_t count = count_at(p, ties[i].count);
        size_t other = ties[i].other == 0 ? 1 : count_at(p, ties[i].other);
        if (count != 0 && count != other * ties[i].factor)
            return ties[i].what;
    }
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (!is_in_range(p, &rows[i]))
            return rows[i].what;
    }
    if (length == 0 || p->strings[0] != '\0' || p->strings[length - 1] != '\0')
        return "names";
    if (p->num_categories > PL_MAX_CATEGORIES)
        return "categories";
    if (p->target.poplar_text >= length || p->target.poplar_hash >= length)
        return "versions";
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        const size_t count = count_at(p, relations[i].count);
        for (size_t k = 0; k < count; k++)
            if (!relations[i].holds(p, k))
                return relations[i].what;
    }
    return NULL;
}

popliner_status pl_profile_check(const popliner_profile *p, const char *path,
                                 popliner_error *error) {
    const char *wrong = find_wrong(p);
    if (wrong == NULL)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: is damaged: its %s are inconsistent", path,
                   wrong);
}
