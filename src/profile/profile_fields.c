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

static void *items_of(const popliner_profile *p, const row *r) {
    void *items;
    memcpy(&items, (const char *)p + r->array, sizeof items);
    return items;
}

static pl_field field_of(popliner_profile *p, const row *r) {
    char *base = (char *)p;
    return (pl_field){r->name, base + r->array, r->item_size, (size_t *)(void *)(base + r->count),
                      r->kind == KIND_STARTS};
}

size_t pl_profile_fields(popliner_profile *p, pl_field *fields) {
    for (size_t i = 0; i < NUM_ROWS; i++)
        fields[i] = field_of(p, &rows[i]);
    return NUM_ROWS;
}

size_t pl_profile_variable_fields(popliner_profile *p, pl_field *fields) {
    size_t count = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (count > 0 || rows[i].array == OFFSET(list_start))
            fields[count++] = field_of(p, &rows[i]);
    }
    return count;
}

size_t pl_profile_fields_by(popliner_profile *p, const size_t *length, pl_field *fields) {
    size_t count = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        pl_field field = field_of(p, &rows[i]);
        if (field.count == length && field.extra_items == 0)
            fields[count++] = field;
    }
    return count;
}

size_t pl_profile_series_fields(popliner_profile *p, pl_field *fields) {
    size_t count = 0;
    for (size_t i = 0; i < NUM_ROWS; i++) {
        if (rows[i].kind == KIND_BY_TILE)
            fields[count++] = field_of(p, &rows[i]);
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
    pl_fields_allocate(&p->arrays, fields, pl_profile_fields_by(p, count, fields));
}

bool pl_profile_reserve(popliner_profile *p, const size_t *count) {
    pl_field fields[PL_MAX_FIELDS];
    p->arrays.failed = p->arrays.failed || *count >= PL_NONE - 1;
    return pl_fields_reserve(&p->arrays, fields, pl_profile_fields_by(p, count, fields));
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
    const void *items = items_of(p, r);
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

/* ---- Checks of several arrays ---- */

static bool strings_end(const popliner_profile *p) {
    size_t length = p->strings_length;
    return length > 0 && p->strings[0] == '\0' && p->strings[length - 1] == '\0';
}

static bool categories_fit(const popliner_profile *p) {
    return p->num_categories <= PL_MAX_CATEGORIES;
}

static bool versions_are_strings(const popliner_profile *p) {
    return p->target.poplar_text < p->strings_length && p->target.poplar_hash < p->strings_length;
}

static bool checks_add_up(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_checks; i++) {
        if (p->checks[i].where >= p->strings_length || p->checks[i].breached > p->checks[i].checked)
            return false;
    }
    return true;
}

static bool elements_ascend(const popliner_profile *p) {
    for (size_t i = 1; i < p->num_elements; i++) {
        if (p->element_offset[i] <= p->element_offset[i - 1])
            return false;
    }
    return true;
}

/* True if only programs of type OnTileExecute have a compute set. */
static bool program_types_fit(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_programs; i++) {
        if (p->program_compute_set[i] != PL_NONE &&
            p->program_type[i] != POPLINER_PROGRAM_ON_TILE_EXECUTE)
            return false;
    }
    return true;
}

/* True if the runs end before the executed steps: the last steps may be of no run. */
static bool runs_begin(const popliner_profile *p) {
    return p->run_first_step[p->num_runs] <= p->num_execution_steps;
}

static bool balances_fit(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_execution_ipus; i++) {
        if (!pl_is_balance(p->execution_tile_balance[i]))
            return false;
    }
    return true;
}

static bool parents_come_before(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_steps; i++) {
        if (p->step_parent[i] != PL_NONE && p->step_parent[i] >= i)
            return false;
    }
    return true;
}

/* True if the vertices of each compute set fit on their tiles. */
static bool all_vertices_fit(const popliner_profile *p) {
    for (size_t i = 0; i < p->num_compute_set_vertices; i++) {
        if (!pl_profile_vertices_fit(p, p->compute_set_vertex_instances[i],
                                     p->vertex_type_size_bytes[p->compute_set_vertex_type[i]]))
            return false;
    }
    return true;
}

/* True if the live ranges of each class are within the steps, not empty and have gaps: variables of
 * overlapping ranges would count twice, and the step between touching ranges would look like an end
 * of life. */
static bool ranges_follow(const popliner_profile *p) {
    for (size_t c = 0; c < p->num_classes; c++) {
        uint64_t least_step = 0;
        for (uint32_t i = p->class_ranges_start[c]; i < p->class_ranges_start[c + 1]; i++) {
            if (p->range_first_step[i] < least_step ||
                p->range_first_step[i] >= p->range_end_step[i] ||
                p->range_end_step[i] > p->num_steps)
                return false;
            least_step = (uint64_t)p->range_end_step[i] + 1;
        }
    }
    return true;
}

static const struct {
    bool (*holds)(const popliner_profile *profile);
    const char *what;
} relations[] = {
    {strings_end, "names"},
    {categories_fit, "categories"},
    {versions_are_strings, "versions"},
    {elements_ascend, "elements of memory"},
    {program_types_fit, "programs"},
    {runs_begin, "runs and executed steps"},
    {balances_fit, "runs and executed steps"},
    {all_vertices_fit, "numbers by tile"},
    {checks_add_up, "checks"},
    {parents_come_before, "parents of the liveness steps"},
    {ranges_follow, "live ranges"},
};

/* Returns what is inconsistent; NULL if nothing is. */
static const char *find_wrong(const popliner_profile *p) {
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
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        if (!relations[i].holds(p))
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
