/* Variables and when they live: categories, unlowered variables, equivalence classes, and the
 * millions of lowered variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "read/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "read/blob_codec.h"

enum { BIT_ALLOCATED = 1 };

/* The number of rows of a table; 0 when it does not exist. */
static popliner_status count_rows(const pl_database *database, const char *table, bool required,
                                  uint64_t *count, popliner_error *error) {
    static const pl_column none[] = {{"rowid", false}};
    pl_rows rows = {0};
    *count = 0;
    popliner_status status = pl_rows_open(&rows, database, table, required, none, 1, "", error);
    pl_rows_close(&rows);
    bool found = false;
    if (status == POPLINER_OK)
        status = pl_database_has_table(database, table, &found, error);
    if (status != POPLINER_OK || !found)
        return status;
    sqlite3_stmt *statement = NULL;
    pl_text sql = {0};
    pl_text_format(&sql, "SELECT count(*) FROM \"%s\"", table);
    if (sql.failed)
        status = pl_fail_memory(error, "a query");
    else if (sqlite3_prepare_v2(database->sqlite, sql.data, -1, &statement, NULL) != SQLITE_OK ||
             sqlite3_step(statement) != SQLITE_ROW)
        status = pl_database_fail(database, "counting the rows of a table", error);
    else
        *count = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    free(sql.data);
    return status;
}

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
        void *items = *names;
        pl_string name = pl_profile_add_string(profile, pl_rows_text(&rows, 1));
        if (name == PL_NONE || !pl_id_map_add(ids, id, (uint32_t)*count) ||
            !pl_reserve(&items, &capacity, *count + 1, sizeof **names)) {
            status = pl_fail_memory(error, "the names of variables");
            break;
        }
        *names = items;
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
        void *items = profile->class_always_live;
        if (profile->num_classes >= PL_NONE - 1 ||
            !pl_id_map_add(&ids->classes, id, (uint32_t)profile->num_classes) ||
            !pl_reserve(&items, &capacity, profile->num_classes + 1, 1)) {
            status = pl_fail_memory(error, "the equivalence classes");
            break;
        }
        profile->class_always_live = items;
        profile->class_always_live[profile->num_classes++] = (uint8_t)always_live;
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&ids->classes);
    if (status == POPLINER_OK && profile->num_classes == 0)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: table eq_classes is empty", database->path);
    return status;
}

/* One row of vars_info into place `i`. */
static popliner_status read_variable(pl_rows *rows, popliner_profile *profile,
                                     const pl_profile_ids *ids, size_t i, uint64_t *id,
                                     popliner_error *error) {
    uint64_t tile = 0;
    uint64_t size_bytes = 0;
    uint64_t offset = 0;
    uint64_t class_id = 0;
    uint64_t unlowered_id = 0;
    uint64_t category_id = 0;
    uint64_t bits = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 1, profile->target.num_tiles - 1, &tile, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 7, INT64_MAX, BIT_ALLOCATED, &bits, error);
    if (status != POPLINER_OK)
        return status;
    profile->variable_tile[i] = (uint32_t)tile;
    profile->variable_unlowered[i] = PL_NONE;
    if ((bits & BIT_ALLOCATED) == 0)
        return POPLINER_OK; /* the rest of the row means nothing */

    status = pl_rows_number(rows, 2, UINT32_MAX, &size_bytes, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 3, INT64_MAX, &class_id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 4, INT64_MAX, UINT64_MAX, &unlowered_id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 5, UINT32_MAX, 0, &offset, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 6, INT64_MAX, UINT64_MAX, &category_id, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t class_index = pl_id_map_find(&ids->classes, class_id);
    if (class_index == PL_NONE)
        return pl_rows_fail(rows, 3, error, "is %llu, which table eq_classes does not have",
                            (unsigned long long)class_id);
    uint32_t category = 0; /* the nameless one of files without a table of categories */
    if (category_id != UINT64_MAX && ids->categories.count > 0)
        category = pl_id_map_find(&ids->categories, category_id);
    if (category == PL_NONE)
        return pl_rows_fail(rows, 6, error, "is %llu, which table var_categories does not have",
                            (unsigned long long)category_id);
    profile->variable_size_bytes[i] = (uint32_t)size_bytes;
    profile->variable_offset[i] = (uint32_t)offset;
    profile->variable_class[i] = class_index;
    profile->variable_category[i] = (uint8_t)category;
    if (unlowered_id != UINT64_MAX)
        profile->variable_unlowered[i] = pl_id_map_find(&ids->unlowered, unlowered_id);
    return POPLINER_OK;
}

