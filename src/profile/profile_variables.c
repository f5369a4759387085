/* Variables: categories, unlowered variables and equivalence classes. The lowered variables, and
 * when the classes live, have files of their own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"

/* While a table of (id, name) is read into a map and an array of names. */
typedef struct name_reader {
    popliner_profile *profile;
    pl_id_map *ids;
    pl_string **names;
    size_t *count;
    size_t capacity;
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
        !pl_grow(r->names, &r->capacity, *r->count + 1, sizeof **r->names))
        return pl_fail_memory(error, "the names of variables");
    (*r->names)[(*r->count)++] = name;
    return POPLINER_OK;
}

/* The table may be missing: then there are no names. */
static popliner_status read_names(const pl_database *database, const char *name, name_reader *r,
                                  popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"name", true}};
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 2, ""};
    popliner_status status = pl_table_read(database, &table, take_name, r, error);
    pl_id_map_sort(r->ids);
    if (status == POPLINER_OK && *r->names == NULL &&
        (*r->names = pl_new_array(0, sizeof **r->names)) == NULL)
        status = pl_fail_memory(error, "the names of variables");
    return status;
}

/* While the other tables are read. */
typedef struct reader {
    popliner_profile *profile;
    pl_profile_ids *ids;
    size_t capacity; /* of the columns of classes */
} reader;

/* The debug contexts of an unlowered variable; of several the first. */
static popliner_status take_variable_contexts(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    uint64_t id = 0;
    size_t size_bytes = 0;
    uint64_t context = 0;
    popliner_status status = pl_rows_number_or(rows, 0, INT64_MAX, UINT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    const uint8_t *blob = pl_rows_blob(rows, 1, &size_bytes);
    uint32_t unlowered = pl_id_map_find(&r->ids->unlowered, id);
    if (unlowered == PL_NONE || size_bytes == 0)
        return POPLINER_OK;
    if (!pl_varint_read(&blob, blob + size_bytes, &context))
        return pl_rows_fail(rows, 1, error, "is damaged: it ends inside a number");
    r->profile->unlowered_debug_context[unlowered] = context;
    return POPLINER_OK;
}

static popliner_status read_variable_contexts(const pl_database *database, reader *r,
                                              popliner_error *error) {
    static const pl_column columns[] = {{"variable_id", true}, {"ids", false}};
    static const pl_table table = {"debug_ids", PL_TABLE_OPTIONAL, columns, 2, ""};
    popliner_profile *p = r->profile;
    p->unlowered_debug_context = pl_new_array(p->num_unlowered, sizeof(uint64_t));
    if (p->unlowered_debug_context == NULL)
        return pl_fail_memory(error, "the names of variables");
    return pl_table_read(database, &table, take_variable_contexts, r, error);
}

static popliner_status take_class(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    uint64_t always_live = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 1, 1, &always_live, error);
    if (status != POPLINER_OK)
        return status;
    if (p->num_classes >= PL_NONE - 1 || !pl_id_map_add(&r->ids->classes, id, p->num_classes) ||
        !pl_grow(&p->class_always_live, &r->capacity, p->num_classes + 1, 1))
        return pl_fail_memory(error, "the equivalence classes");
    p->class_always_live[p->num_classes++] = (uint8_t)always_live;
    return POPLINER_OK;
}

static popliner_status read_classes(const pl_database *database, reader *r, popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"is_always_live", true}};
    static const pl_table table = {"eq_classes", PL_TABLE_REQUIRED, columns, 2, ""};
    popliner_status status = pl_table_read(database, &table, take_class, r, error);
    pl_id_map_sort(&r->ids->classes);
    if (status == POPLINER_OK && r->profile->num_classes == 0)
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
    reader r = {.profile = profile, .ids = ids};
    name_reader categories = {.profile = profile,
                              .ids = &ids->categories,
                              .names = &profile->category_name,
                              .count = &profile->num_categories,
                              .max_count = PL_MAX_CATEGORIES};
    name_reader unlowered = {.profile = profile,
                             .ids = &ids->unlowered,
                             .names = &profile->unlowered_name,
                             .count = &profile->num_unlowered,
                             .max_count = PL_NONE - 1};
    popliner_status status = read_names(database, "var_categories", &categories, error);
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
        status = read_names(database, "unlowered_vars", &unlowered, error);
    if (status == POPLINER_OK)
        status = read_variable_contexts(database, &r, error);
    if (status == POPLINER_OK)
        status = read_classes(database, &r, error);
    return status;
}
