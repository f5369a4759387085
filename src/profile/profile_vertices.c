/* Vertex types and their code.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_programs.h"

#include "base/failure.h"
#include "base/growth.h"

/* While the tables are read. */
typedef struct reader {
    popliner_profile *profile;
    pl_profile_ids *ids;
    size_t capacity; /* of the columns of vertex types */
} reader;

static popliner_status take_vertex_type(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    uint64_t size_bytes = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 2, UINT32_MAX, &size_bytes, error);
    if (status != POPLINER_OK)
        return status;
    const pl_column_room room[] = {PL_COLUMN_ROOM(p->vertex_type_name),
                                   PL_COLUMN_ROOM(p->vertex_type_size_bytes)};
    pl_string name = pl_profile_add_string(p, pl_rows_text(rows, 1));
    if (name == PL_NONE || !pl_grow_columns(room, 2, &r->capacity, p->num_vertex_types + 1) ||
        !pl_id_map_add(&r->ids->vertex_types, id, p->num_vertex_types))
        return pl_fail_memory(error, "the vertex types");
    p->vertex_type_name[p->num_vertex_types] = name;
    p->vertex_type_size_bytes[p->num_vertex_types++] = size_bytes;
    return POPLINER_OK;
}

static popliner_status take_code(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t type = pl_id_map_find(&r->ids->vertex_types, id);
    if (type == PL_NONE)
        return pl_rows_fail(rows, 0, error, "is %llu, which table vertex_types does not have",
                            (unsigned long long)id);
    return pl_profile_read_list_series(p, rows, 1, &p->vertex_type_code[type], error);
}

popliner_status pl_profile_read_vertex_types(const pl_database *database, popliner_profile *p,
                                             pl_profile_ids *ids, popliner_error *error) {
    static const pl_column type_columns[] = {{"id", true}, {"name", true}, {"size", true}};
    static const pl_table types = {"vertex_types", PL_TABLE_REQUIRED, type_columns, 3,
                                   "ORDER BY id"};
    static const pl_column code_columns[] = {{"vertex_type", true}, {"code_bytes", true}};
    static const pl_table code = {"memory_by_vertex_type", PL_TABLE_OPTIONAL, code_columns, 2, ""};
    reader r = {.profile = p, .ids = ids};
    popliner_status status = pl_table_read(database, &types, take_vertex_type, &r, error);
    pl_id_map_sort(&ids->vertex_types);
    if (status != POPLINER_OK)
        return status;
    p->vertex_type_code = pl_new_array(p->num_vertex_types, sizeof *p->vertex_type_code);
    return p->vertex_type_code == NULL ? pl_fail_memory(error, "the vertex types")
                                       : pl_table_read(database, &code, take_code, &r, error);
}
