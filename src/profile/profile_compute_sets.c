/* Reads vertex types and their code; compute sets: the variables that they touch, their vertices
 * and the state of these; and the lists of variables of exchanges.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_readers.h"

/* ---- Vertex types ---- */

static popliner_status take_vertex_type(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    return status == POPLINER_OK ? pl_reading_add(r, rows, &r->profile->num_vertex_types,
                                                  &r->ids.vertex_types, id, error)
                                 : status;
}

static popliner_status take_code(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    uint32_t type = PL_NONE;
    popliner_status status =
        pl_rows_index(rows, 0, &r->ids.vertex_types, "vertex_types", &type, error);
    return status != POPLINER_OK
               ? status
               : pl_profile_read_list_series(r->profile, rows, 1,
                                             &r->profile->vertex_type_code[type], error);
}

static popliner_status read_vertex_types(pl_reading *r, popliner_error *error) {
    static const pl_column type_columns[] = {{"id", true}};
    static const pl_table types = {"vertex_types", PL_TABLE_REQUIRED, type_columns, 1,
                                   "ORDER BY id"};
    static const pl_column code_columns[] = {{"vertex_type", true}, {"code_bytes", true}};
    static const pl_table code = {"memory_by_vertex_type", PL_TABLE_OPTIONAL, code_columns, 2, ""};
    popliner_status status =
        pl_reading_fields(r, &types, &r->profile->num_vertex_types, take_vertex_type, r, error);
    pl_id_map_sort(&r->ids.vertex_types);
    return status == POPLINER_OK ? pl_reading_table(r, &code, take_code, error) : status;
}

/* ---- Lists of variables ---- */

/* Reserves `count` more variables in the list that is being filled; end_list sets its end. */
static bool reserve_variables(popliner_profile *p, size_t *capacity, size_t count) {
    return pl_grow(&p->list_variable, capacity, p->num_list_variables + count,
                   sizeof *p->list_variable);
}

static bool end_list(popliner_profile *p, size_t *capacity) {
    if (!pl_grow(&p->list_start, capacity, p->num_lists + 2, sizeof *p->list_start))
        return false;
    p->list_start[0] = 0;
    p->list_start[++p->num_lists] = p->num_list_variables;
    return true;
}

/* Adds the list of a compute set, from a column of the current row. */
static popliner_status read_list(pl_rows *rows, int column, popliner_profile *p,
                                 const pl_profile_ids *ids, pl_list_room *room,
                                 popliner_error *error) {
    size_t size_bytes;
    const uint8_t *blob = pl_rows_blob(rows, column, &size_bytes);
    pl_runs runs = pl_runs_begin(blob, size_bytes);
    uint64_t id = 0;
    uint64_t difference;
    uint64_t length;
    uint64_t room_left = p->num_variables; /* a list names no variable twice */
    int more;
    while ((more = pl_runs_next(&runs, &difference, &length)) > 0) {
        if (length > room_left)
            return pl_rows_fail(rows, column, error, "names more variables than there are");
        room_left -= length;
        if (!reserve_variables(p, &room->variables, (size_t)length))
            return pl_fail_memory(error, "the variables of compute sets");
        for (uint64_t i = 0; i < length; i++) {
            id += difference;
            uint32_t variable = pl_id_map_find(&ids->variables, id);
            if (variable == PL_NONE)
                return pl_rows_fail(rows, column, error,
                                    "names variable %llu, which table vars_info does not have",
                                    (unsigned long long)id);
            p->list_variable[p->num_list_variables++] = variable;
        }
    }
    if (more < 0)
        return pl_rows_fail(rows, column, error, "is damaged: it ends inside a number or a run");
    if (!end_list(p, &room->starts))
        return pl_fail_memory(error, "the variables of compute sets");
    /* a run of a few bytes may name all variables, in each of many lists */
    return pl_bounds_take(
        rows->database->bounds, rows->database->path, "the variables of compute sets",
        p->num_list_variables - p->list_start[p->num_lists - 1], sizeof *p->list_variable, error);
}

/* The rows of one piece: variables, and where those of each target begin. */
typedef struct exchange_piece {
    uint32_t *variables;
    size_t num_variables;
    size_t variables_capacity;
    uint64_t *targets; /* ids */
    size_t *starts;    /* into variables */
    size_t num_targets;
    size_t targets_capacity;
} exchange_piece;