static bool reorder_32(uint32_t **items, const uint32_t *new_place, size_t count) {
    uint32_t *sorted = pl_new_array(count, sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        sorted[new_place[i]] = (*items)[i];
    free(*items);
    *items = sorted;
    return true;
}

/* Brings the lowered variables into the order of their tiles, keeping the file's order on each
 * tile, and counts them by tile. Files seen so far are in that order already. */
static popliner_status sort_by_tile(popliner_profile *p, pl_id_map *ids, popliner_error *error) {
    size_t num_tiles = p->target.num_tiles;
    p->tile_variables_start = pl_new_array(num_tiles + 1, sizeof *p->tile_variables_start);
    if (p->tile_variables_start == NULL)
        return pl_fail_memory(error, "the tiles");
    bool sorted = true;
    for (size_t i = 0; i < p->num_variables; i++) {
        p->tile_variables_start[p->variable_tile[i] + 1]++;
        sorted = sorted && (i == 0 || p->variable_tile[i - 1] <= p->variable_tile[i]);
    }
    for (size_t tile = 0; tile < num_tiles; tile++)
        p->tile_variables_start[tile + 1] += p->tile_variables_start[tile];
    if (sorted)
        return POPLINER_OK;

    popliner_status status = POPLINER_OK;
    uint64_t *next = pl_new_array(num_tiles, sizeof *next);
    uint32_t *new_place = pl_new_array(p->num_variables, sizeof *new_place);
    uint8_t *category = pl_new_array(p->num_variables, sizeof *category);
    if (next == NULL || new_place == NULL || category == NULL) {
        status = pl_fail_memory(error, "the lowered variables");
        goto done;
    }
    memcpy(next, p->tile_variables_start, num_tiles * sizeof *next);
    for (size_t i = 0; i < p->num_variables; i++) {
        new_place[i] = (uint32_t)next[p->variable_tile[i]]++;
        category[new_place[i]] = p->variable_category[i];
    }
    memcpy(p->variable_category, category, p->num_variables);
    if (!reorder_32(&p->variable_tile, new_place, p->num_variables) ||
        !reorder_32(&p->variable_size_bytes, new_place, p->num_variables) ||
        !reorder_32(&p->variable_offset, new_place, p->num_variables) ||
        !reorder_32(&p->variable_class, new_place, p->num_variables) ||
        !reorder_32(&p->variable_unlowered, new_place, p->num_variables) ||
        !pl_id_map_renumber(ids, new_place))
        status = pl_fail_memory(error, "the lowered variables");
done:
    free(next);
    free(new_place);
    free(category);
    return status;
}

static popliner_status read_lowered(const pl_database *database, const popliner_listener *listener,
                                    popliner_profile *profile, pl_profile_ids *ids,
                                    popliner_error *error) {
    static const pl_column columns[] = {{"var_id", true},
                                        {"tile", true},
                                        {"size_bytes", true},
                                        {"equivalence_class", true},
                                        {"unlowered_var_id", false},
                                        {"offset", false},
                                        {"category", false},
                                        {"bitset", false}};
    uint64_t count = 0;
    popliner_status status = count_rows(database, "vars_info", false, &count, error);
    if (status != POPLINER_OK)
        return status;
    if (count == 0)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: has no lowered variables (table vars_info); compile again with the "
                       "engine option autoReport.outputLoweredVars set to true",
                       database->path);
    if (count >= PL_NONE)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: table vars_info has too many rows",
                       database->path);
    profile->num_variables = (size_t)count;
    profile->variable_tile = pl_new_array(count, sizeof(uint32_t));
    profile->variable_size_bytes = pl_new_array(count, sizeof(uint32_t));
    profile->variable_offset = pl_new_array(count, sizeof(uint32_t));
    profile->variable_class = pl_new_array(count, sizeof(uint32_t));
    profile->variable_unlowered = pl_new_array(count, sizeof(uint32_t));
    profile->variable_category = pl_new_array(count, sizeof(uint8_t));
    if (profile->variable_tile == NULL || profile->variable_size_bytes == NULL ||
        profile->variable_offset == NULL || profile->variable_class == NULL ||
        profile->variable_unlowered == NULL || profile->variable_category == NULL)
        return pl_fail_memory(error, "the lowered variables");

    pl_rows rows = {0};
    bool more = false;
    size_t i = 0;
    status = pl_rows_open(&rows, database, "vars_info", true, columns, 8, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        if (i == profile->num_variables) {
            status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: grew while it was being read",
                             database->path);
            break;
        }
        status = read_variable(&rows, profile, ids, i, &id, error);
        if (status == POPLINER_OK && !pl_id_map_add(&ids->variables, id, (uint32_t)i))
            status = pl_fail_memory(error, "the lowered variables");
        i++;
        if (i % (1 << 17) == 0)
            pl_progress(listener, "Reading lowered variables", i, count);
    }
    pl_rows_close(&rows);
    if (status == POPLINER_OK && i < profile->num_variables)
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: table vars_info ends after %zu of %zu rows; the file is damaged",
                         database->path, i, profile->num_variables);
    if (status == POPLINER_OK) {
        pl_progress(listener, "Reading lowered variables", count, count);
        status = sort_by_tile(profile, &ids->variables, error);
    }
    pl_id_map_sort(&ids->variables);
    return status;
}

