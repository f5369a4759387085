/* Vertex types and their code.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_programs.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"

/* While the tables are read. */
typedef struct reader {
    popliner_profile *profile;
    pl_profile_ids *ids;
    size_t capacity;   /* of the columns of vertex types */
    uint64_t *by_tile; /* [num_tiles]: one row's code */
    pl_blob rle;
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
        !pl_id_map_add(&r->ids->vertex_types, id, (uint32_t)p->num_vertex_types))
        return pl_fail_memory(error, "the vertex types");
    p->vertex_type_name[p->num_vertex_types] = name;
    p->vertex_type_size_bytes[p->num_vertex_types++] = size_bytes;
    return POPLINER_OK;
}

/* Here the file has a plain list, which is kept as RLE like every other series. */
static popliner_status take_code(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    size_t num_tiles = p->target.num_tiles;
    uint64_t id = 0;
    size_t size_bytes;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t type = pl_id_map_find(&r->ids->vertex_types, id);
    const uint8_t *blob = pl_rows_blob(rows, 1, &size_bytes);
    if (type == PL_NONE)
        return pl_rows_fail(rows, 0, error, "is %llu, which table vertex_types does not have",
                            (unsigned long long)id);
    if (size_bytes == 0)
        return POPLINER_OK;
    if (!pl_varint_list_read(blob, size_bytes, r->by_tile, num_tiles))
        return pl_rows_fail(rows, 1, error,
                            "does not hold one number for each of the target's %zu tiles",
                            num_tiles);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        if (r->by_tile[tile] > UINT32_MAX)
            return pl_rows_fail(rows, 1, error, "holds %llu, more than a tile can have",
                                (unsigned long long)r->by_tile[tile]);
    }
    r->rle.size = 0;
    pl_rle_write(&r->rle, r->by_tile, num_tiles);
    if (r->rle.failed ||
        !pl_profile_add_series(p, r->rle.data, r->rle.size, &p->vertex_type_code[type]))
        return pl_fail_memory(error, "the code of vertex types");
    return POPLINER_OK;
}

popliner_status pl_profile_read_vertex_types(const pl_database *database, popliner_profile *p,
                                             pl_profile_ids *ids, popliner_error *error) {
    static const pl_column type_columns[] = {{"id", true}, {"name", true}, {"size", true}};
    static const pl_table types = {"vertex_types", true, type_columns, 3, "ORDER BY id"};
    static const pl_column code_columns[] = {{"vertex_type", true}, {"code_bytes", true}};
    static const pl_table code = {"memory_by_vertex_type", false, code_columns, 2, ""};
    reader r = {.profile = p, .ids = ids};
    popliner_status status = pl_table_read(database, &types, take_vertex_type, &r, error);
    pl_id_map_sort(&ids->vertex_types);
    if (status != POPLINER_OK)
        return status;
    r.by_tile = pl_new_array(p->target.num_tiles, sizeof *r.by_tile);
    p->vertex_type_code = pl_new_array(p->num_vertex_types, sizeof *p->vertex_type_code);
    status = r.by_tile == NULL || p->vertex_type_code == NULL
                 ? pl_fail_memory(error, "the vertex types")
                 : pl_table_read(database, &code, take_code, &r, error);
    free(r.rle.data);
    free(r.by_tile);
    return status;
}
