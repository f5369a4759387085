/* Compute sets: the variables that they touch, their vertices and the state of these.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"

/* While the tables are read. */
typedef struct reader {
    popliner_profile *profile;
    pl_profile_ids *ids;
    pl_list_room *room;
    size_t capacity;          /* of the columns of compute sets */
    size_t vertices_capacity; /* of those of their vertices */
    uint32_t current;         /* the compute set whose vertices are being read */
    uint64_t *by_tile;        /* [num_tiles]: one set's state */
    pl_blob rle;
} reader;

static popliner_status take_compute_set(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    uint64_t context = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 2, INT64_MAX, 0, &context, error);
    if (status != POPLINER_OK)
        return status;
    const pl_column_room room[] = {PL_COLUMN_ROOM(p->compute_set_name),
                                   PL_COLUMN_ROOM(p->compute_set_debug_context),
                                   PL_COLUMN_ROOM(p->compute_set_num_edges)};
    pl_string name = pl_profile_add_string(p, pl_rows_text(rows, 1));
    if (name == PL_NONE || !pl_grow_columns(room, 3, &r->capacity, p->num_compute_sets + 1) ||
        !pl_id_map_add(&r->ids->compute_sets, id, p->num_compute_sets))
        return pl_fail_memory(error, "the compute sets");
    p->compute_set_name[p->num_compute_sets] = name;
    p->compute_set_num_edges[p->num_compute_sets] = 0;
    pl_rows_told(rows, 4, &p->compute_set_num_edges[p->num_compute_sets]);
    p->compute_set_debug_context[p->num_compute_sets++] = context;
    return pl_profile_read_list(rows, 3, p, r->ids, r->room, error);
}

static popliner_status fail_unknown_set(const pl_rows *rows, uint64_t id, popliner_error *error) {
    return pl_rows_fail(rows, 0, error, "is %llu, which table compute_sets does not have",
                        (unsigned long long)id);
}

/* Sets where the vertices of all sets up to `set` begin. */
static void begin_vertices(reader *r, size_t set) {
    popliner_profile *p = r->profile;
    while (r->current < set)
        p->compute_set_vertices_start[++r->current] = (uint32_t)p->num_compute_set_vertices;
}

static popliner_status take_instances(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t set_id = 0;
    uint64_t type_id = 0;
    pl_series series = {0};
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &set_id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 1, INT64_MAX, &type_id, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_series(p, rows, 2, &series, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t set = pl_id_map_find(&r->ids->compute_sets, set_id);
    uint32_t type = pl_id_map_find(&r->ids->vertex_types, type_id);
    if (set == PL_NONE)
        return fail_unknown_set(rows, set_id, error);
    if (type == PL_NONE)
        return pl_rows_fail(rows, 1, error, "is %llu, which table vertex_types does not have",
                            (unsigned long long)type_id);
    /* both tables are read in the order of their ids, so the sets come one after another */
    begin_vertices(r, set);
    const pl_column_room room[] = {PL_COLUMN_ROOM(p->compute_set_vertex_type),
                                   PL_COLUMN_ROOM(p->compute_set_vertex_instances)};
    if (p->num_compute_set_vertices >= PL_NONE - 1 ||
        !pl_grow_columns(room, 2, &r->vertices_capacity, p->num_compute_set_vertices + 1))
        return pl_fail_memory(error, "the vertices");
    p->compute_set_vertex_type[p->num_compute_set_vertices] = type;
    p->compute_set_vertex_instances[p->num_compute_set_vertices++] = series;
    return POPLINER_OK;
}

static popliner_status read_instances(const pl_database *database, reader *r,
                                      popliner_error *error) {
    static const pl_column columns[] = {
        {"compute_set", true}, {"vertex_type", true}, {"instances_by_tile", true}};
    static const pl_table table = {"vertex_instances", PL_TABLE_OPTIONAL, columns, 3,
                                   "ORDER BY compute_set, vertex_type"};
    popliner_profile *p = r->profile;
    p->compute_set_vertices_start =
        pl_new_array(p->num_compute_sets + 1, sizeof *p->compute_set_vertices_start);
    if (p->compute_set_vertices_start == NULL)
        return pl_fail_memory(error, "the compute sets");
    popliner_status status = pl_table_read(database, &table, take_instances, r, error);
    begin_vertices(r, p->num_compute_sets);
    return status;
}

/* Sums the state up over what the compiler tells apart. */
static popliner_status take_state(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    size_t num_tiles = p->target.num_tiles;
    uint64_t id = 0;
    bool any = false;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t set = pl_id_map_find(&r->ids->compute_sets, id);
    if (set == PL_NONE)
        return fail_unknown_set(rows, id, error);
    memset(r->by_tile, 0, num_tiles * sizeof *r->by_tile);
    for (int column = 1; column < 4; column++) {
        pl_series series = {0};
        status = pl_profile_read_series(p, rows, column, &series, error);
        if (status != POPLINER_OK)
            return status;
        if (series.size_bytes > 0) {
            pl_series_add(p, series, 1, r->by_tile);
            p->series_length = series.offset; /* it was needed for the sum alone */
            any = true;
        }
    }
    p->num_compute_set_states = p->num_compute_sets;
    r->rle.size = 0;
    pl_rle_write(&r->rle, r->by_tile, num_tiles);
    if (r->rle.failed ||
        (any && !pl_profile_add_series(p, r->rle.data, r->rle.size, &p->compute_set_state[set])))
        return pl_fail_memory(error, "the state of compute sets");
    return pl_profile_read_series(p, rows, 4, &p->compute_set_descriptors[set], error);
}

static popliner_status read_state(const pl_database *database, reader *r, popliner_error *error) {
    static const pl_column columns[] = {{"compute_set", true},
                                        {"vertex_data_bytes", true},
                                        {"copy_ptr_bytes", true},
                                        {"edge_ptr_bytes", true},
                                        {"descriptor_bytes", true}};
    static const pl_table table = {"memory_by_compute_set", PL_TABLE_WHOLE, columns, 5, ""};
    popliner_profile *p = r->profile;
    r->by_tile = pl_new_array(p->target.num_tiles, sizeof *r->by_tile);
    p->compute_set_state = pl_new_array(p->num_compute_sets, sizeof *p->compute_set_state);
    p->compute_set_descriptors =
        pl_new_array(p->num_compute_sets, sizeof *p->compute_set_descriptors);
    if (r->by_tile == NULL || p->compute_set_state == NULL || p->compute_set_descriptors == NULL)
        return pl_fail_memory(error, "the compute sets");
    return pl_table_read(database, &table, take_state, r, error);
}

popliner_status pl_profile_read_compute_sets(const pl_database *database, popliner_profile *profile,
                                             pl_profile_ids *ids, pl_list_room *room,
                                             popliner_error *error) {
    static const pl_column columns[] = {{"compute_set", true},
                                        {"name", false},
                                        {"debug_id", false},
                                        {"var_ids_diff_rle", false},
                                        {"edge_count", false}};
    static const pl_table table = {"compute_sets", PL_TABLE_REQUIRED, columns, 5,
                                   "ORDER BY compute_set"};
    reader r = {.profile = profile, .ids = ids, .room = room};
    popliner_status status = pl_table_read(database, &table, take_compute_set, &r, error);
    pl_id_map_sort(&ids->compute_sets);
    if (status == POPLINER_OK)
        status = read_instances(database, &r, error);
    if (status == POPLINER_OK)
        status = read_state(database, &r, error);
    free(r.rle.data);
    free(r.by_tile);
    return status;
}