popliner_status pl_profile_read_variables(const pl_database *database,
                                          const popliner_listener *listener,
                                          popliner_profile *profile, pl_profile_ids *ids,
                                          popliner_error *error) {
    popliner_status status =
        read_names(database, "var_categories", profile, &ids->categories, &profile->category_name,
                   &profile->num_categories, UINT8_MAX, error);
    if (status == POPLINER_OK && profile->num_categories == 0) {
        /* every variable needs one; without the table all are of one nameless category */
        free(profile->category_name);
        profile->category_name = pl_new_array(1, sizeof *profile->category_name);
        profile->num_categories = 1;
        if (profile->category_name == NULL)
            status = pl_fail_memory(error, "the categories of variables");
    }
    if (status == POPLINER_OK)
        status = read_names(database, "unlowered_vars", profile, &ids->unlowered,
                            &profile->unlowered_name, &profile->num_unlowered, PL_NONE - 1, error);
    if (status == POPLINER_OK)
        status = read_variable_contexts(database, profile, ids, error);
    if (status == POPLINER_OK)
        status = read_classes(database, profile, ids, error);
    if (status == POPLINER_OK)
        status = read_lowered(database, listener, profile, ids, error);
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
    size_t class_capacity = 0;
    size_t first_capacity = 0;
    size_t end_capacity = 0;
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
        void *classes = range_class;
        void *firsts = first_steps;
        void *ends = end_steps;
        bool room = pl_reserve(&classes, &class_capacity, count + 1, sizeof *range_class);
        range_class = classes;
        room = room && pl_reserve(&firsts, &first_capacity, count + 1, sizeof *first_steps);
        first_steps = firsts;
        room = room && pl_reserve(&ends, &end_capacity, count + 1, sizeof *end_steps);
        end_steps = ends;
        if (!room) {
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