typedef struct exchanges {
    const pl_profile_ids *ids;
    exchange_piece *pieces;
} exchanges;

static bool begin_target(exchange_piece *piece, uint64_t id) {
    const pl_column_room columns[] = {PL_COLUMN_ROOM(piece->targets),
                                      PL_COLUMN_ROOM(piece->starts)};
    if (!pl_grow_columns(columns, 2, &piece->targets_capacity, piece->num_targets + 1))
        return false;
    piece->targets[piece->num_targets] = id;
    piece->starts[piece->num_targets++] = piece->num_variables;
    return true;
}

static popliner_status take_region(void *user, pl_rows *rows, size_t piece_index, size_t row,
                                   popliner_error *error) {
    const exchanges *e = user;
    exchange_piece *piece = &e->pieces[piece_index];
    uint64_t id = 0;
    uint64_t variable_id = 0;
    int64_t values[2];
    (void)row;
    if (pl_rows_plain_numbers(rows, 2, values) && values[0] >= 0 && values[1] >= 0) {
        id = (uint64_t)values[0];
        variable_id = (uint64_t)values[1];
    } else {
        popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(rows, 1, INT64_MAX, &variable_id, error);
        if (status != POPLINER_OK)
            return status;
    }
    uint32_t variable = pl_id_map_find(&e->ids->variables, variable_id);
    if (variable == PL_NONE)
        return pl_rows_fail(rows, 1, error, "is %llu, which table vars_info does not have",
                            (unsigned long long)variable_id);
    bool is_new = piece->num_targets == 0 || piece->targets[piece->num_targets - 1] != id;
    if ((is_new && !begin_target(piece, id)) ||
        !pl_grow(&piece->variables, &piece->variables_capacity, piece->num_variables + 1,
                 sizeof *piece->variables))
        return pl_fail_memory(error, "the variables of exchanges");
    piece->variables[piece->num_variables++] = variable;
    return POPLINER_OK;
}

static void free_piece(exchange_piece *piece) {
    free(piece->variables);
    free(piece->targets);
    free(piece->starts);
    *piece = (exchange_piece){0};
}

/* Appends the lists of a piece to those of the profile. Each target is in one piece. */
static bool append_piece(popliner_profile *p, pl_profile_ids *ids, pl_list_room *room,
                         const exchange_piece *piece) {
    for (size_t i = 0; i < piece->num_targets; i++) {
        size_t start = piece->starts[i];
        size_t end = i + 1 < piece->num_targets ? piece->starts[i + 1] : piece->num_variables;
        if (!pl_id_map_add(&ids->exchange_targets, piece->targets[i], p->num_lists) ||
            !reserve_variables(p, &room->variables, end - start))
            return false;
        memcpy(p->list_variable + p->num_list_variables, piece->variables + start,
               (end - start) * sizeof *piece->variables);
        p->num_list_variables += end - start;
        if (!end_list(p, &room->starts))
            return false;
    }
    return true;
}

/* Appends all pieces, and frees each when it is done. */
static bool append_pieces(popliner_profile *p, pl_profile_ids *ids, pl_list_room *room,
                          exchange_piece *pieces, size_t num_pieces) {
    size_t num_variables = 0;
    for (size_t i = 0; i < num_pieces; i++)
        num_variables += pieces[i].num_variables;
    if (!reserve_variables(p, &room->variables, num_variables))
        return false;
    for (size_t i = 0; i < num_pieces; i++) {
        if (!append_piece(p, ids, room, &pieces[i]))
            return false;
        free_piece(&pieces[i]);
    }
    return true;
}

