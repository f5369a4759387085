/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"
#include "profile/table_scan.h"

/* Makes room for `count` more variables in the list that is being filled; end_list sets its end. */
static bool reserve_variables(popliner_profile *p, size_t *capacity, size_t count) {
    if (!pl_grow(&p->list_variable, capacity, p->num_list_variables + count,
                 sizeof *p->list_variable))
        return false;
    return true;
}

static bool end_list(popliner_profile *p, size_t *capacity) {
    if (!pl_grow(&p->list_start, capacity, p->num_lists + 2, sizeof *p->list_start))
        return false;
    p->list_start[0] = 0;
    p->list_start[++p->num_lists] = p->num_list_variables;
    return true;
}

popliner_status pl_profile_read_list(pl_rows *rows, int column, popliner_profile *p,
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
    return end_list(p, &room->starts) ? POPLINER_OK
                                      : pl_fail_memory(error, "the variables of compute sets");
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

/* Appends the lists of a piece to those of the profile. No target is in two pieces. */
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

/* Appends all pieces, each of which is freed as soon as it is not needed any more. */
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

popliner_status pl_profile_read_exchange_lists(const pl_database *database, popliner_profile *p,
                                               pl_profile_ids *ids, pl_list_room *room,
                                               popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"var_id", true}};
    exchanges e = {.ids = ids};
    pl_scan scan = {.database = database,
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
    if (status == POPLINER_OK && !append_pieces(p, ids, room, e.pieces, scan.num_pieces))
        status = pl_fail_memory(error, "the variables of exchanges");
    for (size_t i = 0; e.pieces != NULL && i < scan.num_pieces; i++)
        free_piece(&e.pieces[i]);
    free(e.pieces);
    pl_id_map_sort(&ids->exchange_targets);
    pl_scan_close(&scan);
    return status;
}