/* Adds one list for each exchange target, from millions of rows. */
static popliner_status read_exchange_lists(pl_reading *r, popliner_error *error) {
    pl_profile_ids *ids = &r->ids;
    static const pl_column columns[] = {{"id", true}, {"var_id", true}};
    exchanges e = {.ids = ids};
    pl_scan scan = {.database = &r->database,
                    .progress = r->progress,
                    .table = "exchange_regions",
                    .columns = columns,
                    .num_columns = 2,
                    .key = "id",
                    .min_keys = 8,
                    .order = "ORDER BY id, var_id",
                    .take = take_region,
                    .user = &e};
    popliner_status status = pl_scan_open(&scan, error);
    if (status == POPLINER_OK &&
        (e.pieces = pl_new_array(scan.num_pieces, sizeof *e.pieces)) == NULL)
        status = pl_fail_memory(error, "the variables of exchanges");
    if (status == POPLINER_OK)
        status = pl_scan_run(&scan, error);
    if (status == POPLINER_OK &&
        !append_pieces(r->profile, ids, &r->list_room, e.pieces, scan.num_pieces))
        status = pl_fail_memory(error, "the variables of exchanges");
    for (size_t i = 0; e.pieces != NULL && i < scan.num_pieces; i++)
        free_piece(&e.pieces[i]);
    free(e.pieces);
    pl_id_map_sort(&ids->exchange_targets);
    pl_scan_close(&scan);
    return status;
}

/* ---- Compute sets ---- */

/* The state of reading the tables. */
typedef struct reader {
    popliner_profile *profile;
    pl_profile_ids *ids;
    size_t vertices_capacity; /* of the columns of vertices */
    uint32_t current;         /* the compute set whose vertices are being read */
    uint64_t *by_tile;        /* [num_tiles]: one set's state */
    pl_blob rle;
} reader;

static popliner_status take_compute_set(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_reading_add(r, rows, &p->num_compute_sets, &r->ids.compute_sets, id, error);
    return status == POPLINER_OK ? read_list(rows, 1, p, &r->ids, &r->list_room, error) : status;
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
    uint32_t set = PL_NONE;
    uint32_t type = PL_NONE;
    pl_series series = {0};
    popliner_status status =
        pl_rows_index(rows, 0, &r->ids->compute_sets, "compute_sets", &set, error);
    if (status == POPLINER_OK)
        status = pl_rows_index(rows, 1, &r->ids->vertex_types, "vertex_types", &type, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_series(p, rows, 2, &series, error);
    if (status != POPLINER_OK)
        return status;
    if (!pl_profile_vertices_fit(p, series, p->vertex_type_size_bytes[type]))
        return pl_rows_fail(rows, 2, error,
                            "holds more vertices of %llu bytes than a tile can have",
                            (unsigned long long)p->vertex_type_size_bytes[type]);
    /* both tables are read in the order of their ids, so the sets are consecutive */
    begin_vertices(r, set);
    if (!pl_profile_reserve(p, &p->num_compute_set_vertices, &r->vertices_capacity))
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

/* Adds up the parts of the state that the compiler reports. */
static popliner_status take_state(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    size_t num_tiles = p->target.num_tiles;
    uint32_t set = PL_NONE;
    bool any = false;
    popliner_status status =
        pl_rows_index(rows, 0, &r->ids->compute_sets, "compute_sets", &set, error);
    if (status != POPLINER_OK)
        return status;
    memset(r->by_tile, 0, num_tiles * sizeof *r->by_tile);
    for (int column = 1; column < 4; column++) {
        pl_series series = {0};
        status = pl_profile_read_series(p, rows, column, &series, error);
        if (status != POPLINER_OK)
            return status;
        if (series.size_bytes > 0) {
            pl_series_add(p, series, 1, r->by_tile);
            p->series_length = series.offset; /* only the sum is needed */
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

popliner_status pl_profile_read_compute_sets(pl_reading *reading, popliner_error *error) {
    static const pl_column columns[] = {{"compute_set", true}, {"var_ids_diff_rle", false}};
    static const pl_table table = {"compute_sets", PL_TABLE_REQUIRED, columns, 2,
                                   "ORDER BY compute_set"};
    const pl_database *database = &reading->database;
    reader r = {.profile = reading->profile, .ids = &reading->ids};
    popliner_status status = read_vertex_types(reading, error);
    if (status == POPLINER_OK)
        status = pl_reading_fields(reading, &table, &r.profile->num_compute_sets, take_compute_set,
                                   reading, error);
    pl_id_map_sort(&r.ids->compute_sets);
    if (status == POPLINER_OK)
        status = read_instances(database, &r, error);
    if (status == POPLINER_OK)
        status = read_state(database, &r, error);
    if (status == POPLINER_OK)
        status = read_exchange_lists(reading, error);
    free(r.rle.data);
    free(r.by_tile);
    return status;
}
